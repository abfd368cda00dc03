"""Turn items: notices, retries, errors and the end of a turn."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF

from studio.agent.context.truncation import SHORTENED
from studio.agent.loop.user_messages import INTERRUPTED, describe_end
from studio.domain.blocks import (
    AgentBlock,
    EndBlock,
    FailureBlock,
    NoticeBlock,
    RetryBlock,
    TextBlock,
    ToolBlock,
)
from studio.ui.engine_texts import tr_engine
from studio.ui.transcript import model
from studio.ui.transcript.model import CardAction, ErrorCard, RecoveryAction
from studio.ui.translation import tr_later

from .base import BlockT, Item, ItemContext, PaintPass, button_row, paint_button


class NoteItem(Item[BlockT]):
    """An icon and a line of text."""

    icon = "info"

    def lay(self, context: ItemContext) -> None:
        style = context.style
        self.leaves, self.places = [], []
        left = style.px(24)
        self.height = self.write(self.name, QPointF(left, 0), context, context.width - left)

    def paint(self, paint: PaintPass, context: ItemContext) -> None:
        style = context.style
        style.icon(paint.painter, QPointF(style.px(8), style.px(10)), self.icon, "text3", 14)
        self.paint_leaves(paint, context)


class _WayOnItem(NoteItem[BlockT]):
    """A note with buttons, while nothing has followed it."""

    def ways(self, context: ItemContext) -> Sequence[CardAction]:
        raise NotImplementedError

    def lay(self, context: ItemContext) -> None:
        super().lay(context)
        self.hits = []
        style = context.style
        over = any(isinstance(b, AgentBlock) for b in self.blocks[self.span.last :])
        ways = () if over or context.read_only else self.ways(context)
        if ways:
            top = self.height + style.px(8)
            buttons = [(way, None, "") for way in ways]
            self.hits = button_row(style, 0, top, buttons, context.width)
            self.height = self.hits[-1].rect.bottom()

    def paint(self, paint: PaintPass, context: ItemContext) -> None:
        super().paint(paint, context)
        for hit in self.hits:
            paint_button(hit, paint, context.style)


class NoticeItem(_WayOnItem[NoticeBlock]):
    """A remark of the program; one about a turn that was cut off has a button to go on."""

    @property
    def name(self) -> str:
        return tr_engine(self.block.text)

    def ways(self, context: ItemContext) -> Sequence[CardAction]:
        return (model.continue_turn(),) if self.block.text == INTERRUPTED else ()


class EndItem(_WayOnItem[EndBlock]):
    """How a turn ended, with buttons to go on where it was stopped or ended at a limit."""

    @property
    def icon(self) -> str:  # type: ignore[override]  # depends on the block here
        return "square" if self.block.reason == "cancelled" else "circle-alert"

    @property
    def name(self) -> str:
        return tr_engine(describe_end(self.block.reason, self.block.detail))

    def ways(self, context: ItemContext) -> Sequence[CardAction]:
        return model.end_actions(self.block, context.raised(self.block))


class CardItem(Item[BlockT]):
    """A card with a tile and a title."""

    def head(self, title: str, text: str, left: float, y: float, context: ItemContext) -> float:
        """Lay out the title and a text; returns where they end."""
        px = context.style.px
        width = context.width - left - px(14)
        at = QPointF(left, y - px(1))
        y += self.write(title, at, context, width, "ui_strong", "text1") - px(3)
        return y + self.write(text, QPointF(left, y), context, width, "ui") if text else y

    def paint_card(self, paint: PaintPass, icon: str, tint: str, context: ItemContext) -> None:
        style = context.style
        card = QRectF(0, 0, context.width, self.height)
        style.card(paint.painter, card, "surface", "control", 10)
        tile = QRectF(style.px(14), style.px(13), style.px(28), style.px(28))
        style.tile(paint.painter, tile, icon, *style.tint(tint), 16)
        self.paint_leaves(paint, context)


class FailureItem(CardItem[FailureBlock | EndBlock]):
    """An error in its place, with what to do about it."""

    def card(self, context: ItemContext) -> ErrorCard:
        """What it shows: that the message waits for the network, or what went wrong."""
        block = self.block
        if context.offline and isinstance(block, FailureBlock) and not self._is_over:
            return model.offline_card(block)
        return self._error

    @property
    def _is_over(self) -> bool:
        """Whether another turn or error followed."""
        return any(isinstance(b, AgentBlock | FailureBlock) for b in self.blocks[self.span.last :])

    @property
    def _error(self) -> ErrorCard:
        after = self.blocks[self.span.last :]
        shortened = bool(after) and isinstance(after[0], NoticeBlock) and after[0].text == SHORTENED
        return model.error_card(self.block, shortened, cut_off=self._cut_off)

    @property
    def _cut_off(self) -> bool:
        """Whether a part of the answer came before the error."""
        for block in reversed(self.blocks[: self.span.first]):
            if isinstance(block, AgentBlock):
                return False
            if isinstance(block, TextBlock | ToolBlock):
                return True
        return False

    @property
    def name(self) -> str:
        card = self._error
        end = "" if card.title.endswith(".") else "."
        return f"{card.title}{end} {card.detail}" if card.detail else card.title

    def estimate(self, context: ItemContext) -> float:
        return context.style.px(96)

    def lay(self, context: ItemContext) -> None:
        card, style = self.card(context), context.style
        self.leaves, self.places = [], []
        left, y = style.px(54), style.px(12)
        detail = card.detail.replace("\n", "\u2028")
        y = self.head(card.title, detail, left, y, context)
        y += style.px(7)
        # Only the newest error can still be acted on, and only before the next turn.
        actions = () if self._is_over or context.read_only else card.actions
        buttons = [(action, None, "") for action in actions]
        self.hits = button_row(style, left, y, buttons, context.width - style.px(12))
        if self.hits:
            y = self.hits[-1].rect.bottom() + style.px(5)
        self.height = y + style.px(7)

    def paint(self, paint: PaintPass, context: ItemContext) -> None:
        card, style = self.card(context), context.style
        self.paint_card(paint, card.icon, card.tint, context)
        for hit in self.hits:
            paint_button(hit, paint, style)


_ACTIONS = (
    CardAction(RecoveryAction.TRY_NOW, tr_later("Try now")),
    CardAction(RecoveryAction.SWITCH_MODEL, tr_later("Switch to…")),
    CardAction(RecoveryAction.STOP, tr_later("Stop"), "ghost"),
)


class RetryItem(CardItem[RetryBlock]):
    """Waits that followed each other: the last one counts down, a line is left of all.

    Counts down only a wait that was seen to begin, so never one that was loaded. It stays a
    card until something comes of the attempt: what is above would jump if it shrank with each
    attempt and grew again with each failure.
    """

    @property
    def block(self) -> RetryBlock:
        return self._waits[-1]

    @property
    def _waits(self) -> list[RetryBlock]:
        found = self.blocks[self.span.first : self.span.last]
        return [block for block in found if isinstance(block, RetryBlock)]

    @property
    def name(self) -> str:
        return model.retry_line(self._waits)

    @property
    def animated(self) -> bool:
        return bool(self.hits) and self.block.state == "waiting"

    def estimate(self, context: ItemContext) -> float:
        return context.style.px(109 if self._begun(context) is not None else 20)

    def _begun(self, context: ItemContext) -> float | None:
        """When the wait began, while it or the attempt after it goes on."""
        newest = context.running and self.span.last == len(self.blocks)
        trying = newest and self.block.state == "resumed"
        if self.block.state == "waiting" or trying:
            return context.started.get(id(self.block))
        return None

    def lay(self, context: ItemContext) -> None:
        style = context.style
        self.leaves, self.places, self.hits = [], [], []
        if self._begun(context) is None:
            left = style.px(24)
            self.height = self.write(self.name, QPointF(left, 0), context, context.width - left)
            return
        left, y = style.px(54), float(style.px(12))
        width = context.width - left - style.px(14)
        words, rest = model.split_title(tr_engine(self.block.title))
        y = self.head(words.rstrip("."), rest, left, y, context)
        self._line = QRectF(left, y, width, style.px(20))
        y += style.px(20) + style.px(7)
        self._bar = QRectF(left, y, width, style.px(4))
        y += style.px(4) + style.px(12)
        buttons = [(action, None, "") for action in _ACTIONS]
        hits = button_row(style, left, y, buttons, context.width - style.px(12))
        waiting = self.block.state == "waiting"
        self.hits = hits if waiting else [hit for hit in hits if hit.action == "stop"]
        self.height = hits[-1].rect.bottom() + style.px(12)

    def paint(self, paint: PaintPass, context: ItemContext) -> None:
        style, begun = context.style, self._begun(context)
        if begun is None or not self.hits:
            icon = "square" if self.block.state == "stopped" else "refresh-cw"
            style.icon(paint.painter, QPointF(style.px(8), style.px(10)), icon, "text3", 14)
            self.paint_leaves(paint, context)
            return
        icon, tint, _ = model.failure_style(self.block.fault)
        self.paint_card(paint, icon, tint, context)
        whole = self.block.seconds
        gone = min(whole, context.now() - begun) if self.block.state == "waiting" else whole
        words = model.countdown(self.block, whole - gone)
        style.text(paint.painter, self._line, words, "ui digits", "text2")
        if style.theme.still:
            gone = float(int(gone))  # a step a second, where nothing is to move
        radius = self._bar.height() / 2
        style.card(paint.painter, self._bar, "track", None, radius)
        done = QRectF(self._bar)
        done.setWidth(max(self._bar.height(), self._bar.width() * (gone / whole if whole else 1)))
        style.card(paint.painter, done, "warn", None, radius)
        for hit in self.hits:
            paint_button(hit, paint, style)
