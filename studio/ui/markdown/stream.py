"""Parses markdown that grows at its end: only the open end is parsed again."""

from __future__ import annotations

import re

import pyromark

from .parser import OPTIONS, Block, BlockReader


class MarkdownStream:
    """A document that grows at its end; only its open tail is parsed again.

    ``blocks`` is at any time what ``parse`` makes of the same source.
    """

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.parsed = 0
        """Characters parsed by the last ``update``: for measuring."""
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

    def _advance(self, source: str, tops: list[tuple[int, int, int]]) -> None:
        """Move the border of what is final to the start of the last open block.

        A block is closed by a later one only once that one's first line is
        whole: "2" is a paragraph, "2. b" goes on with a list.
        """
        for start, index, folds in reversed(tops):
            line = source.rfind("\n", 0, start) + 1
            if source.find("\n", start) < 0 or line == self._offset:
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
