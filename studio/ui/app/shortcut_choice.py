"""The keys of all actions, as a person chose them, and the keys that cannot be chosen.

It is imported when keys are shown or changed; the window itself needs only ``actions``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from PySide6.QtCore import QKeyCombination, Qt
from PySide6.QtGui import QKeySequence

from studio.ui.translation import tr, tr_later

from .actions import Action, keys_in_force, menu_entries

Key, Held = Qt.Key, Qt.KeyboardModifier


@dataclass(frozen=True, slots=True)
class Shortcut:
    """An action with its key: ``keys`` now, ``default`` if the person had chosen none."""

    name: str
    group: str
    text: str
    default: str
    keys: str

    @property
    def changed(self) -> bool:
        return self.keys != self.default


def shortcuts(chosen: Mapping[str, str]) -> list[Shortcut]:
    """All actions in the order of the menus; ``chosen`` are the keys of the settings."""
    keys = keys_in_force(chosen)
    return [
        Shortcut(
            entry.name,
            tr(entry.menu),
            tr(entry.text).removesuffix("…").replace("&", ""),
            portable(entry.keys),
            keys[entry.name],
        )
        for entry in menu_entries()
        if entry.name and entry.action is not Action.RUNNING
    ]


def with_keys(chosen: Mapping[str, str], name: str, keys: str) -> dict[str, str]:
    """``chosen`` after an action got these keys, which another one then loses."""
    defaults = {entry.name: portable(entry.keys) for entry in menu_entries() if entry.name}
    now = keys_in_force(chosen)
    made = dict(chosen)
    for other in defaults if keys else ():
        if other != name and now[other] == keys:
            made[other] = ""
    made[name] = keys
    return {one: given for one, given in made.items() if given != defaults.get(one)}


def portable(keys: str) -> str:
    """One spelling of a key combination, whoever wrote it."""
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.PortableText)


def native(keys: str) -> str:
    """How the system writes a key combination."""
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)


_CARET = {
    Key.Key_Left, Key.Key_Right, Key.Key_Up, Key.Key_Down, Key.Key_Home, Key.Key_End,
    Key.Key_Backspace, Key.Key_Delete,
}  # fmt: skip
_EDITING = {
    Key.Key_A, Key.Key_C, Key.Key_V, Key.Key_X, Key.Key_Y, Key.Key_Z, Key.Key_Insert,
}  # fmt: skip


OF_AGENTS = ("Ctrl+S", "Ctrl+D", "F8", "Ctrl+Space")
"""Where two shortcuts have one key, Qt carries out neither."""


def refusal(keys: str) -> str:
    """Why a key combination cannot be a shortcut of the whole window; empty if it can."""
    sequence = QKeySequence(keys)
    if sequence.count() != 1:
        return tr("Press one key, with Ctrl or Alt.")
    pressed = cast("Sequence[QKeyCombination]", sequence)[0]  # its type lacks that it is one
    key, held = pressed.key(), pressed.keyboardModifiers() & ~Held.KeypadModifier
    name = native(keys)
    control = held == Held.ControlModifier
    if keys in OF_AGENTS:
        return tr("{key} has its place on the page of agents.").format(key=name)
    if not held & (Held.ControlModifier | Held.AltModifier | Held.MetaModifier):
        if Key.Key_F1 <= key <= Key.Key_F35:
            return ""
        return tr("{key} alone types or moves. Hold Ctrl or Alt with it.").format(key=name)
    if key in (Key.Key_Tab, Key.Key_Backtab) or (held, key) == (Held.AltModifier, Key.Key_F4):
        return tr("{key} belongs to the desktop.").format(key=name)
    if key in (Key.Key_Return, Key.Key_Enter):
        return tr("{key} sends or approves where you write.").format(key=name)
    if control and key in (Key.Key_E, Key.Key_U):
        return tr("Text fields take {key} for themselves on Linux.").format(key=name)
    if (control and key == Key.Key_Period) or (
        key == Key.Key_U and held == Held.ControlModifier | Held.ShiftModifier
    ):
        return tr("Input methods take {key}, for letters that keyboards lack.").format(key=name)
    redo = key == Key.Key_Z and held == Held.ControlModifier | Held.ShiftModifier
    if redo or (control and key in _EDITING):
        return tr("{key} copies, pastes or undoes where you write.").format(key=name)
    if held & Held.ControlModifier and not held & Held.AltModifier and key in _CARET:
        return tr("{key} moves the caret where you write.").format(key=name)
    if held & Held.ControlModifier and held & Held.AltModifier and Key.Key_Space <= key < 0x1000000:
        return tr("{key} types a letter on many keyboards.").format(key=name)
    return ""


FIXED: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        tr_later("Where you write"),
        (
            ("Enter", tr_later("Send")),
            (tr_later("Shift+Enter"), tr_later("New line")),
            ("Ctrl+Enter", tr_later("Send now, not after this turn")),
            (tr_later("Esc"), tr_later("Stop the tool that works, else or twice the turn")),
            (tr_later("Up"), tr_later("Edit the last message, from an empty line")),
            ("Ctrl+Up", tr_later("Earlier message, of this chat and then of others")),
            ("Ctrl+Down", tr_later("Later message, at the end what you were writing")),
            ("@", tr_later("Name a file, a folder or an agent")),
            ("/", tr_later("Command, at the beginning of the message")),
        ),
    ),
    (
        tr_later("In a chat"),
        (
            (tr_later("Up"), tr_later("Part above")),
            (tr_later("Down"), tr_later("Part below")),
            (tr_later("Right"), tr_later("Open a row")),
            (tr_later("Left"), tr_later("Close a row")),
            (tr_later("C"), tr_later("Copy")),
            (tr_later("R"), tr_later("Retry")),
            ("E", tr_later("Edit your message")),
            ("B", tr_later("Branch from your message")),
            (tr_later("P"), tr_later("Pin a message")),
        ),
    ),
    (
        tr_later("At a question"),
        (
            ("Enter", tr_later("Allow once")),
            ("A", tr_later("Always allow")),
            ("D", tr_later("Deny")),
            ("1", tr_later("First choice, 2 the second")),
            (tr_later("Esc"), tr_later("Back to the message, answer later")),
        ),
    ),
    (
        tr_later("On the page of drafts"),
        (
            (tr_later("J"), tr_later("Next")),
            (tr_later("K"), tr_later("Previous")),
            (tr_later("X"), tr_later("Select")),
            ("A", tr_later("Approve and write")),
            ("E", tr_later("Edit")),
            ("D", tr_later("Discard")),
            ("Ctrl+Z", tr_later("Undo")),
        ),
    ),
    (
        tr_later("On the page of agents"),
        (
            ("Ctrl+S", tr_later("Save")),
            ("Ctrl+D", tr_later("Duplicate")),
            ("F8", tr_later("Next problem")),
            ("Ctrl+Space", tr_later("What may stand here")),
            ("Del", tr_later("Move to the trash")),
        ),
    ),
)
"""Groups of keys that count in one place only, and cannot be changed."""
