"""A long list of rows, of which only those in sight are made."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Generic, TypeVar

from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QScrollArea, QWidget

from studio.packs.ui import Theme

R = TypeVar("R", bound=QWidget)
_BESIDE = 2
"""Rows above and below those in sight that are made as well, for the Tab key."""


class RowList(QWidget, Generic[R]):
    """Rows in a scroll area, with lines between them.

    A row is made when it comes into sight and used for another place when it leaves it, unless it
    has the focus or is taller than the row that ``sample`` makes, because it shows or asks
    something. All others are as tall as that one. ``reuse`` shows another place's content in a row,
    and says whether it can. ``has`` says whether rows can be made; where they cannot yet, call
    ``fill`` later.
    """

    def __init__(
        self,
        theme: Theme,
        area: QScrollArea,
        has: Callable[[range], bool],
        make: Callable[[int], R],
        reuse: Callable[[R, int], bool],
        sample: Callable[[], R],
        count: int,
    ) -> None:
        super().__init__()
        self.rows: list[R] = []
        """Those that are made, from top to bottom."""
        self._theme, self._area, self._has, self._make = theme, area, has, make
        self._reuse = reuse
        self._spare: list[R] = []
        self._count, self._sample = count, sample
        self._made: dict[int, R] = {}
        self._more: dict[int, int] = {}
        """By how many pixels rows are taller than the sample."""
        bar = area.verticalScrollBar()
        bar.valueChanged.connect(self.fill)
        bar.rangeChanged.connect(self.fill)
        theme.changed.connect(self._measure, Qt.ConnectionType.QueuedConnection)  # after the rows
        self._measure()

    @property
    def first(self) -> int:
        """The place of the first row that is made."""
        return min(self._made, default=0)

    def show_row(self, index: int) -> R:
        """A row, which comes into sight."""
        view, bar = self._area.viewport(), self._area.verticalScrollBar()
        above = self.mapTo(view, QPoint(0, self._top(index))).y()
        if not 0 <= above <= view.height() - self._height:
            bar.setValue(bar.value() + above - view.height() // 2)
        return self._row(index)

    def _row(self, index: int) -> R:
        if (row := self._made.get(index)) is not None:
            return row
        while self._spare:
            row = self._spare.pop()
            if self._reuse(row, index):
                break
            row.deleteLater()
        else:
            row = self._make(index)
            row.setParent(self)
            row.ensurePolished()
        self._made[index] = row
        return row

    def _measure(self) -> None:
        sample = self._sample()
        sample.setParent(self)
        sample.ensurePolished()
        self._height = sample.sizeHint().height()
        sample.deleteLater()
        self._place()

    def _wanted(self, row: QWidget) -> int:
        if row.hasHeightForWidth() and self.width() > 1:
            return row.heightForWidth(self.width())
        return row.sizeHint().height()

    def _top(self, index: int) -> int:
        return index * (self._height + 1) + sum(
            more for place, more in self._more.items() if place < index
        )

    def _between(self, top: int, bottom: int) -> range:
        """The rows between two heights."""
        places = range(self._count)
        first = bisect_right(places, top, key=self._top) - 1
        return range(max(0, first), bisect_right(places, bottom, key=self._top))

    def fill(self) -> None:
        """Make the rows that are in sight, out of those that have left it where there are some."""
        if not self._count or self.parentWidget() is None or not self.isVisible():
            return
        view = self._area.viewport()
        first = self.mapFrom(view, QPoint(0, 0)).y()
        near = self._between(first, first + view.height())
        seen = range(max(0, near.start - _BESIDE), min(self._count, near.stop + _BESIDE))
        if not self._has(seen):
            return
        focused = self.window().focusWidget()  # also while another program is in front
        for index in [one for one in self._made if one not in seen and one not in self._more]:
            row = self._made[index]
            if focused is None or not row.isAncestorOf(focused):
                del self._made[index]
                row.hide()
                self._spare.append(row)
        new = [one for one in seen if one not in self._made]
        for index in new:
            self._row(index)
        if new or len(self.rows) != len(self._made):
            self._place()
        if new:
            first = sorted(self._made).index(new[0])
            self._order_focus(self.rows[max(0, first - 1) :])

    def _place(self) -> None:
        """Measure the rows, and put each at its place."""
        more: dict[int, int] = {}
        for index, row in self._made.items():
            if (taller := self._wanted(row) - self._height) > 0:
                more[index] = taller
        if more != self._more:
            self._more = more
            self.update()  # the lines
        order = sorted(self._made)
        for index in order:
            height = self._height + self._more.get(index, 0)
            self._made[index].setGeometry(0, self._top(index), self.width(), height)
            self._made[index].show()
        self.rows[:] = [self._made[index] for index in order]
        self.setFixedHeight(max(0, self._top(self._count) - 1))

    def _order_focus(self, rows: Sequence[R]) -> None:
        """Let Tab go through rows as they stand, though they were made in another order."""
        stops = [
            one
            for row in rows
            for one in row.findChildren(QWidget)
            if one.focusPolicy() and not one.isHidden()
        ]
        for before, after in pairwise(stops):
            QWidget.setTabOrder(before, after)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:  # a row became taller, or less tall
            self._place()
        return super().event(event)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.fill()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self._place()
        self.fill()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, ink = QPainter(self), self._theme.color("hair")
        for index in self._between(event.rect().top(), event.rect().bottom() + 1):
            painter.fillRect(0, self._top(index) - 1, self.width(), 1, ink)
