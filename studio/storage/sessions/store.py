"""Session store: creates, lists, changes, branches and deletes saved sessions.

Reads what belongs to them: events, native histories, drafts, usage, audit.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from sqlite3 import Connection
from typing import Any, TypedDict, Unpack

from studio.domain.agents import Caps, PermissionMode
from studio.domain.errors import StorageError
from studio.domain.events import Event
from studio.domain.jsonvalue import JsonObject
from studio.domain.ledger import LedgerEntry, UsageRow
from studio.domain.models import Effort, Usage
from studio.domain.sessions import (
    Caller,
    DraftEntry,
    Origin,
    SearchHit,
    SessionInfo,
    SessionListing,
    TitledBy,
    TurnVersions,
)
from studio.storage.config.permission_rules import SessionRuleStore
from studio.storage.database import Database
from studio.storage.snapshots.file_changes import FileChangeStore

from . import audit_log, event_log, native_history, session_rows, usage, versions
from .audit_log import EVERYTHING, PAGE, AuditEntry, AuditFilter
from .journal import Journal
from .native_history import EpochInfo, StoredHistory
from .prompts import read_prompts
from .search import find, sanitise_text
from .search_filters import known_values
from .session_lock import ExternalActivity, read_lock_state
from .session_rows import COLUMNS, info_of
from .unsent import UnsentMessages
from .unspaced_index import SLICE, index_due, index_older
from .usage import UsageKey, sums

_OPEN = "('waiting', 'conflict')"
_DONE = "('approved', 'discarded', 'undone')"
_UNFINISHED = """SELECT session_id, owner FROM turns WHERE reason IS NULL AND id IN
    (SELECT max(id) FROM turns GROUP BY session_id) ORDER BY id"""


class SessionChanges(TypedDict, total=False):
    """Fields of a session that may change."""

    title: str
    folder: str
    agent: str
    provider: str
    model: str
    permission_mode: PermissionMode
    effort: Effort | None
    state: str
    unread: bool
    updated: float
    caps: Caps
    model_chosen: bool
    instructions: str
    archived: bool
    pinned: bool
    group_name: str
    titled_by: TitledBy
    deleted: float
    subject: str


class SessionStore:
    """The sessions in a database. Every coroutine raises StorageError."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.changes = FileChangeStore(db)
        """The changes of files by turns."""
        self.rules = SessionRuleStore(db)
        """The rules of single sessions."""
        self.unsent = UnsentMessages(db)
        """What is written and not sent yet."""
        self._journals: dict[str, Journal] = {}

    async def create(self, info: SessionInfo, *, held: bool = False) -> None:
        """Add a session; its id must be new.

        ``held``: with the first write of its journal, so that it is known to nobody until then.
        """
        if held:
            self.journal(info.id).hold(partial(session_rows.create, info))
        else:
            await self._db.write(partial(session_rows.create, info))

    async def branch(
        self, source_id: str, info: SessionInfo, before_turn: str = "", *, version: bool = False
    ) -> None:
        """Add a session with the events of another up to, not including, ``before_turn``.

        With all of them when that is empty, see ``event_log.copy_session``. Native history,
        usage and approvals are not copied. ``info.parent`` is set; a ``version`` joins the other's
        family instead, and is the one that is shown. Raises StorageError if
        session or turn do not exist; then nothing is added.
        """
        await self.flush(source_id)

        def write(db: Connection) -> None:
            query = "SELECT family FROM sessions WHERE id = ? AND deleted = 0"
            row = db.execute(query, (source_id,)).fetchone()
            if row is None:
                raise StorageError("This chat was deleted, so it cannot be continued.")
            if version:
                family = row[0] or source_id
                db.execute("UPDATE sessions SET family = ? WHERE id = ?", (family, source_id))
                session_rows.create(replace(info, family=family), db)
                versions.show(db, info.id)
            else:
                session_rows.create(replace(info, parent=source_id, family="", behind=False), db)
            event_log.copy_session(db, source_id, info.id, before_turn)
            db.execute(
                "UPDATE sessions SET state = ?, updated = ? WHERE id = ?",
                (info.state, info.updated, info.id),
            )

        await self._db.write(write)

    async def get(self, session_id: str) -> SessionInfo | None:
        """The session, or None if there is none with this id, or it is in the bin."""
        await self._write_held((session_id,))
        query = f"SELECT {COLUMNS} FROM sessions WHERE id = ? AND deleted = 0"
        rows = await self._db.rows(query, session_id)
        return info_of(rows[0]) if rows else None

    async def all(self) -> list[SessionInfo]:
        """All chats that are not in the bin, the one used last first."""
        infos = [info_of(row) for row in await self._db.read(session_rows.everything)]
        return [info for info in infos if not info.deleted and info.caller is None]

    async def called_by(self, caller: Caller) -> list[SessionInfo]:
        """The sessions that a session or a run began, the oldest first; with ``part`` for that."""
        query = f"""SELECT {COLUMNS} FROM sessions WHERE caller = ?1 AND caller_kind = ?2
            AND (?3 = '' OR caller_part = ?3) ORDER BY created, id"""
        rows = await self._db.rows(query, caller.id, caller.kind, caller.part)
        return [info_of(row) for row in rows]

    async def descendants(self, ids: Collection[str], *, of_runs: bool = False) -> list[str]:
        """The sessions that these sessions or runs began, and those that these began.

        With ``of_runs`` also those of the runs that calls of them began.
        """
        await self._flush_all()
        return await self._db.read(lambda db: session_rows.descendants(db, ids, of_runs))

    async def calling_sessions(self, runs: Collection[str]) -> dict[str, str]:
        """The sessions whose calls began runs, or the runs above these, by the id of the run."""

        def read(db: Connection) -> dict[str, str]:
            found: dict[str, str] = {}
            for run in runs:
                kind, caller = "run", run
                while kind == "run":
                    query = "SELECT caller_kind, caller FROM runs WHERE id = ?"
                    kind, caller = db.execute(query, (caller,)).fetchone() or ("", "")
                if kind:
                    found[run] = str(caller)
            return found

        return await self._db.read(read) if runs else {}

    async def listing(self, most: int, archive: int) -> tuple[SessionListing, dict[str, bool]]:
        """Pinned and grouped sessions, the ``most`` newest others, ``archive`` archived ones.

        With ``unfinished`` of the same moment: nothing ends between the two.
        """
        found, turns = await self._db.read(
            lambda db: (session_rows.listing(db, most, archive), db.execute(_UNFINISHED).fetchall())
        )
        return found, await self._carried_out(turns)

    async def some(self, ids: Collection[str]) -> list[SessionInfo]:
        """Those of some sessions that are not in the bin."""
        marks = ", ".join("?" * len(ids))
        query = f"SELECT {COLUMNS} FROM sessions WHERE deleted = 0 AND id IN ({marks})"
        return [info_of(row) for row in await self._db.rows(query, *ids)]

    async def waiting(self) -> list[SessionInfo]:
        """The sessions that wait for the person, also those that work for others."""
        await self._flush_all()
        query = f"""SELECT {COLUMNS} FROM sessions WHERE state = 'waiting' AND deleted = 0
            AND behind = 0 ORDER BY updated, id"""
        return [info_of(row) for row in await self._db.rows(query)]

    async def unseen_limits(self, since: float) -> list[SessionInfo]:
        """The chats whose last turn ended at a limit of tokens or money, unread since then.

        Without those in the archive, and those that last changed before ``since``.
        """
        await self._flush_all()
        query = f"""SELECT {COLUMNS} FROM sessions WHERE updated >= ?
            AND state IN ('token_limit', 'money_limit') AND unread <> 0 AND archived = 0
            AND deleted = 0 AND behind = 0 AND caller = '' ORDER BY updated, id"""
        return [info_of(row) for row in await self._db.rows(query, since)]

    async def bin(self) -> list[SessionInfo]:
        """The sessions in the bin, the one that was deleted last first."""
        query = f"""SELECT {COLUMNS} FROM sessions WHERE deleted <> 0 AND behind = 0
            AND caller = '' ORDER BY deleted DESC, id"""
        return [info_of(row) for row in await self._db.rows(query)]

    async def beyond(self, origin: Origin, most: int) -> list[str]:
        """The chats begun at a door that are older than its newest ``most``.

        Without those that the person pinned or put in a group, and those that run.
        """
        query = """SELECT id FROM sessions WHERE origin = ? AND deleted = 0 AND behind = 0
            AND caller = '' AND pinned = 0 AND group_name = ''
            AND state NOT IN ('running', 'waiting')
            ORDER BY updated DESC, id LIMIT -1 OFFSET ?"""
        return [str(one) for (one,) in await self._db.rows(query, origin, most)]

    async def update(self, session_id: str, **changes: Unpack[SessionChanges]) -> None:
        """Change some fields; does nothing if the session is deleted."""
        await self.update_all((session_id,), **changes)

    async def update_all(self, ids: Collection[str], **changes: Unpack[SessionChanges]) -> None:
        """Change some fields of several sessions: of all of them, or of none."""
        unknown = changes.keys() - SessionChanges.__annotations__.keys()
        if unknown:
            raise TypeError(f"a session has no {', '.join(sorted(unknown))}")
        if not changes:
            return
        row: dict[str, Any] = {**changes}
        if caps := changes.get("caps"):
            del row["caps"]
            row |= {"cap_tokens": caps.tokens, "cap_dollars": caps.dollars}
        await self._write_held(ids)
        columns = ", ".join(f"{name} = ?" for name in row)
        values = [sanitise_text(v) if isinstance(v, str) else v for v in row.values()]
        query = f"UPDATE sessions SET {columns} WHERE id = ?"
        rows = [(*values, session_id) for session_id in ids]
        await self._db.write(lambda db: db.executemany(query, rows) and None)

    async def give_title(self, session_id: str, title: str) -> bool:
        """Give a session a model's title, unless it has been given one; whether that was done."""
        await self._write_held((session_id,))
        query = "UPDATE sessions SET title = ?, titled_by = 'model' WHERE id = ? AND titled_by = ''"
        return await self._db.execute(query, sanitise_text(title), session_id) > 0

    async def delete(self, session_id: str) -> None:
        """Delete a session and everything in it, except its rows in the audit and usage."""
        journal = self._journals.pop(session_id, None)
        if journal is not None:
            journal.discard()

        def write(db: Connection) -> bool:
            db.execute("DELETE FROM sessions WHERE id = ?", (session_id,))
            return index_due(db)

        more = await self._db.write(write)
        while more:  # until the index has let go of them, the texts are still in the file
            more = await self._db.write(index_due)

    async def about(self, subject: str) -> list[str]:
        """The sessions about something, those in the bin too."""
        await self._flush_all()
        rows = await self._db.rows("SELECT id FROM sessions WHERE subject = ?", subject)
        return [str(row[0]) for row in rows]

    async def newest_about(self, subject: str) -> str:
        """The chat about something that changed last; empty if the list of chats has none."""
        await self._flush_all()
        query = """SELECT id FROM sessions WHERE subject = ? AND deleted = 0 AND behind = 0
            AND archived = 0 AND caller = '' ORDER BY updated DESC, id LIMIT 1"""
        rows = await self._db.rows(query, subject)
        return str(rows[0][0]) if rows else ""

    async def forget_calls(self, ids: Sequence[str]) -> None:
        """Take the words out of the audit of sessions that are deleted (KZ-45)."""
        query = """UPDATE audit SET title = '', target = '', arguments = '{}', summary = ''
            WHERE session_id = ?"""
        await self._db.write(lambda db: db.executemany(query, [(one,) for one in ids]) and None)

    def journal(self, session_id: str) -> Journal:
        """The session's journal; the same one until it is closed."""
        journal = self._journals.get(session_id)
        if journal is None or journal.closed:
            journal = self._journals[session_id] = Journal(self._db, session_id, self._db.owner)
        return journal

    def let_go(self, session_id: str) -> None:
        """Forget the journal of a session, if it is closed."""
        journal = self._journals.get(session_id)
        if journal is not None and journal.closed:
            del self._journals[session_id]

    async def close(self) -> None:
        """Flush and close every journal; the database stays open."""
        for journal in tuple(self._journals.values()):
            await journal.close()
        self._journals.clear()

    async def newest(self, session_id: str) -> int:
        """The number of a session's newest event; 0 if it has none."""
        query = "SELECT max(seq) FROM transcript WHERE session_id = ?"
        rows = await self._db.rows(query, session_id)
        return int(rows[0][0] or 0)

    async def elsewhere(self, session_id: str) -> ExternalActivity:
        """What other programs do with a session that is open here.

        It changes only when events are added.
        """
        journal = self._journals.get(session_id)
        if journal is not None and (journal.closed or not journal.settled):
            journal = None
        known = journal.newest if journal is not None else None
        newest, owner, _ = await self._db.read(lambda db: read_lock_state(db, session_id))
        # An event that this program wrote meanwhile does not count.
        same = journal is not None and journal.settled and journal.newest == known
        changed = same and known is not None and newest != known
        other = owner not in ("", self._db.owner)
        return ExternalActivity(other and bool(await self._db.alive({owner})), changed)

    async def events(self, session_id: str, after: int = 0) -> list[Event]:
        """The events after the first ``after``, in order.

        Without damaged ones and those of a newer version.
        """
        await self.flush(session_id)
        return await self._db.read(lambda db: event_log.events(db, session_id, after))

    async def recent_events(self, session_id: str, most: int) -> list[tuple[float, Event]]:
        """The newest ``most`` events in order, each with its time in Unix seconds."""
        await self.flush(session_id)
        return await self._db.read(lambda db: event_log.recent_events(db, session_id, most))

    async def damage(self, session_id: str) -> str:
        """What is wrong with a session's row and events, for the person; empty if sound (H-5).

        See ``StoredHistory.damage`` for the native history. A database that cannot be written
        is the same to all of its sessions: they can only be read.
        """
        if self._db.unwritable:
            return self._db.unwritable
        await self.flush(session_id)
        return await self._db.read(lambda db: event_log.describe_damage(db, session_id))

    async def accept_changed(self, session_id: str) -> int:
        """Take readable entries as they are now, see ``event_log.accept_changed``."""
        return await self._db.write(lambda db: event_log.accept_changed(db, session_id))

    async def native(self, session_id: str, epoch: int | None = None) -> StoredHistory | None:
        """An epoch of the provider's history, the last if not named; None if there is none."""
        return await self._db.read(lambda db: native_history.read(db, session_id, epoch))

    async def native_and_later(self, session_id: str) -> tuple[StoredHistory, list[Event]] | None:
        """The last epoch, and the events since its last item was stored; None if there is none.

        Of one that an older version stored these are not known: there are none.
        """
        await self.flush(session_id)

        def read(db: Connection) -> tuple[StoredHistory, list[Event]] | None:
            found = native_history.read(db, session_id, None)
            if found is None:
                return None
            later = (
                event_log.events(db, session_id, found.events) if found.events is not None else []
            )
            return found, later

        return await self._db.read(read)

    async def epochs(self, session_id: str) -> list[EpochInfo]:
        """Every epoch of the session, oldest first; all stay readable (H-9)."""
        return await self._db.read(lambda db: native_history.epochs(db, session_id))

    async def begin_epoch(
        self,
        session_id: str,
        provider: str,
        protocol: str,
        model: str,
        system: str,
        tools: Sequence[JsonObject],
        items: Sequence[JsonObject],
        why: str = "",
    ) -> int:
        """Begin an epoch of the native history with ``items``; returns its number.

        ``why`` is for the person, and empty for a session's first epoch. Older epochs
        stay stored (H-9). All requests of the epoch repeat its system prompt and tools.
        """
        made_by = (provider, protocol, model)
        begun: list[int] = []

        def begin(db: Connection) -> None:
            begun.append(native_history.begin(db, session_id, made_by, system, tools, items, why))

        await self._write_after_events(session_id, begin)
        return begun[-1]

    def begin_epoch_soon(
        self,
        session_id: str,
        provider: str,
        protocol: str,
        model: str,
        system: str,
        tools: Sequence[JsonObject],
        items: Sequence[JsonObject],
        why: str = "",
    ) -> bool:
        """The same with the next write of events, which ``flush`` waits for.

        False, and nothing is done, if no event waits to be written.
        """
        made_by = (provider, protocol, model)

        def begin(db: Connection) -> None:
            native_history.begin(db, session_id, made_by, system, tools, items, why)

        return self._follow_events(session_id, begin)

    async def append_native(self, session_id: str, epoch: int, items: Sequence[JsonObject]) -> None:
        """Add items to an epoch; stored when this returns, with every event before them."""
        work = partial(native_history.append, session_id, epoch, tuple(items))
        await self._write_after_events(session_id, work)

    def append_native_soon(self, session_id: str, epoch: int, items: Sequence[JsonObject]) -> bool:
        """The same with the next write of events, which ``flush`` waits for.

        False, and nothing is done, if no event waits to be written.
        """
        work = partial(native_history.append, session_id, epoch, tuple(items))
        return self._follow_events(session_id, work)

    def _follow_events(self, session_id: str, work: Callable[[Connection], None]) -> bool:
        journal = self._journals.get(session_id)
        return journal is not None and not journal.closed and journal.follow(work)

    async def _write_after_events(
        self, session_id: str, work: Callable[[Connection], None]
    ) -> None:
        """Do ``work`` in one transaction with the events that are not stored yet, after them."""
        journal = self._journals.get(session_id)
        if journal is None or journal.closed:
            await self._db.write(work)
        else:
            await journal.flush_with(work)

    async def search(self, text: str, limit: int = 50, lines: int = 1) -> list[SearchHit]:
        """Chats whose title or content has the words of ``text``, see ``search.find``."""
        return await self._db.read(
            lambda db: versions.one_of_each(db, find(db, text, limit, lines))
        )

    async def search_values(self) -> dict[str, list[str]]:
        """What may stand after each filter of a search."""
        return await self._db.read(known_values)

    async def index_older(self) -> None:
        """Take the chats of earlier versions into the index of scripts without spaces.

        In slices, between which others write. Until then searches read these chats.
        """
        more = not self._db.unwritable
        while more:
            more = await self._db.write(index_older)
            await asyncio.sleep(3 * SLICE)

    async def prompts(self, before: int, but: str, most: int) -> tuple[list[str], int]:
        """What the person wrote in all chats but one, see ``read_prompts``."""
        return await self._db.read(lambda db: read_prompts(db, before, but, most))

    async def members(self, ids: Collection[str]) -> list[str]:
        """The sessions, and every other version of their chats."""
        await self._write_held(ids)
        return await self._db.read(lambda db: versions.members(db, ids))

    async def show_version(self, session_id: str) -> None:
        """Let a version stand for its chat in lists."""
        await self._db.write(lambda db: versions.show(db, session_id))

    async def versions(self, session_id: str) -> list[TurnVersions]:
        """The turns of a session to which there are other versions, in order."""
        await self.flush(session_id)
        return await self._db.read(lambda db: versions.where_versions_differ(db, session_id))

    async def drafts(
        self, session_id: str = "", *, done: bool = False, limit: int = 500
    ) -> tuple[DraftEntry, ...]:
        """The drafts of one session or of all that wait for the person, newest first.

        If ``done`` those that are decided, the last decided one first.
        """
        await self._flush_all()
        states, order = (_DONE, "d.resolved") if done else (_OPEN, "d.created")
        rows = await self._db.rows(
            f"""SELECT s.id, CAST(s.title AS TEXT), s.agent, CAST(s.folder AS TEXT), d.draft_id,
            CAST(d.path AS TEXT), d.action, CAST(d.target AS TEXT), d.status,
            CAST(d.detail AS TEXT), d.created, d.resolved, CAST(d.noun AS TEXT)
            FROM drafts d JOIN sessions s ON s.id = d.session_id
            WHERE d.status IN {states} AND s.deleted = 0 AND (?1 = '' OR s.id = ?1)
            ORDER BY {order} DESC, d.id DESC LIMIT ?2""",
            session_id,
            limit,
        )
        return tuple(DraftEntry(*row) for row in rows)

    async def add_usage(
        self,
        session_id: str,
        turn_id: str,
        made_by: tuple[str, str, str],
        used: Usage,
        seconds: float,
        cost: float | None,
    ) -> None:
        """Count a request beside a turn; ``made_by`` is agent, provider and model."""
        values = (session_id, turn_id, time.time(), *made_by, used, seconds, cost)
        await self._db.write(lambda db: usage.add(db, *values))

    async def usage(self, session_id: str) -> Usage:
        """What a session's requests used so far."""
        rows = await self._db.rows(f"SELECT {sums()} FROM usage WHERE session_id = ?", session_id)
        return Usage(*rows[0])

    async def usage_by(
        self, by: UsageKey, session_id: str = "", since: float = 0.0, sizes: Sequence[int] = ()
    ) -> list[UsageRow]:
        """Sums by turn, session, agent, day (the local date, ``2026-11-22``) or model.

        Each sum is of one model, as prices are, and of requests above or below each of
        ``sizes``, in tokens sent. In the order of the first request. Of one session or of all,
        from the time ``since`` on.
        """
        await self.flush(session_id)
        return await self._db.read(lambda db: usage.usage_by(db, by, session_id, since, sizes))

    async def speeds(self, provider: str) -> dict[str, float]:
        """Tokens a second of a provider's models, of the fastest of their last answers."""
        await self.flush("")
        return await self._db.read(lambda db: usage.speeds(db, provider))

    async def ledger(self, session_id: str = "", *, since: float = 0.0) -> list[LedgerEntry]:
        """Every request that was answered, oldest first.

        Of one session or of all, from the time ``since`` on.
        """
        await self.flush(session_id)
        return await self._db.read(lambda db: usage.ledger(db, session_id, since))

    async def last_sent(self, session_id: str) -> LedgerEntry | None:
        """The session's last request with a record of what was sent."""
        await self.flush(session_id)
        return await self._db.read(lambda db: usage.last_sent(db, session_id))

    async def audit(
        self,
        wanted: AuditFilter = EVERYTHING,
        *,
        beyond: int = 0,
        limit: int = PAGE,
        newest_first: bool = True,
    ) -> list[AuditEntry]:
        """A page of the calls that match a filter (L-15); see ``audit_log.read``."""
        await self._flush_all()
        return await self._db.read(
            lambda db: audit_log.read(
                db, wanted, beyond=beyond, limit=limit, newest_first=newest_first
            )
        )

    async def audit_count(self, wanted: AuditFilter = EVERYTHING) -> int:
        """How many calls match a filter."""
        await self._flush_all()
        return await self._db.read(lambda db: audit_log.count(db, wanted))

    async def audited(self, start: str) -> list[str]:
        """The sessions in the audit, deleted ones too, whose id begins with ``start``."""
        await self._flush_all()
        return await self._db.read(lambda db: audit_log.sessions(db, start))

    async def interrupted(self) -> list[str]:
        """Sessions whose last turn has no end because its program crashed or was killed."""
        return [one for one, runs in (await self.unfinished()).items() if not runs]

    async def unfinished(self) -> dict[str, bool]:
        """Sessions whose last turn has no end, and whether another program carries it out.

        Without those that run here.
        """
        return await self._carried_out(await self._db.rows(_UNFINISHED))

    async def _carried_out(self, turns: Sequence[tuple[Any, ...]]) -> dict[str, bool]:
        running = {name for name, journal in self._journals.items() if journal.running}
        alive = await self._db.alive({owner for _, owner in turns}) - {self._db.owner}
        return {name: owner in alive for name, owner in turns if name not in running}

    async def running_elsewhere(self, session_id: str) -> bool:
        """Whether another program runs a turn of this session."""
        return (await self.elsewhere(session_id)).running

    async def flush(self, session_id: str) -> None:
        """Return when every event of a session so far is stored; raises StorageError."""
        journal = self._journals.get(session_id)
        if journal is not None:
            await journal.flush()

    async def _write_held(self, ids: Iterable[str]) -> None:
        """Write the rows of new sessions that their journals hold back."""
        for session_id in ids:
            journal = self._journals.get(session_id)
            if journal is not None and journal.unwritten:
                await journal.flush()

    async def _flush_all(self) -> None:
        for session_id in tuple(self._journals):
            await self.flush(session_id)
