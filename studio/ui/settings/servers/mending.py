"""What mends a server: the button beside the doctor's sentence, and what a person types then."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_later
from studio.ui.widgets import Button, Field, Label
from studio.ui.widgets.layouts import column_of, row_of

from .server_facts import Cure, ServerFacts

CURES: dict[Cure, str] = {
    "set": tr_later("Set it…"),
    "value": tr_later("Enter value…"),
    "key": tr_later("Enter key…"),
    "client": tr_later("Enter client ID…"),
    "sign_in": tr_later("Sign in"),
    "stop": tr_later("Cancel"),
    "uv": tr_later("Fetch uv"),
    "log": tr_later("Show log"),
    "again": tr_later("Try again"),
    "tool": tr_later("Show it"),
    "place": tr_later("Choose where it runs…"),
}
ON_ITS_PAGE: tuple[Cure, ...] = ("set", "value", "key", "change", "place")
"""What is typed or chosen on the server's page; a row has the button that leads there."""


def cure_text(facts: ServerFacts) -> str:
    """What is on the button that mends a server; empty where nothing does."""
    if facts.cure == "change":
        return tr("Change command…") if facts.entry.command else tr("Change address…")
    return tr(CURES[facts.cure]) if facts.cure else ""


class MendForm(QWidget):
    """A field for what is missing or wrong, with the text that is there now, and Save.

    ``header``: above it, the name of the header that a key goes into.
    """

    entered = Signal(str)
    left = Signal()

    def __init__(
        self, theme: Theme, name: str, text: str = "", *, secret: bool = False, header: str = ""
    ) -> None:
        super().__init__()
        self.header = Field(theme, tr("Header"), role="code", name=tr("Header of the key"))
        self.header.setText(header)
        if not header:  # to show it, still without a parent, would open a window
            self.header.hide()
        self.field = Field(theme, name, secret=secret, role="code", name=name)
        self.field.setText(text)
        self.save = Button(theme, tr("Save"), "primary", clicked=self._enter)
        self.cancel = Button(theme, tr("Cancel"), "ghost", clicked=self.left.emit)
        self.problem = Label(theme, "", "small", "err", wrap=True)
        self.problem.hide()
        for field in (self.header, self.field):
            field.returnPressed.connect(self._enter)
            field.textChanged.connect(self._typed)
        self._typed()
        middle = Qt.AlignmentFlag.AlignVCenter
        parts = [(self.header, 1), (self.field, 3), (self.save, middle), (self.cancel, middle)]
        column_of([row_of(parts, spacing=10), self.problem], spacing=4, on=self)

    def show_problem(self, problem: str) -> None:
        self.problem.show_text(problem)
        self.field.set_error(problem)

    def _typed(self) -> None:
        self.show_problem("")
        named = self.header.isHidden() or self.header.text().strip()
        self.save.setEnabled(bool(self.field.text().strip() and named))

    def _enter(self) -> None:
        if self.save.isEnabled():
            self.entered.emit(self.field.text().strip())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
            return
        super().keyPressEvent(event)
