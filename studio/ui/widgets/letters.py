"""The letters that choose a line of a menu or a button.

They are underlined while they are of use. Of somebody who types, a letter is the beginning of a
word, which is meant for a message: so it is waited whether it stands alone.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QProxyStyle, QStyle, QStyleHintReturn, QStyleOption, QWidget

ALONE = 0.4
"""Seconds in which no other key follows a letter that stands alone."""


class LetterStyle(QProxyStyle):
    """Draws the letters underlined only when ``shown``; Fusion always does."""

    def __init__(self, owner: QObject) -> None:
        super().__init__("Fusion")
        self.setParent(owner)
        self.shown = False

    def styleHint(
        self,
        hint: QStyle.StyleHint,
        option: QStyleOption | None = None,
        widget: QWidget | None = None,
        returnData: QStyleHintReturn | None = None,
    ) -> int:
        if hint == QStyle.StyleHint.SH_UnderlineShortcut:
            return int(self.shown)
        return super().styleHint(hint, option, widget, returnData)


class LoneLetter(QTimer):
    """Waits whether a letter stands alone, before it presses a button.

    It holds one letter at a time, and is active while it does.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent, interval=int(ALONE * 1000), singleShot=True)
        self._letter = ""
        self._pressed: Callable[[], object] = lambda: None
        self._typed: Callable[[str], object] = lambda _: None
        self.timeout.connect(lambda: self._pressed())

    def hold(
        self, letter: str, pressed: Callable[[], object], typed: Callable[[str], object]
    ) -> None:
        """Call ``pressed`` if no key follows, else ``typed`` with what was typed so far."""
        self._letter, self._pressed, self._typed = letter, pressed, typed
        self.start()

    def followed_by(self, event: QKeyEvent) -> bool:
        """Whether this key went to ``typed``, together with the letter before it."""
        if not self.isActive() or not event.text():
            return False
        self.stop()
        self._typed(self._letter + (event.text() if event.text().isprintable() else ""))
        return True
