"""Diff: compares two texts line by line, as plain data for the views."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

from studio.domain.drafts import Draft
from studio.domain.line_changes import opcodes
from studio.domain.records import dataclass

Kind: TypeAlias = Literal["same", "add", "del", "fold"]

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_BREAK = re.compile(r"\r\n|\n|\r")
_ALIKE = 0.4
"""Similarity (0 to 1) below which two lines count as different, and get no marks."""
_MARKED = 400
"""Characters of a line that is compared word by word."""
_WORDS = 150
"""Words of such a line."""
_PAIRS = 500
"""Changed lines of one part that are compared word by word."""


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One row of a diff.

    ``old_no`` and ``new_no`` count from 1, None where the line is not on that
    side. ``marks`` are the changed pieces of ``text`` as (start, end) character
    offsets. A ``fold`` stands for ``count`` unchanged lines, the first of which
    has its numbers; its text says so in words.
    """

    kind: Kind
    old_no: int | None
    new_no: int | None
    text: str
    marks: tuple[tuple[int, int], ...] = ()
    count: int = 1


def unified_diff(draft: Draft, context: int = 3) -> list[DiffLine]:
    """The change a draft makes, with ``context`` unchanged lines around each part."""
    return diff(*draft.describe().compared(), context)


def diff(before: str, after: str, context: int = 3) -> list[DiffLine]:
    """The lines of both texts; longer unchanged runs are folded. May take a while for
    long texts: call it in a thread then."""
    old, new = split_lines(before), split_lines(after)
    rows: list[DiffLine] = []
    parts = list(opcodes(old, new))
    for index, (tag, i1, i2, j1, j2) in enumerate(parts):
        if tag == "equal":
            first, last = index == 0, index == len(parts) - 1
            rows += _unchanged(old, i1, i2, j1, 0 if first else context, 0 if last else context)
        else:
            rows += _changed(old, new, i1, i2, j1, j2)
    return rows


def unfold(rows: Sequence[DiffLine], index: int, after: str) -> list[DiffLine]:
    """The rows with the fold at ``index`` replaced by its lines, which are those of ``after``."""
    fold = rows[index]
    if fold.old_no is None or fold.new_no is None:
        return list(rows)
    lines = split_lines(after)[fold.new_no - 1 : fold.new_no - 1 + fold.count]
    shown = [
        DiffLine("same", fold.old_no + n, fold.new_no + n, line) for n, line in enumerate(lines)
    ]
    return [*rows[:index], *shown, *rows[index + 1 :]]


def split_lines(text: str) -> list[str]:
    """Lines without their ends: a change of line ends alone does not count."""
    lines = _BREAK.split(text)
    if lines[-1] == "":
        lines.pop()
    return lines


def _unchanged(
    old: Sequence[str], i1: int, i2: int, j1: int, head: int, tail: int
) -> Iterator[DiffLine]:
    shift = j1 - i1
    hidden = i2 - i1 - head - tail
    if hidden < 2:  # a fold of one line would save nothing
        head, hidden, tail = i2 - i1, 0, 0
    for i in range(i1, i1 + head):
        yield DiffLine("same", i + 1, i + shift + 1, old[i])
    if hidden:
        i = i1 + head
        words = f"{hidden:,} unchanged lines"
        yield DiffLine("fold", i + 1, i + shift + 1, words, count=hidden)
    for i in range(i2 - tail, i2):
        yield DiffLine("same", i + 1, i + shift + 1, old[i])


def _changed(
    old: Sequence[str], new: Sequence[str], i1: int, i2: int, j1: int, j2: int
) -> list[DiffLine]:
    removed = [DiffLine("del", i + 1, None, old[i]) for i in range(i1, i2)]
    added = [DiffLine("add", None, j + 1, new[j]) for j in range(j1, j2)]
    for index, (gone, come) in enumerate(zip(removed[:_PAIRS], added[:_PAIRS], strict=False)):
        old_marks, new_marks = word_marks(gone.text, come.text)
        removed[index] = DiffLine("del", gone.old_no, None, gone.text, old_marks)
        added[index] = DiffLine("add", None, come.new_no, come.text, new_marks)
    return removed + added


Marks: TypeAlias = tuple[tuple[int, int], ...]


def word_marks(old: str, new: str) -> tuple[Marks, Marks]:
    """The pieces that differ in two versions of a line; none if they have little in common."""
    if len(old) > _MARKED or len(new) > _MARKED:
        return (), ()
    words_old, words_new = _WORD.findall(old), _WORD.findall(new)
    if max(len(words_old), len(words_new)) > _WORDS:
        return (), ()
    matcher = SequenceMatcher(None, words_old, words_new, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return (), ()
    at_old, at_new = _offsets(words_old), _offsets(words_new)
    left: list[tuple[int, int]] = []
    right: list[tuple[int, int]] = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            if i2 > i1:
                left.append((at_old[i1], at_old[i2]))
            if j2 > j1:
                right.append((at_new[j1], at_new[j2]))
    return tuple(left), tuple(right)


def _offsets(words: Sequence[str]) -> list[int]:
    at = [0]
    for word in words:
        at.append(at[-1] + len(word))
    return at
