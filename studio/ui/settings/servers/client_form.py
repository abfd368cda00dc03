"""Takes the client ID of this program, where the person has to register it by hand (M-22)."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from studio.mcp.sign_ins import SignIn
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Button, Field
from studio.ui.widgets.layouts import row_of


class ClientForm(QWidget):
    """A client ID, its secret if there is one, and the button that signs in with them."""

    entered = Signal(object)
    """A ``SignIn`` that only has them."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.client = Field(theme, tr("Client ID"))
        self.secret = Field(theme, tr("Client secret, if there is one"), secret=True)
        self.sign_in = Button(theme, tr("Sign in"), "primary", clicked=self._enter)
        self.sign_in.setEnabled(False)
        self.client.textChanged.connect(
            lambda text: self.sign_in.setEnabled(bool(str(text).strip()))
        )
        for field in (self.client, self.secret):
            field.returnPressed.connect(self._enter)
        parts = [(self.client, 1), (self.secret, 1)]
        row_of([*parts, (self.sign_in, Qt.AlignmentFlag.AlignVCenter)], spacing=10, on=self)

    def _enter(self) -> None:
        if name := self.client.text().strip():
            secret = self.secret.text().strip()
            self.secret.clear()
            self.entered.emit(SignIn(client_id=name, client_secret=secret, client_source="person"))
