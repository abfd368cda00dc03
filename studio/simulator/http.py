"""HTTP/1.1 on loopback: reads requests, and writes responses in pieces, over asyncio streams.

An ``Exchange`` records one request and its answer; a ``Chunking`` says where a body is split
into writes.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import socket
import struct
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import accumulate
from typing import Any, Literal, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

from .json_read import Body, obj
from .request_view import ApiName
from .script import Pace

HEAD_LIMIT = 1 << 20


class BadRequest(Exception):
    """What came is not HTTP that this server reads."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request; header names are lower case."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    def json(self) -> Body:
        """The body as a JSON object; ValueError if it is none."""
        value: Any = json.loads(self.body or b"{}")
        if not isinstance(value, dict):
            raise ValueError("the body is not a JSON object")
        return obj(value)


@dataclass(slots=True)
class Frame:
    """One event of a body: its bytes, and how many tokens it stands for.

    ``pause`` is how long nothing comes before it, in seconds.
    """

    data: bytes
    tokens: float = 0.0
    pause: float = 0.0


@dataclass(slots=True)
class HttpResponse:
    """A response: a body in frames, and what happens where it ends."""

    frames: list[Frame]
    content_type: str = "application/json"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])
    ending: str = "clean"
    """``clean``, ``cut``, ``reset``, ``stall``, or ``silence`` (a stall before the headers)."""
    pause: float = 0.0
    """How long nothing comes before the headers, in seconds."""
    rate: float = 0.0
    """Bytes a second; 0 is no limit."""


async def read_request(reader: asyncio.StreamReader, first: bytes) -> HttpRequest:
    """The next request, whose first byte was read already. BadRequest, or EOF errors."""
    try:
        head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.LimitOverrunError as error:
        raise BadRequest("the head is too long") from error
    line, *rest = head.split("\r\n")
    try:
        method, target, _ = line.split(" ")
    except ValueError as error:
        raise BadRequest(f"not a request line: {line[:80]!r}") from error
    headers: dict[str, str] = {}
    for row in rest:
        name, _, value = row.partition(":")
        headers[name.strip().lower()] = value.strip()
    length = headers.get("content-length") or "0"
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = await _read_chunks(reader)
    elif length.isdecimal():
        body = await reader.readexactly(int(length))
    else:
        raise BadRequest(f"not a length: {length[:80]!r}")
    url = urlsplit(target)
    return HttpRequest(method, unquote(url.path), dict(parse_qsl(url.query)), headers, body)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while True:
        row = await reader.readuntil(b"\r\n")
        try:
            size = int(row.split(b";")[0], 16)
        except ValueError:
            raise BadRequest(f"not a chunk's size: {row[:80]!r}") from None
        body += await reader.readexactly(size)
        await reader.readuntil(b"\r\n")
        if size == 0:
            return body


def head(answer: HttpResponse) -> bytes:
    """Status line and headers; the body follows in chunks."""
    try:
        phrase = HTTPStatus(answer.status).phrase
    except ValueError:
        phrase = "Overloaded"
    rows = [
        f"HTTP/1.1 {answer.status} {phrase}",
        f"content-type: {answer.content_type}",
        "transfer-encoding: chunked",
        *(f"{name}: {value}" for name, value in answer.headers.items()),
    ]
    return ("\r\n".join(rows) + "\r\n\r\n").encode("latin-1")


def chunk(data: bytes) -> bytes:
    """One piece of a body in HTTP's chunked form; the empty piece ends it."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def reset(writer: asyncio.StreamWriter) -> None:
    """Break the connection so that the peer sees a reset, not an end."""
    sock: socket.socket | None = writer.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@dataclass(frozen=True, slots=True)
class Violation:
    """A request that broke a rule, and the provider's words about it.

    ``rule`` is a kind of rules, ``name`` the one rule of its API's table.
    """

    rule: str
    message: str
    api: ApiName
    path: str
    name: str = ""


@dataclass(slots=True, eq=False)
class Exchange:
    """One request and its answer. Headers and query are kept without keys.

    ``sent`` counts the bytes of the body written so far. The events tell: the
    answer reached a ``stall`` fault; it was sent to its end or broken off;
    the client closed the connection.
    """

    number: int
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    api: ApiName
    json: Body = field(default_factory=dict[str, object])
    violation: Violation | None = None
    status: int = 0
    sent: int = 0
    stalled: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def over(self) -> bool:
        """Whether nothing more is sent."""
        return self.done.is_set() or self.gone.is_set()


Chunking: TypeAlias = Callable[[bytes, Sequence[int], random.Random], list[int]]
"""From a body, the offsets at which its events end, and a source of chance, to
the offsets of the cuts, ascending, the body's length last."""


def _whole(data: bytes, ends: Sequence[int], chance: random.Random) -> list[int]:
    return [len(data)]


def _event(data: bytes, ends: Sequence[int], chance: random.Random) -> list[int]:
    return list(ends)


def every(n: int) -> Chunking:
    """A write for every ``n`` bytes."""

    def cuts(data: bytes, ends: Sequence[int], chance: random.Random) -> list[int]:
        return [*range(n, len(data), n), len(data)]

    return cuts


def scattered(most: int, seed: int = 0) -> Chunking:
    """Writes of one to ``most`` bytes, by chance."""

    def cuts(data: bytes, ends: Sequence[int], chance: random.Random) -> list[int]:
        own = random.Random(seed)
        found: list[int] = []
        at = 0
        while (at := at + own.randint(1, most)) < len(data):
            found.append(at)
        return [*found, len(data)]

    return cuts


_PLACES = (
    re.compile(rb"[\xc2-\xf4](?=[\x80-\xbf])"),  # inside a UTF-8 sequence
    re.compile(rb"\\u[0-9a-f]{2}(?=[0-9a-f]{2})"),  # inside an escape
    re.compile(rb"\\(?=[nrt\"\\])"),
    re.compile(rb"\r(?=\n)"),
    re.compile(rb"\n(?=\r?\n)"),  # between the line ends that end an event
    re.compile(rb"^da(?=ta:)", re.M),
    re.compile(rb"[A-Za-z0-9+/_-]{30}(?=[A-Za-z0-9+/=_-]{10})"),  # inside a signature
)


def _adversarial(data: bytes, ends: Sequence[int], chance: random.Random) -> list[int]:
    cuts = {match.end() for place in _PLACES for match in place.finditer(data)}
    # Half of them only, so that some writes hold several events.
    kept = {cut for cut in sorted(cuts) if chance.random() < 0.5}
    return [*sorted(kept - {len(data)}), len(data)]


NAMED: dict[str, Chunking] = {"whole": _whole, "event": _event, "adversarial": _adversarial}
ChunkingName: TypeAlias = Literal["whole", "event", "adversarial"]


def chunking_named(wanted: ChunkingName | Chunking) -> Chunking:
    """A way of chunking by name, or the one given."""
    return NAMED[wanted] if isinstance(wanted, str) else wanted


Sleep = Callable[[float], Awaitable[None]]
_DRIPS = 20
"""Pieces a second of a body that comes slowly."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of one write; ``delay`` before it in seconds, part of it perhaps a stall."""

    data: bytes
    delay: float
    stalled: bool

    async def due(self, exchange: Exchange, sleep: Sleep) -> None:
        """Wait until it is to be written, and count it."""
        if self.stalled:
            exchange.stalled.set()
        if self.delay:
            await sleep(self.delay)
        exchange.sent += len(self.data)


def pieces(
    answer: HttpResponse, chunking: Chunking, chance: random.Random, pace: Pace | None
) -> Iterator[Piece]:
    """The writes that make up an answer's body."""
    frames = answer.frames
    data = b"".join(frame.data for frame in frames)
    ends = list(accumulate(len(frame.data) for frame in frames))
    starts = dict(zip([0, *ends], frames, strict=False))
    pauses = {start: frame.pause for start, frame in starts.items() if frame.pause}
    cuts = {*chunking(data, ends, chance), *pauses}
    step = max(1, int(answer.rate / _DRIPS))
    if answer.rate:
        cuts.update(range(step, len(data), step))
    begin = frame = 0
    for end in sorted(cuts - {0}):
        tokens = 0.0
        while frame < len(frames) and (ends[frame] <= end or pace is None):
            tokens += frames[frame].tokens
            frame += 1
        pause = pauses.get(begin, 0.0)
        delay = pause + (tokens / pace.tokens_per_s if pace else 0.0)
        if answer.rate:
            delay += (end - begin) / answer.rate
        yield Piece(data[begin:end], delay, pause > 0)
        begin = end


class Connection:
    """Serves one client until either side closes."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        chunking: Chunking,
        chance: random.Random,
        sleep: Sleep,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._chunking = chunking
        self._chance = chance
        self._sleep = sleep
        self._exchanges: list[Exchange] = []

    async def serve(
        self, answer: Callable[[HttpRequest], tuple[Exchange, HttpResponse, Pace | None]]
    ) -> None:
        """Answer requests one after the other."""
        first = asyncio.ensure_future(self._first())
        try:
            while byte := await first:
                request = await read_request(self._reader, byte)
                # The read that waits for the next request also notices a hang-up.
                first = asyncio.ensure_future(self._first())
                exchange, reply, pace = answer(request)
                self._exchanges.append(exchange)
                sending = asyncio.ensure_future(self._send(reply, exchange, pace))
                await self._until_sent(sending, first)
                exchange.done.set()
                if not sending.cancelled() and sending.exception() is not None:
                    break
                if sending.cancelled() or reply.ending in ("cut", "reset"):
                    break
        except (BadRequest, ConnectionError, EOFError):
            pass  # the client is gone
        finally:
            first.cancel()
            self._writer.close()
            await asyncio.wait({first})
            for exchange in self._exchanges:
                exchange.gone.set()

    async def _first(self) -> bytes:
        try:
            return await self._reader.read(1)
        except ConnectionError:
            return b""

    async def _until_sent(
        self, sending: asyncio.Future[None], first: asyncio.Future[bytes]
    ) -> None:
        try:
            await asyncio.wait({sending, first}, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done() and not first.result():
                sending.cancel()
            await asyncio.wait({sending})
        except asyncio.CancelledError:
            sending.cancel()
            await asyncio.wait({sending})
            raise

    async def _send(self, answer: HttpResponse, exchange: Exchange, pace: Pace | None) -> None:
        if answer.ending == "silence":
            await self._stall(exchange)
        if pace and pace.ttft:
            await self._sleep(pace.ttft)
        if answer.pause:
            exchange.stalled.set()
            await self._sleep(answer.pause)
        self._writer.write(head(answer))
        for piece in pieces(answer, self._chunking, self._chance, pace):
            await piece.due(exchange, self._sleep)
            self._writer.write(chunk(piece.data))
            await self._writer.drain()
            # Let a client in this process read, so that the pieces stay apart.
            await asyncio.sleep(0)
        match answer.ending:
            case "stall":
                await self._stall(exchange)
            case "reset":
                reset(self._writer)
            case "cut":
                pass
            case _:
                self._writer.write(chunk(b""))
                await self._writer.drain()

    async def _stall(self, exchange: Exchange) -> None:
        await self._writer.drain()
        exchange.stalled.set()
        await asyncio.Event().wait()  # ends when the client hangs up
