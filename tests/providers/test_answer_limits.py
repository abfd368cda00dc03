"""What a server sends is unpacked in small pieces, and no more is read than is of use (H-5)."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator

import httpx2
import pytest

from studio.providers import answer_limits
from studio.providers.answer_limits import BODY, ERROR, limit_answer
from support.waiting import FOREVER, until

MEGABYTE = 1 << 20


class Sent(httpx2.AsyncByteStream):
    """A body in one packet."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.data


class Line(httpx2.AsyncByteStream):
    """A body that comes as it is written, as from a socket."""

    def __init__(self) -> None:
        self.waiting: asyncio.Queue[bytes] = asyncio.Queue()
        self.waits = 0
        """How often nothing was there when it was read."""
        self.left = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            while True:
                self.waits += self.waiting.empty()
                if not (data := await self.waiting.get()):
                    return
                yield data
        finally:
            self.left = True


async def answer(
    code: int, data: bytes | httpx2.AsyncByteStream, packed: str = ""
) -> httpx2.Response:
    headers = {"content-encoding": packed} if packed else {}
    stream = Sent(data) if isinstance(data, bytes) else data
    made = httpx2.Response(
        code, headers=headers, stream=stream, request=httpx2.Request("GET", "http://x/")
    )
    await limit_answer(made)
    return made


@pytest.mark.parametrize("packed", ["gzip", "deflate"])
async def test_a_packet_is_never_unpacked_at_once(packed: str) -> None:
    """A thousandth of it comes over the wire."""
    pack = gzip.compress if packed == "gzip" else zlib.compress
    got = await answer(200, pack(bytes(8 * MEGABYTE)), packed)
    pieces = [len(piece) async for piece in got.aiter_raw()]
    assert sum(pieces) == 8 * MEGABYTE and max(pieces) <= MEGABYTE


async def test_of_an_error_only_the_beginning_is_read() -> None:
    assert len(await (await answer(500, b"x" * 3 * MEGABYTE)).aread()) == ERROR
    assert len(await (await answer(500, gzip.compress(bytes(BODY)), "gzip")).aread()) == ERROR


async def test_a_longer_answer_is_none() -> None:
    with pytest.raises(httpx2.DecodingError, match="too long"):
        await (await answer(200, bytes(BODY + 1))).aread()
    assert len(await (await answer(200, bytes(BODY))).aread()) == BODY


async def test_first_words_and_short_answers_are_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is anything in the first moments, however fast it comes."""
    monkeypatch.setattr(answer_limits, "GATHER", FOREVER)
    monkeypatch.setattr(answer_limits, "AT_ONCE", FOREVER)
    line = Line()
    pieces = (await answer(200, line)).aiter_raw()
    for data in (b"one", b"two", b"three"):
        waiting = asyncio.ensure_future(anext(pieces))
        await asyncio.sleep(0)
        line.waiting.put_nowait(data)
        assert await waiting == data


async def test_pieces_of_a_fast_stream_come_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, and no more often than a screen shows them."""
    monkeypatch.setattr(answer_limits, "GATHER", 0.03)
    monkeypatch.setattr(answer_limits, "AT_ONCE", -1.0)
    line, loop = Line(), asyncio.get_running_loop()
    words = [b"%d " % number for number in range(200)]

    async def write() -> None:
        for data in [*words, b""]:
            line.waiting.put_nowait(data)
            await asyncio.sleep(0.001)

    writer = asyncio.create_task(write())
    began = loop.time()
    assert [data async for data in (await answer(200, line)).aiter_raw()] == words
    assert line.waits <= (loop.time() - began) / 0.03 + 2
    await writer


async def test_who_waits_for_a_held_piece_can_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_limits, "GATHER", FOREVER)
    monkeypatch.setattr(answer_limits, "AT_ONCE", -1.0)
    line = Line()
    found: list[bytes] = []

    async def read() -> None:
        async for data in (await answer(200, line)).aiter_raw():
            found.append(data)

    reader = asyncio.create_task(read())
    await asyncio.sleep(0)
    for data in (b"first", b"held"):
        line.waiting.put_nowait(data)
        await until(line.waiting.empty)
    await asyncio.sleep(0)
    assert found == [b"first"]
    reader.cancel()
    await asyncio.wait([reader])
    assert reader.cancelled() and line.left
