"""Paints the program's logo."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.ui.theme import Theme

from . import paint_rounded


class Logo(QWidget):
    """The program's mark."""

    def __init__(self, theme: Theme, size: int = 52, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self._size = size
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.updateGeometry)

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(self._size), self.theme.px(self._size))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_logo(painter, self.theme, QRectF(self.rect()))
        painter.end()


def paint_logo(painter: QPainter, theme: Theme, rect: QRectF) -> None:
    """Three agents joined to an A, white on the accent."""
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
