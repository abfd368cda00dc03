"""What a chat's requests cost: each one, and all together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from studio.domain.models import NOTHING, Usage

if TYPE_CHECKING:
    from studio.agent.studio import Studio
    from studio.domain.ledger import LedgerEntry


@dataclass(frozen=True, slots=True)
class Priced:
    """One request; ``cost`` is in US dollars, ``own`` says it is the provider's figure."""

    entry: LedgerEntry
    cost: float
    own: bool


@dataclass(frozen=True, slots=True)
class Spending:
    """A chat's requests, oldest first. ``today`` is what all chats cost today, “$0.84”."""

    requests: Sequence[Priced] = ()
    today: str = ""

    @property
    def usage(self) -> Usage:
        return sum((one.entry.usage for one in self.requests), NOTHING)

    @property
    def cost(self) -> float:
        return sum(one.cost for one in self.requests)

    @property
    def lost(self) -> float:
        """What broken caches cost, an estimate."""
        return sum(one.entry.sent.lost for one in self.requests if one.entry.sent)

    @property
    def source(self) -> str:
        """Whose figure the cost is, in words; empty where there is none."""
        priced = [one.own for one in self.requests if one.cost]
        if not priced:
            return ""
        if all(priced):
            return "The provider’s figure"
        return "Partly an estimate" if any(priced) else "Estimate"


async def spending(studio: Studio, session_id: str) -> Spending:
    entries = await studio.ledger(session_id)
    today = await studio.cost_today()
    costs = await studio.costs(entries)
    requests = [
        Priced(entry, cost or 0.0, entry.cost is not None)
        for entry, cost in zip(entries, costs, strict=True)
    ]
    return Spending(requests, today.removesuffix(" today"))


def dollars(amount: float) -> str:
    """“$0.31”, of less “$0.042” and “$0.0042”; nothing where there is no price."""
    if not amount:
        return ""
    places = 2 if amount >= 0.1 else 3 if amount >= 0.01 else 4
    return f"${amount:.{places}f}"
