"""Items that are mostly text: the person's bubble, the answer, the reasoning."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF

from studio.domain.messages import File, Image
from studio.domain.transcript import ReasoningBlock, TextBlock, UserBlock
from studio.ui.markdown import Block, plain
from studio.ui.markdown_stream import MarkdownStream

from . import model
from .buttons import paint_button
from .heights import Heights
from .items import END, START, Caret, Context, Hit, Item, Paint, Range
from .look import LEFT
from .text import CodeLeaf, Leaf, ParagraphLeaf, gap, leaf

FRAME = 3000
"""Characters taken from a growing text in one frame."""


class TextItem(Item):
    """An answer in markdown. Only what is near the window is laid out."""

    text_like = True

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]  # same as Item
        self.stream: MarkdownStream | None = None
        self.taken = 0
        """Characters of the source that are shown."""
        self.settled = 0
        """Leaves before this one stayed as they were in the last frame."""
        self._heights = Heights()
        self._gaps: list[float] = []
        self._width = 0.0

    @property
    def text_block(self) -> TextBlock:
        block = self.block
        assert isinstance(block, TextBlock)
        return block

    @property
    def name(self) -> str:
        return self.text_block.text

    @property
    def behind(self) -> bool:
        """Whether there is more to take than one frame had room for."""
        return self.stream is not None and self.taken < len(self.text_block.text)

    def source(self) -> str:
        return self.text_block.text.strip("\n")

    def estimate(self, context: Context) -> float:
        text = self.text_block.text
        lines = text.count("\n") * 0.6 + len(text) / 92 + 1
        return int(lines) * context.look.body_line

    def refresh(self, context: Context) -> None:
        if self.stream is not None:
            self._take(context, FRAME)

    def lay(self, context: Context) -> None:
        if self.stream is None:
            self.stream = MarkdownStream()
            self._take(context, len(self.text_block.text))
        elif self._width != context.width or len(self.leaves) != len(self.stream.blocks):
            self._rebuild(0, context)
        self._width = context.width

    def _take(self, context: Context, most: int) -> None:
        """Read on in the source and replace the leaves that changed."""
        assert self.stream is not None
        text = self.text_block.text
        self.taken = min(len(text), self.taken + most)
        self._rebuild(self.stream.update(text[: self.taken]), context)
        self._width = context.width

    def _rebuild(self, first: int, context: Context) -> None:
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

    def show(self, context: Context, top: float, bottom: float) -> float:
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

    def recolour(self, context: Context) -> None:
        """Lay out again what was laid out before colours could be had."""
        for made in self.leaves:
            if isinstance(made, CodeLeaf) and made.laid and not made.coloured:
                made.lay(context.look, context.width)

    def forget(self) -> None:
        """Drop what was parsed, too: for a text that is far off and finished."""
        if not self.text_block.live:
            height = self.height
            self.stream, self.leaves, self._gaps, self.taken = None, [], [], 0
            self._heights = Heights()
            self.laid, self.height = False, height

    def leaf_top(self, index: int) -> float:
        return self._heights.above(index) + self._gaps[index]

    def leaf_at(self, y: float) -> int:
        return self._heights.find(y)

    def visible(self, top: float, bottom: float) -> range:
        if not self.leaves:
            return range(0)
        return range(self._heights.find(top), self._heights.find(bottom) + 1)

    def paint(self, paint: Paint, context: Context) -> None:
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
        if self.text_block.live and self.leaves and self.leaves[-1].laid:
            at = self.leaves[-1].cursor()
            if at is not None:
                tall = look.px(17)
                y = self.leaf_top(len(self.leaves) - 1) + at.y() - tall / 2
                paint.painter.fillRect(
                    QRectF(round(at.x()) + 1, round(y), 3, tall), look.color("accent_text")
                )

    def hit(self, x: float, y: float, context: Context) -> Hit | None:
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

    def words(self, selected: Range) -> str:
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

    def _is_whole(self, index: int, selected: Range) -> bool:
        return self.piece(index, selected) == (0, self.leaves[index].length)


class UserItem(Item):
    """What the person said, in a bubble at the right."""

    text_like = True

    @property
    def user_block(self) -> UserBlock:
        block = self.block
        assert isinstance(block, UserBlock)
        return block

    @property
    def name(self) -> str:
        return "You: " + self.source()

    def source(self) -> str:
        return self.user_block.text

    def _attachments(self) -> list[str]:
        out: list[str] = []
        for part in self.user_block.said:
            if isinstance(part, File):
                out.append(part.name)
            elif isinstance(part, Image):
                out.append(f"Picture, {max(1, len(part.data) // 1024)} KB")
        return out

    def estimate(self, context: Context) -> float:
        text = self.source()
        lines = text.count("\n") + len(text) / 72 + 1
        return int(lines) * context.look.body_line + context.look.px(18)

    def lay(self, context: Context) -> None:
        look = context.look
        pad_x, pad_y = look.px(14), look.px(9)
        most = min(look.px(540), context.width)
        self.leaves, self.places = [], []
        y, widest = float(pad_y), 0.0
        blocks = plain(self.user_block.text)
        before: Leaf | None = None
        for block in blocks:
            if not block.text and len(blocks) == 1:
                break
            made = leaf(block, context.colours, before)
            y += gap(before.block if before else None, block, look)
            y += self.place(made, QPointF(0, y), context, most - 2 * pad_x)
            wide = float(most)
            if isinstance(made, ParagraphLeaf):
                made.words.bare = True
                wide = made.words.width
            widest = max(widest, wide)
            before = made
        self._files: list[tuple[str, QRectF]] = []
        for text in self._attachments():
            y += look.px(4) if before or self._files else 0
            width = min(most - 2 * pad_x, look.width("small", text) + look.px(24))
            self._files.append((text, QRectF(0, y, width, look.px(22))))
            widest = max(widest, width)
            y += look.px(22)
        inner = min(widest, most - 2 * pad_x)
        left = context.width - inner - pad_x
        self.places = [QPointF(left, at.y()) for at in self.places]
        self._files = [(text, rect.translated(left, 0)) for text, rect in self._files]
        self.height = y + pad_y
        self._bubble = QRectF(left - pad_x, 0, inner + 2 * pad_x, self.height)

    def paint(self, paint: Paint, context: Context) -> None:
        look = context.look
        look.card(paint.painter, self._bubble, "bubble", None, 12)
        self.paint_leaves(paint, context)
        for text, rect in self._files:
            look.icon(
                paint.painter, QPointF(rect.left() + look.px(8), rect.center().y()), "paperclip",
                "text2", 14,
            )  # fmt: skip
            look.text(paint.painter, rect.adjusted(look.px(22), 0, 0, 0), text, "small", "text2")


class ReasoningItem(Item):
    """“Thinking… 4 s”, then “Thought for 4 s”; the thoughts when opened."""

    text_like = True

    @property
    def thought(self) -> ReasoningBlock:
        block = self.block
        assert isinstance(block, ReasoningBlock)
        return block

    @property
    def animated(self) -> bool:
        return self.thought.live

    def title(self, context: Context) -> str:
        block = self.thought
        if block.live:
            begun = context.started.get(id(block), context.now())
            return f"Thinking… {int(context.now() - begun)} s"
        if block.seconds is None:
            return "Thought"
        return f"Thought for {model.whole_seconds(block.seconds)}"

    @property
    def name(self) -> str:
        block = self.thought
        if block.live:
            return "Thinking"
        seconds = block.seconds
        return f"Thought for {model.whole_seconds(seconds)}" if seconds is not None else "Thought"

    def source(self) -> str:
        return self.thought.text.strip()

    def estimate(self, context: Context) -> float:
        return context.look.px(24)

    def lay(self, context: Context) -> None:
        block, look = self.thought, context.look
        if block.live:
            context.started.setdefault(id(block), context.now())
        self.leaves, self.places = [], []
        row = look.px(24)
        self.height = row
        text = block.text.strip()
        width = look.px(24) + look.width("ui", self.title(context)) + look.px(28)
        self.hits = [Hit(QRectF(0, 0, width, row), "toggle", id(block), self.name)]
        if id(block) in context.opened and text:
            left, y = look.px(24), row + look.px(8)
            for paragraph in text.split("\n\n"):
                words = Block("paragraph", paragraph.strip("\n").replace("\n", "\u2028"))
                made = ParagraphLeaf(words, "ui", "text2")
                at = QPointF(left, y)
                y += self.place(made, at, context, context.width - left) + look.px(8)
            self.height = y - look.px(8)

    def paint(self, paint: Paint, context: Context) -> None:
        block, look = self.thought, context.look
        row = self.hits[0].rect
        over = self.hits[0].same(paint.hover)
        color = "text1" if over else "text2"
        look.icon(paint.painter, QPointF(look.px(8), row.center().y()), "brain", color, 16)
        line = row.adjusted(look.px(24), 0, look.px(60), 0)
        width = look.text(paint.painter, line, self.title(context), "ui", color, LEFT)
        opened = id(block) in context.opened
        look.icon(
            paint.painter,
            QPointF(line.left() + width + look.px(13), row.center().y()),
            "chevron-down" if opened else "chevron-right",
            color,
            14,
        )
        if self.leaves:
            top = self.places[0].y()
            paint.painter.fillRect(
                QRectF(look.px(7), top, 2, self.height - top), look.color("hair")
            )
            self.paint_leaves(paint, context)
        if self.hits[0].same(paint.focus):
            look.focus_ring(paint.painter, row, 6)
