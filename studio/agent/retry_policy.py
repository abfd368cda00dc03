"""The retry policy: decides whether and when a failed request is sent again (L-12)."""

from __future__ import annotations

import random
from collections.abc import Callable

from studio.domain.errors import RETRYABLE, ProviderError
from studio.domain.records import dataclass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """All times in seconds.

    ``attempts`` counts the first one too. The wait before an attempt is drawn
    between 0 and ``base`` doubled with each failure, at most ``cap`` (full
    jitter). A wait that the server asks for is honoured up to ``longest``: what
    it asks beyond that ends the turn, and the person decides. ``silence`` is
    how long nothing may come before the person is told, ``limit`` how long
    before the request counts as lost.
    """

    attempts: int = 5
    base: float = 1.0
    cap: float = 30.0
    longest: float = 120.0
    silence: float = 60.0
    limit: float = 300.0

    def wait(
        self, error: ProviderError, failed: int, chance: Callable[[], float] = random.random
    ) -> float | None:
        """The wait after ``failed`` attempts that came to nothing; None to give up."""
        if error.fault not in RETRYABLE or failed >= self.attempts:
            return None
        drawn = chance() * min(self.cap, self.base * 2.0 ** (failed - 1))
        asked = error.retry_after or 0.0
        if asked > self.longest:
            return None
        return asked + drawn if asked > 0 else drawn  # not a number is no wait either
