"""A strip above the editor: what is special about the file, with up to two ways on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QSizePolicy

from studio.ui.theme import Theme
from studio.ui.widgets import Button, Label
from studio.ui.widgets.layouts import row_of
from studio.ui.widgets.painting import PaintedWidget

Way: TypeAlias = tuple[str, Callable[[], object]]
"""The words of a button, and what it does."""


class Notice(PaintedWidget):
    """One text at a time; hidden without one."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._warns = False
        self.label = Label(theme, wrap=True)
        self.buttons = [Button(theme, "", parent=self) for _ in range(2)]
        self._does: list[Callable[[], object]] = []
        for at, button in enumerate(self.buttons):
            button.clicked.connect(lambda _=False, at=at: self._does[at]())
        self._row = row_of([(self.label, 1), *self.buttons], on=self)
        theme.changed.connect(self._space)
        self._space()
        self.hide()

    @property
    def text(self) -> str:
        return "" if self.isHidden() else self.label.text()

    def show_text(self, text: str, ways: Sequence[Way] = (), *, warns: bool = False) -> None:
        """Show a text; an empty one hides the strip."""
        self._warns = warns
        self._does = [does for _, does in ways]
        self.label.setText(text)
        self.setAccessibleName(text)
        for at, button in enumerate(self.buttons):
            button.setVisible(at < len(ways))
            if at < len(ways):
                button.set_text(ways[at][0])
        self.setVisible(bool(text))
        self.update()

    def _space(self) -> None:
        px = self.theme.px
        self._row.setSpacing(px(8))
        self._row.setContentsMargins(px(44), px(6), px(16), px(7))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        painter.fillRect(rect, t.color("warn_soft" if self._warns else "sunken"))
        line = t.color("warn_line" if self._warns else "hair")
        painter.fillRect(0, self.height() - 1, self.width(), 1, line)
        mark = QRectF(t.px(20), 0, t.px(16), rect.height() - 1)
        icon, ink = ("triangle-alert", "warn") if self._warns else ("info", "text2")
        t.paint_icon(painter, mark, icon, ink)
