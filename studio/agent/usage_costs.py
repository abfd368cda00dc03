"""Usage costs: reads the usage of requests from storage, prices it and adds it up (L-14)."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from datetime import date, datetime
from functools import lru_cache

from studio.domain.ledger import LedgerEntry, UsageRow
from studio.domain.models import NO_USAGE, ModelInfo, Usage
from studio.domain.records import dataclass
from studio.providers.pricing import is_local, request_cost, request_costs, tables_read, tier_sizes
from studio.storage.sessions.store import SessionStore
from studio.storage.sessions.usage import UsageKey


@dataclass(frozen=True, slots=True)
class UsageTotal:
    """A sum of requests; amounts are in US dollars.

    ``own`` adds up the providers' own figures, ``estimate`` the estimated prices of the other
    requests. ``unpriced`` counts requests with neither; no amount includes them. ``lost`` is
    the estimated cost of broken caches, included in the other amounts.
    """

    requests: int = 0
    usage: Usage = NO_USAGE
    own: float = 0.0
    estimate: float = 0.0
    unpriced: int = 0
    lost: float = 0.0

    def __add__(self, other: UsageTotal) -> UsageTotal:
        return UsageTotal(
            *(getattr(self, f.name) + getattr(other, f.name) for f in fields(UsageTotal))
        )

    @property
    def cost(self) -> float:
        return self.own + self.estimate

    @property
    def source(self) -> str:
        """Whether the cost is the provider's figure or an estimate; empty if there is no cost."""
        if not self.estimate:
            return "The provider’s figure" if self.own else ""
        return "Partly an estimate" if self.own else "Estimate"

    @property
    def gap(self) -> str:
        """How many requests the cost does not include, as a phrase; empty if none."""
        if not self.unpriced:
            return ""
        what = "1 request has" if self.unpriced == 1 else f"{self.unpriced:,} requests have"
        return f"{what} no known price"


def request_total(entry: LedgerEntry, cost: float | None) -> UsageTotal:
    """One request; ``cost`` is the provider's own figure, or else an estimate."""
    lost = entry.sent.lost if entry.sent else 0.0
    if entry.cost is not None:
        return UsageTotal(1, entry.usage, own=entry.cost, lost=lost)
    return UsageTotal(1, entry.usage, estimate=cost or 0.0, unpriced=int(cost is None), lost=lost)


@dataclass(frozen=True, slots=True)
class TokenRates:
    """US dollars of one token."""

    fresh: float
    read: float
    written: float
    output: float

    def of(self, used: Usage) -> float | None:
        """US dollars of the usage; None if it has more cached tokens than sent tokens."""
        fresh = used.input - used.cache_read - used.cache_write
        if fresh < 0:
            return None
        return (
            fresh * self.fresh
            + used.cache_read * self.read
            + used.cache_write * self.written
            + used.output * self.output
        )


def token_rates(
    provider: str, model: str, size: int, facts: ModelInfo | None
) -> asyncio.Future[TokenRates | None]:
    """The rates in a request that sends ``size`` tokens; None if no price is known.

    The price tables are imported with the first, in a thread.
    """
    asked = (provider, model, size, facts, date.today())
    if not tables_read():
        return asyncio.ensure_future(asyncio.to_thread(_rates, *asked))
    known = asyncio.get_running_loop().create_future()
    known.set_result(_rates(*asked))
    return known


@lru_cache(maxsize=1024)
def _rates(
    provider: str, model: str, size: int, facts: ModelInfo | None, _: date
) -> TokenRates | None:
    """Cached by date, because the price tables have dates."""

    asked = (
        Usage(size),
        Usage(size, output=size),
        Usage(size, cache_read=size),
        Usage(size, cache_write=size),
    )
    fresh, output, read, written = request_costs(provider, model, asked, facts)
    if fresh is None or output is None or read is None or written is None:
        return None
    return TokenRates(fresh / size, read / size, written / size, (output - fresh) / size)


def totals_by_key(
    rows: Iterable[tuple[UsageRow, ModelInfo | None]], sizes: Sequence[int]
) -> dict[str, UsageTotal]:
    """Sums from storage with the facts of their models, added up by their keys.

    Years of requests are too many to be priced each. Between two of ``sizes`` a token costs
    the same in every request, so each kind's price is found once. Imports the price tables:
    call it in a thread.
    """
    known: dict[tuple[str, str, int], TokenRates | None] = {}
    sums: dict[str, UsageTotal] = {}
    for row, facts in rows:
        estimate: float | None = 0.0
        if row.unpriced:
            size = max(row.unpriced_usage.input // row.unpriced, 1)
            key = (row.provider, row.model, bisect_left(sizes, size))
            if key not in known:
                known[key] = _rates(row.provider, row.model, size, facts, date.today())
            rates = known[key]
            estimate = None if rates is None else rates.of(row.unpriced_usage)
        unpriced = row.unpriced if estimate is None else 0
        spent = UsageTotal(row.requests, row.usage, row.cost, estimate or 0.0, unpriced, row.lost)
        sums[row.key] = sums.get(row.key, UsageTotal()) + spent
    return sums


def total(sums: Iterable[UsageTotal]) -> UsageTotal:
    return sum(sums, UsageTotal())


def format_dollars(amount: float) -> str:
    """“$0.31”, small amounts as “$0.042” and “$0.0042”; empty for no amount."""
    if not amount:
        return ""
    places = 2 if amount >= 0.1 else 3 if amount >= 0.01 else 4
    return f"${amount:.{places}f}"


class UsageCosts:
    """The costs of all sessions; ``model`` returns the facts of a provider's model."""

    def __init__(self, store: SessionStore, model: Callable[[str, str], ModelInfo]) -> None:
        self._store = store
        self._model = model

    async def today(self) -> float:
        """What today's requests cost in US dollars; 0 if no price is known."""
        midnight = datetime.now().replace(hour=0, minute=0, second=0, microsecond=0)
        costs = await self.costs(await self._store.ledger(since=midnight.timestamp()))
        return sum(cost for cost in costs if cost)

    async def costs(self, entries: Sequence[LedgerEntry]) -> list[float | None]:
        """The cost of each request in US dollars; None if it is not known.

        It is the provider's own figure, or else an estimate.
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

    async def of_tree(self, session_id: str) -> dict[str, UsageTotal]:
        """The usage and cost of a session and of all that it began, by agent (W-39)."""
        found: dict[str, UsageTotal] = {}
        for one in (session_id, *await self._store.descendants((session_id,), of_runs=True)):
            for agent, used in (await self.spent("agent", one)).items():
                found[agent] = found.get(agent, UsageTotal()) + used
        return found

    async def spent(
        self, by: UsageKey, session_id: str = "", since: float = 0.0
    ) -> dict[str, UsageTotal]:
        """The usage and cost by turn, session, agent, day or model, oldest first.

        It covers one session or all, from the time ``since`` on. A day is a local
        date, ``2026-11-22``.
        """
        apart: tuple[int, ...] = ()
        rows = await self._store.usage_by(by, session_id, since)
        if any(row.unpriced and not is_local(row.provider, row.model) for row in rows):
            apart = await asyncio.to_thread(tier_sizes)
            rows = await self._store.usage_by(by, session_id, since, apart)
        known = [(row, self._model(row.provider, row.model)) for row in rows]
        return await asyncio.to_thread(totals_by_key, known, apart)
