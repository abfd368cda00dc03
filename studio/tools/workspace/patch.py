"""Patches: reads the envelope in which OpenAI's models write changes of files, and makes hunks.

A patch adds, deletes, updates and moves files. A hunk of an update names no line numbers: it is
where its lines are, in the place that its ``@@`` lines lead to (C-8). How lines may differ from
the file's is told by ``text_replace`` (C-5); several places are refused, never guessed.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Literal, TypeAlias

from studio.domain.drafts import draft_label
from studio.domain.errors import NothingRead, ToolFailed
from studio.domain.patterns import lazy_pattern
from studio.domain.records import dataclass

from .line_places import split_ends
from .text_replace import Replaced, Stage, replace_lines

ChangeKind: TypeAlias = Literal["add", "delete", "update"]

GRAMMAR = r"""start: BEGIN file+ END
file: added | deleted | updated
added: ADD PLUS*
deleted: DELETE
updated: UPDATE MOVE? (ANCHOR | LINE)* EOF?
BEGIN: "*** Begin Patch\n"
END: /\*\*\* End Patch\n?/
ADD: /\*\*\* Add File: [^\n]+\n/
DELETE: /\*\*\* Delete File: [^\n]+\n/
UPDATE: /\*\*\* Update File: [^\n]+\n/
MOVE: /\*\*\* Move to: [^\n]+\n/
EOF: "*** End of File\n"
ANCHOR: /@@( [^\n]*)?\n/
PLUS: /\+[^\n]*\n/
LINE: /[ +-][^\n]*\n/
"""
"""The form of a patch for OpenAI's models, which cannot write anything else then (Lark)."""

_BEGIN, _END, _EOF = "*** Begin Patch", "*** End Patch", "*** End of File"
_FILE = lazy_pattern(r"\*\*\* (Add|Delete|Update) File: *(.*)")
_MOVE = lazy_pattern(r"\*\*\* Move to: *(.*)")
_ANCHOR = lazy_pattern(r"@@(?: -\d+(?:,\d+)? \+\d+(?:,\d+)? @@)? ?(.*?)(?: @@)?")
_WRAPPED = lazy_pattern(
    r"\s*(?:```\w*|<<-?\s*(['\"]?)(?P<mark>\w+)\1)\n(?P<patch>.*)\n(?:```|(?P=mark))\s*", re.S
)

_APOSTROPHE = r"""'"'"'|'\\''"""
_QUOTED = rf"'(?P<quoted>[^']*(?:(?:{_APOSTROPHE})[^']*)*)'"
"""What a shell takes as it stands; ``_unquoted`` has what it takes it for."""
_SHELL = lazy_pattern(rf"\s*(?:/(?:usr/)?bin/)?(?:ba|z)?sh\s+-l?c\s+{_QUOTED}\s*", re.S)
"""A command line that another shell runs."""
_COMMAND = lazy_pattern(
    r"""\s*(?:cd\s+(?:'(?P<folder>[^']+)'|"(?P<double>[^"$`\\]+)"|(?P<plain>[\w./@+-]+))\s*(?:&&|;)\s*)?
    apply_?patch\s*(?:<<(?P<tabs>-?)\s*(?P<quote>['"]?)(?P<mark>\w+)(?P=quote)[ \t]*\n
    (?P<patch>.*)\n[ \t]*(?P=mark)|"""
    rf"{_QUOTED})\s*",
    re.S | re.X,
)
"""A command line that hands a patch to a program of this name, and does nothing else."""
_ANCHORED = 1_000
"""Lines that an anchor may fit: the end of what belongs to each is looked for."""
_PATH_LINE = lazy_pattern(r"(?m)^(\*\*\* (?:(?:Add|Update|Delete) File|Move to): *)(?=[^/\s])")


def patch_in_command(command: str, place: str = "") -> str:
    """The patch that a shell command, run in the folder ``place``, means to apply, with paths as
    from the working folder.

    Models write it so because they were trained on that; there is no such program. Empty for
    any other command.
    """
    shell = _SHELL.fullmatch(command)
    found = _COMMAND.fullmatch(_unquoted(shell["quoted"]) if shell else command)
    if found is None:
        return ""
    patch = found["patch"] or _unquoted(found["quoted"] or "")
    if found["tabs"]:
        patch = re.sub(r"(?m)^\t+", "", patch)
    folder = found["folder"] or found["double"] or found["plain"] or ""
    joined = posixpath.join(place, folder)
    return _PATH_LINE.sub(lambda line: line[1] + posixpath.join(joined, ""), patch)


def _unquoted(words: str) -> str:
    return re.sub(_APOSTROPHE, "'", words)


@dataclass(slots=True)
class Hunk:
    """One change of an update: its lines as they are and as they are to be, without ends.

    ``anchors`` are the lines that lead to it, from the outside in. ``line`` is its place in the
    patch, counting from 1. ``at_end``: it is at the end of the file.
    """

    line: int
    anchors: list[str] = field(default_factory=list[str])
    old: list[str] = field(default_factory=list[str])
    new: list[str] = field(default_factory=list[str])
    at_end: bool = False
    bare: int = 0
    """Lines at the end without even a blank, which may only part this hunk from what follows."""


@dataclass(slots=True)
class FileChange:
    """What a patch does with one file. ``to`` is the new path of one that moves, ``lines``
    and ``text`` are those of a new one."""

    kind: ChangeKind
    path: str
    to: str = ""
    lines: list[str] = field(default_factory=list[str])
    hunks: list[Hunk] = field(default_factory=list[Hunk])

    @property
    def text(self) -> str:
        return "".join(self.lines)

    @property
    def label(self) -> str:
        return draft_label(self.path, self.to)


def parse_patch(patch: str) -> list[FileChange]:
    """The changes of a patch in order; NothingRead that says which line is wrong."""
    wrapped = _WRAPPED.fullmatch(patch)
    patch = wrapped["patch"] if wrapped else patch
    lines = patch.replace("\r\n", "\n").strip("\n").split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines or lines[0].strip() != _BEGIN:
        raise NothingRead(f"A patch begins with the line “{_BEGIN}”.")
    if lines[-1].strip() != _END:
        raise NothingRead(
            f"The patch has no line “{_END}” at its end, so it may be cut off. Nothing was "
            "changed: send it whole."
        )
    changes: list[FileChange] = []
    for number, line in enumerate(lines[1:-1], 2):
        if found := _FILE.fullmatch(line.rstrip()):
            changes.append(_begun(number, found[1], found[2]))
        elif not changes:
            if line.strip():
                raise _wrong(
                    number, line, "before it a line such as “*** Update File: ” is missing"
                )
        else:
            _take(changes[-1], number, line)
    if not changes:
        raise NothingRead("The patch changes no file.")
    for change in changes:
        for hunk in change.hunks:
            hunk.old = hunk.old[: len(hunk.old) - hunk.bare]
            hunk.new = hunk.new[: len(hunk.new) - hunk.bare]
        change.hunks = [hunk for hunk in change.hunks if hunk.old or hunk.new]
        if change.kind == "update" and not change.hunks and not change.to:
            raise NothingRead(f"The patch says nothing of what changes in {change.path}.")
    return changes


def _begun(number: int, kind: str, path: str) -> FileChange:
    if not path:
        raise NothingRead(f"Line {number} of the patch names no file.")
    kinds: dict[str, ChangeKind] = {"Add": "add", "Delete": "delete", "Update": "update"}
    return FileChange(kinds[kind], path)


def _take(change: FileChange, number: int, line: str) -> None:
    """Add a line of the patch to the change of a file."""
    if change.kind == "add":
        if not line.strip():
            return  # it parts this file from the next
        if line[:1] != "+":
            raise _wrong(number, line, "each line of a new file begins with “+”")
        change.lines.append(f"{line[1:]}\n")
        return
    if change.kind == "delete":
        if line.strip():
            raise _wrong(number, line, "a file that is deleted has no lines")
        return
    last = change.hunks[-1] if change.hunks else None
    if not change.hunks and not change.to and (moved := _MOVE.fullmatch(line.rstrip())):
        change.to = moved[1]
    elif line.rstrip() == _EOF:
        if last is None:
            raise _wrong(number, line, "a change has to come before it")
        last.at_end = True
    elif line.startswith("@@"):
        anchor = _ANCHOR.fullmatch(line.rstrip())
        if last is None or last.old or last.new:
            change.hunks.append(last := Hunk(number))
        if anchor is not None and anchor[1]:
            last.anchors.append(anchor[1])
    elif line[:1] in ("", " ", "+", "-"):
        if last is None or last.at_end:
            change.hunks.append(last := Hunk(number))
        if line[:1] != "+":
            last.old.append(line[1:])
        if line[:1] != "-":
            last.new.append(line[1:])
        last.bare = last.bare + 1 if not line else 0
    else:
        raise _wrong(number, line, "each line of a change begins with a blank, “+”, “-” or “@@”")


def _wrong(number: int, line: str, why: str) -> NothingRead:
    return NothingRead(f"Line {number} of the patch is “{line[:80]}”, but {why}.")


def patched(text: str, name: str, hunks: Sequence[Hunk]) -> tuple[str, list[str]]:
    """``text`` after all hunks, and in what lines differed that were not found exactly.

    Raises ToolFailed, which names the hunk, where one cannot be made.
    """
    notes: list[str] = []
    for number, hunk in enumerate(hunks, 1):
        which = f"Hunk {number} (line {hunk.line} of the patch)" if len(hunks) > 1 else "The hunk"
        made = _made(text, name, hunk, which)
        text = made.text
        if made.ignored:
            lines = f"line {made.first}" if made.first == made.last else ""
            lines = lines or f"lines {made.first}-{made.last}"
            which = f"hunk {number}" if len(hunks) > 1 else "the hunk"
            notes.append(f"In {lines} of {name} {which} was found but for {made.ignored}.")
    return text, notes


def _made(text: str, name: str, hunk: Hunk, which: str) -> Replaced:
    lines = [line for line, _ in split_ends(text)]
    blocks = _blocks(lines, hunk.anchors)
    everywhere = range(len(lines))
    if not hunk.old:
        if hunk.anchors and len(blocks) != 1:
            how_many = f"{len(blocks)} lines" if blocks else "no line"
            raise ToolFailed(
                f"{which} only adds lines, and {name} has {how_many} “{hunk.anchors[-1]}”. "
                "Give lines of the file before or after them."
            )
        # Added after a line is that line replaced, with all that this says of line ends.
        worded = [n for n in everywhere if lines[n].strip()]
        at, end = (blocks[0][0], blocks[0][0] + 1) if blocks else (max(worded, default=0), None)
        around = lines[at:end]
        if not worded:
            return Replaced(text + "".join(f"{line}\n" for line in hunk.new), 1, 1)
        return replace_lines(
            text, name, around, [*around, *hunk.new], [(range(at, at + 1),)], which
        )
    if not any(line.strip() for line in hunk.old):
        raise ToolFailed(f"{which} has only blank lines of {name}. Give lines with words, too.")
    stages: list[Stage] = [(everywhere,)]
    if blocks:
        stages = [({n for block in blocks for n in range(*block)},)]
        stages.append((range(blocks[0][0], len(lines)),))
    if hunk.at_end:
        blank = next((n for n, line in enumerate(reversed(lines)) if line.strip()), 0)
        first = len(lines) - len(hunk.old)
        stages.insert(0, (range(first - blank, first + 1),))
    try:
        return replace_lines(text, name, hunk.old, hunk.new, stages, which)
    except ToolFailed as error:
        if not blocks:
            raise
        try:
            there = replace_lines(text, name, hunk.old, hunk.new, [(everywhere,)], which)
        except ToolFailed:
            raise error from None
    raise ToolFailed(
        f"{which} is at line {there.first} of {name}, which is not below its line "
        f"“@@ {hunk.anchors[-1]}”. Correct the line, or the hunk."
    )


def _blocks(lines: Sequence[str], anchors: Sequence[str]) -> list[tuple[int, int]]:
    """Where anchors lead, one inside of the other: the last one's line, and the end of what is
    indented below it. Empty where one of them is no line of the file."""
    blocks = [(-1, len(lines))]
    depths = [_depth(line) for line in lines] if anchors else []
    for anchor in anchors:
        plain = anchor.strip()
        begins = re.compile(rf"{re.escape(plain)}(?!\w)")
        same: list[Callable[[str], object]] = [
            lambda line, anchor=anchor: line == anchor,
            lambda line, plain=plain: line.strip() == plain,
            lambda line, begins=begins: begins.match(line.strip()),
        ]
        inside: list[int] = []
        for at, end in blocks:  # one may be inside of another
            inside += range(max(at, inside[-1] if inside else -1) + 1, end)
        found: list[int] = []
        for is_same in same:
            found = found or [n for n in inside if is_same(lines[n])]
        if len(found) > _ANCHORED:  # it leads nowhere
            return []
        blocks = [(n, _block_end(lines, depths, n)) for n in found]
    return blocks if anchors else []


def _block_end(lines: Sequence[str], depths: Sequence[int], at: int) -> int:
    """The line after what belongs to the line ``at`` by its indentation."""
    for n in range(at + 1, len(lines)):
        words = lines[n].strip()
        if not words or depths[n] > depths[at] or words == "{":
            continue
        if words[0] not in "})]":
            return n
        if words[-1] not in ":{":  # it goes on after a closing bracket of the first lines
            return n + 1
    return len(lines)


def _depth(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip())].expandtabs(4))
