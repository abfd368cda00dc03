"""A list whose page has letters for keys: it leaves them to the page."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QListView

from studio.ui.theme import Theme
from studio.ui.widgets import FocusRing, OverlayBar, make_transparent


class LetterList(QListView):
    """Chooses by arrow keys and mouse; other lists look for a row that begins with a letter."""

    radius = 7

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        make_transparent(self)
        self._bar = OverlayBar(self)
        FocusRing.of(theme).follow(self)
        theme.changed.connect(self.scheduleDelayedItemsLayout)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.text() and event.text().isprintable() and event.key() != Qt.Key.Key_Space:
            event.ignore()
        else:
            super().keyPressEvent(event)
