"""Simple items: the line above an answer, remarks, ends, errors."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF

from studio.agent.context import SHORTENED
from studio.agent.endings import describe_end
from studio.domain.blocks import (
    AgentBlock,
    EndBlock,
    FailureBlock,
    NoticeBlock,
    SummaryBlock,
)
from studio.ui.markdown import Block

from . import model
from .buttons import button_row, paint_button
from .items import ItemContext, Item, PaintPass
from .model import ErrorCard
from .text import ParagraphLeaf


class AgentItem(Item):
    """The line above an answer: tile, name, model."""

    @property
    def name(self) -> str:
        block = self.block
        assert isinstance(block, AgentBlock)
        return f"{block.agent}, {block.model}" if block.model else block.agent

    def estimate(self, context: ItemContext) -> float:
        return context.look.px(24)

    def lay(self, context: ItemContext) -> None:
        self.height = context.look.px(24)

    def paint(self, paint: PaintPass, context: ItemContext) -> None:
        block, look = self.block, context.look
        assert isinstance(block, AgentBlock)
        icon, hue = context.agent(block.agent)
        front, back = look.theme.hue(hue)
        side = look.px(24)
        tile = QRectF(-look.px(36), 0, side, side)
        look.tile(paint.painter, tile, icon, front, back, 14)
        line = QRectF(0, 0, context.width, self.height)
        width = look.text(paint.painter, line, block.agent, "body_strong")
        rest = line.adjusted(width + look.px(10), 0, 0, 0)
        look.text(paint.painter, rest, context.model(block.provider, block.model), "small", "text2")


class NoticeItem(Item):
    """A remark of the program."""

    icon = "info"

    @property
    def name(self) -> str:
        block = self.block
        assert isinstance(block, NoticeBlock | SummaryBlock)
        return block.text

    def lay(self, context: ItemContext) -> None:
        look = context.look
        self.leaves, self.places = [], []
        leaf = ParagraphLeaf(Block("paragraph", self.name), "small", "text2")
        left = look.px(24)
        self.height = self.place(leaf, QPointF(left, 0), context, context.width - left)

    def paint(self, paint: PaintPass, context: ItemContext) -> None:
        look = context.look
        look.icon(paint.painter, QPointF(look.px(8), look.px(10)), self.icon, "text3", 14)
        self.paint_leaves(paint, context)


class EndItem(NoticeItem):
    """How a turn ended; one that met a limit can go on."""

    @property
    def icon(self) -> str:  # type: ignore[override]  # depends on the block here
        block = self.block
        assert isinstance(block, EndBlock)
        return "square" if block.reason == "cancelled" else "circle-alert"

    @property
    def name(self) -> str:
        block = self.block
        assert isinstance(block, EndBlock)
        return describe_end(block.reason, block.detail)

    def lay(self, context: ItemContext) -> None:
        super().lay(context)
        self.hits = []
        block, look = self.block, context.look
        assert isinstance(block, EndBlock)
        over = any(isinstance(b, AgentBlock) for b in self.blocks[self.plan.last :])
        ways = (
            () if over or context.read_only else model.end_actions(block, context.raised(block.reason))
        )
        if ways:
            top = self.height + look.px(8)
            self.hits = button_row(look, 0, top, [(way, None, "") for way in ways])
            self.height = top + look.theme.height(28)

    def paint(self, paint: PaintPass, context: ItemContext) -> None:
        super().paint(paint, context)
        for hit in self.hits:
            paint_button(hit, paint, context.look)


class FailureItem(Item):
    """An error in its place, with what to do about it."""

    @property
    def card(self) -> ErrorCard:
        block = self.block
        assert isinstance(block, FailureBlock | EndBlock)
        after = self.blocks[self.plan.last :]
        shortened = bool(after) and isinstance(after[0], NoticeBlock) and after[0].text == SHORTENED
        return model.error_card(block, shortened)

    @property
    def name(self) -> str:
        card = self.card
        end = "" if card.title.endswith(".") else "."
        return f"{card.title}{end} {card.detail}" if card.detail else card.title

    def estimate(self, context: ItemContext) -> float:
        return context.look.px(96)

    def lay(self, context: ItemContext) -> None:
        card, look = self.card, context.look
        self.leaves, self.places = [], []
        left, y = look.px(54), look.px(12)
        width = context.width - left - look.px(14)
        title = ParagraphLeaf(Block("paragraph", card.title), "ui_strong")
        y += self.place(title, QPointF(left, y - look.px(1)), context, width) - look.px(3)
        if card.detail:
            detail = ParagraphLeaf(
                Block("paragraph", card.detail.replace("\n", "\u2028")), "ui", "text2"
            )
            y += self.place(detail, QPointF(left, y), context, width)
        y += look.px(7)
        # Only the newest error can still be acted on, and only before the next turn.
        over = any(isinstance(b, AgentBlock | FailureBlock) for b in self.blocks[self.plan.last :])
        actions = () if over or context.read_only else card.actions
        self.hits = button_row(look, left, y, [(action, None, "") for action in actions])
        if self.hits:
            y += look.theme.height(28) + look.px(5)
        self.height = y + look.px(7)

    def paint(self, paint: PaintPass, context: ItemContext) -> None:
        card, look = self.card, context.look
        look.card(paint.painter, QRectF(0, 0, context.width, self.height), "surface", "control", 10)
        side = look.px(28)
        tile = QRectF(look.px(14), look.px(13), side, side)
        look.tile(paint.painter, tile, card.icon, *look.tint(card.tint), 16)
        self.paint_leaves(paint, context)
        for hit in self.hits:
            paint_button(hit, paint, look)
