"""Says what was done with chats, and takes it back."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QKeySequence

from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Button, Card, IconButton, Label, plain_tip
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.layouts import row_of

SHOWN = 12_000
"""Milliseconds that the bar stays."""


class UndoBar(Card):
    """One line with “Undo”, gone after a while; what it undoes can be undone as long."""

    undone = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "raised", "control")
        self.words = Label(theme, "", "small", wrap=True)
        self.undo = Button(theme, tr("Undo"), "link", clicked=self.undone.emit)
        keys = QKeySequence(QKeySequence.StandardKey.Undo)
        self.undo.setToolTip(plain_tip(keys.toString(QKeySequence.SequenceFormat.NativeText)))
        close = IconButton(theme, "x", tr("Close"))
        close.clicked.connect(self.hide)
        row_of([(self.words, 1), self.undo, close], spacing=6, margins=(12, 4, 4, 4), on=self)
        self._end = QTimer(self, singleShot=True, interval=SHOWN)
        self._end.timeout.connect(self.hide)
        self.hide()

    def say(self, words: str, *, undo: bool) -> None:
        """Show what was done; with ``undo`` it can be taken back."""
        self.words.setText(words)
        self.undo.setVisible(undo)
        self.show()
        self._end.start()
        announce(self, words)
