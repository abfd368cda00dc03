"""The keyboard in the transcript: which block has the focus, and what keys do to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QKeySequence

from .access import focus_moved
from .actions import guarded
from .canvas import Canvas
from .draft import DraftItem
from .items import Hit, Item
from .prompt import AskItem, PromptItem

if TYPE_CHECKING:
    from .view import TranscriptView

_BUTTONS = ("primary", "secondary", "ghost", "icon", "link")


class Focus:
    """The block with the focus, and one of its rows or buttons."""

    def __init__(self) -> None:
        self.item: Item | None = None
        self.hit: Hit | None = None
        self.keyboard = False
        """Whether it came by the keyboard and is to be seen."""

    def __bool__(self) -> bool:
        return self.item is not None and self.keyboard

    def clear(self) -> None:
        self.item = self.hit = None
        self.keyboard = False

    def index(self, canvas: Canvas) -> int | None:
        return None if self.item is None else canvas.index(self.item)

    def shown_hit(self, item: Item) -> Hit | None:
        """The button that Enter would press; a prompt's first one."""
        if self.hit is not None:
            return self.hit
        if isinstance(item, PromptItem) and item.hits:
            return item.hits[0]
        return None

    def move(self, canvas: Canvas, step: int) -> bool:
        """To the next or previous block or row."""
        here = self.index(canvas)
        if here is None:
            here = len(canvas.items) if step < 0 else -1
            stops: list[Hit | None] = []
        else:
            stops = _rows(canvas.items[here])
        at = next((n for n, hit in enumerate(stops) if hit and hit.same(self.hit)), 0)
        if stops and 0 <= at + step < len(stops):
            self.hit = stops[at + step]
            return True
        here += step
        while 0 <= here < len(canvas.items) and not canvas.items[here].height:
            here += step
        if not 0 <= here < len(canvas.items):
            return False
        self.item = canvas.items[here]
        rows = _rows(self.item)
        self.hit = rows[0 if step > 0 else -1] if rows else None
        return True

    def tab(self, canvas: Canvas, forward: bool) -> bool:
        """To the next button of the focused block; False after the last."""
        if self.item is None or self.index(canvas) is None:
            return False
        buttons = [hit for hit in self.item.hits if hit.style in _BUTTONS]
        if not buttons:
            return False
        start = self.shown_hit(self.item)
        at = next((n for n, hit in enumerate(buttons) if hit.same(start)), None)
        at = (0 if forward else -1) if at is None else at + (1 if forward else -1)
        if not 0 <= at < len(buttons):
            self.hit = None
            return False
        self.hit, self.keyboard = buttons[at], True
        return True


def _rows(item: Item) -> list[Hit | None]:
    return [hit for hit in item.hits if hit.style == "row"]


def key_pressed(view: TranscriptView, event: QKeyEvent) -> bool:
    """Handle a key; False leaves it to others."""
    if event.matches(QKeySequence.StandardKey.Copy):
        view.copy()
        return True
    if event.matches(QKeySequence.StandardKey.SelectAll):
        view.select_all()
        return True
    key, modifiers = event.key(), event.modifiers()
    modifiers &= ~Qt.KeyboardModifier.KeypadModifier
    item = view.focus.item
    if item is not None and view.canvas.index(item) is None:
        item = view.focus.item = None
    if item is not None and _card_key(view, item, key, modifiers):
        return True
    if modifiers:
        return False
    return _move_key(view, item, key)


def _card_key(view: TranscriptView, item: Item, key: int, modifiers: Qt.KeyboardModifier) -> bool:
    enter = key in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
    if isinstance(item, DraftItem) and enter and modifiers == Qt.KeyboardModifier.ControlModifier:
        return _press(view, item, "approve")
    if modifiers:
        return False
    if isinstance(item, PromptItem):
        if key == Qt.Key.Key_A:
            return _press(view, item, "allow_always")
        if key == Qt.Key.Key_D:
            return _press(view, item, "deny")
    if isinstance(item, AskItem) and Qt.Key.Key_1 <= key <= Qt.Key.Key_9:
        number = key - int(Qt.Key.Key_1)
        if number < len(item.hits):
            if not guarded(view, item):
                view.activate(item, item.hits[number])
            return True
    if isinstance(item, DraftItem):
        if key == Qt.Key.Key_E:
            return _press(view, item, "edit")
        if key == Qt.Key.Key_Delete:
            return _press(view, item, "discard")
    if enter or key == Qt.Key.Key_Space:
        hit = view.focus.shown_hit(item)
        if hit is not None:
            if not guarded(view, item):
                view.activate(item, hit)
            return True
    if key == Qt.Key.Key_R:
        return _press(view, item, "retry")
    return False


def _press(view: TranscriptView, item: Item, action: str) -> bool:
    """Press a button of the block by its action; keys that come too early are swallowed."""
    hit = next((hit for hit in item.hits if hit.action == action), None)
    if hit is None:
        return False
    if not guarded(view, item):
        view.activate(item, hit)
    return True


def _move_key(view: TranscriptView, item: Item | None, key: int) -> bool:
    if key in (Qt.Key.Key_Down, Qt.Key.Key_Up):
        view.focus.keyboard = True
        if view.focus.move(view.canvas, 1 if key == Qt.Key.Key_Down else -1):
            index = view.focus.index(view.canvas)
            if index is not None:
                view.reveal(index)
                focus_moved(view)
        view.viewport().update()
        return True
    page = view.viewport().height() - 48
    if key in (Qt.Key.Key_PageDown, Qt.Key.Key_PageUp):
        view.scroll_by(page if key == Qt.Key.Key_PageDown else -page)
        return True
    if key == Qt.Key.Key_End:
        view.scroll_to_end()
        return True
    if key == Qt.Key.Key_Home:
        view.scroll_to_start()
        return True
    if key == Qt.Key.Key_Escape:
        view.left.emit()
        return True
    if item is None:
        return False
    if key == Qt.Key.Key_C:
        view.selection.clear()
        view.copy()
        return True
    if key in (Qt.Key.Key_Right, Qt.Key.Key_Left):
        rows = [hit for hit in item.hits if hit.action == "toggle"]
        hit = next((hit for hit in rows if hit.same(view.focus.hit)), rows[0] if rows else None)
        if hit is not None and isinstance(hit.value, int):
            if (hit.value in view.context.opened) != (key == Qt.Key.Key_Right):
                view.toggle(hit.value)
            return True
    return False
