"""Actions: what the buttons, rows and links of the canvas do."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, QObject, QRectF, Signal
from PySide6.QtGui import QGuiApplication

from studio.domain.messages import Image
from studio.ui.widgets.thumbnails import decoded

from .items.answer_item import TextItem
from .items.approval_item import SCOPES, WaitingItem
from .items.base import Hit, Item
from .items.draft_item import DraftItem
from .items.files_item import RESTORING
from .items.question_item import QuestionItem
from .items.summary_item import EDITING
from .items.user_item import UserItem
from .message_row import (
    Message,
    MessageAction,
    action_of,
    is_of_message,
    message_at,
    pinned_block,
)
from .model import RecoveryAction
from .viewport import Viewport

_ANSWERS = {"allow_once": "once", "allow_always": SCOPES[0][0], "deny": "deny"}


def pinned(item: UserItem | TextItem) -> bool:
    return item.block.pinned


class Actions(QObject):
    """Carries out actions on the viewport; emits a signal for all others."""

    permission_answered = Signal(str, str)
    """A question's id and the ``Answer``."""
    scopes_wanted = Signal(object, object)
    """A question's card and its button: the person chooses where “Always” applies."""
    reply_given = Signal(str, list)
    """A call's id and the person's answers to the agent's questions, in order."""
    draft_action = Signal(str, str)
    """A draft's id and ``approve``, ``discard``, ``edit``, ``undo``, ``resolve`` or ``show``."""
    recovery_wanted = Signal(object)
    """A ``RecoveryAction``: a button of an error, a wait or an end was pressed."""
    link_activated = Signal(str)
    turn_action = Signal(str, str)
    """A turn's id and ``edit`` or ``branch``."""
    version_wanted = Signal(str)
    """The session with the version of a message that the person wants to see."""
    link_wanted = Signal(int)
    """The block with which a message begins, to which a link is wanted."""
    retry_wanted = Signal(str, object)
    """A turn's id, and where on the screen the person chooses a model to answer it again."""
    menu_wanted = Signal(object)
    """The row of a message, all of whose actions are wanted in a menu."""
    file_opened = Signal(object)
    """A picture or file that the person wants to see."""
    drag_wanted = Signal(object)
    """A picture or file that the person drags away; ``TranscriptView.drag`` goes on."""
    files_action = Signal(str, str)
    """A turn's id and ``undo`` or ``redo`` for its changes of files, or ``later`` to undo the
    later turns first."""
    call_action = Signal(str, str)
    """A call's id and ``stop_call``, or ``release_call`` to let it go on as a job."""
    child_action = Signal(str, str)
    """The session of a child and ``stop_child`` or ``open_chat``."""
    output_opened = Signal(str)
    """The name of the file with the whole of an output that was shortened."""
    path_opened = Signal(str)
    """A path in the folder that the person wants to see."""
    summary_action = Signal(str, str)
    """A summary's id and ``edit`` or ``undo``."""
    pin_wanted = Signal(int, bool)
    """A block's index, and whether it is kept unabridged for the model from now on."""
    left = Signal()
    """The composer should take the focus: Escape was pressed, or an answer is to be typed."""
    typed = Signal(str)
    """A text was typed that is meant for no card: the composer should go on with it."""

    def __init__(self, viewport: Viewport, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._viewport = viewport

    def press(self, item: Item, hit: Hit) -> None:
        """Do by a key what a button or row stands for.

        A card that has only just appeared ignores keys. What is out of view is brought into
        view instead: nobody answers what they do not see.
        """
        if isinstance(item, WaitingItem) and item.deaf(self._viewport.context.now()):
            return
        if is_of_message(hit):
            owner = self._viewport.message_row
            self.do(owner.message.owner if owner is not None else item, hit)
            return
        index = self._viewport.canvas.index(item)
        if index is not None and not self._viewport.reveal_hit(index, hit):
            self.do(item, hit)

    def copy(self, *, markup: bool = True) -> None:
        """Copy the selection, or else the focused item, as markdown source or without markup."""
        self._copy(self._viewport.focus.item, self._viewport.selected_text(markup=markup))

    def _copy(self, item: Item | None, text: str) -> None:
        attached = item.attached if isinstance(item, UserItem) else []
        pictures = [part for part in attached if isinstance(part, Image)]
        if pictures and not self._viewport.selection:
            copied = QMimeData()
            copied.setImageData(decoded(pictures[0].data))
            if text:
                copied.setText(text)
            QGuiApplication.clipboard().setMimeData(copied)
        elif text:
            QGuiApplication.clipboard().setText(text)

    def pin(self, item: UserItem | TextItem) -> None:
        """Toggle whether a message is kept unabridged for the model."""
        self.pin_wanted.emit(item.span.first, not pinned(item))

    def do_with_message(self, message: Message, action: MessageAction, rect: QRectF) -> None:
        """Do what a button of a message's row stands for; ``rect`` is the button's."""
        items = self._viewport.canvas.items
        if action == "copy":
            self._viewport.selection.clear()
            self._copy(message.owner, message.source(items))
        elif action == "pin":
            block, is_pinned = pinned_block(message, items)
            self.pin_wanted.emit(block, not is_pinned)
        elif action == "retry":
            self.retry_wanted.emit(message.turn_id, rect)
        elif action == "link":
            self.link_wanted.emit(message.owner.span.first)
        elif action == "more":
            self.menu_wanted.emit(message)
        else:
            self.turn_action.emit(message.turn_id, action)

    def do(self, item: Item, hit: Hit) -> None:
        """Do what a button, row or link stands for; ValueError for an action nothing does."""
        viewport, action, value = self._viewport, hit.action, hit.value
        if item.disabled_reason(hit, viewport.context):
            return
        if is_of_message(hit):
            index = viewport.canvas.index(item)
            message = None if index is None else message_at(viewport.canvas.items, index)
            if message is not None:
                self.do_with_message(message, action_of(hit), hit.rect)
            return
        if action in _ANSWERS:
            self.permission_answered.emit(str(value), _ANSWERS[action])
        elif action == "scopes":
            self.scopes_wanted.emit(item, hit)
        elif action == "reply" and isinstance(value, tuple):
            self.reply_given.emit(str(value[0]), [str(value[1])])
        elif action in ("send_answers", "leave_answers") and isinstance(item, QuestionItem):
            self.reply_given.emit(str(value), item.answers)
        elif isinstance(item, QuestionItem) and item.fill_in(hit):
            viewport.filled_in(item)
        elif action == "compose":
            self.left.emit()
        elif action in ("approve", "discard", "edit", "undo", "resolve", "show"):
            self.draft_action.emit(str(value), action)
        elif action in RESTORING:
            viewport.focus.item = item  # the button disappears, the row keeps the focus
            self.files_action.emit(str(value), RESTORING[action])
        elif action in EDITING:
            viewport.focus.item = item
            self.summary_action.emit(str(value), EDITING[action])
        elif action == "version":
            self.version_wanted.emit(str(value))
        elif action in ("stop_call", "release_call"):
            viewport.focus.item = item
            self.call_action.emit(str(value), action)
        elif action in ("stop_child", "open_chat"):
            viewport.focus.item = item
            self.child_action.emit(str(value), action)
        elif action == "open_output":
            self.output_opened.emit(str(value))
        elif action == "open_link" and isinstance(value, tuple):
            self.link_activated.emit(str(value[-1]))
        elif action == "open_path":
            self.path_opened.emit(str(value))
        elif action == "toggle" and isinstance(value, int | tuple):
            viewport.focus.item = item
            viewport.toggle(value)
        elif action == "show_all" and isinstance(value, int):
            viewport.context.whole.add(value)
            viewport.lay_out_again(item)
        elif action == "unfold" and isinstance(item, DraftItem) and isinstance(value, tuple):
            item.unfold(*value)
            viewport.lay_out_again(item)
        elif action == "copy_code" and isinstance(item, TextItem) and isinstance(value, int):
            QGuiApplication.clipboard().setText(item.code(value))
        elif action == "open_file":
            self.file_opened.emit(value)
        elif action == "copy_output":
            for block in item.blocks[item.span.first : item.span.last]:
                if id(block) == value:
                    QGuiApplication.clipboard().setText(getattr(block, "output", ""))
        else:
            self.recovery_wanted.emit(RecoveryAction(action))
