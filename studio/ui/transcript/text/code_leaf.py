"""Code leaves: code with its colours, and what tools printed."""

from __future__ import annotations

import re
from itertools import zip_longest

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QTextLayout

from studio.ui.markdown.blocks import LINE, Block, utf16
from studio.ui.transcript.paint_style import PaintStyle

from .highlight import CodeColours, Spans, State
from .leaf import Leaf, common_prefix
from .text_layout import LineLayout, TextFormat, coloured

CODE_HEADER = 32
CODE_PAD = 12


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
            self.block.text.replace("\n", LINE),
            font,
            style.code_block_line,
            TextFormat(_ranges(self._spans(), style)),
            anywhere=True,
            tab=4 * style.width("code", " "),
        )
        self.lines.lay(max(40.0, self._width - 2 * style.px(CODE_PAD)))
        self.height = self.lines.height + self._frame(style)
        self._top = style.px(CODE_HEADER) if self.block.part == 0 else 0
        self._left = self._indent + style.px(CODE_PAD)
        self.laid = True

    def grow(self, block: Block, style: PaintStyle) -> float | None:
        """Take a block whose text goes on; see ``LineLayout.grow``."""
        old, before = self.block, self._coloured
        if not (self.laid and _alike(old, block) and block.text.startswith(old.text)):
            return None
        self.block = block
        spans = self._spans()
        pairs = enumerate(zip_longest(before, spans))
        same = next((number for number, (a, b) in pairs if a != b), len(before))
        formats = [*self.lines.formats[:same], *_ranges(spans[same:], style)]
        at = min((span[0] for span in (*before[same:], *spans[same:])), default=utf16(old.text))
        changed = self.lines.grow(block.text.replace("\n", LINE), formats, at)
        if changed is None:
            self.block, self._coloured = old, before
            return None
        self.height = self.lines.height + self._frame(style)
        return self._top + changed

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

    def _spans(self) -> Spans:
        """The pieces that have a colour, as far as it is known yet."""
        colours, language = self.colours, self.block.language
        self.complete, self._coloured = colours is None or not language, ()
        if colours is not None and language and colours.can(language):
            self._coloured, self._after = colours.spans(language, self._lexed(), self._state())
            self.complete = True
        return self._coloured

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
        laid = self.laid and before.laid
        if not (laid and isinstance(before, CodeLeaf) and _alike(old, new)):
            return 0.0
        same = utf16(new.text[: common_prefix(old.text, new.text)])
        for one, other in zip_longest(before._coloured, self._coloured):
            if one != other:
                same = min(same, *(span[0] for span in (one, other) if span is not None))
                break
        top = self.lines.top_of_change(before.lines, same)
        return self._top + top if top else 0.0


def _alike(old: Block, new: Block) -> bool:
    """Whether two parts of code differ in their text alone."""
    return (old.kind, old.language, old.nesting, old.marker, old.part, old.final) == (
        new.kind, new.language, new.nesting, new.marker, new.part, new.final,
    )  # fmt: skip


def _ranges(spans: Spans, style: PaintStyle) -> list[QTextLayout.FormatRange]:
    return [coloured(start, size, style.color(token)) for start, size, token in spans]


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
            text.replace("\n", LINE),
            style.font("code"),
            style.code_line,
            TextFormat(ranges),
            anywhere=True,
        )
        self.lines.lay(max(40.0, width))
        self.height = self.lines.height
        self.laid = True

    def paint(
        self, painter: QPainter, y: float, style: PaintStyle, selected: tuple[int, int] | None
    ) -> None:
        self.lines.paint(painter, 0, y, style, selected, self.ink)
