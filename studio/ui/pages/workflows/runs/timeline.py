"""Timeline: paints who worked when in a run, and only what is in sight (W-64)."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterator

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QBrush,
    QColor,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QToolTip

from studio.ui.formatting import clock
from studio.ui.theme import Theme, joined
from studio.ui.translation import tr, tr_later, tr_plural
from studio.ui.widgets import FocusRing, OverlayBar, plain_tip
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.painting import paint_rounded, paint_text, paint_tile
from studio.ui.widgets.roles import give_role

from .lanes import AGAIN, FAILED, OPEN, STOPPED, WAIT, Bar, BarRow, Key, Lane, Lanes

NAMES = 110
"""Pixels that the names of the lanes take, with their tiles."""
HEAD, LANE = 24, 26
"""Height of the times above, and of a lane of one row."""
THIN = 6
"""Height of a row where a lane has more than one."""
STEPS = (1, 2, 5, 10, 20, 40, 60, 120, 300, 600, 1200, 3600, 7200, 21600, 43200, 86400)
"""Seconds between two lines."""
MOST_BARS, MOST_BOXES = 300, 2_000
"""Bars that are painted one by one, and what is painted in place of more than that."""
WORDS = {
    WAIT: tr_later("waits for you"),
    AGAIN: tr_later("waits for its next try"),
    FAILED: tr_later("failed"),
    STOPPED: tr_later("stopped"),
}


class Timeline(QAbstractScrollArea):
    """One bar at most is chosen; arrow keys go on from it, along its lane and between lanes.

    While it ``follows``, all of the run is shown as it grows.
    """

    radius = 7
    chosen = Signal(str, str)
    """The person chose a bar, by its step and item."""
    opened = Signal(str, str)
    moved = Signal()
    """The person moved or zoomed: it does not follow any more."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        give_role(self, QAccessible.Role.Canvas)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        OverlayBar(self)
        self.lanes: Lanes | None = None
        self.follows = True
        self.key: Key = ("", "")
        """The step and item that are chosen anywhere."""
        self._bar: tuple[BarRow, int] | None = None
        """The bar that the keys go on from."""
        self._begin, self._seconds = 0.0, 10.0
        """The time at the left edge, and how much of it is in sight."""
        self._grabbed: QPointF | None = None
        self._hatching: dict[int, QPixmap] = {}
        self._tops: list[int] = []
        self._seen = 0
        """How many bars are in sight."""
        FocusRing.of(theme).follow(self)
        theme.changed.connect(self._measure)
        self._name()

    # What is shown

    def show_lanes(self, lanes: Lanes | None) -> None:
        self.lanes, self._bar, self.key = lanes, None, ("", "")
        self.follows = True
        self.verticalScrollBar().setValue(0)
        self.grown()

    def change_lanes(self, lanes: Lanes | None) -> None:
        """Show other lanes of the same run; what is in sight and chosen stays."""
        if lanes is not self.lanes:
            key, self.lanes = self.key, lanes
            self.key, self._bar = ("", ""), None
            self.grown()
            self.choose(key)

    def grown(self) -> None:
        """Show what the lanes have got since."""
        if self.follows:
            self.show_all()
        self._measure()
        self._name()

    def show_all(self) -> None:
        """All of the run, up to now."""
        if self.lanes is None:
            return
        self.follows = True
        self._begin = self.lanes.began
        ahead = 1.06 if self.lanes.ended else 1.12
        self._seconds = max(10.0, (self.now - self.lanes.began) * ahead)
        self.viewport().update()

    @property
    def now(self) -> float:
        """The end of the run, or the present."""
        if self.lanes is None or not self.lanes.began:
            return 0.0
        return self.lanes.ended or max(time.time(), self.lanes.began)

    def choose(self, key: Key) -> None:
        """Mark what belongs to a step or an item, and bring its newest bar into sight."""
        if key == self.key:
            return
        self.key = key
        found = self.lanes.newest(key) if self.lanes is not None and key[0] else None
        self._bar = found[1:] if found else None
        if found is not None:
            self._reveal(found[0], *found[1:])
        self._name()
        self.viewport().update()

    def _name(self) -> None:
        lanes = self.lanes.lanes if self.lanes is not None else []
        agents = tr_plural("{count} lane", "{count} lanes", len(lanes))
        self.setAccessibleName(tr("Timeline, {lanes}").format(lanes=agents))
        bar = self._current
        self.setAccessibleDescription(self.spoken(bar) if bar is not None else "")

    @property
    def _current(self) -> Bar | None:
        return self.lanes.bar(*self._bar) if self.lanes is not None and self._bar else None

    def spoken(self, bar: Bar) -> str:
        """What a screen reader says of a bar."""
        assert self.lanes is not None
        end = self.now if bar.end == OPEN else bar.end
        words = tr(WORDS[bar.kind]) if bar.kind in WORDS else ""
        from_to = tr("{begin} to {end}").format(
            begin=clock(bar.begin - self.lanes.began), end=clock(end - self.lanes.began)
        )
        return joined((bar.key[0], self.lanes.item_name(bar.key), words, from_to))

    # Places

    def _measure(self) -> None:
        t, tops = self._theme, [0]
        for lane in self.lanes.lanes if self.lanes is not None else []:
            rows = len(lane.rows)
            tall = t.height(LANE, "small")
            tops.append(tops[-1] + max(tall, rows * t.px(THIN + 1) + t.px(8)))
        self._tops = tops
        room = self.viewport().height() - self._head
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, tops[-1] + t.px(4) - room))
        bar.setPageStep(max(1, room))
        bar.setSingleStep(t.px(LANE))
        self.viewport().update()

    @property
    def _head(self) -> int:
        return self._theme.height(HEAD, "small")

    @property
    def _left(self) -> int:
        return self._theme.px(NAMES) + self._theme.px(16)

    def _x(self, at: float) -> float:
        room = max(1.0, self.viewport().width() - self._left)
        return self._left + (at - self._begin) / self._seconds * room

    def _time(self, x: float) -> float:
        room = max(1.0, self.viewport().width() - self._left)
        return self._begin + (x - self._left) / room * self._seconds

    def _rows(self, number: int, lane: Lane) -> Iterator[tuple[BarRow, float, float]]:
        """The rows of a lane, each with its top and height in the widget."""
        top = self._tops[number] + self._head - self.verticalScrollBar().value()
        room = self._tops[number + 1] - self._tops[number]
        thin, gap = self._theme.px(THIN), 1
        if len(lane.rows) == 1:
            tall = self._theme.px(14)
            yield lane.rows[0], top + (room - tall) / 2, tall
            return
        first = top + (room - len(lane.rows) * (thin + gap)) / 2
        for at, row in enumerate(lane.rows):
            yield row, first + at * (thin + gap), thin

    def _rect(self, row: BarRow, at: int, top: float, tall: float) -> QRectF:
        end = min(row.ends[at], self.now)
        left = self._x(row.begins[at])
        return QRectF(left, top, max(self._theme.px(3), self._x(end) - left), tall)

    def place_of(self, key: Key) -> QPointF:
        """The middle of the newest bar of a step or an item, in the viewport."""
        assert self.lanes is not None
        found = self.lanes.newest(key)
        assert found is not None
        number, wanted, at = found
        for row, top, tall in self._rows(number, self.lanes.lanes[number]):
            if row is wanted:
                return self._rect(row, at, top, tall).center()
        raise KeyError(key)

    def _bar_at(self, place: QPointF) -> tuple[BarRow, int] | None:
        if self.lanes is None or place.x() < self._left or place.y() < self._head:
            return None
        for number, lane in enumerate(self.lanes.lanes):
            for row, top, tall in self._rows(number, lane):
                if top - 2 <= place.y() <= top + tall + 2:
                    at = bisect_right(row.begins, self._time(place.x() + 1)) - 1
                    if at >= 0 and self._rect(row, at, top, tall).right() >= place.x() - 1:
                        return row, at
        return None

    def _reveal(self, number: int, row: BarRow, at: int) -> None:
        bar, head = self.verticalScrollBar(), self._head
        if number + 1 < len(self._tops):
            top, bottom = self._tops[number], self._tops[number + 1]
            room = self.viewport().height() - head
            bar.setValue(min(max(bar.value(), bottom - room), top))
        begin, end = row.begins[at], min(row.ends[at], self.now)
        if not self.follows and not (self._begin <= end and begin <= self._begin + self._seconds):
            self._begin = begin - self._seconds * 0.1

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        t, painter = self._theme, QPainter(self.viewport())
        painter.fillRect(event.rect(), t.color("surface"))
        if self.lanes is not None and self.lanes.began:
            self._paint_times(painter)
            right = self._begin + self._seconds
            rows = (row for lane in self.lanes.lanes for row in lane.rows)
            self._seen = sum(row.count(self._begin, right) for row in rows)
            painter.save()
            painter.setClipRect(0, self._head, self.viewport().width(), self.viewport().height())
            for number, lane in enumerate(self.lanes.lanes):
                top = self._tops[number] + self._head - self.verticalScrollBar().value()
                room = self._tops[number + 1] - self._tops[number]
                if top + room >= self._head and top <= self.viewport().height():
                    self._paint_lane(painter, number, lane, top, room)
            painter.restore()
            self._paint_now(painter)
        painter.end()

    @property
    def _step(self) -> float:
        """Seconds between two lines, which stand 80 pixels apart at least."""
        wide = self._seconds / max(1, self.viewport().width() - self._left) * self._theme.px(80)
        return next((step for step in STEPS if step >= wide), STEPS[-1] * (1 + wide // STEPS[-1]))

    def _paint_times(self, painter: QPainter) -> None:
        t, step = self._theme, self._step
        assert self.lanes is not None
        at = max(0.0, (self._begin - self.lanes.began) // step * step)
        height = self.viewport().height()
        while (x := self._x(self.lanes.began + at)) <= self.viewport().width():
            if x >= self._left - 1:
                painter.fillRect(QRectF(round(x), self._head, 1, height), t.color("hair"))
                words = QRectF(x - 40, 0, 80, self._head - t.px(4))
                centred = Qt.AlignmentFlag.AlignCenter
                near = abs(x - self._now_place().center().x()) < self._now_place().width()
                if words.right() - t.px(20) <= self.viewport().width() and not near:
                    paint_text(painter, t, words, clock(at), "small digits", "text2", centred)
            at += step

    def _paint_lane(
        self, painter: QPainter, number: int, lane: Lane, top: float, room: float
    ) -> None:
        t, side = self._theme, self._theme.px(18)
        painter.save()
        painter.setClipRect(
            QRectF(self._left - 2, self._head, self.viewport().width(), self.viewport().height())
        )
        for row, y, tall in self._rows(number, lane):
            if self._seen > MOST_BARS:
                self._paint_crowd(painter, lane, row, y, tall)
                continue
            right = self._begin + self._seconds
            for at, _, end in row.between(self._begin, right, self._pixel):
                self._paint_bar(painter, lane, row, at, end, y, tall)
        painter.restore()
        tile = QRectF(t.px(16), top + (room - side) / 2, side, side)
        paint_tile(painter, t, tile, lane.icon, lane.hue)
        words = QRectF(tile.right() + t.px(8), top, 0, room)
        words.setRight(self._left - t.px(8))
        paint_text(painter, t, words, lane.name, "small", room=words.width())

    @property
    def _pixel(self) -> float:
        """Seconds of a pixel."""
        return self._seconds / max(1, self.viewport().width() - self._left)

    def _paint_crowd(
        self, painter: QPainter, lane: Lane, row: BarRow, y: float, tall: float
    ) -> None:
        """Bars that are too many to be painted one by one: in one colour of each kind."""
        t, pixel = self._theme, self._pixel
        assert self.lanes is not None
        rows = sum(len(one.rows) for one in self.lanes.lanes)
        least = pixel * max(1.0, rows * (self.viewport().width() - self._left) / MOST_BOXES)
        right, now = self._begin + self._seconds, self.now
        plain, failed, chosen = list[QRectF](), list[QRectF](), list[QRectF]()
        first, scale = self._left - self._begin / pixel, 1 / pixel
        step, keys = self.key[0], self.lanes.keys
        for at, behind, end in row.between(self._begin, right, least):
            x = first + row.begins[at] * scale
            width = (min(end, now) - row.begins[at]) * scale
            box = QRectF(x, y, max(1.0, width - 0.5), tall)
            if step and keys[row.owners[at]][0] == step:
                chosen.append(box)
            else:
                (failed if FAILED in row.kinds[at:behind] else plain).append(box)
        painter.setPen(Qt.PenStyle.NoPen)
        ink, _ = t.hue(lane.hue)
        shade = QColor(ink)
        shade.setAlphaF(0.45)
        colours = ((plain, shade), (failed, t.color("err")), (chosen, t.color("accent_text")))
        for boxes, colour in colours:
            if boxes:
                painter.setBrush(colour)
                painter.drawRects(boxes)

    def _paint_bar(
        self, painter: QPainter, lane: Lane, row: BarRow, at: int, end: float, y: float, tall: float
    ) -> None:
        t, kind = self._theme, row.kinds[at]
        left = max(self._x(row.begins[at]), self._left - 20.0)
        right = min(self._x(min(end, self.now)), self.viewport().width() + 20.0)
        box = QRectF(left, y, max(t.px(3), right - left), tall)
        ink, fill = t.hue(lane.hue)
        match kind:
            case 1 | 2:
                ink, fill = t.color("warn"), t.color("warn_soft")
            case 3:
                ink, fill = t.color("err"), t.color("err_soft")
            case 4:
                ink, fill = t.color("text2"), t.color("track")
            case _:
                pass
        chosen = self._chosen(row, at)
        if box.width() < 4:
            painter.fillRect(box, t.color("accent_text") if chosen else ink)
            return
        border = QColor(ink)
        border.setAlphaF(0.55)
        paint_rounded(painter, box, 3, fill, border)
        if kind in (WAIT, AGAIN):
            painter.setBrushOrigin(box.topLeft())
            painter.fillRect(box.adjusted(1, 1, -1, -1), QBrush(self._hatch(ink)))
            self._paint_words(painter, box, tr(WORDS[kind]))
        elif kind == FAILED and box.width() >= tall:
            mark = min(tall - 2, t.px(12))
            cross = QRectF(box.center().x() - mark / 2, box.center().y() - mark / 2, mark, mark)
            t.paint_icon(painter, cross, "x", ink)
        if chosen:
            ring = box.adjusted(-2, -2, 2, 2)
            paint_rounded(painter, ring, 5, None, t.color("accent_text"), 2)

    def _paint_words(self, painter: QPainter, box: QRectF, words: str) -> None:
        """Words in the middle of a hatched bar, where they have room."""
        t = self._theme
        seen = box.intersected(QRectF(self._left, 0, self.viewport().width(), 1e6))
        width = t.metrics("small_medium").horizontalAdvance(words) + t.px(16)
        if seen.width() < width + t.px(16) or box.height() < t.px(12):
            return
        place = QRectF(seen.center().x() - width / 2, box.y() + 1, width, box.height() - 2)
        painter.fillRect(place, t.color("surface"))
        centred = Qt.AlignmentFlag.AlignCenter
        place.adjust(0, -2, 0, 2)
        paint_text(painter, t, place, words, "small_medium", "warn", centred)

    def _chosen(self, row: BarRow, at: int) -> bool:
        """Whether a bar is the one that is chosen, or one of an item of the chosen step."""
        if not self.key[0] or self.lanes is None:
            return False
        step, item = self.lanes.keys[row.owners[at]]
        if item and not self.key[1]:
            return step == self.key[0]
        return self._bar == (row, at)

    def _hatch(self, ink: QColor) -> QPixmap:
        known = self._hatching.get(ink.rgba())
        if known is not None:
            return known
        made = self._hatching[ink.rgba()] = QPixmap(12, 12)
        made.fill(Qt.GlobalColor.transparent)
        painter = QPainter(made)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        line = QColor(ink)
        line.setAlphaF(0.16)
        painter.setPen(QPen(line, 4))
        for shift in (-12, 0, 12):
            painter.drawLine(QPointF(shift - 2, 14), QPointF(shift + 14, -2))
        painter.end()
        return made

    def _now_place(self) -> QRectF:
        """Where the time of now, or of the end, stands above."""
        assert self.lanes is not None
        words = clock(self.now - self.lanes.began)
        width = self._theme.metrics("tag digits").horizontalAdvance(words) + self._theme.px(14)
        x = round(self._x(self.now))
        place = QRectF(x - width / 2, self._theme.px(2), width, self._head - self._theme.px(7))
        place.moveRight(min(place.right(), self.viewport().width() - 2.0))
        return place

    def _paint_now(self, painter: QPainter) -> None:
        t = self._theme
        assert self.lanes is not None
        x = round(self._x(self.now))
        if not self._left <= x <= self.viewport().width():
            return
        ended, place = bool(self.lanes.ended), self._now_place()
        ink = "text2" if ended else "accent"
        painter.fillRect(QRectF(x, self._head - 4, 1 if ended else 2, 1e5), t.color(ink))
        paint_rounded(painter, place, 4, t.color("track" if ended else "accent"))
        tone, centred = "text1" if ended else "accent_on", Qt.AlignmentFlag.AlignCenter
        words = clock(self.now - self.lanes.began)
        paint_text(painter, t, place, words, "tag digits", tone, centred)

    # Mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        found = self._bar_at(event.position())
        if found is not None:
            self._take(found)
        else:
            self._grabbed = event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._grabbed is None:
            return
        by = event.position().x() - self._grabbed.x()
        if abs(by) > 3:
            self._move(-by / max(1, self.viewport().width() - self._left) * self._seconds)
            self._grabbed = event.position()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._grabbed = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if (found := self._bar_at(event.position())) is not None and self.lanes is not None:
            self.opened.emit(*self.lanes.bar(*found).key)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Up and down through the lanes; with Shift through time, with Ctrl nearer."""
        angle = event.angleDelta()
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.zoom(1.0015 ** -angle.y(), self._time(event.position().x()))
        elif angle.x() or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self._move(-(angle.x() or angle.y()) / 1000 * self._seconds)
        else:
            super().wheelEvent(event)

    def zoom(self, factor: float, about: float | None = None) -> None:
        """Show ``factor`` times as much time, with the time ``about`` where it is."""
        if self.lanes is None:
            return
        middle = self._begin + self._seconds / 2 if about is None else about
        whole = max(10.0, (self.now - self.lanes.began) * 1.06)
        wanted = min(max(0.5, self._seconds * factor), whole)
        self._begin = middle - (middle - self._begin) / self._seconds * wanted
        self._seconds = wanted
        self._move(0.0)

    def _move(self, by: float) -> None:
        if self.lanes is None:
            return
        last = max(self.lanes.began, self.now - self._seconds * 0.9)
        self._begin = min(max(self._begin + by, self.lanes.began), last)
        self.follows = False
        self.moved.emit()
        self.viewport().update()

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and self.lanes is not None:
            found = self._bar_at(QPointF(event.pos()))
            words = self.spoken(self.lanes.bar(*found)) if found else ""
            QToolTip.showText(event.globalPos(), plain_tip(words) if words else "", self)
            return True
        return super().viewportEvent(event)

    # Keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        along = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        across = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
        key = Qt.Key(event.key())
        if key in along:
            self._along(along[key])
        elif key in across:
            self._across(across[key])
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.key[0]:
            self.opened.emit(*self.key)
        elif event.text() == "+":
            self.zoom(0.5)
        elif event.text() == "-":
            self.zoom(2.0)
        elif event.text() == "0":
            self.show_all()
        else:
            event.ignore()

    def _along(self, step: int) -> None:
        if self._bar is None:
            self._across(1)
            return
        row, at = self._bar
        if 0 <= at + step < len(row):
            self._take((row, at + step), spoken=True)

    def _across(self, step: int) -> None:
        """To the bar of the next row that is nearest in time."""
        rows = [row for lane in self.lanes.lanes for row in lane.rows if row] if self.lanes else []
        if not rows:
            return
        if self._bar is None:
            self._take((rows[0], 0), spoken=True)
            return
        row, at = self._bar
        number = rows.index(row) + step
        if 0 <= number < len(rows):
            other = rows[number]
            near = max(0, bisect_right(other.begins, row.begins[at]) - 1)
            self._take((other, near), spoken=True)

    def _take(self, bar: tuple[BarRow, int], *, spoken: bool = False) -> None:
        """A person's choice."""
        assert self.lanes is not None
        self._bar, found = bar, self.lanes.bar(*bar)
        self.key = found.key
        for number, lane in enumerate(self.lanes.lanes):
            if bar[0] in lane.rows:
                self._reveal(number, *bar)
        self._name()
        if spoken:
            announce(self, self.spoken(found))
        self.viewport().update()
        self.chosen.emit(*found.key)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if self._bar is None and event.reason() in (
            Qt.FocusReason.TabFocusReason,
            Qt.FocusReason.BacktabFocusReason,
        ):
            self._across(1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._measure()
