"""What one turn's requests are expected to use, and what they used (L-14)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from studio.domain.models import ModelInfo, Usage

from .budget import Amount, Budget, RequestRate, Reservation
from .spending import TokenRates

ANSWER = 8_192
"""Tokens that an answer may have, where a model's limit is unknown or larger."""


class RequestMeter:
    """Of one turn. ``rates`` is what tokens cost here."""

    def __init__(self, budget: Budget, rate: RequestRate, rates: Awaitable[TokenRates | None]) -> None:
        self.budget = budget
        self._rate = rate
        self._rates = asyncio.ensure_future(rates)

    async def reserve(self, tokens: int, facts: ModelInfo | None) -> Reservation:
        """Wait until a request that sends about ``tokens`` may go out.

        Raises OverBudget, or ProviderError for the rate.
        """
        rates = await asyncio.shield(self._rates)
        limit = facts.output_limit if facts is not None else None
        answer = min(limit or ANSWER, ANSWER)
        least = Amount(tokens, _dollars(rates, Usage(tokens)))
        most = Amount(tokens + answer, _dollars(rates, Usage(tokens, output=answer)))
        reservation = await self.budget.reserve(least, most)
        try:
            self._rate.take()
        except BaseException:
            reservation.settle()
            raise
        return reservation

    async def settle(self, reservation: Reservation, usage: Usage, cost: float | None) -> None:
        """Book what a request used; ``cost`` is the provider's own figure."""
        dollars = _dollars(await asyncio.shield(self._rates), usage) if cost is None else cost
        reservation.settle(Amount(usage.total, dollars))


def _dollars(rates: TokenRates | None, usage: Usage) -> float:
    """Nothing where no price is known: money caps cannot count such a model."""
    return (rates.of(usage) or 0.0) if rates is not None else 0.0
