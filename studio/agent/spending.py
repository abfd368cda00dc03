"""What requests used and cost, added up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from studio.domain.ledger import LedgerEntry, UsageRow
from studio.domain.models import NOTHING, ModelInfo, Usage
from studio.providers.prices import cost


@dataclass(frozen=True, slots=True)
class Spent:
    """A sum of requests; amounts are in US dollars.

    ``own`` adds up the providers' own figures, ``estimate`` the prices of the
    other requests. ``unpriced`` counts those that have neither; they are in no
    amount. ``lost`` is what broken caches cost, an estimate and part of the rest.
    """

    requests: int = 0
    usage: Usage = NOTHING
    own: float = 0.0
    estimate: float = 0.0
    unpriced: int = 0
    lost: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.requests + other.requests,
            self.usage + other.usage,
            self.own + other.own,
            self.estimate + other.estimate,
            self.unpriced + other.unpriced,
            self.lost + other.lost,
        )

    @property
    def cost(self) -> float:
        return self.own + self.estimate

    @property
    def source(self) -> str:
        """Whose figure the cost is, in words; empty where there is none."""
        if not self.estimate:
            return "The provider’s figure" if self.own else ""
        return "Partly an estimate" if self.own else "Estimate"


def of_request(entry: LedgerEntry, cost: float | None) -> Spent:
    """One request; ``cost`` is the provider's own figure, or else an estimate."""
    lost = entry.sent.lost if entry.sent else 0.0
    if entry.cost is not None:
        return Spent(1, entry.usage, own=entry.cost, lost=lost)
    return Spent(1, entry.usage, estimate=cost or 0.0, unpriced=int(cost is None), lost=lost)


def of_row(row: UsageRow, facts: ModelInfo | None) -> Spent:
    """A sum from storage, of requests of one model and one size, see ``prices.sizes``.

    Requests without a figure are priced like their mean, cut to whole tokens:
    prices are steps of a request's size, and years of requests are too many to
    be priced each. Imports the tables: call it in a thread.
    """
    spent = Spent(row.requests, row.usage, own=row.cost, lost=row.lost)
    if not row.unpriced:
        return spent
    used, count = row.unpriced_usage, row.unpriced
    mean = Usage(
        used.input // count,
        used.cache_read // count,
        used.cache_write // count,
        used.output // count,
        used.reasoning // count,
    )
    each = cost(row.provider, row.model, mean, facts)
    if each is None:
        return spent + Spent(unpriced=count)
    return spent + Spent(estimate=each * count)


def by_key(rows: Iterable[tuple[UsageRow, ModelInfo | None]]) -> dict[str, Spent]:
    """Sums from storage with the facts of their models, added up by their keys."""
    sums = dict[str, Spent]()
    for row, facts in rows:
        sums[row.key] = sums.get(row.key, Spent()) + of_row(row, facts)
    return sums


def total(sums: Iterable[Spent]) -> Spent:
    return sum(sums, Spent())


def dollars(amount: float) -> str:
    """“$0.31”, of less “$0.042” and “$0.0042”; nothing where there is no price."""
    if not amount:
        return ""
    places = 2 if amount >= 0.1 else 3 if amount >= 0.01 else 4
    return f"${amount:.{places}f}"
