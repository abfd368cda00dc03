"""Every action of the window in one table: its words, its keys, its menu."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMainWindow


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """One line of a menu; an empty ``name`` is a separator."""

    menu: str
    name: str
    text: str = ""
    keys: str = ""


TABLE = (
    ActionSpec("File", "new", "New chat", "Ctrl+N"),
    ActionSpec("File", "folder", "Choose folder…", "Ctrl+O"),
    ActionSpec("File", ""),
    ActionSpec("File", "settings", "Settings…", "Ctrl+,"),
    ActionSpec("File", "quit", "Quit", "Ctrl+Q"),
    ActionSpec("Edit", "find_chats", "Search chats", "Ctrl+Shift+F"),
    ActionSpec("Edit", "rename", "Rename chat", "F2"),
    ActionSpec("View", "sidebar", "Sidebar", "Ctrl+B"),
    ActionSpec("View", "inspector", "Inspector", "Ctrl+I"),
    ActionSpec("View", ""),
    ActionSpec("View", "larger", "Larger text", "Ctrl++"),
    ActionSpec("View", "smaller", "Smaller text", "Ctrl+-"),
    ActionSpec("View", "normal", "Normal text", "Ctrl+0"),
    ActionSpec("Chat", "composer", "Write a message", "Ctrl+L"),
    ActionSpec("Chat", "files", "Add files…", "Ctrl+Shift+A"),
    ActionSpec("Chat", ""),
    ActionSpec("Chat", "above", "Chat above", "Alt+Up"),
    ActionSpec("Chat", "below", "Chat below", "Alt+Down"),
    ActionSpec("Run", "stop", "Stop"),
    ActionSpec("Run", "running", "Running"),
    ActionSpec("Run", "stop_all", "Stop all"),
    ActionSpec("Run", "next", "Next thing that needs you", "Ctrl+J"),
    ActionSpec("Run", ""),
    ActionSpec("Run", "undo_files", "Undo last turn’s changes"),
    ActionSpec("Run", "redo_files", "Redo changes"),
    ActionSpec("Run", ""),
    ActionSpec("Run", "audit", "Audit"),
    ActionSpec("Window", "page_chat", "Chat", "Ctrl+1"),
    ActionSpec("Window", "page_agents", "Agents", "Ctrl+2"),
    ActionSpec("Window", "page_workflows", "Workflows", "Ctrl+3"),
    ActionSpec("Window", "page_drafts", "Drafts", "Ctrl+4"),
    ActionSpec("Window", ""),
    ActionSpec("Window", "next_pane", "Next pane", "F6"),
    ActionSpec("Window", "previous_pane", "Previous pane", "Shift+F6"),
    ActionSpec("Help", "keys", "All keys", "Ctrl+/"),
    ActionSpec("Help", "about", "About Agent Studio"),
)


def install(
    window: QMainWindow, handlers: Mapping[str, Callable[[], object]]
) -> dict[str, QAction]:
    """Fill the menu bar. Each action is added to the window too: a hidden menu bar
    disables the shortcuts that only it holds."""
    made: dict[str, QAction] = {}
    bar = window.menuBar()
    menus = {name: bar.addMenu(name) for name in dict.fromkeys(spec.menu for spec in TABLE)}
    for spec in TABLE:
        if not spec.name:
            menus[spec.menu].addSeparator()
            continue
        action = QAction(spec.text, window)
        if spec.keys:
            action.setShortcut(QKeySequence(spec.keys))
        if spec.name == "quit":
            action.setMenuRole(QAction.MenuRole.QuitRole)
        elif spec.name == "settings":
            action.setMenuRole(QAction.MenuRole.PreferencesRole)
        elif spec.name == "about":
            action.setMenuRole(QAction.MenuRole.AboutRole)
        handler = handlers[spec.name]
        action.triggered.connect(lambda _checked=False, handler=handler: handler())
        menus[spec.menu].addAction(action)
        window.addAction(action)
        made[spec.name] = action
    return made
