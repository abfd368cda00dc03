"""Code box: shows a text that may be long, in a field that scrolls."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPlainTextEdit, QSizePolicy

from studio.ui.theme import Theme

from .focus import FocusRing
from .layouts import column_of
from .panels import Card, OverlayBar, make_transparent


class _Text(QPlainTextEdit):
    resized = Signal()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.resized.emit()


class CodeBox(Card):
    """Some lines of a text, as tall as they are from ``least`` up to ``most``."""

    def __init__(
        self, theme: Theme, name: str, most: int, least: int = 2, role: str = "code"
    ) -> None:
        super().__init__(theme, "sunken", "hair", 6)
        self._most, self._least, self._role = most, least, role
        self.edit = _Text()
        self.edit.resized.connect(self._measure)
        self.edit.setReadOnly(True)
        self.edit.setTabChangesFocus(True)
        self.edit.setAccessibleName(name)
        make_transparent(self.edit)
        OverlayBar(self.edit)
        FocusRing.of(theme).follow(self.edit, inside=False)
        column_of([self.edit], margins=(6, 4, 6, 4), on=self)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.edit.document().documentLayout().documentSizeChanged.connect(lambda _: self._measure())
        theme.changed.connect(self._follow)
        self._follow()

    def show_text(self, text: str) -> None:
        """Show a text; another is not being typed."""
        if text != self.edit.toPlainText():
            self.edit.setPlainText(text)

    def _follow(self) -> None:
        self.edit.setFont(self.theme.font(self._role))
        self._measure()

    def _measure(self) -> None:
        lines, block = 0, self.edit.document().begin()
        while block.isValid() and lines < self._most:
            self.edit.document().documentLayout().blockBoundingRect(block)  # lays it out
            lines, block = lines + block.layout().lineCount(), block.next()
        line = self.edit.fontMetrics().lineSpacing()
        self.setFixedHeight(min(max(self._least, lines), self._most) * line + self.theme.px(22))
