"""Plan tool: shows the person what the agent is going to do, and how far it is."""

from __future__ import annotations

from typing import Literal, TypedDict

from studio.domain.errors import NothingRead
from studio.domain.plans import Plan, PlanItem
from studio.tools import Context, Result, tool

MOST = 30
"""Items of a plan."""


class Item(TypedDict):
    text: str
    status: Literal["pending", "active", "done", "dropped"]


@tool(
    effect="read",
    verb="Planning",
    done="Planned",
    icon="list",
    steady=False,  # what is said again is no stall
)
async def plan(context: Context, items: list[Item], why: str = "") -> Result:
    """Show the person your plan for work of three steps or more. Give the whole list at first,
    and whenever an item begins or is done.

    items: Up to 30 in order, in a few words, one active at most.
    why: Why it changed, if that is not plain.
    """
    if not items or len(items) > MOST:
        raise NothingRead(f"“items” must have 1 to {MOST} items.")
    if any(not item["text"].strip() for item in items):
        raise NothingRead("An item has no text.")
    active = sum(item["status"] == "active" for item in items)
    if active > 1:
        raise NothingRead(f"{active} items are active. Only one can be.")
    made = Plan(
        tuple(PlanItem(" ".join(item["text"].split()), item["status"]) for item in items),
        " ".join(why.split()),
    )
    context.show_plan(made)
    return Result(f"The person sees the plan: {made.progress}.", made.progress, ("the agent",))
