"""Three-way merge: merges two changed versions of one text, line by line (T-5)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from studio.domain.line_changes import opcodes
from studio.domain.records import dataclass

Side: TypeAlias = Literal["same", "theirs", "ours", "both", "conflict"]
"""Who changed a part: nobody, the file's version, the draft's, both alike, both differently."""

THEIRS, BETWEEN, OURS = "<<<<<<< File now", "=======", ">>>>>>> Draft"
"""The lines around and between the two sides of a conflict."""

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_Ranges: TypeAlias = list[tuple[int, int, int, int]]


@dataclass(frozen=True, slots=True)
class Hunk:
    """A run of lines as each of the three texts has it, with their line ends.

    ``at`` are the numbers of its first line in base, theirs and ours, from 1.
    """

    side: Side
    base: tuple[str, ...]
    theirs: tuple[str, ...]
    ours: tuple[str, ...]
    at: tuple[int, int, int] = (1, 1, 1)

    @property
    def merged(self) -> tuple[str, ...]:
        """The lines of the merged text; for a conflict both sides, between markers."""
        return self.marked(THEIRS, OURS)

    def marked(self, theirs: str, ours: str) -> tuple[str, ...]:
        """As ``merged``, with other lines before and after the two sides."""
        if self.side != "conflict":
            return self.theirs if self.side == "theirs" else self.ours
        sides = (*self.theirs, *self.ours, *self.base)
        end = "\r\n" if any(line.endswith("\r\n") for line in sides) else "\n"
        return (
            f"{theirs}{end}",
            *_ended(self.theirs, end),
            f"{BETWEEN}{end}",
            *_ended(self.ours, end),
            f"{ours}{end}",
        )


@dataclass(frozen=True, slots=True)
class Merge:
    """The result of a merge. ``conflicts`` counts the hunks that a person has to decide."""

    text: str
    hunks: tuple[Hunk, ...]
    conflicts: int


def three_way(base: str, theirs: str, ours: str) -> Merge:
    """Merge what ``theirs`` and ``ours`` each changed in ``base``.

    Changes that touch, even if only as neighbours, are a conflict unless they
    are the same. Long texts take a while: call it in a thread then.
    """
    lines = [_LINE.findall(text) for text in (base, theirs, ours)]
    hunks = tuple(_hunks(*lines))
    text = "".join(line for hunk in hunks for line in hunk.merged)
    return Merge(text, hunks, sum(hunk.side == "conflict" for hunk in hunks))


def with_line_ends(edited: str, original: str) -> str:
    """An edited text, which has ``\\n`` alone, with the line ends that the original had.

    New lines get the end that most lines have.
    """
    old = _LINE.findall(original)
    bare = [line.rstrip("\r\n") for line in old]
    ends = [line[len(text) :] for line, text in zip(old, bare, strict=True)]
    usual = max(("\n", "\r\n", "\r"), key=ends.count)
    new = edited.split("\n")
    kept: dict[int, str] = {}
    for tag, i1, _, j1, j2 in opcodes(bare, new):
        if tag == "equal":
            kept |= {j: ends[i1 + j - j1] for j in range(j1, j2)}
    last = len(new) - 1
    return "".join(
        text if n == last else f"{text}{kept.get(n) or usual}" for n, text in enumerate(new)
    )


def _hunks(base: Sequence[str], theirs: Sequence[str], ours: Sequence[str]) -> Iterator[Hunk]:
    changes = [_changes(base, theirs), _changes(base, ours)]
    shift = [0, 0]  # by how many lines theirs and ours are ahead of the base
    done = 0
    while changes[0] or changes[1]:
        start = min(side[0][0] for side in changes if side)
        if start > done:
            yield _hunk(base, theirs, ours, (done, start), shift, shift)
        end, before = start, [*shift]
        while touching := [n for n, side in enumerate(changes) if side and side[0][0] <= end]:
            for n in touching:
                i1, i2, j1, j2 = changes[n].pop(0)
                end = max(end, i2)
                shift[n] += (j2 - j1) - (i2 - i1)
        yield _hunk(base, theirs, ours, (start, end), before, shift)
        done = end
    if done < len(base):
        yield _hunk(base, theirs, ours, (done, len(base)), shift, shift)


def _hunk(
    base: Sequence[str],
    theirs: Sequence[str],
    ours: Sequence[str],
    span: tuple[int, int],
    before: Sequence[int],
    after: Sequence[int],
) -> Hunk:
    """The three sides of lines ``span`` of the base; ``before`` and ``after`` are the shifts
    of theirs and ours, in lines, at its start and end."""
    start, end = span
    left = tuple(base[start:end])
    middle = tuple(theirs[start + before[0] : end + after[0]])
    right = tuple(ours[start + before[1] : end + after[1]])
    at = (start + 1, start + before[0] + 1, start + before[1] + 1)
    side: Side
    if middle == right:
        side = "same" if left == middle else "both"
    elif left == right:
        side = "theirs"
    else:
        side = "ours" if left == middle else "conflict"
    return Hunk(side, left, middle, right, at)


def _changes(old: Sequence[str], new: Sequence[str]) -> _Ranges:
    return [(i1, i2, j1, j2) for tag, i1, i2, j1, j2 in opcodes(old, new) if tag != "equal"]


def _ended(lines: tuple[str, ...], end: str) -> tuple[str, ...]:
    """The lines, the last one with a line end too."""
    if lines and not lines[-1].endswith(("\n", "\r")):
        return (*lines[:-1], f"{lines[-1]}{end}")
    return lines
