"""The server's token: made when it is first looked for, shown masked, copied, renewed."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QMessageBox, QVBoxLayout, QWidget

from studio.storage.server_token import ENTRY, ServerToken
from studio.ui.beside import ServerProcess
from studio.ui.controls import Button, Field, Label
from studio.ui.theme import Theme

from .known import masked
from .tasks import Tasks


class TokenRow(QWidget):
    """``changed`` comes when another token shall count from now on.

    Where no keychain can keep one, each run of the server makes its own.
    """

    changed = Signal()

    def __init__(self, theme: Theme, token: ServerToken, beside: ServerProcess, tasks: Tasks) -> None:
        super().__init__()
        self._secret, self._beside, self._tasks = token, beside, tasks
        self._keychain = token.keychain
        self._token = ""
        self._question: QMessageBox | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        row = QHBoxLayout()
        row.setSpacing(8)
        column.addLayout(row)
        self.shown = Field(theme, "None yet", role="code")
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
        self.remark = Label(theme, "", "small", "text2", wrap=True)
        column.addWidget(self.remark)
        self._show()

    async def look(self) -> None:
        """Find the token there is, or make one."""
        token = self._beside.token or await self._keychain.get(ENTRY) or ""
        if not token and self._beside.state == "off" and not self._keychain.problem:
            token = await self._secret.get()
        self._token = token if self._beside.token or self._secret.kept else ""
        self._show()

    def _show(self) -> None:
        open_ = self.show_it.isChecked()
        self.show_it.set_text("Hide" if open_ else "Show")
        self.shown.setText(self._token if open_ or not self._token else masked(self._token))
        self.shown.setCursorPosition(0)
        for button in (self.show_it, self.copy, self.renew):
            button.setEnabled(bool(self._token))
        problem = self._keychain.problem
        self.remark.setText(f"{problem} Each run of the server makes its own token.")
        self.remark.setVisible(bool(problem))

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
        if not self._beside.token:
            token = await self._secret.renew()
            self._token = token if self._secret.kept else self._token
            self._show()
        self.changed.emit()
