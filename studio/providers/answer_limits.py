"""Answer limits: unpacks what a server sends piece by piece, and reads no more than is of use.

The SDKs read whole bodies, of errors too, so the limits hold below them. Imports the HTTP
library: import this in a thread.
"""

from __future__ import annotations

import asyncio
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
FILE = 2 << 30
"""Bytes of the results of a batch, which are read line by line, and of a program."""
FILES = ("/results", "/content", ":download", ".whl")
"""How the paths of these end."""
_PIECE = 1 << 18
_PLAIN = ("", "identity")
"""What a body says that is not packed."""


async def limit_answer(response: httpx2.Response) -> None:
    """A hook of the client for each response: its body is unpacked and counted as it is read."""
    packed = response.headers.pop("content-encoding", "")
    failed = not response.is_success
    most = ERROR if failed else BODY if response.request.method == "GET" else STREAM
    if not failed and response.request.url.path.endswith(FILES):
        most = FILE
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
            pieces = raw if self._packed in _PLAIN else _unpacked(raw, self._packed)
            async with aclosing(raw), aclosing(pieces):
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


async def _unpacked(raw: AsyncGenerator[bytes, None], packed: str) -> AsyncGenerator[bytes, None]:
    """The body in pieces of a bounded size, however well it is packed; raises DecodingError."""
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
