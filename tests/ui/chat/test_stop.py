"""Esc in the window: the tool that works, and twice the turn (C-25)."""

from __future__ import annotations

import os
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import pytest

from studio.domain.blocks import EndBlock, PlanBlock, ToolBlock
from studio.simulator import Call, Text, Turn
from support.waiting import until
from support.window import Key, Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]

PLAN = Call("plan", {"items": [{"text": "wait", "status": "done"}]})
SLOW = Call("run", {"command": "echo begun; sleep 3600", "time_limit": 3600})


async def works(person: Person) -> ToolBlock:
    """The command that runs, once it printed something."""
    person.say("Go")
    await until(lambda: person.composer.state == "waiting")
    (question,) = person.session.transcript.questions
    person.session.answer_permission(question.id, "once")
    await until(lambda: any(_has_begun(call) for call in person.blocks(ToolBlock)))
    person.composer.setFocus()
    return next(call for call in person.blocks(ToolBlock) if _has_begun(call))


def _has_begun(call: ToolBlock) -> bool:
    assert call.state != "error", call
    return "begun" in call.output


@on_window_loop
async def test_c25_esc_stops_the_tool_and_the_turn_goes_on(tmp_path: Path) -> None:
    """C-25: Stop says so; the model hears what was printed, and the plan stays."""
    script = [Turn(PLAN, SLOW, stop="tool_use"), Turn(Text("Then not."))]
    async with at_window(tmp_path, "anthropic", script) as person:
        call = await works(person)
        assert "Esc stops it alone" in person.composer.send.toolTip()
        person.press(Key.Key_Escape)
        await person.done()
        assert (call.state, call.summary) == ("error", "stopped by you")
        assert person.says("Then not.") and len(person.blocks(PlanBlock)) == 1
        assert "begun" in person.asked[-1] and "not your turn" in person.asked[-1]


@on_window_loop
async def test_c25_esc_twice_stops_the_turn(tmp_path: Path) -> None:
    """C-25, L-11: also before the tool has ended."""
    async with at_window(tmp_path, "anthropic", [Turn(SLOW, stop="tool_use")]) as person:
        await works(person)
        person.press(Key.Key_Escape)
        person.press(Key.Key_Escape)
        await person.done()
        assert [end.reason for end in person.blocks(EndBlock)] == ["cancelled"]
        assert len(person.asked) == 1
