"""The name of the open file, and what is special about it."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QSizePolicy

from studio.ui.theme import Theme, joined
from studio.ui.widgets.painting import PaintedWidget, paint_text


class FileTitle(PaintedWidget):
    """The name of the file and what is special about it, elided."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._name, self._state = "", ""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def show_title(self, name: str, state: str) -> None:
        self._name, self._state = name, state
        self.setAccessibleName(joined((name, state)))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """Room for the name, unless it is very long: buttons give up their words for it."""
        t = self.theme
        name = t.metrics("heading").horizontalAdvance(self._name) + 1
        return QSize(min(name, t.px(160)), t.px(24))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(40), self.theme.px(24))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        taken = t.metrics("small").horizontalAdvance(self._state) + t.px(8) if self._state else 0
        name = t.metrics("heading").horizontalAdvance(self._name)
        room = rect.width() - taken
        # The name comes first: the state is also told by the notice, the list and the buttons.
        state = self._state if room >= min(name, t.px(160)) else ""
        paint_text(painter, t, rect, self._name, "heading", room=room if state else rect.width())
        if state:
            box = rect.adjusted(min(name, room) + t.px(8), 1, 0, 1)
            paint_text(painter, t, box, state, "small", "text2")
