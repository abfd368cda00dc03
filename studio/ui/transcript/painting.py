"""Painting: paints the visible part of the canvas and what lies over it."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget

from studio.ui.widgets import AnimationTimer

from .items.approval_item import WaitingItem
from .items.base import END, START, Item, PaintPass
from .items.draft_item import DraftItem
from .scroller import FADE, paint_fade
from .viewport import Viewport


def paint_viewport(stage: Viewport, painter: QPainter, area: QRectF, window: QWidget) -> None:
    """Paint an area of the window that shows the stage."""
    painter.setClipRect(area)  # first: the clip of an area painted before would keep this one out
    painter.fillRect(area, stage.look.color("surface"))
    canvas, scroller = stage.canvas, stage.scroller
    right = stage.column_left + stage.context.width
    if canvas.items and area.left() < right + 8:
        low, high = area.top() + scroller.value, area.bottom() + scroller.value
        waiting = [canvas.items[index] for index in canvas.waiting()]
        primary = primary_of(waiting, stage.focus.item)
        index = canvas.at(low - 8)  # a focus ring may reach out of its item
        while index < len(canvas.items):
            top = canvas.top(index)
            if top > high + 8:
                break
            if canvas.items[index].height:
                _paint_item(stage, painter, window, index, low - top, high - top, primary)
            index += 1
    if scroller.below > 1:
        strip = QRectF(0, scroller.height - FADE, scroller.width, FADE)
        if strip.intersects(area):
            paint_fade(painter, stage.look, strip)
    scroller.bar.paint(painter, stage.look)
    found = stage.pill
    if found is not None:
        pill, rect = found
        pill.paint(painter, stage.look, rect, stage.over_pill)


def primary_of(waiting: list[Item], focused: Item | None) -> Item | None:
    """The one card that may show a primary button: the focused one, else the last question."""
    if focused in waiting:
        return focused
    cards = [item for item in waiting if isinstance(item, WaitingItem)]
    return (cards or waiting or [None])[-1]


def _paint_item(
    stage: Viewport,
    painter: QPainter,
    window: QWidget,
    index: int,
    low: float,
    high: float,
    primary: Item | None,
) -> None:
    item = stage.canvas.items[index]
    y = stage.canvas.top(index) - stage.scroller.value
    width = stage.context.width
    painter.save()
    painter.translate(stage.column_left, y)
    focused = window.hasFocus() and stage.focus.item is item
    paint = PaintPass(
        painter,
        low,
        high,
        stage.hover,
        stage.pressed,
        stage.focus.shown_hit(item) if focused else None,
        stage.selection.of(index),
        window,
        primary is None or primary is item,
    )
    if isinstance(item, DraftItem):
        # Picture 03: a waiting draft leads only while it has the focus.
        paint.primary = primary is item and (focused or len(stage.canvas.waiting()) == 1)
    item.paint(paint, stage.context)
    if paint.selected == (START, END) and not item.leaves:
        stage.look.card(painter, QRectF(0, 0, width, item.height), "selected", None, 8)
    if focused and paint.focus is None and stage.focus.keyboard:
        rect = QRectF(0, 0, width, item.height)
        grow = 0 if isinstance(item, WaitingItem | DraftItem) else 3
        stage.look.focus_ring(painter, rect.adjusted(-grow, -grow, grow, grow), 12)
    painter.restore()
    if item.animated:
        tall = min(int(item.height), 4000)
        area = QRect(int(stage.column_left) - 2, int(y), int(width) + 4, tall)
        AnimationTimer.of(stage.look.theme).request_frame(window, area)
