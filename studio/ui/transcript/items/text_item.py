"""Text item: an answer in markdown, laid out again while it grows."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF

from studio.domain.blocks import TextBlock
from studio.ui.markdown.stream import MarkdownStream
from studio.ui.transcript.height_index import HeightIndex
from studio.ui.transcript.text.block_types import CodeLeaf, gap, leaf

from .base import END, START, Caret, Hit, Item, ItemContext, PaintPass, TextRange
from .buttons import paint_button

FRAME = 3000
"""Characters taken from a growing text in one frame."""


class TextItem(Item):
    """An answer in markdown. Only what is near the window is laid out."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]  # same as Item
        self.stream: MarkdownStream | None = None
        self.taken = 0
        """Characters of the source that are shown."""
        self.settled = 0
        """Leaves before this one stayed as they were in the last frame."""
        self._heights = HeightIndex()
        self._gaps: list[float] = []
        self._width = 0.0

    @property
    def text_block(self) -> TextBlock:
        block = self.block
        assert isinstance(block, TextBlock)
        return block

    @property
    def name(self) -> str:
        pinned = "Pinned. " if self.text_block.pinned else ""
        return f"{pinned}{self.text_block.text}"

    @property
    def behind(self) -> bool:
        """Whether there is more to take than one frame had room for."""
        return self.stream is not None and self.taken < len(self.text_block.text)

    def source(self) -> str:
        return self.text_block.text.strip("\n")

    def estimate(self, context: ItemContext) -> float:
        text = self.text_block.text
        lines = text.count("\n") * 0.6 + len(text) / 92 + 1
        return int(lines) * context.look.body_line

    def refresh(self, context: ItemContext) -> None:
        if self.stream is not None:
            self._take(context, FRAME)

    def lay(self, context: ItemContext) -> None:
        if self.stream is None:
            self.stream = MarkdownStream()
            self._take(context, len(self.text_block.text))
        elif self._width != context.width or len(self.leaves) != len(self.stream.blocks):
            self._rebuild(0, context)
        self._width = context.width

    def _take(self, context: ItemContext, most: int) -> None:
        """Read on in the source and replace the leaves that changed."""
        assert self.stream is not None
        text = self.text_block.text
        self.taken = min(len(text), self.taken + most)
        self._rebuild(self.stream.update(text[: self.taken]), context)
        self._width = context.width

    def _rebuild(self, first: int, context: ItemContext) -> None:
        assert self.stream is not None
        first = self.settled = min(first, len(self.leaves))
        blocks, look = self.stream.blocks, context.look
        if first == 0:
            self._gaps = []
        del self.leaves[first:], self._gaps[first:]
        tall: list[float] = []
        for index in range(first, len(blocks)):
            before = self.leaves[index - 1] if index else None
            made = leaf(blocks[index], context.colours, before)
            self.leaves.append(made)
            above = gap(before.block if before else None, made.block, look)
            self._gaps.append(above)
            tall.append(above + made.estimate(look, context.width))
        self._heights.splice(first, len(self._heights), tall)
        self.height = self._heights.total

    def show(self, context: ItemContext, top: float, bottom: float) -> float:
        if not self.laid or self.stream is None:
            self.lay(context)
            self.laid = True
        index, moved = self._heights.find(top), 0.0
        y = self._heights.above(index)
        while index < len(self.leaves) and y < bottom:
            made = self.leaves[index]
            if not made.laid:
                made.lay(context.look, context.width)
                context.layouts += 1
                change = self._heights.set(index, self._gaps[index] + made.height)
                if y < top:
                    moved += change
            y += self._heights[index]
            index += 1
        self.height = self._heights.total
        return moved

    def drop(self) -> None:
        for made in self.leaves:
            if made.laid:
                made.drop()

    def outdate(self) -> None:
        """Width or fonts have changed: heights of leaves are guesses again."""
        self._width, self.laid = 0.0, False

    def recolour(self, context: ItemContext) -> None:
        """Lay out again what was laid out before colours could be had."""
        for made in self.leaves:
            if isinstance(made, CodeLeaf) and made.laid and not made.coloured:
                made.lay(context.look, context.width)

    def forget(self) -> None:
        """Drop what was parsed, too: for a text that is far off and finished."""
        if not self.text_block.live:
            height = self.height
            self.stream, self.leaves, self._gaps, self.taken = None, [], [], 0
            self._heights = HeightIndex()
            self.laid, self.height = False, height

    def leaf_top(self, index: int) -> float:
        return self._heights.above(index) + self._gaps[index]

    def leaf_at(self, y: float) -> int:
        return self._heights.find(y)

    def visible(self, top: float, bottom: float) -> range:
        if not self.leaves:
            return range(0)
        return range(self._heights.find(top), self._heights.find(bottom) + 1)

    def paint(self, paint: PaintPass, context: ItemContext) -> None:
        look = context.look
        for index in self.visible(paint.top, paint.bottom):
            made = self.leaves[index]
            if not made.laid:
                continue
            y = self.leaf_top(index)
            made.paint(paint.painter, y, look, self.piece(index, paint.selected))
            if isinstance(made, CodeLeaf) and made.block.part == 0:
                hit = Hit(made.copy_rect(y, look), "copy_code", index, "Copy", "icon", "copy")
                paint_button(hit, paint, look)
        if self.text_block.pinned:
            look.icon(paint.painter, QPointF(-look.px(24), look.px(11)), "pin", "text3", 14)
        if self.text_block.live and self.leaves and self.leaves[-1].laid:
            at = self.leaves[-1].cursor()
            if at is not None:
                tall = look.px(17)
                y = self.leaf_top(len(self.leaves) - 1) + at.y() - tall / 2
                paint.painter.fillRect(
                    QRectF(round(at.x()) + 1, round(y), 3, tall), look.color("accent_text")
                )

    def hit(self, x: float, y: float, context: ItemContext) -> Hit | None:
        """The copy button of a code block at a point."""
        if not self.leaves:
            return None
        index = self.leaf_at(y)
        made = self.leaves[index]
        if isinstance(made, CodeLeaf) and made.laid and made.block.part == 0:
            rect = made.copy_rect(self.leaf_top(index), context.look)
            if rect.contains(x, y):
                return Hit(rect, "copy_code", index, "Copy", "icon", "copy")
        return None

    def code(self, index: int) -> str:
        """The whole fence that begins at a leaf."""
        parts: list[str] = []
        for made in self.leaves[index:]:
            parts.append(made.block.text)
            if made.block.final:
                break
        return "\n".join(parts)

    # -- text --------------------------------------------------------------------

    def caret(self, x: float, y: float) -> Caret:
        if not self.leaves:
            return START
        index = self.leaf_at(y)
        made = self.leaves[index]
        if not made.laid:
            return index, 0
        return index, made.position(x, y - self.leaf_top(index))

    def url(self, x: float, y: float) -> str:
        if not self.leaves:
            return ""
        index = self.leaf_at(y)
        made = self.leaves[index]
        return made.url(x, y - self.leaf_top(index)) if made.laid else ""

    def over_text(self, x: float, y: float) -> bool:
        return 0 <= y < self.height

    def words(self, selected: TextRange) -> str:
        """Blocks selected whole are copied as they were written, others as they read."""
        if selected == (START, END) or not self.leaves:
            return self.source()
        text = self.text_block.text
        out: list[str] = []
        low, high = max(0, selected[0][0]), min(len(self.leaves) - 1, selected[1][0])
        index = low
        while index <= high:
            piece = self.piece(index, selected)
            last = index
            while last < high and self._is_whole(last, selected):
                last += 1
            if last > index or self._is_whole(index, selected):
                if not self._is_whole(last, selected):
                    last -= 1
                block = self.leaves[index].block
                ends = max(made.block.end for made in self.leaves[index : last + 1])
                if self.leaves[last].block.final and block.part == 0 and low < high:
                    line = text.rfind("\n", 0, block.start) + 1
                    start = line if not text[line : block.start].strip() else block.start
                    out.append(text[start:ends].rstrip("\n"))
                else:
                    out += [made.cut(0, made.length) for made in self.leaves[index : last + 1]]
                index = last + 1
                continue
            if piece is not None and piece[0] < piece[1]:
                out.append(self.leaves[index].cut(*piece).replace("\u2028", "\n"))
            index += 1
        return "\n\n".join(out) if len(out) > 1 else "".join(out)

    def _is_whole(self, index: int, selected: TextRange) -> bool:
        return self.piece(index, selected) == (0, self.leaves[index].length)
