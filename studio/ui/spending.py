"""What a chat's requests cost: each one, and all together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from studio.agent.spending import Spent
    from studio.agent.studio import Studio
    from studio.domain.ledger import LedgerEntry


@dataclass(frozen=True, slots=True)
class Spending:
    """A chat's requests, oldest first, each with what it cost.

    ``today`` is what all chats cost today, “$0.84”.
    """

    requests: Sequence[tuple[LedgerEntry, Spent]] = ()
    today: str = ""

    @property
    def all(self) -> Spent:
        from studio.agent.spending import total

        return total(spent for _, spent in self.requests)


async def spending(studio: Studio, session_id: str) -> Spending:
    from studio.agent.spending import of_request

    entries = await studio.ledger(session_id)
    today = await studio.books.today()
    costs = await studio.books.costs(entries)
    requests = [
        (entry, of_request(entry, cost)) for entry, cost in zip(entries, costs, strict=True)
    ]
    return Spending(requests, today.removesuffix(" today"))
