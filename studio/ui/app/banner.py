"""Shows errors and hints of the program, and what was done, in a strip above the page."""

from __future__ import annotations

from collections.abc import Callable

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
        self._waiting: list[tuple[str, bool, Callable[[], object] | None]] = []
        """Texts, whether each says what was done, and who wants to know that it is shown."""
        self._done = False
        self._label = Label(theme, wrap=True)
        self._label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        close = IconButton(theme, "x", tr("Close"), clicked=self._next)
        self._row = row_of([(self._label, 1), close], on=self)
        self._follow()
        theme.changed.connect(self._follow)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.hide()

    @property
    def text(self) -> str:
        return self._label.text() if not self.isHidden() else ""

    def say(
        self, text: str, *, done: bool = False, shown: Callable[[], object] | None = None
    ) -> None:
        """Show a message after those that wait; one that is shown or waits is not repeated.

        ``done``: it says what was done, and not what is wrong. ``shown`` is called once
        it is seen.
        """
        text = tr_engine(text)
        if text in (self.text, *(waiting for waiting, *_ in self._waiting)):
            return
        self._waiting.append((text, done, shown))
        if self.isHidden():
            self._next()

    def _follow(self) -> None:
        px = self.theme.px
        self._row.setContentsMargins(px(44), px(6), px(10), px(6))

    def _next(self) -> None:
        if self._waiting:
            text, self._done, shown = self._waiting.pop(0)
            self.ground = "ok_soft" if self._done else "warn_soft"
            self._label.setText(text)
            self.setAccessibleName(text)
            self.show()
            self.update()
            if shown is not None:
                shown()
        else:
            self.hide()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        line, icon, ink = "hair", "circle-check", "ok"
        if not self._done:
            line, icon, ink = "warn_line", "triangle-alert", "warn"
        painter.fillRect(0, self.height() - 1, self.width(), 1, t.color(line))
        mark = QRectF(t.px(18), 0, t.px(16), rect.height())
        t.paint_icon(painter, mark, icon, ink)
