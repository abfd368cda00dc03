"""Keyboard input: moves the focus, scrolls and presses buttons of the focused item."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QKeySequence

from studio.ui.transcript.items.approval_item import ApprovalItem, QuestionItem
from studio.ui.transcript.items.base import Item
from studio.ui.transcript.items.draft_item import DraftItem
from studio.ui.transcript.items.files_item import FilesItem
from studio.ui.transcript.items.text_item import TextItem
from studio.ui.transcript.items.user_item import UserItem
from studio.ui.transcript.viewport import Viewport

from .actions import Actions


class KeyboardInput:
    """Does what keys say; the ones it does not know are left to others."""

    def __init__(self, stage: Viewport, actions: Actions) -> None:
        self._stage = stage
        self._actions = actions

    def press(self, event: QKeyEvent) -> bool:
        """Handle a key; False leaves it to others."""
        stage = self._stage
        if event.matches(QKeySequence.StandardKey.Copy):
            self._actions.copy()
            return True
        if event.matches(QKeySequence.StandardKey.SelectAll):
            stage.select_all()
            return True
        key, modifiers = event.key(), event.modifiers()
        modifiers &= ~Qt.KeyboardModifier.KeypadModifier
        item = stage.focus.item
        if item is not None and stage.canvas.index(item) is None:
            item = stage.focus.item = None
        if isinstance(item, FilesItem):
            if event.matches(QKeySequence.StandardKey.Undo):
                return self._press(item, "undo_files")
            if event.matches(QKeySequence.StandardKey.Redo):
                return self._press(item, "redo_files")
        if item is not None and self._card_key(item, key, modifiers):
            return True
        if modifiers:
            return False
        return self._move_key(item, key)

    def _card_key(self, item: Item, key: int, modifiers: Qt.KeyboardModifier) -> bool:
        enter = key in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if (
            isinstance(item, DraftItem)
            and enter
            and modifiers == Qt.KeyboardModifier.ControlModifier
        ):
            return self._press(item, "approve")
        if modifiers:
            return False
        if isinstance(item, ApprovalItem):
            if key == Qt.Key.Key_A:
                return self._press(item, "allow_always")
            if key == Qt.Key.Key_D:
                return self._press(item, "deny")
        if isinstance(item, QuestionItem) and Qt.Key.Key_1 <= key <= Qt.Key.Key_9:
            number = key - int(Qt.Key.Key_1)
            if number < len(item.hits):
                if not self._actions.guarded(item):
                    self._actions.do(item, item.hits[number])
                return True
        if isinstance(item, DraftItem):
            if key == Qt.Key.Key_E:
                return self._press(item, "edit")
            if key == Qt.Key.Key_Delete:
                return self._press(item, "discard")
        if enter or key == Qt.Key.Key_Space:
            hit = self._stage.focus.shown_hit(item)
            if hit is not None:
                if not self._actions.guarded(item):
                    self._actions.do(item, hit)
                return True
        if isinstance(item, UserItem) and key in (Qt.Key.Key_E, Qt.Key.Key_B):
            self._actions.do_said(item, "edit" if key == Qt.Key.Key_E else "branch")
            return True
        if isinstance(item, UserItem | TextItem) and key == Qt.Key.Key_P:
            self._actions.pin(item)
            return True
        if key == Qt.Key.Key_R:
            return any(self._press(item, name) for name in ("try_now", "try_again"))
        return False

    def _press(self, item: Item, action: str) -> bool:
        """Press a button of the block by its action; keys that come too early are swallowed."""
        hit = next((hit for hit in item.hits if hit.action == action), None)
        if hit is None:
            return False
        if not self._actions.guarded(item):
            self._actions.do(item, hit)
        return True

    def _move_key(self, item: Item | None, key: int) -> bool:
        stage = self._stage
        if key in (Qt.Key.Key_Down, Qt.Key.Key_Up):
            stage.focus.keyboard = True
            if stage.focus.move(stage.canvas, 1 if key == Qt.Key.Key_Down else -1):
                index = stage.focus.index(stage.canvas)
                if index is not None:
                    stage.reveal(index)
                    stage.focus_moved.emit(index)
            stage.outdated.emit()
            return True
        page = stage.scroller.height - 48
        if key in (Qt.Key.Key_PageDown, Qt.Key.Key_PageUp):
            stage.scroll_by(page if key == Qt.Key.Key_PageDown else -page)
            return True
        if key == Qt.Key.Key_End:
            stage.scroll_to_end()
            return True
        if key == Qt.Key.Key_Home:
            stage.scroll_to(0)
            return True
        if key == Qt.Key.Key_Escape:
            self._actions.left.emit()
            return True
        if item is None:
            return False
        if key == Qt.Key.Key_C:
            stage.selection.clear()
            self._actions.copy()
            return True
        if key in (Qt.Key.Key_Right, Qt.Key.Key_Left):
            rows = [hit for hit in item.hits if hit.action == "toggle"]
            hit = next(
                (hit for hit in rows if hit.same(stage.focus.hit)), rows[0] if rows else None
            )
            if hit is not None and isinstance(hit.value, int):
                if (hit.value in stage.context.opened) != (key == Qt.Key.Key_Right):
                    stage.toggle(hit.value)
                return True
        return False
