"""Accessibility: describes the transcript to screen readers as a list.

Nothing is made before a screen reader asks. Qt keeps what it was given by a number, and asks it
at any time: whatever is gone is taken back from Qt before Python frees it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import cast

from PySide6.QtCore import QObject, QPoint, QPointF, QRect, QRectF, QTimer
from PySide6.QtGui import (
    QAccessible,
    QAccessibleActionInterface,
    QAccessibleEvent,
    QAccessibleInterface,
    QColor,
    QWindow,
)
from PySide6.QtWidgets import QAbstractScrollArea, QAccessibleWidget
from shiboken6.Shiboken import VoidPtr

from studio.ui.translation import tr

from .accessible_text import ItemText
from .actions import Actions
from .items.answer_item import AgentItem, TextItem
from .items.approval_item import WaitingItem
from .items.base import Hit, Item
from .items.tool_item import ToolsItem
from .items.user_item import UserItem
from .message_row import actions_of, is_of_message, message_at
from .viewport import Viewport

_NOTHING = VoidPtr(0)
"""A null pointer. The binding takes an object or this for a pointer, though it says ``int``: at
a number, and at the None that it gives itself, the program crashes."""


class AccessibleTranscript(QAccessibleWidget):
    """The canvas as a list; its children are made on demand."""

    def __init__(self, view: QAbstractScrollArea, viewport: Viewport, actions: Actions) -> None:
        super().__init__(view, QAccessible.Role.List, tr("Transcript"))
        self.view, self.viewport, self.actions = view, viewport, actions
        self._children: dict[Item, AccessibleItem] = {}

    def childCount(self) -> int:
        return len(self.viewport.canvas.items)

    def child(self, index: int) -> QAccessibleInterface | None:
        return self.item(index)

    def item(self, index: int) -> AccessibleItem | None:
        items = self.viewport.canvas.items
        if not 0 <= index < len(items):
            return None
        found = self._children.get(items[index])
        if found is None:
            found = self._children[items[index]] = AccessibleItem(self, items[index])
        return found

    def indexOfChild(self, child: QAccessibleInterface) -> int:
        item = child.item if isinstance(child, AccessibleItem) else None
        index = None if item is None else self.viewport.canvas.index(item)
        return -1 if index is None else index

    def childAt(self, x: int, y: int) -> QAccessibleInterface | None:
        at = self.view.viewport().mapFromGlobal(QPoint(x, y))
        if not self.view.viewport().rect().contains(at) or not self.viewport.canvas.items:
            return None
        return self.child(self.viewport.canvas.at(at.y() + self.viewport.scroller.value))

    def focusChild(self) -> QAccessibleInterface | None:
        """The block with the focus, or the row, link or button that has it."""
        focus, canvas = self.viewport.focus, self.viewport.canvas
        index = focus.index(canvas)
        item = None if index is None else self.item(index)
        if item is None or index is None:
            return None
        hit, owner = focus.shown_hit(item.item), item
        if is_of_message(hit) and (message := message_at(canvas.items, index)) is not None:
            owner = self.item(canvas.index(message.owner) or 0) or item
        return (owner.place(hit) if hit is not None else None) or item

    def changed(self, indexes: Iterable[int]) -> None:
        """Tell that blocks have other words now; a text that grows is told when it is whole."""
        canvas = self.viewport.canvas
        new_from = len(canvas.items) if canvas.splice_at is None else canvas.splice_at
        if canvas.splice_at is not None:
            for item in [item for item in self._children if canvas.index(item) is None]:
                self._children.pop(item).take_back()
        for index in indexes:
            item = canvas.items[index]
            child = self._children.get(item)
            if child is None and index >= new_from:
                _tell(self.item(index), QAccessible.Event.ObjectCreated)
            elif child is not None and child.renamed():
                _tell(child, QAccessible.Event.NameChanged)

    def take_back(self) -> None:
        """All blocks are gone."""
        for child in self._children.values():
            child.take_back()
        self._children.clear()


class _Part(QAccessibleInterface):
    """A part of the transcript, which is no widget."""

    def __init__(self, transcript: AccessibleTranscript) -> None:
        super().__init__()
        self._transcript = transcript
        self._viewport = transcript.viewport

    def object(self) -> QObject | None:
        return None

    def window(self) -> QWindow | None:
        return self._transcript.view.window().windowHandle()

    def childAt(self, x: int, y: int) -> QAccessibleInterface | None:
        children = (self.child(index) for index in range(self.childCount()))
        return next((one for one in children if one and one.rect().contains(x, y)), None)

    def setText(self, kind: QAccessible.Text, text: str) -> None:
        """A transcript is only read."""

    def foregroundColor(self) -> QColor:
        return self._viewport.style.color("text1")

    def backgroundColor(self) -> QColor:
        return self._viewport.style.color("surface")

    def on_screen(self, rect: QRectF | QRect) -> QRect:
        """A rectangle of the viewport, on the screen."""
        whole = rect.toAlignedRect() if isinstance(rect, QRectF) else rect
        return QRect(self._transcript.view.viewport().mapToGlobal(whole.topLeft()), whole.size())

    def is_in_view(self) -> bool:
        view = self._transcript.view.viewport()
        return self.rect().intersects(QRect(view.mapToGlobal(QPoint()), view.size()))

    def common_state(self) -> QAccessible.State:
        state = QAccessible.State()
        state.focusable = True
        state.offscreen = not self.is_in_view()
        return state

    def take_back(self) -> None:
        QAccessible.deleteAccessibleInterface(QAccessible.uniqueId(self))


class AccessibleItem(_Part):
    """One block: its name says its state ("Ran pytest, failed, exit 1"), its text what it shows.

    Its children are its rows, links and buttons.
    """

    def __init__(self, transcript: AccessibleTranscript, item: Item) -> None:
        super().__init__(transcript)
        self.item = item
        self._places: list[AccessiblePlace] = []
        self._text = ItemText(item, transcript.viewport, transcript.view.viewport())
        self._name = ""
        self._stops: Sequence[Hit] = ()
        self._laid_as: object = None

    def isValid(self) -> bool:
        return self._viewport.canvas.index(self.item) is not None

    def parent(self) -> QAccessibleInterface:
        return self._transcript

    def childCount(self) -> int:
        return len(self._hits())

    def child(self, index: int) -> QAccessibleInterface | None:
        hits = self._hits()
        return self.place(hits[index]) if 0 <= index < len(hits) else None

    def indexOfChild(self, child: QAccessibleInterface) -> int:
        hit = child.hit if isinstance(child, AccessiblePlace) else None
        return next((n for n, one in enumerate(self._hits()) if one.same(hit)), -1)

    def find(self, wanted: Hit) -> Hit | None:
        """The place as it is laid out now."""
        return next((hit for hit in self._hits() if hit.same(wanted)), None)

    def _hits(self) -> Sequence[Hit]:
        """Its rows, links and buttons, and what can be done with the message that it begins."""
        canvas, item = self._viewport.canvas, self.item
        index = canvas.index(item)
        if index is None:
            return ()
        self._viewport.ready(index)
        if self._laid_as != (item.hits, item.leaves):  # for as many calls as there are places
            self._laid_as = (item.hits, [*item.leaves])
            self._stops = item.stops(canvas.context)
        owns = isinstance(item, AgentItem | UserItem)
        message = message_at(canvas.items, index) if owns else None
        return self._stops if message is None else [*self._stops, *actions_of(canvas, message)]

    def place(self, hit: Hit) -> AccessiblePlace | None:
        """The child for a row, link or button; None if it is not there."""
        if self.find(hit) is None:
            return None
        found = next((place for place in self._places if place.hit.same(hit)), None)
        if found is None:
            for place in [place for place in self._places if self.find(place.hit) is None]:
                self._places.remove(place)
                place.take_back()
            found = AccessiblePlace(self._transcript, self, hit)
            self._places.append(found)
        return found

    def text(self, kind: QAccessible.Text) -> str:
        if kind != QAccessible.Text.Name or not self.isValid():
            return ""
        self._name = self._said()
        return self._name

    def renamed(self) -> bool:
        """Whether its name is another than the one that was asked for last."""
        grows = isinstance(self.item, TextItem) and self.item.block.live
        return bool(self._name) and not grows and self._name != self._said()

    def _said(self) -> str:
        rows = [hit.text for hit in self._hits() if hit.style == "row" and hit.text]
        tools = isinstance(self.item, ToolsItem)
        return "; ".join(rows) if rows and tools else self.item.name

    def role(self) -> QAccessible.Role:
        return QAccessible.Role.ListItem

    def rect(self) -> QRect:
        index = self._viewport.canvas.index(self.item)
        return QRect() if index is None else self.on_screen(self._viewport.place_of(index))

    def state(self) -> QAccessible.State:
        state = self.common_state()
        state.readOnly = state.multiLine = True
        here = self._viewport.focus.item is self.item and self._transcript.focusChild() is self
        state.focused = here and self._transcript.view.hasFocus()
        state.invisible = not self.item.height
        return state

    def interface_cast(self, kind: QAccessible.InterfaceType) -> int:
        text = kind == QAccessible.InterfaceType.TextInterface
        return cast("int", self._text if text else _NOTHING)

    def take_back(self) -> None:
        for place in self._places:
            place.take_back()
        self._places.clear()
        super().take_back()


class AccessiblePlace(_Part):
    """A row, link or button of a block. It can be pressed."""

    def __init__(self, transcript: AccessibleTranscript, item: AccessibleItem, hit: Hit) -> None:
        super().__init__(transcript)
        self._item = item
        self.hit = hit
        self._press = _Press(self)

    @property
    def _here(self) -> Hit | None:
        return self._item.find(self.hit) if self._item.isValid() else None

    def isValid(self) -> bool:
        return self._here is not None

    def parent(self) -> QAccessibleInterface:
        return self._item

    def childCount(self) -> int:
        return 0

    def child(self, index: int) -> QAccessibleInterface | None:
        return None

    def indexOfChild(self, child: QAccessibleInterface) -> int:
        return -1

    def text(self, kind: QAccessible.Text) -> str:
        hit = self._here
        if hit is None:
            return ""
        if kind == QAccessible.Text.Name:
            return hit.text
        if kind == QAccessible.Text.Accelerator:
            return hit.keycap
        if kind == QAccessible.Text.Description:
            item, context = self._item.item, self._viewport.context
            reason = item.disabled_reason(hit, context)
            if not reason and isinstance(item, WaitingItem) and item.stops(context)[0].same(hit):
                return item.name  # with its first button, a question is read as a whole
            return reason
        return ""

    def role(self) -> QAccessible.Role:
        link = self.hit.style == "link"
        return QAccessible.Role.Link if link else QAccessible.Role.Button

    def rect(self) -> QRect:
        hit, index = self._here, self._viewport.canvas.index(self._item.item)
        if hit is None or index is None:
            return QRect()
        if not is_of_message(hit):
            stops = self._item.item.stops(self._viewport.context)  # words may be laid out by now
            hit = next((one for one in stops if one.same(hit)), hit)
            top = QPointF(self._viewport.place_of(index).topLeft())
            return self.on_screen(hit.rect.translated(top))
        row = self._viewport.message_row  # its places are in the widget, while it is there
        shown = next((one for one in row.hits if one.same(hit)), None) if row else None
        return self.on_screen(shown.rect) if shown is not None else QRect()

    def state(self) -> QAccessible.State:
        state, hit = self.common_state(), self._here
        if hit is None:
            return state
        state.disabled = bool(self._item.item.disabled_reason(hit, self._viewport.context))
        state.focused = self._transcript.view.hasFocus() and self._transcript.focusChild() is self
        if hit.action == "toggle":
            state.expandable = True
            state.expanded = hit.value in self._viewport.context.opened
            state.collapsed = not state.expanded
        return state

    def interface_cast(self, kind: QAccessible.InterfaceType) -> int:
        action = kind == QAccessible.InterfaceType.ActionInterface
        return cast("int", self._press if action else _NOTHING)

    def press(self) -> None:
        hit, index = self._here, self._viewport.canvas.index(self._item.item)
        if hit is not None and index is not None:
            if is_of_message(hit):
                self._viewport.focus_on(index)
                row = self._viewport.show_message_row()
                hit = next((one for one in row if one.same(hit)), hit)
            self._viewport.focus.item = self._item.item
            # Later: what is done may take away what Qt is still asking.
            actions, item = self._transcript.actions, self._item.item
            QTimer.singleShot(0, actions, lambda: actions.do(item, hit))

    def take_focus(self) -> None:
        index = self._viewport.canvas.index(self._item.item)
        if index is not None:
            self._viewport.focus_on(index)
            self._viewport.focus.hit = self._here
            self._transcript.view.setFocus()


class _Press(QAccessibleActionInterface):
    """What can be done with a place."""

    def __init__(self, place: AccessiblePlace) -> None:
        super().__init__()
        self._place = place

    def actionNames(self) -> list[str]:
        return [self.pressAction(), self.setFocusAction()]

    def doAction(self, actionName: str) -> None:
        if actionName == self.pressAction():
            self._place.press()
        elif actionName == self.setFocusAction():
            self._place.take_focus()

    def keyBindingsForAction(self, actionName: str) -> list[str]:
        key = self._place.text(QAccessible.Text.Accelerator)
        return [key] if key and actionName == self.pressAction() else []


@cache
def install(describe: Callable[[str, QObject], QAccessibleInterface | None]) -> None:
    """Let Qt make the accessible object of a widget with ``describe``; only once.

    ``describe`` gets the name of a class and an object of it, and keeps the result alive.
    """
    QAccessible.installFactory(describe)


def focus_moved(transcript: AccessibleTranscript) -> None:
    """Tell a screen reader which block, row or button has the focus now."""
    child = transcript.focusChild()
    if child is not None:
        _tell(child, QAccessible.Event.Focus)


def _tell(about: QAccessibleInterface | None, kind: QAccessible.Event) -> None:
    if about is not None:
        QAccessible.updateAccessibility(QAccessibleEvent(about, kind))
