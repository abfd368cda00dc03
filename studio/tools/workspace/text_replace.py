"""Text replacement: puts a new text in place of one that a model copied, not always exactly (C-5).

A model's copy may differ from the file in what it does not see or does not count. ``replace``
tries these in turn, each with those before it, and takes the first that finds the text:
exactly; line ends; blanks at line ends; one uniform change of indentation; typographic quotes,
dashes and blanks. A text that is found in several places is refused, and nothing is ever found
by likeness. What the copy and the new text have in common stays as the file has it.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TypeAlias

from studio.domain.errors import ToolFailed
from studio.domain.patterns import lazy_pattern
from studio.domain.records import dataclass
from studio.tools.sdk.result import plural

from .line_places import (
    BLANKS,
    TYPOGRAPHIC,
    Line,
    Place,
    find_lines,
    indent_of,
    reindented_lines,
    same_lines,
    split_ends,
    trimmed,
    typed,
)

_PLACES = 10
"""Places that are looked at, and named in a message."""
_ALIGNED = 2_000
"""Lines or characters of texts that are compared piece by piece; longer ones count as new."""
_PAIRS = 100_000
"""Equal pairs of such pieces. With more of them, of a few that come again and again, the time to
compare grows with the cube of the length."""
_NUMBERED = lazy_pattern(r"[ \t]*(\d+)(?:(\t|\u2192|[ ]?\||:)(.*))?", re.DOTALL)
"""A line with its number. One without a mark is an empty line whose blanks were left out."""
_BLANK_AFTER = ("|", ":")
"""Marks after which programs put a blank or none: ``cat`` and ``grep`` differ."""
_ELIDED = lazy_pattern(
    r"""(?ix)
    (?P<comment> \# | // | /\* | <!-- | -- | ; | % | \{/\* )? [\s(\[]*
    (?P<dots>\.{3} | \u2026)? [\s(\[]*
    (?: (?: keep | leave ) \s+ )? (?: (?: the | all | your | code ) \s+ )*
    (?: rest | remaining | remainder | existing | unchanged | other | previous | same
      | no \s+ changes? | omitted )
    \b [\w\s,']{0,60} [)\]]? \s* (?P<more>\.{3} | \u2026)? [\s)\]]* (?: \*/ \}? | --> )? """
)
_UNCHANGED = lazy_pattern(
    r"(?i)(?:\#|//|/\*|<!--|\().{0,40}"
    r"(?:\b(?:rest|remaining|everything else|other)\b.{0,40}"
    r"\b(?:unchanged|as before|as is|stays?|remains?|is the same)\b"
    r"|\brest of (?:the|your|this)?\s?(?:code|file|function|class|method)s?(?: goes)? here\b"
    r"|\bsame as before$)"
)
_DOTS = lazy_pattern(r"(?:#|//|/\*|<!--|--|;|%|\{/\*)\s*(?:\.{3}|\u2026)\s*(?:\*/\}?|-->)?")
"""A comment of dots alone: it stands for others where a text has become shorter."""

_OLD = "“old”"
Stage: TypeAlias = Sequence[Collection[int]]
"""Lines where a search may find something, counting from 0. What begins in the first collection
counts alone, if there is anything."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """A text after a replacement, which began in line ``first`` and ended in line ``last`` of
    the text before. ``ignored`` says in what the copy differed, "" if in nothing."""

    text: str
    first: int
    last: int
    ignored: str = ""


def replace(text: str, name: str, old: str, new: str, *, every: bool = False) -> Replaced:
    """``text`` with ``old`` replaced; ToolFailed that helps where it is not there just once.

    ``every`` replaces all places of a text that is there exactly, or but for line ends.
    """
    _refuse_elision(old, new)
    copied, put = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    lines = split_ends(text)
    if (found := _in_text(text, name, (old, new), "", every=every)) is not None:
        return found
    if (found := _in_text(text, name, (copied, put), "line ends", every=every)) is not None:
        return found
    plain_copy, plain_put = _without_numbers(lines, copied, put)
    wanted = split_ends(plain_copy, "\n")
    # Without numbers only the end of the file's last line is not there.
    same = "line numbers" if plain_copy != copied else ""
    if place := _place_of(lines, wanted, name, _OLD, same=same):
        return _put(lines, wanted, plain_put, *place)
    found = _in_text(text, name, (copied, put), "typographic characters", every=False)
    if found is not None:
        return found
    raise ToolFailed(_not_found(text, name, plain_copy, _OLD))


def replace_lines(
    text: str, name: str, old: Sequence[str], new: Sequence[str], stages: Sequence[Stage], what: str
) -> Replaced:
    """``text`` with the whole lines ``old`` replaced, as a patch wants it; else ToolFailed.

    They are looked for in one stage after the other, until they are found. ``what`` names them
    in an error, with a capital.
    """
    _refuse_elision("\n".join(old), "\n".join(new), what)
    lines = split_ends(text)
    plain_copy, plain_put = _without_numbers(lines, _ended(old), _ended(new))
    same = "line numbers" if plain_copy != _ended(old) else ""
    wanted = split_ends(plain_copy, "\n")
    for stage in stages:
        if place := _place_of(lines, wanted, name, what, stage, same=same):
            return _put(lines, wanted, plain_put, *place)
    raise ToolFailed(_not_found(text, name, plain_copy, what))


def _ended(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _place_of(
    lines: Sequence[Line],
    wanted: Sequence[Line],
    name: str,
    what: str,
    stage: Stage = (range(sys.maxsize),),
    *,
    same: str,
) -> tuple[Place, str] | None:
    """The one place of the wanted lines, and in what they differ there; None if there is none.

    ``same`` is what was taken off already. Raises ToolFailed for several places.
    """
    if not any(line.strip() for line, _ in wanted):
        return None
    for ignored, find, plain in (
        (same, same_lines, str),
        ("blanks at line ends", same_lines, trimmed),
        ("indentation", reindented_lines, trimmed),
        ("typographic characters", same_lines, typed),
        ("indentation and typographic characters", reindented_lines, typed),
    ):
        found = find(lines, wanted, plain)
        for span in stage:
            places = [place for place in found if place.at in span]
            if len(places) > 1:
                numbers = [place.at + 1 for place in places[:_PLACES]]
                raise ToolFailed(_ambiguous(name, numbers, ignored, what))
            if places:
                return places[0], ignored
    return None


def _in_text(
    text: str, name: str, pair: tuple[str, str], ignored: str, *, every: bool
) -> Replaced | None:
    """The text with the pair's first replaced wherever in a line it begins; None if it is not
    there. What is ``ignored`` is "", line ends, or these and typographic characters."""
    old, new = pair
    searched, removed = text, list[int]()
    if ignored:
        searched = text.replace("\r\n", "\n") if "\n" in text else text.replace("\r", "\n")
        removed = [m.start() - n for n, m in enumerate(re.finditer("\r\n", text))]
    if ignored == "typographic characters":
        places = _all(searched.translate(TYPOGRAPHIC), old.translate(TYPOGRAPHIC))
    else:
        places = _all(searched, old)
    if not places:
        return None
    numbers = [searched.count("\n", 0, place) + 1 for place in places[:_PLACES]]
    if len(places) > 1 and not every:
        raise ToolFailed(_ambiguous(name, numbers, ignored, _OLD))
    if any(b - a < len(old) for a, b in pairwise(places)):
        raise ToolFailed(f"The places of “old” in {name} overlap. Give more of the text.")
    pieces: list[str] = []
    at, deeper = 0, False
    for place in places:
        # Each line end that was shortened before a place moves it.
        start, end = (i + bisect_left(removed, i) for i in (place, place + len(old)))
        there, put = text[start:end], _as_deep(searched, place, old, new)
        deeper = deeper or put != new
        pieces += [text[at:start], _with_ends(text, start, there, _kept(old, there, put))]
        at = end
    pieces.append(text[at:])
    last = numbers[0] + old.rstrip("\n").count("\n")
    # Models write one kind of line end everywhere: nothing to tell them.
    told = "indentation" if deeper else "" if ignored == "line ends" else ignored
    return Replaced("".join(pieces), numbers[0], last, told)


def _all(text: str, old: str) -> list[int]:
    """Where ``old`` begins; overlapping places too, as long as they are few."""
    found: list[int] = []
    index = text.find(old)
    while index >= 0:
        found.append(index)
        index = text.find(old, index + (1 if len(found) < _PLACES else len(old)))
    return found


def _as_deep(text: str, place: int, old: str, new: str) -> str:
    """``new`` with all lines as deep as its first, where ``old`` is one line that begins inside
    of an indentation: the copy had too little of it, and so has each line of ``new``."""
    if old[:1] not in BLANKS or "\n" not in new or "\n" in old.rstrip("\n"):
        return new
    before = text[text.rfind("\n", 0, place) + 1 : place]
    if before.strip(BLANKS):
        return new
    first, *more = new.split("\n")
    return "\n".join([first, *(before + line if line.strip() else line for line in more)])


def _with_ends(text: str, start: int, there: str, new: str) -> str:
    """``new`` with the line ends of what it replaces, one after the other; more as the last."""
    lines = new.replace("\r\n", "\n").split("\n")
    if len(lines) == 1:
        return new
    end = "\n" if "\n" in text else "\r"
    kind = re.compile("\r\n|\n" if end == "\n" else end)
    ends: list[str] = kind.findall(there)
    if not ends:
        after = kind.search(text, start + len(there))
        last = max(text.rfind(end) - 1, 0)
        ends = [after[0]] if after else kind.findall(text, last)[-1:]
    if not ends:
        return new
    ends += [ends[-1]] * len(lines)
    ends[len(lines) - 1 :] = [""]
    return "".join(line + end for line, end in zip(lines, ends, strict=True))


def _kept(old: str, there: str, new: str) -> str:
    """``new``, with the characters of the file where ``old`` has them in another form."""
    there = there.replace("\r\n", "\n")
    if there == old or len(there) != len(old):
        return new
    aligned = _aligned(old, new)
    return "".join(there[a:b] if old[a:b] == new[c:d] else new[c:d] for a, b, c, d in aligned)


def _put(
    lines: Sequence[Line], wanted: Sequence[Line], new: str, place: Place, ignored: str
) -> Replaced:
    """The text of ``lines`` with ``new`` in place of those that ``wanted`` was found as."""
    at, after = place.at, place.at + len(wanted)
    there = lines[at:after]
    copies = [line for line, _ in wanted]
    news = [line for line, _ in split_ends(new, "\n")]
    ends = [end for _, end in (*there, *lines[at - 1 : at]) if end] or ["\n"]
    put: list[Line] = []
    for a, b, c, d in _aligned(copies, news):
        if copies[a:b] == news[c:d]:
            put += there[a:b]
            continue
        for n, line in enumerate(news[c:d]):
            begun = place.indent if c + n == 0 else ""
            if line.strip() and not begun:
                begun = place.reindent(indent_of(line))
            if begun is None:
                raise ToolFailed(
                    f"What is to be replaced is at lines {at + 1}-{after} with another "
                    "indentation, and how the new lines are to be indented there is open. Copy "
                    "the indentation of the file."
                )
            words, end = line.lstrip(BLANKS), ends[0]
            if n < b - a:
                file, end = there[a + n][0].strip(BLANKS), there[a + n][1] or end
                words = _kept(copies[a + n].strip(BLANKS), file, words)
            put.append((begun + words, end))
    # The last line ends as it did: a model counts the line end with the text or not.
    text = "".join(line + (end or ends[0]) for line, end in put[:-1])
    text += put[-1][0] if put else ""
    if put or not wanted[-1][1]:
        text += there[-1][1]
    whole = [*(line + end for line, end in lines[:at]), text]
    whole += [line + end for line, end in lines[after:]]
    return Replaced("".join(whole), at + 1, after, ignored=ignored)


def _aligned(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Which pieces of ``old`` became which of ``new``."""
    count = Counter(old)
    if max(len(old), len(new)) > _ALIGNED or sum(count[one] for one in new) > _PAIRS:
        return [(0, len(old), 0, len(new))]
    changes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(a, b, c, d) for _, a, b, c, d in changes]


def _without_numbers(lines: Sequence[Line], old: str, new: str) -> tuple[str, str]:
    """Both texts without the line numbers that were copied with ``old``.

    Whether a blank after a mark belongs to it or to the line is seen in the file's ``lines``.
    """
    copied, news = old.split("\n"), new.split("\n")
    if (found := _numbered(copied)) is None:
        return old, new
    first, mark, texts = found
    words = [text for text in texts if text]
    spaced = mark in _BLANK_AFTER and bool(words) and all(text[0] == " " for text in words)
    bare = "\n".join(texts)
    if spaced:
        cut = "\n".join(text[1:] for text in texts)
        spaced = bool(_there(lines, cut)) or not _there(lines, bare)
        bare = cut if spaced else bare
    elif mark == ":" and len(words) < 2:
        return old, new  # a time, or a key
    numbers = range(first, first + max(len(copied), len(news)))
    matches = [_NUMBERED.fullmatch(line) for line in news if line.strip()]
    all_numbered = all(matches) and any(match and match[2] for match in matches)

    def plain(line: str) -> str:
        match = _NUMBERED.fullmatch(line)
        if match is None or int(match[1]) not in numbers:
            return line
        if match[2] is None:
            return "" if all_numbered else line
        if match[2].strip(" ") != mark:
            return line
        return match[3].removeprefix(" " if spaced else "")

    return bare, "\n".join(map(plain, news))


def _there(lines: Sequence[Line], text: str) -> list[int]:
    return find_lines(lines, split_ends(text, "\n"), trimmed)


def _numbered(lines: Sequence[str]) -> tuple[int, str, list[str]] | None:
    """The first number, the mark after each, and the lines without; None if not all of them
    are numbered, one after the other."""
    matches = [_NUMBERED.fullmatch(line) for line in lines]
    found = [match for match in matches if match is not None]
    marks = {match[2].strip(" ") for match in found if match[2]}
    if len(marks) != 1 or len(found) < sum(bool(line.strip()) for line in lines):
        return None
    first = int(found[0][1])
    if any(int(match[1]) != number for number, match in enumerate(found, first)):
        return None
    return first, marks.pop(), [match[3] or "" if match else "" for match in matches]


def _refuse_elision(old: str, new: str, what: str = "") -> None:
    """Raise ToolFailed for a new text that stands for lines it leaves out."""
    whose, smaller = (f"{what}", "hunk") if what else ("“new”", "“old”")
    had = {line.strip() for line in old.splitlines()}
    shorter = len(new.splitlines()) < len(old.splitlines())
    for line in new.splitlines():
        words = line.strip()
        if len(words) > 120 or words in had:
            continue
        match = _ELIDED.fullmatch(words)
        if (
            (match and (match["dots"] or (match["comment"] and match["more"])))
            or _UNCHANGED.match(words)
            or (shorter and _DOTS.fullmatch(words))
        ):
            raise ToolFailed(
                f"{whose} has “{words}” in it, which would be written as it stands. Give all "
                f"lines, or a smaller {smaller} with only the lines that change."
            )


def _ambiguous(name: str, numbers: Sequence[int], ignored: str, what: str) -> str:
    lines = ", ".join(str(number) for number in numbers)
    but = f" but for {ignored}" if ignored else ""
    way = "or say that all are meant" if what == _OLD else "or an “@@” line before it"
    return (
        f"{what} is {plural(len(numbers), 'time')} in {name}{but} (lines {lines}). Give more "
        f"lines around it so that it is there once, {way}."
    )


def _not_found(text: str, name: str, old: str, what: str) -> str:
    """What is there instead, so that the next try can be right."""
    start = f"{what} is not in {name}."
    wanted = [line.strip() for line in old.strip().splitlines()]
    lines = text.splitlines()
    bare = [line.strip() for line in lines]
    # One search in one text takes time for each line once, whatever was asked for.
    before, found, _ = "\n".join(["", *bare, ""]).partition("\n".join(["", *wanted, ""]))
    if wanted and found:
        number = before.count("\n")
        there = "\n".join(lines[number : number + len(wanted)])
        return (
            f"{start} Lines {number + 1}-{number + len(wanted)} differ from it only in "
            f"spaces or line breaks; the file has:\n{there}"
        )
    first = next((line for line in wanted if line), "")
    if first in bare:
        number = bare.index(first)
        there = "\n".join(lines[number : number + len(wanted)][:20])
        return f"{start} Its first line is line {number + 1}, but what follows is:\n{there}"
    return f"{start} Read the file and copy the text exactly."
