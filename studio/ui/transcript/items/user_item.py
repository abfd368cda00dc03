"""User item: a message of the person in a bubble, with what was attached."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF

from studio.domain.blocks import UserBlock
from studio.domain.messages import File, Image
from studio.ui.markdown.parser import plain
from studio.ui.transcript.text.block_types import Leaf, ParagraphLeaf, gap, leaf

from . import media_tiles
from .base import Item, ItemContext, PaintPass


class UserItem(Item):
    """What the person said, in a bubble at the right."""

    @property
    def user_block(self) -> UserBlock:
        block = self.block
        assert isinstance(block, UserBlock)
        return block

    @property
    def name(self) -> str:
        pinned = "Pinned. " if self.user_block.pinned else ""
        return f"{pinned}You: " + ". ".join(
            [*map(media_tiles.described, self.attached), self.source()]
        )

    @property
    def attached(self) -> list[Image | File]:
        return [part for part in self.user_block.said if isinstance(part, Image | File)]

    def source(self) -> str:
        return self.user_block.text

    def estimate(self, context: ItemContext) -> float:
        text, look = self.source(), context.look
        lines = text.count("\n") + len(text) / 72 + 1
        pictures = sum(isinstance(part, Image) for part in self.attached)
        above = look.px(180) * ((pictures + 1) // 2)
        above += look.px(36) * (len(self.attached) - pictures)
        return above + int(lines) * look.body_line + look.px(18)

    def lay(self, context: ItemContext) -> None:
        look = context.look
        pad_x, pad_y = look.px(14), look.px(9)
        most = min(look.px(540), context.width)
        self.leaves, self.places = [], []
        top, room = float(look.px(12)), most - 2 * pad_x
        self._tiles, widest, tall = media_tiles.arrange(self.attached, room, look)
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
        self._tiles = media_tiles.moved(self._tiles, QPointF(left, top))
        self.hits = media_tiles.hits(self._tiles)
        self._thumbnails = context.thumbnails
        self.height = y + pad_y
        self._bubble = QRectF(left - pad_x, 0, inner + 2 * pad_x, self.height)

    def forget(self) -> None:
        for tile in self._tiles:
            if isinstance(tile.part, Image):
                self._thumbnails.forget(tile.part)

    def paint(self, paint: PaintPass, context: ItemContext) -> None:
        context.look.card(paint.painter, self._bubble, "bubble", None, 12)
        if self.user_block.pinned:
            look = context.look
            at = QPointF(self._bubble.left() - look.px(14), look.px(19))
            look.icon(paint.painter, at, "pin", "text3", 14)
        media_tiles.paint_tiles(self._tiles, paint, context)
        self.paint_leaves(paint, context)
