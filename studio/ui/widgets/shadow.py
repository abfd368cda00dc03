"""Shadow: what a menu or a list that lies over the window casts on it.

A pop-up is a window of its own, and where the desktop gives such a window no shadow, nobody
does. So it is painted in the window below, and ends at that window's edge.
"""

from __future__ import annotations

import sys

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QMenu, QWidget

from .painting import paint_rounded

REACH = 15
"""Pixels that the shadow of a pop-up goes beyond it at the sides."""
RADIUS = 8


def paint_shadow(painter: QPainter, box: QRectF, radius: float, reach: int) -> None:
    """The shadow of a box that floats, a third of ``reach`` below it."""
    shade = QColor(0, 0, 0, 2)
    for grow in range(reach, 0, -1):  # so many that no edge is seen
        around = box.adjusted(-grow, -grow, grow, grow).translated(0, reach // 3)
        paint_rounded(painter, around, radius + grow, shade)


def cast_shadow(popup: QWidget) -> None:
    """Give a pop-up that is about to be shown a shadow until it goes.

    On macOS and Windows the system does.
    """
    below = popup.parentWidget()
    while isinstance(below, QMenu):
        below = below.parentWidget()
    if below is not None and sys.platform not in ("darwin", "win32"):
        _Shadow(popup, below.window())


class _Shadow(QWidget):
    """Lies over a window, below a pop-up."""

    def __init__(self, popup: QWidget, window: QWidget) -> None:
        super().__init__(window)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._popup = popup
        popup.installEventFilter(self)
        popup.destroyed.connect(self.deleteLater)
        self.hide()

    @property
    def _box(self) -> QRect:
        """The pop-up's place in the window."""
        corner = self.window().mapFromGlobal(self._popup.mapToGlobal(QPoint()))
        return QRect(corner, self._popup.size())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        match event.type():
            case QEvent.Type.Show:
                self._place()
                self.show()
                self.raise_()
            case QEvent.Type.Move | QEvent.Type.Resize:
                self._place()
            case QEvent.Type.Hide:
                watched.removeEventFilter(self)
                self.hide()
                self.deleteLater()
            case _:
                pass
        return False

    def _place(self) -> None:
        self.setGeometry(self._box.adjusted(-REACH, -REACH, REACH, REACH + REACH // 3))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        box = QRectF(self._box.translated(-self.pos()))
        beside = QPainterPath()
        beside.addRect(QRectF(self.rect()))
        beside.addRect(box)  # what is inside both is left out: the pop-up may have no window
        painter = QPainter(self)
        painter.setClipPath(beside)
        paint_shadow(painter, box, RADIUS, REACH)
        painter.end()
