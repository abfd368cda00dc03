"""A month of days with their entries, moved through by mouse and keys (KZ-47)."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip

from studio.packs import dataclass
from studio.packs.ui import PaintedWidget, Theme, paint_rounded, paint_text, plain_tip

from ..tools import _german as german
from ._rows import DAYS, MONTHS

WEEK, HEAD = 36, 30
_WEEKEND = 0.62
"""The width of Saturdays and Sundays, as a part of that of other days."""
_STEPS = {
    Qt.Key.Key_Left: -1,
    Qt.Key.Key_Right: 1,
    Qt.Key.Key_Up: -7,
    Qt.Key.Key_Down: 7,
}


@dataclass(frozen=True, slots=True)
class Entry:
    """What is on a day. ``open``: it is no more than a draft or unchecked, and drawn dashed.

    ``target`` is the page of the pack that shows it, and what on it is wanted.
    """

    day: datetime.date
    kind: str
    title: str
    az: str
    time: str = ""
    open: bool = False
    target: tuple[str, ...] = ()


KINDS = {
    "Frist": ("calendar-clock", "rust"),
    "Vorfrist": ("bell", "ochre"),
    "Termin": ("gavel", "blue"),
    "Wiedervorlage": ("undo-2", "slate"),
    "Aufgabe": ("list-todo", "slate"),
}
"""Icon and hue of each kind of entry."""


class MonthGrid(PaintedWidget):
    """``chosen``: another day; ``opened``: the person wants to see what is on it."""

    chosen = Signal()
    opened = Signal()
    ground = "surface"

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.today = self.day = datetime.date.today()
        self.entries: Mapping[datetime.date, Sequence[Entry]] = {}
        self.free: Mapping[datetime.date, str] = {}
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._describe()

    @property
    def first(self) -> datetime.date:
        """The Monday with which the grid begins."""
        first = self.day.replace(day=1)
        return first - datetime.timedelta(days=first.weekday())

    @property
    def weeks(self) -> int:
        month_end = (self.day.replace(day=28) + datetime.timedelta(days=4)).replace(day=1)
        return ((month_end - self.first).days + 6) // 7

    @property
    def days(self) -> list[datetime.date]:
        return [self.first + datetime.timedelta(days=at) for at in range(7 * self.weeks)]

    def show_entries(
        self,
        entries: Mapping[datetime.date, Sequence[Entry]],
        free: Mapping[datetime.date, str],
    ) -> None:
        self.entries, self.free = entries, free
        self._describe()

    def choose(self, day: datetime.date) -> None:
        """Go to a day; its month is shown."""
        if day != self.day:
            self.day = day
            self._describe()
            self.chosen.emit()

    def _describe(self) -> None:
        """What a screen reader says: the chosen day and all that is on it."""
        found = self.entries.get(self.day, ())
        said = "; ".join(f"{one.kind} {one.title}, {one.az}" for one in found) or "nichts"
        free = self.free.get(self.day, "")
        self.setAccessibleName(f"{german.day(self.day)}{free and ', ' + free}: {said}")
        self.update()

    # Geometry

    def _columns(self) -> list[tuple[float, float]]:
        """Left edge and width of each day of a week."""
        left = float(self.theme.px(WEEK))
        unit = (self.width() - left) / (5 + 2 * _WEEKEND)
        found: list[tuple[float, float]] = []
        for at in range(7):
            width = unit if at < 5 else unit * _WEEKEND
            found.append((left, width))
            left += width
        return found

    def place_of(self, day: datetime.date) -> QRectF:
        week, column = divmod((day - self.first).days, 7)
        head = float(self.theme.px(HEAD))
        height = (self.height() - head) / self.weeks
        left, width = self._columns()[column]
        return QRectF(left, head + week * height, width, height)

    def _day_at(self, at: QPointF) -> datetime.date | None:
        return next((day for day in self.days if self.place_of(day).contains(at)), None)

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(480), self.theme.px(280))

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(860), self.theme.px(640))

    # Painting

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        head, hair = t.px(HEAD), t.color("hair")
        names = ("KW", *german.WEEKDAYS)
        columns = [(0.0, float(t.px(WEEK))), *self._columns()]
        for name, (left, width) in zip(names, columns, strict=True):
            place = QRectF(left + t.px(6), 0, width - t.px(6), head)
            paint_text(painter, t, place, name, "small", "text2")
        for day in self.days:
            self._paint_day(painter, day, self.place_of(day))
        for week in range(self.weeks):
            monday = self.first + datetime.timedelta(days=7 * week)
            place = self.place_of(monday)
            painter.setPen(hair)
            painter.drawLine(QPointF(0, place.y()), QPointF(rect.width(), place.y()))
            number = QRectF(t.px(6), place.y() + t.px(4), t.px(WEEK) - t.px(6), t.px(22))
            paint_text(painter, t, number, f"{monday.isocalendar().week}", "small", "text3")
        painter.setPen(hair)
        for left, _ in self._columns():
            painter.drawLine(QPointF(left, 0), QPointF(left, rect.height()))

    def _paint_day(self, painter: QPainter, day: datetime.date, place: QRectF) -> None:
        t = self.theme
        free = self.free.get(day, "")
        if free or day.weekday() > 4:
            painter.fillRect(place, t.color("window"))
        inside = day.month == self.day.month
        title = f"{day.day}" if inside or day.day > 1 else f"1. {MONTHS[day.month - 1]}"
        if day.day == 1 or day == self.first:
            title = f"{day.day}. {MONTHS[day.month - 1]}"
        if self._is_low(place) and not title.isdecimal():  # beside it stands how many there are
            title = f"{day.day}.{day.month}."
        role = "ui_strong" if day == self.today else "small_medium"
        ink = "accent_text" if day == self.today else "text1" if inside else "text2"
        line = QRectF(place.x() + t.px(6), place.y() + t.px(4), place.width() - t.px(8), t.px(22))
        paint_text(painter, t, line, title, role, ink, room=line.width())
        if free and free not in DAYS:
            width = t.metrics(role).horizontalAdvance(title) + t.px(6)
            rest = line.adjusted(width, 0, 0, 0)
            paint_text(painter, t, rest, free, "tag", "text2", room=rest.width())
        self._paint_entries(painter, day, place)
        if day == self.day:
            pen = QPen(t.color("accent_text" if self.hasFocus() else "control"), 2)
            painter.setPen(pen)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(place.adjusted(2, 2, -2, -2), 6, 6)

    @property
    def _entry_height(self) -> int:
        return self.theme.metrics("tag").height() * 2 + self.theme.px(8)

    def _is_low(self, place: QRectF) -> bool:
        """Whether a day has no room for two lines."""
        return place.height() < self.theme.px(32) + self._entry_height

    def _paint_entries(self, painter: QPainter, day: datetime.date, place: QRectF) -> None:
        t, found = self.theme, self.entries.get(day, ())
        line, height = t.metrics("tag").height(), self._entry_height
        y, bottom = place.y() + t.px(28), place.bottom() - t.px(4)
        if found and self._is_low(place):  # a low cell: one in a line, how many more above
            box = QRectF(place.x() + t.px(6), place.y() + t.px(24), place.width() - t.px(12), line)
            fits = box.bottom() + t.px(2) <= place.bottom()
            if fits:
                self._paint_entry(painter, found[0], box.adjusted(0, 0, 0, t.px(2)), low=True)
            if more := len(found) - fits:
                words = f"+ {more}"
                width = t.metrics("tag").horizontalAdvance(words)
                left = place.right() - width - t.px(6)
                rest = QRectF(left, place.y() + t.px(4), width + 2, t.px(22))
                paint_text(painter, t, rest, words, "tag", "text2")
            return
        for at, one in enumerate(found):
            left = len(found) - at
            more = left > 1 and y + height + t.px(22) > bottom  # no room for a line after it
            if y + height > bottom or more:
                words = f"+ {left} weitere"
                rest = QRectF(place.x() + t.px(8), y, place.width() - t.px(12), t.px(18))
                paint_text(painter, t, rest, words, "tag", "text2", room=rest.width())
                return
            box = QRectF(place.x() + t.px(6), y, place.width() - t.px(12), height)
            self._paint_entry(painter, one, box)
            y += height + t.px(4)

    def _paint_entry(
        self, painter: QPainter, entry: Entry, box: QRectF, *, low: bool = False
    ) -> None:
        t = self.theme
        icon, hue = KINDS[entry.kind]
        ink, ground = t.hue(hue)
        if entry.open:
            paint_rounded(painter, box, 5, t.color("surface"))
            painter.setPen(QPen(ink, 1, Qt.PenStyle.DashLine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 5, 5)
        else:
            paint_rounded(painter, box, 5, ground)
        line = t.metrics("tag").height()
        side, x = t.px(12), box.x() + t.px(6)
        y = box.y() + t.px(1 if low else 4)
        t.paint_icon(painter, QRectF(x, y + (line - side) / 2, side, side), icon, ink)
        x += side + t.px(4)
        room = box.right() - t.px(4) - x
        if low:
            place = QRectF(x, y, room, line)
            paint_text(painter, t, place, entry.title, "tag", room=room)
            return
        first = QRectF(x, y, room, line)
        paint_text(painter, t, first, entry.time or entry.az, "tag", ink, room=room)
        second = QRectF(box.x() + t.px(6), y + line, box.width() - t.px(10), line)
        paint_text(painter, t, second, entry.title, "tag", room=second.width())

    # What the person does

    def mousePressEvent(self, event: QMouseEvent) -> None:
        day = self._day_at(event.position())
        if day is not None:
            self.choose(day)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if self._day_at(event.position()) == self.day:
            self.opened.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in _STEPS:
            self.choose(self.day + datetime.timedelta(days=_STEPS[key]))
        elif key in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
            self.choose(other_month(self.day, -1 if key == Qt.Key.Key_PageUp else 1))
        elif key == Qt.Key.Key_Home:
            self.choose(self.today)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.opened.emit()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            day = self._day_at(QPointF(event.pos()))
            found = self.entries.get(day, ()) if day is not None else ()
            words = "\n".join(f"{one.kind}: {one.title}, {one.az}" for one in found)
            QToolTip.showText(event.globalPos(), plain_tip(words), self)
            return True
        return super().event(event)


def other_month(day: datetime.date, step: int) -> datetime.date:
    """The same day of a month before or after, or its last one."""
    at = day.year * 12 + day.month - 1 + step
    first = datetime.date(at // 12, at % 12 + 1, 1)
    for number in range(day.day, 27, -1):
        try:
            return first.replace(day=number)
        except ValueError:
            continue
    return first.replace(day=min(day.day, 28))
