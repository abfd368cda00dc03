"""Painting the part of the canvas that is seen, and what lies over it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, QRectF
from PySide6.QtGui import QPainter

from studio.ui.controls import Ticker

from .draft import DraftItem
from .items import END, START, Item, Paint
from .overlay import Pill, paint_fade
from .prompt import CardItem
from .scroller import STICK

if TYPE_CHECKING:
    from .view import TranscriptView

FADE = 20


def paint_view(view: TranscriptView, painter: QPainter, area: QRectF) -> None:
    """Paint ``area`` of the viewport."""
    painter.fillRect(area, view.look.color("surface"))
    painter.setClipRect(area)
    canvas, scroller = view.canvas, view.scroller
    right = view.column_left + view.context.width
    if canvas.items and area.left() < right + 8:
        low, high = area.top() + scroller.value, area.bottom() + scroller.value
        waiting = [canvas.items[index] for index in canvas.waiting()]
        primary = primary_of(waiting, view.focus.item)
        index = canvas.at(low - 8)  # a focus ring may reach out of its item
        while index < len(canvas.items):
            top = canvas.top(index)
            if top > high + 8:
                break
            if canvas.items[index].height:
                _paint_item(view, painter, index, low - top, high - top, primary)
            index += 1
    if scroller.below > 1:
        strip = QRectF(0, scroller.height - FADE, scroller.width, FADE)
        if strip.intersects(area):
            paint_fade(painter, view.look, strip)
    scroller.bar.paint(painter, view.look)
    found = view.pill
    if found is not None:
        pill, rect = found
        pill.paint(painter, view.look, rect, view.mouse.over_pill)


def primary_of(waiting: list[Item], focused: Item | None) -> Item | None:
    """The one card that may show a primary button: the focused one, else the last question."""
    if focused in waiting:
        return focused
    cards = [item for item in waiting if isinstance(item, CardItem)]
    return (cards or waiting or [None])[-1]


def find_pill(view: TranscriptView) -> tuple[Pill, QRectF] | None:
    """The pill that leads to a question out of view, or to what is new below."""
    canvas, scroller = view.canvas, view.scroller
    pill = None
    for index in canvas.waiting():
        item = canvas.items[index]
        if not isinstance(item, CardItem):
            continue
        top = canvas.top(index) - scroller.value
        if top > scroller.height - 40 or top + item.height < 40:
            words = f"{item.agent or 'The agent'} needs your answer"
            pill = Pill(words, "attention", "shield-question-mark", "warn", "Ctrl+J")
            break
    if pill is None and view.fresh and scroller.below > STICK:
        pill = Pill("New messages", "end", "arrow-down", "text2")
    if pill is None:
        return None
    centre = view.column_left + view.context.width / 2
    return pill, pill.rect(view.look, centre, scroller.height - 12)


def _paint_item(
    view: TranscriptView,
    painter: QPainter,
    index: int,
    low: float,
    high: float,
    primary: Item | None,
) -> None:
    item = view.canvas.items[index]
    y = view.canvas.top(index) - view.scroller.value
    width = view.context.width
    painter.save()
    painter.translate(view.column_left, y)
    focused = view.hasFocus() and view.focus.item is item
    paint = Paint(
        painter,
        low,
        high,
        view.mouse.hover,
        view.mouse.pressed,
        view.focus.shown_hit(item) if focused else None,
        view.selection.of(index),
        view.viewport(),
        primary is None or primary is item,
    )
    if isinstance(item, DraftItem):
        # Picture 03: a waiting draft leads only while it has the focus.
        paint.primary = primary is item and (focused or len(view.canvas.waiting()) == 1)
    item.paint(paint, view.context)
    if paint.selected == (START, END) and not item.leaves:
        view.look.card(painter, QRectF(0, 0, width, item.height), "selected", None, 8)
    if focused and paint.focus is None and view.focus.keyboard:
        rect = QRectF(0, 0, width, item.height)
        grow = 0 if isinstance(item, CardItem | DraftItem) else 3
        view.look.focus_ring(painter, rect.adjusted(-grow, -grow, grow, grow), 12)
    painter.restore()
    if item.animated:
        tall = min(int(item.height), 4000)
        area = QRect(int(view.column_left) - 2, int(y), int(width) + 4, tall)
        Ticker.of(view.theme).again(view.viewport(), area)
