"""Block types: paragraphs, folds and rules; ``leaf`` chooses the leaf of a block."""

from __future__ import annotations

from itertools import zip_longest

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QPainter

from studio.ui.markdown.blocks import Block, utf16
from studio.ui.transcript.paint_style import PaintStyle
from studio.ui.translation import tr

from .code_leaf import CodeLeaf
from .formulas import EM, Formulas
from .highlight import CodeColours
from .leaf import ITEM_INDENT, Leaf, common_prefix
from .table_leaf import TableLeaf
from .text_layout import LineLayout, formula_boxes, inline_format


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
        look = inline_format(style, block.spans, boxes, role)
        align = Qt.AlignmentFlag.AlignHCenter if alone and boxes else Qt.AlignmentFlag.AlignLeft
        self.lines = LineLayout(block.text, font, line, look, align=align)
        self.lines.lay(room)
        self.height = self.lines.height
        self.laid = True

    def grow(self, block: Block, style: PaintStyle) -> float | None:
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
