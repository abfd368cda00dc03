"""Qt's application, which tells of the links that macOS wants this program to open."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QUrl, Signal
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication

from .links import is_link


class StudioApplication(QApplication):
    """Qt's application; after ``link_opened`` there is something to ``take_links``."""

    link_opened = Signal()

    def __init__(self, arguments: Sequence[str]) -> None:
        super().__init__(arguments)
        self._links: list[str] = []

    def take_links(self) -> list[str]:
        """The links that came since the last time; the one that started the program comes early."""
        taken, self._links = self._links, []
        return taken

    def event(self, event: QEvent) -> bool:
        """An override here sees what is sent to the application alone, so it costs nothing."""
        if isinstance(event, QFileOpenEvent):
            link = event.url().toString(QUrl.ComponentFormattingOption.FullyEncoded)
            if is_link(link):
                self._links.append(link)
                self.link_opened.emit()
                return True
        return super().event(event)
