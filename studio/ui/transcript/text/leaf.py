"""Leaf: the base class of text blocks.

A *leaf* is a leaf block of markdown (a paragraph, code, a table): one piece of text that can be
selected. It is made from a block, laid out for a width, painted, and dropped when it is far from
the window. Positions in it count UTF-16 units.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter

from studio.ui.markdown.blocks import Block, Span, cut, utf16
from studio.ui.transcript.paint_style import RIGHT, PaintStyle

from .text_layout import LineLayout

ITEM_INDENT = 22
QUOTE_INDENT = 16


@dataclass(frozen=True, slots=True)
class Link:
    """Where a link is: in which of a leaf's pieces of text, from where to where."""

    part: int
    start: int
    end: int
    url: str


def links_of(part: int, spans: Iterable[Span]) -> list[Link]:
    """The links of a piece of text; words of one link in several styles are one."""
    out: list[Link] = []
    for start, size, _, url in spans:
        if url and out and (out[-1].end, out[-1].url) == (start, url):
            out[-1] = Link(part, out[-1].start, start + size, url)
        elif url:
            out.append(Link(part, start, start + size, url))
    return out


class Leaf:
    """One piece of text that can be selected; ``lay`` is called first."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.height = 0.0
        self.laid = False
        self.complete = True
        """Whether everything was there when it was laid out: colours of code, formulas."""

    @property
    def text(self) -> str:
        return self.block.text

    @property
    def length(self) -> int:
        return utf16(self.text)

    def indent(self, style: PaintStyle) -> float:
        return sum(
            style.px(QUOTE_INDENT if n == "quote" else ITEM_INDENT) for n in self.block.nesting
        )

    def texts(self) -> list[str]:
        """The pieces of text in it, from the top."""
        return [self.text]

    def layouts(self) -> list[tuple[QPointF, LineLayout]]:
        """How ``texts`` are laid out, and where: only while it is laid out."""
        return []

    def links(self) -> list[Link]:
        """The links in ``texts``, in their order."""
        return links_of(0, self.block.spans)

    def rects(self, part: int, start: int, end: int) -> list[QRectF]:
        """Where words of a piece of text are, a rectangle a line; none while it is not laid out."""
        layouts = self.layouts() if self.laid else []
        if part >= len(layouts):
            return []
        at, lines = layouts[part]
        return [rect.translated(at) for rect in lines.rects(start, end)]

    def estimate(self, style: PaintStyle, width: float) -> float:
        """An estimate of the height, from the number of characters."""
        lines = sum(1 + len(line) // 92 for line in self.block.text.split("\u2028"))
        return lines * style.body_line

    def lay(self, style: PaintStyle, width: float) -> None:
        raise NotImplementedError

    def paint(
        self, painter: QPainter, y: float, style: PaintStyle, selected: tuple[int, int] | None
    ) -> None:
        raise NotImplementedError

    def drop(self) -> None:
        """Free the layout; the height stays."""
        self.laid = False
        vars(self).pop("lines", None)

    def last_top(self) -> float:
        """Where its last line begins, after which the cursor of a growing answer stands."""
        return 0.0

    def top_of_change(self, before: Leaf) -> float:
        """Where it begins to differ from the leaf that it replaces; 0 where that is not known."""
        return 0.0

    def position(self, x: float, y: float) -> int:
        return 0

    def url(self, x: float, y: float) -> str:
        return ""

    def cut(self, start: int, end: int) -> str:
        return cut(self.text, start, end)

    def cursor(self) -> QPointF | None:
        return None

    def paint_nesting(self, painter: QPainter, y: float, style: PaintStyle, line: float) -> None:
        """Bars of quotes, and the marker of a list item."""
        x = 0.0
        for kind in self.block.nesting:
            if kind == "quote":
                painter.fillRect(QRectF(x, y, 2, self.height), style.color("control"))
            x += style.px(QUOTE_INDENT if kind == "quote" else ITEM_INDENT)
        marker = self.block.marker
        if not marker:
            return
        box = QRectF(x - style.px(60), y, style.px(60) - style.px(6), line)
        if painter.clipBoundingRect().top() > box.bottom():
            return
        if marker.startswith("["):
            side = style.px(13)
            square = QRectF(box.right() - side + 2, y + (line - side) / 2, side, side)
            done = marker == "[x]"
            style.card(
                painter, square, "accent" if done else None, "accent" if done else "strong", 3
            )
            if done:
                style.icon(painter, square.center(), "check", "accent_on", 10)
        else:
            style.text(painter, box, marker, "body", "text2" if marker == "•" else "text1", RIGHT)


def common_prefix(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginnings."""
    most = min(len(one), len(other))
    return bisect_left(range(most), True, key=lambda at: one[: at + 1] != other[: at + 1])
