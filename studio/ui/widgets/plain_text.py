"""Plain text: message boxes and tool tips that show the words of others as they are.

Qt takes a text that looks like HTML for HTML. A file, a chat or an error that is named so
could then look like words of the program, or show a picture.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QIcon, QKeyEvent, QShowEvent
from PySide6.QtGui import Qt as TextFunctions
from PySide6.QtWidgets import QMessageBox, QWidget

from .letters import LetterStyle


def plain_tip(text: str) -> str:
    """A text for a tool tip that is shown as it is."""
    if not TextFunctions.mightBeRichText(text):
        return text
    return TextFunctions.convertFromPlainText(text)


def message_box(
    parent: QWidget | None,
    title: str,
    text: str,
    more: str = "",
) -> QMessageBox:
    """A box over the window of ``parent``, to be given buttons and opened; deleted when closed.

    Without a parent it stands alone. It has no picture: Fusion's are its own and follow no theme.
    """
    box = _MessageBox(parent.window() if parent is not None else None)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setWindowTitle(title)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(text)
    box.setInformativeText(more)
    return box


class _MessageBox(QMessageBox):
    """Underlines the letters of its buttons only while Alt is held."""

    def __init__(self, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._letters = LetterStyle(self)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        for button in self.buttons():
            button.setStyle(self._letters)
            button.setIcon(QIcon())  # some styles put a picture of their own before the words

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._underline(event.key() == Qt.Key.Key_Alt)
        super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        self._underline(False)
        super().keyReleaseEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.ActivationChange:
            self._underline(False)  # Alt may be released in another window
        super().changeEvent(event)

    def _underline(self, shown: bool) -> None:
        if shown != self._letters.shown:
            self._letters.shown = shown
            for button in self.buttons():
                button.update()
