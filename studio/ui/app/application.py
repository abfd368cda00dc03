"""Qt's application, which tells what macOS wants this program to open: links, folders, files."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QUrl, Signal
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication

from .links import is_link


class StudioApplication(QApplication):
    """Qt's application; after ``opened`` there is something to ``take_opened``."""

    opened = Signal()

    def __init__(self, arguments: Sequence[str]) -> None:
        super().__init__(arguments)
        self._opened: list[str] = []

    def take_opened(self) -> list[str]:
        """Links and paths that came since the last time.

        Of what the program was started with they come before the first window.
        """
        taken, self._opened = self._opened, []
        return taken

    def event(self, event: QEvent) -> bool:
        """An override here sees what is sent to the application alone, so it costs nothing."""
        if isinstance(event, QFileOpenEvent):
            link = event.url().toString(QUrl.ComponentFormattingOption.FullyEncoded)
            if word := link if is_link(link) else event.file():
                self._opened.append(word)
                self.opened.emit()
                return True
        return super().event(event)
