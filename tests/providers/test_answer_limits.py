"""What a server sends is unpacked in small pieces, and no more is read than is of use (H-5)."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import AsyncIterator

import httpx2
import pytest

from studio.providers.answer_limits import BODY, ERROR, limit_answer

MEGABYTE = 1 << 20


class Sent(httpx2.AsyncByteStream):
    """A body in one packet."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.data


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
