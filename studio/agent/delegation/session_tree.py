"""Session tree: a session with those that work for it, and for these, with their cost (W-39)."""

from __future__ import annotations

from dataclasses import dataclass

from studio.agent.usage_costs import UsageCosts, UsageTotal, total
from studio.domain.sessions import SessionInfo
from studio.storage.sessions.store import SessionStore


@dataclass(frozen=True, slots=True)
class Member:
    """One session of a tree; ``depth`` is 0 for the one that began it."""

    info: SessionInfo
    depth: int
    used: UsageTotal

    @property
    def caller(self) -> str:
        """The session that it works for; empty for the one that began."""
        return self.info.caller.id if self.depth and self.info.caller else ""


async def session_tree(
    store: SessionStore, usage_costs: UsageCosts, first: SessionInfo
) -> list[Member]:
    """A session and all that it began, each before those that work for it."""
    begun = await store.some(await store.descendants((first.id,)))
    called: dict[str, list[SessionInfo]] = {}
    for info in sorted(begun, key=lambda one: (one.created, one.id)):
        if info.caller is not None:
            called.setdefault(info.caller.id, []).append(info)
    found: list[Member] = []
    left = [(first, 0)]
    while left:
        info, depth = left.pop()
        spent = await usage_costs.spent("session", info.id)
        found.append(Member(info, depth, total(spent.values())))
        left += [(one, depth + 1) for one in reversed(called.get(info.id, []))]
    return found
