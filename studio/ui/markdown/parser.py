"""Markdown to plain blocks, whole or as it streams in.

A document becomes a flat list of ``Block`` values in reading order: what is
nested (a paragraph in a list in a quote) carries its ``nesting`` with it. Long
tables and code are cut into parts, so that a view can lay out and paint one
part at a time. Raw HTML is text like any other; nothing that was written is
left out, except the definitions of reference links.

Offsets in text (``Span``) count UTF-16 units, as Qt does; offsets into the
source (``start``, ``end``) count Python characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeAlias, cast

import pyromark

STRONG, EMPHASIS, CODE, STRIKE, MATH = 1, 2, 4, 8, 16
CODE_LINES = 24
"""Lines of code in one part."""
TABLE_ROWS = 12
"""Rows of a table in one part."""

OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_MATH
)
_STYLES = {"Strong": STRONG, "Emphasis": EMPHASIS, "Strikethrough": STRIKE}
LINE = "\u2028"
"""A line break inside a paragraph."""

Span: TypeAlias = tuple[int, int, int, str]
"""Start, length, styles, and the URL of a link or nothing."""
Cell: TypeAlias = tuple[str, tuple[Span, ...]]
Kind: TypeAlias = Literal["paragraph", "heading", "code", "table", "rule"]


@dataclass(frozen=True, slots=True)
class Block:
    """One part of a document that is laid out by itself.

    ``nesting`` holds ``"quote"`` and ``"item"`` from the outside in; ``marker``
    is the bullet or number of the list item that begins here (``[ ]`` and
    ``[x]`` for tasks). ``level`` is a heading's. Code has its ``language``,
    tables have ``rows`` (the first of them the head where ``part`` is 0),
    ``align`` and ``sample``, the rows that decide the widths of columns in all
    parts. ``part`` numbers the parts of one table or fence, ``final`` marks the
    last.
    """

    kind: Kind
    text: str = ""
    spans: tuple[Span, ...] = ()
    level: int = 0
    nesting: tuple[str, ...] = ()
    marker: str = ""
    tight: bool = False
    language: str = ""
    part: int = 0
    final: bool = True
    rows: tuple[tuple[Cell, ...], ...] = ()
    sample: tuple[tuple[Cell, ...], ...] = ()
    align: tuple[str, ...] = ()
    start: int = 0
    end: int = 0


def utf16(text: str) -> int:
    """The length of ``text`` in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut(text: str, start: int, end: int | None = None) -> str:
    """``text[start:end]`` counted in UTF-16 units."""
    if text.isascii():
        return text[start:end]
    data = text.encode("utf-16-le", "surrogatepass")
    stop = None if end is None else 2 * end
    return data[2 * start : stop].decode("utf-16-le", "replace")


def parse(source: str) -> list[Block]:
    """The blocks of a whole document."""
    return BlockReader(source).read()


def plain(text: str) -> list[Block]:
    """Blocks of what a person typed: only code is formatted, all else stays as it is."""
    out: list[Block] = []
    at = 0
    for match in re.finditer(r"^(`{3,})([^\n`]*)\n(.*?)(?:^\1`*[ \t]*$|\Z)", text, re.S | re.M):
        out += _typed(text, at, match.start())
        out += _code(match[3].removesuffix("\n"), match[2].strip(), (), "", match.span())
        at = match.end()
    out += _typed(text, at, len(text))
    return out or [Block("paragraph")]


def _typed(text: str, start: int, end: int) -> list[Block]:
    piece = text[start:end].strip("\n")
    if not piece.strip():
        return []
    spans: list[Span] = []
    words: list[str] = []
    size = 0
    for part in re.split(r"(`[^`\n]+`)", piece):
        style = CODE if len(part) > 2 and part[0] == part[-1] == "`" else 0
        shown = part[1:-1] if style else part.replace("\n", LINE)
        if style:
            spans.append((size, utf16(shown), style, ""))
        words.append(shown)
        size += utf16(shown)
    return [Block("paragraph", "".join(words), tuple(spans), start=start, end=end)]


def _code(
    text: str, language: str, nesting: tuple[str, ...], marker: str, span: tuple[int, int]
) -> list[Block]:
    lines = text.split("\n")
    count = max(1, -(-len(lines) // CODE_LINES))
    return [
        Block(
            "code",
            "\n".join(lines[part * CODE_LINES : (part + 1) * CODE_LINES]),
            nesting=nesting,
            marker=marker if part == 0 else "",
            language=language,
            part=part,
            final=part == count - 1,
            start=span[0],
            end=span[1] if part == count - 1 else span[0],
        )
        for part in range(count)
    ]


class BlockReader:
    """Walks the parser's events once and writes down blocks.

    ``base`` is where ``source`` begins in the whole document; ``prefix`` is read
    before it, for definitions made earlier.
    """

    def __init__(self, source: str, base: int = 0, prefix: str = "") -> None:
        self.tops: list[tuple[int, int]] = []
        """Where each top-level block starts in the source, and its first block's index."""
        self._source = prefix + source
        self._base = base - len(prefix)
        self._ascii = self._source.isascii()
        self._bytes = b"" if self._ascii else self._source.encode("utf-8", "surrogatepass")
        self._mark = (0, 0)
        self._blocks: list[Block] = []
        self._nesting: list[str] = []
        self._numbers: list[int | None] = []
        self._marker = ""
        self._item_start: int | None = None
        self._words: list[str] = []
        self._spans: list[Span] = []
        self._size = 0
        self._styles: list[int] = []
        self._style = 0
        self._urls: list[str] = []
        self._span = (-1, -1)

    def read(self) -> list[Block]:
        source = self._source
        if not self._ascii:
            # A half surrogate cannot be encoded; it is no text in any language.
            source = self._bytes.decode("utf-8", "replace")
            if source != self._source:
                self._source, self._bytes = source, source.encode("utf-8")
        depth = 0
        events = pyromark.events_with_range(source, options=OPTIONS, merge_text=True)
        for event, place in cast("Iterable[tuple[Any, dict[str, int]]]", events):
            start, end = place["start"], place["end"]
            if type(event) is str:
                if event == "SoftBreak":
                    self._add(" ", start, end)
                elif event == "HardBreak":
                    self._add(LINE, start, end)
                elif event == "Rule":
                    if depth == 0:
                        self.tops.append((self._at(start), len(self._blocks)))
                    self._flush()
                    self._emit("rule", (start, end))
                continue
            ((name, value),) = event.items()
            if name == "Text":
                self._add(value, start, end)
            elif name == "Start":
                if depth == 0:
                    self.tops.append((self._at(start), len(self._blocks)))
                depth += 1
                self._open(value, start, end)
            elif name == "End":
                depth -= 1
                self._close(value, start, end)
            elif name == "Code":
                self._add(value, start, end, CODE)
            elif name in ("InlineMath", "DisplayMath"):
                sign = "$" if name == "InlineMath" else "$$"
                self._add(f"{sign}{value}{sign}".replace("\n", " "), start, end, CODE | MATH)
            elif name == "TaskListMarker":
                self._marker = "[x]" if value else "[ ]"
            else:  # Html, InlineHtml, FootnoteReference: shown as written
                self._add(str(value), start, end)
        self._flush()
        return self._blocks

    # -- inline ---------------------------------------------------------------

    def _add(self, text: str, start: int, end: int, style: int = 0) -> None:
        style |= self._style
        size = utf16(text)
        url = self._urls[-1] if self._urls else ""
        if (style or url) and size:
            self._spans.append((self._size, size, style, url))
        self._words.append(text)
        self._size += size
        first = self._span[0]
        self._span = (start if first < 0 else first, end)

    def _take(self) -> Cell:
        text, spans = "".join(self._words), tuple(self._spans)
        self._words, self._spans, self._size = [], [], 0
        return text, spans

    # -- blocks ---------------------------------------------------------------

    def _open(self, tag: Any, start: int, end: int) -> None:
        if type(tag) is str:
            if tag in _STYLES:
                self._styles.append(self._style)
                self._style |= _STYLES[tag]
            elif tag == "Item":
                self._flush()
                number = self._numbers[-1]
                self._marker = "•" if number is None else f"{number}."
                self._numbers[-1] = None if number is None else number + 1
                self._nesting.append("item")
                self._item_start = start
            elif tag == "TableCell":
                self._take()
            elif tag in ("TableHead", "TableRow"):
                self._row: list[Cell] = []
            else:  # Paragraph, HtmlBlock
                self._flush()
                self._span = (start, end)
            return
        ((name, value),) = tag.items()
        if name in ("Link", "Image"):
            self._urls.append(value["dest_url"])
            self._link_size = self._size
        elif name == "List":
            self._flush()
            self._numbers.append(value)
        elif name == "BlockQuote":
            self._flush()
            self._nesting.append("quote")
        elif name == "Table":
            self._flush()
            self._align = tuple(str(side).lower() for side in value)
            self._rows: list[tuple[Cell, ...]] = []
        else:  # Heading, CodeBlock
            self._flush()
            self._span = (start, end)

    def _close(self, tag: Any, start: int, end: int) -> None:
        name, value = (tag, "") if type(tag) is str else next(iter(tag.items()))
        if name in _STYLES:
            self._style = self._styles.pop()
        elif name in ("Link", "Image"):
            if name == "Image" and self._size == self._link_size:
                self._add(self._urls[-1], start, end)  # a picture without words
            self._urls.pop()
        elif name == "Paragraph":
            self._span = (start, end)
            self._flush(loose=True)
        elif name == "HtmlBlock":
            text, spans = self._take()
            self._words = [text.rstrip("\n").replace("\n", LINE)]
            self._spans = list(spans)
            self._span = (start, end)
            self._flush(loose=True)
        elif name == "Heading":
            text, spans = self._take()
            self._emit("heading", (start, end), text, spans, level=int(value[1:]))
        elif name == "CodeBlock":
            self._code_block(start, end)
        elif name == "Item":
            self._flush()
            if self._marker:
                self._emit("paragraph", (start, end), tight=True)
            self._nesting.pop()
        elif name == "List":
            self._numbers.pop()
        elif name == "BlockQuote":
            self._flush()
            self._nesting.pop()
        elif name == "TableCell":
            self._row.append(self._take())
        elif name in ("TableHead", "TableRow"):
            self._rows.append(tuple(self._row))
        elif name == "Table":
            self._table(start, end)

    def _code_block(self, start: int, end: int) -> None:
        text, _ = self._take()
        head = (
            self._bytes[start:end].decode("utf-8") if not self._ascii else self._source[start:end]
        )
        fence = re.match(r"(`{3,}|~{3,})([^\n]*)", head)
        language = (fence[2].strip().split() or [""])[0] if fence else ""
        first, last = self._extent(start, end)
        self._blocks += _code(
            text.removesuffix("\n"),
            language,
            tuple(self._nesting),
            self._marker,
            (first, last),
        )
        self._marker = ""
        self._item_start = None
        self._span = (-1, -1)

    def _table(self, start: int, end: int) -> None:
        first, last = self._extent(start, end)
        rows = tuple(self._rows)
        sample = rows[: TABLE_ROWS + 1]
        borders = [0, *range(TABLE_ROWS + 1, len(rows), TABLE_ROWS), len(rows)]
        for part, (low, high) in enumerate(pairwise(borders)):
            final = high == len(rows)
            self._blocks.append(
                Block(
                    "table",
                    nesting=tuple(self._nesting),
                    marker=self._marker,
                    part=part,
                    final=final,
                    rows=rows[low:high],
                    sample=sample,
                    align=self._align,
                    start=first,
                    end=last if final else first,
                )
            )
            self._marker = ""
        self._item_start = None
        self._span = (-1, -1)

    def _flush(self, loose: bool = False) -> None:
        """Write down the paragraph that was being collected, if there is one."""
        if self._words:
            text, spans = self._take()
            self._emit("paragraph", self._span, text, spans, tight=not loose)
        self._span = (-1, -1)

    def _emit(
        self,
        kind: Kind,
        span: tuple[int, int],
        text: str = "",
        spans: tuple[Span, ...] = (),
        *,
        level: int = 0,
        tight: bool = False,
    ) -> None:
        first, last = self._extent(*span)
        self._blocks.append(
            Block(
                kind,
                text,
                spans,
                level,
                tuple(self._nesting),
                self._marker,
                tight and "item" in self._nesting,
                start=first,
                end=last,
            )
        )
        self._marker = ""
        self._item_start = None
        self._span = (-1, -1)

    def _extent(self, start: int, end: int) -> tuple[int, int]:
        if self._item_start is not None:
            start = min(start, self._item_start)
        first = self._at(start)
        return first, self._at(end)

    def _at(self, offset: int) -> int:
        """A byte offset of the parser as an offset into the source."""
        if self._ascii:
            return self._base + offset
        byte, char = self._mark
        if offset >= byte:
            char += len(self._bytes[byte:offset].decode("utf-8", "ignore"))
        else:
            char = len(self._bytes[:offset].decode("utf-8", "ignore"))
        self._mark = (offset, char)
        return self._base + char
