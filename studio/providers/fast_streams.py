"""Fast streams: reads from a connection no more often than is of use, and all that came at once.

Each piece of an answer passes through a dozen layers between the socket and the screen, which
costs more than the token in it. So a stream that is faster than a screen is read once a frame,
and what servers send as many chunks of HTTP/1.1, one a token, is handed on as one chunk. The
program's own transport does so by the figures here; for proxies the HTTP library's connections
do, which still read and check these. Imports it: import this in a thread.

A read of the library's own makes a scope of anyio for its time limit, which takes as long as all
else in it; here it is one of asyncio.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from typing import Any

import anyio
import httpcore2
import httpx2
from anyio.abc import ByteStream

GATHER = 0.019
"""Seconds between two reads of a fast stream; what comes meanwhile is read together."""
AT_ONCE = 0.25
"""Seconds from the first words, also after as long a silence, in which nothing is held: no first
word, no short answer comes later."""
SMALL = 1 << 14
"""Bytes; more at once is no token, and what follows is not held."""
_HEAD = 1 << 16
"""Bytes in which the head of an answer ends."""
_SUCCESS = b"HTTP/1.1 200 "
_FIRST_LINE = re.compile(rb"([0-9A-Fa-f]{1,6})\r\n")
_PART = re.compile(rb"[0-9A-Fa-f]{0,6}\r?")
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:[ \t]*chunked[ \t]*\r\n", re.IGNORECASE)


def gather_fast_streams(client: httpx2.AsyncClient) -> None:
    """Have all connections that a new client will make read in this way.

    A pool takes a backend, but httpx2 has no word for it, nor for the transports of proxies.
    """
    transports: Any = {client._transport, *client._mounts.values()}  # pyright: ignore[reportPrivateUsage]
    for transport in transports:
        if isinstance(transport, httpx2.AsyncHTTPTransport):  # the program's own does so itself
            pool: Any = transport._pool  # pyright: ignore[reportPrivateUsage]
            pool._network_backend = _Backend(pool._network_backend)


class _Backend(httpcore2.AsyncNetworkBackend):
    """Connects as another one does."""

    def __init__(self, inner: httpcore2.AsyncNetworkBackend) -> None:
        self._inner = inner

    async def connect_tcp(self, *arguments: Any, **options: Any) -> GatheredStream:
        return GatheredStream(await self._inner.connect_tcp(*arguments, **options))

    async def connect_unix_socket(self, *arguments: Any, **options: Any) -> GatheredStream:
        return GatheredStream(await self._inner.connect_unix_socket(*arguments, **options))

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


class GatheredStream(httpcore2.AsyncNetworkStream):
    """A connection of which a fast answer is read every ``GATHER`` seconds.

    It waits before it reads: what comes meanwhile gathers in the socket, which nobody looks at.
    """

    def __init__(self, inner: httpcore2.AsyncNetworkStream) -> None:
        self._inner = inner
        stream: object = getattr(inner, "_stream", None)
        self._bytes = stream if isinstance(stream, ByteStream) else None
        """What the library's stream reads."""
        self._begin()

    def _begin(self) -> None:
        self._began = self._last = 0.0
        self._chunks = ChunkMerger()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        loop = asyncio.get_running_loop()
        while True:
            now = loop.time()
            early = self._last + GATHER - now
            if early > 0 and now > self._began + AT_ONCE:
                await asyncio.sleep(early)
            data = await self._read(max_bytes, timeout)
            now = loop.time()
            if now > self._last + AT_ONCE:
                self._began = now
            self._last = now if len(data) < SMALL else 0.0
            if whole := self._chunks.merged(data):
                return whole
            if not data:
                return self._chunks.rest()

    async def _read(self, max_bytes: int, timeout: float | None) -> bytes:
        if self._bytes is None:
            return await self._inner.read(max_bytes, timeout)
        try:
            async with asyncio.timeout(timeout):
                return await self._bytes.receive(max_bytes)
        except anyio.EndOfStream:
            return b""
        except TimeoutError as error:
            raise httpcore2.ReadTimeout(error) from error
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise httpcore2.ReadError(error) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._begin()
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> GatheredStream:
        return GatheredStream(await self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class ChunkMerger:
    """The bytes of one answer, in which whole chunks of HTTP/1.1 that came together are one.

    What is not understood passes as it came, and so does all that follows it.
    """

    def __init__(self) -> None:
        self._head: bytes | None = b""
        """What came of the head; None once it has ended."""
        self._plain = False
        self._left = 0
        """Bytes to come of a chunk that was handed on in part."""
        self._held = b""
        """The beginning of a chunk's first line."""

    def rest(self) -> bytes:
        """What is still held when the connection ends."""
        rest, self._held = self._held, b""
        return rest

    def merged(self, data: bytes) -> bytes:
        """What can be handed on; nothing if less came than the first line of a chunk."""
        if self._head is None:
            return data if self._plain else self._body(data)
        before = len(self._head)
        self._head += data
        end = self._head.find(b"\r\n\r\n", max(0, before - 3)) + 4
        if end < 4 and len(self._head) < _HEAD:
            return data
        head, self._head = self._head[: max(0, end)], None
        self._plain = not head.startswith(_SUCCESS) or _CHUNKED.search(head) is None
        here = end - before
        return data if self._plain else data[:here] + self._body(data[here:])

    def _body(self, data: bytes) -> bytes:
        data, self._held = self._held + data, b""
        at = min(self._left, len(data))
        self._left -= at
        out, whole = data[:at], list[bytes]()
        while line := _FIRST_LINE.match(data, at):
            begin = line.end()
            end = begin + int(line[1], 16)
            if len(data) < end + 2:
                self._left = end + 2 - len(data)
                break
            if begin == end or data[end : end + 2] != b"\r\n":
                self._plain = True  # the last chunk, or none
                break
            whole.append(data[begin:end])
            at = end + 2
        if whole:
            words = b"".join(whole)
            out += b"%x\r\n%b\r\n" % (len(words), words)
        rest = data[at:]
        if line is None and _PART.fullmatch(rest):
            self._held, rest = rest, b""
        elif line is None:
            self._plain = True
        return out + rest
