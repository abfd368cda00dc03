"""Answer limits: unpacks what a server sends piece by piece, and reads no more than is of use.

The SDKs read whole bodies, of errors too, so the limits hold below them. A fast stream is read
no more often than a screen can show it. Imports the HTTP library: import this in a thread.
"""

from __future__ import annotations

import asyncio
import math
import zlib
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import cast

import httpx2

ENCODINGS = "gzip, deflate"
"""What is asked for: no more is unpacked here."""
ERROR = 1 << 20
"""Bytes of an error's body that are read; the rest is left out."""
BODY = 16 << 20
"""Bytes of an answer to GET, unpacked; a longer one is no answer."""
STREAM = 256 << 20
"""Bytes of any other answer, unpacked. 128,000 tokens, each in an event of its own, take 50 MB."""
_PIECE = 1 << 18
GATHER = 0.018
"""Seconds between two reads of a fast stream; what comes meanwhile is read together."""
AT_ONCE = 0.25
"""Seconds from the first piece of an answer in which nothing is held: no first word, no short
answer comes later."""
_SMALL = 1 << 14
"""Bytes; a larger piece is no token, and not held."""


async def limit_answer(response: httpx2.Response) -> None:
    """A hook of the client for each response: its body is unpacked and counted as it is read."""
    packed = response.headers.pop("content-encoding", "")
    failed = not response.is_success
    most = ERROR if failed else BODY if response.request.method == "GET" else STREAM
    stream = response.stream
    assert isinstance(stream, httpx2.AsyncByteStream)
    response.stream = _Limited(stream, packed.strip().lower(), most, cut=failed)


class _Limited(httpx2.AsyncByteStream):
    """A body of at most ``most`` bytes; a longer or damaged one is ``cut``, or DecodingError."""

    def __init__(
        self, stream: httpx2.AsyncByteStream, packed: str, most: int, *, cut: bool
    ) -> None:
        self._stream = stream
        self._packed = packed
        self._most = most
        self._cut = cut

    async def __aiter__(self) -> AsyncIterator[bytes]:
        room = self._most
        raw = cast("AsyncGenerator[bytes, None]", aiter(self._stream))
        try:
            async with (
                aclosing(raw),
                aclosing(_gathered(raw)) as fewer,
                aclosing(_unpacked(fewer, self._packed)) as pieces,
            ):
                async for piece in pieces:
                    yield piece[:room]
                    room -= len(piece)
                    if room < 0:
                        raise httpx2.DecodingError("the answer is too long")
        except httpx2.DecodingError:
            if not self._cut:
                raise

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _gathered(raw: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The same pieces, those of a fast stream together, ``GATHER`` seconds apart.

    Each time that something comes it passes through all layers between the socket and the screen,
    which costs more than a token. A piece that was waited for is held until it is time; the ones
    after it gather in the socket, which nobody reads meanwhile, and are then there at once.
    """
    loop = asyncio.get_running_loop()
    began, last = 0.0, -math.inf
    waited = False

    def wait() -> None:
        nonlocal waited
        waited = True

    while True:
        waited = False
        turn = loop.call_soon(wait)  # runs if the next piece is not there yet
        try:
            data = await anext(raw, None)
        finally:
            turn.cancel()
        if data is None:
            return
        if waited:
            now = loop.time()
            began = began or now
            early = last + GATHER - now
            if early > 0 and now > began + AT_ONCE and len(data) < _SMALL:
                await asyncio.sleep(early)
            last = loop.time()
        yield data


async def _unpacked(raw: AsyncGenerator[bytes, None], packed: str) -> AsyncGenerator[bytes, None]:
    """The body in pieces of a bounded size, however well it is packed; raises DecodingError."""
    if packed in ("", "identity"):
        async for data in raw:
            yield data
        return
    if packed not in ("gzip", "x-gzip", "deflate"):
        raise httpx2.DecodingError("packed in a way that was not asked for")
    unpacker = None
    async for data in raw:
        if unpacker is None and data:
            # Some servers leave out the header of ``deflate``.
            bare = packed == "deflate" and data[0] & 0x0F != 8
            unpacker = zlib.decompressobj(-zlib.MAX_WBITS if bare else zlib.MAX_WBITS | 32)
        while unpacker is not None and data and not unpacker.eof:
            try:
                piece = unpacker.decompress(data, _PIECE)
            except zlib.error as error:
                raise httpx2.DecodingError("damaged") from error
            data = unpacker.unconsumed_tail
            if piece:
                yield piece
            if data:
                await asyncio.sleep(0)  # one packet may unpack to a thousand times its size
