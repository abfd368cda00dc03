"""Shows errors and hints of the program in a strip above the page."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from studio.ui.theme import Theme
from studio.ui.widgets import IconButton, Label


class Banner(QWidget):
    """One message at a time, until it is closed; hidden when there is none."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._waiting: list[str] = []
        self._label = Label(theme, "", "ui", "text1")
        self._label.setWordWrap(True)
        self._label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        close = IconButton(theme, "x", "Close")
        close.clicked.connect(self._next)
        row = QHBoxLayout(self)
        row.setContentsMargins(theme.px(44), theme.px(6), theme.px(10), theme.px(6))
        row.addWidget(self._label, 1)
        row.addWidget(close)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.hide()

    @property
    def text(self) -> str:
        return self._label.text() if not self.isHidden() else ""

    def say(self, text: str) -> None:
        """Show a message after those that wait; one that is shown or waits is not repeated."""
        if text in (self.text, *self._waiting):
            return
        self._waiting.append(text)
        if self.isHidden():
            self._next()

    def _next(self) -> None:
        if self._waiting:
            text = self._waiting.pop(0)
            self._label.setText(text)
            self.setAccessibleName(text)
            self.show()
        else:
            self.hide()

    def paintEvent(self, event: QPaintEvent) -> None:
        t = self._theme
        painter = QPainter(self)
        painter.fillRect(self.rect(), t.color("warn_soft"))
        painter.fillRect(0, self.height() - 1, self.width(), 1, t.color("warn_line"))
        side = t.px(16)
        box = self.rect().adjusted(t.px(18), 0, 0, 0)
        box.setWidth(side)
        t.paint_icon(painter, box.toRectF(), "triangle-alert", "warn")
        painter.end()
