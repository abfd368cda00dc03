"""Scroller: keeps the scroll position while heights change; scroll bar, fade and pills.

A pill is a button over the canvas that leads to something out of view.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QLinearGradient, QPainter

from studio.ui.widgets.painting import keycaps_width, paint_keycaps

from .canvas import Anchor, Canvas
from .items.approval_item import WaitingItem
from .paint_style import NO_PEN, PaintStyle

BAR = 12
"""Width of the strip that holds the scroll bar."""
FADE = 20
"""Height of the fade at the bottom."""
ABOVE = 16
"""Pixels above an item to which is scrolled."""


@dataclass
class ScrollBar:
    """A bar over the right edge of the canvas."""

    height: float = 0.0
    total: float = 0.0
    value: float = 0.0
    right: float = 0.0
    hover: bool = False
    grabbed: float | None = None
    """How far below the thumb's top the mouse drags it; None while it does not."""

    @property
    def most(self) -> float:
        return max(0.0, self.total - self.height)

    @property
    def strip(self) -> QRectF:
        return QRectF(self.right - BAR, 0, BAR, self.height)

    @property
    def thumb(self) -> QRectF:
        most = self.most
        if most <= 0:
            return QRectF()
        tall = round(max(36.0, (self.height - 4) * self.height / self.total))
        y = 2 + round((self.height - 4 - tall) * (self.value / most))
        return QRectF(self.right - 10, y, 8, tall)

    def value_at(self, y: float) -> float:
        """The scroll position when the thumb's top is at ``y``."""
        room = self.height - 4 - self.thumb.height()
        return self.most * (y - 2) / room if room > 0 else 0.0

    def paint(self, painter: QPainter, style: PaintStyle) -> None:
        thumb = self.thumb
        if thumb.isEmpty():
            return
        strong = self.hover or self.grabbed is not None
        ink = style.over_surface(34 if strong else 18)
        if not strong:
            thumb.adjust(2, 0, 0, 0)
        wide = thumb.width()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(NO_PEN)
        painter.setBrush(ink)
        # One tall shape with curves, or a color to be mixed, takes as long as a page of words.
        painter.drawPie(QRectF(thumb.left(), thumb.top(), wide, wide), 0, 180 * 16)
        painter.drawPie(QRectF(thumb.left(), thumb.bottom() - wide, wide, wide), 0, -180 * 16)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.fillRect(thumb.adjusted(0, wide / 2, 0, -wide / 2), ink)


def paint_fade(painter: QPainter, style: PaintStyle, rect: QRectF) -> None:
    """Fade out the last pixels of the widget while there is more below."""
    background = style.color("surface")
    clear = QColor(background)
    clear.setAlpha(0)
    fade = QLinearGradient(rect.topLeft(), rect.bottomLeft())
    fade.setColorAt(0, clear)
    fade.setColorAt(1, background)
    painter.fillRect(rect, fade)


@dataclass(frozen=True)
class Pill:
    """A small button over the canvas that leads to something out of view."""

    text: str
    action: str
    icon: str
    color: str
    keys: str = ""
    end: str = ""
    """The icon after the keys: which way it leads."""

    def rect(self, style: PaintStyle, centre: float, bottom: float) -> QRectF:
        width = style.px(14) * 2 + style.px(22) + style.width("ui_medium", self.text)
        if self.keys and style.theme.keycaps:
            width += style.px(10) + keycaps_width(style.theme, self.keys)
        if self.end:
            width += style.px(22)
        tall = style.theme.height(32)
        return QRectF(round(centre - width / 2), bottom - tall, round(width), tall)

    def paint(self, painter: QPainter, style: PaintStyle, rect: QRectF, hover: bool) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        for grow, strength in ((4, 2), (2, 4), (1, 5)):
            shade = QColor(0, 0, 0)
            shade.setAlphaF(strength / 100)
            painter.setBrush(shade)
            soft = rect.adjusted(-grow, 1 - grow, grow, grow + 2)
            painter.drawRoundedRect(soft, soft.height() / 2, soft.height() / 2)
        round_ = rect.height() / 2
        style.card(painter, rect, "raised", "control", round_)
        if hover:
            style.card(painter, rect.adjusted(1, 1, -1, -1), "hover", None, round_ - 1)
        x = rect.left() + style.px(14)
        middle = rect.center().y()
        style.icon(painter, QPointF(x + style.px(7), middle), self.icon, self.color, 16)
        x += style.px(22)
        x += style.text(
            painter, QRectF(x, rect.top(), rect.width(), rect.height()), self.text, "ui_medium"
        )
        if self.keys and style.theme.keycaps:
            paint_keycaps(painter, style.theme, QPointF(x + style.px(10), middle), self.keys)
        if self.end:
            at = QPointF(rect.right() - style.px(19), middle)
            style.icon(painter, at, self.end, "text2", 14)


STICK = 40
"""Distance from the end, in pixels, within which the view follows it."""


class Scroller:
    """The scroll position, in whole pixels from the canvas's top."""

    def __init__(self, canvas: Canvas) -> None:
        self.canvas = canvas
        self.value = 0.0
        self.height = 0.0
        """Of the widget."""
        self.width = 0.0
        self.following = True
        """Whether the end is kept in view."""
        self._pulled = 0.0
        """Pixels scrolled up since it was last scrolled down: a slow hand leaves a growing end."""
        self.bar = ScrollBar()

    @property
    def most(self) -> float:
        return max(0.0, self.canvas.total - self.height)

    @property
    def end(self) -> float:
        """The position at which the end is followed.

        Of a card that waits there and is taller than the window, it is the card's top.
        """
        return self._end_before(self.most)

    def _end_before(self, most: float) -> float:
        items = self.canvas.items
        if not items or not isinstance(items[-1], WaitingItem):
            return most
        return max(0.0, min(most, self.canvas.top(len(items) - 1) - ABOVE))

    @property
    def at_end(self) -> bool:
        return abs(self.end - self.value) <= STICK

    @property
    def below(self) -> float:
        """Pixels of canvas below the window."""
        return self.canvas.total - self.value - self.height

    def anchor(self) -> Anchor | None:
        """What to keep in place, taken before a change; None while the end is followed."""
        return None if self.following else self.canvas.anchor(self.value)

    def settle(self, anchor: Anchor | None = None, ahead: float = 0.0) -> None:
        """Lay out what is visible, and stay at the end or at the anchor.

        An end that came up to the window is followed from then on.
        ``ahead`` is how many pixels above and below are laid out as well.
        """
        canvas, past = self.canvas, False
        for _ in range(8):
            most = self.most
            if self.following:
                self.value = self._end_before(most)
            elif anchor is not None:
                place = canvas.anchored(anchor)
                self.value = self.value if place is None else place
            past = self.value > most
            self.value = float(round(max(0.0, min(self.value, most))))
            if not canvas.show(self.value - ahead, self.value + self.height + ahead):
                break
        self.following |= past
        self._place_bar()

    def to(self, value: float) -> None:
        """Scroll to a height; the line at the top stays there when heights are laid out anew."""
        canvas = self.canvas
        value = float(round(max(0.0, min(value, self.most))))
        canvas.show(value, value + self.height)
        self.value, self.following = value, False
        self.settle(canvas.anchor(value))
        self.following = self.at_end
        self.drop_far()

    def by(self, pixels: float) -> None:
        """Scroll by pixels, after laying out what they pass: not by pixels of estimates."""
        canvas = self.canvas
        anchor = canvas.anchor(self.value)
        self._pulled = self._pulled - pixels if pixels < 0 else 0.0
        low = self.value + min(0.0, pixels)
        canvas.show(low, self.value + max(0.0, pixels) + self.height)
        place = canvas.anchored(anchor)
        self.to((self.value if place is None else place) + pixels)
        self.following &= self._pulled <= STICK

    def to_end(self) -> None:
        """Scroll to the end and follow it."""
        self.following, self._pulled = True, 0.0
        self.settle()
        self.drop_far()

    def reveal(self, index: int, above: float, below: float) -> None:
        """Scroll until an item is visible, with a margin above and below, in pixels."""
        for _ in range(3):
            top = self.canvas.top(index)
            bottom = top + self.canvas.items[index].height
            if top < self.value + above or bottom - top > self.height - above - below:
                self.to(top - ABOVE)
            elif bottom > self.value + self.height - below:
                self.to(bottom - self.height + below)

    def drop_far(self) -> None:
        self.canvas.drop_far(self.value, self.value + self.height)

    def _place_bar(self) -> None:
        bar = self.bar
        bar.height, bar.total, bar.value = self.height, self.canvas.total, self.value
        bar.right = self.width
