"""Parallelism: finds how many requests a provider takes at a time for a model (W-56).

It begins with 4, has one more after 20 answers, and half as many after a refusal (429, 529). Where
a refusal was, it stops one below, and tries one more only after many answers: a limit that was
found is used and rarely met again. What a server asks to wait is waited for by all.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

FIRST = 4
STEP = 20
"""Answers after which there is one more at a time."""
PROBE = 5
"""So many times ``STEP`` answers for each at a time, until one more than was found is tried."""
MOST = 256
"""At a time, whatever the provider takes."""


class Lane:
    """The requests to one model of one provider. ``clock`` is ``time.monotonic``."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, most: int = MOST) -> None:
        self.limit = FIRST
        self.found = 0
        """How many at a time the provider seems to take; 0 while it has refused none."""
        self.busy = 0
        self.until = 0.0
        """When the wait is over that the server asked for, by ``clock``."""
        self._clock = clock
        self._most = most
        self._answers = 0
        self.cuts = 0
        """How often it was halved: a request from before the last time says nothing new."""
        self._freed = asyncio.Event()

    async def take(self, most: int = MOST) -> int:
        """Wait for a place, of at most ``most``; returns what ``answered`` or ``refused`` takes."""
        while True:
            self._freed.clear()
            wait = self.until - self._clock()
            if wait <= 0 and self.busy < min(self.limit, most):
                self.busy += 1
                return self.cuts
            try:
                async with asyncio.timeout(wait if wait > 0 else None):
                    await self._freed.wait()
            except TimeoutError:
                continue

    def answered(self, place: int) -> None:
        """A request was answered."""
        self._leave()
        if place != self.cuts:
            return
        self._answers += 1
        held = self.found and self.limit >= self.found
        if self._answers >= (STEP * PROBE * self.limit if held else STEP):
            self._answers = 0
            if self.limit < self._most:
                self.limit += 1
                if self.found and self.limit > self.found + 1:
                    self.found = self.limit - 1  # the one that was tried was taken

    def seconds_for(self, count: int, each: float, most: int = MOST) -> float:
        """How long so many answers take, of ``each`` seconds, if no more than now is refused.

        There are more and more at a time meanwhile, up to ``most`` or what was found.
        """
        limit, seconds = max(min(self.limit, most), 1), 0.0
        top = min(self.found or self._most, most)
        while count > STEP and limit < top:
            seconds += each * STEP / limit
            count, limit = count - STEP, limit + 1
        return seconds + each * max(count / limit, 1.0 if count else 0.0)

    def refused(self, place: int, wait: float | None = None) -> None:
        """A request was refused because there were too many; ``wait`` is what the server asks."""
        self._leave()
        if wait:
            self.wait(wait)
        if place != self.cuts:
            return
        self.cuts += 1
        self._answers = 0
        self.found = max(self.limit - 1, 1)
        self.limit = max(self.limit // 2, 1)

    def wait(self, seconds: float) -> None:
        """Let nothing begin for so long."""
        self.until = max(self.until, self._clock() + seconds)

    def left(self) -> None:
        """A request ended that says nothing about the limit."""
        self._leave()

    def back(self) -> None:
        """A request goes on that had left: for a while there may be one too many."""
        self.busy += 1

    def _leave(self) -> None:
        self.busy -= 1
        self._freed.set()


class Parallelism:
    """The lanes of one program, by provider and model."""

    def __init__(self) -> None:
        self._lanes: dict[tuple[str, str], Lane] = {}

    def lane(self, provider: str, model: str) -> Lane:
        return self._lanes.setdefault((provider, model), Lane())
