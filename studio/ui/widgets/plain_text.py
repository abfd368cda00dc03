"""Plain text: message boxes and tool tips that show the words of others as they are.

Qt takes a text that looks like HTML for HTML. A file, a chat or an error that is named so
could then look like words of the program, or show a picture.
"""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import Qt as TextFunctions
from PySide6.QtWidgets import QMessageBox, QWidget


def plain_tip(text: str) -> str:
    """A text for a tool tip that is shown as it is."""
    if not TextFunctions.mightBeRichText(text):
        return text
    return TextFunctions.convertFromPlainText(text)


def message_box(
    parent: QWidget,
    title: str,
    text: str,
    more: str = "",
    icon: QMessageBox.Icon = QMessageBox.Icon.Question,
) -> QMessageBox:
    """A box over the window of ``parent``, to be given buttons and opened; deleted when closed."""
    box = QMessageBox(parent.window())
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setIcon(icon)
    box.setWindowTitle(title)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(text)
    box.setInformativeText(more)
    return box
