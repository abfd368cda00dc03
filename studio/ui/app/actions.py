"""The actions of the window: their enum, and the table with their texts, keys and menus.

To add an action, add a member to ``Action``, a line to ``menu_entries`` and a handler
in ``main_window`` or ``chat_actions``; a line in ``COMMANDS`` makes it a command of the
composer. The actions that show a page come from the registry of pages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import Enum, auto

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu, QWidget

from studio.domain.records import dataclass
from studio.ui.chat.model.turn_runner import TurnRunner
from studio.ui.pages import registry
from studio.ui.translation import tr, tr_later

from .menus import EditMenu, WindowMenu, with_letters


class Action(Enum):
    """What the menus and keys of the window do, apart from showing a page."""

    NEW_CHAT = auto()
    NEW_WINDOW = auto()
    CHOOSE_FOLDER = auto()
    CLOSE_WINDOW = auto()
    SETTINGS = auto()
    QUIT = auto()
    PALETTE = auto()
    SEARCH_CHATS = auto()
    FIND = auto()
    FIND_NEXT = auto()
    FIND_PREVIOUS = auto()
    RENAME_CHAT = auto()
    SIDEBAR = auto()
    INSPECTOR = auto()
    GRAPH = auto()
    MENU_BAR = auto()
    LARGER_TEXT = auto()
    SMALLER_TEXT = auto()
    NORMAL_TEXT = auto()
    WRITE_MESSAGE = auto()
    ADD_FILES = auto()
    REMOVE_FILES = auto()
    CHOOSE_AGENT = auto()
    CHOOSE_MODEL = auto()
    CHOOSE_EFFORT = auto()
    CHOOSE_MODE = auto()
    BRANCH_CHAT = auto()
    SUMMARISE_CHAT = auto()
    EXPORT_CHAT = auto()
    CHAT_ABOVE = auto()
    CHAT_BELOW = auto()
    STOP = auto()
    RUNNING = auto()
    STOP_ALL = auto()
    NEXT_NEED = auto()
    UNDO_FILES = auto()
    REDO_FILES = auto()
    SHOW_CHAT = auto()
    NEXT_PANE = auto()
    PREVIOUS_PANE = auto()
    ALL_KEYS = auto()
    ABOUT = auto()


COMMANDS = {
    Action.NEW_CHAT: ("new", "square-pen"),
    Action.CHOOSE_AGENT: ("agent", "bot"),
    Action.CHOOSE_MODEL: ("model", "cpu"),
    Action.CHOOSE_EFFORT: ("effort", "gauge"),
    Action.CHOOSE_MODE: ("mode", "shield"),
    Action.ADD_FILES: ("attach", "paperclip"),
    Action.REMOVE_FILES: ("detach", "x"),
    Action.CHOOSE_FOLDER: ("folder", "folder"),
    Action.SUMMARISE_CHAT: ("compact", "layers"),
    Action.BRANCH_CHAT: ("branch", "git-branch"),
    Action.EXPORT_CHAT: ("export", "file-text"),
    Action.RENAME_CHAT: ("rename", "pencil"),
    Action.FIND: ("find", "search"),
    Action.UNDO_FILES: ("undo", "undo-2"),
    Action.REDO_FILES: ("redo", "refresh-cw"),
    Action.SETTINGS: ("settings", "settings"),
    Action.ALL_KEYS: ("help", "keyboard"),
}
"""The words after a slash that do the same in the composer, with an icon; the most used first.

The terminal has the same words, see ``agent-studio chat``. A page's word is its key.
"""

MENUS = {
    "File": tr_later("File"),
    "Edit": tr_later("Edit"),
    "View": tr_later("View"),
    "Chat": tr_later("Chat"),
    "Run": tr_later("Run"),
    "Window": tr_later("Window"),
    "Help": tr_later("Help"),
}


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """One line of a menu: an action, a page of the registry, or a separator."""

    menu: str
    action: Action | None = None
    text: str = ""
    keys: str = ""
    page: str = ""

    @property
    def name(self) -> str:
        """Names the action in the settings: “new_chat”, “page:drafts”; empty for a separator."""
        if self.action is not None:
            return self.action.name.lower()
        return f"page:{self.page}" if self.page else ""

    @property
    def command(self) -> str:
        """The word after a slash that does the same in the composer; empty if there is none."""
        return COMMANDS[self.action][0] if self.action in COMMANDS else self.page

    @property
    def icon(self) -> str:
        """The icon of a command; empty for others."""
        return COMMANDS[self.action][1] if self.action in COMMANDS else ""


def menu_entries() -> tuple[MenuEntry, ...]:
    """All lines of all menus, in their order."""
    return (
        MenuEntry("File", Action.NEW_CHAT, tr("New chat"), "Ctrl+N"),
        MenuEntry("File", Action.NEW_WINDOW, tr("New window"), "Ctrl+Shift+N"),
        MenuEntry("File", Action.CHOOSE_FOLDER, tr("Choose folder…"), "Ctrl+O"),
        MenuEntry("File"),
        MenuEntry("File", Action.SETTINGS, tr("Settings…"), "Ctrl+,"),
        MenuEntry("File"),
        MenuEntry("File", Action.CLOSE_WINDOW, tr("Close window"), "Ctrl+W"),
        MenuEntry("File", Action.QUIT, tr("Quit"), "Ctrl+Q"),
        MenuEntry("Edit", Action.PALETTE, tr("Go to…"), "Ctrl+K"),
        MenuEntry("Edit", Action.FIND, tr("Find in chat"), "Ctrl+F"),
        MenuEntry("Edit", Action.FIND_NEXT, tr("Find next"), "F3"),
        MenuEntry("Edit", Action.FIND_PREVIOUS, tr("Find previous"), "Shift+F3"),
        MenuEntry("Edit", Action.SEARCH_CHATS, tr("Search chats"), "Ctrl+Shift+F"),
        MenuEntry("Edit", Action.RENAME_CHAT, tr("Rename chat"), "F2"),
        MenuEntry("View", Action.SIDEBAR, tr("Sidebar"), "Ctrl+B"),
        MenuEntry("View", Action.INSPECTOR, tr("Inspector"), "Ctrl+I"),
        MenuEntry("View", Action.GRAPH, tr("Graph of the agents"), "Ctrl+G"),
        MenuEntry("View", Action.MENU_BAR, tr("Show menu bar")),
        MenuEntry("View"),
        MenuEntry("View", Action.LARGER_TEXT, tr("Larger text"), "Ctrl++"),
        MenuEntry("View", Action.SMALLER_TEXT, tr("Smaller text"), "Ctrl+-"),
        MenuEntry("View", Action.NORMAL_TEXT, tr("Normal text"), "Ctrl+0"),
        MenuEntry("Chat", Action.WRITE_MESSAGE, tr("Write a message"), "Ctrl+L"),
        MenuEntry("Chat", Action.ADD_FILES, tr("Add files…"), "Ctrl+Shift+A"),
        MenuEntry("Chat", Action.REMOVE_FILES, tr("Remove files")),
        MenuEntry("Chat"),
        MenuEntry("Chat", Action.CHOOSE_AGENT, tr("Agent…")),
        MenuEntry("Chat", Action.CHOOSE_MODEL, tr("Model…")),
        MenuEntry("Chat", Action.CHOOSE_EFFORT, tr("Effort…")),
        MenuEntry("Chat", Action.CHOOSE_MODE, tr("Permissions…")),
        MenuEntry("Chat"),
        MenuEntry("Chat", Action.BRANCH_CHAT, tr("Branch chat")),
        MenuEntry("Chat", Action.SUMMARISE_CHAT, tr("Summarise for the model")),
        MenuEntry("Chat", Action.EXPORT_CHAT, tr("Export chat…")),
        MenuEntry("Chat"),
        MenuEntry("Chat", Action.CHAT_ABOVE, tr("Chat above"), "Alt+Up"),
        MenuEntry("Chat", Action.CHAT_BELOW, tr("Chat below"), "Alt+Down"),
        MenuEntry("Run", Action.STOP, tr("Stop")),
        MenuEntry("Run", Action.RUNNING, tr("Running")),
        MenuEntry("Run", Action.STOP_ALL, tr("Stop all")),
        MenuEntry("Run", Action.NEXT_NEED, tr("Next thing that needs you"), "Ctrl+J"),
        MenuEntry("Run"),
        MenuEntry("Run", Action.UNDO_FILES, tr("Undo last turn’s changes")),
        MenuEntry("Run", Action.REDO_FILES, tr("Redo changes")),
        MenuEntry("Run"),
        *_page_entries("Run"),
        MenuEntry("Window", Action.SHOW_CHAT, tr("Chat"), "Ctrl+1"),
        *_page_entries("Window"),
        MenuEntry("Window"),
        MenuEntry("Window", Action.NEXT_PANE, tr("Next pane"), "F6"),
        MenuEntry("Window", Action.PREVIOUS_PANE, tr("Previous pane"), "Shift+F6"),
        MenuEntry("Help", Action.ALL_KEYS, tr("All keys"), "Ctrl+/"),
        MenuEntry("Help", Action.ABOUT, tr("About Agent Studio")),
    )


def keys_in_force(chosen: Mapping[str, str]) -> dict[str, str]:
    """The keys of all actions by their names; ``chosen`` are those that the person changed.

    A key that a person chose is taken from the action that has it from the start. A name that
    no action has is passed over: it may be one of another version.
    """
    own = {name: QKeySequence(keys).toString() for name, keys in chosen.items()}
    taken = set(own.values())
    found: dict[str, str] = {}
    for entry in menu_entries():
        keys = QKeySequence(entry.keys).toString()
        if entry.name:
            found[entry.name] = own.get(entry.name, "" if keys in taken else keys)
    return found


def _page_entries(menu: str) -> list[MenuEntry]:
    return [
        MenuEntry(menu, text=tr(page.title), keys=page.keys, page=page.key)
        for page in registry.PAGES
        if page.menu == menu
    ]


ROLES = {
    Action.QUIT: QAction.MenuRole.QuitRole,
    Action.SETTINGS: QAction.MenuRole.PreferencesRole,
    Action.ABOUT: QAction.MenuRole.AboutRole,
}
"""Where macOS puts an action."""


@dataclass(frozen=True, slots=True)
class WindowActions:
    """The actions that were put into the menu bar."""

    by_action: dict[Action, QAction] = field(default_factory=dict[Action, QAction])
    menus: dict[str, QMenu] = field(default_factory=dict[str, QMenu])
    """By the keys of ``MENUS``."""
    by_page: dict[str, QAction] = field(default_factory=dict[str, QAction])
    by_name: dict[str, QAction] = field(default_factory=dict[str, QAction])
    """All of them, by the name that an action has in the settings."""

    def set_keys(self, chosen: Mapping[str, str]) -> None:
        """Give the actions their keys; ``chosen`` are those of the settings."""
        for name, keys in keys_in_force(chosen).items():
            self.by_name[name].setShortcut(QKeySequence(keys))

    def keys(self, action: Action) -> str:
        """The keys of an action as the system writes them; empty if it has none."""
        found = self.by_action[action].shortcut()
        return found.toString(QKeySequence.SequenceFormat.NativeText)


def install(
    window: QMainWindow,
    handlers: Mapping[Action, Callable[[], object]],
    show_page: Callable[[str], object],
) -> WindowActions:
    """Fill the menu bar, still without keys; an action without a handler is an error.

    Each action is added to the window too: a hidden menu bar disables the shortcuts
    that only it holds.
    """
    made = WindowActions()
    menus = made.menus
    for title, key in zip(with_letters(map(tr, MENUS.values())), MENUS, strict=True):
        menus[key] = window.menuBar().addMenu(title)
    for entry in menu_entries():
        if entry.action is None and not entry.page:
            menus[entry.menu].addSeparator()
            continue
        action = QAction(entry.text, window)
        made.by_name[entry.name] = action
        if entry.action is None:
            action.triggered.connect(lambda _checked=False, key=entry.page: show_page(key))
            made.by_page[entry.page] = action
        else:
            action.setMenuRole(ROLES.get(entry.action, QAction.MenuRole.TextHeuristicRole))
            run = handlers[entry.action]
            action.triggered.connect(lambda _checked=False, run=run: run())
            made.by_action[entry.action] = action
        menus[entry.menu].addAction(action)
        window.addAction(action)
    EditMenu(window, menus["Edit"])
    WindowMenu(window, menus["Window"])
    for menu in menus.values():
        lines = [line for line in menu.actions() if line.text()]
        parts = [line.text().partition("\t") for line in lines]
        for line, text, (_, *keys) in zip(
            lines, with_letters(part[0] for part in parts), parts, strict=True
        ):
            line.setText("".join((text, *keys)))
    return made


class RunningMenu(QMenu):
    """The chats in which a turn runs, in the Run menu, each with its Stop.

    It is filled when the menu around it opens, so that it costs nothing before.
    """

    def __init__(self, parent: QWidget, runner: TurnRunner, actions: WindowActions) -> None:
        super().__init__(tr("Running"), parent)
        self._runner = runner
        self._line = actions.by_action[Action.RUNNING]
        self._all = actions.by_action[Action.STOP_ALL]
        self._line.setMenu(self)
        for menu in self._line.associatedObjects():
            if isinstance(menu, QMenu):
                menu.aboutToShow.connect(self.fill)
                menu.aboutToHide.connect(lambda: self._all.setEnabled(True))
        self.fill()

    def fill(self) -> None:
        self.clear()
        running = self._runner.running
        for session in running:
            title = (session.info.title or tr("New chat")).replace("&", "&&")
            words = tr("Stop “{title}”").format(title=title)
            line = self.addAction(f"{words}\t{self._runner.progress(session.info.id)}")
            line.triggered.connect(lambda _on=False, at=session.info.id: self._runner.stop(at))
        self._line.setEnabled(bool(running))
        self._all.setEnabled(bool(running))
