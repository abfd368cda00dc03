"""A list whose current row has a ring while the keyboard is used in it."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import QListView, QWidget

from studio.ui.theme import Theme

from .focus import KEYBOARD


class KeyboardList(QListView):
    """Its delegate asks ``keyboard_focus`` whether to paint the ring."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.keyboard_focus = False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._show_ring(True)
        super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._show_ring(event.reason() in KEYBOARD)
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._show_ring(False)
        super().focusOutEvent(event)

    def _show_ring(self, on: bool) -> None:
        self.keyboard_focus = on
        self.viewport().update()


def paint_row_ring(painter: QPainter, theme: Theme, place: QRectF) -> None:
    """The ring; ``place`` is the row as far as the ring may go."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(theme.color("accent_text"), 2))
    painter.drawRoundedRect(place.adjusted(1, 1, -1, -1), 5, 5)
    painter.restore()
