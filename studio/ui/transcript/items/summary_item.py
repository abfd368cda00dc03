"""Summary item: a row where earlier messages were summed up, to be read, edited and undone."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF

from studio.domain.blocks import SummaryBlock
from studio.ui.formatting import short_count
from studio.ui.markdown.parser import plain
from studio.ui.theme import joined
from studio.ui.transcript.model import CardAction
from studio.ui.transcript.text.block_types import leaf
from studio.ui.translation import tr, tr_later

from .base import Hit, Item, ItemContext, PaintPass, button_row, button_width

EDITING = {"edit_summary": "edit", "undo_summary": "undo"}
"""What the buttons do, by their action."""
ENDED = {
    "holds": "",
    "undone": tr_later("Undone"),
    "replaced": tr_later("Replaced by a later summary"),
}


def summary_title(block: SummaryBlock) -> str:
    words = tr("Earlier messages were summed up for the model")
    if not block.before:
        return words
    sizes = tr("{before} → {after} tokens").format(
        before=short_count(block.before), after=short_count(block.after)
    )
    return f"{words}, {sizes}"


class SummaryItem(Item[SummaryBlock]):
    """The row; opened it shows the summary."""

    @property
    def name(self) -> str:
        return joined((summary_title(self.block), tr(ENDED[self.block.state]).lower()))

    def source(self) -> str:
        return f"{summary_title(self.block)}\n\n{self.block.text}"

    def disabled_reason(self, hit: Hit, context: ItemContext) -> str:
        if hit.action in EDITING and context.running:
            return tr("Wait until the turn ends, or stop it first.")
        return ""

    def lay(self, context: ItemContext) -> None:
        style, block = context.style, self.block
        self.leaves, self.places, self.hits = [], [], []
        left, right = style.px(24), context.width
        opened = id(block) in context.opened
        words, ended = summary_title(block), tr(ENDED[block.state])
        if ended:
            words = f"{words}. {ended}."
        buttons = [CardAction("toggle", tr("Hide") if opened else tr("Show"), "ghost")]
        if block.state == "holds" and not context.read_only:
            buttons += [
                CardAction("edit_summary", tr("Edit…"), "ghost"),
                CardAction("undo_summary", tr("Undo"), "ghost"),
            ]
        room = sum(button_width(style, action.text) + style.px(8) for action in buttons)
        beside = style.width("small", words) <= right - left - room
        head = style.theme.height(28)
        tall = self.write(words, QPointF(left, 0), context, right - left - (room if beside else 0))
        if beside:
            self.places[0] = QPointF(left, (head - tall) / 2)
        x, y = (right - room, 0.0) if beside else (left - style.px(12), tall)
        self.hits = button_row(style, x, y, [(each, _value(each, block), "") for each in buttons])
        y = head if beside else y + head
        self._box = QRectF()
        if opened:
            top, y = y + style.px(4), y + style.px(14)
            for each in plain(block.text):
                made = leaf(each, context.colours, None)
                y += self.place(
                    made, QPointF(left + style.px(12), y), context, right - left - style.px(24)
                ) + style.px(4)
            y += style.px(6)
            self._box = QRectF(left, top, right - left, y - top)
        self.height = y

    def paint(self, paint: PaintPass, context: ItemContext) -> None:
        style = context.style
        middle = style.theme.height(28) / 2
        style.icon(paint.painter, QPointF(style.px(8), middle), "layers", "text3", 14)
        if not self._box.isEmpty():
            style.card(paint.painter, self._box, None, "hair", 8)
        self.paint_leaves(paint, context)
        for hit in self.hits:
            self.paint_action(hit, paint, context)


def _value(action: CardAction, block: SummaryBlock) -> object:
    return id(block) if action.name == "toggle" else block.summary_id
