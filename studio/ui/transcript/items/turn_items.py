"""Turn items: the agent above an answer, notices, retries, errors and the end of a turn."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF

from studio.agent.context.truncation import SHORTENED
from studio.agent.loop.user_messages import describe_end
from studio.domain.blocks import (
    AgentBlock,
    EndBlock,
    FailureBlock,
    NoticeBlock,
    RetryBlock,
    SummaryBlock,
)
from studio.ui.markdown.parser import Block
from studio.ui.transcript import model
from studio.ui.transcript.model import CardAction, ErrorCard, RecoveryAction
from studio.ui.transcript.text.block_types import ParagraphLeaf

from .base import Item, ItemContext, PaintPass
from .buttons import button_row, paint_button


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
            ()
            if over or context.read_only
            else model.end_actions(block, context.raised(block.reason))
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


_ACTIONS = (
    CardAction(RecoveryAction.TRY_NOW, "Try now"),
    CardAction(RecoveryAction.SWITCH_MODEL, "Switch to…"),
    CardAction(RecoveryAction.STOP, "Stop", "ghost"),
)


class RetryItem(Item):
    """Counts down only a wait that was seen to begin, so never one that was loaded.

    It stays a card until something comes of the attempt: what is above would
    jump if it shrank with each attempt and grew again with each failure.
    """

    @property
    def retry(self) -> RetryBlock:
        block = self.block
        assert isinstance(block, RetryBlock)
        return block

    @property
    def name(self) -> str:
        return model.retry_line(self.retry)

    @property
    def animated(self) -> bool:
        return bool(self.hits) and self.retry.state == "waiting"

    def estimate(self, context: ItemContext) -> float:
        return context.look.px(109 if self._begun(context) is not None else 20)

    def _begun(self, context: ItemContext) -> float | None:
        """When the wait began, while it or the attempt after it goes on."""
        newest = context.running and self.plan.last == len(self.blocks)
        trying = newest and self.retry.state == "resumed"
        if self.retry.state == "waiting" or trying:
            return context.started.get(id(self.block))
        return None

    def lay(self, context: ItemContext) -> None:
        look = context.look
        self.leaves, self.places, self.hits = [], [], []
        if self._begun(context) is None:
            left = look.px(24)
            leaf = ParagraphLeaf(Block("paragraph", self.name), "small", "text2")
            self.height = self.place(leaf, QPointF(left, 0), context, context.width - left)
            return
        left, y = look.px(54), float(look.px(12))
        width = context.width - left - look.px(14)
        words, rest = model.split_title(self.retry.title)
        title = ParagraphLeaf(Block("paragraph", words.rstrip(".")), "ui_strong")
        y += self.place(title, QPointF(left, y - look.px(1)), context, width) - look.px(3)
        if rest:
            told = ParagraphLeaf(Block("paragraph", rest), "ui", "text2")
            y += self.place(told, QPointF(left, y), context, width)
        self._line = QRectF(left, y, width, look.px(20))
        y += look.px(20) + look.px(7)
        self._bar = QRectF(left, y, width, look.px(4))
        y += look.px(4) + look.px(12)
        hits = button_row(look, left, y, [(action, None, "") for action in _ACTIONS])
        waiting = self.retry.state == "waiting"
        self.hits = hits if waiting else [hit for hit in hits if hit.action == "stop"]
        self.height = y + look.theme.height(28) + look.px(12)

    def paint(self, paint: PaintPass, context: ItemContext) -> None:
        look, begun = context.look, self._begun(context)
        if begun is None or not self.hits:
            icon = "square" if self.retry.state == "stopped" else "refresh-cw"
            look.icon(paint.painter, QPointF(look.px(8), look.px(10)), icon, "text3", 14)
            self.paint_leaves(paint, context)
            return
        look.card(paint.painter, QRectF(0, 0, context.width, self.height), "surface", "control", 10)
        icon, tint, _ = model.failure_style(self.retry.fault)
        side = look.px(28)
        tile = QRectF(look.px(14), look.px(13), side, side)
        look.tile(paint.painter, tile, icon, *look.tint(tint), 16)
        self.paint_leaves(paint, context)
        whole = self.retry.seconds
        gone = min(whole, context.now() - begun) if self.retry.state == "waiting" else whole
        words = model.countdown(self.retry, whole - gone)
        look.text(paint.painter, self._line, words, "ui digits", "text2")
        if look.theme.still:
            gone = float(int(gone))  # a step a second, where nothing is to move
        radius = self._bar.height() / 2
        look.card(paint.painter, self._bar, "track", None, radius)
        done = QRectF(self._bar)
        done.setWidth(max(self._bar.height(), self._bar.width() * (gone / whole if whole else 1)))
        look.card(paint.painter, done, "warn", None, radius)
        for hit in self.hits:
            paint_button(hit, paint, look)
