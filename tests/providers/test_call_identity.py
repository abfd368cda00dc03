"""The name and id of a call are ones that may go back to a provider (H-1)."""

from __future__ import annotations

import pytest

from studio.providers.call_identity import plain_id, plain_name


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("read", "read"),
        ("", "tool"),
        ("fly away, é\n", "fly_away____"),
        ("n" * 100_000, "n" * 64),
    ],
)
def test_a_name_is_one_that_every_api_takes(name: str, plain: str) -> None:
    assert plain_name(name) == plain


@pytest.mark.parametrize(
    ("identifier", "plain"),
    [
        ("call_1", "call_1"),
        ("so:odd/é", "so:odd/é"),
        ("two words", ""),
        ("a\x00", ""),
        ("a\u202e", ""),
        ("i" * 4_000, "i" * 4_000),
        ("i" * 4_001, ""),
    ],
)
def test_an_id_can_be_shown_and_is_not_too_long(identifier: str, plain: str) -> None:
    assert plain_id(identifier) == plain
