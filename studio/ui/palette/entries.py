"""Entries: what can be chosen in the palette, from the registries and the engine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QKeySequence

from studio.ui.app.actions import Action, WindowActions, menu_entries
from studio.ui.chat.page import ChatPage
from studio.ui.formatting import age, short_path
from studio.ui.pages.registry import PAGES
from studio.ui.settings import registry as settings_registry
from studio.ui.translation import tr, tr_later

from .matching import MatchIndex

if TYPE_CHECKING:
    from studio.agent.engine import Engine

Group: TypeAlias = Literal["actions", "chats", "agents", "models", "folders", "settings", "files"]
GROUPS: dict[Group, str] = {
    "actions": tr_later("Actions"),
    "chats": tr_later("Chats"),
    "agents": tr_later("Agents"),
    "models": tr_later("Models"),
    "folders": tr_later("Folders"),
    "settings": tr_later("Settings"),
    "files": tr_later("Files"),
}
"""Titles of the groups, in their order."""
PREFIXES: dict[str, tuple[Group, ...]] = {
    ">": ("actions", "settings"),
    "@": ("agents", "models", "folders", "files"),
    "#": ("chats",),
}
"""What is looked through after a sign at the beginning."""
ALONE = 50
"""Entries of a group after a prefix."""
FEW: dict[Group, int] = {"actions": 5, "chats": 5}
"""Entries of a group among others; ``REST`` of the other groups."""
REST = 3
MOST_FILES = 20_000
FILE_SECONDS = 2.0
"""How many files are listed, and for how long the folder is read."""

_MENU_ICONS = {
    "File": "file",
    "Edit": "square-pen",
    "View": "laptop",
    "Chat": "message-square",
    "Run": "play",
    "Window": "layers",
    "Help": "info",
}
"""The icon of an action by its menu."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the palette. With a ``hue`` the icon stands on an agent's tile.

    ``keys`` is the shortcut that does the same; ``name`` tells entries of a group apart.
    """

    group: Group
    name: str
    title: str
    icon: str
    run: Callable[[], object]
    detail: str = ""
    hue: str = ""
    keys: str = ""

    @property
    def key(self) -> tuple[Group, str]:
        """What tells it apart from all others."""
        return self.group, self.name


@dataclass(frozen=True, slots=True)
class FoundEntry:
    """An entry that matches what was typed, with the places of the letters in its title."""

    entry: Entry
    letters: frozenset[int] = frozenset()


class Entries(QObject):
    """All entries by group; ``read`` brings what is stored, and ``changed`` says that it came."""

    changed = Signal()
    session_wanted = Signal(str)
    """The id of a chat."""
    settings_wanted = Signal(str)
    """The key of a page of the settings."""
    folder_wanted = Signal(str)
    """A folder for a new chat."""

    def __init__(self, chat: ChatPage, actions: WindowActions, parent: QObject) -> None:
        super().__init__(parent)
        self._chat, self._actions = chat, actions
        self._entries: dict[Group, list[Entry]] = {}
        self._indexes: dict[Group, MatchIndex] = {}
        self._recent: list[tuple[Group, str]] = []
        """What was chosen, the latest first."""
        self._folder = ""
        """The chat's folder, whose files are listed; empty if none was chosen."""

    # -- reading ------------------------------------------------------------------

    def read_registries(self) -> None:
        """Take what is known without a wait: actions, settings, agents, models, folders."""
        self._put("actions", self._of_actions())
        self._put("settings", self._of_settings())
        engine = self._chat.model.engine
        if engine is not None:
            self._put("agents", self._of_agents())
            self._put("models", self._of_models(engine))
            self._put("folders", self._of_folders(engine))
        options = self._chat.model.options
        folder = "" if options.uses_own_folder else options.folder
        if folder != self._folder:
            self._folder = folder
            self._put("files", ())

    async def read_stored(self) -> None:
        """Read the chats and the files of the folder."""
        engine = self._chat.model.engine
        if engine is None:
            return
        infos, now = await engine.sessions.list(), time.time()
        icons = self._chat.model.options.agent_icon
        chats: list[Entry] = []
        for info in infos:
            icon, hue = icons(info.agent)
            title = info.title or tr("New chat")

            def show(session_id: str = info.id) -> None:
                self.session_wanted.emit(session_id)

            chats.append(Entry("chats", info.id, title, icon, show, age(now - info.updated), hue))
        await self._put_in_thread("chats", chats)
        if folder := self._folder:
            paths = await asyncio.to_thread(_files, Path(folder))
            if folder == self._folder:
                files = [self._file(Path(folder), path) for path in paths]
                await self._put_in_thread("files", files)

    async def _put_in_thread(self, group: Group, entries: list[Entry]) -> None:
        ordered = self._recent_first(group, entries)
        index = await asyncio.to_thread(MatchIndex, [entry.title for entry in ordered])
        self._entries[group], self._indexes[group] = ordered, index
        self.changed.emit()

    def _put(self, group: Group, entries: Iterable[Entry]) -> None:
        ordered = self._recent_first(group, list(entries))
        self._entries[group] = ordered
        self._indexes[group] = MatchIndex([entry.title for entry in ordered])

    def _recent_first(self, group: Group, entries: list[Entry]) -> list[Entry]:
        known = {name: place for place, (of, name) in enumerate(self._recent) if of == group}
        return sorted(entries, key=lambda entry: known.get(entry.name, ALONE))

    def chosen(self, entry: Entry) -> None:
        """Put an entry first from now on."""
        others = (key for key in self._recent if key != entry.key)
        self._recent = [entry.key, *others][:ALONE]

    # -- finding ------------------------------------------------------------------

    def find(self, text: str) -> list[FoundEntry]:
        """What matches a text that may begin with a prefix, group by group."""
        prefix, query = (text[:1], text[1:]) if text[:1] in PREFIXES else ("", text)
        groups = PREFIXES[prefix] if prefix else tuple(GROUPS)
        if not prefix and not query.strip():
            groups = ("chats", "actions", "agents")
        out: list[FoundEntry] = []
        for group in groups:
            index, entries = self._indexes.get(group), self._entries.get(group, [])
            if index is not None:
                most = ALONE if prefix else FEW.get(group, REST)
                out += [FoundEntry(entries[at], places) for at, places in index.find(query, most)]
        return out

    # -- groups -------------------------------------------------------------------

    def _of_actions(self) -> list[Entry]:
        icons = {page.key: page.icon for page in PAGES}
        found: list[Entry] = []
        for line in menu_entries():
            if line.action is None and not line.page:
                continue
            action = (
                self._actions.by_page[line.page]
                if line.action is None
                else self._actions.by_action[line.action]
            )
            if not action.isEnabled() or action.menu() or line.action is Action.PALETTE:
                continue
            icon = icons.get(line.page) or _MENU_ICONS.get(line.menu, "play")
            found.append(self._action(action, icon, line.menu))
        return found

    def _action(self, action: QAction, icon: str, menu: str) -> Entry:
        keys = action.shortcut().toString(QKeySequence.SequenceFormat.PortableText)
        title = action.text().replace("&", "")
        return Entry("actions", title, title, icon, action.trigger, tr(menu), keys=keys)

    def _of_settings(self) -> list[Entry]:
        return [
            Entry(
                "settings",
                page.key,
                tr(page.title),
                page.icon,
                lambda key=page.key: self.settings_wanted.emit(key),
                tr("Settings"),
            )
            for page in settings_registry.PAGES
        ]

    def _of_agents(self) -> list[Entry]:
        options = self._chat.model.options
        return [
            Entry(
                "agents",
                agent.name,
                agent.name,
                agent.icon,
                lambda name=agent.name: options.choose_agent(name),
                agent.description,
                agent.hue,
            )
            for agent in options.agents
        ]

    def _of_models(self, engine: Engine) -> list[Entry]:
        from studio.providers.registry import PROVIDER_TITLES

        options = self._chat.model.options
        return [
            Entry(
                "models",
                f"{provider}/{model.id}",
                model.title,
                "cpu",
                lambda provider=provider, name=model.id: options.choose_model(provider, name),
                PROVIDER_TITLES.get(provider, provider),
            )
            for provider in engine.connected
            for model in engine.offered(provider)
        ]

    def _of_folders(self, engine: Engine) -> Sequence[Entry]:
        return [
            Entry(
                "folders",
                folder,
                short_path(folder),
                "folder",
                lambda folder=folder: self.folder_wanted.emit(folder),
                tr("New chat in this folder"),
            )
            for folder in engine.settings.values.recent_folders
        ]

    def _file(self, folder: Path, path: str) -> Entry:
        add = self._chat.composer.attachments.add_paths
        return Entry("files", path, path, "file", lambda: add([str(folder / path)]), tr("Attach"))


def _files(folder: Path) -> list[str]:
    """Paths of the files below a folder, without those that are never shown. Blocks."""
    from studio.tools.workspace.folder import Workspace

    workspace, end = Workspace(folder), time.monotonic() + FILE_SECONDS
    found = workspace.walk(workspace.root, stop=lambda: time.monotonic() > end)
    files = (entry for entry in found if entry.is_file(follow_symlinks=False))
    return [workspace.relative(Path(entry.path)) for entry in islice(files, MOST_FILES)]
