"""The request meter: reserves and books what a request uses, and counts those of an hour (L-14)."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable

from studio.domain.errors import ProviderError
from studio.domain.models import Usage
from studio.providers.base import Request

from .budget import SHARES, Amount, Budget, Reservation
from .context.token_count import RequestTokens
from .usage_costs import TokenRates

HOUR = 3600.0
LONGEST_ANSWER = 65_536
"""Tokens that an answer may have where the model's limit is not known."""


class OverRate(ProviderError):
    """An hour has no more than ``limit`` requests; ``retry_after`` is in how many seconds one
    may go.

    A short wait is waited for, as that of a provider; else it ends the turn at a limit.
    """

    def __init__(self, limit: int, retry_after: float) -> None:
        many = "1 request" if limit == 1 else f"{limit:,} requests"
        text = f"Your limit of {many} an hour is reached."
        super().__init__("rate_limited", text, retry_after=retry_after)
        self.limit = limit


class RequestRate:
    """At most ``limit()`` requests an hour; 0 is no limit. Times are ``time.time``."""

    def __init__(self, limit: Callable[[], int]) -> None:
        self._limit = limit
        self._own: deque[float] = deque()
        self._others: deque[float] = deque()

    def known(self, times: Iterable[float]) -> None:
        """Requests of the last hour that other programs made, or an earlier run."""
        self._others = deque(sorted(times))

    def take(self) -> None:
        """Count a request; raises OverRate with the wait until one may go."""
        limit, now = self._limit(), time.time()
        for times in (self._own, self._others):
            while times and times[0] <= now - HOUR:
                times.popleft()
        if limit and len(self._own) + len(self._others) >= limit:
            raise OverRate(limit, sorted([*self._own, *self._others])[-limit] + HOUR - now)
        self._own.append(now)


class RequestMeter:
    """Reserves and books what the requests of one turn use. ``rates`` are the prices of tokens."""

    def __init__(
        self, budget: Budget, rate: RequestRate, rates: asyncio.Future[TokenRates | None]
    ) -> None:
        self.budget = budget
        self.dollars: float | None = 0.0
        """What the requests cost; None from the first one on whose price is not known."""
        self._rate = rate
        self._rates = rates

    async def reserve(
        self, tokens: RequestTokens, request: Request, *, shares: int = SHARES
    ) -> Reservation:
        """Wait until a request that sends so many tokens may go out.

        No price counts where none is known. Raises OverBudget or OverRate.
        """
        rates = await asyncio.shield(self._rates)
        dearest = max(rates.fresh, rates.written) if rates is not None else 0.0
        sent = Amount(tokens.most, tokens.most * dearest)
        likely = Amount(tokens.likely, tokens.likely * dearest)
        rate = rates.output if rates is not None else 0.0
        wanted = _longest_answer(request)
        reservation = await self.budget.reserve(sent, wanted, rate, likely=likely, shares=shares)
        try:
            self._rate.take()
        except BaseException:
            reservation.settle()
            raise
        return reservation

    async def settle(self, reservation: Reservation, usage: Usage, cost: float | None) -> None:
        """Book what a request used; ``cost`` is the provider's own figure."""
        rates = await asyncio.shield(self._rates)
        if cost is None and rates is not None and (usage.total or not rates.output):
            cost = rates.of(usage)
        reservation.settle(Amount(usage.total, cost or 0.0))
        self.dollars = None if cost is None or self.dollars is None else self.dollars + cost


def _longest_answer(request: Request) -> int:
    """Tokens that an answer may have, with what is thought."""
    known = request.facts.output_limit if request.facts is not None else None
    most = known or LONGEST_ANSWER
    if request.output_limit is None or request.effort not in (None, "none"):
        return most  # what is thought may come on top
    return min(request.output_limit, most)
