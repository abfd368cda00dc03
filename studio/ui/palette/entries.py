"""Entries: what can be chosen in the palette, from the registries and the engine."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QKeySequence

from studio.domain.errors import StudioError
from studio.ui.app.actions import COMMANDS, MENUS, Action, MenuEntry, WindowActions, menu_entries
from studio.ui.chat.model.open_word import mention_of
from studio.ui.chat.page import ChatPage
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import age, short_path
from studio.ui.pages.registry import PAGES
from studio.ui.settings import registry as settings_registry
from studio.ui.translation import tr, tr_later

from .matching import MatchIndex

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.agent.servers.offers import OfferedResource
    from studio.domain.extensions import Extension
    from studio.mcp.entries import Entries as ServerEntries
    from studio.ui.app.page_stack import PackPlaces

Group: TypeAlias = Literal[
    "actions",
    "chats",
    "agents",
    "workflows",
    "models",
    "folders",
    "settings",
    "files",
    "commands",
    "called",
    "resources",
    "addresses",
    "folders_here",
    "no_folder",
]
GROUPS: dict[Group, str] = {
    "actions": tr_later("Actions"),
    "chats": tr_later("Chats"),
    "agents": tr_later("Agents"),
    "workflows": tr_later("Workflows"),
    "models": tr_later("Models"),
    "folders": tr_later("Folders"),
    "settings": tr_later("Settings"),
    "files": tr_later("Files"),
}
"""Titles of the palette's groups, in their order."""
PREFIXES: dict[str, tuple[Group, ...]] = {
    ">": ("actions", "workflows", "settings"),
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
FRESH, REST_FOR = 2.0, 10
"""Seconds for which a list of files is good, at least so many times what it took to read."""

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
    workflow_wanted = Signal(str, str)
    """``start`` and the name of a workflow, or ``run`` or ``resume`` and the id of a run.

    Or ``mission`` and the name of an agent.
    """

    pack_page_wanted = Signal(str, tuple)
    """The key of a page of a pack, and what of it."""

    def __init__(self, chat: ChatPage, actions: WindowActions, parent: QObject) -> None:
        super().__init__(parent)
        self.of_packs: Sequence[PackPlaces] = ()
        self._chat, self._actions = chat, actions
        self._entries: dict[Group, list[Entry]] = {}
        self._indexes: dict[Group, MatchIndex] = {}
        self._recent: list[tuple[Group, str]] = []
        """What was chosen, the latest first."""
        self._folder = ""
        """The chat's folder, whose files are listed; empty if none was chosen."""
        self._called_in: str | None = None
        """The folder whose skills and commands are known."""
        self._servers: ServerEntries | None = None
        """The servers whose resources are known."""
        self._typed_resource = ""
        """The address of a resource that is being typed."""
        self._files_known = 0.0
        """Until when its files need not be read again, by ``time.monotonic``."""

    # -- reading ------------------------------------------------------------------

    def read_registries(self) -> None:
        """Take what is known without a wait: actions, settings, agents, models, folders."""
        self._put("actions", [*self._of_actions(), *self._of_packs()])
        self._put("commands", self._of_commands())
        self._put("settings", self._of_settings())
        engine = self._chat.model.engine
        if engine is not None:
            self._put("agents", self._of_agents())
            self._put("models", self._of_models(engine))
            self._put("folders", self._of_folders(engine))
            self._put("folders_here", self._of_folders_here(engine))
            self._put("no_folder", self._of_no_folder())
        options = self._chat.model.options
        folder = "" if options.uses_own_folder else options.folder
        if folder != self._folder:
            self._folder = folder
            self._files_known = 0.0
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
        await self._put_in_thread("chats", lambda: chats)
        await self._read_workflows(engine)
        await self.read_files()

    async def _read_workflows(self, engine: Engine) -> None:
        """What can be run, what can be gone on with, and the newest runs (W-68)."""
        from studio.storage.runs import RunStore
        from studio.workflows.workflow_files import find_workflows

        folder = Path(self._folder) if self._folder else None
        files = await asyncio.to_thread(
            find_workflows, engine.paths, folder, engine.services.sources.pack_places
        )
        runs = await RunStore(engine.database).list(ALONE)
        wanted, found, now = self.workflow_wanted.emit, list[Entry](), time.time()
        for name in dict.fromkeys(file.name for file in files if file.workflow is not None):
            title = tr("Run {name}…").format(name=name)
            found.append(
                Entry("workflows", f"start {name}", title, "play", partial(wanted, "start", name))
            )
        for agent in self._chat.model.options.offered_agents:
            title = tr("Mission of {name}…").format(name=agent.name)
            begin = partial(wanted, "mission", agent.name)
            found.append(Entry("workflows", f"mission {agent.name}", title, "list-todo", begin))
        for info in runs:
            title = tr("{name}, run {number}").format(name=info.name, number=info.number)
            ago = age(now - info.updated)
            show = partial(wanted, "run", info.id)
            found.append(Entry("workflows", info.id, title, "workflow", show, ago))
            if info.state not in ("done", "failed", "stopped") and not info.live:
                resume = partial(wanted, "resume", info.id)
                title = tr("Go on with {run}").format(run=title)
                found.append(Entry("workflows", f"on {info.id}", title, "play", resume, ago))
        await self._put_in_thread("workflows", lambda: found)

    async def read_files(self) -> None:
        """Read which files and folders the chat's folder has, if that is not known by now."""
        folder, begun = self._folder, time.monotonic()
        if folder and begun >= self._files_known:
            self._files_known = math.inf  # it is being read
            try:
                await self._put_in_thread("files", lambda: self._of_files(Path(folder)), folder)
            finally:
                if folder == self._folder:
                    now = time.monotonic()
                    self._files_known = now + max(FRESH, REST_FOR * (now - begun))

    async def read_called(self) -> None:
        """Read which skills, commands and prompts can be called in the chat's folder (K-5, K-7)."""
        engine, folder = self._chat.model.engine, self._chat.model.options.folder
        if engine is None or not folder:
            return
        if folder != self._called_in:
            self._called_in = folder
            self._put("called", ())
        found = await engine.services.extensions(Path(folder), self._chat_id)
        icons = {"skill": "sparkle", "command": "terminal", "prompt": "server"}
        entries = [
            Entry(
                "called",
                one.name,
                f"/{one.name}",
                icons[one.kind],
                partial(self._call, one),
                f"{one.hint}  {one.description}".strip(),
            )
            for one in found.by_hand
        ]
        if folder == self._called_in:
            await self._put_in_thread("called", lambda: entries)

    def _call(self, called: Extension) -> None:
        """Put what is called into the composer; the arguments of a prompt are asked for first."""
        if called.kind != "prompt" or not called.hint:
            self._chat.composer.replace_word(f"/{called.name} ")
            return
        from studio.ui.chat.prompt_dialog import call_prompt

        model = self._chat.model
        model.run(call_prompt(self._chat.composer, model, called))

    async def read_resources(self) -> None:
        """Read which resources the servers offer that are on in the chat's folder (M-21)."""
        engine, folder = self._chat.model.engine, self._chat.model.options.folder
        if engine is None or not folder:
            return
        services = engine.services
        self._servers = await services.server_entries(Path(folder), self._chat_id)
        listed = services.offers.resources(self._servers)
        await self._put_in_thread("resources", lambda: [self._of_resource(one) for one in listed])

    async def complete_resource(self, typed: str) -> None:
        """Ask servers how an address that is being typed can go on."""
        engine, folder = self._chat.model.engine, self._chat.model.options.folder
        self._typed_resource = typed
        if engine is None or self._servers is None:
            return
        found: list[OfferedResource] = []
        with suppress(StudioError):  # then it is typed without help
            found = await engine.services.offers.completed(self._servers, typed, Path(folder))
        if typed == self._typed_resource:
            entries = [self._of_resource(one) for one in found]
            await self._put_in_thread("addresses", lambda: entries)

    def _of_resource(self, one: OfferedResource) -> Entry:
        open_ = one.begun if one.template else ""
        name = open_ or one.name
        composer = self._chat.composer
        run = partial(composer.replace_word, mention_of(name)) if open_ else None
        attach = partial(composer.mention_resource, name)
        return Entry("resources", one.name, one.name, "server", run or attach, one.about)

    @property
    def _chat_id(self) -> str:
        session = self._chat.model.session
        return session.info.id if session is not None else ""

    async def _put_in_thread(
        self, group: Group, read: Callable[[], list[Entry]], folder: str = ""
    ) -> None:
        def ordered() -> tuple[list[Entry], MatchIndex]:
            entries = self._recent_first(group, read())
            return entries, MatchIndex(list(map(_searched, entries)))

        found = await asyncio.to_thread(ordered)
        if not folder or folder == self._folder:
            self._entries[group], self._indexes[group] = found
            self.changed.emit()

    def _put(self, group: Group, entries: Iterable[Entry]) -> None:
        ordered = self._recent_first(group, list(entries))
        self._entries[group] = ordered
        self._indexes[group] = MatchIndex(list(map(_searched, ordered)))

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
            out += self.find_in(group, query, ALONE if prefix else FEW.get(group, REST))
        return out

    def find_in(self, group: Group, query: str, most: int) -> list[FoundEntry]:
        """What matches in one group, the best first."""
        index, entries = self._indexes.get(group), self._entries.get(group, [])
        found = index.find(query, most) if index is not None else []
        return [FoundEntry(entries[at], letters) for at, letters in found]

    def find_command(self, query: str, most: int) -> list[FoundEntry]:
        """The commands, and the skills, whose word begins like this, then those with it in what
        they do."""
        found = [*self.find_in("commands", query, most), *self.find_in("called", query, most)]
        first = [one for one in found if one.entry.name.startswith(query.lower())]
        return [*first, *(one for one in found if one not in first)]

    # -- groups -------------------------------------------------------------------

    def _lines(self) -> Iterator[tuple[MenuEntry, QAction, str]]:
        """The lines of the menus that can be chosen now, with action and icon."""
        icons = {page.key: page.icon for page in PAGES}
        for line in menu_entries():
            action = self._actions.by_name.get(line.name)
            if action is not None and action.isEnabled() and not action.menu():
                icon = line.icon or icons.get(line.page) or _MENU_ICONS.get(line.menu, "play")
                yield line, action, icon

    def _of_actions(self) -> list[Entry]:
        found: list[Entry] = []
        for line, action, icon in self._lines():
            if line.action is not Action.PALETTE:
                title, keys = _title_of(action), _keys_of(action)
                detail = tr(MENUS[line.menu])
                run = action.trigger
                found.append(Entry("actions", title, title, icon, run, detail, keys=keys))
        return found

    def _of_packs(self) -> Iterator[Entry]:
        """The pages of packs, and what else their palette has (KZ-9)."""
        wanted = self.pack_page_wanted.emit
        for pack in self.of_packs:
            for key, title, icon in pack.pages:
                yield Entry("actions", key, title, icon, partial(wanted, key, ()), pack.name)
            for title, icon, key, what in pack.palette:
                name = " ".join((key, title, *what))
                yield Entry("actions", name, title, icon, partial(wanted, key, what), pack.name)

    def _of_commands(self) -> list[Entry]:
        order = {word: place for place, (word, _) in enumerate(COMMANDS.values())}
        found = [
            Entry(
                "commands",
                line.command,
                f"/{line.command}",
                icon,
                action.trigger,
                _title_of(action),
                keys=_keys_of(action),
            )
            for line, action, icon in self._lines()
            if line.command
        ]
        return sorted(found, key=lambda entry: order.get(entry.name, len(order)))

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
                tr_engine(agent.description),
                agent.hue,
            )
            for agent in options.offered_agents
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
                tr_engine(PROVIDER_TITLES.get(provider, provider)),
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

    def _of_folders_here(self, engine: Engine) -> list[Entry]:
        """Folders that the chat on screen can be given."""
        choose, line = self._chat.model.options.choose_folder, tr("Work in this folder")
        return [
            Entry("folders_here", one, short_path(one), "folder", partial(choose, one), line)
            for one in engine.settings.values.recent_folders
        ]

    def _of_no_folder(self) -> list[Entry]:
        """What else there is to do in a chat without a folder of the person's."""
        menus, files = self._chat.menus, self._chat.composer.attachments
        folder, attach = tr("Choose folder…"), tr("Attach files…")
        return [
            Entry("no_folder", "folder", folder, "folder-open", menus.choose_folder),
            Entry("no_folder", "files", attach, "paperclip", files.choose_files),
        ]

    def _of_files(self, folder: Path) -> list[Entry]:
        """The files and folders below a folder. Blocks."""
        from studio.tools.workspace.listing import list_names

        add, attach, mention = self._chat.composer.mention, tr("Attach"), tr("Name the folder")
        return [
            Entry("files", name, name, "folder", partial(add, name), mention)
            if name.endswith("/")
            else Entry("files", name, name, "file", partial(add, name), attach)
            for name in list_names(folder, MOST_FILES, FILE_SECONDS)
        ]


def _searched(entry: Entry) -> str:
    """What is looked through: a command's title is one word, whatever the language."""
    return f"{entry.title} {entry.detail}" if entry.group in ("commands", "called") else entry.title


def _title_of(action: QAction) -> str:
    return action.text().replace("&", "")


def _keys_of(action: QAction) -> str:
    return action.shortcut().toString(QKeySequence.SequenceFormat.PortableText)
