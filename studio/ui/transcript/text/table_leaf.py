"""Table leaf: one part of a table, its columns as wide as the whole table wants them."""

from __future__ import annotations

from itertools import pairwise
from math import ceil

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QTextOption

from studio.ui.markdown.blocks import Block, Cell
from studio.ui.transcript.paint_style import PaintStyle

from .formulas import EM, FormulaBox, Formulas
from .leaf import Leaf, Link, links_of
from .text_layout import LineLayout, formula_boxes, inline_format

MOST_CELLS = 2000
"""Cells of tables whose widths are kept."""


class TableLeaf(Leaf):
    """Some rows of a table; all its parts share their columns' widths."""

    def __init__(self, block: Block, formulas: Formulas | None = None) -> None:
        super().__init__(block)
        self.formulas = formulas

    @property
    def text(self) -> str:
        return "\n".join("\t".join(cell[0] for cell in row) for row in self.block.rows)

    def estimate(self, style: PaintStyle, width: float) -> float:
        return len(self.block.rows) * (style.body_line + style.px(12))

    def texts(self) -> list[str]:
        return [cell[0] for row in self.block.rows for cell in row]

    def links(self) -> list[Link]:
        cells = [cell for row in self.block.rows for cell in row]
        return [link for part, (_, spans) in enumerate(cells) for link in links_of(part, spans)]

    def layouts(self) -> list[tuple[QPointF, LineLayout]]:
        return [
            (QPointF(edge + self._pad, top + self._cell_top), words)
            for top, _, cells in self._rows
            for edge, words in zip(self._edges, cells, strict=False)
        ]

    def _columns(self, style: PaintStyle, width: float) -> list[float]:
        """The widths of the columns; a word is broken only where the longest do not fit."""
        count = max((len(row) for row in self.block.sample), default=1)
        pad = 2.0 * style.px(10)
        least, natural = [pad] * count, [pad] * count
        for number, row in enumerate(self.block.sample):
            for index, cell in enumerate(row):
                words, whole = cell_widths(cell, number == 0, style, self.formulas)
                least[index] = max(least[index], words + pad)
                natural[index] = max(natural[index], whole + pad)
        if sum(natural) <= width:
            return natural
        if sum(least) > width:
            return _capped(least, width)
        share = (width - sum(least)) / (sum(natural) - sum(least))
        return [low + share * (high - low) for low, high in zip(least, natural, strict=True)]

    def lay(self, style: PaintStyle, width: float) -> None:
        self._indent = self.indent(style)
        columns = self._columns(style, width - self._indent)
        self._edges = [self._indent]
        for column in columns:
            self._edges.append(self._edges[-1] + column)
        pad, self._pad = style.px(6), style.px(10)
        sample = (cell for row in self.block.sample for cell in row)  # it decides the columns
        self.complete = all(cell_formulas(one, self.formulas, style, 1e6)[1] for one in sample)
        self._rows: list[tuple[float, float, list[LineLayout]]] = []
        y = 0.0
        for number, row in enumerate(self.block.rows):
            head = self.block.part == 0 and number == 0
            cells = [
                self._cell(cell, columns[index], index, head, style)
                for index, cell in enumerate(row)
            ]
            tall = max((words.height for words in cells), default=style.body_line) + 2 * pad
            self._rows.append((y, tall, cells))
            y += tall
        self._cell_top = pad
        self.height = y
        self.laid = True

    def _cell(
        self, cell: Cell, width: float, index: int, head: bool, style: PaintStyle
    ) -> LineLayout:
        text, spans = cell
        room = max(20.0, width - 2 * self._pad)
        boxes, complete = cell_formulas(cell, self.formulas, style, room)
        self.complete = self.complete and complete
        sides = {"right": Qt.AlignmentFlag.AlignRight, "center": Qt.AlignmentFlag.AlignHCenter}
        side = self.block.align[index] if index < len(self.block.align) else ""
        words = LineLayout(
            text,
            style.font("body_strong" if head else "body"),
            style.body_line,
            inline_format(style, spans, boxes),
            align=sides.get(side, Qt.AlignmentFlag.AlignLeft),
        )
        words.lay(room)
        return words

    def drop(self) -> None:
        super().drop()
        self._rows = []

    def paint(
        self, painter: QPainter, y: float, style: PaintStyle, selected: tuple[int, int] | None
    ) -> None:
        if self.block.nesting:
            self.paint_nesting(painter, y, style, style.body_line)
        left, right = self._edges[0], self._edges[-1]
        if selected:
            mark = QColor(style.color("accent"))
            mark.setAlpha(40)
            painter.fillRect(QRectF(left, y, right - left, self.height), mark)
        for number, (top, tall, cells) in enumerate(self._rows):
            for edge, words in zip(self._edges, cells, strict=False):
                words.paint(painter, edge + self._pad, y + top + self._cell_top, style, None)
            head = self.block.part == 0 and number == 0
            painter.fillRect(
                QRectF(left, round(y + top + tall) - 1, right - left, 1),
                style.color("control" if head else "hair"),
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


def cell_formulas(
    cell: Cell, formulas: Formulas | None, style: PaintStyle, room: float
) -> tuple[list[FormulaBox], bool]:
    """See ``formula_boxes``."""
    return formula_boxes(*cell, formulas, EM * style.font("body").pixelSize(), room)


def cell_widths(
    cell: Cell, head: bool, style: PaintStyle, formulas: Formulas | None = None
) -> tuple[float, float]:
    """How wide the longest word of a cell is in its fonts, and the whole cell on one line."""
    text, spans = cell
    boxes, _ = cell_formulas(cell, formulas, style, 1e6)
    if (found := style.cells.get((cell, head, len(boxes)))) is not None:
        return found
    look = inline_format(style, spans, boxes)
    font = style.font("body_strong" if head else "body")
    layout = LineLayout(text, font, style.body_line, look).layout
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WordWrap)
    layout.setTextOption(option)
    layout.setFormats(list(look.ranges))
    layout.beginLayout()
    while (line := layout.createLine()).isValid():
        line.setLineWidth(1e6)
    layout.endLayout()
    around = 4.0 if look.chips else 0.0  # the tint of code is wider than its text
    widths = ceil(layout.minimumWidth()) + around, ceil(layout.maximumWidth()) + around
    if len(style.cells) >= MOST_CELLS:
        style.cells.clear()
    style.cells[cell, head, len(boxes)] = widths
    return widths


def _capped(widths: list[float], room: float) -> list[float]:
    """The widths with the largest cut to one size, so that all fit into the room."""
    left, cap = room, room
    for done, width in enumerate(sorted(widths)):
        cap = left / (len(widths) - done)
        if width > cap:
            break
        left -= width
    return [min(width, cap) for width in widths]
