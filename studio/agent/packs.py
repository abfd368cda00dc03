"""Packs: holds what the code of packs gives to agents, and closes it with the program (KZ-2, KZ-3).

``extensions`` loads packs, since it knows where their files are; this module has what was loaded.
"""

from __future__ import annotations

import getpass
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import Any, Protocol, TypeVar

from studio.domain.errors import ConfigurationError, ToolFailed
from studio.domain.jsonvalue import JsonObject
from studio.domain.pack_addresses import pack_of
from studio.domain.permissions import Rule
from studio.domain.persons import Person
from studio.domain.records import dataclass
from studio.processes.daemon_thread import in_daemon_thread
from studio.tools import Context, Tool
from studio.tools.discovery import Toolbox
from studio.tools.packs.definition import Pack
from studio.tools.packs.home import NoRecords, Records
from studio.tools.packs.kinds import LocalKind, OpenKind
from studio.tools.packs.policy import AskedRequest, Verdict
from studio.tools.packs.settings import read_settings
from studio.tools.packs.sources import Source

from .pack_hosts import KindTable, PackHosts
from .permission.invisible_characters import escape_line

log = logging.getLogger(__name__)
T = TypeVar("T")
SETTINGS = "settings.json"
NOT_ON = (
    "This chat is about a thing of the pack “{pack}”, which is not on. Nothing was sent, because "
    "the pack says who may see it. Switch it on."
)


@dataclass(frozen=True, slots=True, eq=False)
class LoadedPack:
    """The code of one pack, as it was loaded. ``records`` opens its database, and blocks.

    ``data`` is the folder in which the studio keeps what is the pack's.
    """

    id: str
    folder: Path
    pack: Pack
    tools: tuple[Tool, ...] = ()
    records: Callable[[], Records] = NoRecords
    data: Path = Path()
    name: str = ""
    """What people call it; empty for its id."""


class PackSource(Protocol):
    """Loads the packs that are on."""

    def are_on(self) -> bool:
        """Whether there is one to load; blocks, and runs no code of it."""
        ...

    def refresh(self) -> Sequence[LoadedPack]:
        """The packs that are on now, each the same object while it is unchanged; blocks."""
        ...

    @property
    def problems(self) -> Sequence[str]:
        """Why packs were not loaded, a line each."""
        ...

    @property
    def unguarded(self) -> Sequence[str]:
        """Why nothing may be sent: packs that may have a policy were not loaded."""
        ...

    def why_not(self, pack: str) -> str:
        """Why a pack was not loaded at the last ``refresh``; empty for one that was."""
        ...


@dataclass(frozen=True, slots=True)
class PackSet:
    """The packs that are on, and their tools as agents have them."""

    homes: Mapping[str, PackHome]
    toolbox: Toolbox

    def refused(self) -> set[str]:
        """The tools that the pack lets the person who works here not use; blocks."""
        return {
            tool.spec.name
            for home in self.homes.values()
            if home.loaded.pack.roles is not None and (person := home.person)
            for tool in home.loaded.tools
            if not home.allows(tool.spec.name, person)
        }


class Packs:
    """The packs whose code runs in the program. ``refresh`` blocks: call it in a thread.

    Their code is loaded when something first asks what they bring, which blocks then: a start costs
    nothing of it (KZ-9).
    """

    def __init__(
        self,
        source: PackSource,
        hosts: PackHosts,
        forget: Callable[[str], Coroutine[Any, Any, int]],
    ) -> None:
        """``hosts`` are the packs whose code runs elsewhere (X-3), ``forget`` deletes chats."""
        self.source = source
        self.hosts = hosts
        self._forget = forget
        self._on: tuple[Mapping[str, PackHome], Sequence[str]] | None = None
        """The packs that are on, and why nothing may be sent: one value, replaced as a whole,
        since other threads ask it what a policy says meanwhile. None before they are loaded."""
        self._made: tuple[Toolbox, Sequence[object], PackSet] | None = None
        self._lock = RLock()

    def refresh(self, own: Toolbox) -> PackSet:
        """The packs as they are now, and their tools beside the person's ``own``.

        Of two tools with one name the person's counts; a problem names the other.
        """
        with self._lock:
            loaded = [*self.source.refresh()]
            known, made = [*loaded, *self.source.problems], self._made
            if made is None or made[0] is not own or made[1] != known:
                made = self._made = own, known, self._set(own, loaded)
            return made[2]

    def _loaded(self) -> tuple[Mapping[str, PackHome], Sequence[str]]:
        """The packs that are on, loaded if nothing did so yet, and why nothing may be sent."""
        if (on := self._on) is not None:
            return on
        with self._lock:
            return self._on or self._use(self.source.refresh())

    def _use(self, loaded: Sequence[LoadedPack]) -> tuple[Mapping[str, PackHome], Sequence[str]]:
        """Have these packs from now on, and close those that are gone."""
        before: Mapping[str, PackHome] = self._on[0] if self._on else {}
        homes: dict[str, PackHome] = {}
        for one in loaded:
            known = before.get(one.id)
            same = known is not None and known.loaded is one
            homes[one.id] = known if known is not None and same else PackHome(one, self)
        on = self._on = homes, (*self.source.unguarded,)
        for home in before.values():
            if home not in homes.values():
                home.close()
        return on

    def _set(self, own: Toolbox, loaded: Sequence[LoadedPack]) -> PackSet:
        homes, _ = self._use(loaded)
        box = Toolbox(dict(own.tools), dict(own.stores), [*own.problems, *self.source.problems])
        for home in homes.values():
            for tool in home.loaded.tools:
                box.add(_with_home(tool, home), f"the pack {home.id}")
        return PackSet(homes, box)

    @property
    def homes(self) -> Mapping[str, PackHome]:
        """The packs that are on, by their ids; blocks if they are not loaded yet."""
        return self._loaded()[0]

    def kinds(self) -> dict[str, OpenKind]:
        """The kinds of drafts of the packs that are on, by the names that drafts have of them."""
        found: dict[str, OpenKind] = {
            f"{home.id}:{kind.name}": LocalKind(kind, home)
            for home in self.homes.values()
            for kind in home.loaded.pack.kinds
        }
        return KindTable(found, self.hosts, person_here())

    def resolve(self, addresses: Iterable[str]) -> dict[str, Source | None]:
        """What the addresses among these lead to that are of packs (KZ-8); blocks.

        None for one that leads nowhere, also where its pack fails; those of packs that are not on
        are not among them.
        """
        found: dict[str, Source | None] = {}
        known: dict[str, bool] = {"": False}
        for address in addresses:
            pack = pack_of(address)
            if pack not in known:
                known[pack] = pack in self.homes or self.hosts.has(pack)
            if known[pack]:
                found[address] = self._resolved(pack, address)
        return found

    def _resolved(self, pack: str, address: str) -> Source | None:
        home = self.homes.get(pack)
        try:
            if home is None:
                return self.hosts.source(pack, address)
            resolve = home.loaded.pack.source
            found = resolve(address, home) if resolve is not None else None
        except Exception:  # a pack's own code
            log.exception("the pack %s could not say what %s is", pack, address)
            return None
        if not isinstance(found, Source):
            return None
        return replace(found, title=escape_line(found.title, 200) or address)

    def closed_folders(self, subject: str) -> list[Path]:
        """The folders that packs close to a chat; blocks, and raises whatever a pack does."""
        homes = self.homes.values()
        asked = [(home, home.loaded.pack.closed) for home in homes]
        return [path for home, closed in asked if closed for path in closed(subject, home)]

    async def closed_rules(self, subject: str) -> list[Rule]:
        """Rules for the folders that packs close to a chat, or a run, about this (KZ-42)."""
        if self._on is not None and not self._on[0]:
            return []
        try:
            folders = await in_daemon_thread(lambda: self.closed_folders(subject))
        except Exception as error:  # a pack's own code
            raise ConfigurationError(
                f"A pack could not say which folders are closed: {type(error).__name__}: {error}"
            ) from error
        paths = [one.resolve().as_posix() for one in folders]
        return [Rule("deny", tool, path) for path in paths for tool in ("*", "read")]

    @property
    def has_policies(self) -> bool:
        """Whether one may say something of a request; also as long as nobody knows."""
        if self._on is None:
            return True
        homes, unguarded = self._on
        return bool(unguarded) or any(one.loaded.pack.policy for one in homes.values())

    def ask_policies(self, request: AskedRequest) -> list[Verdict]:
        """What each policy says of a request; blocks, and raises whatever one of them does."""
        homes, unguarded = self._loaded()
        if unguarded:
            return [Verdict(unguarded[0])]
        pack = request.subject.partition(":")[0]
        if pack and pack not in homes and not self.hosts.has(pack):
            return [Verdict(NOT_ON.format(pack=pack))]
        asked = [(home, home.loaded.pack.policy) for home in homes.values()]
        return [policy.ask(request, home) for home, policy in asked if policy is not None]

    def forget(self, subject: str) -> int:
        """Delete the chats about something; blocks, and not on the event loop's thread."""
        return self.hosts.wait(self._forget(subject))

    def close(self) -> None:
        with self._lock:
            for home in self._on[0].values() if self._on else ():
                home.close()
            self._on, self._made = ({}, ()), None


def person_here() -> Person:
    """Who works on this computer, where no pack knows better."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError):  # nobody has this number
        name = "person"
    return Person(name, name)


def _with_home(tool: Tool, home: PackHome) -> Tool:
    """A pack's tool, which finds the pack's records and services in its context."""

    async def run(context: Context, arguments: JsonObject) -> object:
        person = await in_daemon_thread(home.open)
        if not home.allows(tool.spec.name, person):
            raise ToolFailed(f"{person.name} may not use {tool.spec.name} as “{person.role}”.")
        return await tool.run(replace(context, home=home, person=person), arguments)

    return replace(tool, run=run, origin=f"the pack {home.id}")


class PackHome:
    """What the code of one pack works with. Its properties block: use it in a thread.

    What is made already is handed out without the lock, and services only once all of them are
    made: who works within a transaction of the records waits for nobody who reads these.
    """

    def __init__(self, loaded: LoadedPack, packs: Packs | None = None) -> None:
        self.loaded = loaded
        self._packs = packs
        self.id, self.folder = loaded.id, loaded.folder
        self._lock = RLock()
        self._records: Records | None = None
        self._services: list[object] | None = None
        self._making: list[object] | None = None
        """Those that are made so far, while the holder of the lock makes them."""

    @property
    def records(self) -> Records:
        if (made := self._records) is not None:
            return made
        with self._lock:
            if self._records is None:
                self._records = self.loaded.records()
            return self._records

    @property
    def person(self) -> Person:
        make = self.loaded.pack.person
        return make(self) if make is not None else person_here()

    def allows(self, tool: str, person: Person) -> bool:
        """Whether the pack lets a person of this role use a tool (KZ-6)."""
        roles = self.loaded.pack.roles
        names = () if roles is None else roles.get(person.role, ())
        return roles is None or "*" in names or tool in names

    def service(self, kind: type[T]) -> T:
        for one in self._made():
            if isinstance(one, kind):
                return one
        raise ToolFailed(f"The pack {self.id} has no {kind.__name__}.")

    def _made(self) -> Sequence[object]:
        """The services, made with the first use; one that is being made gets those before it."""
        if (made := self._services) is not None:
            return made
        with self._lock:
            if self._services is None and self._making is None:
                self._making = []
                try:
                    for make in self.loaded.pack.services:
                        self._making.append(make(self))
                finally:
                    self._services, self._making = self._making, None
            return self._services or self._making or ()

    def settings(self, kind: type[T]) -> T:
        return read_settings(kind, self.settings_file)

    def forget(self, subject: str) -> int:
        if self._packs is None or pack_of(subject) != self.id:
            raise ToolFailed(f"The pack {self.id} cannot delete chats about {subject}.")
        return self._packs.forget(subject)

    @property
    def settings_file(self) -> Path:
        return self.loaded.data / SETTINGS

    @property
    def services(self) -> Sequence[object]:
        """Those that were made."""
        return self._services or ()

    def open(self) -> Person:
        """Make the services that tools ask for; returns who works here."""
        self._made()
        return self.person

    def close(self) -> None:
        """Close the services, the last one first, and the database."""
        with self._lock:
            closed = [*(self._services or ()), self._records]
            self._services = self._records = None
        for one in reversed(closed):
            close = getattr(one, "close", None)
            if callable(close):
                try:
                    close()
                except Exception:  # a pack's own code: the others are closed all the same
                    log.exception("a service of the pack %s could not be closed", self.id)
