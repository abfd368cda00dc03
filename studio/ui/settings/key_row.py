"""A row for one provider's key: it is shown masked, typed, kept and removed."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QMessageBox, QVBoxLayout, QWidget

from studio.storage.config.keychain import Keychain, KeychainUnavailable
from studio.ui.theme import Theme
from studio.ui.widgets import Button, Field, Label, Tag

from .provider_meta import masked
from .tasks import Tasks


@dataclass(frozen=True, slots=True)
class KeyOwner:
    """Whose key it is; ``hint`` is what the empty field shows, ``variable`` may hold a key too."""

    name: str
    title: str
    hint: str = ""
    variable: str = ""


class KeyRow(QWidget):
    """``typed`` tells each change while a key is entered, ``changed`` that another is in
    force now, ``known_now`` that the key there is was read."""

    typed = Signal(str)
    changed = Signal()
    known_now = Signal()

    def __init__(self, theme: Theme, owner: KeyOwner, keychain: Keychain, tasks: Tasks) -> None:
        super().__init__()
        self._owner = owner
        self._keychain = keychain
        self._tasks = tasks
        self.key = ""
        """The key in force; never shown whole."""
        self._question: QMessageBox | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        row = QHBoxLayout()
        row.setSpacing(10)
        column.addLayout(row)
        name = f"API key of {owner.title}"
        self.shown = Field(theme, role="code")
        self.shown.setReadOnly(True)
        self.shown.setAccessibleName(name)
        self.entry = _Entry(theme, owner.hint, secret=True)
        self.entry.setAccessibleName(name)
        self.entry.textChanged.connect(self._typed)
        self.entry.returnPressed.connect(self.keep)
        self.entry.left.connect(self._stop_entering)
        self.source = Tag(theme, "")
        self.replace = Button(theme, "Replace…")
        self.replace.clicked.connect(self.enter)
        self.remove = Button(theme, "Remove", "danger")
        self.remove.clicked.connect(self._ask_to_remove)
        self.save = Button(theme, "Save key", "primary", keycap="Enter")
        self.save.clicked.connect(self.keep)
        self.cancel = Button(theme, "Cancel", "ghost")
        self.cancel.clicked.connect(self._stop_entering)
        row.addWidget(self.shown, 1)
        row.addWidget(self.entry, 1)
        for widget in (self.source, self.replace, self.remove, self.save, self.cancel):
            row.addWidget(widget, 0, Qt.AlignmentFlag.AlignVCenter)
        self.problem = Label(theme, "", "small", "err", wrap=True)
        self.session = Button(theme, "Keep for this session only")
        self.session.clicked.connect(self._keep_for_session)
        column.addWidget(self.problem)
        column.addWidget(self.session, 0, Qt.AlignmentFlag.AlignLeft)
        self._entering = False
        self._show()

    async def look(self) -> None:
        """Read the key there is."""
        self.key = await self._keychain.get(self._owner.name) or ""
        self._show()
        self.known_now.emit()

    def enter(self) -> None:
        """Let the person type or paste a key."""
        self._entering = True
        self._show()
        self.entry.setFocus(Qt.FocusReason.OtherFocusReason)

    def keep(self) -> None:
        """Keep what was typed in the keychain."""
        if self.entry.text().strip():
            self._tasks.start(self._keep(self.entry.text().strip()))

    async def _keep(self, key: str) -> None:
        self.save.setEnabled(False)
        try:
            await self._keychain.set(self._owner.name, key)
        except KeychainUnavailable as error:
            self._show_problem(str(error), choice=True)
            return
        finally:
            self.save.setEnabled(True)
        self._kept(key)

    def _keep_for_session(self) -> None:
        key = self.entry.text().strip()
        if key:
            self._keychain.keep_for_session(self._owner.name, key)
            self._kept(key)

    def _kept(self, key: str) -> None:
        self.key = key
        self._entering = False
        self.entry.blockSignals(True)
        self.entry.clear()
        self.entry.blockSignals(False)
        self._show()
        self.changed.emit()

    def _stop_entering(self) -> None:
        typed = bool(self.entry.text())
        self._entering = False
        self.entry.blockSignals(True)
        self.entry.clear()
        self.entry.blockSignals(False)
        self._show()
        if typed:
            self.typed.emit("")
            self.changed.emit()  # the models of the key in force again

    def _typed(self, text: str) -> None:
        self._show_problem("")
        self.save.setEnabled(bool(text.strip()))
        self.typed.emit(text.strip())

    def _ask_to_remove(self) -> None:
        box = QMessageBox(self.window())
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setIcon(QMessageBox.Icon.Question)
        box.setWindowTitle("Remove key")
        box.setText(f"Remove the API key of {self._owner.title}?")
        box.setInformativeText(f"It ends in {self.key[-4:]}. Chats stay; they need a key to go on.")
        yes = box.addButton("Remove", QMessageBox.ButtonRole.DestructiveRole)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
        yes.clicked.connect(lambda: self._tasks.start(self._remove()))
        self._question = box
        box.open()

    async def _remove(self) -> None:
        try:
            await self._keychain.delete(self._owner.name)
        except KeychainUnavailable as error:
            self._show_problem(f"{self._keychain.problem or error} The key may still be there.")
            return
        self.key = self._keychain.environment_key(self._owner.name) or ""
        self._show()
        self.changed.emit()

    def _show_problem(self, words: str, choice: bool = False) -> None:
        self.problem.setText(words)
        self.problem.setVisible(bool(words))
        self.session.setVisible(choice)
        self.entry.set_error(words)

    def _show(self) -> None:
        entering = self._entering or not self.key
        source = self._keychain.source(self._owner.name) if self.key else ""
        self.shown.setVisible(not entering)
        self.entry.setVisible(entering)
        words = {"environment": "From environment", "session": "This session only"}.get(source, "")
        self.source.set(words, "neutral")
        self.shown.setText(masked(self.key, 6 if words else 14) if self.key else "")
        self.source.setVisible(bool(words) and not entering)
        self.replace.setVisible(not entering)
        self.remove.setVisible(not entering)
        from_environment = source == "environment"
        self.remove.setEnabled(not from_environment)
        self.remove.setToolTip(f"Set by {self._owner.variable}" if from_environment else "")
        self.save.setVisible(entering)
        self.save.setEnabled(bool(self.entry.text().strip()))
        self.cancel.setVisible(self._entering and bool(self.key))
        self._show_problem("")


class _Entry(Field):
    """Escape leaves the field, not the window."""

    left = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.left.emit()
            return
        super().keyPressEvent(event)
