"""Paragraphs, code and tables as laid out text.

A *leaf* is one piece of text that can be selected: it is made from a markdown
block, laid out for a width, painted, and thrown away again when it is far off.
Positions in it count UTF-16 units.
"""

from __future__ import annotations

from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QTextCharFormat, QTextLayout

from studio.ui.markdown import CODE, Block, Cell, cut, utf16

from .highlight import CodeColours, State
from .look import RIGHT, Look
from .words import Words, formats, span_format

ITEM_INDENT = 22
QUOTE_INDENT = 16
CODE_HEADER = 32
CODE_PAD = 12


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

    def indent(self, look: Look) -> float:
        return sum(
            look.px(ITEM_INDENT if n == "item" else QUOTE_INDENT) for n in self.block.nesting
        )

    def estimate(self, look: Look, width: float) -> float:
        """A guess of the height, from the number of characters."""
        lines = sum(1 + len(line) // 92 for line in self.block.text.split("\u2028"))
        return lines * look.body_line

    def lay(self, look: Look, width: float) -> None:
        raise NotImplementedError

    def paint(
        self, painter: QPainter, y: float, look: Look, selected: tuple[int, int] | None
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

    def paint_nesting(self, painter: QPainter, y: float, look: Look, line: float) -> None:
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


class ParagraphLeaf(Leaf):
    """A paragraph or heading, with inline styles."""

    def __init__(self, block: Block, role: str = "body", color: str = "text1") -> None:
        super().__init__(block)
        self.role, self.color = role, color

    def lay(self, look: Look, width: float) -> None:
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
        self.words = Words(block.text, font, line, ranges, chips)
        self.words.lay(max(40.0, width - self._x))
        self.height = self.words.height
        self.laid = True

    def drop(self) -> None:
        super().drop()
        if hasattr(self, "words"):
            del self.words

    def paint(
        self, painter: QPainter, y: float, look: Look, selected: tuple[int, int] | None
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

    def estimate(self, look: Look, width: float) -> float:
        return (self.block.text.count("\n") + 1) * look.code_block_line + self._frame(look)

    def _frame(self, look: Look) -> float:
        top = look.px(CODE_HEADER) if self.block.part == 0 else 0
        return top + (look.px(CODE_PAD) if self.block.final else 0)

    def lay(self, look: Look, width: float) -> None:
        self._indent = self.indent(look)
        self._width = width - self._indent
        font = look.font("code")
        self.words = Words(
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

    def _formats(self, look: Look) -> list[QTextLayout.FormatRange]:
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
        self, painter: QPainter, y: float, look: Look, selected: tuple[int, int] | None
    ) -> None:
        block = self.block
        if block.nesting:
            self.paint_nesting(painter, y, look, look.body_line)
        self._paint_ground(painter, y, look)
        if block.part == 0:
            head = QRectF(self._left, y, self._width - 2 * look.px(CODE_PAD), look.px(CODE_HEADER))
            look.text(painter, head, block.language or "text", "small", "text3")
        self.words.paint(painter, self._left, y + self._top, look, selected)

    def _paint_ground(self, painter: QPainter, y: float, look: Look) -> None:
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

    def copy_rect(self, y: float, look: Look) -> QRectF:
        """Where the copy button stands, in a part that has the header."""
        side = look.px(24)
        right = self._indent + self._width
        return QRectF(right - side - 6, y + (look.px(CODE_HEADER) - side) / 2, side, side)

    def position(self, x: float, y: float) -> int:
        return self.words.position(x - self._left, y - self._top)

    def cursor(self) -> QPointF | None:
        return self.words.end() + QPointF(self._left, self._top)


class TableLeaf(Leaf):
    """Some rows of a table; all its parts share their columns' widths."""

    @property
    def text(self) -> str:
        return "\n".join("\t".join(cell[0] for cell in row) for row in self.block.rows)

    def estimate(self, look: Look, width: float) -> float:
        return len(self.block.rows) * (look.body_line + look.px(12))

    def _columns(self, look: Look, width: float) -> list[float]:
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

    def lay(self, look: Look, width: float) -> None:
        self._indent = self.indent(look)
        columns = self._columns(look, width - self._indent)
        self._edges = [self._indent]
        for column in columns:
            self._edges.append(self._edges[-1] + column)
        pad, self._pad = look.px(6), look.px(10)
        self._rows: list[tuple[float, float, list[Words]]] = []
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

    def _cell(self, cell: Cell, width: float, index: int, head: bool, look: Look) -> Words:
        text, spans = cell
        ranges, chips = formats(look, spans)
        sides = {"right": Qt.AlignmentFlag.AlignRight, "center": Qt.AlignmentFlag.AlignHCenter}
        side = self.block.align[index] if index < len(self.block.align) else ""
        words = Words(
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
        self, painter: QPainter, y: float, look: Look, selected: tuple[int, int] | None
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


class RuleLeaf(Leaf):
    """A line across."""

    def estimate(self, look: Look, width: float) -> float:
        return look.px(17)

    def lay(self, look: Look, width: float) -> None:
        self._width = width
        self.height = look.px(17)
        self.laid = True

    def paint(
        self, painter: QPainter, y: float, look: Look, selected: tuple[int, int] | None
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


def gap(before: Block | None, block: Block, look: Look) -> float:
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
