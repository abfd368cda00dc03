"""Three texts brought together (T-5)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.tools.drafts.three_way_merge import (
    BETWEEN,
    OURS,
    THEIRS,
    Hunk,
    Merge,
    three_way,
    with_line_ends,
)

LINE = st.sampled_from(["a", "b", "c", "d e", ""])
END = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"])
TEXT = st.tuples(st.lists(st.tuples(LINE, END), max_size=12), st.sampled_from(["", "z"])).map(
    lambda parts: "".join(f"{line}{end}" for line, end in parts[0]) + parts[1]
)
quick = settings(deadline=None, max_examples=100)


@pytest.mark.parametrize(
    ("base", "theirs", "ours", "merged"),
    [
        ("1\n2\n3\n", "1\n2\n3\n4\n", "0\n1\n2\n3\n", "0\n1\n2\n3\n4\n"),
        ("1\n2\n3\n", "1\n3\n", "1\n2\n3\n4\n", "1\n3\n4\n"),
        ("1\n2\n3\n", "one\n2\n3\n", "1\n2\nthree\n", "one\n2\nthree\n"),
        ("1\n2\n3\n", "1\nx\n3\n", "1\nx\n3\n", "1\nx\n3\n"),
        ("1\r\n2\r\n3\r\n", "0\r\n1\r\n2\r\n3\r\n", "1\r\n2\r\n3", "0\r\n1\r\n2\r\n3"),
        ("", "x\n", "", "x\n"),
        ("x\n", "", "x\n", ""),
    ],
)
def test_changes_in_different_places_are_both_kept(
    base: str, theirs: str, ours: str, merged: str
) -> None:
    merge = three_way(base, theirs, ours)
    assert (merge.text, merge.conflicts) == (merged, 0)
    assert three_way(base, ours, theirs).text == merged


def test_changes_of_one_place_are_a_conflict_with_both_sides() -> None:
    """Neighbours too: nobody knows what belongs together."""
    merge = three_way("1\n2\n3\n", "1\nmine\n3\n", "1\ndraft\n3\n")
    assert merge.text == f"1\n{THEIRS}\nmine\n{BETWEEN}\ndraft\n{OURS}\n3\n"
    assert [hunk.side for hunk in merge.hunks] == ["same", "conflict", "same"]
    assert merge.hunks[1] == Hunk("conflict", ("2\n",), ("mine\n",), ("draft\n",), (2, 2, 2))
    assert three_way("1\n2\n", "one\n2\n", "1\ntwo\n").conflicts == 1
    assert three_way("", "a", "b").text == f"{THEIRS}\na\n{BETWEEN}\nb\n{OURS}\n"


def sides(merge: Merge) -> tuple[str, str, str]:
    hunks = merge.hunks
    return (
        "".join(line for hunk in hunks for line in hunk.base),
        "".join(line for hunk in hunks for line in hunk.theirs),
        "".join(line for hunk in hunks for line in hunk.ours),
    )


@quick
@given(base=TEXT, theirs=TEXT, ours=TEXT)
def test_no_line_is_lost(base: str, theirs: str, ours: str) -> None:
    """T-5: every text can be read from the hunks, and a merge holds what each side brought."""
    merge = three_way(base, theirs, ours)
    assert sides(merge) == (base, theirs, ours)
    at = [1, 1, 1]
    for hunk in merge.hunks:
        assert list(hunk.at) == at
        at = [
            n + len(side) for n, side in zip(at, (hunk.base, hunk.theirs, hunk.ours), strict=True)
        ]
        assert hunk.base or hunk.theirs or hunk.ours
        brought = {
            "same": (hunk.base,),
            "theirs": (hunk.theirs,),
            "ours": (hunk.ours,),
            "both": (hunk.ours,),
            "conflict": (hunk.theirs, hunk.ours),
        }[hunk.side]
        merged = [line.rstrip("\r\n") for line in hunk.merged]
        for side in brought:
            found = iter(merged)
            assert all(line.rstrip("\r\n") in found for line in side)
        if hunk.side != "conflict":
            assert hunk.merged == brought[0]
    assert merge.text == "".join(line for hunk in merge.hunks for line in hunk.merged)
    # No two lines have become one.
    lines = [line for hunk in merge.hunks for line in hunk.merged]
    assert all(line.endswith(("\n", "\r")) for line in lines[:-1])


@quick
@given(base=TEXT, changed=TEXT)
def test_with_one_side_unchanged_it_is_the_other(base: str, changed: str) -> None:
    for merge in (three_way(base, base, changed), three_way(base, changed, base)):
        assert (merge.text, merge.conflicts) == (changed, 0)
    both = three_way(base, changed, changed)
    assert (both.text, both.conflicts) == (changed, 0)


@quick
@given(base=TEXT, theirs=TEXT, ours=TEXT)
def test_it_is_the_same_from_both_sides(base: str, theirs: str, ours: str) -> None:
    one, other = three_way(base, theirs, ours), three_way(base, ours, theirs)
    assert one.conflicts == other.conflicts
    turned = {"theirs": "ours", "ours": "theirs"}
    assert [turned.get(hunk.side, hunk.side) for hunk in one.hunks] == [
        hunk.side for hunk in other.hunks
    ]
    if not one.conflicts:
        assert one.text == other.text


def test_a_long_text_takes_a_moment() -> None:
    base = "".join(f"{n}\n" for n in range(100_000))
    merge = three_way(base, base.replace("\n500\n", "\nmine\n"), base.replace("\n90000\n", "\n"))
    assert merge.conflicts == 0
    assert "\nmine\n" in merge.text
    assert "\n90000\n" not in merge.text


@quick
@given(original=TEXT)
def test_an_edit_keeps_the_line_ends_of_lines_that_stay(original: str) -> None:
    """An editor has one line end; a file may have several."""
    shown = original.replace("\r\n", "\n").replace("\r", "\n")
    assert with_line_ends(shown, original) == original


def test_a_new_line_gets_the_usual_end() -> None:
    assert with_line_ends("a\nnew\nb\nc", "a\r\nb\nc\r\n") == "a\r\nnew\r\nb\nc"
    assert with_line_ends("a\nb\n", "") == "a\nb\n"
