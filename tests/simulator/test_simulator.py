"""The simulator's socket is closed, however its start and its end are cut short."""

from __future__ import annotations

import asyncio

import pytest

from studio.simulator import Simulator, Text, Turn
from support.left_open import left_open


@pytest.mark.parametrize("rounds", range(6))
def test_a_start_that_is_cancelled_closes_its_socket(rounds: int) -> None:
    async def work() -> None:
        simulator = Simulator([Turn(Text("Hi"))])
        start = asyncio.create_task(simulator.start())
        for _ in range(rounds):
            await asyncio.sleep(0)
        if start.done():
            await simulator.stop()
        start.cancel()
        await asyncio.wait([start])

    assert not left_open(lambda: asyncio.run(work()))


@pytest.mark.parametrize("rounds", range(1, 6))
def test_an_end_that_is_cancelled_closes_its_socket(rounds: int) -> None:
    async def work() -> None:
        simulator = Simulator([Turn(Text("Hi"))])
        await simulator.start()
        stop = asyncio.create_task(simulator.stop())
        for _ in range(rounds):
            await asyncio.sleep(0)
        stop.cancel()
        await asyncio.wait([stop])

    assert not left_open(lambda: asyncio.run(work()))
