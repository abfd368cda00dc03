"""Reasoning item: the model's thoughts, closed at first."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF

from studio.domain.blocks import ReasoningBlock
from studio.ui.formatting import whole_seconds
from studio.ui.transcript.paint_style import LEFT
from studio.ui.translation import tr
from studio.ui.widgets.painting import paint_spinner

from .base import Hit, Item, ItemContext, PaintPass


class ReasoningItem(Item[ReasoningBlock]):
    """“Thinking… 4 s”, then “Thought for 4 s”; the thoughts when opened."""

    @property
    def animated(self) -> bool:
        return self.block.live

    def title(self, context: ItemContext) -> str:
        block = self.block
        if block.live:
            seconds = int(context.now() - context.started.get(id(block), context.now()))
            # As of “Working…”, which it follows: a second that is not over is not counted.
            return tr("Thinking… {number} s").format(number=seconds) if seconds else tr("Thinking…")
        return self.name

    @property
    def name(self) -> str:
        block = self.block
        if block.live:
            return tr("Thinking")
        if block.seconds is None:
            return tr("Thought")
        return tr("Thought for {time}").format(time=whole_seconds(block.seconds))

    def source(self) -> str:
        return self.block.text.strip()

    def estimate(self, context: ItemContext) -> float:
        return context.style.px(24)

    def lay(self, context: ItemContext) -> None:
        block, style = self.block, context.style
        if block.live:
            context.started.setdefault(id(block), context.now())
        self.leaves, self.places, self.hits = [], [], []
        text = self.source()
        if not text and not block.live and block.seconds is None:
            self.height = 0.0  # the provider keeps it to itself, and nobody timed it
            return
        row = style.px(24)
        self.height = row
        width = style.px(24) + style.width("ui", self.title(context)) + style.px(28)
        self._row = QRectF(0, 0, width, row)
        if not text:
            return  # there is nothing to open
        self.hits = [Hit(self._row, "toggle", id(block), self.name)]
        if id(block) in context.opened:
            left, y = style.px(24), row + style.px(8)
            for paragraph in text.split("\n\n"):
                words = paragraph.strip("\n").replace("\n", "\u2028")
                at, width = QPointF(left, y), context.width - left
                y += self.write(words, at, context, width, "ui") + style.px(8)
            self.height = y - style.px(8)

    def paint(self, paint: PaintPass, context: ItemContext) -> None:
        block, style = self.block, context.style
        if not self.height:
            return
        row, hit = self._row, self.hits[0] if self.hits else None
        over = hit is not None and hit.same(paint.hover)
        color = "text1" if over else "text2"
        side = style.px(16)
        if block.live and paint.widget is not None:
            spinner = QRectF(0, row.center().y() - side / 2, side, side)
            paint_spinner(paint.painter, style.theme, paint.widget, spinner)
        else:
            style.icon(paint.painter, QPointF(side / 2, row.center().y()), "brain", color, 16)
        line = row.adjusted(style.px(24), 0, style.px(60), 0)
        width = style.text(paint.painter, line, self.title(context), "ui", color, LEFT)
        if hit is None:
            return
        opened = id(block) in context.opened
        style.icon(
            paint.painter,
            QPointF(line.left() + width + style.px(13), row.center().y()),
            "chevron-down" if opened else "chevron-right",
            color,
            14,
        )
        if self.leaves:
            top = self.places[0].y()
            paint.painter.fillRect(
                QRectF(style.px(7), top, 2, self.height - top), style.color("hair")
            )
            self.paint_leaves(paint, context)
        if hit.same(paint.focus):
            style.focus_ring(paint.painter, row, 6)
