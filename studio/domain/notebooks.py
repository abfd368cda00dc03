"""Notebooks: shows the cells of a Jupyter notebook as one text, and takes such a text back (C-9).

The text has the source of each cell under a line that begins it::

    # %% markdown 77b0
    A title
    # %% code 3f2a
    import math

Whatever is not changed there keeps its bytes: outputs, metadata, order of keys, indentation.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from studio.domain.records import dataclass

from .errors import ToolFailed
from .jsonvalue import Json, JsonObject, as_object, as_text

KINDS = ("code", "markdown", "raw")
_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\r\n]*")
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def is_notebook(name: str) -> bool:
    """Whether a file is called as notebooks are."""
    return name.lower().endswith(".ipynb")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell. ``key`` is its id or, in a notebook without ids, its number from 1.

    ``first`` and ``last`` are where it is in the notebook's JSON, ``source_at`` where the value
    of its source is.
    """

    key: str
    kind: str
    source: str
    value: JsonObject
    first: int
    last: int
    source_at: tuple[int, int]


@dataclass(frozen=True)
class Notebook:
    """A notebook's JSON and its cells. ``begin`` and ``end`` enclose what is in their array."""

    json: str
    cells: Sequence[Cell]
    begin: int
    end: int
    minor: int

    @cached_property
    def marker(self) -> str:
        """How each line begins that begins a cell; no line of a source does."""
        marker = "# %%"
        lines = [line for cell in self.cells for line in cell.source.split("\n")]
        while any(line.startswith(marker) for line in lines):
            marker += "%"
        return marker

    def heading(self, cell: Cell) -> str:
        return f"{self.marker} {cell.kind} {cell.key}"

    def text(self) -> str:
        """The text of all cells."""
        return "".join(f"{self.heading(cell)}\n{cell.source}\n" for cell in self.cells)

    def with_text(self, text: str) -> str:
        """The JSON with the cells of a changed text; raises ToolFailed for what is none."""
        known = {cell.key: cell for cell in self.cells}
        cells: list[tuple[Cell | None, str]] = []
        for kind, key, source in self._parts(text):
            old = known.pop(key, None)
            if old is None:
                cells.append((None, self._new(kind or "code", key, source, cells)))
            elif kind and kind != old.kind:
                kept = {"id": key, "metadata": old.value.get("metadata")}
                kept = {name: one for name, one in kept.items() if name in old.value}
                cells.append((None, self._cell(kind, kept, source)))
            else:
                cells.append((old, self._changed(old, source)))
        return self._joined(cells)

    def _parts(self, text: str) -> Iterator[tuple[str, str, str]]:
        """Kind, key and source of each cell of a text."""
        begins = re.compile(
            rf"{re.escape(self.marker)}(?: \[?({'|'.join(KINDS)})\]?)?(?: ({_ID.pattern}))?[ \t\r]*"
        )
        head: tuple[str, str] | None = None
        source: list[str] = []
        for line in text.removesuffix("\n").split("\n"):
            if not line.startswith(self.marker):
                source.append(line)
                if head is None and line.strip():
                    raise ToolFailed(f"The text must begin with “{self.marker} code”, or so.")
                continue
            if (match := begins.fullmatch(line)) is None:
                raise ToolFailed(
                    f"“{line[:80]}” would begin a cell. Write “{self.marker} code” or "
                    f"“{self.marker} markdown” for that, and nothing else in its line."
                )
            if head is not None:
                yield *head, "\n".join(source)
            head, source = (match[1] or "", match[2] or ""), []
        if head is not None:
            yield *head, "\n".join(source)

    def _changed(self, cell: Cell, source: str) -> str:
        if source == cell.source:
            return self.json[cell.first : cell.last]
        begin, end = cell.source_at
        old = self.json[begin:end]
        if old.startswith('"'):
            new = self._dumped(source)
        else:
            new = self._lines(source, over_lines="\n" in old or old.strip("[] \t") == "")
        return f"{self.json[cell.first : begin]}{new}{self.json[end : cell.last]}"

    def _new(
        self, kind: str, key: str, source: str, before: Sequence[tuple[Cell | None, str]]
    ) -> str:
        source = source.strip("\n")
        ids = {as_text(cell.value.get("id")) for cell in self.cells}
        if not ids - {""} and self.minor < 5:
            return self._cell(kind, {}, source)
        ids |= {as_text(_loaded(new).get("id")) for _, new in before}
        count = 0
        while not key or key in ids:
            count += 1
            key = hashlib.sha256(f"{count} {source}".encode("utf-8", "replace")).hexdigest()[:8]
        return self._cell(kind, {"id": key}, source)

    def _cell(self, kind: str, kept: JsonObject, source: str) -> str:
        """The JSON of a cell without outputs."""
        of_code: JsonObject = {"execution_count": None, "outputs": []} if kind == "code" else {}
        value: JsonObject = {"cell_type": kind, "metadata": {}, **of_code, **kept}
        members = {name: self._dumped(one) for name, one in value.items()}
        members["source"] = self._lines(source, over_lines=True)
        colon = ": " if self._spaced else ":"
        lines = [f"{json.dumps(name)}{colon}{members[name]}" for name in sorted(members)]
        return self._enclosed("{", lines, "}", 3)

    def _lines(self, source: str, *, over_lines: bool) -> str:
        parts = source.split("\n")
        lines = [f"{part}\n" for part in parts[:-1]] + parts[-1:] * bool(parts[-1])
        return self._enclosed(
            "[", [self._dumped(one) for one in lines], "]", 4 if over_lines else 0
        )

    def _enclosed(self, begin: str, parts: Sequence[str], end: str, level: int) -> str:
        """An array or object, on several lines if ``level`` is its depth and the JSON has some."""
        if not parts:
            return begin + end
        if not level or not self._unit:
            return begin + (", " if self._spaced else ",").join(parts) + end
        newline, indent = self._unit
        lead = newline + indent * level
        return f"{begin}{lead}{f',{lead}'.join(parts)}{newline}{indent * (level - 1)}{end}"

    @cached_property
    def _unit(self) -> tuple[str, str] | None:
        """The line end and indentation of the JSON; None if it is on one line."""
        match = re.match(r"\s*\{(\r?\n)([ \t]*)", self.json)
        return None if match is None else (match[1], match[2])

    @cached_property
    def _spaced(self) -> bool:
        return re.search(r'"cells":\S', self.json) is None

    @cached_property
    def _ascii(self) -> bool:
        return self.json.isascii() and "\\u" in self.json

    def _dumped(self, value: Json) -> str:
        separators = (", ", ": ") if self._spaced else (",", ":")
        made = json.dumps(value, ensure_ascii=self._ascii, separators=separators)
        try:
            made.encode()
        except UnicodeEncodeError:  # half a pair, which no file can hold
            return json.dumps(value, separators=separators)
        return made

    def _joined(self, cells: Sequence[tuple[Cell | None, str]]) -> str:
        """The JSON with other cells in its array."""
        inside = self.json[self.begin : self.end]
        if not cells:
            inside = inside if not self.cells else ""
        elif not self.cells:
            inside = self._enclosed("[", [new for _, new in cells], "]", 2)[1:-1]
        else:
            after = {one.key: two for one, two in zip(self.cells, self.cells[1:], strict=False)}
            first, last = self.cells[0], self.cells[-1]
            newline, indent = self._unit or ("", "")
            usual = f",{newline}{indent * 2}" if newline else ", " if self._spaced else ","
            if len(self.cells) > 1:
                usual = self.json[first.last : self.cells[1].first]
            inside = self.json[self.begin : first.first]
            before: Cell | None = None
            for number, (cell, new) in enumerate(cells):
                if before and cell and after.get(before.key) is cell:
                    inside += self.json[before.last : cell.first]
                elif number:
                    inside += usual
                inside += new
                before = cell
            inside += self.json[last.last : self.end]
        return self.json[: self.begin] + inside + self.json[self.end :]


def read_notebook(text: str) -> Notebook | None:
    """The notebook of a file's text; None if that is none, or of a format before 4."""
    try:
        whole = as_object(json.loads(text))
        cells: list[Cell] = []
        if not isinstance(whole.get("cells"), list) or whole.get("nbformat") != 4:
            return None
        begin = end = 0
        for name, _, first, last in _members(text, _BLANK.match(text).end()):  # type: ignore[union-attr]
            if name == "cells":
                begin, end = first, last
        for first, last in _elements(text, begin):
            cells.append(_cell(text, first, last))
    except (ValueError, RecursionError, _NoCell):
        return None
    keys = [as_text(cell.value.get("id")) for cell in cells]
    if len(set(keys)) < len(keys) or not all(map(_ID.fullmatch, keys)):
        keys = [str(number) for number in range(1, len(cells) + 1)]
    cells = [replace(cell, key=key) for cell, key in zip(cells, keys, strict=True)]
    minor = whole.get("nbformat_minor")
    return Notebook(text, cells, begin + 1, end - 1, minor if isinstance(minor, int) else 0)


def new_notebook(text: str) -> str:
    """The JSON of a new notebook with the cells of a text; raises ToolFailed for what is none."""
    empty = read_notebook(
        '{\n "cells": [],\n "metadata": {},\n "nbformat": 4,\n "nbformat_minor": 5\n}\n'
    )
    assert empty is not None
    return empty.with_text(text)


def compared(before: str, after: str) -> tuple[str, str] | None:
    """The texts of the cells of two versions of a notebook, for people to compare.

    None if these would not show all of a change: of outputs or metadata, for example.
    """
    old, new = read_notebook(before), read_notebook(after)
    if old is None or new is None:
        return None
    if _without(as_object(_loaded(before)), "cells") != _without(
        as_object(_loaded(after)), "cells"
    ):
        return None
    left = [_without(cell.value, "source") for cell in old.cells]
    for cell in new.cells:
        rest = _without(cell.value, "source")
        if rest in left:
            del left[: left.index(rest) + 1]
        elif any(_without(rest, "id", "cell_type").values()) or cell.kind not in KINDS:
            return None
    texts = _shown(old), _shown(new)
    return None if texts[0] == texts[1] else texts


def _shown(book: Notebook) -> str:
    return "".join(f"{book.marker} {cell.kind}\n{cell.source}\n" for cell in book.cells)


def _without(value: JsonObject, *names: str) -> JsonObject:
    return {name: one for name, one in value.items() if name not in names}


def _loaded(text: str) -> JsonObject:
    return as_object(json.loads(text))


class _NoCell(Exception):
    """What is among the cells is none."""


def _cell(text: str, first: int, last: int) -> Cell:
    value: JsonObject = {}
    source_at = None
    if text[first] != "{":
        raise _NoCell
    for name, one, begin, end in _members(text, first):
        value[name] = one
        if name == "source":
            source_at = begin, end
    source = value.get("source")
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(map(str, source))
    kind = value.get("cell_type")
    if source_at is None or not isinstance(source, str) or not isinstance(kind, str):
        raise _NoCell
    return Cell("", kind, source, value, first, last, source_at)


def _members(text: str, at: int) -> Iterator[tuple[str, Any, int, int]]:
    """Key and value of each member of the object at ``at``, and where the value is."""
    at = _after_blank(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _after_blank(text, _after_blank(text, at) + 1)
        value, end = _DECODER.raw_decode(text, at)
        yield key, value, at, end
        at = _after_blank(text, end)
        if text[at] == ",":
            at = _after_blank(text, at + 1)


def _elements(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Where each element of the array at ``at`` is."""
    at = _after_blank(text, at + 1)
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        yield at, end
        at = _after_blank(text, end)
        if text[at] == ",":
            at = _after_blank(text, at + 1)


def _after_blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    assert match is not None
    return match.end()
