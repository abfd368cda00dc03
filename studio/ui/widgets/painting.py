"""Paints the shapes that controls and delegates share, and the logo; times animations.

There is one animation timer. Code that paints something moving requests one more frame. What
is hidden or done is not painted and requests none, so that the timer stops.
"""

from __future__ import annotations

import sys
import time

import shiboken6
from PySide6.QtCore import QObject, QPointF, QRect, QRectF, QSizeF, Qt, QTimer
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPixmap, QPixmapCache, QPolygonF
from PySide6.QtWidgets import QWidget

from studio.ui.formatting import keys as names
from studio.ui.theme import Theme, elided
from studio.ui.theme.mirroring import draw_text, mirrored, upright

FRAME_MS = 160
"""Milliseconds between two frames: a tenth of those that a growing text gets."""
TURN_SECONDS = 6 * FRAME_MS / 1000
STEPS = 24
"""Pictures of a spinner's turn."""


class AnimationTimer(QObject):
    """The frames of all animations; there is one timer for each theme."""

    @staticmethod
    def of(theme: Theme) -> AnimationTimer:
        return theme.findChild(AnimationTimer) or AnimationTimer(theme)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._due: list[tuple[QWidget, QRect]] = []
        self._timer = QTimer(self, interval=FRAME_MS)
        self._timer.timeout.connect(self._tick)

    @property
    def turn(self) -> float:
        """The rotation of a spinner, from 0 to 1."""
        return (time.monotonic() / TURN_SECONDS) % 1.0

    @property
    def running(self) -> bool:
        return self._timer.isActive()

    def request_frame(self, widget: QWidget, rect: QRect | None = None) -> None:
        """Repaint ``rect`` of ``widget`` once more, at the next frame."""
        self._due.append((widget, QRect(rect or widget.rect())))
        if not self._timer.isActive():
            self._timer.start()

    def scrolled(self, widget: QWidget, down: int) -> None:
        """What is seen of ``widget`` was moved ``down`` pixels, and what moves in it as well."""
        for painted, rect in self._due:
            if painted is widget:
                rect.translate(0, down)

    def _tick(self) -> None:
        due, self._due = self._due, []
        if not due:
            self._timer.stop()
        for widget, rect in due:
            if shiboken6.isValid(widget):
                widget.update(rect)


class PaintedWidget(QWidget):
    """A widget that paints itself from the theme, on the colour ``ground`` if it has one."""

    ground = ""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        theme.changed.connect(self._theme_changed)

    def _theme_changed(self) -> None:
        self.updateGeometry()  # a hint is measured in the theme's fonts
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        try:
            if self.ground:
                painter.fillRect(self.rect(), self.theme.color(self.ground))
            rect = QRectF(self.rect())
            with mirrored(painter, rect, self.layoutDirection()):
                self.paint(painter, rect)
        finally:
            painter.end()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        """Paint what is on the ground; ``rect`` is the whole widget."""


TAGS: dict[str, tuple[str, str]] = {
    "neutral": ("track", "text2"),
    "accent": ("accent_soft", "accent_text"),
    "ok": ("ok_soft", "ok"),
    "warn": ("warn_soft", "warn"),
    "err": ("err_soft", "err"),
}
"""Fill and text of a tag's kinds."""

_SIGNS = {"Enter": "⏎", "Return": "⏎", "Up": "↑", "Down": "↓", "Left": "←", "Right": "→"}
_MAC = {"Ctrl": "⌘", "Alt": "⌥", "Shift": "⇧", "Enter": "⏎"}


def paint_rounded(
    painter: QPainter,
    rect: QRectF,
    radius: float,
    fill: QColor | None,
    border: QColor | None = None,
    width: float = 1.0,
) -> None:
    """A rounded box; its border lies inside ``rect``."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    if border is None:
        painter.setPen(Qt.PenStyle.NoPen)
    else:
        painter.setPen(QPen(border, width))
        rect = rect.adjusted(width / 2, width / 2, -width / 2, -width / 2)
        radius -= width / 2
    painter.setBrush(fill if fill is not None else Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(rect, radius, radius)
    painter.restore()


def paint_text(
    painter: QPainter,
    theme: Theme,
    rect: QRectF,
    text: str,
    role: str = "ui",
    color: str | QColor = "text1",
    align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignVCenter,
    room: float | None = None,
) -> None:
    """A text in the font of a role, elided to ``room`` pixels if they are given.

    The role “small digits” keeps changing numbers from jumping.
    """
    name, _, digits = role.partition(" ")
    if room is not None:
        text = elided(theme.metrics(role), text, room)
    painter.setFont(theme.font(name, bool(digits)))
    painter.setPen(theme.color(color) if isinstance(color, str) else color)
    draw_text(painter, rect, align.value, text)


def centred(rect: QRectF, side: float) -> QRectF:
    """A square in the middle of ``rect``."""
    square = QRectF(0, 0, side, side)
    square.moveCenter(rect.center())
    return square


def paint_spinner(
    painter: QPainter,
    theme: Theme,
    widget: QWidget,
    rect: QRectF,
    color: str | QColor = "accent_text",
) -> None:
    """A spinner. Requests the next frame of ``widget``, which is being painted."""
    ink = theme.color(color) if isinstance(color, str) else color
    side = min(rect.width(), rect.height())
    ratio = painter.device().devicePixelRatio()
    ticker = AnimationTimer.of(theme)
    step = -1 if theme.still else int(ticker.turn * STEPS)
    with upright(painter, rect):
        painter.drawPixmap(centred(rect, side).topLeft(), _spinner(theme, ink, side, ratio, step))
    if not theme.still:
        area = painter.worldTransform().mapRect(rect).toAlignedRect()
        ticker.request_frame(widget, area if not area.isEmpty() else QRect(widget.rect()))


def _spinner(theme: Theme, ink: QColor, side: float, ratio: float, step: int) -> QPixmap:
    """A step of a spinner's turn, or a ring of dots for -1; kept, as its curves take 2 ms."""
    track = theme.color("track")
    name = f"spinner {ink.rgba()} {track.rgba()} {side} {ratio} {step}"
    known = QPixmap()
    if QPixmapCache.find(name, known):
        return known
    made = QPixmap(QSizeF(side, side).toSize() * ratio)
    made.setDevicePixelRatio(ratio)
    made.fill(Qt.GlobalColor.transparent)
    painter = QPainter(made)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    circle = QRectF(1.5, 1.5, side - 3, side - 3)
    if step < 0:
        pen = QPen(ink, 1.75, Qt.PenStyle.CustomDashLine, Qt.PenCapStyle.RoundCap)
        pen.setDashPattern([0.1, 2.2])
        painter.setPen(pen)
        painter.drawEllipse(circle)
    else:
        painter.setPen(QPen(track, 1.75))
        painter.drawEllipse(circle)
        painter.setPen(QPen(ink, 1.75, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        painter.drawArc(circle, int((90 - 360 * step / STEPS) * 16), -110 * 16)
    painter.end()
    QPixmapCache.insert(name, made)
    return made


def paint_ring(
    painter: QPainter, theme: Theme, rect: QRectF, part: float, color: str = "text2"
) -> None:
    """A ring that is filled to ``part``, from 0 to 1."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    width = max(2.0, rect.width() / 7)
    circle = rect.adjusted(width / 2, width / 2, -width / 2, -width / 2)
    painter.setPen(QPen(theme.color("track"), width))
    painter.drawEllipse(circle)
    painter.setPen(QPen(theme.color(color), width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap))
    painter.drawArc(circle, 90 * 16, -int(360 * 16 * max(0.0, min(1.0, part))))
    painter.restore()


def tag_width(theme: Theme, text: str, icon: str = "") -> int:
    mark = theme.px(12) + theme.px(4) if icon else 0
    return theme.metrics("tag").horizontalAdvance(text) + 2 * theme.px(6) + mark


def paint_tag(
    painter: QPainter, theme: Theme, at: QPointF, text: str, kind: str = "neutral", icon: str = ""
) -> float:
    """A tag with its left end and middle at ``at``; returns its width."""
    fill, ink = TAGS[kind]
    width, height = tag_width(theme, text, icon), theme.px(18)
    box = QRectF(at.x(), round(at.y() - height / 2), width, height)
    paint_rounded(painter, box, 5, theme.color(fill))
    if icon:
        side = theme.px(12)
        place = QRectF(box.left() + theme.px(6), box.center().y() - side / 2, side, side)
        theme.paint_icon(painter, place, icon, ink)
        box.setLeft(place.right() - theme.px(2))  # centred in what is left of it
    paint_text(painter, theme, box, text, "tag", ink, Qt.AlignmentFlag.AlignCenter)
    return width


def keys_of(shortcut: str) -> list[str]:
    """``Ctrl+K`` as the caps to draw."""
    keys = [key for key in shortcut.split("+") if key] if shortcut != "+" else ["+"]
    if shortcut.endswith("++"):
        keys.append("+")
    if sys.platform == "darwin":
        return [_MAC.get(key, key) for key in keys]
    return [_SIGNS.get(key) or names(key) for key in keys]


def _cap_width(theme: Theme, key: str) -> int:
    text = theme.metrics("tag").horizontalAdvance(key)
    return max(theme.px(18), text + 2 * theme.px(5))


def keycaps_width(theme: Theme, shortcut: str) -> int:
    keys = keys_of(shortcut)
    return sum(_cap_width(theme, key) for key in keys) + theme.px(3) * (len(keys) - 1)


def paint_keycaps(
    painter: QPainter, theme: Theme, at: QPointF, shortcut: str, on_accent: bool = False
) -> None:
    """Keys of a shortcut, the left end and middle of the row at ``at``."""
    x, height = at.x(), theme.px(18)
    ink = "accent_on" if on_accent else "text2"
    fill = theme.color("keycap_on_accent" if on_accent else "track")
    row = QRectF(x, round(at.y() - height / 2), keycaps_width(theme, shortcut), height)
    with upright(painter, row):
        for key in keys_of(shortcut):
            box = QRectF(x, row.y(), _cap_width(theme, key), height)
            paint_rounded(painter, box, 4, fill)
            paint_text(painter, theme, box, key, "tag", ink, Qt.AlignmentFlag.AlignCenter)
            x += box.width() + theme.px(3)


def paint_ends(
    painter: QPainter,
    theme: Theme,
    rect: QRectF,
    left: tuple[str, str, str],
    right: tuple[str, str, str] = ("", "small", "text2"),
) -> None:
    """Text at both ends of a line; the left one is elided.

    ``left`` and ``right`` are a text, its font role and its colour token.
    """
    text, font, ink = left
    aside, small, faint = right
    taken = theme.metrics(f"{small} digits").horizontalAdvance(aside) + 12 if aside else 0
    paint_text(painter, theme, rect, text, font, ink, room=rect.width() - taken)
    at_right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
    paint_text(painter, theme, rect, aside, f"{small} digits", faint, at_right)


def paint_tile(painter: QPainter, theme: Theme, rect: QRectF, icon: str, hue: str) -> None:
    """An agent's tile."""
    ink, tile = theme.hue(hue)
    side = rect.width()
    paint_rounded(painter, rect, 7 if side > 24 else 6 if side > 20 else 5, tile)
    inner = round(side * (0.6 if side >= 20 else 0.66))
    theme.paint_icon(painter, centred(rect, inner), icon, ink)


_ROUND = (Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin)


def paint_check(
    painter: QPainter, theme: Theme, rect: QRectF, on: bool, enabled: bool = True
) -> None:
    """A check box."""
    if on:
        paint_rounded(painter, rect, 4, theme.color("accent" if enabled else "strong"))
        points = ((0.26, 0.52), (0.43, 0.68), (0.75, 0.33))
        width, height = rect.width(), rect.height()
        tick = QPolygonF([rect.topLeft() + QPointF(x * width, y * height) for x, y in points])
        painter.save()
        painter.setPen(QPen(theme.color("accent_on"), width / 9.5, *_ROUND))
        painter.drawPolyline(tick)
        painter.restore()
    else:
        border = theme.color("strong" if enabled else "control")
        paint_rounded(painter, rect, 4, theme.color("field"), border, 1.25)


def paint_logo(painter: QPainter, theme: Theme, rect: QRectF) -> None:
    """The program's logo: three agents joined to an A, white on the accent colour."""
    paint_rounded(painter, rect, rect.width() * 0.23, theme.color("accent"))
    unit, at = rect.width() / 52, rect.topLeft()
    top, left, right = (
        at + QPointF(x * unit, y * unit) for x, y in ((26, 14.5), (15, 36.5), (37, 36.5))
    )
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    ink = theme.color("accent_on")
    painter.setPen(QPen(ink, 3.6 * unit, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
    painter.drawLine(top, left)
    painter.drawLine(top, right)
    painter.drawLine(top + (left - top) * 0.6, top + (right - top) * 0.6)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(ink)
    for point in (top, left, right):
        painter.drawEllipse(point, 4.6 * unit, 4.6 * unit)
    painter.restore()
