"""Pack hosts: reaches packs whose Python runs in a process of its own (X-3).

A host is an MCP server like any: its tools are asked about, pinned, filtered and counted. Beside
that the studio itself asks it about its kinds of drafts, with tools that no model is offered.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Coroutine, Mapping
from dataclasses import asdict
from typing import Any, Protocol, TypeVar, cast, get_args

from studio.domain.drafts import DraftAction, KindDraft
from studio.domain.errors import ToolFailed
from studio.domain.jsonvalue import Json, JsonObject, as_object, as_objects, as_text
from studio.domain.persons import Person
from studio.domain.records import dataclass
from studio.tools.packs.hosted import DRAFTS
from studio.tools.packs.kinds import OpenKind
from studio.tools.packs.persons_act import PersonsAct
from studio.tools.packs.sources import Mark, Source

from .permission.invisible_characters import escape_line, visible

T = TypeVar("T")
LONGEST = 200_000
"""Characters of a draft's text."""
MOST_DRAFTS = 20
"""Drafts of one call."""


class HostCalls(Protocol):
    """Calls the hosts of packs, from the event loop."""

    def has(self, pack: str) -> bool:
        """Whether a pack that is on has a host; blocks."""
        ...

    async def ask(self, pack: str, what: str, arguments: JsonObject, door: str) -> JsonObject:
        """What a host says about its drafts; raises ToolFailed."""
        ...


class PackHosts:
    """The hosts of packs, for threads. ``loop`` is the one on which servers are called."""

    def __init__(self, calls: HostCalls, loop: asyncio.AbstractEventLoop) -> None:
        self._calls = calls
        self._loop = loop
        self.has = calls.has

    def ask(self, pack: str, what: str, arguments: JsonObject, door: str = "") -> JsonObject:
        """Blocks: call it in a thread. Raises ToolFailed."""
        return self.wait(self._calls.ask(pack, what, arguments, door))

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """What the event loop's thread makes of this; blocks any other."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def source(self, pack: str, address: str) -> Source | None:
        """What an address of a pack leads to; blocks, and raises ToolFailed."""
        told = self.ask(pack, "resolve", {"address": address})
        title, target = escape_line(as_text(told.get("title")), 200), told.get("target")
        if not title:
            return None
        wanted = tuple(map(as_text, target)) if isinstance(target, list) else ()
        marks = tuple(map(_mark, as_objects(told.get("marks"))))
        return Source(title, as_text(told.get("page")), wanted, marks)


def _mark(told: JsonObject) -> Mark:
    fields = (escape_line(as_text(told.get(one)), 200) for one in ("text", "kind", "icon", "about"))
    return Mark(*fields)


@dataclass(frozen=True, slots=True)
class HostKind:
    """A kind of drafts whose code is in its pack's host. All of it blocks."""

    hosts: PackHosts
    name: str
    who: Person

    @property
    def pack(self) -> str:
        return self.name.partition(":")[0]

    def make(self, fields: JsonObject) -> KindDraft:
        return drafted(
            self.pack, self.hosts.ask(self.pack, "make", {"kind": self.name, "fields": fields})
        )

    def person(self) -> Person:
        return self.who

    def conflict(self, draft: KindDraft) -> str:
        return escape_line(as_text(self._asked("conflict", draft).get("why")), 500)

    def approve(self, draft: KindDraft, act: PersonsAct) -> None:
        self._asked("approve", draft, act.door)

    def undo(self, draft: KindDraft, act: PersonsAct) -> None:
        self._asked("undo", draft, act.door)

    def edit(self, draft: KindDraft, text: str) -> KindDraft:
        return drafted(self.pack, self._asked("edit", draft, text=text))

    def settled(self, draft: KindDraft, reason: str) -> None:
        self._asked("settled", draft, reason=reason)

    def _asked(self, what: str, draft: KindDraft, door: str = "", **more: str) -> JsonObject:
        told: JsonObject = {"kind": self.name, "draft": cast("JsonObject", asdict(draft)), **more}
        return self.hosts.ask(self.pack, what, told, door)


class KindTable(dict[str, OpenKind]):
    """The kinds of the packs in the program, and those of hosts, which are named when needed."""

    def __init__(self, found: Mapping[str, OpenKind], hosts: PackHosts, who: Person) -> None:
        super().__init__(found)
        self._hosts = hosts
        self._who = who

    def __missing__(self, name: str) -> OpenKind:
        if not self._hosts.has(name.partition(":")[0]):
            raise KeyError(name)
        return HostKind(self._hosts, name, self._who)


def drafts_of(pack: str, structured: Json) -> list[KindDraft]:
    """What a call to a host drafted, checked here; raises ToolFailed."""
    made = as_object(structured).get(DRAFTS)
    if not isinstance(made, list):
        return []
    if len(made) > MOST_DRAFTS:
        raise ToolFailed(f"The pack {pack} made more than {MOST_DRAFTS} drafts with one call.")
    return [drafted(pack, as_object(one)) for one in made]


def drafted(pack: str, value: JsonObject) -> KindDraft:
    """A draft as a host describes it, with an id of ours; raises ToolFailed for another's."""
    kind, action = as_text(value.get("kind")), as_text(value.get("action"))
    before = value.get("before")
    after = as_text(value.get("after"))
    if not kind.startswith(f"{pack}:") or action not in get_args(DraftAction):
        raise ToolFailed(f"The pack {pack} made a draft that is none of its kinds.")
    if len(after) > LONGEST or (isinstance(before, str) and len(before) > LONGEST):
        raise ToolFailed(f"The pack {pack} made a draft of more than {LONGEST:,} characters.")
    return KindDraft(
        uuid.uuid4().hex,
        kind,
        as_text(value.get("key")),
        as_object(value.get("fields")),
        escape_line(as_text(value.get("title")), 200),
        visible(before) if isinstance(before, str) else None,
        visible(after),
        escape_line(as_text(value.get("noun")), 40) or "entry",
        cast("Any", action),
    )
