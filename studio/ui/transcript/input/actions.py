"""Actions: does what the canvas's buttons, rows and links say."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, QObject, Signal
from PySide6.QtGui import QGuiApplication, QImage

from studio.domain.messages import Image
from studio.ui.transcript.items.approval_item import SCOPES, WaitingItem
from studio.ui.transcript.items.base import Hit, Item
from studio.ui.transcript.items.draft_item import DraftItem
from studio.ui.transcript.items.files_item import RESTORING
from studio.ui.transcript.items.summary_item import EDITING
from studio.ui.transcript.items.text_item import TextItem
from studio.ui.transcript.items.user_item import UserItem
from studio.ui.transcript.model import RecoveryAction
from studio.ui.transcript.viewport import Viewport

GUARD = 0.4
"""Seconds after a card appeared in which keys do nothing to it: they were meant elsewhere."""

USER_ACTIONS = (("Edit and send again\tE", "edit"), ("Branch from here\tB", "branch"))
"""What can be done with something the person said: words with the key, and name."""

PIN, UNPIN = "Pin for the model\tP", "Unpin\tP"

_ANSWERS = {"allow_once": "once", "allow_always": SCOPES[0][0], "deny": "deny"}


def pinned(item: UserItem | TextItem) -> bool:
    return (item.user_block if isinstance(item, UserItem) else item.text_block).pinned


class Actions(QObject):
    """Does what can be done on the stage; the rest is for the owner, by signals."""

    permission_answered = Signal(str, str)
    """A question's id and the ``Answer``."""
    scopes_wanted = Signal(object, object)
    """A question's card and its button: where “Always” counts is to be chosen."""
    reply_given = Signal(str, str)
    """A call's id and the person's answer to the agent's question."""
    draft_action = Signal(str, str)
    """A draft's id and ``approve``, ``discard``, ``edit``, ``undo`` or ``resolve``."""
    recovery_wanted = Signal(object)
    """A ``RecoveryAction``: a button of an error, a wait or an end was pressed."""
    link_activated = Signal(str)
    turn_action = Signal(str, str)
    """A turn's id and ``edit`` or ``branch``: for what the person said in it."""
    file_opened = Signal(object)
    """A picture or file that the person wants to see."""
    files_action = Signal(str, str)
    """A turn's id and what to do with the files it changed: ``undo``, ``redo``, or ``later`` to
    undo the later turns first."""
    path_opened = Signal(str)
    """A path in the folder that the person wants to see."""
    summary_action = Signal(str, str)
    """A summary's id and ``edit`` or ``undo``."""
    pin_wanted = Signal(int, bool)
    """A block of the transcript is to be kept whole for the model, or no longer."""
    left = Signal()
    """Escape was pressed: the composer should have the focus."""

    def __init__(self, stage: Viewport, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._stage = stage

    def guarded(self, item: Item) -> bool:
        """Whether a card is too new to take a key."""
        if not isinstance(item, WaitingItem):
            return False
        return item.shown_at is None or self._stage.context.now() - item.shown_at < GUARD

    def copy(self) -> None:
        """The selection, or the focused block, as it was written."""
        text, item = self._stage.chosen(), self._stage.focus.item
        attached = item.attached if isinstance(item, UserItem) else []
        pictures = [part for part in attached if isinstance(part, Image)]
        if pictures and not self._stage.selection:
            copied = QMimeData()
            copied.setImageData(QImage.fromData(pictures[0].data))
            if text:
                copied.setText(text)
            QGuiApplication.clipboard().setMimeData(copied)
        elif text:
            QGuiApplication.clipboard().setText(text)

    def pin(self, item: UserItem | TextItem) -> None:
        """Keep what was said whole for the model, or no longer."""
        self.pin_wanted.emit(item.plan.first, not pinned(item))

    def do_said(self, item: UserItem, action: str) -> None:
        self.turn_action.emit(item.user_block.turn_id, action)

    def do(self, item: Item, hit: Hit) -> None:
        """Do what a button, row or link stands for; ValueError for an action nothing does."""
        stage, action, value = self._stage, hit.action, hit.value
        if item.tip(hit, stage.context):
            return
        if action in _ANSWERS:
            self.permission_answered.emit(str(value), _ANSWERS[action])
        elif action == "scopes":
            self.scopes_wanted.emit(item, hit)
        elif action == "reply" and isinstance(value, tuple):
            self.reply_given.emit(str(value[0]), str(value[1]))
        elif action in ("approve", "discard", "edit", "undo", "resolve"):
            self.draft_action.emit(str(value), action)
        elif action in RESTORING:
            stage.focus.item = item  # a button goes, the row keeps the focus
            self.files_action.emit(str(value), RESTORING[action])
        elif action in EDITING:
            stage.focus.item = item
            self.summary_action.emit(str(value), EDITING[action])
        elif action == "open_path":
            self.path_opened.emit(str(value))
        elif action == "toggle" and isinstance(value, int):
            stage.focus.item = item
            stage.toggle(value)
        elif action == "show_all" and isinstance(value, int):
            stage.context.whole.add(value)
            stage.relay(item)
        elif action == "unfold" and isinstance(item, DraftItem) and isinstance(value, int):
            item.unfold(value)
            stage.relay(item)
        elif action == "copy_code" and isinstance(item, TextItem) and isinstance(value, int):
            QGuiApplication.clipboard().setText(item.code(value))
        elif action == "open_file":
            self.file_opened.emit(value)
        elif action == "copy_output":
            for block in item.blocks[item.plan.first : item.plan.last]:
                if id(block) == value:
                    QGuiApplication.clipboard().setText(getattr(block, "output", ""))
        else:
            self.recovery_wanted.emit(RecoveryAction(action))
