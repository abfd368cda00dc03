"""Shows errors and hints of the program in a strip above the page."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QSizePolicy

from studio.ui.engine_texts import tr_engine
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import IconButton, Label
from studio.ui.widgets.layouts import row_of
from studio.ui.widgets.painting import PaintedWidget


class Banner(PaintedWidget):
    """One message at a time, until it is closed; hidden when there is none."""

    ground = "warn_soft"

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._waiting: list[str] = []
        self._label = Label(theme, wrap=True)
        self._label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        close = IconButton(theme, "x", tr("Close"), clicked=self._next)
        margins = (theme.px(44), theme.px(6), theme.px(10), theme.px(6))
        row_of([(self._label, 1), close], margins=margins, on=self)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.hide()

    @property
    def text(self) -> str:
        return self._label.text() if not self.isHidden() else ""

    def say(self, text: str) -> None:
        """Show a message after those that wait; one that is shown or waits is not repeated."""
        text = tr_engine(text)
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

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        painter.fillRect(0, self.height() - 1, self.width(), 1, t.color("warn_line"))
        mark = QRectF(t.px(18), 0, t.px(16), rect.height())
        t.paint_icon(painter, mark, "triangle-alert", "warn")
