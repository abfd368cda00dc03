"""What the person said, in a bubble, and what the model thought."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF

from studio.domain.blocks import ReasoningBlock, UserBlock
from studio.domain.messages import File, Image
from studio.ui.markdown import Block, plain

from . import enclosed, model
from .items import Context, Hit, Item, Paint
from .look import LEFT
from .text import Leaf, ParagraphLeaf, gap, leaf


class UserItem(Item):
    """What the person said, in a bubble at the right."""

    @property
    def user_block(self) -> UserBlock:
        block = self.block
        assert isinstance(block, UserBlock)
        return block

    @property
    def name(self) -> str:
        return "You: " + ". ".join([*map(enclosed.described, self.attached), self.source()])

    @property
    def attached(self) -> list[Image | File]:
        return [part for part in self.user_block.said if isinstance(part, Image | File)]

    def source(self) -> str:
        return self.user_block.text

    def estimate(self, context: Context) -> float:
        text, look = self.source(), context.look
        lines = text.count("\n") + len(text) / 72 + 1
        pictures = sum(isinstance(part, Image) for part in self.attached)
        above = look.px(180) * ((pictures + 1) // 2)
        above += look.px(36) * (len(self.attached) - pictures)
        return above + int(lines) * look.body_line + look.px(18)

    def lay(self, context: Context) -> None:
        look = context.look
        pad_x, pad_y = look.px(14), look.px(9)
        most = min(look.px(540), context.width)
        self.leaves, self.places = [], []
        top, room = float(look.px(12)), most - 2 * pad_x
        self._tiles, widest, tall = enclosed.arrange(self.attached, room, look)
        y = top + tall + look.px(8) if self._tiles else float(pad_y)
        blocks = plain(self.user_block.text)
        before: Leaf | None = None
        for block in blocks:
            if not block.text and len(blocks) == 1:
                break
            made = leaf(block, context.colours, before)
            y += gap(before.block if before else None, block, look)
            y += self.place(made, QPointF(0, y), context, room)
            wide = float(most)
            if isinstance(made, ParagraphLeaf):
                made.words.bare = True
                wide = made.words.width
            widest = max(widest, wide)
            before = made
        if self._tiles and before is None:
            y = top + tall + look.px(12) - pad_y
        inner = min(widest, room)
        left = context.width - inner - pad_x
        self.places = [QPointF(left, at.y()) for at in self.places]
        self._tiles = enclosed.moved(self._tiles, QPointF(left, top))
        self.hits = enclosed.hits(self._tiles)
        self._thumbnails = context.thumbnails
        self.height = y + pad_y
        self._bubble = QRectF(left - pad_x, 0, inner + 2 * pad_x, self.height)

    def drop(self) -> None:
        if self.laid:
            for tile in self._tiles:
                if isinstance(tile.part, Image):
                    self._thumbnails.forget(tile.part)
        super().drop()

    def paint(self, paint: Paint, context: Context) -> None:
        context.look.card(paint.painter, self._bubble, "bubble", None, 12)
        enclosed.paint_tiles(self._tiles, paint, context)
        self.paint_leaves(paint, context)


class ReasoningItem(Item):
    """“Thinking… 4 s”, then “Thought for 4 s”; the thoughts when opened."""

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
