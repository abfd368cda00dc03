"""Session journal: writes a session's events to the database in small batches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import field, replace
from functools import partial
from sqlite3 import Connection
from typing import TypeAlias

from studio.domain.aio import ended
from studio.domain.codec import encode_event, event_name
from studio.domain.errors import StorageError
from studio.domain.events import (
    Event,
    Notice,
    ReasoningDelta,
    Silent,
    TextDelta,
    ToolOutput,
    TurnComplete,
    TurnStarted,
)
from studio.domain.ledger import canonical_json
from studio.domain.records import dataclass
from studio.storage.database import Database

from .event_log import insert_event, insert_passages, insert_said, read_event
from .projections import update_projections
from .search import Indexer, Passage
from .session_lock import ExternalActivity, acquire_lock, release_lock
from .unspaced_index import index_due

FLUSH_AFTER = 0.2  # s; with the write itself below the promised 250 ms
RETRY_AFTER = 2.0  # s after a failed write

_Work: TypeAlias = Callable[[Connection], object]
"""What a transaction does beside writing events."""
_Job: TypeAlias = Callable[[Connection], "int | None"]
"""Writes a batch; returns the number of its last event, if it has one."""
_Written: TypeAlias = Callable[[int, "asyncio.Future[list[int | None]]"], None]
"""Hears what came of a transaction, and which of its batches this was."""


class _Deleted(StorageError):
    """The chat is not there any more."""


@dataclass(slots=True)
class _Entry:
    """A row to be written: an event, or several deltas joined."""

    event: Event
    at: float
    turn_id: str
    passages: list[Passage]
    more: list[str] = field(default_factory=list[str])
    then: list[_Work] = field(default_factory=list["_Work"])
    """Done when it is written, in the same transaction and before the next event."""

    def whole(self) -> Event:
        event = self.event
        if self.more and isinstance(event, TextDelta | ReasoningDelta | ToolOutput):
            return replace(event, text=event.text + "".join(self.more))
        return event


class Journal:
    """Takes a session's events as they happen and writes them in small batches.

    An event is on disk at most 250 ms after ``append``, or when ``flush``
    returns. After a write that fails the events stay here, the write is tried again, and
    ``flush`` raises while it fails.
    All methods are called on the event loop.
    """

    def __init__(self, db: Database, session_id: str, owner: str) -> None:
        self.session_id = session_id
        self.closed = False
        self.running = False
        """Whether a turn was started here and is not complete."""
        self.claimed = False
        """Whether this program has the session's lock, see ``claim``."""
        self.newest: int | None = None
        """The number of the newest event that is known here; None if none is known.

        -1 if another program has written between two writes of this one.
        """
        self._db = db
        self._owner = owner
        self._indexer = Indexer()
        self._turn_id = ""
        self._buffer: list[_Entry] = []
        self._appended = 0
        self._stored = 0
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Future[list[int | None]] | None = None
        self._first = True
        self._leaving = False
        self._held: tuple[_Work, ...] = ()
        self._locking: _Work | None = None
        """Locks a session that is not written yet, with its first write."""
        self._with: tuple[Journal, ...] = ()
        """All that are written in one transaction with this one until that worked."""

    def hold(self, work: _Work) -> None:
        """Do ``work`` with the next write, before the events, in the same transaction.

        For the row of a new session, so that one write begins it, locks it, and has what was
        said first. Nothing but ``flush`` and the like asks for a write because of it.
        """
        self._held = (*self._held, work)

    def follow(self, work: _Work) -> bool:
        """Do ``work`` with the next write, after the events so far; False if none of them waits.

        It is in the same transaction: whoever has these events on disk has the work done.
        """
        if self._buffer:
            self._buffer[-1].then.append(work)
        return bool(self._buffer)

    @property
    def unwritten(self) -> bool:
        """Whether nothing of a new session is on disk: nobody else can know it."""
        return bool(self._held)

    @property
    def settled(self) -> bool:
        """Whether everything appended so far is stored."""
        return self._stored == self._appended

    def append(self, event: Event) -> None:
        """Take one event; returns at once. Raises StorageError after ``close``."""
        if self.closed:
            raise StorageError("This chat is closed.")
        match event:
            case TurnStarted():
                self._turn_id, self.running = event.turn_id, True
            case TurnComplete():
                self.running = False
            case Silent():  # not stored
                return
            case _:
                pass
        self._appended += 1
        passages = self._indexer.feed(event)
        last = self._buffer[-1] if self._buffer else None
        if last is not None and not last.then and _joins(last.event, event):
            assert isinstance(event, TextDelta | ReasoningDelta | ToolOutput)
            last.more.append(event.text)
            last.passages += passages
        else:
            self._buffer.append(_Entry(event, time.time(), self._turn_id, passages))
        self._wake(FLUSH_AFTER)

    async def flush(self) -> None:
        """Return when everything appended so far is stored; raises StorageError if it is not."""
        target = self._appended
        while self._stored < target or self._leaving or self._held:
            if self._writing is None:
                self._write()
            assert self._writing is not None
            if self._writing.done():  # to await it would not let ``_written`` run
                await asyncio.sleep(0)
            else:
                writing = self._writing
                await ended(writing)
                writing.result()

    async def flush_with(self, work: _Work) -> None:
        """Flush, and do ``work`` after it in the same transaction; both or neither is stored."""
        await self.written_out()
        self._write(work)
        assert self._writing is not None
        await asyncio.shield(self._writing)

    @property
    def writes(self) -> bool:
        """Whether a write is under way."""
        return self._writing is not None

    async def written_out(self) -> None:
        """Return when no write is under way."""
        while self._writing is not None:
            await asyncio.wait([self._writing])
            await asyncio.sleep(0)  # lets ``_written`` run

    def write_with(self, others: Iterable[Journal]) -> None:
        """Write what waits here and in ``others`` now, in one transaction: all of it or nothing.

        No write of these is under way, see ``written_out``. After one that fails they are tried
        again together, whichever of them is written first.
        """
        named = (self, *others)
        every = tuple(dict.fromkeys(each for one in named for each in (one, *one._with)))
        for one in every:
            one._with = every
        self._write()

    async def claim(self) -> ExternalActivity:
        """Lock the session for this program, until ``release``; what other programs do with it.

        It is locked if they do nothing, in the same transaction. If the caller is cancelled,
        it may be locked. Raises StorageError.
        """
        await self.written_out()  # then ``newest`` is what is stored
        if self.closed:
            raise StorageError("This chat is closed.")
        self.claimed, self._leaving = True, False
        work = partial(acquire_lock, self.session_id, self._owner, self.newest, self._db.living)
        if self._held:
            self._locking = work
            return ExternalActivity(running=False, changed=False)
        found = await self._db.write(work)
        self.claimed = not (found.running or found.changed)
        return found

    def release(self) -> None:
        """Unlock the session once all that is appended so far is written."""
        if self.claimed:
            self.claimed, self._leaving = False, True
            self._wake(FLUSH_AFTER)

    async def close(self) -> None:
        """Flush and stop. Raises StorageError, and stays open, if that fails."""
        if not self.closed:
            self.release()
            while not self.settled or self._leaving or self._held:  # also what comes meanwhile
                await self.flush()
            self.discard()

    def discard(self) -> None:
        """Stop and forget what is not written: the session was deleted."""
        self.closed, self.running = True, False
        self.claimed = self._leaving = False
        self._buffer, self._held, self._locking = [], (), None
        self._stored = self._appended
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wake(self, after: float) -> None:
        if self._timer is None and self._writing is None and not self.closed:
            self._timer = asyncio.get_running_loop().call_later(after, self._write)

    def _write(self, work: _Work | None = None) -> None:
        every = self._with or (self,)
        found = [(one, one._take(work if one is self else None)) for one in every]
        taken = [(one, *made) for one, made in found if made is not None]
        if not taken:
            return
        jobs = [job for _, job, _ in taken]
        # A future, not a task: cancelling every task at the end must not stop it.
        writing = asyncio.wrap_future(self._db.submit(lambda db: [job(db) for job in jobs]))
        for at, (one, _, written) in enumerate(taken):
            one._writing = writing
            writing.add_done_callback(partial(written, at))

    def _take(self, work: _Work | None = None) -> tuple[_Job, _Written] | None:
        """Take what is to be written: what does it, and what hears that it is done."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._writing is not None or not (self._buffer or work or self._leaving or self._held):
            return None
        batch, upto, leaving = self._buffer, self._appended, self._leaving
        held, locking = self._held, self._locking
        # What is over before it is written was nobody else's to see, and is not locked at all.
        unlocking = leaving and locking is None
        if locking is not None and not leaving:
            held = (*held, locking)
        self._buffer, self._held, self._locking = [], (), None
        save = partial(store, self.session_id, self._owner, batch, recover=self._first)

        def job(db: Connection) -> int | None:
            for first in held:
                first(db)
            newest = save(db) if batch else None
            if work is not None:
                work(db)
            if unlocking:
                release_lock(self.session_id, self._owner, db)
            return newest

        return job, partial(self._written, held, batch, upto, leaving)

    def _written(
        self,
        held: tuple[_Work, ...],
        batch: list[_Entry],
        upto: int,
        leaving: bool,
        at: int,
        done: asyncio.Future[list[int | None]],
    ) -> None:
        self._writing = None
        error = done.exception()
        if self.closed:
            return
        if error is not None:
            self._held, self._buffer = held + self._held, batch + self._buffer
            if isinstance(error, _Deleted):  # one that is gone keeps no other from the disk
                self._with = ()
            self._wake(RETRY_AFTER)
            return
        self._with = ()
        self._first = self._first and not batch
        self._stored = upto
        if (last := done.result()[at]) is not None:
            alone = self.newest in (None, last - len(batch))
            self.newest = last if alone else -1
        if leaving:
            self._leaving = False
        if self._buffer or self._leaving:
            self._wake(FLUSH_AFTER)


def _joins(last: Event, event: Event) -> bool:
    match event:
        case TextDelta() | ReasoningDelta():
            return type(last) is type(event)
        case ToolOutput():
            return isinstance(last, ToolOutput) and last.call_id == event.call_id
        case _:
            return False


def store(
    session_id: str, owner: str, batch: list[_Entry], db: Connection, *, recover: bool
) -> int:
    """Write a batch with everything derived from it (in the writer's transaction).

    Returns the number of its last event.
    """
    if not db.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone():
        raise _Deleted("This chat was deleted, so its latest messages cannot be saved.")
    row = db.execute("SELECT max(seq) FROM transcript WHERE session_id = ?", (session_id,))
    seq: int = row.fetchone()[0] or 0
    if recover:
        _index_rest(db, session_id, seq)
    said: list[tuple[int, str, str]] = []
    for entry in batch:
        seq += 1
        event, body = _encoded(entry.whole())
        insert_event(db, session_id, seq, entry.turn_id, entry.at, body)
        update_projections(db, session_id, owner, entry.turn_id, entry.at, event)
        said += [(seq, *passage) for passage in entry.passages]
        for work in entry.then:
            work(db)
    insert_said(db, session_id, said)
    index_due(db)
    return seq


def _encoded(event: Event) -> tuple[Event, str]:
    """An event and its JSON; a notice in place of an event that cannot be encoded."""
    try:
        return event, canonical_json(encode_event(event))
    except (RecursionError, TypeError, ValueError):
        lost = Notice(f"A part of this chat could not be saved ({event_name(type(event))}).")
        return lost, canonical_json(encode_event(lost))


def _index_rest(db: Connection, session_id: str, last: int) -> None:
    """Index a block that was unfinished when the program ended."""
    rows = db.execute(
        """SELECT body FROM transcript WHERE session_id = ?1 AND seq >
        (SELECT coalesce(max(seq), 0) FROM said WHERE session_id = ?1) ORDER BY seq""",
        (session_id,),
    )
    indexer = Indexer()
    for (body,) in rows.fetchall():
        event = read_event(body)
        if event is not None:
            insert_passages(db, session_id, last, indexer.feed(event))
    insert_passages(db, session_id, last, indexer.finish())
