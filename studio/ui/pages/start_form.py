"""Start form: what a run or a mission is asked for, above the page it begins on."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import QSizePolicy

from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Button, Label
from studio.ui.widgets.painting import PaintedWidget


class StartForm(PaintedWidget):
    """A title, Start, Cancel and what is wrong; Enter starts, Escape leaves it."""

    ground = "surface"

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.title = Label(theme, "", "ui_medium", wrap=True)
        self.wrong = Label(theme, "", "ui", "err", wrap=True)
        self.start = Button(theme, tr("Start"), "primary", "play", clicked=self.begin)
        self.cancel = Button(theme, tr("Cancel"), "ghost", clicked=self.hide)
        self._begins = False
        self.hide()

    def begin(self) -> None:
        """Start it once, however often that is asked for."""
        if not self._begins:
            self._begins = True
            self.give()

    def give(self) -> None:
        """Say what was given, or what is wrong with it."""
        raise NotImplementedError

    def show_error(self, text: str) -> None:
        """Show what is wrong; it can be started then."""
        self._begins = False
        self.wrong.show_text(text)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if event.key() == Qt.Key.Key_Escape or (enter and self.cancel.hasFocus()):
            self.hide()
        elif enter:  # also from a field, which leaves that to the form
            self.begin()
        else:
            super().keyPressEvent(event)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        line = self.theme.color("hair")
        painter.fillRect(0, self.height() - 1, self.width(), 1, line)
