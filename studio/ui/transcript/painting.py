"""Painting: paints the visible part of the canvas and what lies over it."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget

from studio.ui.formatting import whole_seconds
from studio.ui.translation import tr
from studio.ui.widgets.painting import AnimationTimer, paint_spinner

from .canvas import Canvas
from .items.approval_item import WaitingItem
from .items.base import END, START, Item, PaintPass
from .items.draft_item import DraftItem
from .scroller import BAR, FADE, paint_fade
from .viewport import Viewport


def paint_viewport(viewport: Viewport, painter: QPainter, area: QRectF, widget: QWidget) -> None:
    """Paint an area of the widget."""
    painter.setClipRect(area)  # first: the clip of the previous area would exclude this one
    painter.fillRect(area, viewport.style.color("surface"))
    canvas, scroller = viewport.canvas, viewport.scroller
    right = viewport.column_left + viewport.context.width
    if canvas.items and area.left() < right + 8:
        low, high = area.top() + scroller.value, area.bottom() + scroller.value
        waiting = [canvas.items[index] for index in canvas.waiting()]
        primary = primary_of(waiting, viewport.focus.item) if waiting else None
        index = canvas.at(low - 8)  # a focus ring is larger than its item
        while index < len(canvas.items):
            top = canvas.top(index)
            if top > high + 8:
                break
            if canvas.items[index].height:
                _paint_item(viewport, painter, widget, index, top, low - top, high - top, primary)
            index += 1
    if viewport.outgoing is not None:
        _paint_outgoing(viewport, painter, viewport.outgoing)
    if viewport.working_since is not None:
        _paint_work(viewport, painter, area, widget, viewport.working_since)
    if scroller.below > 1:
        strip = QRectF(0, scroller.height - FADE, scroller.width, FADE)
        if strip.intersects(area):
            paint_fade(painter, viewport.style, strip)
    if area.right() > scroller.width - BAR:
        scroller.bar.paint(painter, viewport.style)
        viewport.finder.paint_ticks(painter, viewport.style, scroller.bar)
    row = viewport.message_row
    if row is not None and area.intersects(row.rect.adjusted(-4, -4, 4, 4)):
        focus = viewport.focus.hit if widget.hasFocus() else None
        row.paint(painter, viewport.style, viewport.hover, viewport.pressed, focus)
    found = viewport.pill
    if found is not None:
        pill, rect = found
        pill.paint(painter, viewport.style, rect, viewport.over_pill)


def _paint_outgoing(viewport: Viewport, painter: QPainter, outgoing: Canvas) -> None:
    """The message that is on its way, below all items."""
    above = viewport.canvas.bottom - outgoing.bottom - viewport.scroller.value
    for index, item in enumerate(outgoing.items):
        painter.save()
        painter.translate(viewport.column_left, above + outgoing.top(index))
        item.paint(PaintPass(painter, 0, item.height), viewport.context)
        painter.restore()


def _paint_work(
    viewport: Viewport, painter: QPainter, area: QRectF, widget: QWidget, since: float
) -> None:
    """A spinner and “Working… 4 s”, below all items."""
    style, line = viewport.style, viewport.work_line
    if not line.intersects(area):
        return
    side = style.px(16)
    spinner = QRectF(line.left(), line.center().y() - side / 2, side, side)
    paint_spinner(painter, style.theme, widget, spinner)
    words, seconds = tr("Working…"), int(viewport.context.now() - since)
    if seconds >= 1:
        words = tr("Working… {time}").format(time=whole_seconds(seconds))
    text = line.adjusted(style.px(24), 0, 0, 0)
    width = style.text(painter, text, words, "ui digits", "text2")
    text.setWidth(width + style.px(8))
    AnimationTimer.of(style.theme).request_frame(widget, text.toAlignedRect())


def primary_of(waiting: list[Item], focused: Item | None) -> Item | None:
    """The one card that may show a primary button: the focused one, else the last question."""
    if focused in waiting:
        return focused
    cards = [item for item in waiting if isinstance(item, WaitingItem)]
    return (cards or waiting or [None])[-1]


def _paint_item(
    viewport: Viewport,
    painter: QPainter,
    widget: QWidget,
    index: int,
    top: float,
    low: float,
    high: float,
    primary: Item | None,
) -> None:
    item = viewport.canvas.items[index]
    y = top - viewport.scroller.value
    width = viewport.context.width
    painter.save()
    painter.translate(viewport.column_left, y)
    focused = widget.hasFocus() and viewport.focus.item is item
    paint = PaintPass(
        painter,
        low,
        high,
        viewport.hover,
        viewport.pressed,
        viewport.focus.shown_hit(item) if focused else None,
        viewport.selection.of(index),
        widget,
        primary is None or primary is item,
    )
    if isinstance(item, DraftItem):
        # A waiting draft has a primary button only while it has the focus, or waits alone.
        paint.primary = primary is item and (focused or len(viewport.canvas.waiting()) == 1)
    viewport.finder.mark(item, low, high)
    viewport.finder.paint_rows(painter, viewport.style, item)
    item.paint(paint, viewport.context)
    if paint.selected == (START, END) and not item.leaves:
        viewport.style.card(painter, QRectF(0, 0, width, item.height), "selected", None, 8)
    if focused and paint.focus is None and viewport.focus.keyboard:
        rect = QRectF(0, 0, width, item.height)
        grow = 0 if isinstance(item, WaitingItem | DraftItem) else 3
        viewport.style.focus_ring(painter, rect.adjusted(-grow, -grow, grow, grow), 12)
    painter.restore()
    if item.animated:
        tall = min(int(item.height), 4000)
        area = QRect(int(viewport.column_left) - 2, int(y), int(width) + 4, tall)
        AnimationTimer.of(viewport.style.theme).request_frame(widget, area)
