"""An agent's plan through a turn, a new history, a restart and a branch (C-2, C-3)."""

from __future__ import annotations

from pathlib import Path

from studio.agent.prompts import PLAN_NOW, PLAN_OPEN, PLAN_STALE
from studio.domain.blocks import PlanBlock
from studio.domain.events import AwaitingPermission, Event, PlanChanged, Told, TurnComplete
from studio.domain.plans import Plan, PlanItem
from studio.simulator import Call, Text, Turn
from support.engine_home import EngineHome, engine_home, say


def show(*states: str) -> Turn:
    items = [{"text": f"step {n}", "status": state} for n, state in enumerate(states)]
    return Turn(Call("plan", {"items": items}), stop="tool_use")


def look(number: int) -> Turn:
    return Turn(Call("read", {"path": f"{number}.txt"}), stop="tool_use")


def files(home: EngineHome) -> None:
    for number in range(20):
        (home.folder / f"{number}.txt").write_text(f"number {number}\n")


def notes(events: list[Event]) -> list[str]:
    """What the model was told of its plan."""
    topics = ("plan", "plan_open")
    return [one.text for one in events if isinstance(one, Told) and one.topic in topics]


DONE = Turn(Text("Done."))
OPEN = "[>] step 1\n[ ] step 2"


async def test_c2_one_card_changes_in_place_and_nothing_is_asked(tmp_path: Path) -> None:
    """C-2: also the same plan three times is no stall, and what is refused changes nothing."""
    script = [
        show("active", "pending"),
        *[show("done", "active")] * 4,
        show("active", "active"),
        show("done", "dropped"),
        DONE,
    ]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        events = await say(session)
        assert not any(isinstance(event, AwaitingPermission) for event in events)
        assert not notes(events)
        assert sum(isinstance(event, PlanChanged) for event in events) == 6
        cards = [block for block in session.transcript.blocks if isinstance(block, PlanBlock)]
        last = Plan((PlanItem("step 0", "done"), PlanItem("step 1", "dropped")))
        assert [card.plan for card in cards] == [last] and session.transcript.plan == last
        assert isinstance(events[-1], TurnComplete) and events[-1].reason == "done"
        results = [call.output for call in session.transcript.last_calls]
        assert results[0] == "The person sees the plan: 0 of 2 done." and "Only one" in results[5]


async def test_c3_open_items_are_brought_to_mind_once_at_the_end(tmp_path: Path) -> None:
    """C-3: a note after what was sent; the second end is the end."""
    script = [show("done", "active", "pending"), DONE, Turn(Text("The rest needs you.")), DONE]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        events = await say(session)
        assert notes(events) == [PLAN_OPEN.format(lines=OPEN)]
        assert isinstance(events[-1], TurnComplete) and events[-1].reason == "done"
        assert len(home.asked) == 3
        assert not notes(await say(session, "Thank you."))


async def test_c3_a_plan_that_does_not_change_is_brought_to_mind(tmp_path: Path) -> None:
    """C-3: after ten steps, and not after nine."""
    script = [show("active"), *map(look, range(10)), show("done"), DONE]
    async with engine_home(tmp_path, "anthropic", script) as home:
        files(home)
        events = await say(await home.session())
        assert notes(events) == [PLAN_STALE.format(steps=10)]
        sent = [str(one.json).count("no change of your plan") for one in home.asked]
        assert sent == [0] * 11 + [1, 1]


async def test_c3_the_plan_is_in_each_new_history_word_for_word(tmp_path: Path) -> None:
    """C-3: after a summary, a restart and in a branch."""
    words = Text("Many words about nothing. " * 200)
    script = [show("done", "active", "pending"), Turn(words), Turn(words), *[DONE] * 9]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        for text in ("Go", "On", "And on"):
            await say(session, text)
        await session.context.summarise()
        asked = len(home.asked)
        await say(session, "Now?")
        plan = PLAN_NOW.format(lines=f"[x] step 0\n{OPEN}")
        assert [plan in str(one.json).replace("\\n", "\n") for one in home.asked[asked:]] == [True]
        branch = await home.engine.sessions.branch(session.info.id)
        assert branch.transcript.plan == session.transcript.plan
        asked = len(home.asked)
        await say(branch, "And here?")
        assert [plan in str(one.json).replace("\\n", "\n") for one in home.asked[asked:]] == [True]
        session_id = session.info.id
    async with engine_home(tmp_path, "anthropic", [DONE]) as home:
        session = await home.engine.sessions.open(session_id)
        assert session.transcript.plan is not None and len(session.transcript.plan.open) == 2
        await say(session, "And again?")
        assert str(home.asked[0].json).replace("\\n", "\n").count(plan) == 1
