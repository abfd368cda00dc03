"""Summary item: a row where earlier messages were summed up, to be read, edited and undone."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF

from studio.domain.blocks import SummaryBlock
from studio.ui.formatting import short_count
from studio.ui.markdown.parser import Block, plain
from studio.ui.transcript.model import CardAction
from studio.ui.transcript.text.block_types import ParagraphLeaf, leaf

from .base import Hit, Item, ItemContext, PaintPass
from .buttons import button_row, button_width, paint_button

EDITING = {"edit_summary": "edit", "undo_summary": "undo"}
"""What the buttons do, by their action."""
ENDED = {"holds": "", "undone": "Undone", "replaced": "Replaced by a later summary"}


def summary_title(block: SummaryBlock) -> str:
    words = "Earlier messages were summed up for the model"
    if not block.before:
        return words
    return f"{words}, {short_count(block.before)} → {short_count(block.after)} tokens"


class SummaryItem(Item):
    """The row; opened it shows the summary."""

    @property
    def summary(self) -> SummaryBlock:
        block = self.block
        assert isinstance(block, SummaryBlock)
        return block

    @property
    def name(self) -> str:
        return ", ".join(
            filter(None, [summary_title(self.summary), ENDED[self.summary.state].lower()])
        )

    def source(self) -> str:
        return f"{summary_title(self.summary)}\n\n{self.summary.text}"

    def tip(self, hit: Hit, context: ItemContext) -> str:
        if hit.action in EDITING and context.running:
            return "Wait until the turn ends, or stop it first."
        return ""

    def lay(self, context: ItemContext) -> None:
        look, block = context.look, self.summary
        self.leaves, self.places, self.hits = [], [], []
        left, right = look.px(24), context.width
        opened = id(block) in context.opened
        words = (
            f"{summary_title(block)}. {ENDED[block.state]}."
            if ENDED[block.state]
            else summary_title(block)
        )
        buttons = [CardAction("toggle", "Hide" if opened else "Show", "ghost")]
        if block.state == "holds" and not context.read_only:
            buttons += [
                CardAction("edit_summary", "Edit…", "ghost"),
                CardAction("undo_summary", "Undo", "ghost"),
            ]
        room = sum(button_width(look, action.text) + look.px(8) for action in buttons)
        row = ParagraphLeaf(Block("paragraph", words), "small", "text2")
        beside = look.width("small", words) <= right - left - room
        head = look.theme.height(28)
        tall = self.place(row, QPointF(left, 0), context, right - left - (room if beside else 0))
        if beside:
            self.places[0] = QPointF(left, (head - tall) / 2)
        x, y = (right - room, 0.0) if beside else (left - look.px(12), tall)
        self.hits = button_row(look, x, y, [(each, _value(each, block), "") for each in buttons])
        y = head if beside else y + head
        self._box = QRectF()
        if opened:
            top, y = y + look.px(4), y + look.px(14)
            for each in plain(block.text):
                made = leaf(each, context.colours, None)
                y += self.place(
                    made, QPointF(left + look.px(12), y), context, right - left - look.px(24)
                ) + look.px(4)
            y += look.px(6)
            self._box = QRectF(left, top, right - left, y - top)
        self.height = y

    def paint(self, paint: PaintPass, context: ItemContext) -> None:
        look = context.look
        middle = look.theme.height(28) / 2
        look.icon(paint.painter, QPointF(look.px(8), middle), "layers", "text3", 14)
        if not self._box.isEmpty():
            look.card(paint.painter, self._box, None, "hair", 8)
        self.paint_leaves(paint, context)
        for hit in self.hits:
            if self.tip(hit, context):
                paint.painter.setOpacity(0.5)
            paint_button(hit, paint, look)
            paint.painter.setOpacity(1.0)


def _value(action: CardAction, block: SummaryBlock) -> object:
    return id(block) if action.name == "toggle" else block.summary_id
