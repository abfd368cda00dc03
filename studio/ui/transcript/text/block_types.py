"""Block types: paragraphs, folds, pictures, code, tables, rules, output; ``leaf`` chooses one."""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import pairwise, zip_longest
from math import ceil
from typing import Literal

from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen, QTextLayout, QTextOption

from studio.ui.markdown.parser import Block, Cell, utf16
from studio.ui.transcript.paint_style import PaintStyle
from studio.ui.translation import tr
from studio.ui.widgets.thumbnails import LocalPicture, Thumbnails, fitted, paint_image

from .formulas import FormulaBox, Formulas
from .highlight import CodeColours, Spans, State
from .text_layout import (
    ITEM_INDENT,
    Leaf,
    LineLayout,
    Link,
    coloured,
    formats,
    formula_boxes,
    links_of,
)

EM = 1.1
"""Size of formulas for that of the text: their letters are small for their size."""
CODE_HEADER = 32
CODE_PAD = 12
MOST_CELLS = 2000
"""Cells of tables whose widths are kept."""


def common_prefix(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginnings."""
    most = min(len(one), len(other))
    return bisect_left(range(most), True, key=lambda at: one[: at + 1] != other[: at + 1])


class ParagraphLeaf(Leaf):
    """A paragraph or heading, with inline styles."""

    def __init__(
        self,
        block: Block,
        role: str = "body",
        color: str = "text1",
        formulas: Formulas | None = None,
    ) -> None:
        super().__init__(block)
        self.role, self.color = role, color
        self.formulas = formulas

    def lay(self, style: PaintStyle, width: float) -> None:
        block, role = self.block, self.role
        line: float = style.body_line
        font = style.font(role)
        if role == "body" and block.kind == "heading":
            font = QFont(style.font("title" if block.level == 1 else "heading"))
            if block.level == 2:
                font.setPixelSize(style.px(16))
            line = style.px({1: 26, 2: 24}.get(block.level, 22))
        elif role != "body":
            line = style.px(20)
        if "quote" in block.nesting:
            self.color = "text2"
        self._x = self.indent(style)
        room = max(40.0, width - self._x)
        alone = block.kind == "math"
        em = font.pixelSize() * (1.25 if alone else EM)
        boxes, self.complete = formula_boxes(block.text, block.spans, self.formulas, em, room)
        ranges, chips = formats(style, block.spans, role, boxes)
        align = Qt.AlignmentFlag.AlignHCenter if alone and boxes else Qt.AlignmentFlag.AlignLeft
        self.lines = LineLayout(block.text, font, line, ranges, chips, boxes=boxes, align=align)
        self.lines.lay(room)
        self.height = self.lines.height
        self.laid = True

    def grow(self, block: Block) -> float | None:
        """Take a block whose text goes on in plain letters; see ``LineLayout.grow``."""
        changed = self.lines.grow(block.text) if self.laid else None
        if changed is not None:
            self.block, self.height = block, self.lines.height
        return changed

    def paint(
        self, painter: QPainter, y: float, style: PaintStyle, selected: tuple[int, int] | None
    ) -> None:
        if self.block.nesting:
            self.paint_nesting(painter, y, style, self.lines.line)
        self.lines.paint(painter, self._x, y, style, selected, self.color)

    def layouts(self) -> list[tuple[QPointF, LineLayout]]:
        return [(QPointF(self._x, 0), self.lines)]

    def position(self, x: float, y: float) -> int:
        return self.lines.position(x - self._x, y)

    def url(self, x: float, y: float) -> str:
        at = x - self._x
        for start, size, _, url in self.block.spans:
            if url and any(
                rect.adjusted(0, -3, 0, 3).contains(at, y)
                for rect in self.lines.rects(start, start + size)
            ):
                return url
        return ""

    def cursor(self) -> QPointF | None:
        return self.lines.end() + QPointF(self._x, 0)

    def last_top(self) -> float:
        return self.lines.last_top() if self.laid and not self.lines.boxes else 0.0

    def top_of_change(self, before: Leaf) -> float:
        old, new = before.block, self.block
        alike = (old.kind, old.level, old.nesting, old.marker) == (
            new.kind, new.level, new.nesting, new.marker,
        )  # fmt: skip
        if not (alike and self.laid and before.laid and isinstance(before, ParagraphLeaf)):
            return 0.0
        if self.lines.boxes or before.lines.boxes or new.kind == "math":
            return 0.0
        same = utf16(new.text[: common_prefix(old.text, new.text)])
        for one, other in zip_longest(old.spans, new.spans):
            if one != other:
                same = min(same, *(span[0] for span in (one, other) if span is not None))
                break
        return self.lines.top_of_change(before.lines, same)


class DetailsLeaf(ParagraphLeaf):
    """The row of a fold: its summary beside a chevron."""

    opened = over = False

    def indent(self, style: PaintStyle) -> float:
        return super().indent(style) + style.px(ITEM_INDENT)

    @property
    def title(self) -> str:
        """What stands in the row."""
        return self.block.text or tr("Details")

    def row(self, y: float, style: PaintStyle) -> QRectF:
        """Where a click opens or closes it, if its top is at ``y``."""
        left = super().indent(style)
        words = self.lines.width if self.block.text else style.width("body", self.title)
        return QRectF(left, y, self._x - left + words + style.px(8), self.height)

    def paint(
        self, painter: QPainter, y: float, style: PaintStyle, selected: tuple[int, int] | None
    ) -> None:
        self.color = "text1" if self.over or self.block.text else "text2"
        super().paint(painter, y, style, selected)
        chevron = "chevron-down" if self.opened else "chevron-right"
        at = QPointF(super().indent(style) + style.px(8), y + self.lines.line / 2)
        style.icon(painter, at, chevron, "text1" if self.over else "text2", 14)
        if not self.block.text:
            line = QRectF(self._x, y, style.width("body", self.title) + 2, self.height)
            style.text(painter, line, self.title, "body", self.color)

    def cursor(self) -> QPointF | None:
        if self.block.text:
            return super().cursor()
        return None

    def url(self, x: float, y: float) -> str:
        return ""


PICTURE_SIDE = 1024
"""Pixels of the longer side to which pictures of answers are made smaller."""
PICTURE_TALL = 420
"""Pixels of the height on screen, at the most."""


class PictureLeaf(Leaf):
    """A picture of the chat's folder, or a row with its name where it cannot be shown."""

    over = False
    hit: Literal["", "found", "current"] = ""
    """Whether the words that describe it have what is looked for."""

    def __init__(self, block: Block, folder: str, thumbnails: Thumbnails) -> None:
        super().__init__(block)
        self.picture = LocalPicture(folder, block.spans[0][3])
        self.thumbnails = thumbnails
        self.broken = not self.picture.is_possible

    @property
    def title(self) -> str:
        return self.block.text or self.picture.name or tr("Picture")

    def texts(self) -> list[str]:
        return [self.block.text]

    def links(self) -> list[Link]:
        return []

    def estimate(self, style: PaintStyle, width: float) -> float:
        return self._extent(style, width - self.indent(style)).height()

    def _extent(self, style: PaintStyle, room: float) -> QSizeF:
        known = self.thumbnails.size(self.picture)
        self.broken = not self.picture.is_possible or (known is not None and not known.isValid())
        self.complete = self.broken or known is not None
        if self.broken:
            wide = style.px(34) + style.width("small", self.title) + style.px(12)
            return QSizeF(min(room, wide), style.theme.height(28))
        if known is None:
            return QSizeF(min(room, style.px(240)), style.px(160))
        most = QSize(round(room), style.px(PICTURE_TALL))
        return QSizeF(fitted(known, most).expandedTo(QSize(style.px(28), style.px(28))))

    def lay(self, style: PaintStyle, width: float) -> None:
        self._x = self.indent(style)
        self._size = self._extent(style, max(40.0, width - self._x))
        if not self.complete:
            self.thumbnails.get(self.picture, PICTURE_SIDE)
        self.height = self._size.height()
        self.laid = True

    def row(self, y: float) -> QRectF:
        """Where it is, if its top is at ``y``."""
        return QRectF(QPointF(self._x, y), self._size)

    def paint(
        self, painter: QPainter, y: float, style: PaintStyle, selected: tuple[int, int] | None
    ) -> None:
        if self.block.nesting:
            self.paint_nesting(painter, y, style, style.body_line)
        rect = self.row(y)
        image = None if self.broken else self.thumbnails.get(self.picture, PICTURE_SIDE)
        if self.broken:
            style.card(painter, rect, "sunken", "hair", 6)
            at = QPointF(rect.left() + style.px(18), rect.center().y())
            style.icon(painter, at, "image", "text3", 16)
            line = rect.adjusted(style.px(34), 0, -style.px(10), 0)
            style.text(painter, line, self.title, "small", "text2")
        elif image is None or image.isNull():
            style.card(painter, rect, "sunken", "hair", 8)
            style.icon(painter, rect.center(), "image", "text3", 16)
        else:
            scale = min(rect.width() / image.width(), rect.height() / image.height(), 1.0)
            target = QRectF(0, 0, image.width() * scale, image.height() * scale)
            target.moveCenter(rect.center())
            paint_image(painter, target, image, QRectF(image.rect()), 8)
            if self.over:
                style.card(painter, rect, "hover", None, 8)
            style.card(painter, rect, None, "control" if self.over else "hair", 7.5)
        if selected is not None and selected[0] < selected[1]:
            mark = QColor(style.color("accent"))
            mark.setAlpha(40)
            painter.fillRect(rect, mark)
        if self.hit:
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            ring = "warn" if self.hit == "current" else "accent_text"
            painter.setPen(QPen(style.color(ring), 3 if self.hit == "current" else 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(rect.adjusted(1.5, 1.5, -1.5, -1.5), 7, 7)
            painter.restore()

    def position(self, x: float, y: float) -> int:
        return 0 if y < self.height / 2 else self.length


class EndLeaf(Leaf):
    """The end of a fold, which shows nothing."""

    def estimate(self, style: PaintStyle, width: float) -> float:
        return 0.0

    def lay(self, style: PaintStyle, width: float) -> None:
        self.laid = True

    def paint(
        self, painter: QPainter, y: float, style: PaintStyle, selected: tuple[int, int] | None
    ) -> None:
        """Nothing."""


class CodeLeaf(Leaf):
    """A part of a fence: the first has the header, the last the bottom edge."""

    def __init__(self, block: Block, colours: CodeColours | None) -> None:
        super().__init__(block)
        self.colours = colours
        self.before: CodeLeaf | None = None
        self._after: State | None = None
        self._coloured: Spans = ()

    def estimate(self, style: PaintStyle, width: float) -> float:
        return (self.block.text.count("\n") + 1) * style.code_block_line + self._frame(style)

    def _frame(self, style: PaintStyle) -> float:
        top = style.px(CODE_HEADER) if self.block.part == 0 else 0
        return top + (style.px(CODE_PAD) if self.block.final else 0)

    def lay(self, style: PaintStyle, width: float) -> None:
        self._indent = self.indent(style)
        self._width = width - self._indent
        font = style.font("code")
        self.lines = LineLayout(
            self.block.text.replace("\n", "\u2028"),
            font,
            style.code_block_line,
            self._formats(style),
            anywhere=True,
            tab=4 * style.width("code", " "),
        )
        self.lines.lay(max(40.0, self._width - 2 * style.px(CODE_PAD)))
        self.height = self.lines.height + self._frame(style)
        self._top = style.px(CODE_HEADER) if self.block.part == 0 else 0
        self._left = self._indent + style.px(CODE_PAD)
        self.laid = True

    def state_after(self) -> State:
        """The lexer's state at this part's end; a far part is taken to begin afresh."""
        colours = self.colours
        if self._after is None and colours and colours.can(self.block.language):
            _, self._after = colours.spans(self.block.language, self._lexed(), self._state())
        return self._after or ("root",)

    def _lexed(self) -> str:
        return self.block.text if self.block.final else self.block.text + "\n"

    def _state(self) -> State:
        chain, leaf = 0, self.before
        while leaf is not None and leaf._after is None and chain < 8:
            leaf, chain = leaf.before, chain + 1
        if self.before is None or chain == 8:
            return ("root",)
        return self.before.state_after()

    def _formats(self, style: PaintStyle) -> list[QTextLayout.FormatRange]:
        colours = self.colours
        self.complete = colours is None or not self.block.language
        if colours is None or not self.block.language or not colours.can(self.block.language):
            return []
        spans, self._after = colours.spans(self.block.language, self._lexed(), self._state())
        self.complete, self._coloured = True, spans
        return [coloured(start, size, style.color(token)) for start, size, token in spans]

    def paint(
        self, painter: QPainter, y: float, style: PaintStyle, selected: tuple[int, int] | None
    ) -> None:
        block = self.block
        if block.nesting:
            self.paint_nesting(painter, y, style, style.body_line)
        self._paint_ground(painter, y, style)
        if block.language in ("diff", "patch"):
            self._paint_changes(painter, y + self._top, style)
        head = QRectF(self._left, y, self._width - 2 * style.px(CODE_PAD), style.px(CODE_HEADER))
        if block.part == 0 and painter.clipBoundingRect().intersects(head):
            style.text(painter, head, block.language or "text", "small", "text3")
        self.lines.paint(painter, self._left, y + self._top, style, selected)

    def _paint_ground(self, painter: QPainter, y: float, style: PaintStyle) -> None:
        """The box around the code; its round corners are in the first and the last part only."""
        block, round_ = self.block, 16
        left, width = self._indent, self._width
        top, bottom = y, y + self.height
        if block.part == 0 or block.final:
            painter.save()
            box = QRectF(left, y, width, self.height)
            painter.setClipRect(box, Qt.ClipOperation.IntersectClip)
            if block.part == 0:
                top = y + round_
                begin = QRectF(left, y, width, 2 * round_)
                if painter.clipBoundingRect().intersects(begin):
                    style.card(painter, begin, "sunken", "hair", 8)
            if block.final:
                bottom -= round_
                end = QRectF(left, bottom - round_, width, 2 * round_)
                style.card(painter, end, "sunken", "hair", 8)
            painter.restore()
        if bottom > top:
            painter.fillRect(QRectF(left, top, width, bottom - top), style.color("sunken"))
            for x in (left, left + width - 1):
                painter.fillRect(QRectF(x, top, 1, bottom - top), style.color("hair"))

    def _paint_changes(self, painter: QPainter, y: float, style: PaintStyle) -> None:
        """The tint behind the lines of a diff that came or went."""
        at = 0
        for line in self.block.text.split("\n"):
            size = utf16(line)
            name = {"+": "add_bg", "-": "del_bg"}.get(line[:1])
            if name and not line.startswith(("+++ ", "--- ")):
                for row in self.lines.rows(at, at + size):
                    band = QRectF(self._indent + 1, y + row.y(), self._width - 2, row.height())
                    painter.fillRect(band, style.color(name))
            at += size + 1

    def copy_rect(self, y: float, style: PaintStyle) -> QRectF:
        """Where the copy button stands, in a part that has the header."""
        side = style.px(24)
        right = self._indent + self._width
        return QRectF(right - side - 6, y + (style.px(CODE_HEADER) - side) / 2, side, side)

    def layouts(self) -> list[tuple[QPointF, LineLayout]]:
        return [(QPointF(self._left, self._top), self.lines)]

    def position(self, x: float, y: float) -> int:
        return self.lines.position(x - self._left, y - self._top)

    def cursor(self) -> QPointF | None:
        return self.lines.end() + QPointF(self._left, self._top)

    def last_top(self) -> float:
        return self._top + self.lines.last_top() if self.laid else 0.0

    def top_of_change(self, before: Leaf) -> float:
        old, new = before.block, self.block
        alike = (old.kind, old.language, old.nesting, old.part, old.final) == (
            new.kind, new.language, new.nesting, new.part, new.final,
        )  # fmt: skip
        if not (alike and self.laid and before.laid and isinstance(before, CodeLeaf)):
            return 0.0
        same = utf16(new.text[: common_prefix(old.text, new.text)])
        for one, other in zip_longest(before._coloured, self._coloured):
            if one != other:
                same = min(same, *(span[0] for span in (one, other) if span is not None))
                break
        top = self.lines.top_of_change(before.lines, same)
        return self._top + top if top else 0.0


class RuleLeaf(Leaf):
    """A line across."""

    def estimate(self, style: PaintStyle, width: float) -> float:
        return style.px(17)

    def lay(self, style: PaintStyle, width: float) -> None:
        self._width = width
        self.height = style.px(17)
        self.laid = True

    def paint(
        self, painter: QPainter, y: float, style: PaintStyle, selected: tuple[int, int] | None
    ) -> None:
        x = self.indent(style)
        style.hairline(painter, x, y + self.height / 2, self._width - x)


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
        ranges, chips = formats(style, spans, boxes=boxes)
        sides = {"right": Qt.AlignmentFlag.AlignRight, "center": Qt.AlignmentFlag.AlignHCenter}
        side = self.block.align[index] if index < len(self.block.align) else ""
        words = LineLayout(
            text,
            style.font("body_strong" if head else "body"),
            style.body_line,
            ranges,
            chips,
            boxes=boxes,
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
    ranges, chips = formats(style, spans, boxes=boxes)
    font = style.font("body_strong" if head else "body")
    layout = LineLayout(text, font, style.body_line, ranges, chips, boxes=boxes).layout
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WordWrap)
    layout.setTextOption(option)
    layout.setFormats(ranges)
    layout.beginLayout()
    while (line := layout.createLine()).isValid():
        line.setLineWidth(1e6)
    layout.endLayout()
    around = 4.0 if chips else 0.0  # the tint of code is wider than its text
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


def leaf(
    block: Block,
    colours: CodeColours | None,
    before: Leaf | None = None,
    formulas: Formulas | None = None,
) -> Leaf:
    """The leaf of a block; ``before`` is the leaf above it."""
    if block.kind == "code":
        made = CodeLeaf(block, colours)
        if block.part > 0 and isinstance(before, CodeLeaf):
            made.before = before
        return made
    if block.kind == "table":
        return TableLeaf(block, formulas)
    if block.kind == "rule":
        return RuleLeaf(block)
    if block.kind == "details":
        return DetailsLeaf(block)
    if block.kind == "details_end":
        return EndLeaf(block)
    return ParagraphLeaf(block, formulas=formulas)


def gap(before: Block | None, block: Block, style: PaintStyle) -> float:
    """The space above a block."""
    if (
        before is None
        or block.kind == "details_end"
        or (block.part > 0 and block.kind in ("code", "table"))
    ):
        return 0
    if block.kind == "heading":
        return style.px(18 if block.level <= 2 else 16)
    if block.tight and "item" in before.nesting:
        return style.px(4)
    if block.tight and len(block.nesting) > 1:
        return style.px(4)
    return style.px(10)


_BAD = re.compile(r"^(E\s|\S*(Error|Exception)\b|Timed out\b|fatal:|FAILED\b)")


class OutputLeaf(CodeLeaf):
    """What a tool printed: fixed pitch, quiet, lines that say what failed in red."""

    def __init__(self, text: str, failed: bool = False, color: str = "text2") -> None:
        super().__init__(Block("code", text), None)
        self.failed, self.ink = failed, color

    def lay(self, style: PaintStyle, width: float) -> None:
        self._indent = self._top = self._left = 0
        self._width = width
        text = self.block.text.expandtabs(8)
        ranges = []
        if self.failed:
            at = 0
            for line in text.split("\n"):
                size = utf16(line)
                if _BAD.match(line):
                    ranges.append(coloured(at, size, style.color("err")))
                at += size + 1
        self.lines = LineLayout(
            text.replace("\n", "\u2028"), style.font("code"), style.code_line, ranges, anywhere=True
        )
        self.lines.lay(max(40.0, width))
        self.height = self.lines.height
        self.laid = True

    def paint(
        self, painter: QPainter, y: float, style: PaintStyle, selected: tuple[int, int] | None
    ) -> None:
        self.lines.paint(painter, 0, y, style, selected, self.ink)
