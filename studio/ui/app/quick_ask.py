"""One line for a quick question, over whatever is on screen; the answer comes in a new chat."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QDialog

from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Field, Label
from studio.ui.widgets.layouts import column_of

WIDTH = 620
FROM_TOP = 0.22
"""Where it stands on the screen, as a part of the height."""


class QuickAsk(QDialog):
    """A line that Enter sends and Esc closes; what was typed stays for the next time."""

    asked = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setWindowTitle(tr("Quick question"))
        self.setWindowFlags(
            Qt.WindowType.Dialog
            | Qt.WindowType.FramelessWindowHint
            | Qt.WindowType.WindowStaysOnTopHint
        )
        self.field = Field(theme, tr("Ask in a new chat"), icon="message-square")
        self.field.setAccessibleName(tr("Ask in a new chat"))
        hint = Label(theme, tr("Enter asks, Esc closes."), "small", "text3")
        column_of([self.field, hint], spacing=theme.px(8), margins=(16, 16, 16, 12), on=self)

    def ask(self) -> None:
        """Show the line in the upper part of the screen, ready to be typed in."""
        screen = self.screen().availableGeometry()
        self.resize(min(self._theme.px(WIDTH), screen.width()), self.sizeHint().height())
        left = screen.x() + (screen.width() - self.width()) // 2
        self.move(left, screen.y() + round(FROM_TOP * screen.height()))
        self.show()
        self.raise_()
        self.activateWindow()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            super().keyPressEvent(event)
        elif text := self.field.text().strip():
            self.hide()
            self.field.clear()
            self.asked.emit(text)

    def paintEvent(self, event: QPaintEvent) -> None:
        t, painter = self._theme, QPainter(self)
        painter.fillRect(self.rect(), t.color("control"))  # square: not every desktop has corners
        painter.fillRect(self.rect().adjusted(1, 1, -1, -1), t.color("raised"))
        painter.end()
