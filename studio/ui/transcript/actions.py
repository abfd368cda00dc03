"""What the canvas's buttons, rows and links do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication

from .document import TextItem
from .draft import DraftItem
from .items import Hit, Item
from .prompt import CardItem

if TYPE_CHECKING:
    from .view import TranscriptView

GUARD = 0.4
"""Seconds after a card appeared in which keys do nothing to it: they were meant elsewhere."""

_ANSWERS = {"allow_once": "once", "allow_always": "session", "deny": "deny"}


def guarded(view: TranscriptView, item: Item) -> bool:
    """Whether a card is too new to take a key."""
    if not isinstance(item, CardItem):
        return False
    return item.shown_at is None or view.context.now() - item.shown_at < GUARD


def act(view: TranscriptView, item: Item, hit: Hit) -> None:
    """Do it, or tell the owner by a signal."""
    action, value = hit.action, hit.value
    if action in _ANSWERS:
        view.permission_answered.emit(str(value), _ANSWERS[action])
    elif action == "reply" and isinstance(value, tuple):
        view.reply_given.emit(str(value[0]), str(value[1]))
    elif action in ("approve", "discard", "edit", "undo"):
        view.draft_action.emit(str(value), action)
    elif action == "continue":
        view.continue_requested.emit()
    elif action == "retry":
        view.retry_requested.emit(str(value))
    elif action == "toggle" and isinstance(value, int):
        view.focus.item = item
        view.toggle(value)
    elif action == "show_all" and isinstance(value, int):
        view.context.whole.add(value)
        view.relay(item)
    elif action == "unfold" and isinstance(item, DraftItem) and isinstance(value, int):
        item.unfold(value)
        view.relay(item)
    elif action == "copy_code" and isinstance(item, TextItem) and isinstance(value, int):
        QGuiApplication.clipboard().setText(item.code(value))
    elif action == "copy_output":
        for block in item.blocks[item.plan.first : item.plan.last]:
            if id(block) == value:
                QGuiApplication.clipboard().setText(getattr(block, "output", ""))
    else:
        view.failure_action.emit(action)
