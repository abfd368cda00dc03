"""Line places: finds the lines that a model copied from a text, not always exactly (C-5).

They may differ in what a model does not see or does not count: blanks at line ends, typographic
characters, or their indentation, if all of them do in the same way. Nothing is found by likeness.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from studio.domain.records import dataclass

BLANKS = " \t"
TYPOGRAPHIC = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u200a\u202f\u3000", " "),
    }
)
"""One character for one, so that a place in the changed text is one in the text."""
_UNITS = ("\t", "    ", "  ", "        ", "   ")

Reindent = Callable[[str], str | None]
"""The indentation of a line of the new text, as the file has it; None where that is open."""

Line = tuple[str, str]
"""A line, and how it ends."""


def split_ends(text: str, end: str = "") -> list[Line]:
    """The lines of a text; the last may be without an end. They end in ``end`` or, where that
    is "", as a file's do."""
    end = end or ("\r\n|\n" if "\n" in text else "\r")
    lines: list[Line] = []
    at = 0
    for match in re.finditer(end, text):
        lines.append((text[at : match.start()], match[0]))
        at = match.end()
    if at < len(text):
        lines.append((text[at:], ""))
    return lines


@dataclass(frozen=True, slots=True)
class Place:
    """Lines from ``at`` on, counting from 0. The first one's ``indent`` stays where the copy
    has none of it; "" otherwise."""

    at: int
    reindent: Reindent = str
    indent: str = ""


def trimmed(line: str) -> str:
    return line.rstrip(BLANKS)


def typed(line: str) -> str:
    return line.translate(TYPOGRAPHIC).rstrip(BLANKS)


def same_lines(
    lines: Sequence[Line], wanted: Sequence[Line], plain: Callable[[str], str]
) -> list[Place]:
    """Places where all lines are the same in their ``plain`` form."""
    return [Place(at) for at in find_lines(lines, wanted, plain)]


def reindented_lines(
    lines: Sequence[Line], wanted: Sequence[Line], plain: Callable[[str], str]
) -> list[Place]:
    """Places where the lines differ in their indentation, all in the same way."""
    found: list[Place] = []
    for at in find_lines(lines, wanted, lambda line: plain(line).lstrip(BLANKS)):
        there = [line for line, _ in lines[at : at + len(wanted)]]
        pairs = [
            (indent_of(line), indent_of(copy))
            for line, (copy, _) in zip(there, wanted, strict=True)
            if copy.strip()
        ]
        begins_after_indentation = bool(wanted[0][0].strip()) and not pairs[0][1]
        if (reindent := _uniform(pairs)) is not None:
            found.append(Place(at, reindent))
        elif begins_after_indentation and (reindent := _uniform(pairs[1:])) is not None:
            found.append(Place(at, reindent, pairs[0][0]))
    return found


def find_lines(
    lines: Sequence[Line], wanted: Sequence[Line], plain: Callable[[str], str]
) -> list[int]:
    """The indexes of the first lines from which on all of ``wanted`` follow."""
    whole = "\n".join(["", *(plain(line) for line, _ in lines), ""])
    copy = "\n".join(["", *(plain(line) for line, _ in wanted), ""])
    found: list[int] = []
    index, line, counted = whole.find(copy), 0, 0
    while index >= 0:
        line, counted = line + whole.count("\n", counted, index), index
        found.append(line)
        index = whole.find(copy, index + 1)
    return found


def indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip(BLANKS))]


def _uniform(pairs: Sequence[tuple[str, str]]) -> Reindent | None:
    """How the indentations of a copy (second) become those of the file (first); None if each
    line would need a change of its own."""
    there = min((file for file, _ in pairs), key=len)
    copied = min((copy for _, copy in pairs), key=len)
    moved = all(
        file.startswith(there)
        and copy.startswith(copied)
        and file[len(there) :] == copy[len(copied) :]
        for file, copy in pairs
    )
    other_kind = bool(there and copied) and set(there) != set(copied)
    if moved and not other_kind:
        return lambda indent: _moved(indent, copied, there)
    # Tabs for blanks, or another number of blanks a level. That needs no guess where levels
    # stay as they are.
    for shifted in (False, True):
        for of_copy in _UNITS:
            for of_file in _UNITS:
                levels = [(_level(f, of_file), _level(c, of_copy)) for f, c in pairs]
                steps = {None if f is None or c is None else f - c for f, c in levels}
                step = steps.pop() if len(steps) == 1 else None
                if of_copy != of_file and step is not None and (shifted or step == 0):
                    return _levels(of_copy, of_file, step)
    return None


def _levels(of_copy: str, of_file: str, step: int) -> Reindent:
    def reindent(indent: str) -> str | None:
        level = _level(indent, of_copy)
        return None if level is None or level + step < 0 else of_file * (level + step)

    return reindent


def _level(indent: str, unit: str) -> int | None:
    level, rest = divmod(len(indent), len(unit))
    return level if not rest and indent == unit * level else None


def _moved(indent: str, copied: str, there: str) -> str | None:
    if indent.startswith(copied):
        return there + indent[len(copied) :]
    less = len(copied) - len(indent)
    if copied.startswith(indent) and len(set(copied + there)) == 1 and less <= len(there):
        return there[: len(there) - less]
    return None
