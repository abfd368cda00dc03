"""Input: handles keys and the mouse in the transcript."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QKeyCombination, QPointF, QRectF, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence, QMouseEvent
from PySide6.QtWidgets import QApplication, QWidget

from studio.ui.widgets.letters import LoneLetter

from .actions import Actions
from .items.answer_item import AgentItem, TextItem
from .items.approval_item import WaitingItem
from .items.base import Hit, Item
from .items.draft_item import DraftItem
from .items.files_item import FilesItem
from .items.question_item import QuestionItem
from .items.user_item import UserItem
from .message_row import PREFIX, MessageAction, is_of_message, message_at, offered
from .viewport import TextPosition, Viewport

COPY_MARKDOWN = QKeyCombination(
    Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier, Qt.Key.Key_C
)
_SELECTING = {
    int(Qt.Key.Key_Left): (-1, False),
    int(Qt.Key.Key_Right): (1, False),
    int(Qt.Key.Key_Up): (-1, True),
    int(Qt.Key.Key_Down): (1, True),
}
"""Direction of a key that selects with Shift, and whether it goes by blocks of text."""


def is_typed(event: QKeyEvent) -> bool:
    """Whether a key writes something where text is written; no text begins with a blank."""
    held = event.modifiers() & ~(
        Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier
    )
    text = event.text()
    return bool(text.strip()) and text.isprintable() and not held


class KeyboardInput:
    """Moves the focus, scrolls, and presses buttons of the focused item by key."""

    def __init__(self, viewport: Viewport, actions: Actions) -> None:
        self._viewport = viewport
        self._actions = actions
        self._alone = LoneLetter(actions)

    def press(self, event: QKeyEvent) -> bool:
        """Handle a key; False if it has no meaning here."""
        if self._alone.followed_by(event):
            return True
        card = self._viewport.focus.item
        shown = card is not None and self._viewport.canvas.index(card) is not None
        if shown and isinstance(card, WaitingItem) and is_typed(event):
            return self._type_on(card, event)
        return self._press_key(event)

    def _type_on(self, card: WaitingItem, event: QKeyEvent) -> bool:
        """A key of the card presses its button; any other one belongs to a message."""
        if event.isAutoRepeat():
            return True
        deaf, shift = card.deaf(self._viewport.context.now()), Qt.KeyboardModifier.ShiftModifier
        if not deaf and not event.modifiers() & shift and self._hit_of_letter(card, event.key()):
            pressed = partial(self._press_letter, card, event.key())
            self._alone.hold(event.text(), pressed, partial(self._send_on, card))
        else:
            self._send_on(card, event.text())
        return True

    def _send_on(self, card: WaitingItem, text: str) -> None:
        card.typed_over(self._viewport.context.now())
        self._actions.typed.emit(text)

    def _hit_of_letter(self, card: WaitingItem, key: int) -> Hit | None:
        """The button of a card that a letter or digit presses."""
        card.show(self._viewport.context, 0, 0)  # far from the window it has no buttons
        if isinstance(card, QuestionItem):
            return card.numbered(key - int(Qt.Key.Key_0))
        action = {int(Qt.Key.Key_A): "allow_always", int(Qt.Key.Key_D): "deny"}.get(key)
        return next((hit for hit in card.hits if hit.action == action), None)

    def _press_letter(self, card: WaitingItem, key: int) -> None:
        """No other key followed."""
        if self._viewport.canvas.index(card) is None:
            return
        if (hit := self._hit_of_letter(card, key)) is not None:
            self._actions.press(card, hit)

    def _press_key(self, event: QKeyEvent) -> bool:
        viewport = self._viewport
        if event.matches(QKeySequence.StandardKey.Copy):
            self._actions.copy(markup=False)
            return True
        if event.keyCombination() == COPY_MARKDOWN:
            self._actions.copy()
            return True
        if self._select_key(event):
            return True
        if event.matches(QKeySequence.StandardKey.SelectAll):
            viewport.select_all()
            return True
        key, modifiers = event.key(), event.modifiers()
        modifiers &= ~Qt.KeyboardModifier.KeypadModifier
        item = viewport.focus.item
        if item is not None and viewport.canvas.index(item) is None:
            item = viewport.focus.item = None
        if isinstance(item, FilesItem):
            if event.matches(QKeySequence.StandardKey.Undo):
                return self._press(item, "undo_files")
            if event.matches(QKeySequence.StandardKey.Redo):
                return self._press(item, "redo_files")
        if item is not None and self._card_key(item, key, modifiers):
            return True
        step = {int(Qt.Key.Key_Left): -1, int(Qt.Key.Key_Right): 1}.get(key)
        if step is not None and modifiers == Qt.KeyboardModifier.AltModifier:
            return self._switch_version(step)
        if modifiers:
            return False
        return self._move_key(item, key)

    def _card_key(self, item: Item, key: int, modifiers: Qt.KeyboardModifier) -> bool:
        if isinstance(item, WaitingItem | DraftItem):
            item.show(self._viewport.context, 0, 0)  # far from the window it has no buttons
        enter = key in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if (
            isinstance(item, DraftItem)
            and enter
            and modifiers == Qt.KeyboardModifier.ControlModifier
        ):
            return self._press(item, "approve")
        if modifiers:
            return False
        if is_of_message(self._viewport.focus.hit) and self._row_key(key):
            return True
        if isinstance(item, DraftItem):
            if key == Qt.Key.Key_E:
                return self._press(item, "edit")
            if key == Qt.Key.Key_Delete:
                return self._press(item, "discard")
        if enter or key == Qt.Key.Key_Space:
            hit = self._viewport.focus.shown_hit(item)
            if enter and isinstance(item, WaitingItem):
                hit = item.entered(self._viewport.focus.hit)
            if hit is not None:
                self._actions.press(item, hit)
                return True
        if isinstance(item, UserItem | TextItem) and key in (Qt.Key.Key_E, Qt.Key.Key_B):
            return self._message_key(item, "edit" if key == Qt.Key.Key_E else "branch")
        if isinstance(item, UserItem | TextItem) and key == Qt.Key.Key_P:
            self._actions.pin(item)
            return True
        if key == Qt.Key.Key_R:
            ways = ("try_now", "try_again", "go_on")
            return any(self._press(item, name) for name in ways) or self._retry()
        return False

    def _select_key(self, event: QKeyEvent) -> bool:
        """Extend the selection with Shift and an arrow: by letters, or by blocks of text."""
        held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        way = _SELECTING.get(event.key())
        if way is None or held != Qt.KeyboardModifier.ShiftModifier:
            return False
        self._viewport.extend_selection(*way)
        return True

    def _row_key(self, key: int) -> bool:
        """Go along the actions of a message, or back from them to it."""
        viewport, hits = self._viewport, self._viewport.show_message_row()
        at = next((n for n, hit in enumerate(hits) if hit.same(viewport.focus.hit)), None)
        step = {int(Qt.Key.Key_Left): -1, int(Qt.Key.Key_Right): 1}.get(key)
        if key == Qt.Key.Key_Escape:
            viewport.focus.hit = None
        elif step is not None and at is not None:
            viewport.focus.hit = hits[(at + step) % len(hits)]
            viewport.focus_moved.emit(viewport.focus.index(viewport.canvas) or 0)
        else:
            return False
        viewport.outdated.emit()
        return True

    def _switch_version(self, step: int) -> bool:
        """Show the version of the focused message before or after this one."""
        viewport = self._viewport
        index = viewport.focus.index(viewport.canvas)
        message = None if index is None else message_at(viewport.canvas.items, index)
        owner = message.owner if message is not None else None
        switch = owner.switch if isinstance(owner, UserItem | AgentItem) else None
        hit = switch.hit(-1 if step < 0 else 1) if switch is not None else None
        if owner is not None and hit is not None:
            self._actions.do(owner, hit)
        return switch is not None

    def _message_key(self, item: Item, action: MessageAction) -> bool:
        """Do with the message of an item what its row offers; False if that is not offered."""
        canvas = self._viewport.canvas
        index = canvas.index(item)
        message = None if index is None else message_at(canvas.items, index)
        if message is None or action not in offered(message, canvas.items, canvas.context):
            return False
        self._actions.do_with_message(message, action, QRectF())
        return True

    def _retry(self) -> bool:
        """Have the model chosen that gives the focused answer again."""
        hits = self._viewport.show_message_row()
        hit = next((hit for hit in hits if hit.action == f"{PREFIX}retry"), None)
        item = self._viewport.focus.item
        if hit is not None and item is not None:
            self._actions.press(item, hit)
        return hit is not None

    def _press(self, item: Item, action: str) -> bool:
        """Press a button of the item by its action; False if it has none for it."""
        hit = next((hit for hit in item.hits if hit.action == action), None)
        if hit is None:
            return False
        self._actions.press(item, hit)
        return True

    def _move_key(self, item: Item | None, key: int) -> bool:
        viewport = self._viewport
        if key in (Qt.Key.Key_Down, Qt.Key.Key_Up):
            viewport.focus.keyboard = True
            if viewport.focus.move(viewport.canvas, 1 if key == Qt.Key.Key_Down else -1):
                index = viewport.focus.index(viewport.canvas)
                if index is not None:
                    viewport.reveal(index)
                    viewport.focus_moved.emit(index)
            viewport.outdated.emit()
            return True
        page = viewport.scroller.height - 48
        if key in (Qt.Key.Key_PageDown, Qt.Key.Key_PageUp):
            viewport.scroll_by(page if key == Qt.Key.Key_PageDown else -page)
            return True
        if key == Qt.Key.Key_End:
            viewport.scroll_to_end()
            return True
        if key == Qt.Key.Key_Home:
            viewport.scroll_to(0)
            return True
        if key == Qt.Key.Key_Escape:
            self._actions.left.emit()
            return True
        if item is None:
            return False
        if key == Qt.Key.Key_C:
            viewport.selection.clear()
            self._actions.copy()
            return True
        if key in (Qt.Key.Key_Right, Qt.Key.Key_Left):
            rows = [hit for hit in item.hits if hit.action == "toggle"]
            hit = next(
                (hit for hit in rows if hit.same(viewport.focus.hit)), rows[0] if rows else None
            )
            if hit is not None and isinstance(hit.value, int | tuple):
                if (hit.value in viewport.context.opened) != (key == Qt.Key.Key_Right):
                    viewport.toggle(hit.value)
                return True
        return False


class MouseInput:
    """Hovers, clicks, selects, and drags the scroll bar."""

    def __init__(self, viewport: Viewport, actions: Actions, widget: QWidget) -> None:
        self._viewport = viewport
        self._actions = actions
        self._widget = widget
        """The widget whose cursor is set."""
        self._down: QPointF | None = None
        self._pressed_at = QPointF()

    def forget(self) -> None:
        """Forget a pressed button: the items are others now."""
        self._down = None

    def hit_at(self, at: QPointF) -> tuple[Item | None, Hit | None, QPointF]:
        """The item and the place to click at a point of the widget, and the point in the item."""
        viewport = self._viewport
        if not viewport.canvas.items:
            return None, None, at
        if (row := viewport.message_row) is not None and row.rect.contains(at):
            return row.message.owner, row.hit(at), at
        y = at.y() + viewport.scroller.value
        index = viewport.canvas.at(y)
        item = viewport.canvas.items[index]
        inside = QPointF(at.x() - viewport.column_left, y - viewport.canvas.top(index))
        if isinstance(item, TextItem):
            return item, item.hit(inside.x(), inside.y(), viewport.context), inside
        for hit in reversed(item.hits):
            if hit.rect.contains(inside):
                return item, hit, inside
        return item, None, inside

    def place_at(self, at: QPointF) -> TextPosition | None:
        """The position in the text nearest to a point of the widget."""
        viewport = self._viewport
        if not viewport.canvas.items:
            return None
        y = at.y() + viewport.scroller.value
        index = viewport.canvas.at(y)
        item = viewport.canvas.items[index]
        return index, item.caret(at.x() - viewport.column_left, y - viewport.canvas.top(index))

    def press(self, event: QMouseEvent) -> None:
        viewport, at = self._viewport, event.position()
        if viewport.pill and viewport.pill[1].contains(at):
            viewport.follow_pill(viewport.pill[0].action)
            return
        bar = viewport.scroller.bar
        if bar.most and bar.strip.contains(at):
            thumb = bar.thumb
            inside = thumb.top() <= at.y() <= thumb.bottom()
            bar.grabbed = at.y() - thumb.top() if inside else thumb.height() / 2
            viewport.scroll_to(bar.value_at(at.y() - bar.grabbed))
            return
        item, hit, _ = self.hit_at(at)
        viewport.focus.item, viewport.focus.hit, viewport.focus.keyboard = item, None, False
        self._pressed_at = at
        if hit is not None:
            viewport.pressed = hit
        else:
            self._down = at
            place = self.place_at(at)
            extend = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
            if place is not None and extend and viewport.selection.anchor:
                viewport.selection.extend(place)
            elif place is not None:
                viewport.selection.begin(place)
        viewport.outdated.emit()

    def double_click(self, event: QMouseEvent) -> None:
        """Select the word."""
        viewport = self._viewport
        place = self.place_at(event.position())
        _, hit, _ = self.hit_at(event.position())
        if place is None or hit is not None:
            self.press(event)
            return
        index, (leaf, position) = place
        leaves = viewport.canvas.items[index].leaves
        if leaf < len(leaves):
            low, high = word_at(leaves[leaf].text, position)
            viewport.selection.begin((index, (leaf, low)))
            viewport.selection.extend((index, (leaf, high)))
            viewport.outdated.emit()

    def move(self, event: QMouseEvent) -> None:
        viewport, at = self._viewport, event.position()
        bar = viewport.scroller.bar
        if bar.grabbed is not None:
            viewport.scroll_to(bar.value_at(at.y() - bar.grabbed))
        elif self._is_dragged(event):
            dragged, viewport.pressed = viewport.pressed, None
            viewport.outdated.emit()
            if dragged is not None:
                self._actions.drag_wanted.emit(dragged.value)
        elif self._down is not None:
            beyond = at.y() if at.y() < 0 else max(0.0, at.y() - viewport.scroller.height)
            if beyond:
                viewport.scroll_by(max(-60.0, min(60.0, beyond)))
            place = self.place_at(at)
            if place is not None and place != viewport.selection.head:
                viewport.selection.extend(place)
                viewport.outdated.emit()
        else:
            self.follow(at)

    def _is_dragged(self, event: QMouseEvent) -> bool:
        """Whether a pressed picture or file has come far enough from where it was pressed."""
        pressed = self._viewport.pressed
        if pressed is None or pressed.action != "open_file":
            return False
        far = (event.position() - self._pressed_at).manhattanLength()
        held = bool(event.buttons() & Qt.MouseButton.LeftButton)
        return held and far >= QApplication.startDragDistance()

    def follow(self, at: QPointF) -> None:
        """Update hover and cursor."""
        viewport = self._viewport
        viewport.mouse_at = at
        bar = viewport.scroller.bar
        over_bar = bool(bar.most) and bar.strip.contains(at)
        over_pill = viewport.pill is not None and viewport.pill[1].contains(at)
        item, hit, inside = (None, None, at) if over_bar or over_pill else self.hit_at(at)
        row = viewport.message_row
        if row is None or not row.zone.contains(at):
            viewport.under_mouse = item
            viewport.find_message_row()
        shape = Qt.CursorShape.ArrowCursor
        if over_pill or hit is not None:
            shape = Qt.CursorShape.PointingHandCursor
        elif item is not None and 0 <= inside.x() <= viewport.context.width:
            if item.url(inside.x(), inside.y()):
                shape = Qt.CursorShape.PointingHandCursor
            elif item.over_text(inside.x(), inside.y()):
                shape = Qt.CursorShape.IBeamCursor
        if self._widget.cursor().shape() != shape:
            self._widget.setCursor(shape)
        same = hit.same(viewport.hover) if hit is not None else viewport.hover is None
        moved = viewport.message_row is not row and (
            row is None or viewport.message_row is None or viewport.message_row.rect != row.rect
        )
        if not same or moved or (over_bar, over_pill) != (bar.hover, viewport.over_pill):
            viewport.hover, bar.hover, viewport.over_pill = hit, over_bar, over_pill
            viewport.outdated.emit()

    def release(self, event: QMouseEvent) -> None:
        viewport, at = self._viewport, event.position()
        bar = viewport.scroller.bar
        if bar.grabbed is not None:
            bar.grabbed = None
            viewport.outdated.emit()
            return
        pressed, viewport.pressed = viewport.pressed, None
        clicked = self._down is not None and not viewport.selection
        self._down = None
        item, hit, inside = self.hit_at(at)
        if item is not None and pressed is not None:
            if hit is not None and hit.same(pressed):
                self._actions.do(item, hit)
        elif item is not None and clicked:
            url = item.url(inside.x(), inside.y())
            if url:
                self._actions.link_activated.emit(url)
        viewport.outdated.emit()

    def leave(self) -> None:
        viewport = self._viewport
        viewport.hover, viewport.over_pill, viewport.scroller.bar.hover = None, False, False
        if QApplication.activePopupWidget() is None:  # else it is a menu of the row
            viewport.under_mouse = None
            viewport.find_message_row()
        viewport.outdated.emit()


def word_at(text: str, position: int) -> tuple[int, int]:
    """Start and end of the word around a position, in UTF-16 units."""
    units = text.encode("utf-16-le", "surrogatepass")
    size = len(units) // 2

    def inside(at: int) -> bool:
        char = units[2 * at : 2 * at + 2].decode("utf-16-le", "replace")
        return char.isalnum() or char in "_\ufffd"

    low = high = max(0, min(position, size))
    while low > 0 and inside(low - 1):
        low -= 1
    while high < size and inside(high):
        high += 1
    return low, high
