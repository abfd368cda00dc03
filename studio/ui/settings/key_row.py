"""A row that shows a provider's key masked, and lets the person enter, replace or remove it."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QMessageBox, QWidget

from studio.providers.registry import PROVIDERS
from studio.storage.config.keychain import Keychain, KeychainUnavailable
from studio.ui.engine_texts import tr_engine
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Button, Field, Label, Tag, message_box, plain_tip
from studio.ui.widgets.layouts import column_of, row_of

from .registry import SettingsTasks

RESELLERS = ("sk-or-",)
"""Prefixes of keys that begin like OpenAI's and belong to another provider."""


def provider_of_key(key: str) -> str:
    """The name of the provider whose keys begin like this one, or an empty text."""
    key = key.strip()
    return "" if key.startswith(RESELLERS) else _prefix_and_provider(key)[1]


def masked(key: str, dots: int = 14) -> str:
    """A key's prefix and its last four characters, enough to tell it from other keys."""
    key = key.strip()
    if len(key) < 12:
        return "•" * 14
    return f"{_prefix_and_provider(key)[0]}{'•' * dots}{key[-4:]}"


def _prefix_and_provider(key: str) -> tuple[str, str]:
    """The longest known prefix of a key, and the provider it belongs to; else empty texts."""
    known = ((prefix, one.name) for one in PROVIDERS.values() for prefix in one.key_prefixes)
    matching = [pair for pair in known if key.startswith(pair[0])]
    return max(matching, key=lambda pair: len(pair[0]), default=("", ""))


@dataclass(frozen=True, slots=True)
class KeyOwner:
    """A provider or search engine that needs a key.

    ``hint`` is the placeholder of the empty field, ``variable`` an environment variable that
    may hold the key.
    """

    name: str
    title: str
    hint: str = ""
    variable: str = ""


class KeyRow(QWidget):
    """Shows, enters, replaces and removes one key in the keychain."""

    typed = Signal(str)
    """The text in the field after each change while a key is entered."""
    changed = Signal()
    """Another key is used now, or none."""
    loaded = Signal()
    """The key was read from the keychain."""

    def __init__(
        self, theme: Theme, owner: KeyOwner, keychain: Keychain, tasks: SettingsTasks
    ) -> None:
        super().__init__()
        self._owner = owner
        self._keychain = keychain
        self._tasks = tasks
        self.key = ""
        """The key that is used; never shown whole."""
        self._question: QMessageBox | None = None
        name = tr("API key of {provider}").format(provider=owner.title)
        self.shown = Field(theme, role="code", name=name)
        self.shown.setReadOnly(True)
        self.entry = _KeyEntry(theme, owner.hint, secret=True, name=name)
        self.entry.textChanged.connect(self._typed)
        self.entry.returnPressed.connect(self.store)
        self.entry.escaped.connect(self._stop_entering)
        self.source = Tag(theme, "")
        self.replace = Button(theme, tr("Replace…"), clicked=self.enter)
        self.remove = Button(theme, tr("Remove"), "danger", clicked=self._ask_to_remove)
        self.save = Button(theme, tr("Save key"), "primary", keycap="Enter", clicked=self.store)
        self.cancel = Button(theme, tr("Cancel"), "ghost", clicked=self._stop_entering)
        middle = Qt.AlignmentFlag.AlignVCenter
        beside = (self.source, self.replace, self.remove, self.save, self.cancel)
        parts = ((self.shown, 1), (self.entry, 1), *((widget, middle) for widget in beside))
        self.problem = Label(theme, "", "small", "err", wrap=True)
        self.session = Button(
            theme, tr("Keep for this session only"), clicked=self._keep_for_session
        )
        session = (self.session, Qt.AlignmentFlag.AlignLeft)
        column_of([row_of(parts, spacing=10), self.problem, session], spacing=6, on=self)
        self._entering = False
        self._show()

    async def load(self) -> None:
        """Read the key from the keychain or the environment."""
        self.key = await self._keychain.get(self._owner.name) or ""
        self._show()
        self.loaded.emit()

    def enter(self) -> None:
        """Let the person type or paste a key."""
        self._entering = True
        self._show()
        self.entry.setFocus(Qt.FocusReason.OtherFocusReason)

    def store(self) -> None:
        """Store the typed key in the keychain."""
        if key := self.entry.text().strip():
            self._tasks.start(self._store(key))

    async def _store(self, key: str) -> None:
        self.save.setEnabled(False)
        try:
            await self._keychain.set(self._owner.name, key)
        except KeychainUnavailable as error:
            self._show_problem(tr_engine(str(error)), offer_session=True)
            return
        finally:
            self.save.setEnabled(True)
        self._use_key(key)

    def _keep_for_session(self) -> None:
        if key := self.entry.text().strip():
            self._keychain.keep_for_session(self._owner.name, key)
            self._use_key(key)

    def _use_key(self, key: str) -> None:
        self.key = key
        self._close_entry()
        self.changed.emit()

    def _stop_entering(self) -> None:
        typed = bool(self.entry.text())
        self._close_entry()
        if typed:
            self.typed.emit("")
            self.changed.emit()  # shows the models of the stored key again

    def _close_entry(self) -> None:
        """Empty the field without ``typed``, and show the key again."""
        self._entering = False
        self.entry.blockSignals(True)
        self.entry.clear()
        self.entry.blockSignals(False)
        self._show()

    def _typed(self, text: str) -> None:
        self._show_problem("")
        self.save.setEnabled(bool(text.strip()))
        self.typed.emit(text.strip())

    def _ask_to_remove(self) -> None:
        text = tr("Remove the API key of {provider}?").format(provider=self._owner.title)
        more = tr("It ends in {end}. Chats stay; they need a key to go on.").format(
            end=self.key[-4:]
        )
        box = message_box(self, tr("Remove key"), text, more)
        yes = box.addButton(tr("Remove"), QMessageBox.ButtonRole.DestructiveRole)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
        yes.clicked.connect(lambda: self._tasks.start(self._remove()))
        self._question = box
        box.open()

    async def _remove(self) -> None:
        try:
            await self._keychain.delete(self._owner.name)
        except KeychainUnavailable as error:
            problem = tr_engine(self._keychain.problem or str(error))
            self._show_problem(" ".join((problem, tr("The key may still be there."))))
            return
        self.key = await self._keychain.get(self._owner.name) or ""
        self._show()
        self.changed.emit()

    def _show_problem(self, problem: str, offer_session: bool = False) -> None:
        self.problem.show_text(problem)
        self.session.setVisible(offer_session)
        self.entry.set_error(problem)

    def _show(self) -> None:
        entering = self._entering or not self.key
        source = self._keychain.source(self._owner.name) if self.key else ""
        self.shown.setVisible(not entering)
        self.entry.setVisible(entering)
        label = {
            "environment": tr("From environment"),
            "command": tr("From a command"),
            "session": tr("This session only"),
        }.get(source, "")
        self.source.set(label, "neutral")
        self.shown.setText(masked(self.key, 6 if label else 14) if self.key else "")
        self.source.setVisible(bool(label) and not entering)
        self.replace.setVisible(not entering)
        self.remove.setVisible(not entering)
        setter = {
            "environment": self._owner.variable,
            "command": f"key_command.{self._owner.name}",
        }.get(source, "")
        self.remove.setEnabled(source not in ("environment", "command"))
        tip = tr("Set by {variable}").format(variable=setter) if setter else ""
        self.remove.setToolTip(plain_tip(tip))
        self.save.setVisible(entering)
        self.save.setEnabled(bool(self.entry.text().strip()))
        self.cancel.setVisible(self._entering and bool(self.key))
        self._show_problem("")


class _KeyEntry(Field):
    """A field in which Escape ends the entry and does not close the window."""

    escaped = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.escaped.emit()
            return
        super().keyPressEvent(event)
