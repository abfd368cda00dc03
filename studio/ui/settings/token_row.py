"""The server's token: shown masked, copied, renewed."""

from __future__ import annotations

import secrets

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QMessageBox, QVBoxLayout, QWidget

from studio.storage.keychain import Keychain, KeychainUnavailable
from studio.ui.controls import Button, Field, Label
from studio.ui.theme import Theme

from .known import masked
from .tasks import Tasks

ENTRY = "server"
"""The token's name in the keychain."""


class TokenRow(QWidget):
    """``changed`` comes when another token counts."""

    changed = Signal()

    def __init__(self, theme: Theme, keychain: Keychain, tasks: Tasks) -> None:
        super().__init__()
        self._keychain, self._tasks = keychain, tasks
        self._token = ""
        self._question: QMessageBox | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        row = QHBoxLayout()
        row.setSpacing(8)
        column.addLayout(row)
        self.shown = Field(theme, "Made when the server starts", role="code")
        self.shown.setReadOnly(True)
        self.shown.setAccessibleName("Token")
        self.show_it = Button(theme, "Show")
        self.show_it.setCheckable(True)
        self.show_it.toggled.connect(self._show)
        self.copy = Button(theme, "Copy")
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._token))
        self.renew = Button(theme, "Renew…")
        self.renew.clicked.connect(self._ask)
        row.addWidget(self.shown, 1)
        for button in (self.show_it, self.copy, self.renew):
            row.addWidget(button, 0, Qt.AlignmentFlag.AlignVCenter)
        self.problem = Label(theme, "", "small", "err", wrap=True)
        column.addWidget(self.problem)
        self._show()

    async def look(self) -> None:
        """Read the token there is."""
        self._token = await self._keychain.get(ENTRY) or ""
        self.problem.setText(self._keychain.problem)
        self._show()

    def _show(self) -> None:
        open_ = self.show_it.isChecked()
        self.show_it.set_text("Hide" if open_ else "Show")
        self.shown.setText(self._token if open_ or not self._token else masked(self._token))
        self.shown.setCursorPosition(0)
        for button in (self.show_it, self.copy, self.renew):
            button.setEnabled(bool(self._token))
        self.problem.setVisible(bool(self.problem.text()))

    def _ask(self) -> None:
        box = QMessageBox(self.window())
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setIcon(QMessageBox.Icon.Question)
        box.setWindowTitle("Renew token")
        box.setText("Renew the server’s token?")
        box.setInformativeText("The old one stops working. Every client needs the new one.")
        yes = box.addButton("Renew", QMessageBox.ButtonRole.DestructiveRole)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
        yes.clicked.connect(lambda: self._tasks.start(self._renew()))
        self._question = box
        box.open()

    async def _renew(self) -> None:
        token = f"as-{secrets.token_urlsafe(32)}"
        try:
            await self._keychain.set(ENTRY, token)
        except KeychainUnavailable:
            self.problem.setText(f"{self._keychain.problem} The token stays as it was.")
            self._show()
            return
        self._token = token
        self.problem.setText("")
        self._show()
        self.changed.emit()
