"""What can be done in a graph and in its list, as a menu and a screen reader have it (W-67)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from PySide6.QtCore import QPoint
from PySide6.QtGui import QAccessible, QContextMenuEvent
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from studio.ui.graph.pane import GraphPane

Entry = tuple[str, bool, bool, tuple[Any, ...]]
"""Words with the key, whether it can be chosen, whether it has a tick, and the entries inside."""
FOR_EYES = {"Zoom out", "Zoom in", "Show all of the graph"}
"""Buttons of the graph alone: a list is neither zoomed nor moved."""


def actions_of(pane: GraphPane, *, lists: bool) -> tuple[list[list[Entry]], set[str]]:
    """The menu of each node that the menu key opens, and the buttons that a reader finds."""
    pane.show_list(lists)
    pane.take_focus()
    menus: list[list[Entry]] = []
    for node in pane.graph.nodes:
        pane.choose(node.id)
        menus.append(menu_at(pane.shown))
    return menus, set(_buttons(QAccessible.queryAccessibleInterface(pane)))


def menu_at(part: QWidget) -> list[Entry]:
    """The entries of the menu that the menu key opens."""
    key = QContextMenuEvent.Reason.Keyboard
    QApplication.sendEvent(part, QContextMenuEvent(key, QPoint(), part.mapToGlobal(QPoint())))
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    found = list(_entries(menu))
    menu.close()
    return found


def _entries(menu: QMenu) -> Iterator[Entry]:
    for action in menu.actions():
        below = action.menu()
        inside = tuple(_entries(below)) if isinstance(below, QMenu) else ()
        yield action.text(), action.isEnabled(), action.isChecked(), inside


def _buttons(seen: Any) -> Iterator[str]:
    if seen is None or seen.state().invisible:  # type: ignore[attr-defined]
        return
    if seen.role() == QAccessible.Role.Button:
        yield seen.text(QAccessible.Text.Name)
    for number in range(seen.childCount()):
        yield from _buttons(seen.child(number))
