"""Every action of the window in one table: its words, its keys, its menu.

The chats in which a turn runs, in the Run menu: each with its Stop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu, QWidget

from studio.ui.chat.turn_runner import TurnRunner


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


class RunningMenu(QMenu):
    """Filled when the menu that it is in opens, so that it costs nothing before."""

    def __init__(self, parent: QWidget, runs: TurnRunner, actions: Mapping[str, QAction]) -> None:
        super().__init__("Running", parent)
        self._runs = runs
        self._line, self._all = actions["running"], actions["stop_all"]
        self._line.setMenu(self)
        for menu in self._line.associatedObjects():
            if isinstance(menu, QMenu):
                menu.aboutToShow.connect(self.fill)
                menu.aboutToHide.connect(lambda: self._all.setEnabled(True))
        self.fill()

    def fill(self) -> None:
        self.clear()
        running = self._runs.running
        for session in running:
            title = (session.info.title or "New chat").replace("&", "&&")
            line = self.addAction(f"Stop “{title}”\t{self._runs.progress(session.info.id)}")
            line.triggered.connect(lambda _on=False, at=session.info.id: self._runs.stop(at))
        self._line.setEnabled(bool(running))
        self._all.setEnabled(bool(running))
