"""Run items: saves the items of a step that are too many for events of its run (W-53).

The items of one step are a queue. An item's result, what it cost and its row in the usage become
true in one transaction. One that was worked on when the program ended has no result, and is
pending. Items that an earlier run did by the same words, with the same model, are linked.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from sqlite3 import Connection
from typing import Any, Literal, TypeAlias

from studio.domain.items import Item, ItemResult, ItemTally
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.ledger import canonical_json
from studio.domain.models import Usage
from studio.domain.records import dataclass

from .database import Database
from .sessions import usage
from .sessions.search import sanitise_text

CHUNK = 5_000
"""Items of one transaction."""
Shown: TypeAlias = Literal["all", "done", "failed"]


@dataclass(frozen=True, slots=True)
class ItemQueue:
    """The items of one step of a run."""

    id: int
    run_id: str
    step: str
    count: int
    linked: int


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One row of the results. ``ended`` is in seconds since the epoch, 0 before."""

    place: int
    value: Json
    state: str
    text: str
    outputs: Json
    reason: str
    fault: str
    tokens: int
    dollars: float | None
    seconds: float
    ended: float
    session_id: str
    linked: str


@dataclass(frozen=True, slots=True)
class BatchJob:
    """A batch at a provider. ``key`` is ours and on the disk before it is sent.

    ``remote`` is the provider's name for it, empty until its answer was stored. ``began`` is when
    it was sent first, in seconds since the epoch.
    """

    key: str
    provider: str
    model: str
    remote: str
    count: int
    began: float


class ItemStore:
    """The items of steps in a database. Every coroutine raises StorageError."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def fill(
        self, run_id: str, step: str, base: str, values: Iterable[tuple[Json, str]]
    ) -> ItemQueue:
        """Queue the items of a step, read in a thread as they come.

        With each item comes what else tells whether it is the same as before. ``base`` is a digest
        of all that makes a result beside the item. A queue that is not whole, because the program
        ended meanwhile, is filled anew.
        """
        queue = await self._db.write(lambda db: _new_queue(db, run_id, step, base))
        numbered = _numbered(values)
        count = 0
        while rows := await asyncio.to_thread(lambda: list(islice(numbered, CHUNK))):
            await self._db.write(partial(_add, queue=queue, rows=rows))
            count += len(rows)
        linked = await self._db.write(lambda db: _whole(db, queue, run_id, base, count))
        return ItemQueue(queue, run_id, step, count, linked)

    async def queue(self, run_id: str, step: str) -> ItemQueue | None:
        """The whole queue of a step; None if it has none."""
        rows = await self._db.rows(
            """SELECT id, run_id, step, count, linked FROM item_queues
            WHERE run_id = ? AND step = ? AND count > 0""",
            run_id,
            step,
        )
        return ItemQueue(*rows[0]) if rows else None

    async def drop(self, run_id: str, step: str) -> None:
        """Forget the items of a step: it is done again, or they are few."""
        query = "DELETE FROM item_queues WHERE run_id = ? AND step = ?"
        await self._db.execute(query, run_id, step)

    async def tally(self, queue: ItemQueue) -> ItemTally:
        """How many items are in which state, and what all tries used."""
        rows = await self._db.rows(
            """SELECT count(*), total(state = 'done'), total(state = 'failed'),
            total(linked <> ''), total(state = 'sent'), total(tokens), total(dollars),
            total(state = 'skipped')
            FROM run_items WHERE queue = ?""",
            queue.id,
        )
        count, done, failed, linked, sent, tokens, dollars, skipped = rows[0]
        whole = (int(done), int(failed), int(linked), int(sent), int(tokens))
        return ItemTally(int(count), *whole, float(dollars), skipped=int(skipped))

    async def pending(self, queue: ItemQueue, after: int, most: int) -> list[Item]:
        """The next items that are to be done, in their order."""
        rows = await self._db.rows(
            """SELECT place, key, value, state, session_id FROM run_items
            WHERE queue = ? AND state = 'pending' AND place > ? ORDER BY place LIMIT ?""",
            queue.id,
            after,
            most,
        )
        return [_item(row) for row in rows]

    async def spread(self, queue: ItemQueue, most: int) -> list[Item]:
        """Some of the pending items, evenly from the whole list; first those that were begun."""

        def read(db: Connection) -> list[tuple[Any, ...]]:
            query = """SELECT place, session_id <> '' FROM run_items
            WHERE queue = ? AND state = 'pending'"""
            found = db.execute(query, (queue.id,)).fetchall()
            some = [place for place, begun in found if begun][:most]
            places, more = [place for place, begun in found if not begun], most - len(some)
            some += [places[number * len(places) // more] for number in range(more) if places]
            marks = ", ".join("?" * len(set(some)))
            return db.execute(
                f"""SELECT place, key, value, state, session_id FROM run_items
                WHERE queue = ? AND place IN ({marks}) ORDER BY place""",
                (queue.id, *dict.fromkeys(some)),
            ).fetchall()

        return [_item(row) for row in await self._db.read(read)]

    async def begin_session(self, queue: ItemQueue, place: int, session_id: str) -> None:
        """Note where an item is worked on, before anything happens there."""
        query = "UPDATE run_items SET session_id = ? WHERE queue = ? AND place = ?"
        await self._db.execute(query, session_id, queue.id, place)

    async def of_session(self, queue: ItemQueue, session_id: str) -> Item | None:
        """The item that is worked on in a session, if it is not over."""
        rows = await self._db.rows(
            """SELECT place, key, value, state, session_id FROM run_items
            WHERE queue = ? AND session_id = ? AND state = 'pending'""",
            queue.id,
            session_id,
        )
        return _item(rows[0]) if rows else None

    async def record(self, queue: ItemQueue, results: Sequence[ItemResult]) -> None:
        """Store results and what they used, all in one transaction."""
        at = time.time()

        def write(db: Connection) -> None:
            for one in results:
                _record(db, queue, one, at)

        await self._db.write(write)

    async def retry_failed(self, queue: ItemQueue) -> int:
        """Make failed items pending again; returns how many. What they used stays counted."""
        return await self._db.execute(
            """UPDATE run_items SET state = 'pending', reason = '', fault = '', session_id = ''
            WHERE queue = ? AND state = 'failed'""",
            queue.id,
        )

    async def failures(self, queue: ItemQueue) -> list[tuple[str, str, int]]:
        """The kinds of failures: fault, words and how many, most first."""
        rows = await self._db.rows(
            """SELECT fault, reason, count(*) FROM run_items
            WHERE queue = ? AND state = 'failed' GROUP BY fault, reason""",
            queue.id,
        )
        return sorted(((str(a), str(b), int(c)) for a, b, c in rows), key=lambda one: -one[2])

    async def rows(
        self,
        queue: ItemQueue,
        *,
        after: int = -1,
        most: int = CHUNK,
        shown: Shown = "all",
        words: str = "",
    ) -> list[ItemRow]:
        """Results in the order of the items; with ``words`` only those that have them."""
        rows = await self._db.rows(
            """SELECT place, value, state, text, outputs, reason, fault, tokens, dollars, seconds,
            ended, session_id, linked FROM run_items
            WHERE queue = ?1 AND place > ?2 AND (?3 = 'all' OR state = ?3)
            AND (?4 = '' OR instr(
                lower(value || text || coalesce(outputs, '') || reason), lower(?4)) > 0)
            ORDER BY place LIMIT ?5""",
            queue.id,
            after,
            shown,
            words,
            most,
        )
        return [_row(row) for row in rows]

    async def newest(
        self, queue: ItemQueue, most: int, shown: Shown = "all", words: str = "", fault: str = ""
    ) -> list[ItemRow]:
        """The results that came last, the last one first; see ``rows``, and those of a fault."""
        rows = await self._db.rows(
            """SELECT place, value, state, text, outputs, reason, fault, tokens, dollars, seconds,
            ended, session_id, linked FROM run_items
            WHERE queue = ?1 AND state IN ('done', 'failed', 'skipped')
            AND (?2 = 'all' OR state = ?2) AND (?3 = '' OR instr(
                lower(value || text || coalesce(outputs, '') || reason), lower(?3)) > 0)
            AND (?5 = '' OR fault = ?5)
            ORDER BY ended DESC, place LIMIT ?4""",
            queue.id,
            shown,
            words,
            most,
            fault,
        )
        return [_row(row) for row in rows]

    async def result_lists(self, queue: ItemQueue) -> JsonObject:
        """What expressions know of the items, each a list in the order of the items."""
        rows = await self._db.rows(
            "SELECT outputs, text, state, dollars FROM run_items WHERE queue = ? ORDER BY place",
            queue.id,
        )
        return await asyncio.to_thread(
            lambda: {
                "outputs": [None if made is None else json.loads(made) for made, *_ in rows],
                "text": [str(text) for _, text, *_ in rows],
                "state": [str(state) for *_, state, _ in rows],
                "cost": [dollars for *_, dollars in rows],
            }
        )

    # Batches of a provider

    async def begin_job(self, queue: ItemQueue, job: BatchJob, places: Sequence[int]) -> None:
        """Say on the disk that these items are sent as one batch, before they are."""

        def write(db: Connection) -> None:
            db.execute(
                "INSERT INTO batch_jobs VALUES (?, ?, ?, ?, '', ?, ?)",
                (job.key, queue.id, job.provider, job.model, job.count, job.began),
            )
            db.executemany(
                "UPDATE run_items SET state = 'sent', job = ? WHERE queue = ? AND place = ?",
                [(job.key, queue.id, place) for place in places],
            )

        await self._db.write(write)

    async def sent_job(self, key: str, remote: str) -> None:
        """A batch is at the provider, under this name."""
        await self._db.execute("UPDATE batch_jobs SET remote = ? WHERE key = ?", remote, key)

    async def end_job(self, key: str) -> None:
        """A batch is over, or was never sent: what has no result of it is pending again."""

        def write(db: Connection) -> None:
            db.execute("UPDATE run_items SET state = 'pending', job = '' WHERE job = ?1 AND "
                       "state = 'sent'", (key,))  # fmt: skip
            db.execute("DELETE FROM batch_jobs WHERE key = ?", (key,))

        await self._db.write(write)

    async def jobs(self, queue: ItemQueue) -> list[BatchJob]:
        """The batches of a step that are not over, the oldest first."""
        rows = await self._db.rows(
            """SELECT key, provider, model, remote, count, began FROM batch_jobs
            WHERE queue = ? ORDER BY began, key""",
            queue.id,
        )
        return [BatchJob(*row) for row in rows]

    async def of_job(self, key: str) -> list[Item]:
        """The items of a batch that have no result yet."""
        rows = await self._db.rows(
            """SELECT place, key, value, state, session_id FROM run_items
            WHERE job = ? AND state = 'sent' ORDER BY place""",
            key,
        )
        return [_item(row) for row in rows]

    async def other_remotes(self, key: str) -> set[str]:
        """The provider's names of all batches but this one."""
        rows = await self._db.rows("SELECT remote FROM batch_jobs WHERE key <> ?", key)
        return {str(name) for (name,) in rows} - {""}


def _numbered(values: Iterable[tuple[Json, str]]) -> Iterator[tuple[int, str, str]]:
    """Place, key and text of each; equal items are told apart by their order."""
    seen: dict[int, int] = {}
    for place, (value, more) in enumerate(values):
        text = canonical_json(value)
        key = hashlib.sha256(f"{text}{more}".encode("utf-8", "replace")).hexdigest()[:16]
        number = int(key, 16)
        seen[number] = count = seen.get(number, 0) + 1
        yield place, key if count == 1 else f"{key}-{count}", sanitise_text(text)


def _new_queue(db: Connection, run_id: str, step: str, base: str) -> int:
    db.execute("DELETE FROM item_queues WHERE run_id = ? AND step = ?", (run_id, step))
    query = "INSERT INTO item_queues (run_id, step, base) VALUES (?, ?, ?)"
    return int(db.execute(query, (run_id, step, base)).lastrowid or 0)


def _add(db: Connection, queue: int, rows: Sequence[tuple[int, str, str]]) -> None:
    query = "INSERT INTO run_items (queue, place, key, value) VALUES (?, ?, ?, ?)"
    db.executemany(query, [(queue, *row) for row in rows])


def _whole(db: Connection, queue: int, run_id: str, base: str, count: int) -> int:
    """Mark a queue as whole, and link what an earlier run did; returns how many that are."""
    earlier = db.execute(
        "SELECT id, run_id FROM item_queues WHERE base = ? AND id <> ? ORDER BY id", (base, queue)
    ).fetchall()
    for one, its_run in earlier:
        db.execute(
            """UPDATE run_items SET state = 'done', text = o.text, outputs = o.outputs,
            seconds = o.seconds, ended = o.ended, session_id = o.session_id,
            linked = CASE o.linked WHEN '' THEN ?3 ELSE o.linked END
            FROM (SELECT * FROM run_items WHERE queue = ?1 AND state = 'done') o
            WHERE run_items.queue = ?2 AND run_items.key = o.key""",
            (one, queue, its_run),
        )
    query = "SELECT count(*) FROM run_items WHERE queue = ? AND linked <> ''"
    ((linked,),) = db.execute(query, (queue,)) if earlier else ((0,),)
    query = "UPDATE item_queues SET count = ?, linked = ? WHERE id = ?"
    db.execute(query, (count, linked, queue))
    return int(linked)


def _record(db: Connection, queue: ItemQueue, one: ItemResult, at: float) -> None:
    outputs = None if one.outputs is None else canonical_json(one.outputs)
    state = "pending" if one.again else one.state
    db.execute(
        """UPDATE run_items SET state = :state, text = :text, outputs = :outputs,
        reason = :reason, fault = :fault, tokens = tokens + :tokens,
        dollars = dollars + :dollars, seconds = :seconds, ended = :at, job = '',
        session_id = iif(:again, '', session_id)
        WHERE queue = :queue AND place = :place""",
        {
            "state": state,
            "again": one.again,
            "text": sanitise_text(one.text),
            "outputs": outputs,
            "reason": sanitise_text(one.reason),
            "fault": one.fault,
            "tokens": one.tokens,
            "dollars": one.dollars,
            "seconds": one.seconds,
            "at": at,
            "queue": queue.id,
            "place": one.place,
        },
    )
    for used in one.uses:
        made_by = (used.agent, used.provider, used.model)
        counts = (used.input, used.cache_read, used.cache_write, used.output, used.reasoning)
        turn_id = f"{queue.run_id}:{queue.step}"
        more = (Usage(*counts), used.seconds, used.cost)
        usage.add(db, queue.run_id, turn_id, at, *made_by, *more)


def _item(row: tuple[Any, ...]) -> Item:
    place, key, value, state, session_id = row
    return Item(place, key, json.loads(value), state, session_id)


def _row(row: tuple[Any, ...]) -> ItemRow:
    place, value, state, text, outputs, *rest = row
    made = None if outputs is None else json.loads(outputs)
    return ItemRow(place, json.loads(value), state, text, made, *rest)
