"""Table: lays out rows of a table."""

from __future__ import annotations

from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter

from studio.ui.markdown.parser import CODE, Cell
from studio.ui.transcript.paint_style import PaintStyle

from .line_layout import LineLayout, formats
from .text_block import Leaf


class TableLeaf(Leaf):
    """Some rows of a table; all its parts share their columns' widths."""

    @property
    def text(self) -> str:
        return "\n".join("\t".join(cell[0] for cell in row) for row in self.block.rows)

    def estimate(self, look: PaintStyle, width: float) -> float:
        return len(self.block.rows) * (look.body_line + look.px(12))

    def _columns(self, look: PaintStyle, width: float) -> list[float]:
        count = max((len(row) for row in self.block.sample), default=1)
        pad = 2 * look.px(10)
        natural = [float(pad)] * count
        for number, row in enumerate(self.block.sample):
            role = "body_strong" if number == 0 else "body"
            for index, (text, spans) in enumerate(row):
                extra = 1.12 if any(style & CODE for _, _, style, _ in spans) else 1.02
                natural[index] = max(natural[index], extra * look.width(role, text) + pad)
        total = sum(natural)
        if total <= width:
            return natural
        floor = min(width / count, look.px(64) + pad)
        spare = max(0.0, width - floor * count)
        over = [max(0.0, value - floor) for value in natural]
        whole = sum(over) or 1.0
        return [floor + spare * value / whole for value in over]

    def lay(self, look: PaintStyle, width: float) -> None:
        self._indent = self.indent(look)
        columns = self._columns(look, width - self._indent)
        self._edges = [self._indent]
        for column in columns:
            self._edges.append(self._edges[-1] + column)
        pad, self._pad = look.px(6), look.px(10)
        self._rows: list[tuple[float, float, list[LineLayout]]] = []
        y = 0.0
        for number, row in enumerate(self.block.rows):
            head = self.block.part == 0 and number == 0
            cells = [
                self._cell(cell, columns[index], index, head, look)
                for index, cell in enumerate(row)
            ]
            tall = max((words.height for words in cells), default=look.body_line) + 2 * pad
            self._rows.append((y, tall, cells))
            y += tall
        self._cell_top = pad
        self.height = y
        self.laid = True

    def _cell(
        self, cell: Cell, width: float, index: int, head: bool, look: PaintStyle
    ) -> LineLayout:
        text, spans = cell
        ranges, chips = formats(look, spans)
        sides = {"right": Qt.AlignmentFlag.AlignRight, "center": Qt.AlignmentFlag.AlignHCenter}
        side = self.block.align[index] if index < len(self.block.align) else ""
        words = LineLayout(
            text,
            look.font("body_strong" if head else "body"),
            look.body_line,
            ranges,
            chips,
            align=sides.get(side, Qt.AlignmentFlag.AlignLeft),
        )
        words.lay(max(20.0, width - 2 * self._pad))
        return words

    def drop(self) -> None:
        super().drop()
        self._rows = []

    def paint(
        self, painter: QPainter, y: float, look: PaintStyle, selected: tuple[int, int] | None
    ) -> None:
        if self.block.nesting:
            self.paint_nesting(painter, y, look, look.body_line)
        left, right = self._edges[0], self._edges[-1]
        if selected:
            mark = QColor(look.color("accent"))
            mark.setAlpha(40)
            painter.fillRect(QRectF(left, y, right - left, self.height), mark)
        for number, (top, tall, cells) in enumerate(self._rows):
            for edge, words in zip(self._edges, cells, strict=False):
                words.paint(painter, edge + self._pad, y + top + self._cell_top, look, None)
            head = self.block.part == 0 and number == 0
            painter.fillRect(
                QRectF(left, round(y + top + tall) - 1, right - left, 1),
                look.color("control" if head else "hair"),
            )

    def position(self, x: float, y: float) -> int:
        return 0 if y < self.height / 2 else self.length

    def cut(self, start: int, end: int) -> str:
        return self.text  # rows are copied whole

    def url(self, x: float, y: float) -> str:
        for (top, tall, cells), row in zip(self._rows, self.block.rows, strict=False):
            if not top <= y < top + tall:
                continue
            for (low, high), words, (_, spans) in zip(
                pairwise(self._edges), cells, row, strict=False
            ):
                if low <= x < high:
                    at = QPointF(x - low - self._pad, y - top - self._cell_top)
                    for start, size, _, url in spans:
                        if url and any(r.contains(at) for r in words.rects(start, start + size)):
                            return url
        return ""
