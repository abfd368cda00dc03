"""Saved sessions: what is in them, what they used, what was said in them."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from sqlite3 import Connection
from typing import Any, TypeAlias, TypedDict, Unpack, cast, get_args

from studio.domain.agents import PermissionMode
from studio.domain.events import Event
from studio.domain.jsonvalue import JsonObject
from studio.domain.ledger import written
from studio.domain.models import Usage
from studio.domain.permissions import Rule, Verdict
from studio.domain.sessions import SearchHit, SessionInfo

from .database import Database
from .journal import Journal, read_event
from .search import find, storable

# ``list`` is a method's name in the class below.
_Sessions: TypeAlias = list[SessionInfo]
_Events: TypeAlias = list[Event]
_Rules: TypeAlias = list[Rule]
_Hits: TypeAlias = list[SearchHit]
_Ids: TypeAlias = list[str]
_Rows: TypeAlias = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Native:
    """One epoch of a provider's own history, as it was stored (H-1)."""

    epoch: int
    provider: str
    protocol: str
    model: str
    system: str
    tools: list[JsonObject] = field(default_factory=list[JsonObject])
    items: list[JsonObject] = field(default_factory=list[JsonObject])


class Changes(TypedDict, total=False):
    """Fields of a session that may change."""

    title: str
    folder: str
    agent: str
    provider: str
    model: str
    permission_mode: PermissionMode
    state: str
    unread: bool
    updated: float


_COLUMNS = (
    "id, title, folder, agent, provider, model, permission_mode, created, updated, state, unread"
)
_SUMS = (
    "coalesce(sum(input), 0), coalesce(sum(cache_read), 0), coalesce(sum(cache_write), 0), "
    "coalesce(sum(output), 0), coalesce(sum(reasoning), 0)"
)


class SessionStore:
    """The sessions in a database. Every coroutine raises StorageError."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._journals: dict[str, Journal] = {}

    async def create(self, info: SessionInfo) -> None:
        """Add a session; its id must be new."""
        values = (
            info.id, storable(info.title), storable(info.folder), info.agent, info.provider,
            info.model, info.permission_mode, info.created, info.updated, info.state, info.unread,
        )  # fmt: skip
        marks = ", ".join("?" * len(values))
        await self._db.write(
            lambda db: (
                db.execute(f"INSERT INTO sessions ({_COLUMNS}) VALUES ({marks})", values) and None
            )
        )

    async def get(self, session_id: str) -> SessionInfo | None:
        """The session, or None if there is none with this id."""
        rows = await self._rows(f"SELECT {_COLUMNS} FROM sessions WHERE id = ?", session_id)
        return _info(rows[0]) if rows else None

    async def list(self) -> _Sessions:
        """All sessions, the one used last first."""
        rows = await self._rows(
            f"SELECT {_COLUMNS} FROM sessions ORDER BY updated DESC, created DESC, id"
        )
        return [_info(row) for row in rows]

    async def update(self, session_id: str, **changes: Unpack[Changes]) -> None:
        """Change some fields; nothing happens if the session is gone."""
        unknown = changes.keys() - Changes.__annotations__.keys()
        if unknown:
            raise TypeError(f"a session has no {', '.join(sorted(unknown))}")
        if not changes:
            return
        columns = ", ".join(f"{name} = ?" for name in changes)
        values = [storable(v) if isinstance(v, str) else v for v in changes.values()]
        await self._db.write(
            lambda db: (
                db.execute(f"UPDATE sessions SET {columns} WHERE id = ?", (*values, session_id))
                and None
            )
        )

    async def delete(self, session_id: str) -> None:
        """Remove a session and everything in it for good."""
        journal = self._journals.pop(session_id, None)
        if journal is not None:
            journal.discard()
        await self._db.write(
            lambda db: db.execute("DELETE FROM sessions WHERE id = ?", (session_id,)) and None
        )

    def journal(self, session_id: str) -> Journal:
        """Where the session's events go; the same one until it is closed."""
        journal = self._journals.get(session_id)
        if journal is None or journal.closed:
            journal = self._journals[session_id] = Journal(self._db, session_id, self._db.owner)
        return journal

    async def close(self) -> None:
        """Flush and close every journal; the database stays open."""
        for journal in tuple(self._journals.values()):
            await journal.close()
        self._journals.clear()

    async def events(self, session_id: str) -> _Events:
        """Everything that happened, in order; events of a newer version are left out."""
        await self._flush(session_id)

        def read(db: Connection) -> _Events:
            rows = db.execute(
                "SELECT body FROM transcript WHERE session_id = ? ORDER BY seq", (session_id,)
            )
            return [event for (body,) in rows if (event := read_event(body)) is not None]

        return await self._db.read(read)

    async def native(self, session_id: str) -> Native | None:
        """The last epoch of the provider's history; None before the first."""

        def read(db: Connection) -> Native | None:
            row = db.execute(
                """SELECT epoch, provider, protocol, model, system, tools FROM epochs
                WHERE session_id = ? ORDER BY epoch DESC LIMIT 1""",
                (session_id,),
            ).fetchone()
            if row is None:
                return None
            items = db.execute(
                "SELECT body FROM native WHERE session_id = ? AND epoch = ? ORDER BY seq",
                (session_id, row[0]),
            )
            epoch, provider, protocol, model, system, tools = row
            return Native(
                epoch, provider, protocol, model, json.loads(system), json.loads(tools),
                [json.loads(body) for (body,) in items],
            )  # fmt: skip

        return await self._db.read(read)

    async def begin_epoch(
        self,
        session_id: str,
        provider: str,
        protocol: str,
        model: str,
        system: str,
        tools: Sequence[JsonObject],
        items: Sequence[JsonObject],
    ) -> int:
        """Begin the native history anew with ``items``; returns the epoch's number.

        Older epochs stay stored (H-9). System prompt and tools belong to the
        epoch: they are what later requests of it must repeat.
        """
        await self._flush(session_id)

        def write(db: Connection) -> int:
            row = db.execute("SELECT max(epoch) FROM epochs WHERE session_id = ?", (session_id,))
            epoch = (row.fetchone()[0] or 0) + 1
            db.execute(
                """INSERT INTO epochs (session_id, epoch, at, provider, protocol, model, system,
                tools) VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
                (session_id, epoch, time.time(), provider, protocol, model, written(system),
                 written(cast("Any", [*tools]))),
            )  # fmt: skip
            _append_native(session_id, epoch, items, db)
            return epoch

        return await self._db.write(write)

    async def append_native(self, session_id: str, epoch: int, items: Sequence[JsonObject]) -> None:
        """Add items to an epoch; stored when this returns, with every event before them."""
        work = partial(_append_native, session_id, epoch, tuple(items))
        journal = self._journals.get(session_id)
        if journal is None or journal.closed:
            await self._db.write(work)
        else:
            await journal.flush_with(work)

    async def rules(self, session_id: str) -> _Rules:
        """What the person allowed for this session, oldest first."""
        rows = await self._rows(
            "SELECT verdict, tool, pattern FROM rules WHERE session_id = ? ORDER BY rowid",
            session_id,
        )
        return [
            Rule(verdict, json.loads(tool), json.loads(pattern))
            for verdict, tool, pattern in rows
            if verdict in get_args(Verdict)
        ]

    async def add_rule(self, session_id: str, rule: Rule) -> None:
        """Keep an "Always for this session"; adding it twice is the same as once."""
        values = (session_id, rule.verdict, written(rule.tool), written(rule.pattern))
        await self._db.write(
            lambda db: (
                db.execute("INSERT OR IGNORE INTO rules VALUES (?, ?, ?, ?)", values) and None
            )
        )

    async def search(self, text: str, limit: int = 50) -> _Hits:
        """Sessions whose title or content has the words of ``text``; see ``search.find``."""
        return await self._db.read(lambda db: find(db, text, limit))

    async def waiting_drafts(self) -> tuple[tuple[str, str, str], ...]:
        """Session id, the session's title and the path of each draft that waits, newest first."""
        rows = await self._rows(
            """SELECT s.id, s.title, d.path FROM drafts d JOIN sessions s ON s.id = d.session_id
            WHERE d.status = 'waiting' ORDER BY d.id DESC"""
        )
        return tuple((session_id, title, path) for session_id, title, path in rows)

    async def usage(self, session_id: str) -> Usage:
        """What a session's requests used so far."""
        rows = await self._rows(f"SELECT {_SUMS} FROM usage WHERE session_id = ?", session_id)
        return Usage(*rows[0])

    async def usage_by_model(
        self, *, session_id: str = "", since: float = 0.0
    ) -> dict[tuple[str, str], Usage]:
        """Usage by (provider, model), as prices need it; of one session or of all."""
        rows = await self._rows(
            f"""SELECT provider, model, {_SUMS} FROM usage
            WHERE at >= ?1 AND (?2 = '' OR session_id = ?2) GROUP BY provider, model""",
            since,
            session_id,
        )
        return {(provider, model): Usage(*sums) for provider, model, *sums in rows}

    async def interrupted(self) -> _Ids:
        """Sessions whose last turn never ended because its program did (a crash, a kill)."""
        rows = await self._rows(
            """SELECT session_id, owner FROM turns WHERE reason IS NULL AND id IN
            (SELECT max(id) FROM turns GROUP BY session_id) ORDER BY id"""
        )
        running = {name for name, journal in self._journals.items() if journal.running}
        alive = await self._db.alive({owner for _, owner in rows})
        return [
            session_id
            for session_id, owner in rows
            if session_id not in running and (owner == self._db.owner or owner not in alive)
        ]

    async def running_elsewhere(self, session_id: str) -> bool:
        """Whether another program that has the database open runs a turn of this session."""
        rows = await self._rows(
            "SELECT owner, reason FROM turns WHERE session_id = ? ORDER BY id DESC LIMIT 1",
            session_id,
        )
        owners = {owner for owner, reason in rows if reason is None} - {self._db.owner}
        return bool(await self._db.alive(owners))

    async def _flush(self, session_id: str) -> None:
        journal = self._journals.get(session_id)
        if journal is not None:
            await journal.flush()

    async def _rows(self, query: str, *values: str | float) -> _Rows:
        return await self._db.read(lambda db: db.execute(query, values).fetchall())


def _info(row: tuple[Any, ...]) -> SessionInfo:
    *fields, unread = row
    return SessionInfo(*fields, unread=bool(unread))


def _append_native(
    session_id: str, epoch: int, items: Sequence[JsonObject], db: Connection
) -> None:
    row = db.execute(
        "SELECT max(seq) FROM native WHERE session_id = ? AND epoch = ?", (session_id, epoch)
    )
    first: int = (row.fetchone()[0] or 0) + 1
    db.executemany(
        "INSERT INTO native (session_id, epoch, seq, body) VALUES (?, ?, ?, ?)",
        [(session_id, epoch, seq, written(item)) for seq, item in enumerate(items, first)],
    )
