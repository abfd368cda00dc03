"""Waiting for one future (L-11)."""

from __future__ import annotations

import asyncio

import pytest

from studio.domain.aio import ended


async def test_l11_who_waits_can_be_cancelled_and_what_they_wait_for_goes_on() -> None:
    going = asyncio.get_running_loop().create_future()
    waiting = asyncio.create_task(ended(going))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not going.done()
    again = asyncio.create_task(ended(going))
    await asyncio.sleep(0)
    going.set_exception(OSError("it failed"))
    await again  # however it ended
    await ended(going)
    assert isinstance(going.exception(), OSError)
