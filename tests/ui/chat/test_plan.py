"""At the window: the plan as one card in the chat, and in a line above the composer (C-2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.simulator import Call, Text, Turn
from studio.ui.transcript.items.plan_item import PlanCard
from support.waiting import until
from support.window import Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


def plan(*states: str) -> Turn:
    items = [{"text": f"step {n}", "status": state} for n, state in enumerate(states)]
    return Turn(Call("plan", {"items": items}), stop="tool_use")


def cards(person: Person) -> list[PlanCard]:
    return [item for item in person.view.canvas.items if isinstance(item, PlanCard)]


@on_window_loop
async def test_c2_one_card_and_a_line_that_leads_to_it(tmp_path: Path) -> None:
    """C-2: changed in place; gone from above the composer when nothing is open."""
    script = [
        plan("active", "pending"),
        plan("done", "active"),
        Turn(Text("You see it.")),
        Turn(Text("Your turn.")),
        plan("done", "dropped"),
        Turn(Text("All done.")),
    ]
    async with at_window(tmp_path, "openai-compatible", script) as person:
        strip = person.window.chat.plan
        assert not strip.isVisible()
        person.say("Go")
        await until(lambda: len(person.asked) == 4 and person.composer.state != "running")
        (card,) = cards(person)
        assert "1 of 2 done" in card.name and "step 1, being done" in card.name
        assert strip.isVisible() and strip.progress.text() == "1 of 2 done"
        assert strip.now.text() == "step 1" and "step 0, done" in strip.now.accessibleName()
        assert strip.geometry().bottom() < person.composer.y()
        assert strip.now.x() < strip.width() / 2  # beside the progress, not far from it
        strip.now.click()
        assert person.view.canvas_viewport.focus.item is card
        person.composer.setFocus()
        person.say("And now?")
        await until(lambda: len(person.asked) == 6 and person.composer.state != "running")
        await until(lambda: [one.block.plan.count for one in cards(person)] == [(1, 2), (1, 1)])
        assert not strip.isVisible()
