"""How many requests at a time a provider takes, found by itself (W-56)."""

from __future__ import annotations

import heapq
import random

import pytest

from studio.agent.parallelism import FIRST, STEP, Lane
from studio.domain.items import ItemTally
from studio.workflows.items.estimate import estimate


class Provider:
    """A provider with a hidden limit, in a time of its own."""

    def __init__(self, limit: int, *, asks: float = 0.0) -> None:
        self.limit, self.asks, self.now = limit, asks, 0.0
        self.lane = Lane(lambda: self.now)
        self.sent = self.refused = self.answered = self.early = self.open = 0
        self.used = 0.0
        self._ends: list[tuple[float, int, bool, int]] = []

    async def answer(self, many: int) -> None:
        """Let the lane send until so many requests were answered."""
        chance = random.Random(7)
        while self.answered < many:
            if not self._ends:
                self.now = max(self.now, self.lane.until)
            while self.lane.until <= self.now and self.lane.busy < self.lane.limit:
                place = await self.lane.take()
                self.sent += 1
                takes = self.open < self.limit
                self.open += takes
                ends = self.now + (chance.uniform(0.5, 1.5) if takes else 0.05)
                heapq.heappush(self._ends, (ends, self.sent, takes, place))
            ends, _, taken, place = heapq.heappop(self._ends)
            self.used += self.open * (ends - self.now)
            self.now = ends
            if taken:
                self.open -= 1
                self.answered += 1
                self.lane.answered(place)
            else:
                self.refused += 1
                self.lane.refused(place, self.asks or None)


@pytest.mark.parametrize("limit", [5, 22, 40])
async def test_w56_a_hidden_limit_is_found_used_and_rarely_met(limit: int) -> None:
    provider = Provider(limit)
    await provider.answer(12_000)
    assert provider.used / (limit * provider.now) >= 0.85
    assert provider.refused / provider.sent <= 0.02
    assert provider.lane.found == limit


async def test_w56_from_four_one_more_after_twenty_and_half_after_a_refusal() -> None:
    lane = Lane(lambda: 0.0)
    assert lane.limit == FIRST == 4
    for _ in range(STEP):
        lane.answered(await lane.take())
    assert lane.limit == 5
    places = [await lane.take() for _ in range(5)]
    lane.refused(places[0])
    lane.refused(places[1])  # sent before it was halved: it says nothing new
    assert lane.limit == 2 and lane.found == 4 and lane.busy == 3


async def test_w56_a_wait_that_the_server_asks_for_is_waited_for_by_all() -> None:
    provider = Provider(4, asks=30.0)
    await provider.answer(STEP * 2)
    assert provider.refused == 1
    assert provider.now > 30.0
    assert provider.lane.until <= provider.now


@pytest.mark.parametrize("most", [6, 40, 256])
async def test_w55_the_estimate_of_time_counts_that_there_are_more_at_a_time(most: int) -> None:
    """The sample ends with 5 at a time; ten thousand items are not worked on 5 at a time."""
    provider = Provider(1_000)
    provider.lane = Lane(lambda: provider.now, most)
    await provider.answer(20)
    began, costs, seconds = provider.now, [0.01] * 20, [1.0] * 20
    found = estimate(ItemTally(10_020, 20), costs, seconds, provider.lane, most)
    await provider.answer(10_020)
    assert found.seconds == pytest.approx(provider.now - began, rel=0.2)


async def test_w55_a_limit_that_was_found_bounds_the_estimate() -> None:
    provider = Provider(22)
    await provider.answer(12_000)
    began, seconds = provider.now, provider.lane.seconds_for(5_000, 1.0)
    await provider.answer(17_000)
    assert seconds == pytest.approx(provider.now - began, rel=0.2)
