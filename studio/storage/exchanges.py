"""Exchange store: keeps what went to providers and came back, so that it can be replayed (W-27).

A request holds the whole conversation, so each is stored as what differs from the last one to the
same address: the bytes between a common beginning and a common end. Answers are compressed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from sqlite3 import Connection

from studio.domain.errors import StorageError
from studio.domain.exchanges import Exchange
from studio.domain.jsonvalue import JsonObject
from studio.domain.ledger import canonical_json
from studio.domain.records import dataclass

from .database import Database

log = logging.getLogger(__name__)

HIDDEN = "[key]"
"""In place of a key that a provider or a person repeated."""
SOON = 0.1
"""Seconds that an exchange waits for others, to be written with them."""
_PIECE = 16_384
_LEVEL = 3
"""Of packing: a third of the time of the usual one, for some 10 % more bytes."""
_SHORTEST_KEY = 16
"""Characters; shorter ones are words such as ``lm-studio`` that local servers take for a key."""


@dataclass(frozen=True, slots=True)
class StoredExchange:
    """An exchange of one turn of a session.

    ``chain`` is the digest of the history that was sent, see ``studio.domain.ledger``; ``setting``
    has the options of the request. ``at`` is in seconds since the epoch.
    """

    number: int
    turn_id: str
    at: float
    chain: str
    setting: JsonObject
    exchange: Exchange


class ExchangeRecorder:
    """Keeps the exchanges of one session as they happen, see ``ExchangeStore``.

    Its methods are called on the event loop, and leave all work to threads. An exchange that
    cannot be written is lost, and nothing else: the conversation does not depend on it.
    """

    def __init__(self, store: ExchangeStore, session_id: str, *, new: bool) -> None:
        self._store = store
        self._last = _Sent(session_id, _Last(0, {}) if new else None)
        self._turn_id = self._chain = ""
        self._setting: Callable[[], JsonObject] = dict

    def begin(self, turn_id: str, chain: str, setting: Callable[[], JsonObject]) -> None:
        """Say what the exchanges from now on belong to; ``setting`` is called in a thread."""
        if turn_id != self._turn_id != "":  # another program may have written meanwhile
            self._last = _Sent(self._last.session_id)
        self._turn_id, self._chain, self._setting = turn_id, chain, setting

    def take(self, exchange: Exchange, keys: Sequence[str]) -> None:
        """Keep an exchange, without the keys that it was sent with."""
        where = (self._turn_id, self._chain, self._setting)
        self._store.take(self._last, _Taken(exchange, tuple(keys), time.time(), *where))

    async def settled(self) -> None:
        """Return when all that was taken is stored, or lost."""
        await self._store.settled()


@dataclass(slots=True)
class _Sent:
    """What a turn sent last; ``last`` is read when the first exchange of it is written."""

    session_id: str
    last: _Last | None = None


@dataclass(frozen=True, slots=True)
class _Last:
    """The number of a session's last exchange, and the last request to each address."""

    number: int
    bodies: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class _Taken:
    exchange: Exchange
    keys: tuple[str, ...]
    at: float
    turn_id: str
    chain: str
    setting: Callable[[], JsonObject]

    def packed(self, before: bytes) -> tuple[_Row, bytes]:
        """The row, as it differs from the request before, and the request's body."""
        exchange = replace(
            self.exchange,
            request=_hide(self.exchange.request, self.keys),
            body=_hide(self.exchange.body, self.keys),
        )
        body = exchange.request
        head, tail = shared(before, body)
        middle = zlib.compress(body[head : len(body) - tail], _LEVEL)
        row = _Row(
            (self.turn_id, self.at, self.chain, exchange.digest, exchange.method, exchange.url),
            (head, tail, middle),
            (
                exchange.status,
                json.dumps(exchange.headers),
                zlib.compress(exchange.body, _LEVEL),
                exchange.end,
                canonical_json(self.setting()),
            ),
            body,
        )
        return row, body


@dataclass(frozen=True, slots=True)
class _Row:
    sent: tuple[object, ...]
    difference: tuple[int, int, bytes]
    came: tuple[object, ...]
    whole: bytes
    """The request for itself, for where the one before it is not there any more."""


def shared(before: bytes, after: bytes) -> tuple[int, int]:
    """How many bytes both begin with, and how many of the others both end with."""
    most = min(len(before), len(after))
    head = _longest(most, lambda start, end: before[start:end] == after[start:end])

    def same_end(start: int, end: int) -> bool:
        ends = (text[len(text) - end : len(text) - start] for text in (before, after))
        return next(ends) == next(ends)

    return head, _longest(most - head, same_end)


def _longest(most: int, same: Callable[[int, int], bool]) -> int:
    """The longest length up to which all is the same: by pieces, then within the first other."""
    least = 0
    while least + _PIECE <= most and same(least, least + _PIECE):
        least += _PIECE
    most = min(most, least + _PIECE)
    while least < most:
        middle = (least + most + 1) // 2
        if same(least, middle):
            least = middle
        else:
            most = middle - 1
    return least


def _hide(text: bytes, keys: Sequence[str]) -> bytes:
    for key in keys:
        if len(key) >= _SHORTEST_KEY:
            text = text.replace(key.encode(), HIDDEN.encode())
    return text


def _insert(db: Connection, session_id: str, before: int, row: _Row) -> bool:
    """Add a row; whether it came after number ``before``. A session that is gone gets none."""
    if not db.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone():
        return False
    query = "SELECT max(number) FROM exchanges WHERE session_id = ?"
    ((last,),) = db.execute(query, (session_id,))
    fits = (last or 0) == before
    difference = row.difference if fits else (0, 0, zlib.compress(row.whole))
    values = (session_id, (last or 0) + 1, *row.sent, *difference, *row.came)
    db.execute(f"INSERT INTO exchanges VALUES ({', '.join('?' * len(values))})", values)
    return fits


def _requests(db: Connection, session_id: str) -> Iterator[tuple[int, str, bytes]]:
    """The number, address and body of each request of a session."""
    rows = db.execute(
        """SELECT number, url, head, tail, request FROM exchanges
        WHERE session_id = ? ORDER BY number""",
        (session_id,),
    )
    bodies: dict[str, bytes] = {}
    for number, url, head, tail, middle in rows:
        before = bodies.get(url, b"")
        body = before[:head] + zlib.decompress(middle) + before[len(before) - tail :]
        bodies[url] = body
        yield number, url, body


def _last_requests(db: Connection, session_id: str) -> _Last:
    last = _Last(0, {})
    for number, url, body in _requests(db, session_id):
        last = _Last(number, last.bodies | {url: body})
    return last


class ExchangeStore:
    """The exchanges in a database. Every coroutine but ``settled`` raises StorageError.

    Recorded exchanges are written a moment later, those of all sessions together: nothing that
    a person or a client waits for is behind them.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._waiting: list[tuple[_Sent, _Taken]] = []
        self._writing: asyncio.Future[None] | None = None
        self._wanted = asyncio.Event()
        self.pause: Callable[[], Awaitable[object]] = self._soon
        """Awaited before each write; what is taken meanwhile is in it."""

    def recorder(self, session_id: str, *, new: bool = False) -> ExchangeRecorder:
        """Keeps the exchanges of a session; a ``new`` one has none so far."""
        return ExchangeRecorder(self, session_id, new=new)

    def take(self, sent: _Sent, taken: _Taken) -> None:
        """Write an exchange soon."""
        self._waiting.append((sent, taken))
        if self._writing is None:
            self._writing = asyncio.ensure_future(self._write())

    async def settled(self) -> None:
        """Return when all that was taken is stored, or lost."""
        while self._writing is not None:
            self._wanted.set()
            await asyncio.wait([self._writing])

    async def _soon(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(SOON):
                await self._wanted.wait()

    async def _write(self) -> None:
        try:
            while self._waiting:
                await self.pause()
                batch, self._waiting = self._waiting, []
                await asyncio.to_thread(self._store, batch)
        finally:
            self._writing = None
            self._wanted.clear()

    def _store(self, batch: Sequence[tuple[_Sent, _Taken]]) -> None:
        """Write exchanges in their order and in one transaction, in a thread of the caller's."""
        rows: list[tuple[_Sent, int, _Row]] = []
        try:
            for sent, taken in batch:
                last = sent.last or self._last_of(sent.session_id)
                row, body = taken.packed(last.bodies.get(taken.exchange.url, b""))
                rows.append((sent, last.number, row))
                sent.last = _Last(last.number + 1, {**last.bodies, taken.exchange.url: body})
            kept = self._db.submit(
                lambda db: [_insert(db, sent.session_id, last, row) for sent, last, row in rows]
            )
            alone = kept.result()
        except Exception:
            log.exception("exchanges were not recorded")
            alone = [False] * len(batch)
        for (sent, _), fits in zip(batch, alone, strict=True):
            if not fits:
                sent.last = None

    def _last_of(self, session_id: str) -> _Last:
        return self._db.read_here(lambda db: _last_requests(db, session_id))

    async def of(self, session_id: str) -> list[StoredExchange]:
        """The exchanges of a session in their order."""
        await self.settled()

        def read(db: Connection) -> list[StoredExchange]:
            rows = db.execute(
                """SELECT turn_id, at, chain, method, url, status, headers, body, ending, setting
                FROM exchanges WHERE session_id = ? ORDER BY number""",
                (session_id,),
            ).fetchall()
            found: list[StoredExchange] = []
            for (number, _, request), row in zip(_requests(db, session_id), rows, strict=True):
                turn_id, at, chain, method, url, status, headers, body, end, setting = row
                exchange = Exchange(
                    method,
                    url,
                    request,
                    status,
                    tuple((name, value) for name, value in json.loads(headers)),
                    zlib.decompress(body),
                    end,
                )
                found.append(
                    StoredExchange(number, turn_id, at, chain, json.loads(setting), exchange)
                )
            return found

        try:
            return await self._db.read(read)
        except (ValueError, TypeError, zlib.error) as error:
            raise StorageError(f"What was recorded of this chat is damaged: {error}.") from error

    async def add(self, session_id: str, stored: Sequence[StoredExchange]) -> None:
        """Write exchanges that were recorded elsewhere."""
        recorder = self.recorder(session_id)
        for one in stored:
            recorder.begin(one.turn_id, one.chain, lambda setting=one.setting: setting)
            recorder.take(one.exchange, ())
        await recorder.settled()

    async def size(self) -> int:
        """Bytes that the exchanges of all sessions take."""
        await self.settled()
        return sum(size for _, size in await self._sizes())

    async def _sizes(self) -> list[tuple[str, int]]:
        """The sessions with exchanges, those that were used longest ago first."""
        rows = await self._db.rows(
            """SELECT session_id, sum(length(request) + length(body)) FROM exchanges
            GROUP BY session_id ORDER BY max(at), session_id"""
        )
        return [(str(session_id), int(size)) for session_id, size in rows]

    async def delete(self, session_id: str) -> None:
        await self.settled()
        await self._db.execute("DELETE FROM exchanges WHERE session_id = ?", session_id)

    async def purge(self, before: float, most: int) -> None:
        """Delete what is older than ``before``, then whole sessions until ``most`` bytes are left.

        Of these the one that was used longest ago goes first.
        """
        await self.settled()
        old = await self._db.rows("SELECT DISTINCT session_id FROM exchanges WHERE at < ?", before)
        for (session_id,) in old:
            await self._db.write(lambda db, one=session_id: _delete_before(db, one, before))
        sizes = await self._sizes()
        excess = sum(size for _, size in sizes) - most
        for session_id, size in sizes:
            if excess <= 0:
                break
            await self.delete(session_id)
            excess -= size


def _delete_before(db: Connection, session_id: str, before: float) -> None:
    """Delete a session's older exchanges; what stays needs none of them."""
    query = "SELECT coalesce(min(number), 1 << 62) FROM exchanges WHERE session_id = ? AND at >= ?"
    ((first,),) = db.execute(query, (session_id, before))
    whole: dict[str, tuple[int, bytes]] = {}
    for number, url, body in _requests(db, session_id):
        if number >= first:
            whole.setdefault(url, (number, zlib.compress(body)))
    for number, body in whole.values():
        db.execute(
            """UPDATE exchanges SET head = 0, tail = 0, request = ?
            WHERE session_id = ? AND number = ?""",
            (body, session_id, number),
        )
    db.execute("DELETE FROM exchanges WHERE session_id = ? AND number < ?", (session_id, first))
