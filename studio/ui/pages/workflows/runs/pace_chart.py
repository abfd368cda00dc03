"""Pace chart: how many items were worked on at a time since the run began (W-54, W-56)."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy

from studio.ui.formatting import number
from studio.ui.theme import Theme, joined
from studio.ui.translation import tr
from studio.ui.widgets.painting import PaintedWidget, paint_ends, paint_text

from .run_record import when

LEAST = 3
"""Points that make a curve."""
SIDE = 16


class PaceChart(PaintedWidget):
    """A curve with its newest value, the provider's limit dashed; hidden while there is none."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._points: Sequence[tuple[float, int]] = ()
        self._limit = 0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.updateGeometry)
        self.hide()

    def show_points(self, points: Sequence[tuple[float, int]], limit: int) -> None:
        """``points`` are times in seconds since the epoch, with items; ``limit`` may be 0."""
        self._points, self._limit = points, limit
        self.setVisible(len(points) >= LEAST)
        if points:
            now = number(points[-1][1])
            self.setAccessibleName(joined([tr("At a time"), now, self._limit_words]))
        self.update()

    @property
    def _limit_words(self) -> str:
        return tr("limit found at {count}").format(count=number(self._limit)) if self._limit else ""

    def sizeHint(self) -> QSize:
        t = self.theme
        line = t.metrics("small").height()
        return QSize(200, t.px(10) + 2 * line + t.px(56))

    def minimumSizeHint(self) -> QSize:
        return QSize(100, self.sizeHint().height())

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t, points = self.theme, self._points
        if len(points) < LEAST:
            return
        inner = rect.adjusted(SIDE, t.px(10), -SIDE, 0)
        painter.fillRect(QRectF(inner.x(), rect.y(), inner.width(), 1), t.color("hair"))
        line = t.metrics("small").height()
        head = QRectF(inner.x(), inner.y(), inner.width(), line)
        now = number(points[-1][1])
        paint_ends(
            painter, t, head, (tr("At a time"), "small_strong", "text1"), (now, "small", "text2")
        )
        foot = QRectF(inner.x(), inner.bottom() - line, inner.width(), line)
        ends = [(when(points[at][0]), "small", "text2") for at in (0, -1)]
        paint_ends(painter, t, foot, ends[0], ends[1])
        middle = Qt.AlignmentFlag.AlignCenter
        paint_text(painter, t, foot, self._limit_words, "small", "text2", middle)
        area = QRectF(inner.x(), head.bottom() + t.px(6), inner.width(), 0.0)
        area.setBottom(foot.y() - t.px(6))
        self._paint_curve(painter, area)

    def _paint_curve(self, painter: QPainter, area: QRectF) -> None:
        t, points = self.theme, self._points
        begin, end = points[0][0], points[-1][0]
        most = max(max(value for _, value in points), self._limit, 1)

        def y_of(value: int) -> float:
            return area.bottom() - area.height() * value / most

        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._limit:
            painter.setPen(QPen(t.color("text3"), 1, Qt.PenStyle.DashLine))
            y = y_of(self._limit)
            painter.drawLine(QPointF(area.x(), y), QPointF(area.right(), y))
        span = max(end - begin, 1e-9)
        curve = QPolygonF(
            [
                QPointF(area.x() + area.width() * (at - begin) / span, y_of(value))
                for at, value in points
            ]
        )
        painter.setPen(QPen(t.color("accent_text"), 1.5))
        painter.drawPolyline(curve)
        painter.restore()
