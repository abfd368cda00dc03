"""Markdown writer: writes the markdown of a page as its elements open and close."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Literal
from urllib.parse import urljoin, urlsplit

from studio.domain.patterns import lazy_pattern
from studio.domain.records import dataclass

DEEPEST = 12
"""Levels of lists and quotes that are indented."""
FRAMES = 12
"""Levels of bold, links and the like inside each other that are marked."""
LINK = 500
"""Characters of an address that is written, and of a link's text."""
LARGE_CELL = 600
"""Characters beyond which a cell is not a table's but a column of the page's layout."""

HEADINGS = {"h1": "# ", "h2": "## ", "h3": "### ", "h4": "#### ", "h5": "##### ", "h6": "###### "}
BLOCKS = frozenset(
    [
        *("address", "article", "aside", "blockquote", "center", "dd", "details", "div"),
        *("dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "header"),
        *("hgroup", "hr", "legend", "li", "main", "nav", "ol", "optgroup", "p", "pre"),
        *("search", "section", "summary", "table", "ul", "caption"),
    ]
) | frozenset(HEADINGS)
_APART = frozenset(
    [
        *("article", "blockquote", "details", "dl", "figure", "hr", "ol", "p", "pre"),
        *("section", "table", "ul"),
    ]
) | frozenset(HEADINGS)
"""Blocks with an empty line around them."""
_MARKS = {"b": "**", "strong": "**", "i": "*", "em": "*", "del": "~~", "s": "~~", "code": "`"}
_BLANKS = lazy_pattern(r"[ \t\r\n\f\v\x1c-\x1f\x85\xa0\u2028\u2029]+")
_LANGUAGE = lazy_pattern(r"(?:^|\s)(?:language|lang|highlight-source)-([\w+#.-]{1,20})")
_LINE = "\u2028"
_PARAGRAPH = "\u2029"
"""Ends of lines and paragraphs inside a run of text; those in the page count as blanks."""


@dataclass(slots=True)
class _Frame:
    """Text whose element is still open: a paragraph, a mark such as bold, a link, a cell."""

    kind: Literal["paragraph", "mark", "link", "cell"]
    tag: str = ""
    detail: str = ""
    parts: list[str] = field(default_factory=list[str])
    size: int = 0

    def add(self, text: str) -> None:
        self.parts.append(text)
        self.size += len(text)


@dataclass(slots=True)
class _Indent:
    """What the first line of a list's item or quote begins with, and what its other lines do."""

    first: str
    rest: str


@dataclass(slots=True)
class _Table:
    rows: list[list[str]] = field(default_factory=list[list[str]])
    layout: bool = False
    """The table only arranges the page."""


class Writer:
    """Takes elements and text; ``enter`` and ``leave`` are called in pairs.

    ``base`` is the address that relative links begin at.
    """

    def __init__(self, base: str) -> None:
        self.base = base
        self.size = 0
        self._out: list[str] = []
        self._gap = False
        self._frames = [_Frame("paragraph")]
        self._indents: list[_Indent] = []
        self._too_deep = 0
        self._lists: list[int | None] = []
        self._tables: list[_Table] = []
        self._pre: list[str] | None = None
        self._language = ""
        self._heading = ""

    def text(self, text: str) -> None:
        if self._pre is not None:
            self._pre.append(text)
            return
        self._frames[-1].add(_BLANKS.sub(" ", text))

    def enter(self, tag: str, attributes: Mapping[str, str | None]) -> None:
        if self._pre is not None:
            if tag == "br":
                self._pre.append("\n")
            elif tag == "code":
                self._language = self._language or _language(attributes)
            return
        if tag in ("table", "tr", "td", "th"):
            self._enter_table(tag)
        elif tag in BLOCKS:
            if self._break(tag in _APART, "- " if tag == "li" else ""):
                self._enter_block(tag, attributes)
        elif tag == "br":
            self._frames[-1].add(_LINE)
        elif tag == "img":
            if alt := " ".join((attributes.get("alt") or "").split()):
                self._frames[-1].add(f"[image: {alt[:LINK]}]")
        elif tag == "q":
            self._frames[-1].add("“")
        elif len(self._frames) < FRAMES:
            if tag == "a" and (url := self._url(attributes.get("href"))):
                self._frames.append(_Frame("link", tag, url))
            elif tag in _MARKS:
                self._frames.append(_Frame("mark", tag, _MARKS[tag]))

    def leave(self, tag: str) -> None:
        if tag == "pre":
            self._leave_pre()
        if self._pre is not None:
            return
        if tag in ("table", "tr", "td", "th"):
            self._leave_table(tag)
        elif tag in BLOCKS:
            if self._break(tag in _APART):
                self._leave_block(tag)
        elif tag == "q":
            self._frames[-1].add("”")
        elif tag in ("a", *_MARKS):
            at = next(
                (n for n in range(len(self._frames) - 1, 0, -1) if self._frames[n].tag == tag), 0
            )
            if at and not any(frame.kind == "cell" for frame in self._frames[at:]):
                self._fold(at)

    def result(self) -> str:
        self._fold(1)
        self._flush()
        return "\n".join(self._out).strip("\n")

    # Blocks

    def _enter_block(self, tag: str, attributes: Mapping[str, str | None]) -> None:
        if tag in HEADINGS:
            self._heading = HEADINGS[tag]
        elif tag == "hr":
            self._emit(["---"])
        elif tag in ("ul", "ol"):
            start = attributes.get("start") or ""
            begin = int(start) if start.isdecimal() and len(start) < 7 else 1
            self._lists.append(begin if tag == "ol" else None)
        elif tag == "li":
            marker = "- "
            if self._lists and (number := self._lists[-1]) is not None:
                marker, self._lists[-1] = f"{number}. ", number + 1
            self._indent(_Indent(marker, " " * len(marker)))
        elif tag == "blockquote":
            self._indent(_Indent("> ", "> "))
        elif tag == "pre":
            self._pre, self._language = [], _language(attributes)

    def _leave_block(self, tag: str) -> None:
        if tag in HEADINGS:
            self._heading = ""
        elif tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        elif tag in ("li", "blockquote"):
            if self._too_deep:
                self._too_deep -= 1
            elif self._indents:
                self._indents.pop()

    def _indent(self, indent: _Indent) -> None:
        if len(self._indents) < DEEPEST:
            self._indents.append(indent)
        else:
            self._too_deep += 1

    def _break(self, apart: bool, marker: str = "") -> bool:
        """Begin a new line; False in a cell or link, where a block only separates words."""
        while self._frames[-1].kind == "mark":
            self._fold(len(self._frames) - 1)
        top = self._frames[-1]
        if top.kind == "cell":
            top.add(_PARAGRAPH + marker)
            return False
        if top.kind == "link" and top.size < LINK:
            top.add(" ")
            return False
        self._fold(1)
        self._flush()
        self._apart(apart)
        return True

    def _apart(self, apart: bool) -> None:
        if apart and not self._indents:  # lists in lists stay together
            self._gap = True

    def _flush(self) -> None:
        """Write the paragraph so far."""
        text = "".join(self._frames[0].parts)
        self._frames[0] = _Frame("paragraph")
        if self._heading:
            text = self._heading + _tidy(text.replace(_LINE, " ").replace(_PARAGRAPH, " "))
            if text.strip() != self._heading.strip():
                self._emit([text])
            return
        for paragraph in text.split(_PARAGRAPH):
            lines = [_tidy(line) for line in paragraph.split(_LINE)]
            if any(lines):
                self._emit([line for line in lines if line])

    def _emit(self, lines: list[str]) -> None:
        if self._gap and self._out:
            self._put("")
        self._gap = False
        for line in lines:
            self._put(f"{self._prefix()}{line}".rstrip())

    def _put(self, line: str) -> None:
        self._out.append(line)
        self.size += len(line) + 1

    def _prefix(self) -> str:
        prefix = ""
        for indent in self._indents:
            prefix += indent.first
            indent.first = indent.rest
        return prefix

    def _leave_pre(self) -> None:
        if self._pre is None:
            return
        code = "".join(self._pre).replace("\r\n", "\n").strip("\n")
        self._pre = None
        if code.strip():
            runs = [len(run) for run in re.findall(r"`{3,}", code)]
            fence = "`" * (max(runs, default=2) + 1)
            self._emit([f"{fence}{self._language}", *code.split("\n"), fence])
        self._apart(True)

    # Runs of text

    def _fold(self, at: int) -> None:
        """Close the frames from ``at`` on, each into the one around it."""
        while len(self._frames) > at:
            frame = self._frames.pop()
            text = "".join(frame.parts)
            bare = text.strip(f" {_LINE}{_PARAGRAPH}")
            if bare and frame.kind == "link":
                bare = _link(bare, frame.detail)
            elif bare and frame.kind == "mark" and _LINE not in bare:
                bare = f"{frame.detail}{bare}{frame.detail}"
            if bare:
                before, after = text[:1] == " ", text[-1:] == " "
                bare = f"{' ' * before}{bare}{' ' * after}"
            elif text:
                bare = " "
            self._frames[-1].add(bare)

    def _url(self, href: str | None) -> str:
        """The link's whole address; empty if it is not to be written."""
        href = (href or "").strip()
        if not href or href.startswith("#") or len(href) > LINK:
            return ""
        try:
            url = urljoin(self.base, href)
            scheme = urlsplit(url).scheme
        except ValueError:
            return ""
        if scheme not in ("http", "https", "mailto") or len(url) > LINK:
            return ""
        return _BLANKS.sub("%20", url).replace("(", "%28").replace(")", "%29")

    # Tables

    def _enter_table(self, tag: str) -> None:
        if tag == "table":
            if self._tables and not self._tables[-1].layout:
                self._dissolve(self._tables[-1])
            self._break(True)
            self._tables.append(_Table())
            return
        table = self._tables[-1] if self._tables else None
        if table is None or table.layout:
            self._break(False)
        elif tag == "tr":
            table.rows.append([])
        else:
            if not table.rows:
                table.rows.append([])
            self._fold(1)
            self._frames.append(_Frame("cell", tag))

    def _leave_table(self, tag: str) -> None:
        table = self._tables[-1] if self._tables else None
        if table is None or table.layout:
            self._break(False)
        elif tag in ("td", "th"):
            self._close_cell(table)
        if tag == "table" and table is not None:
            self._tables.pop()
            if not table.layout:
                self._write_table(table)
            self._apart(True)

    def _close_cell(self, table: _Table) -> None:
        at = next((n for n, frame in enumerate(self._frames) if frame.kind == "cell"), 0)
        if at:
            self._fold(at + 1)
            table.rows[-1].append("".join(self._frames.pop().parts))

    def _dissolve(self, table: _Table) -> None:
        """Turn a table that holds another one into layout: its cells become paragraphs."""
        self._close_cell(table)
        table.layout = True
        self._columns(table)

    def _columns(self, table: _Table) -> None:
        for row in table.rows:
            for cell in row:
                self._frames[0].add(cell)
                self._flush()

    def _write_table(self, table: _Table) -> None:
        self._flush()
        rows = [row for row in table.rows if any(map(_one_line, row))]
        width = max(map(len, rows), default=0)
        large = any(len(cell) > LARGE_CELL for row in rows for cell in row)
        if width < 2 or len(rows) < 2 or large or width > 100:
            self._columns(table)
            return
        cells = [[_one_line(cell) for cell in row] for row in rows]
        lines = ["| " + " | ".join(row + [""] * (width - len(row))) + " |" for row in cells]
        self._emit([lines[0], "|" + " --- |" * width, *lines[1:]])


def _language(attributes: Mapping[str, str | None]) -> str:
    found = _LANGUAGE.search(attributes.get("class") or "")
    return found[1] if found else ""


def _tidy(text: str) -> str:
    return re.sub(r" {2,}", " ", text).strip()


def _one_line(text: str) -> str:
    return _tidy(re.sub(f"[{_LINE}{_PARAGRAPH}]", " ", text)).replace("|", "\\|")


def _link(text: str, url: str) -> str:
    words = _one_line(text)
    return url if words == url else f"[{words}]({url})"
