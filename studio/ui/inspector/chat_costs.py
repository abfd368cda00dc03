"""Adds up what a chat's requests cost: each one, and all together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.agent.usage_costs import UsageTotal
    from studio.domain.ledger import LedgerEntry


@dataclass(frozen=True, slots=True)
class ChatCosts:
    """A chat's requests, oldest first, each with what it cost.

    ``today`` is what all chats cost today, “$0.84”.
    """

    requests: Sequence[tuple[LedgerEntry, UsageTotal]] = ()
    today: str = ""

    @property
    def all(self) -> UsageTotal:
        from studio.agent.usage_costs import total

        return total(spent for _, spent in self.requests)


async def chat_costs(studio: Engine, session_id: str) -> ChatCosts:
    from studio.agent.usage_costs import of_request

    entries = await studio.ledger(session_id)
    today = await studio.books.today()
    costs = await studio.books.costs(entries)
    requests = [
        (entry, of_request(entry, cost)) for entry, cost in zip(entries, costs, strict=True)
    ]
    return ChatCosts(requests, today.removesuffix(" today"))
