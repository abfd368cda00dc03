"""Run store: saves runs of workflows, their events and the files that they run by (W-13, W-15).

One program at a time carries out a run, as with sessions: it claims the run, and its claim does
not count any more when it has ended (see ``process_registry``).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from sqlite3 import Connection
from typing import Any, cast

from studio.domain.codec import decode_run_event, encode_event
from studio.domain.errors import StorageError
from studio.domain.ledger import canonical_json, digest
from studio.domain.run_events import PAUSED_BY_PERSON, RunEvent, RunStarted, RunState, Trigger
from studio.domain.runs import Run

from .database import Database
from .sessions.search import sanitise_text

_COLUMNS = (
    "id, name, source, folder, digest, number, state, reason, tokens, dollars, created, updated"
)


class RunInUse(StorageError):
    """Another program carries out this run."""

    def __init__(self) -> None:
        super().__init__("Another window or terminal carries out this run.")


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run that is not stored yet; ``text`` is its workflow's file.

    ``kept`` are the texts of other parts of it, whose digests are in ``started``.
    """

    started: RunStarted
    text: str
    kept: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One row of the list of runs. Times are seconds since the epoch.

    ``live``: a program carries it out now. One that has no end and is not live goes on when it
    is resumed.
    """

    id: str
    name: str
    source: str
    folder: str
    digest: str
    number: int
    state: RunState
    reason: str
    tokens: int
    dollars: float
    created: float
    updated: float
    trigger: Trigger = "manual"
    mission: bool = False
    live: bool = False


_ASKS = """EXISTS (
    SELECT 1 FROM run_events AS asked WHERE asked.run_id = runs.id
    AND asked.body LIKE '%"step_asked"%' AND json_valid(asked.body) AND NOT EXISTS (
        SELECT 1 FROM run_events AS later WHERE later.run_id = runs.id AND later.seq > asked.seq
        AND CASE WHEN json_valid(later.body) THEN json_extract(later.body, '$.event') IN
                ('step_answered', 'step_finished', 'step_started', 'step_resumed')
            AND json_extract(later.body, '$.step') = json_extract(asked.body, '$.step')
            AND json_extract(later.body, '$.item') = json_extract(asked.body, '$.item') END))"""
"""Whether a run has a question that nothing has ended since."""
_IS_MISSION = """coalesce((
    SELECT json_extract(body, '$.mission') FROM run_events
    WHERE run_id = runs.id AND seq = 1 AND json_valid(body)), '') <> ''"""
_WAS_AT_CAP = """EXISTS (
    SELECT 1 FROM run_events WHERE run_id = runs.id AND body LIKE '%"run_paused"%'
    AND json_valid(body) AND json_extract(body, '$.event') = 'run_paused'
    AND json_extract(body, '$.cap') <> '')"""
"""Whether a run was paused at a cap; that it is now, its events say."""


class RunStore:
    """The runs in a database. Every coroutine raises StorageError."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def create(
        self,
        new: NewRun,
        at: float,
        more: Sequence[RunEvent] = (),
        below: Sequence[tuple[NewRun, Sequence[RunEvent]]] = (),
    ) -> RunStarted:
        """Add a run and claim it for this program, in one transaction with those ``below`` it.

        ``more`` are events that follow at once; each of those below has its own. Returns the event
        with the number of the run among those of the same name and source.
        """
        owner = self._db.owner

        def write(db: Connection) -> RunStarted:
            first = _create(db, new, at, owner, more)
            for one, events in below:
                _create(db, one, at, owner, events)
            return first

        return await self._db.write(write)

    async def append(
        self, run: Run, at: float, events: Sequence[RunEvent], below: Sequence[NewRun] = ()
    ) -> list[RunStarted]:
        """Add events that ``run`` has already, in one transaction with its row in the list.

        And with the runs ``below`` that these events begin: returns their first events, with
        numbers. Raises RunInUse if this program has not claimed the run.
        """
        row = (run.state, sanitise_text(run.reason), run.tokens, run.dollars, at)
        run_id, owner = run.id, self._db.owner

        def write(db: Connection) -> list[RunStarted]:
            query = """UPDATE runs SET state = ?, reason = ?, tokens = ?, dollars = ?, updated = ?
                WHERE id = ? AND owner = ?"""
            if not db.execute(query, (*row, run_id, owner)).rowcount:
                raise RunInUse
            _insert(db, run_id, at, events)
            return [_create(db, one, at, owner) for one in below]

        return await self._db.write(write)

    async def events(self, run_id: str, after: int = 0) -> list[tuple[float, RunEvent]]:
        """The events of a run after the first ``after``, each with its time, in order.

        Raises StorageError if an event cannot be read: what a run did must not be guessed.
        """
        query = "SELECT at, body FROM run_events WHERE run_id = ? AND seq > ? ORDER BY seq"
        rows = await self._db.rows(query, run_id, after)
        try:
            return [(at, decode_run_event(json.loads(body))) for at, body in rows]
        except (ValueError, TypeError, RecursionError) as error:
            raise StorageError(f"The run {run_id[:8]} cannot be read: {error}.") from error

    async def of_call(self, session_id: str, call_id: str) -> Sequence[str]:
        """The ids of the runs that calls of a session with this id began, oldest first."""
        rows = await self._db.rows(
            """SELECT id FROM runs WHERE caller_kind = 'session' AND caller = ? AND ? = (
                SELECT json_extract(body, '$.call_id') FROM run_events
                WHERE run_id = runs.id AND seq = 1 AND json_valid(body)
            ) ORDER BY created, id""",
            session_id,
            call_id,
        )
        return [str(row[0]) for row in rows]

    async def text(self, digest: str) -> str:
        """The file that a run runs by; raises StorageError if it is not there."""
        rows = await self._db.rows("SELECT text FROM run_files WHERE digest = ?", digest)
        if not rows:
            raise StorageError("The workflow of this run is not stored.")
        return str(rows[0][0])

    async def kept(self, digests: Sequence[str]) -> dict[str, str]:
        """The texts of parts of a run that were kept, by their digests."""
        marks = ", ".join("?" * len(digests))
        query = f"SELECT digest, text FROM run_files WHERE digest IN ({marks})"
        return {str(one): str(text) for one, text in await self._db.rows(query, *digests)}

    async def contents_since(self, at: float) -> set[str]:
        """The digests of what steps changed on desks, in runs that changed since or have no end."""
        rows = await self._db.rows(
            """SELECT json_extract(file.value, '$.before'), json_extract(file.value, '$.after')
            FROM run_events e JOIN runs r ON r.id = e.run_id, json_each(
                CASE WHEN json_valid(body) THEN body ELSE '{}' END, '$.files'
            ) AS file
            WHERE json_extract(body, '$.event') = 'step_changed'
            AND (r.updated > ? OR r.state NOT IN ('done', 'failed', 'stopped'))""",
            at,
        )
        return {str(one) for row in rows for one in row if one}

    async def list(
        self,
        most: int = 50,
        start: str = "",
        source: str = "",
        trigger: Trigger | None = None,
        *,
        missions: bool = False,
    ) -> list[RunInfo]:
        """The runs whose id begins so, the one that changed last first.

        With ``source`` only those of this workflow's file, with ``trigger`` only those that this
        began, with ``missions`` no others. Runs that are a step of another one are found by their
        ids alone.
        """
        rows = await self._db.rows(
            f"""SELECT {_COLUMNS}, coalesce((
                SELECT json_extract(body, '$.trigger') FROM run_events
                WHERE run_id = runs.id AND seq = 1 AND json_valid(body)
            ), 'manual'), {_IS_MISSION}, owner FROM runs
            WHERE substr(id, 1, ?1) = ?2 AND (?3 = '' OR source = ?3)
            AND (?1 > 0 OR caller_kind <> 'run')
            AND (?5 = '' OR ?5 = coalesce((
                SELECT json_extract(body, '$.trigger') FROM run_events
                WHERE run_id = runs.id AND seq = 1 AND json_valid(body)
            ), 'manual')) AND (?6 = 0 OR {_IS_MISSION})
            ORDER BY updated DESC, id LIMIT ?4""",
            len(start),
            start,
            sanitise_text(source),
            most,
            trigger or "",
            missions,
        )
        living = await self._db.alive({str(owner) for *_, owner in rows} - {""})
        return [RunInfo(*cast("Any", row), live=owner in living) for *row, owner in rows]

    async def waiting(self) -> list[str]:
        """The ids of the runs that ask the person something, the one that changed last first.

        Other steps of them may go on. A run that is a step of another one is left out, since that
        run asks. So is one that a call of a chat began, as long as the call goes on, since the
        chat asks. A mission that paused by itself asks whether it shall go on (W-50). A run that
        has once reached a cap is among them while it is paused: it may wait for more (W-20).
        """
        persons = ", ".join("?" * len(PAUSED_BY_PERSON))
        rows = await self._db.rows(
            f"""SELECT id, CASE caller_kind WHEN 'session' THEN owner ELSE '' END FROM runs
            WHERE caller_kind <> 'run'
            AND (state IN ('needs_you', 'unsure') OR state = 'running' AND {_ASKS}
                OR state = 'paused' AND reason NOT IN ({persons})
                AND ({_IS_MISSION} OR {_WAS_AT_CAP}))
            ORDER BY updated DESC, id""",
            *PAUSED_BY_PERSON,
        )
        living = await self._db.alive({str(owner) for _, owner in rows} - {""})
        return [str(id) for id, owner in rows if owner not in living]

    async def claim(self, run_id: str) -> None:
        """Let this program alone carry out a run, until ``release``; raises RunInUse."""
        own = self._db.owner

        def write(db: Connection) -> None:
            row = db.execute("SELECT owner FROM runs WHERE id = ?", (run_id,)).fetchone()
            if row is None:
                raise StorageError(f"There is no run {run_id}.")
            if row[0] not in ("", own) and self._db.living({row[0]}):
                raise RunInUse
            if row[0] != own:  # what was asked of the program before is over with its claim
                query = "UPDATE runs SET owner = ?, stop_wanted = '' WHERE id = ?"
                db.execute(query, (own, run_id))

        await self._db.write(write)

    async def release(self, run_id: str) -> None:
        """Let other programs carry out a run that this one has claimed."""
        query = "UPDATE runs SET owner = '' WHERE id = ? AND owner = ?"
        await self._db.execute(query, run_id, self._db.owner)

    async def want_stop(self, run_id: str, reason: str) -> None:
        """Have the program that carries out a run stop it, within a second.

        An empty ``reason`` takes that back.
        """
        query = "UPDATE runs SET stop_wanted = ? WHERE id = ?"
        await self._db.execute(query, sanitise_text(reason), run_id)

    async def stop_wanted(self, run_id: str) -> str:
        """Why another program wants a run to stop; empty if none does."""
        rows = await self._db.rows("SELECT stop_wanted FROM runs WHERE id = ?", run_id)
        return str(rows[0][0]) if rows else ""

    async def wish(self, run_id: str, event: RunEvent) -> None:
        """Have the program that carries out a run record an event, within a second."""
        body = canonical_json(encode_event(event))
        query = "INSERT INTO run_wishes (run_id, body) VALUES (?, ?)"
        await self._db.execute(query, run_id, body)

    async def take_wishes(self, run_id: str) -> list[RunEvent]:
        """What other programs want of a run that this one carries out; each is told once."""
        query = "SELECT number, body FROM run_wishes WHERE run_id = ? ORDER BY number"
        rows = await self._db.rows(query, run_id)
        if not rows:
            return []
        last = rows[-1][0]
        query = "DELETE FROM run_wishes WHERE run_id = ? AND number <= ?"
        await self._db.execute(query, run_id, last)
        return [decode_run_event(json.loads(body)) for _, body in rows]

    async def join_group(self, run_id: str, group: str) -> None:
        """Let a run wait for those that have joined the group before it."""
        await self._db.execute(
            """UPDATE runs SET in_group = ?1,
            ticket = (SELECT max(ticket) + 1 FROM runs WHERE in_group IN ('', ?1))
            WHERE id = ?2""",
            sanitise_text(group),
            run_id,
        )

    async def leave_group(self, run_id: str) -> None:
        await self._db.execute("UPDATE runs SET in_group = '' WHERE id = ?", run_id)

    async def ahead_in_group(self, run_id: str) -> list[tuple[str, str]]:
        """The runs that this one waits for, each with its name and number.

        A run whose program has ended holds up no other.
        """
        rows = await self._db.rows(
            """SELECT o.id, o.name || ', run ' || o.number, o.owner FROM runs r JOIN runs o
            ON o.in_group = r.in_group AND o.ticket < r.ticket
            WHERE r.id = ? AND r.in_group <> '' ORDER BY o.ticket""",
            run_id,
        )
        living = await self._db.alive({str(owner) for *_, owner in rows} - {""})
        return [(str(id), str(name)) for id, name, owner in rows if owner in living]

    async def delete(self, run_id: str) -> None:
        """Delete a run, and the files that no other run has."""

        def write(db: Connection) -> None:
            db.execute("DELETE FROM runs WHERE id = ?", (run_id,))
            db.execute(
                """DELETE FROM run_files WHERE digest NOT IN (SELECT digest FROM runs)
                AND digest NOT IN (
                    SELECT part.atom FROM run_events, json_each(
                        CASE WHEN json_valid(body) THEN body ELSE '{}' END, '$.parts'
                    ) AS part WHERE seq = 1 AND part.atom IS NOT NULL)"""
            )

        await self._db.write(write)


def _create(
    db: Connection, new: NewRun, at: float, owner: str, more: Sequence[RunEvent] = ()
) -> RunStarted:
    query = "SELECT coalesce(max(number), 0) + 1 FROM runs WHERE name = ? AND source = ?"
    name, source = sanitise_text(new.started.name), sanitise_text(new.started.source)
    ((number,),) = db.execute(query, (name, source))
    first = replace(new.started, number=number)
    texts = [(first.digest, sanitise_text(new.text)), *((digest(one), one) for one in new.kept)]
    db.executemany("INSERT OR IGNORE INTO run_files VALUES (?, ?)", texts)
    caller = first.called_by
    values = (
        *(first.run_id, name, source, sanitise_text(first.folder), first.digest, number),
        *("running", "", 0, 0.0, at, at, owner),
        *(("run", first.parent) if first.parent else ("session" * bool(caller), caller)),
    )
    marks = ", ".join("?" * len(values))
    query = f"INSERT INTO runs ({_COLUMNS}, owner, caller_kind, caller) VALUES ({marks})"
    db.execute(query, values)
    _insert(db, first.run_id, at, [first, *more])
    return first


def _insert(db: Connection, run_id: str, at: float, events: Sequence[RunEvent]) -> None:
    query = "SELECT coalesce(max(seq), 0) FROM run_events WHERE run_id = ?"
    ((last,),) = db.execute(query, (run_id,))
    db.executemany(
        "INSERT INTO run_events VALUES (?, ?, ?, ?)",
        [
            (run_id, last + number, at, canonical_json(encode_event(event)))
            for number, event in enumerate(events, 1)
        ],
    )
