"""Shows a long text in a window of its own: a licence, a report, what is new."""

from __future__ import annotations

from PySide6.QtGui import QTextCursor, QTextDocument
from PySide6.QtWidgets import QDialog, QPlainTextEdit, QTextEdit, QWidget

from studio.ui.theme import Theme
from studio.ui.translation import tr

from .buttons import Button
from .focus import FocusRing
from .layouts import STRETCH, column_of, row_of
from .panels import OverlayBar


class TextDialog(QDialog):
    """A text as it is, or ``markdown``. ``spoken`` is its name for a screen reader."""

    def __init__(
        self,
        over: QWidget,
        theme: Theme,
        name: str,
        text: str,
        *,
        spoken: str = "",
        markdown: bool = False,
    ) -> None:
        super().__init__(over.window())
        self.setWindowTitle(name)
        self.resize(theme.px(620), theme.px(520))
        self.text: QPlainTextEdit | QTextEdit
        if markdown:
            self.text = QTextEdit()
            self.text.setFont(theme.font("ui"))
            self.text.setMarkdown(text)
            _set_apart(self.text.document(), theme.px(8))
        else:
            self.text = QPlainTextEdit(text)
            self.text.setFont(theme.font("code"))
        self.text.setReadOnly(True)
        self.text.setAccessibleName(spoken or name)
        OverlayBar(self.text)
        FocusRing.of(theme).follow(self.text)
        close = Button(theme, tr("Close"), clicked=self.accept)
        foot = row_of([STRETCH, close])
        column_of([(self.text, 1), foot], spacing=10, margins=(14, 14, 14, 14), on=self)
        self.finished.connect(self.deleteLater)


def _set_apart(document: QTextDocument, room: int) -> None:
    """Leave room above headings and paragraphs, which Qt puts close below a list."""
    block = document.firstBlock().next()
    while block.isValid():
        if block.textList() is None:
            shape = block.blockFormat()
            shape.setTopMargin(2 * room if shape.headingLevel() else room)
            QTextCursor(block).setBlockFormat(shape)
        block = block.next()
