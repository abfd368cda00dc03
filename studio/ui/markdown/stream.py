"""Parses markdown that grows at its end: only the open end is parsed again."""

from __future__ import annotations

import re
from dataclasses import replace

import pyromark

from .blocks import Block
from .parser import OPTIONS, BlockReader

_WORD = r"[^\W_]+(?:['’-][^\W_]+)*[.,;:!?]?"
_WORDS = re.compile(rf"(?:[.,;:!?](?= |$))? ?(?:{_WORD} )*(?:{_WORD})?")
"""Words with one space between them; no dot or colon within one, as addresses have."""
_LAST_WORD = re.compile(_WORD)
_BEGUN = re.compile("[A-Za-z]{2}")
"""A line that has this is text, whatever follows in it."""
_BELOW_HEAD = re.compile(r"\|?[-:| ]*")


class MarkdownStream:
    """A document that grows at its end; only its open tail is parsed again.

    ``blocks`` is at any time what ``parse`` makes of the same source.
    """

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.grew = False
        """Whether all that the last ``update`` did was to add plain words to the last block."""
        self.parsed = 0
        """Characters parsed by the last ``update``: for measuring."""
        self._length = 0
        self._offset = 0
        self._count = 0
        self._folds = 0
        """How many folds are open where the tail begins."""
        self._known: dict[str, tuple[str, str]] = {}
        self._prefix = ""

    def update(self, source: str) -> int:
        """Take the source so far; returns the index of the first block that changed.

        ``source`` begins with what was given before. Blocks before the index
        are the same objects as before.
        """
        added, self._length = source[self._length :], len(source)
        self.grew = self._grow(source, added)
        if self.grew:
            self.parsed = len(added)
            return len(self.blocks) - 1
        tail = source[self._offset :]
        if "]:" in tail:
            known = _definitions(self._prefix + tail)
            if known != self._known:
                # A definition reaches back: links before it come alive.
                self._known, self._prefix = known, ""
                self._offset = self._count = self._folds = 0
                tail = source
        reader = BlockReader(tail, self._offset, self._prefix, self._folds)
        fresh = reader.read()
        self.parsed = len(tail)
        first = self._count
        kept = self.blocks
        limit = min(len(kept) - first, len(fresh))
        same = 0
        while same < limit and kept[first + same] == fresh[same]:
            same += 1
        kept[first + same :] = fresh[same:]
        self._advance(source, reader.tops)
        return first + same

    def _grow(self, source: str, added: str) -> bool:
        """Add plain words to the paragraph at the end, where they cannot mean anything else."""
        block = self.blocks[-1] if self.blocks else None
        if not added or block is None or block.kind != "paragraph":
            return False
        if not _WORDS.fullmatch(added):
            return False
        size = len(source) - len(added)
        before, space = source[block.start : size], source.endswith(" ", 0, size)
        if block.end != size - (space and block.tight) or "<" in before:
            return False
        if before.rfind("](") > before.rfind(")"):
            return False  # an address is being written
        if len(self.blocks) > 1 and self.blocks[-2].end > block.start:
            return False  # the row of a fold ends with what is in it
        line = before[before.rfind("\n") + 1 :]
        if not _BEGUN.search(line) or "]:" in source[self._offset : size]:
            return False
        if space:
            if line[-2:].isspace() or not added[0].isalnum():
                return False
        elif not _LAST_WORD.fullmatch(line, line.rfind(" ") + 1):
            return False
        elif added[0] != " " and not line[-1].isalnum():
            return False  # perhaps an address
        text = block.text + (" " if space else "") + added.removesuffix(" ")
        end = len(source) - (block.tight and added.endswith(" "))
        self.blocks[-1] = replace(block, text=text, end=end)
        return True

    def _advance(self, source: str, tops: list[tuple[int, int, int]]) -> None:
        """Move the border of what is final to the start of the last open block.

        A block is closed by a later one only once that one's first line is
        whole: "2" is a paragraph, "2. b" goes on with a list. Of a table it is
        the second line: with "|-|-|" below it, "|a" is no head of one.
        """
        for start, index, folds in reversed(tops):
            line, told = source.rfind("\n", 0, start) + 1, source.find("\n", start)
            begun = self._count + index
            if told >= 0 and begun < len(self.blocks) and self.blocks[begun].kind == "table":
                told = source.find("\n", told + 1)
            if told < 0 or line == self._offset:
                continue
            above = source[source.rfind("\n", 0, max(0, line - 1)) + 1 : line]
            if above.strip() and "]:" in source[self._offset : line]:
                continue  # perhaps a definition's line: what follows belongs to it
            closed = source[self._offset : line]
            if "]:" in closed:
                self._prefix = _written(_definitions(self._prefix + closed))
            self._count += index
            self._offset, self._folds = line, folds
            return


def settled_length(source: str) -> int:
    """How much of a growing text is to be shown: all but what may become the head of a table.

    Until the line below it tells, it would stand there as words with bars.
    """
    begun = source.rfind("\n") + 1
    if source[begun : begun + 1].isalnum():  # nearly always: asked for each frame
        return len(source)
    first, last = _line_before(source, len(source))
    if _may_be_head(source, first, last):
        return first
    if _BELOW_HEAD.fullmatch(last):  # the line below a head, as far as it is written
        first, above = _line_before(source, first - 1)
        if _may_be_head(source, first, above):
            return first
    return len(source)


def _may_be_head(source: str, start: int, line: str) -> bool:
    return line.startswith("|") and not _line_before(source, start - 1)[1].startswith("|")


def _line_before(source: str, end: int) -> tuple[int, str]:
    """Where the line that ends at ``end`` begins, and its words."""
    start = source.rfind("\n", 0, max(0, end)) + 1
    return start, source[start : max(0, end)].strip()


def _definitions(source: str) -> dict[str, tuple[str, str]]:
    found = pyromark.reference_definitions(source, options=OPTIONS)
    return {
        label: (
            re.sub(r"[<>\\\n]", lambda match: "\\" + match[0], value["dest"]),
            re.sub(r'["\\]', lambda match: "\\" + match[0], value["title"] or ""),
        )
        for label, value in found.items()
    }


def _written(definitions: dict[str, tuple[str, str]]) -> str:
    """Definitions as markdown again, to be read before what comes later."""
    lines = [f'[{label}]: <{dest}> "{title}"\n' for label, (dest, title) in definitions.items()]
    return "".join([*lines, "\n"]) if lines else ""
