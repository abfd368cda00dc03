"""A fast stream is read once a frame, and what came at once as one piece (H-5)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import cast

import h11
import httpx2
import pytest

from studio.providers import fast_streams
from studio.providers.fast_streams import ChunkMerger
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
    monkeypatch.setattr(fast_streams, "GATHER", 0.03)
    monkeypatch.setattr(fast_streams, "AT_ONCE", -1.0)
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
    monkeypatch.setattr(fast_streams, "GATHER", FOREVER)
    monkeypatch.setattr(fast_streams, "AT_ONCE", FOREVER)
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
    monkeypatch.setattr(fast_streams, "GATHER", FOREVER)
    monkeypatch.setattr(fast_streams, "AT_ONCE", -1.0)

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


def heard(pieces: list[bytes]) -> tuple[bytes, str]:
    """What an HTTP library reads from these, and whether it is whole or broken."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("host", "x")]))
    connection.send(h11.EndOfMessage())
    body = b""
    for piece in [*pieces, b""]:
        if piece or piece is pieces[-1]:
            connection.receive_data(piece)
        try:
            while (event := connection.next_event()) is not h11.NEED_DATA:
                if isinstance(event, h11.Data):
                    body += bytes(event.data)
                elif isinstance(event, h11.EndOfMessage):
                    return body, "whole"
                elif event is h11.PAUSED or isinstance(event, h11.ConnectionClosed):
                    return body, "closed"
        except h11.RemoteProtocolError:
            return body, "broken"
    return body, "more"


CHUNKS = b"".join(chunk(b"%d" % n * (n % 40)) for n in range(1, 80) if n % 40)
BODIES = {
    "whole": HEAD + CHUNKS + chunk(b"x" * 70_000) + CHUNKS + b"0\r\n\r\n",
    "trailer": HEAD + CHUNKS + b"0\r\nX-Sum: 1\r\n\r\n",
    "extension": HEAD + CHUNKS + b"4;a=b\r\nword\r\n" + CHUNKS + b"0\r\n\r\n",
    "zeros": HEAD + CHUNKS + b"0004\r\nword\r\n" + CHUNKS + b"000\r\n\r\n",
    "no end of line": HEAD + CHUNKS + b"4\r\nwordXX" + CHUNKS,
    "no number": HEAD + CHUNKS + b"zz\r\nword\r\n" + CHUNKS,
    "long number": HEAD + CHUNKS + b"00000000004\r\nword\r\n" + CHUNKS + b"0\r\n\r\n",
    "cut off": HEAD + CHUNKS + b"1",
    "of a known length": b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n4\r\nwor\r\n0\r\n\r",
    "informed first": b"HTTP/1.1 103 Early Hints\r\n\r\n" + HEAD + CHUNKS + b"0\r\n\r\n",
}


@pytest.mark.parametrize("name", BODIES)
def test_the_http_library_reads_the_same_wherever_it_was_cut(name: str) -> None:
    sent, chance = BODIES[name], random.Random(name)
    wanted = heard([sent])
    for most in (1, 7, 300, 65_536):
        merger, got, at = ChunkMerger(), list[bytes](), 0
        while at < len(sent):
            size = chance.randint(1, most)
            got.append(merger.merged(sent[at : at + size]))
            at += size
        got.append(merger.rest())
        assert heard([piece for piece in got if piece]) == wanted, most


def test_what_came_together_is_one_piece() -> None:
    merger = ChunkMerger()
    merger.merged(HEAD)
    assert merger.merged(chunk(b"one ") + chunk(b"two ") + b"1") == chunk(b"one two ")
    assert merger.merged(b"0\r\nsixteen") == b"10\r\nsixteen"
