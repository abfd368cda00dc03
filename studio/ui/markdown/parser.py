"""Markdown to plain blocks, whole or as it streams in.

A document becomes a flat list of ``Block`` values in reading order: what is
nested (a paragraph in a list in a quote) carries its ``nesting`` with it. Long
tables and code are cut into parts, so that a view can lay out and paint one
part at a time. Raw HTML is text like any other, but for line breaks in tables and
``<details>``, which folds what is in it; nothing that was written is left out, except
the definitions of reference links and the tags of folds. A picture of this computer is a
block of its own; one of the network is a link.
Addresses in the text are links, and formulas are found between ``$``, ``$$``,
``\\(`` and ``\\[``.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, cast

import pyromark

from .addresses import with_links
from .blocks import (
    CODE,
    EMPHASIS,
    LINE,
    MATH,
    RAISED,
    STRIKE,
    STRONG,
    Block,
    Cell,
    Kind,
    Span,
    utf16,
)
from .formula_marks import formula_places

CODE_LINES = 24
"""Lines of code in one part."""
TABLE_ROWS = 12
"""Rows of a table in one part."""

MOST_FOLDS = 8
"""Folds inside each other; the tags of deeper ones are text."""

OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_MATH
    # A reference is one whether or not its note was written already: notes come last.
    | pyromark.Options.ENABLE_OLD_FOOTNOTES
)
_STYLES = {"Strong": STRONG, "Emphasis": EMPHASIS, "Strikethrough": STRIKE}


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

    ``base`` is where ``source`` begins in the whole document, inside of ``folds`` folds;
    ``prefix`` is read before it, for definitions made earlier. In a ``summary`` the tags of
    HTML for styles are styles.
    """

    def __init__(
        self, source: str, base: int = 0, prefix: str = "", folds: int = 0, *, summary: bool = False
    ) -> None:
        self._in_summary = summary
        self.tops: list[tuple[int, int, int]] = []
        """Where each top-level block starts in the source, its first block's index, and how
        many folds are around it."""
        self._source = prefix + source
        self._base = base - len(prefix)
        self._ascii = self._source.isascii()
        self._bytes = b"" if self._ascii else self._source.encode("utf-8", "surrogatepass")
        self._mark = (0, 0)
        self._blocks: list[Block] = []
        self._nesting = ["details"] * folds
        self._numbers: list[int | None] = []
        self._marker = ""
        self._item_start: int | None = None
        self._words: list[str] = []
        self._spans: list[Span] = []
        self._size = 0
        self._styles: list[int] = []
        self._style = 0
        self._urls: list[str] = []
        self._image: tuple[int, int, int] | None = None
        """How many words, spans and units there were before a picture that stands alone."""
        self._whole = False
        """Whether a heading or cell is read, which no picture divides."""
        self._in_cell = False
        self._span = (-1, -1)

    def read(self) -> list[Block]:
        source = self._source
        if not self._ascii:
            # A half surrogate cannot be encoded; it is no text in any language.
            source = self._bytes.decode("utf-8", "replace")
            if source != self._source:
                self._source, self._bytes = source, source.encode("utf-8")
        depth = 0
        for event, place in self._events(source):
            start, end = place["start"], place["end"]
            if type(event) is str:
                if event == "SoftBreak":
                    self._add(" ", start, end)
                elif event == "HardBreak":
                    self._add(LINE, start, end)
                elif event == "Rule":
                    if depth == 0:
                        self.tops.append((self._at(start), len(self._blocks), len(self._nesting)))
                    self._flush()
                    self._emit("rule", (start, end))
                continue
            ((name, value),) = event.items()
            if name == "Text":
                self._add(value, start, end)
            elif name == "Start":
                if depth == 0:
                    self.tops.append((self._at(start), len(self._blocks), len(self._nesting)))
                depth += 1
                self._open(value, start, end)
            elif name == "End":
                depth -= 1
                self._close(value, start, end)
            elif name == "Code":
                self._add(value, start, end, CODE)
            elif name in ("InlineMath", "DisplayMath"):
                formula = self._written(start, end)
                style = 0 if name == "InlineMath" and self._is_price(start, end) else CODE | MATH
                self._add(re.sub(r"\s*\n[>\s]*", " ", formula), start, end, style)
            elif name == "TaskListMarker":
                self._marker = "[x]" if value else "[ ]"
            elif name == "FootnoteReference":
                self._add(value, start, end, RAISED)
            elif name == "InlineHtml" and self._in_cell and _LINE_BREAK.fullmatch(value):
                self._add(LINE, start, end)
            elif self._in_summary and name in ("Html", "InlineHtml"):
                self._style_by_tag(str(value))
            else:  # Html, InlineHtml: shown as written
                self._add(str(value), start, end)
        self._flush()
        return self._blocks

    def _events(self, source: str) -> Iterable[tuple[Any, dict[str, int]]]:
        """The parser's events; ``\\(`` and ``\\[`` begin formulas, which it does not know.

        They are written as ``$$``, of the same length, where that makes a formula.
        """
        events = _parsed(source)
        if "\\(" not in source and "\\[" not in source:
            return events
        written = source.encode("utf-8")
        events = list(events)
        pairs = formula_places(written, events)
        while pairs:
            changed = bytearray(written)
            for start, end in pairs:
                changed[start : start + 2] = changed[end - 2 : end] = b"$$"
            events = list(_parsed(changed.decode("utf-8")))
            made = {
                (place["start"], place["end"])
                for event, place in events
                if isinstance(event, dict) and "DisplayMath" in event
            }
            if made.issuperset(pairs):
                break
            pairs &= made  # what is left over is no formula: another block came between
        else:
            events = list(_parsed(source))
        return events

    def _written(self, start: int, end: int) -> str:
        """What stands in the source between two byte offsets."""
        if self._ascii:
            return self._source[start:end]
        return self._bytes[start:end].decode("utf-8")

    def _is_price(self, start: int, end: int) -> bool:
        """Whether a formula between dollars is text between two prices: $5 and US$10."""
        source = self._source if self._ascii else self._bytes  # other letters are parts there
        return source[max(0, start - 1) : start].isalnum() or source[end : end + 1].isdigit()

    # -- inline ---------------------------------------------------------------

    def _add(self, text: str, start: int, end: int, style: int = 0) -> None:
        if not self._words and self._blocks and self._blocks[-1].kind == "image" and not style:
            text = text.lstrip(" ")  # it stood beside the picture
            if not text:
                return
        style |= self._style
        size = utf16(text)
        url = self._urls[-1] if self._urls else ""
        if (style or url) and size:
            self._spans.append((self._size, size, style, url))
        self._words.append(text)
        self._size += size
        first = self._span[0]
        self._span = (start if first < 0 else first, end)

    def _style_by_tag(self, tag: str) -> None:
        """A tag of a summary is not shown; it begins or ends a style."""
        found = _STYLE_TAG.fullmatch(tag)
        if found is not None:
            style = _TAG_STYLES[found[2].lower()]
            self._style = self._style & ~style if found[1] else self._style | style

    def _take(self) -> Cell:
        text = "".join(self._words)
        if "](data:" in text and (growing := _GROWING_PICTURE.search(text)) and self._at_end():
            # Its address goes on for pages and ends in a picture.
            text = text[: growing.start()] + growing[1]
            size = utf16(text)
            self._spans = [
                (start, min(length, size - start), style, url)
                for start, length, style, url in self._spans
                if start < size
            ]
        spans = with_links(text, self._spans)
        self._words, self._spans, self._size = [], [], 0
        return text, spans

    def _at_end(self) -> bool:
        """Whether the text that was collected goes to the end of the source."""
        source = self._source if self._ascii else self._bytes
        return not source[self._span[1] :].strip()

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
                self._in_cell = self._whole = True
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
            alone = len(self._urls) == 1 and not self._whole
            if name == "Image" and alone and _is_local(self._urls[-1]):
                self._image = len(self._words), len(self._spans), self._size
        elif name == "List":
            self._flush()
            self._numbers.append(value)
        elif name == "BlockQuote":
            self._flush()
            self._nesting.append("quote")
        elif name == "FootnoteDefinition":
            self._flush()
            self._marker = f"{value}."
            self._nesting.append("item")
            self._item_start = start
        elif name == "Table":
            self._flush()
            self._align = tuple(str(side).lower() for side in value)
            self._rows: list[tuple[Cell, ...]] = []
        else:  # Heading, CodeBlock
            self._flush()
            self._span = (start, end)
            self._whole = name == "Heading"

    def _close(self, tag: Any, start: int, end: int) -> None:
        name, value = (tag, "") if type(tag) is str else next(iter(tag.items()))
        if name in _STYLES:
            self._style = self._styles.pop()
        elif name == "Image" and self._image is not None and len(self._urls) == 1:
            self._picture(self._urls.pop(), self._image, start, end)
            self._image = None
        elif name in ("Link", "Image"):
            if name == "Image" and self._size == self._link_size:
                self._add(self._urls[-1], start, end)  # a picture without words
            self._urls.pop()
        elif name == "Paragraph":
            self._span = (start, end)
            self._flush(loose=True)
        elif name == "HtmlBlock":
            self._html(self._take()[0].rstrip("\n"), (start, end))
        elif name == "Heading":
            text, spans = self._take()
            self._emit("heading", (start, end), text, spans, level=int(value[1:]))
            self._whole = False
        elif name == "CodeBlock":
            self._code_block(start, end)
        elif name in ("Item", "FootnoteDefinition"):
            self._flush()
            if self._marker:
                self._emit("paragraph", (start, end), tight=True)
            self._leave()
        elif name == "List":
            self._numbers.pop()
        elif name == "BlockQuote":
            self._flush()
            self._leave()
        elif name == "TableCell":
            self._row.append(self._take())
            self._in_cell = self._whole = False
        elif name in ("TableHead", "TableRow"):
            self._rows.append(tuple(self._row))
        elif name == "Table":
            self._table(start, end)

    def _picture(self, url: str, before: tuple[int, int, int], start: int, end: int) -> None:
        """A picture divides its paragraph."""
        words, spans, size = before
        alt = "".join(self._words[words:])
        del self._words[words:], self._spans[spans:]
        self._size = size
        if "".join(self._words).strip():
            self._span = (self._span[0], start)
            self._flush(loose=True)
        else:
            self._take()
        self._emit("image", (start, end), alt, ((0, utf16(alt), 0, url),))

    def _leave(self) -> None:
        """A quote or list item ends, and with it the folds in it."""
        while self._nesting.pop() == "details":
            pass

    def _html(self, text: str, span: tuple[int, int]) -> None:
        """Raw HTML as it was written, but for the tags of folds."""
        at, found = 0, False
        for tag in _FOLD.finditer(text):
            is_end = tag[0].startswith("</")
            if is_end and "details" not in self._nesting:
                continue
            if not is_end and self._nesting.count("details") >= MOST_FOLDS:
                continue
            if text[at : tag.start()].strip():
                self._html_text(text[at : tag.start()], at, span)
            at, found = tag.end(), True
            if is_end:
                self._end_fold(span, tag.start())
            else:
                level = int(_OPEN.search(tag["attributes"] or "") is not None)
                words, spans = _summary(tag["summary"] or "")
                self._emit("details", span, words, spans, level=level, after=tag.start())
                self._nesting.append("details")
        if not found or text[at:].strip():
            self._html_text(text[at:], at, span)

    def _end_fold(self, span: tuple[int, int], after: int) -> None:
        """End the innermost fold, also from inside a list or quote in it, which goes on."""
        at = len(self._nesting) - 1 - self._nesting[::-1].index("details")
        inside = self._nesting[at + 1 :]
        del self._nesting[at + 1 :]
        self._emit("details_end", span, after=after)
        self._nesting[at:] = inside

    def _html_text(self, text: str, after: int, span: tuple[int, int]) -> None:
        shown = text.strip("\n").replace("\n", LINE)
        self._emit("paragraph", span, shown, with_links(shown, []), after=after)

    def _code_block(self, start: int, end: int) -> None:
        text, _ = self._take()
        fence = re.match(r"(`{3,}|~{3,})([^\n]*)", self._written(start, end))
        language = (fence[2].strip().split() or [""])[0] if fence else ""
        first, last = self._extent(start, end)
        self._blocks += _code(
            text.removesuffix("\n"), language, tuple(self._nesting), self._marker, (first, last)
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
            alone = len(spans) == 1 and spans[0] == (0, utf16(text), CODE | MATH, "")
            kind: Kind = "math" if alone and text.startswith(("$$", "\\[")) else "paragraph"
            self._emit(kind, self._span, text, spans, tight=not loose)
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
        after: int = 0,
    ) -> None:
        """Write down a block; ``after`` is how far behind the span's start it begins."""
        first, last = self._extent(*span)
        first = min(first + after, last)
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


def _parsed(source: str) -> Iterable[tuple[Any, dict[str, int]]]:
    events = pyromark.events_with_range(source, options=OPTIONS, merge_text=True)
    return cast("Iterable[tuple[Any, dict[str, int]]]", events)


_FOLD = re.compile(
    r"<details(?P<attributes>\s[^<>]*)?(?:>|\Z)\s*"
    r"(?:<summary(?:\s[^<>]*)?(?:>|\Z)"
    r"(?P<summary>(?:(?!</?(?:details|summary)\b)[\s\S])*)(?:</summary\s*(?:>|\Z))?)?"
    r"|</details\s*(?:>|\Z)",
    re.I,
)
"""The tags of a fold; the last may still be growing."""
_TAG = re.compile(r"</?[a-z][^<>]*(?:>|\Z)|</?\Z", re.I)
_STYLE_TAG = re.compile(r"<(/?)(b|strong|i|em|code|kbd|s|del)(?:\s[^<>]*)?>", re.I)
_TAG_STYLES = {
    "b": STRONG,
    "strong": STRONG,
    "i": EMPHASIS,
    "em": EMPHASIS,
    "code": CODE,
    "kbd": CODE,
    "s": STRIKE,
    "del": STRIKE,
}
_GROWING_TAG = re.compile(r"</?(?:[a-z][^<>]*)?\Z", re.I)
_GROWING_PICTURE = re.compile(r"!\[([^\[\]]*)\]\(\s*<?data:[^\s()]*\Z")
_OPEN = re.compile(r"\sopen\b", re.I)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.\-]*:|[/\\]{2}|[#?]", re.I)


def _is_local(url: str) -> bool:
    """Whether a picture is a file of this computer, or stands in the text itself."""
    return url.startswith("data:image/") or (bool(url) and not _ELSEWHERE.match(url))


def _summary(text: str) -> Cell:
    """The words of a fold's row with their styles, from markdown or HTML; links are words."""
    words = " ".join(_GROWING_TAG.sub("", text).split())
    blocks = BlockReader(words, summary=True).read()
    plain_one = len(blocks) == 1 and not blocks[0].nesting and not blocks[0].marker
    if plain_one and blocks[0].kind == "paragraph":
        spans = ((start, size, style, "") for start, size, style, _ in blocks[0].spans)
        return blocks[0].text.strip(), tuple(span for span in spans if span[2])
    return html.unescape(_TAG.sub("", words)).strip(), ()


_LINE_BREAK = re.compile(r"<br\s*/?>", re.I)
