"""Text block: the base of all leaves.

A *leaf* is a leaf block of markdown (a paragraph, code, a table): one piece of text that
can be selected. It is made from a block, laid out for a width, painted, and dropped when
it is far from the window. Positions in it count UTF-16 units.
"""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter

from studio.ui.markdown.parser import Block, cut, utf16
from studio.ui.transcript.paint_style import RIGHT, PaintStyle

ITEM_INDENT = 22
QUOTE_INDENT = 16


class Leaf:
    """One selectable piece; ``lay`` before anything else."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.height = 0.0
        self.laid = False

    @property
    def text(self) -> str:
        return self.block.text

    @property
    def length(self) -> int:
        return utf16(self.text)

    def indent(self, look: PaintStyle) -> float:
        return sum(
            look.px(ITEM_INDENT if n == "item" else QUOTE_INDENT) for n in self.block.nesting
        )

    def estimate(self, look: PaintStyle, width: float) -> float:
        """A guess of the height, from the number of characters."""
        lines = sum(1 + len(line) // 92 for line in self.block.text.split("\u2028"))
        return lines * look.body_line

    def lay(self, look: PaintStyle, width: float) -> None:
        raise NotImplementedError

    def paint(
        self, painter: QPainter, y: float, look: PaintStyle, selected: tuple[int, int] | None
    ) -> None:
        raise NotImplementedError

    def drop(self) -> None:
        """Free the layout; the height stays."""
        self.laid = False

    def position(self, x: float, y: float) -> int:
        return 0

    def url(self, x: float, y: float) -> str:
        return ""

    def cut(self, start: int, end: int) -> str:
        return cut(self.text, start, end)

    def cursor(self) -> QPointF | None:
        return None

    def paint_nesting(self, painter: QPainter, y: float, look: PaintStyle, line: float) -> None:
        """Bars of quotes, and the marker of a list item."""
        x = 0.0
        for kind in self.block.nesting:
            if kind == "quote":
                painter.fillRect(QRectF(x, y, 2, self.height), look.color("control"))
            x += look.px(ITEM_INDENT if kind == "item" else QUOTE_INDENT)
        marker = self.block.marker
        if not marker:
            return
        box = QRectF(x - look.px(60), y, look.px(60) - look.px(6), line)
        if marker.startswith("["):
            side = look.px(13)
            square = QRectF(box.right() - side + 2, y + (line - side) / 2, side, side)
            done = marker == "[x]"
            look.card(
                painter, square, "accent" if done else None, "accent" if done else "strong", 3
            )
            if done:
                look.icon(painter, square.center(), "check", "accent_on", 10)
        else:
            look.text(painter, box, marker, "body", "text2" if marker == "•" else "text1", RIGHT)
