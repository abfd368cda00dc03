"""Block types: leaves for paragraphs, code, rules and tool output, chosen by ``leaf``."""

from __future__ import annotations

import re

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QPainter, QTextCharFormat, QTextLayout

from studio.ui.markdown.parser import Block, utf16
from studio.ui.transcript.paint_style import PaintStyle

from .highlight import CodeColours, State
from .line_layout import LineLayout, formats, span_format
from .table import TableLeaf
from .text_block import Leaf

CODE_HEADER = 32
CODE_PAD = 12


class ParagraphLeaf(Leaf):
    """A paragraph or heading, with inline styles."""

    def __init__(self, block: Block, role: str = "body", color: str = "text1") -> None:
        super().__init__(block)
        self.role, self.color = role, color

    def lay(self, look: PaintStyle, width: float) -> None:
        block, role = self.block, self.role
        line: float = look.body_line
        font = look.font(role)
        if role == "body" and block.kind == "heading":
            font = QFont(look.font("title" if block.level == 1 else "heading"))
            if block.level == 2:
                font.setPixelSize(look.px(16))
            line = look.px({1: 26, 2: 24}.get(block.level, 22))
        elif role != "body":
            line = look.px(20)
        if "quote" in block.nesting:
            self.color = "text2"
        ranges, chips = formats(look, block.spans, role)
        self._x = self.indent(look)
        self.words = LineLayout(block.text, font, line, ranges, chips)
        self.words.lay(max(40.0, width - self._x))
        self.height = self.words.height
        self.laid = True

    def drop(self) -> None:
        super().drop()
        if hasattr(self, "words"):
            del self.words

    def paint(
        self, painter: QPainter, y: float, look: PaintStyle, selected: tuple[int, int] | None
    ) -> None:
        if self.block.nesting:
            self.paint_nesting(painter, y, look, self.words.line)
        self.words.paint(painter, self._x, y, look, selected, self.color)

    def position(self, x: float, y: float) -> int:
        return self.words.position(x - self._x, y)

    def url(self, x: float, y: float) -> str:
        at = x - self._x
        for start, size, _, url in self.block.spans:
            if url and any(
                rect.adjusted(0, -3, 0, 3).contains(at, y)
                for rect in self.words.rects(start, start + size)
            ):
                return url
        return ""

    def cursor(self) -> QPointF | None:
        return self.words.end() + QPointF(self._x, 0)


class CodeLeaf(Leaf):
    """A part of a fence: the first has the header, the last the bottom edge."""

    def __init__(self, block: Block, colours: CodeColours | None) -> None:
        super().__init__(block)
        self.colours = colours
        self.before: CodeLeaf | None = None
        self.coloured = False
        self._after: State | None = None

    def estimate(self, look: PaintStyle, width: float) -> float:
        return (self.block.text.count("\n") + 1) * look.code_block_line + self._frame(look)

    def _frame(self, look: PaintStyle) -> float:
        top = look.px(CODE_HEADER) if self.block.part == 0 else 0
        return top + (look.px(CODE_PAD) if self.block.final else 0)

    def lay(self, look: PaintStyle, width: float) -> None:
        self._indent = self.indent(look)
        self._width = width - self._indent
        font = look.font("code")
        self.words = LineLayout(
            self.block.text.replace("\n", "\u2028"),
            font,
            look.code_block_line,
            self._formats(look),
            anywhere=True,
            tab=4 * look.width("code", " "),
        )
        self.words.lay(max(40.0, self._width - 2 * look.px(CODE_PAD)))
        self.height = self.words.height + self._frame(look)
        self._top = look.px(CODE_HEADER) if self.block.part == 0 else 0
        self._left = self._indent + look.px(CODE_PAD)
        self.laid = True

    def drop(self) -> None:
        super().drop()
        if hasattr(self, "words"):
            del self.words

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

    def _formats(self, look: PaintStyle) -> list[QTextLayout.FormatRange]:
        colours = self.colours
        self.coloured = colours is None or not self.block.language
        if colours is None or not self.block.language or not colours.can(self.block.language):
            return []
        spans, self._after = colours.spans(self.block.language, self._lexed(), self._state())
        self.coloured = True
        out: list[QTextLayout.FormatRange] = []
        for start, size, token in spans:
            form = QTextCharFormat()
            form.setForeground(look.color(token))
            out.append(span_format(start, size, form))
        return out

    def paint(
        self, painter: QPainter, y: float, look: PaintStyle, selected: tuple[int, int] | None
    ) -> None:
        block = self.block
        if block.nesting:
            self.paint_nesting(painter, y, look, look.body_line)
        self._paint_ground(painter, y, look)
        if block.part == 0:
            head = QRectF(self._left, y, self._width - 2 * look.px(CODE_PAD), look.px(CODE_HEADER))
            look.text(painter, head, block.language or "text", "small", "text3")
        self.words.paint(painter, self._left, y + self._top, look, selected)

    def _paint_ground(self, painter: QPainter, y: float, look: PaintStyle) -> None:
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
                look.card(painter, QRectF(left, y, width, 2 * round_), "sunken", "hair", 8)
            if block.final:
                bottom -= round_
                end = QRectF(left, bottom - round_, width, 2 * round_)
                look.card(painter, end, "sunken", "hair", 8)
            painter.restore()
        if bottom > top:
            painter.fillRect(QRectF(left, top, width, bottom - top), look.color("sunken"))
            for x in (left, left + width - 1):
                painter.fillRect(QRectF(x, top, 1, bottom - top), look.color("hair"))

    def copy_rect(self, y: float, look: PaintStyle) -> QRectF:
        """Where the copy button stands, in a part that has the header."""
        side = look.px(24)
        right = self._indent + self._width
        return QRectF(right - side - 6, y + (look.px(CODE_HEADER) - side) / 2, side, side)

    def position(self, x: float, y: float) -> int:
        return self.words.position(x - self._left, y - self._top)

    def cursor(self) -> QPointF | None:
        return self.words.end() + QPointF(self._left, self._top)


class RuleLeaf(Leaf):
    """A line across."""

    def estimate(self, look: PaintStyle, width: float) -> float:
        return look.px(17)

    def lay(self, look: PaintStyle, width: float) -> None:
        self._width = width
        self.height = look.px(17)
        self.laid = True

    def paint(
        self, painter: QPainter, y: float, look: PaintStyle, selected: tuple[int, int] | None
    ) -> None:
        x = self.indent(look)
        look.hairline(painter, x, y + self.height / 2, self._width - x)


def leaf(block: Block, colours: CodeColours | None, before: Leaf | None = None) -> Leaf:
    """The leaf of a block; ``before`` is the leaf above it."""
    if block.kind == "code":
        made = CodeLeaf(block, colours)
        if block.part > 0 and isinstance(before, CodeLeaf):
            made.before = before
        return made
    if block.kind == "table":
        return TableLeaf(block)
    if block.kind == "rule":
        return RuleLeaf(block)
    return ParagraphLeaf(block)


def gap(before: Block | None, block: Block, look: PaintStyle) -> float:
    """The space above a block."""
    if before is None or (block.part > 0 and block.kind in ("code", "table")):
        return 0
    if block.kind == "heading":
        return look.px(18 if block.level <= 2 else 16)
    if block.tight and "item" in before.nesting:
        return look.px(4)
    if block.tight and len(block.nesting) > 1:
        return look.px(4)
    return look.px(10)


_BAD = re.compile(r"^(E\s|\S*(Error|Exception)\b|Timed out\b|fatal:|FAILED\b)")


class OutputLeaf(CodeLeaf):
    """What a tool printed: fixed pitch, quiet, lines that say what failed in red."""

    def __init__(self, text: str, failed: bool = False, color: str = "text2") -> None:
        super().__init__(Block("code", text), None)
        self.failed, self.ink = failed, color

    def lay(self, look: PaintStyle, width: float) -> None:
        self._indent = self._top = self._left = 0
        self._width = width
        text = self.block.text.expandtabs(8)
        ranges = []
        if self.failed:
            at = 0
            form = QTextCharFormat()
            form.setForeground(look.color("err"))
            for line in text.split("\n"):
                size = utf16(line)
                if _BAD.match(line):
                    ranges.append(span_format(at, size, form))
                at += size + 1
        self.words = LineLayout(
            text.replace("\n", "\u2028"), look.font("code"), look.code_line, ranges, anywhere=True
        )
        self.words.lay(max(40.0, width))
        self.height = self.words.height
        self.laid = True

    def paint(
        self, painter: QPainter, y: float, look: PaintStyle, selected: tuple[int, int] | None
    ) -> None:
        self.words.paint(painter, 0, y, look, selected, self.ink)
