"""Transport: sends the requests of the HTTP client over asyncio's own sockets, and keeps them open.

It stands below httpx2 in the place of httpcore2 and anyio, which take five times the CPU for a
short answer. It speaks HTTP/1.1 to a server directly; a proxy takes httpx2's own transport.
Imports the HTTP library: import this in a thread.
"""

from __future__ import annotations

import asyncio
import re
import select
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from typing import cast

import httpx2

from .http_answer import AnswerParser

MAX_REQUESTS = 100
"""Requests at once; others wait."""
MAX_IDLE = 20
"""Connections that are kept for the next request."""
IDLE_SECONDS = 30.0
"""Seconds for which one is kept."""
ANOTHER_ADDRESS = 0.25
"""Seconds after which the next address of a host is tried beside the first."""
GATHER = 0.019
"""Seconds between two reads of a stream that is faster than a screen. Each piece of an answer
passes through a dozen layers, so what comes meanwhile is read together."""
AT_ONCE = 0.25
"""Seconds from the first words, also after as long a silence, in which nothing is held: no first
word, no short answer comes later."""
SMALL = 1 << 14
"""Bytes; more at once is no token, and what follows is not held."""

_NAME = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(rb"[^\x00-\x08\x0a-\x1f\x7f]*")
_Address = tuple[str, str, int]
"""Scheme, host and port."""


class Transport(httpx2.AsyncBaseTransport):
    """Belongs to one event loop. ``verify`` makes what says which servers are trusted over TLS, in
    a thread with the first such connection: to read certificates takes longer than a request.

    Without it there is no TLS. Unless it ``keeps`` connections, each request has its own.
    """

    def __init__(self, verify: Callable[[], ssl.SSLContext] | None, *, keeps: bool = True) -> None:
        self._verify = verify
        self._context: ssl.SSLContext | None = None
        self._reading = asyncio.Lock()
        self._keeps = keeps
        self._room = asyncio.Semaphore(MAX_REQUESTS)
        self._idle: dict[_Connection, _Address] = {}
        """The connections that nobody uses; the one used last comes last."""
        self._busy: set[_Connection] = set()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        times = cast("Mapping[str, float | None]", request.extensions.get("timeout", {}))
        head = _head(request)
        url = request.url
        if url.scheme not in (("http",) if self._verify is None else ("http", "https")):
            raise httpx2.UnsupportedProtocol(f"There is no way to ask {url.scheme!r} addresses.")
        port = url.port or (443 if url.scheme == "https" else 80)
        address = (url.scheme, url.raw_host.decode("ascii"), port)
        await self._enter(times.get("pool"))
        connection = None
        try:
            connection = self._known(address) or await self._connect(address, times.get("connect"))
            self._busy.add(connection)
            connection.begin(request.method, times.get("read"))
            await _send(connection, head, request, times.get("write"))
            answer = await connection.head()
        except BaseException:
            self._leave(connection)
            raise
        extensions = {"http_version": b"HTTP/1.1", "reason_phrase": answer.reason}
        body = _Body(self, connection, address)
        return httpx2.Response(
            answer.status, headers=answer.headers, stream=body, extensions=extensions
        )

    async def aclose(self) -> None:
        """Close every connection, also those in use."""
        for connection in (*self._idle, *self._busy):
            connection.abort()
        self._idle.clear()
        await asyncio.sleep(0)  # lets the loop close the sockets

    def release(self, connection: _Connection, address: _Address) -> None:
        """Keep a connection whose answer was read whole, and close any other."""
        if not (self._keeps and connection.reusable):
            self._leave(connection)
            return
        self._busy.discard(connection)
        self._room.release()
        connection.rest()
        self._idle[connection] = address
        if len(self._idle) > MAX_IDLE:
            oldest = next(iter(self._idle))
            del self._idle[oldest]
            oldest.abort()

    async def _enter(self, seconds: float | None) -> None:
        """Wait until there is room for one more request; raises PoolTimeout."""
        if not self._room.locked():
            await self._room.acquire()
            return
        try:
            async with asyncio.timeout(seconds):
                await self._room.acquire()
        except TimeoutError as error:
            raise httpx2.PoolTimeout("Too many requests are under way.") from error

    def _leave(self, connection: _Connection | None) -> None:
        if connection is not None:
            self._busy.discard(connection)
            connection.abort()
        self._room.release()

    def _known(self, address: _Address) -> _Connection | None:
        """An open connection to an address, the one that was used last."""
        for connection in reversed(tuple(self._idle)):
            if connection.stale:
                del self._idle[connection]
                connection.abort()
            elif self._idle[connection] == address:
                del self._idle[connection]
                return connection
        return None

    async def _connect(self, address: _Address, seconds: float | None) -> _Connection:
        scheme, host, port = address
        loop = asyncio.get_running_loop()
        secure = scheme == "https"
        try:
            async with asyncio.timeout(seconds):
                _, connection = await loop.create_connection(
                    lambda: _Connection(loop),
                    host,
                    port,
                    ssl=await self._trusted() if secure else None,
                    server_hostname=host if secure else None,
                    happy_eyeballs_delay=None if _is_near(host) else ANOTHER_ADDRESS,
                )
        except TimeoutError as error:
            raise httpx2.ConnectTimeout(str(error)) from error
        except (OSError, ValueError) as error:  # UnicodeError: a host that is no name
            raise httpx2.ConnectError(str(error)) from error
        return connection

    async def _trusted(self) -> ssl.SSLContext:
        async with self._reading:
            if self._context is None:
                assert self._verify is not None
                self._context = await asyncio.to_thread(self._verify)
                self._context.set_alpn_protocols(["http/1.1"])
            return self._context


class _Body(httpx2.AsyncByteStream):
    """The body of an answer, as it comes."""

    def __init__(self, transport: Transport, connection: _Connection, address: _Address) -> None:
        self._transport: Transport | None = transport
        self._connection = connection
        self._address = address

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            while self._transport is not None and (piece := await self._connection.read()):
                yield piece
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.release(self._connection, self._address)


class _Connection(asyncio.Protocol):
    """One connection: a request goes out, its answer is parsed and waits to be read."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.closed = False
        self._loop = loop
        self._transport: asyncio.Transport
        self._answer: AnswerParser | None = None
        self._pieces: list[bytes] = []
        self._fault: httpx2.TransportError | None = None
        self._reader: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._paused = False
        """Whether the socket is left alone until what came is read."""
        self._full = False
        self._seconds: float | None = None
        """How long each read may wait."""
        self._until = 0.0
        self._timer: asyncio.TimerHandle | None = None
        """Runs at ``_until`` or before; kept from read to read of one answer: a new one is dear."""
        self._since = 0.0
        self._began = self._last = 0.0
        """When the words began, and when something came last."""
        self._came = 0
        """Bytes that came last."""

    # What the transport does

    def begin(self, method: str, seconds: float | None) -> None:
        """Expect the answer to a request; each read of it may take so long."""
        self._answer, self._seconds = AnswerParser(method), seconds
        self._began = self._last = 0.0

    def write(self, data: bytes) -> None:
        if not self.closed:  # a server may answer before it has read all, and hang up
            self._transport.write(data)

    async def written(self, seconds: float | None) -> None:
        """Return when there is room for more; raises WriteTimeout."""
        if not self._full or self.closed:
            return
        self._writable = self._loop.create_future()
        try:
            async with asyncio.timeout(seconds):
                await self._writable
        except TimeoutError as error:
            raise httpx2.WriteTimeout("") from error
        finally:
            self._writable = None

    async def head(self) -> AnswerParser:
        """The answer, once its head is there."""
        answer = self._answer
        assert answer is not None
        while not answer.status:
            await self._more()
        return answer

    async def read(self) -> bytes:
        """What came of the body since the last call; nothing at its end."""
        answer = self._answer
        assert answer is not None
        while not self._pieces and not answer.complete:
            await self._more()
        pieces, self._pieces = self._pieces, []
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    @property
    def reusable(self) -> bool:
        answer = self._answer
        return not self.closed and answer is not None and answer.complete and answer.keeps

    def rest(self) -> None:
        """Nobody uses it for now."""
        self._answer, self._since = None, self._loop.time()
        self._pieces.clear()
        self._end_timer()
        self._resume()  # to see that the server hangs up

    @property
    def stale(self) -> bool:
        """Whether it has rested for too long, or the server has hung up.

        The event loop may not have seen that yet, and a request would be lost.
        """
        if self.closed or self._loop.time() - self._since > IDLE_SECONDS:
            return True
        return _readable(self._transport.get_extra_info("socket"))

    def abort(self) -> None:
        self._end_timer()
        if not self.closed:
            self._transport.abort()
            self._end(httpx2.ReadError("The connection was closed here."))

    # What the socket does

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        answer, self._came = self._answer, len(data)
        if answer is None or answer.complete:  # nobody asked
            self.abort()
            return
        try:
            piece = answer.feed(data)
        except httpx2.RemoteProtocolError as error:
            self._transport.abort()
            self._end(error)
            return
        if piece:
            self._pieces.append(piece)
        if not answer.complete and self._pieces:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        fault: httpx2.TransportError | None = None
        answer = self._answer
        if exc is not None:
            fault = httpx2.ReadError(str(exc))
            fault.__cause__ = exc
        elif answer is not None and not answer.complete:
            try:
                answer.end()
            except httpx2.RemoteProtocolError as error:
                fault = error
        self._end(fault)

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)

    async def _more(self) -> None:
        """Return when something has come; raises ReadTimeout, or what ended the connection."""
        if self._fault is not None:
            raise self._fault
        self._reader = self._loop.create_future()
        now, again = self._loop.time(), self._last + GATHER
        if now < again and now > self._began + AT_ONCE and self._paused:
            self._loop.call_at(again, self._resume)  # what comes meanwhile gathers in the socket
        else:
            self._resume()
        if self._seconds is not None:
            self._until = now + self._seconds
            if self._timer is None:
                self._timer = self._loop.call_at(self._until, self._look)
        try:
            await self._reader
        finally:
            self._reader = None
        now = self._loop.time()
        if now > self._last + AT_ONCE:
            self._began = now
        self._last = now if self._came < SMALL else 0.0

    def _end_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        if self._reader is None or self._reader.done():
            return
        if self._loop.time() < self._until:
            self._timer = self._loop.call_at(self._until, self._look)
        else:
            self._reader.set_exception(httpx2.ReadTimeout(""))

    def _resume(self) -> None:
        if self._paused:
            self._paused = False
            self._transport.resume_reading()

    def _end(self, fault: httpx2.TransportError | None) -> None:
        self.closed = True
        self._fault = self._fault or fault or httpx2.ReadError("")
        self.resume_writing()
        self._wake()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)


def _is_near(host: str) -> bool:
    """Whether a host has one address, or is this computer: then nothing is tried side by side.

    Python 3.11 leaves a socket open where it is cancelled while it tries several.
    """
    return host == "localhost" or ":" in host or host.replace(".", "").isdigit()


def _readable(one: socket.socket) -> bool:
    if not hasattr(select, "poll"):  # Windows
        return bool(select.select([one], [], [], 0)[0])
    looking = select.poll()
    looking.register(one, select.POLLIN)
    return bool(looking.poll(0))


def _head(request: httpx2.Request) -> bytes:
    """The line and the headers of a request; raises LocalProtocolError, and quotes no key."""
    lines = [request.method.encode("ascii") + b" " + request.url.raw_path + b" HTTP/1.1\r\n"]
    for name, value in request.headers.raw:
        if not (_NAME.fullmatch(name) and _VALUE.fullmatch(value)):
            raise httpx2.LocalProtocolError("A header has characters that may not be in one.")
        lines.append(name + b": " + value + b"\r\n")
    return b"".join((*lines, b"\r\n"))


async def _send(
    connection: _Connection, head: bytes, request: httpx2.Request, seconds: float | None
) -> None:
    """Send a request, its body with its head where it is there already."""
    try:
        connection.write(head + request.content)
    except httpx2.RequestNotRead:
        connection.write(head)
        chunked = "transfer-encoding" in request.headers
        async for piece in cast("httpx2.AsyncByteStream", request.stream):
            if piece:
                connection.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
                await connection.written(seconds)
        if chunked:
            connection.write(b"0\r\n\r\n")
    await connection.written(seconds)
