"""A fast stream is read once a frame, and what came at once as one piece (H-5)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import cast

import httpx2
import pytest

from studio.providers import transport
from studio.providers.http import Http
from support.waiting import FOREVER, HANG

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
Write = Callable[[bytes], Awaitable[None]]


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


@asynccontextmanager
async def served(
    answer: Callable[[Write], Awaitable[None]],
) -> AsyncIterator[tuple[str, list[int]]]:
    """A server that gives one answer after the other; its URL, and the requests a connection."""
    connections: list[int] = []
    served: list[asyncio.Task[None]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.append(cast("asyncio.Task[None]", asyncio.current_task()))
        connections.append(0)
        here = len(connections) - 1

        async def write(data: bytes) -> None:
            writer.write(data)
            await writer.drain()

        while (await reader.readline()).strip():
            while (await reader.readline()).strip():
                pass
            connections[here] += 1
            await answer(write)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/", connections
    finally:
        server.close()
        await asyncio.gather(*served)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[httpx2.Response]:
    """An answer, through the client that all adapters have."""
    http = Http()
    try:
        client = await http.client()
        async with client.stream("GET", url) as response:
            yield response
    finally:
        await http.aclose()


async def test_pieces_of_a_fast_stream_come_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, no more often than a screen shows them; the connection is used again."""
    monkeypatch.setattr(transport, "GATHER", 0.03)
    monkeypatch.setattr(transport, "AT_ONCE", -1.0)
    words = [b"%d " % number for number in range(200)]

    async def answer(write: Write) -> None:
        await write(HEAD)
        for word in words:
            await write(chunk(word))
            await asyncio.sleep(0.001)
        await write(b"0\r\n\r\n")

    loop, http = asyncio.get_running_loop(), Http()
    async with served(answer) as (url, connections):
        client = await http.client()
        for _ in range(2):
            began = loop.time()
            async with client.stream("GET", url) as response:
                pieces = [piece async for piece in response.aiter_raw()]
            assert b"".join(pieces) == b"".join(words)
            assert len(pieces) <= 2 * ((loop.time() - began) / 0.03 + 2) < len(words)
        assert connections == [2]
        await http.aclose()


async def test_first_words_and_short_answers_are_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is anything in the first moments, however fast it comes."""
    monkeypatch.setattr(transport, "GATHER", FOREVER)
    monkeypatch.setattr(transport, "AT_ONCE", FOREVER)
    wanted = asyncio.Semaphore(0)

    async def answer(write: Write) -> None:
        await write(HEAD)
        for word in (b"one", b"two", b"three"):
            await wanted.acquire()
            await write(chunk(word))
        await write(b"0\r\n\r\n")

    async with served(answer) as (url, _), opened(url) as response:
        pieces = response.aiter_raw()
        for word in (b"one", b"two", b"three"):
            wanted.release()
            assert await asyncio.wait_for(anext(pieces), HANG) == word


async def test_who_waits_for_a_held_piece_can_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "GATHER", FOREVER)
    monkeypatch.setattr(transport, "AT_ONCE", -1.0)

    async def answer(write: Write) -> None:
        await write(HEAD + chunk(b"first"))
        await write(chunk(b"held"))
        await left.wait()

    found: list[bytes] = []
    first, left = asyncio.Event(), asyncio.Event()

    async def read(url: str) -> None:
        async with opened(url) as response:
            async for data in response.aiter_raw():
                found.append(data)
                first.set()

    async with served(answer) as (url, _):
        reader = asyncio.create_task(read(url))
        await asyncio.wait_for(first.wait(), HANG)
        reader.cancel()
        await asyncio.wait([reader], timeout=HANG)
        left.set()
        assert reader.cancelled() and found[0].startswith(b"first")
