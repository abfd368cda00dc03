"""What one turn's requests are expected to use, and what they used (L-14)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

from studio.domain.jsonvalue import Json
from studio.domain.ledger import LedgerEntry, Sent
from studio.domain.models import ModelInfo, Usage
from studio.providers.base import Request

from .budget import Amount, Budget, Rate, Reservation
from .spending import Rates

CHARACTERS = 4
"""To a token, about, in most languages and tokenizers."""
ANSWER = 8_192
"""Tokens that an answer may have, where a model's limit is unknown or larger."""
BLOB = 10_000
"""Characters without a blank that are no words: a picture, a file."""
BLOB_TOKENS = 1_500


@dataclass(frozen=True, slots=True)
class Known:
    """What the provider counted: ``tokens`` up to ``items`` items of an epoch."""

    epoch: int
    items: int
    tokens: int

    @classmethod
    def of(cls, sent: Sent, usage: Usage) -> Known:
        return cls(sent.epoch, sent.items, usage.input)


class Purse:
    """Of one turn. ``last`` is the session's last request, ``rates`` what tokens cost here."""

    def __init__(
        self,
        budget: Budget,
        rate: Rate,
        rates: Awaitable[Rates | None],
        last: LedgerEntry | None = None,
    ) -> None:
        self.budget = budget
        self._rate = rate
        self._rates = asyncio.ensure_future(rates)
        self._known = Known.of(last.sent, last.usage) if last and last.sent else None

    async def reserve(self, request: Request, sent: Sent) -> Reservation:
        """Wait until the request may go out; raises OverBudget, or ProviderError for the rate."""
        rates = await asyncio.shield(self._rates)
        tokens = await self._expected(request, sent)
        answer = min(_output_limit(request.facts) or ANSWER, ANSWER)
        least = Amount(tokens, _dollars(rates, Usage(tokens)))
        most = Amount(tokens + answer, _dollars(rates, Usage(tokens, output=answer)))
        reservation = await self.budget.reserve(least, most)
        try:
            self._rate.take()
        except BaseException:
            reservation.settle()
            raise
        return reservation

    async def settle(
        self, reservation: Reservation, sent: Sent, usage: Usage, cost: float | None
    ) -> None:
        """Book what a request used; ``cost`` is the provider's own figure."""
        if usage.input:
            self._known = Known.of(sent, usage)
        dollars = _dollars(await asyncio.shield(self._rates), usage) if cost is None else cost
        reservation.settle(Amount(usage.total, dollars))

    async def _expected(self, request: Request, sent: Sent) -> int:
        """Tokens to be sent: what was counted of the beginning, and an estimate of the rest."""
        known = self._known
        if known is not None and known.epoch == sent.epoch and known.items <= sent.items:
            return known.tokens + _weight(request.history[known.items :]) // CHARACTERS
        tools: list[Json] = [[spec.description, spec.schema] for spec in request.tools]
        whole: Json = [request.system, tools, *request.history]
        return await asyncio.to_thread(_weight, whole) // CHARACTERS


def _output_limit(facts: ModelInfo | None) -> int | None:
    return facts.output_limit if facts is not None else None


def _dollars(rates: Rates | None, usage: Usage) -> float:
    """Nothing where no price is known: money caps cannot count such a model."""
    return (rates.of(usage) or 0.0) if rates is not None else 0.0


def _weight(value: Json | Sequence[Json]) -> int:
    """Characters of a JSON value that a model reads."""
    if isinstance(value, str):
        is_blob = len(value) > BLOB and " " not in value[:BLOB] and "\n" not in value[:BLOB]
        return BLOB_TOKENS * CHARACTERS if is_blob else len(value)
    if isinstance(value, dict):
        return sum(len(key) + _weight(inner) for key, inner in value.items())
    if isinstance(value, list):
        return sum(map(_weight, value))
    return 4
