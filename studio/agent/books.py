"""What was used, and what it cost: read from storage, priced by what is known of models (L-14)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime

from studio.domain.ledger import LedgerEntry
from studio.domain.models import ModelInfo
from studio.providers.prices import request_cost, is_local, tier_sizes
from studio.storage.sessions import SessionStore
from studio.storage.usage import UsageKey

from .spending import UsageTotal, by_key


class UsageCosts:
    """Of all sessions; ``model`` knows the facts of a provider's model."""

    def __init__(self, store: SessionStore, model: Callable[[str, str], ModelInfo]) -> None:
        self._store = store
        self._model = model

    async def today(self) -> str:
        """What today's requests cost, “$0.84 today”; nothing where no price is known."""
        midnight = datetime.now().replace(hour=0, minute=0, second=0, microsecond=0)
        costs = await self.costs(await self._store.ledger(since=midnight.timestamp()))
        total = sum(cost for cost in costs if cost)
        return f"${total:.2f} today" if total else ""

    async def costs(self, entries: Sequence[LedgerEntry]) -> list[float | None]:
        """What each request cost, in US dollars; None where nobody knows.

        The provider's own figure, or else an estimate.
        """
        known = [(entry, self._model(entry.provider, entry.model)) for entry in entries]
        return await asyncio.to_thread(
            lambda: [
                request_cost(entry.provider, entry.model, entry.usage, facts)
                if entry.cost is None
                else entry.cost
                for entry, facts in known
            ]
        )

    async def spent(
        self, by: UsageKey, session_id: str = "", since: float = 0.0
    ) -> dict[str, UsageTotal]:
        """What requests used and cost by turn, session, agent, day or model, oldest first.

        Of one session or of all, from the time ``since`` on. A day is a local
        date, ``2026-11-22``.
        """
        apart: tuple[int, ...] = ()
        rows = await self._store.usage_by(by, session_id, since)
        if any(row.unpriced and not is_local(row.provider, row.model) for row in rows):
            apart = await asyncio.to_thread(tier_sizes)
            rows = await self._store.usage_by(by, session_id, since, apart)
        known = [(row, self._model(row.provider, row.model)) for row in rows]
        return await asyncio.to_thread(by_key, known, apart)
