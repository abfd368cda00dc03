"""Lists the requests of a chat: tokens, cost, and caches that broke."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.ui.theme import Theme, elided, joined

MARGIN = 16
_WRAP = int(Qt.TextFlag.TextWordWrap)


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One request: ``right`` is its cost, ``tokens`` what it used, ``broke`` why its cache did."""

    title: str
    right: str
    tokens: str
    broke: str = ""


class RequestList(QWidget):
    """Painted where it is seen; hidden while there is nothing to list."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self._rows: Sequence[RequestRow] = ()
        self._tops: list[int] = [0]
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._measure)
        self.hide()

    def set(self, rows: Sequence[RequestRow]) -> None:
        """Show requests, the newest first."""
        if list(rows) == list(self._rows):
            return
        self._rows = rows
        self.setAccessibleName(f"Requests, {len(rows)}")
        lines = (joined((row.title, row.tokens, row.right, row.broke)) for row in rows[:20])
        self.setAccessibleDescription(". ".join(lines))
        self.setVisible(bool(rows))
        self._measure()

    def _measure(self) -> None:
        t = self.theme
        y = t.px(20) + t.px(26)
        self._tops = []
        for row in self._rows:
            self._tops.append(y)
            y += t.px(42)
            if row.broke:
                y += self._broken(row, 0).height() + t.px(4)
        self._tops.append(y + t.px(8))
        self.setFixedHeight(self._tops[-1])
        self.update()

    def _broken(self, row: RequestRow, y: int) -> QRect:
        """Where the words about a broken cache are."""
        t = self.theme
        left = MARGIN + t.px(20)
        room = QRect(left, y, max(80, self.width() - MARGIN - left), 1000)
        found = t.metrics("small").boundingRect(room, _WRAP, row.broke)
        return QRect(left, y, room.width(), found.height())

    def sizeHint(self) -> QSize:
        return QSize(240, self._tops[-1])

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self._measure()

    def paintEvent(self, event: QPaintEvent) -> None:
        t, painter = self.theme, QPainter(self)
        painter.fillRect(MARGIN, t.px(9), self.width() - 2 * MARGIN, 1, t.color("hair"))
        head = QRectF(MARGIN, t.px(20), self.width() - 2 * MARGIN, t.px(24))
        self._line(painter, head, "Requests", str(len(self._rows)), "small_strong", "text1")
        for number, row in enumerate(self._rows):
            top, end = self._tops[number], self._tops[number + 1]
            if end >= event.rect().top() and top <= event.rect().bottom():
                self._paint_row(painter, row, top)
        painter.end()

    def _paint_row(self, painter: QPainter, row: RequestRow, y: int) -> None:
        t, width = self.theme, self.width() - 2 * MARGIN
        self._line(painter, QRectF(MARGIN, y, width, t.px(21)), row.title, row.right, "ui", "text1")
        tokens = QRectF(MARGIN, y + t.px(20), width, t.px(18))
        self._line(painter, tokens, row.tokens, "", "small", "text2")
        if row.broke:
            place = self._broken(row, y + t.px(40))
            side = t.px(14)
            mark = QRectF(MARGIN, place.y() + 1, side, side)
            t.paint_icon(painter, mark, "triangle-alert", "warn")
            painter.setFont(t.font("small"))
            painter.setPen(t.color("warn"))
            painter.drawText(place, _WRAP, row.broke)

    def _line(
        self, painter: QPainter, rect: QRectF, left: str, right: str, role: str, token: str
    ) -> None:
        t, middle = self.theme, Qt.AlignmentFlag.AlignVCenter
        room = rect.width() - t.metrics("small").horizontalAdvance(right) - (12 if right else 0)
        painter.setFont(t.font(role, digits=True))
        painter.setPen(t.color(token))
        painter.drawText(rect, middle, elided(t.metrics(role), left, room))
        painter.setFont(t.font("small", digits=True))
        painter.setPen(t.color("text2"))
        painter.drawText(rect, middle | Qt.AlignmentFlag.AlignRight, right)
