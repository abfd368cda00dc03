"""Comparing lines ends soon, whatever the lines are (T-5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.domain.drafts import FileDraft
from studio.domain.line_changes import changed_lines, matcher, opcodes

LINES = st.lists(st.sampled_from("abc"), max_size=30)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["a", "b"] * 500, ["b", "b", "a"] * 333),
        (["x"] * 1000, ["y", *["x"] * 999, "z"]),
        ([str(n % 7) for n in range(1000)], [str(n % 11) for n in range(1000)]),
    ],
)
def test_lines_that_are_there_often_are_not_all_compared(old: list[str], new: list[str]) -> None:
    found = matcher(old, new)
    assert sum(len(found.b2j.get(line, ())) for line in old) <= 20_000


def test_one_changed_line_among_a_hundred_thousand_equal_ones() -> None:
    before = "x\n" * 100_000
    draft = FileDraft("d", "a", before, f"x\ny\n{before}", "digest")
    assert draft.describe().counts() == (2, 0)


@given(LINES, LINES)
def test_the_changes_lead_from_one_text_to_the_other(old: list[str], new: list[str]) -> None:
    made: list[str] = []
    at = 0
    for tag, i1, i2, j1, j2 in opcodes(old, new):
        assert i1 == at
        assert (old[i1:i2] == new[j1:j2]) == (tag == "equal")
        made += new[j1:j2]
        at = i2
    assert (made, at) == (new, len(old))
    added, removed = changed_lines(old, new)
    assert len(new) - len(old) == added - removed
