"""The plan tool: a whole list, checked, that reads nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from studio.agent.permission.exfiltration_guard import ExfiltrationGuard
from studio.domain.errors import NothingRead
from studio.domain.messages import ToolCall
from studio.domain.plans import Plan
from studio.domain.transcript import Transcript
from studio.tools import Context, Workspace
from studio.tools.builtin.plan import plan


def items(*states: str) -> dict[str, Any]:
    return {"items": [{"text": f"step {n}", "status": state} for n, state in enumerate(states)]}


async def test_a_plan_is_counted_and_a_wrong_one_refused(tmp_path: Path) -> None:
    """C-2, T-4, T-7: and the chat has read nothing private with it."""
    shown: list[Plan] = []
    context = Context(Workspace(tmp_path), show_plan=shown.append)
    given = {**items("done", "active", "pending", "dropped"), "why": "It is\nsmaller."}
    told = await plan.call(context, given)
    assert [one.count for one in shown] == [(1, 3)] and shown[0].why == "It is smaller."
    assert told.summary == "1 of 3 done" and told.summary in told.text and told.sources
    guard = ExfiltrationGuard(Transcript([]))
    assert not guard.new_exposures(plan.spec, ToolCall("c1", "plan", {}), told)
    blank = {"items": [{"text": " ", "status": "done"}]}
    for wrong in (items(), items(*["done"] * 31), items("active", "active"), blank):
        with pytest.raises(NothingRead):
            await plan.call(context, wrong)
    assert len(shown) == 1
    await plan.call(context, items(*["done"] * 30))
    assert shown[-1].count == (30, 30)
