"""Server tools: which MCP servers and tools there are, and what the person said of them.

A chat is offered what is remembered of a server, so that none has to run before it is called.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from studio.agent.folder_files import FolderFiles, read_folder_files
from studio.agent.packs import person_here
from studio.agent.permission.invisible_characters import escape_line, visible
from studio.domain.agents import OWN_TOOLS, Agent
from studio.domain.aio import BackgroundTasks
from studio.domain.errors import ConfigurationError, StorageError, ToolFailed
from studio.domain.jsonvalue import JsonObject, as_object
from studio.domain.permissions import covers
from studio.domain.records import dataclass
from studio.domain.tools import ToolSpec
from studio.mcp.catalogue import NOTHING, Catalogue, Known
from studio.mcp.entries import HOST, Entries, EntriesFile, ServerEntry, parse_entries
from studio.mcp.naming import pool_name
from studio.mcp.servers import Servers
from studio.mcp.supervised import ServerState
from studio.tools import Tool
from studio.tools.packs.hosted import FRAME, HIDDEN

from .flags import flags_of
from .server_calls import ServerCalls, ToolView


@dataclass(frozen=True, slots=True)
class ServerView:
    """One server, for the person. ``tokens`` are those of the tools that agents have."""

    entry: ServerEntry
    state: ServerState
    known: Known
    tools: tuple[ToolView, ...] = ()

    @property
    def tokens(self) -> int:
        return sum(one.tokens for one in self.tools if not one.off and not one.withheld)

    @property
    def changed(self) -> tuple[str, ...]:
        """Tools that changed since the person saw them; the name of the instructions is empty."""
        return tuple(self.known.changed)


@dataclass(frozen=True, slots=True)
class _Made:
    """What was made of one server's list, while neither its entry nor the list changes."""

    entry: ServerEntry
    known: Known
    tools: dict[str, Tool]
    views: tuple[ToolView, ...]


class ServerTools:
    """The servers and tools that there are; ``spill``: see ``ServerCalls``.

    ``packs`` tells the servers of packs, ``hosts`` their hosts; both block.

    ``read`` and what returns tools block: call them in a thread. All else belongs to the event
    loop.
    """

    def __init__(
        self,
        servers: Servers,
        file: EntriesFile,
        catalogue: Catalogue,
        spill: Callable[[str], Path],
        packs: Callable[[], Entries] = Entries,
        hosts: Callable[[], Iterable[ServerEntry]] = tuple,
    ) -> None:
        self.servers = servers
        self.file = file
        self.catalogue = catalogue
        self._calls = ServerCalls(servers, catalogue, spill)
        self._packs, self._hosts = packs, hosts
        self._made: dict[str, _Made] = {}
        self._used: dict[str, ServerEntry] = {}
        """The servers that the pool knows, by its names for them."""
        self._brought: dict[str, Mapping[str, ServerEntry]] = {}
        """The servers that editors brought, by the sessions that have them (M-24)."""
        self._reading = asyncio.Lock()
        """An older reading may not replace what the person said since."""
        self._tasks = BackgroundTasks()
        servers.listen(self._lists_changed)

    # What there is

    def read(self, files: FolderFiles | None = None, *, trusted: bool = False) -> Entries:
        """The person's servers, those of packs, and those of a folder that they trust.

        A server whose name is taken already is left out. Where files cannot be read there
        are none, and the problems say why.
        """
        try:
            own = self._with_hosts(self.file.read())
        except StorageError as error:
            return Entries(problems=(str(error),))
        own = _with_brought(own, self.file.agreed(self._packs()))
        if files is None or not trusted or not files.servers:
            return own
        found = dict(own.by_name)
        problems = list(own.problems)
        for path, data in files.servers:
            text = data.decode("utf-8-sig", "replace")
            brought = self.file.agreed(parse_entries(text, escape_line(str(path)), files.place))
            problems += map(escape_line, brought.problems)
            for name, entry in brought.by_name.items():
                if name in own.by_name:
                    problems.append(f"{path}: you have a server {name} already, so it is left out.")
                else:  # it never starts by itself
                    found[name] = replace(entry, starts="call")
        return Entries(found, tuple(problems))

    def with_brought(self, entries: Entries, chat: str) -> Entries:
        """These servers, and those that an editor brought to a chat; blocks.

        A server whose name is taken already is left out.
        """
        if chat not in self._brought:
            return entries
        brought = self.file.agreed(Entries(self._brought[chat])).by_name
        return replace(entries, by_name={**brought, **entries.by_name})

    def bring(self, chat: str, brought: Iterable[ServerEntry]) -> None:
        """An editor brings servers to a chat, in place of what it brought before.

        They belong to the chat until ``take_away``.
        """
        self.take_away(chat)
        entries = [replace(one, chat=chat, starts="call") for one in brought]
        if entries:
            self._brought[chat] = {one.name: one for one in entries}

    def take_away(self, chat: str) -> None:
        """End the servers that an editor brought to a chat: it has left the chat."""
        if self._brought.pop(chat, None):
            self._used = {name: one for name, one in self._used.items() if one.chat != chat}
            self._made = {name: one for name, one in self._made.items() if one.entry.chat != chat}
            self.servers.use(replace(one, name=name) for name, one in self._used.items())

    def _with_hosts(self, own: Entries) -> Entries:
        """With the hosts of packs, which are on with their packs until the person says otherwise,
        and the marks of their tools."""
        hosts = {entry.name: entry for entry in self._hosts()}
        if not hosts:
            return own
        marks = self.file.agreed(Entries(hosts)).by_name
        found, problems = dict(own.by_name), list(own.problems)
        for name, entry in hosts.items():
            if name in found:
                problems.append(f"The pack {name}: you have a server of this name, so it is off.")
            else:
                said = marks[name]
                on = said.on or not said.approved  # nothing was said of it
                found[name] = replace(
                    entry,
                    on=on,
                    reads=said.reads,
                    off=said.off,
                    sampling=said.sampling,
                    sandbox=said.sandbox,
                )
        return replace(own, by_name=found, problems=tuple(problems))

    def has(self, pack: str) -> bool:
        """Whether a pack that is on has a host; see ``HostCalls``."""
        return any(entry.place == f"{HOST}{pack}" for entry in self._hosts())

    async def ask(self, pack: str, what: str, arguments: JsonObject, door: str) -> JsonObject:
        """Ask a pack's host about its drafts; see ``HostCalls``."""
        entries = await self.refresh()
        place = f"{HOST}{pack}"
        entry = next((one for one in entries.by_name.values() if one.place == place), None)
        if entry is None:
            raise ToolFailed(f"The pack “{pack}” is not on, so this cannot be done.")
        here = person_here()
        frame: JsonObject = {"person": here.id, "name": here.name, "door": door}
        sent: JsonObject = {**arguments, FRAME: frame}
        found = await self.servers.call(pool_name(entry), HIDDEN + what, sent)
        if found.is_error:
            raise ToolFailed(visible(found.text))
        return as_object(found.structured)

    def names(self, folder: Path | None) -> Collection[str] | None:
        """The servers that an agent of a folder may name, also of one that is not trusted.

        None where they cannot be read.
        """
        files = read_folder_files(folder) if folder is not None else None
        found = self.read(files, trusted=True)
        return None if found.problems else found.by_name.keys()

    def tools(self, entries: Entries) -> dict[str, Tool]:
        """The tools of the servers that are on, sorted by name."""
        found: dict[str, Tool] = {}
        for entry in entries.by_name.values():
            if entry.runs:
                found |= self._make(entry).tools
        return dict(sorted(found.items()))

    def unseen(self, agent: Agent, entries: Entries) -> list[ServerEntry]:
        """The servers that an agent names, or its editor, and whose lists were never seen (M-2)."""
        names = {
            *(agent.servers or ()),
            *(one.name for one in entries.by_name.values() if one.chat),
        }
        named = [one for name, one in entries.by_name.items() if name in names]
        return [one for one in named if one.runs and not self.catalogue.known(one).fetched]

    def views(self, entries: Entries, taken: Iterable[str] = ()) -> list[ServerView]:
        """All servers for the person; ``taken`` are the names of other tools."""
        found = [(entry, self._make(entry)) for entry in entries.by_name.values()]
        names = {(entry.name, view.tool.name) for entry, made in found for view in made.views}
        views: list[ServerView] = []
        for entry, made in found:
            others = {*taken, *(tool for server, tool in names if server != entry.name)}
            tools = [replace(one, flags=flags_of(one.tool, others)) for one in made.views]
            state = self.servers.state(pool_name(entry))
            views.append(ServerView(entry, state, made.known, tuple(tools)))
        return views

    def _make(self, entry: ServerEntry) -> _Made:
        known = self.catalogue.known(entry)
        name = pool_name(entry)
        made = self._made.get(name)
        if made is None or made.known is not known or made.entry != entry:
            made = self._made[name] = _Made(entry, known, *self._calls.tools_of(entry, known))
        return made

    # What the person says

    async def refresh(self, look: Callable[[], tuple[Entries, str]] | None = None) -> Entries:
        """Read the person's servers again, and let the pool know.

        ``look`` reads those of a folder with them, and says which folder that is; it blocks.
        """
        async with self._reading:
            found, place = await asyncio.to_thread(look or (lambda: (self.read(), "")))
            self.use(found, place)
        return found

    def show(self, entries: Iterable[ServerEntry]) -> None:
        """Let the pool know servers, also a folder's, that the person looks at."""
        self.use(Entries({entry.name: entry for entry in entries}))

    def use(self, entries: Entries, place: str = "") -> None:
        """Let the pool know these servers, all that there are of the folder ``place``.

        Those of other folders stay.
        """
        found = {pool_name(entry): entry for entry in entries.by_name.values()}
        others = {
            name: entry for name, entry in self._used.items() if entry.place not in ("", place)
        }
        used = {**others, **found}
        if used != self._used:
            self._used = used
            self.servers.use(replace(entry, name=name) for name, entry in used.items())

    async def say(self, entry: ServerEntry) -> None:
        """Keep what the person says of a server; raises StorageError."""
        async with self._reading:
            await asyncio.to_thread(self.file.agree, entry)
            self._used[pool_name(entry)] = entry
            self.servers.use(replace(one, name=name) for name, one in self._used.items())

    async def switch_tools(self, entry: ServerEntry, tools: Iterable[str], *, off: bool) -> None:
        """Switch tools off or on; raises ConfigurationError where the entry does not name them."""
        changed = entry.with_tools(tools, off=off)
        if changed.only == entry.only:
            await self.say(changed)
        elif entry.place:
            raise ConfigurationError(
                f"The file that brings {entry.name} does not name this tool in its includeTools."
            )
        else:
            await self.put(changed)

    async def put(self, entry: ServerEntry) -> None:
        """Add a server or change one; raises StorageError, or ValueError for a wrong entry.

        The sign-in to an address that it had before goes out of the keychain.
        """
        name = pool_name(entry)
        before = self._used.get(name)
        await asyncio.to_thread(self.file.put, entry)
        if before is not None and before.url != entry.url:
            with suppress(ConfigurationError):  # the keychain cannot be used
                await self.servers.sign_out(name)
        await self.refresh()

    async def switch_on(
        self, entry: ServerEntry, shown: Mapping[str, str] | None = None
    ) -> ServerEntry:
        """The person saw what runs, and wants it (M-12).

        ``shown`` are the pins of tools that changed and that they saw, too (M-15).
        """
        entry = replace(entry, on=True, approved=entry.digest)
        await self.say(entry)
        if shown:
            await asyncio.to_thread(self.catalogue.accept, entry, shown)
        return entry

    async def switch_off(self, entry: ServerEntry) -> None:
        await self.say(replace(entry, on=False))

    async def remove(self, entry: ServerEntry) -> None:
        """Forget one of the person's servers; raises ConfigurationError if there is none."""
        await asyncio.to_thread(self.file.remove, entry.name)
        with suppress(ConfigurationError):  # the keychain cannot be used
            await self.servers.sign_out(pool_name(entry))
        await asyncio.to_thread(self.catalogue.forget, entry)
        await asyncio.to_thread(self.servers.remove_home, pool_name(entry))
        entries = [*(await self.refresh()).by_name.values()]
        from studio.mcp.importing.bundle import delete_unused

        await asyncio.to_thread(delete_unused, self.servers.bundles, entry, entries)

    async def connect(self, entry: ServerEntry, folder: Path | None = None) -> Known:
        """Start a server and remember what it offers. Raises ServerFailed."""
        lists = await self.servers.start(pool_name(entry), folder)
        return await asyncio.to_thread(self.catalogue.remember, entry, lists)

    async def look(self, entries: Iterable[ServerEntry], folder: Path, seconds: float) -> None:
        """Start servers whose lists were never seen, and wait for them no longer than that."""
        tasks = [self._tasks.start(self._connected(entry, folder)) for entry in entries]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)

    async def start_with_program(self) -> None:
        """Start the servers that are to start with the program (M-2)."""
        entries = await self.refresh()
        for entry in entries.by_name.values():
            if entry.runs and entry.starts == "program":
                self._tasks.start(self._connected(entry, None))

    async def close(self) -> None:
        await self.servers.close()
        await self._tasks.settled()

    async def _connected(self, entry: ServerEntry, folder: Path | None) -> None:
        with suppress(ToolFailed, StorageError):  # its state says why
            await self.connect(entry, folder)

    def _lists_changed(self, name: str) -> None:
        entry, lists = self._used.get(name), self.servers.lists(name)
        if entry is not None and lists is not None:
            self._tasks.start(self._calls.remember(entry, lists))


def _with_brought(own: Entries, brought: Entries) -> Entries:
    """The person's servers with those of packs, which take no name of theirs."""
    taken = [
        f"The server {name} of a pack is left out: you have one of that name."
        for name in brought.by_name
        if name in own.by_name
    ]
    found = {**brought.by_name, **own.by_name}
    return Entries(found, (*own.problems, *brought.problems, *taken), own.broken)


def with_servers(agent: Agent, tools: Mapping[str, Tool]) -> tuple[Agent, dict[str, Tool]]:
    """An agent that names the servers' tools it has, and these tools, see ``has_tool``."""
    found = {name: tool for name, tool in tools.items() if has_tool(agent, tool.spec)}
    if "*" in agent.tools or not found:
        return agent, found
    return replace(agent, tools=tuple(dict.fromkeys((*agent.tools, *found)))), found


def has_tool(agent: Agent, spec: ToolSpec) -> bool:
    """Whether an agent has a tool of a server (M-14).

    Without a list of servers it has all if it has all of the person's own tools. It also has
    those that its list of tools names, one by one or as ``server__*``. An agent of a folder that
    is not trusted has none.
    """
    if not agent.trusted:
        return False
    if agent.servers is None:
        every = "*" in agent.tools or OWN_TOOLS in agent.tools
    else:
        every = "*" in agent.servers or spec.server in agent.servers
    named = (one for one in agent.tools if "__" in one)
    return every or any(covers(one, spec.name, spec.server) for one in named)


__all__ = ["NOTHING", "ServerTools", "ServerView", "has_tool", "with_servers"]
