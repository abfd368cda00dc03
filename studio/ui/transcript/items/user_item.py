"""User item: a message of the person, with its attachments."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF

from studio.domain.blocks import UserBlock
from studio.domain.messages import File, Image, Text
from studio.ui.markdown.parser import plain
from studio.ui.markdown.spoken import SpokenText
from studio.ui.transcript.text.block_types import Leaf, ParagraphLeaf, gap, leaf
from studio.ui.translation import tr

from . import media_tiles
from .base import Item, ItemContext, PaintPass
from .version_switch import VersionSwitch


class UserItem(Item[UserBlock]):
    """A message of the person, in a bubble at the right, with its attachments."""

    switch: VersionSwitch | None = None

    @property
    def name(self) -> str:
        text = self.spoken().text
        said = ". ".join([*map(media_tiles.described, self.attached), text])
        words = tr("Pinned. You: {text}") if self.block.pinned else tr("You: {text}")
        words = words.format(text=said)
        return f"{words}. {self.switch.spoken()}" if self.switch is not None else words

    def spoken(self) -> SpokenText:
        """The text for screen readers, also where it is not laid out."""
        return SpokenText(plain(self.block.text))

    @property
    def attached(self) -> list[Image | File]:
        return [part for part in self.block.said if isinstance(part, Image | File)]

    def source(self) -> str:
        return self.block.text

    def estimate(self, context: ItemContext) -> float:
        style, lines, pictures, files = context.style, 1.0, 0, 0
        for part in self.block.said:
            if isinstance(part, Text):
                lines += part.text.count("\n") + len(part.text) / 72
            elif isinstance(part, Image):
                pictures += 1
            else:
                files += 1
        height = int(lines) * style.body_line + style.px(18)
        if pictures or files:
            height += style.px(180) * ((pictures + 1) // 2) + style.px(36) * files
        return height

    def lay(self, context: ItemContext) -> None:
        style = context.style
        pad_x, pad_y = style.px(14), style.px(9)
        versions = context.versions(self.block.turn_id, "message")
        self.switch = None
        if versions is not None and not self.block.steered:
            self.switch = VersionSwitch(versions, style)
        pin = style.px(26 if self.block.pinned else 4)
        beside = pin + self.switch.width if self.switch is not None else 0
        most = min(style.px(540), context.width - beside)
        self.leaves, self.places = [], []
        top, room = float(style.px(12)), most - 2 * pad_x
        self._tiles, widest, tall = media_tiles.arrange(self.attached, room, style)
        y = top + tall + style.px(8) if self._tiles else float(pad_y)
        blocks = plain(self.block.text)
        before: Leaf | None = None
        for block in blocks:
            if not block.text and len(blocks) == 1:
                break
            made = leaf(block, context.colours, before)
            y += gap(before.block if before else None, block, style)
            y += self.place(made, QPointF(0, y), context, room)
            wide = float(most)
            if isinstance(made, ParagraphLeaf):
                made.lines.bare = True
                wide = made.lines.width
            widest = max(widest, wide)
            before = made
        if self._tiles and before is None:
            y = top + tall + style.px(12) - pad_y
        inner = min(widest, room)
        left = context.width - inner - pad_x
        self.places = [QPointF(left, at.y()) for at in self.places]
        self._tiles = media_tiles.moved(self._tiles, QPointF(left, top))
        self.hits = media_tiles.hits(self._tiles)
        self._thumbnails = context.thumbnails
        self.height = y + pad_y
        self._bubble = QRectF(left - pad_x, 0, inner + 2 * pad_x, self.height)
        if self.switch is not None:
            self.switch.place(self._bubble.left() - beside, pad_y + style.body_line / 2, style)
            self.hits += self.switch.hits

    def forget(self) -> None:
        for tile in self._tiles:
            if isinstance(tile.part, Image):
                self._thumbnails.forget(tile.part)

    def paint(self, paint: PaintPass, context: ItemContext) -> None:
        context.style.card(paint.painter, self._bubble, "bubble", None, 12)
        if self.switch is not None:
            self.switch.paint(paint, context.style)
        if self.block.pinned:
            style = context.style
            at = QPointF(self._bubble.left() - style.px(14), style.px(19))
            style.icon(paint.painter, at, "pin", "text3", 14)
        media_tiles.paint_tiles(self._tiles, paint, context)
        self.paint_leaves(paint, context)
