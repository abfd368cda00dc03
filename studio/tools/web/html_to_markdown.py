"""HTML to markdown: parses a web page for a model, without what a person would not see.

Scripts and hidden elements are left out, and so is what surrounds the main content: menus,
footers, forms. ``markdown_writer`` writes the markdown.

The page is parsed in one pass and without a tree: the tree that HTML's rules make of a hostile
page can be a thousand times its size. Libraries were tried and rejected: html-to-markdown
(22 MB) survives the bombs but shows hidden text and cannot be stopped; htmd crashes the whole
program on deep nesting; markdownify and html2text reach the recursion limit or never end;
trafilatura (68 MB) shows hidden text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from urllib.parse import urljoin

from studio.domain.patterns import lazy_pattern
from studio.domain.records import dataclass

from .markdown_writer import BLOCKS, Writer

ENOUGH = 200
"""Characters that the main content has at least, or else more of the page is taken."""
LONGEST = 3_000_000
"""Characters of markdown; what follows them is left out."""

_PIECE = 1 << 16
_STUCK = 200_000
"""Characters that the parser may hold back, for a tag that does not end."""
_TAIL = 4_000
"""Characters held back at the end that are still parsed: it takes the square of their number."""
_LOOK_BACK = 100
"""Innermost open elements that an end tag is matched with."""
_VOID = frozenset(
    [
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta"),
        *("param", "source", "track", "wbr", "frame", "keygen"),
    ]
)
_SKIPPED = frozenset(
    [
        *("script", "style", "noscript", "template", "svg", "math", "iframe", "object"),
        *("canvas", "audio", "video", "map", "button", "select", "textarea", "datalist"),
        *("dialog", "menu", "noembed", "noframes", "title"),
    ]
)
_AROUND = frozenset(["nav", "header", "footer", "aside", "form", "search"])
_ENDED_BY: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "li": (frozenset({"li"}), frozenset({"ul", "ol"})),
    "dt": (frozenset({"dt", "dd"}), frozenset({"dl"})),
    "dd": (frozenset({"dt", "dd"}), frozenset({"dl"})),
    "tr": (frozenset({"tr"}), frozenset({"table"})),
    "td": (frozenset({"td", "th"}), frozenset({"table", "tr"})),
    "th": (frozenset({"td", "th"}), frozenset({"table", "tr"})),
}
"""Elements that a start tag ends implicitly, and those beyond which they are not looked for."""
_HIDDEN = lazy_pattern(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)"
    r"|(?:opacity|font-size)\s*:\s*0(?:\.0*)?(?:px|em|rem|pt|%)?\s*(?:[;!]|$))",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Markdown:
    """A page as markdown; ``whole`` is False where the rest of the page is left out."""

    title: str
    text: str
    whole: bool = True


def html_to_markdown(html: str, address: str, stop: Callable[[], bool] = lambda: False) -> Markdown:
    """Convert a page; ``address`` is the base of its relative links.

    Takes seconds for one of many megabytes: call it in a thread, ``stop`` ends it early.
    """
    lower = html[:1_000_000].lower()
    tries: list[tuple[str, frozenset[str]]] = []
    if "<main" in lower or "main" in re.findall(r"role\s*=\s*[\"']?(\w+)", lower):
        tries.append(("main", frozenset()))
    if "<article" in lower:
        tries.append(("article", _AROUND))
    tries += [("", _AROUND), ("", frozenset())]
    read = Markdown("", "")
    for own, around in tries:
        reader = _Reader(address, own, around)
        whole = reader.read(html, stop)
        read = Markdown(reader.title, reader.writer.result(), whole)
        if len(read.text) >= ENOUGH or stop():
            break
    return read


class _Reader(HTMLParser):
    """Parses into a writer: only what is inside ``own`` elements, without ``around`` ones."""

    def __init__(self, address: str, own: str, around: frozenset[str]) -> None:
        super().__init__(convert_charrefs=True)
        self.writer = Writer(address)
        self.title = ""
        self._own = own
        self._around = around
        self._inside = 0 if own else 1
        self._open: list[tuple[str, bool, bool]] = []
        """Tag, whether the element is skipped with all in it, whether it is an ``own`` one."""
        self._skipped = 0
        self._in_title = False
        self._named = False

    def read(self, html: str, stop: Callable[[], bool]) -> bool:
        """Parse the page; whether it was parsed to its end."""
        whole = True
        for start in range(0, len(html), _PIECE):
            self.feed(html[start : start + _PIECE])
            if stop() or len(self.rawdata) > _STUCK or self.writer.size > LONGEST:
                whole = False
                break
        if whole and len(self.rawdata) <= _TAIL:
            self.close()
        while self._open:
            self._leave()
        return whole

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "title" and not self._named and not self._skipped:
            self._in_title = True
        if tag == "base" and (href := attributes.get("href")):
            self.writer.base = urljoin(self.writer.base, href)
        if tag == "body":  # may be anywhere, and ends nothing
            return
        self._imply(tag)
        skipped = tag in _SKIPPED or tag in self._around or _is_hidden(attributes)
        if tag in _VOID:
            if self._shown and not skipped:
                self.writer.enter(tag, attributes)
                self.writer.leave(tag)
            return
        own = bool(self._own) and (tag == self._own or attributes.get("role") == self._own)
        self._open.append((tag, skipped, own))
        self._skipped += skipped
        self._inside += own
        if self._shown:
            self.writer.enter(tag, attributes)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)  # outside SVG the slash has no meaning
        if self._skipped and tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "title" and self._in_title:
            self._in_title, self._named = False, True
        recent = self._open[-_LOOK_BACK:]
        at = next((n for n in range(len(recent) - 1, -1, -1) if recent[n][0] == tag), None)
        if at is not None:
            self._close(len(recent) - at)
        elif tag == "p" and self._shown:
            self.writer.enter("p", {})
            self.writer.leave("p")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title = " ".join(f"{self.title} {data}".split())[:300]
        elif self._shown:
            self.writer.text(data)

    @property
    def _shown(self) -> bool:
        return not self._skipped and self._inside > 0

    def _imply(self, tag: str) -> None:
        """Close the elements that this start tag ends implicitly."""
        ended, until = _ENDED_BY.get(tag, (frozenset[str](), frozenset[str]()))
        if tag in BLOCKS:
            for back in range(1, min(len(self._open), _LOOK_BACK) + 1):
                name = self._open[-back][0]
                if name == "p":
                    self._close(back)
                    break
                if name in BLOCKS:
                    break
        for back in range(1, min(len(self._open), _LOOK_BACK) + 1) if ended else ():
            name = self._open[-back][0]
            if name in ended:
                self._close(back)
                break
            if name in until:
                break

    def _close(self, many: int) -> None:
        for _ in range(many):
            self._leave()

    def _leave(self) -> None:
        shown = self._shown
        tag, skipped, own = self._open.pop()
        self._skipped -= skipped
        self._inside -= own
        if shown:
            self.writer.leave(tag)


def _is_hidden(attributes: Mapping[str, str | None]) -> bool:
    if "hidden" in attributes or (attributes.get("aria-hidden") or "").lower() == "true":
        return True
    style = attributes.get("style")
    return bool(style) and _HIDDEN.search(style or "") is not None
