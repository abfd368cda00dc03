"""Accessibility: describes the transcript to screen readers as a list, and announces events."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import cast

from PySide6.QtCore import QObject, QPoint, QRect
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QAccessibleEvent,
    QAccessibleInterface,
    QColor,
    QWindow,
)
from PySide6.QtWidgets import QAbstractScrollArea, QAccessibleWidget, QWidget

from studio.ui.translation import tr

from .items.base import Item
from .viewport import Viewport


class AccessibleTranscript(QAccessibleWidget):
    """The canvas as a list; its children are made on demand."""

    def __init__(self, view: QAbstractScrollArea, viewport: Viewport) -> None:
        super().__init__(view, QAccessible.Role.List, tr("Transcript"))
        self._view = view
        self._viewport = viewport
        self._children: dict[Item, AccessibleItem] = {}

    def childCount(self) -> int:
        return len(self._viewport.canvas.items)

    def child(self, index: int) -> QAccessibleInterface | None:
        items = self._viewport.canvas.items
        if not 0 <= index < len(items):
            return None
        item = items[index]
        found = self._children.get(item)
        if found is None:
            if len(self._children) > 2000:
                self._children = {i: c for i, c in self._children.items() if c.isValid()}
            found = self._children[item] = AccessibleItem(self, self._view, self._viewport, item)
        return found

    def indexOfChild(self, child: QAccessibleInterface) -> int:
        index = (
            self._viewport.canvas.index(child.item) if isinstance(child, AccessibleItem) else None
        )
        return -1 if index is None else index

    def childAt(self, x: int, y: int) -> QAccessibleInterface | None:
        at = self._view.viewport().mapFromGlobal(QPoint(x, y))
        if not self._view.viewport().rect().contains(at) or not self._viewport.canvas.items:
            return None
        return self.child(self._viewport.canvas.at(at.y() + self._viewport.scroller.value))

    def focusChild(self) -> QAccessibleInterface | None:
        index = self._viewport.focus.index(self._viewport.canvas)
        return None if index is None else self.child(index)


class AccessibleItem(QAccessibleInterface):
    """One block: its name says its state ("Ran pytest, failed, exit 1, collapsed")."""

    def __init__(
        self,
        parent: AccessibleTranscript,
        view: QAbstractScrollArea,
        viewport: Viewport,
        item: Item,
    ) -> None:
        super().__init__()
        self._parent = parent
        self._view = view
        self._viewport = viewport
        self.item = item

    def isValid(self) -> bool:
        return self._viewport.canvas.index(self.item) is not None

    def object(self) -> QObject | None:
        return None

    def window(self) -> QWindow | None:
        return self._view.window().windowHandle()

    def parent(self) -> QAccessibleInterface:
        return self._parent

    def childCount(self) -> int:
        return 0

    def child(self, index: int) -> QAccessibleInterface | None:
        return None

    def indexOfChild(self, child: QAccessibleInterface) -> int:
        return -1

    def childAt(self, x: int, y: int) -> QAccessibleInterface | None:
        return None

    def text(self, kind: QAccessible.Text) -> str:
        if kind != QAccessible.Text.Name or not self.isValid():
            return ""
        return spoken(self._viewport, self.item)

    def setText(self, kind: QAccessible.Text, text: str) -> None:
        """A transcript is only read."""

    def role(self) -> QAccessible.Role:
        return QAccessible.Role.ListItem

    def rect(self) -> QRect:
        index = self._viewport.canvas.index(self.item)
        if index is None:
            return QRect()
        place = self._viewport.place_of(index)
        return QRect(self._view.viewport().mapToGlobal(place.topLeft()), place.size())

    def state(self) -> QAccessible.State:
        state = QAccessible.State()
        state.readOnly = True
        state.focusable = True
        state.focused = self._view.hasFocus() and self._viewport.focus.item is self.item
        state.invisible = not self.item.height
        state.offscreen = not self._on_screen()
        return state

    def _on_screen(self) -> bool:
        index = self._viewport.canvas.index(self.item)
        return index is not None and self._viewport.place_of(index).intersects(
            self._view.viewport().rect()
        )

    def foregroundColor(self) -> QColor:
        return self._viewport.style.color("text1")

    def backgroundColor(self) -> QColor:
        return self._viewport.style.color("surface")


def spoken(viewport: Viewport, item: Item) -> str:
    """The text a screen reader speaks for an item, or for its focused row."""
    rows = [hit for hit in item.hits if hit.style == "row" and hit.text]
    focused = viewport.focus.hit
    if (
        viewport.focus.item is item
        and focused is not None
        and any(h.same(focused) for h in item.hits)
    ):
        here = next(hit for hit in item.hits if hit.same(focused))
        return ", ".join(filter(None, [here.text, item.disabled_reason(here, viewport.context)]))
    if len(rows) > 1 or (rows and item.span.kind == "tools"):
        return "; ".join(hit.text for hit in rows)
    return item.name


@cache
def install(describe: Callable[[str, QObject], QAccessibleInterface | None]) -> None:
    """Let Qt make the accessible object of a widget with ``describe``; only once.

    ``describe`` gets the name of a class and an object of it, and keeps the result alive.
    """
    QAccessible.installFactory(describe)


def announce(widget: QWidget, text: str, *, urgent: bool) -> None:
    """Let a screen reader speak a text now."""
    if not text or not QAccessible.isActive():
        return
    event = QAccessibleAnnouncementEvent(cast("QObject", widget), text)
    event.setPoliteness(
        QAccessible.AnnouncementPoliteness.Assertive
        if urgent
        else QAccessible.AnnouncementPoliteness.Polite
    )
    QAccessible.updateAccessibility(event)


def focus_moved(widget: QWidget, index: int) -> None:
    """Tell a screen reader which block has the focus now."""
    if not QAccessible.isActive():
        return
    event = QAccessibleEvent(cast("QObject", widget), QAccessible.Event.Focus)
    event.setChild(index)
    QAccessible.updateAccessibility(event)
