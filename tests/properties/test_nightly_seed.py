"""What is explored at night is new each time, and can be repeated."""

from __future__ import annotations

from support.nightly import PROFILE, seed_of, words_about


def test_each_night_has_a_seed_of_its_own() -> None:
    seeds = {seed_of(None, PROFILE) for _ in range(20)}
    assert len(seeds) > 10 and all(seed is not None and seed.isdecimal() for seed in seeds)


def test_a_seed_that_is_given_is_taken_and_told() -> None:
    assert seed_of("7", PROFILE) == seed_of("7", "default") == "7"
    assert "--hypothesis-seed=7" in words_about("7")


def test_while_somebody_waits_the_examples_are_the_same() -> None:
    assert seed_of(None, "default") is None
