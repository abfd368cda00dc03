"""Session tree: a session with those that work for it, and for these, with their cost (W-39)."""

from __future__ import annotations

from dataclasses import dataclass

from studio.agent.usage_costs import UsageCosts, UsageTotal, total
from studio.domain.sessions import SessionInfo
from studio.storage.sessions.store import SessionStore

WORKFLOW = "the workflow"
"""The source of a call's result that comes from a run of a workflow."""


@dataclass(frozen=True, slots=True)
class Member:
    """One session of a tree; ``depth`` is 0 for the one that began it."""

    info: SessionInfo
    depth: int
    used: UsageTotal
    caller: str = ""
    """The session that it works for; empty for the one that began."""


async def session_tree(
    store: SessionStore, usage_costs: UsageCosts, first: SessionInfo
) -> list[Member]:
    """A session and all that it began, each before those that work for it.

    What works for a step of a run works for the session whose call the run is.
    """
    begun = await store.some(await store.descendants((first.id,), of_runs=True))
    runs = {one.caller.id for one in begun if one.caller is not None and one.caller.kind == "run"}
    calling = await store.calling_sessions(runs)
    called: dict[str, list[SessionInfo]] = {}
    for info in sorted(begun, key=lambda one: (one.created, one.id)):
        if info.caller is not None:
            caller = calling.get(info.caller.id, info.caller.id)
            called.setdefault(caller, []).append(info)
    found: list[Member] = []
    left = [(first, 0, "")]
    while left:
        info, depth, caller = left.pop()
        spent = await usage_costs.spent("session", info.id)
        found.append(Member(info, depth, total(spent.values()), caller))
        left += [(one, depth + 1, info.id) for one in reversed(called.get(info.id, []))]
    return found
