"""The mode ``long``: many steps, free commands, and a question to the person ahead of each limit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from studio.agent.loop.wrap_up import NO
from studio.agent.prompts import LAST_STEP, NEARLY_OUT, NOBODY_ANSWERS
from studio.agent.session.session import Session
from studio.domain.agents import Agent
from studio.domain.blocks import EndBlock, ToolBlock
from studio.domain.events import (
    AwaitingReply,
    Event,
    ReplyGiven,
    StepStarted,
    Told,
    ToolFinished,
    ToolStarted,
    TurnComplete,
    TurnStarted,
)
from studio.domain.messages import Text
from studio.domain.permissions import Rule
from studio.simulator import Call, RequestView, Turn, Usage, stall
from studio.simulator import Text as Words
from studio.storage.config.settings import Settings
from support.engine_home import EngineHome, engine_home
from support.job_story import results_in
from support.waiting import until


def look(number: int, **more: object) -> Turn:
    call = Call("read", {"path": f"{number}.txt"})
    return Turn(call, stop="tool_use", **more)  # type: ignore[arg-type]


def working(steps: int, usage: Usage | None = None) -> Callable[[RequestView], Turn]:
    """A model that reads another file in each step, then answers."""
    done = 0

    def play(_: RequestView) -> Turn:
        nonlocal done
        done += 1
        return look(done, usage=usage) if done < steps else Turn(Words("Done."))

    return play


async def talk(
    session: Session, answer: Callable[[AwaitingReply], str | None], *rules: str
) -> list[Event]:
    """A turn whose questions get these answers; None leaves one open."""
    events: list[Event] = []
    async for envelope in session.turn([Text("Go")], rules=[Rule.parse(rule) for rule in rules]):
        events.append(envelope.event)
        if isinstance(event := envelope.event, AwaitingReply) and (said := answer(event)):
            session.answer_question(event.call_id, said)
    return events


def files(home: EngineHome, most: int) -> None:
    """What is read, each with something new."""
    for number in range(most):
        (home.folder / f"{number}.txt").write_text(f"number {number}\n")


def end_of(events: list[Event]) -> TurnComplete:
    assert isinstance(events[-1], TurnComplete)
    return events[-1]


def nobody(_: AwaitingReply) -> str:
    return NOBODY_ANSWERS


async def test_c1_150_steps_end_as_done(tmp_path: Path) -> None:
    """C-1: an agent that works on code has them without asking for anything."""
    async with engine_home(tmp_path, "anthropic", working(150)) as home:
        files(home, 200)
        session = await home.session("Coder")
        events = await talk(session, nobody)
        assert isinstance(events[0], TurnStarted) and events[0].mode == "long"
        assert (end_of(events).reason, end_of(events).steps) == ("done", 150)
        assert not any(
            (isinstance(event, Told) and event.topic != "orientation") for event in events
        )
        assert not home.simulator.violations


async def test_c1_the_limits_are_settings_and_shipped_agents_use_them(tmp_path: Path) -> None:
    """C-1, L-1: also an older version's one cap of money holds for long turns."""
    async with engine_home(tmp_path, "anthropic", []) as home:
        services, usual = home.engine.services, Settings()
        assert (usual.long_steps, usual.long_seconds, usual.long_dollars) == (200, 3600.0, 5.0)
        home.engine.settings.values.long_steps, home.engine.settings.values.long_seconds = 7, 70.0
        home.engine.settings.values.long_dollars = 3.0
        for name in ("Coder", "Researcher", "Reviewer"):
            agent = await home.engine.agent(name, home.folder)
            assert agent.mode == "long"
            limits = services.limits(agent, agent.mode)
            assert (limits.steps, limits.seconds, limits.extensible) == (7, 70.0, True)
        assert not services.limits(Agent("x"), "background").extensible
        session = await home.session()
        budgets = [
            await services.budgets.for_turn(session.info, Agent("x"), None, long=long)
            for long in (True, False)
        ]
        assert [budget.accounts[0].caps.dollars for budget in budgets] == [3.0, 5.0]
    assert Settings.from_json({"turn_dollars": 1.0}).long_dollars == 1.0
    assert Settings.from_json({"turn_dollars": 1.0, "long_dollars": 4.0}).long_dollars == 4.0


async def test_c1_the_person_is_asked_ahead_and_the_agent_works_on_meanwhile(
    tmp_path: Path,
) -> None:
    """C-1: asked at step 15 of 20, it waits at step 20 for the answer, and goes on to 26."""
    async with engine_home(tmp_path, "anthropic", working(26)) as home:
        files(home, 30)
        home.engine.settings.values.long_steps = 20
        session = await home.session()
        events: list[Event] = []
        steps: list[int] = []
        asked: list[tuple[int, AwaitingReply]] = []
        async for envelope in session.turn([Text("Go")]):
            event = envelope.event
            events.append(event)
            if isinstance(event, StepStarted):
                steps.append(event.step)
                if event.step == 20:  # it can only go on with an answer
                    assert session.info.state == "waiting" and session._turn is not None
                    clock = session._turn._state.clock
                    await until(lambda clock=clock: clock._since is None, what="the clock stands")
                    session.answer_question(asked[-1][1].call_id, "Yes, 20 more steps")
            elif isinstance(event, AwaitingReply):
                asked.append((steps[-1], event))
                if len(asked) == 1:
                    session.answer_question(event.call_id, "Perhaps")
        assert asked[0][0] == 15 and len(asked) == 2  # an answer that is neither is asked again
        assert asked[1][1].text.endswith(" May it go on? Please answer yes or no.")
        question = asked[0][1]
        assert question.text == "The agent is at step 15 of 20 in this turn. May it go on?"
        assert question.choices == ("Yes, 20 more steps", NO)
        assert (end_of(events).reason, end_of(events).steps) == ("done", 26)
        assert not any(
            (isinstance(event, Told) and event.topic != "orientation") for event in events
        )
        blocks = [b for b in session.transcript.blocks if isinstance(b, ToolBlock) and b.asks]
        assert [(b.state, b.reply) for b in blocks] == [
            ("done", "Perhaps"),
            ("done", "Yes, 20 more steps"),
        ]
        assert "May it go on" not in str(home.asked[-1].json)  # it is no part of the conversation
        assert not home.simulator.violations


async def test_c1_each_yes_is_for_as_much_as_the_turn_began_with(tmp_path: Path) -> None:
    """C-1: three answers of yes make four times the limit, not eight times; money, too."""
    used = Usage(inp=60_000, out=10)
    offered: list[str] = []

    def yes(question: AwaitingReply) -> str:
        offered.append(question.choices[0])
        return "yes"

    async with engine_home(tmp_path, "anthropic", working(14, used)) as home:
        files(home, 20)
        values = home.engine.settings.values
        values.long_steps, values.long_dollars = 4, 0.6
        await talk(await home.session(model="claude-sonnet-4-5"), yes)
        assert offered.count("Yes, 4 more steps") == 3
        assert offered.count("Yes, $0.60 more") >= 3
        assert {*offered} == {"Yes, 4 more steps", "Yes, $0.60 more"}
        assert not home.simulator.violations


@pytest.mark.parametrize("answer", [NO, "no, that is enough", NOBODY_ANSWERS])
async def test_c1_without_more_the_agent_comes_to_an_end(tmp_path: Path, answer: str) -> None:
    """C-1: at once where the person says no, at the limit where nobody is there."""
    async with engine_home(tmp_path, "anthropic", working(30)) as home:
        files(home, 30)
        home.engine.settings.values.long_steps = 8
        session = await home.session()
        events = await talk(session, lambda _: answer)
        assert (end_of(events).reason, end_of(events).steps) == ("step_limit", 8)
        told = [
            event.text
            for event in events
            if (isinstance(event, Told) and event.topic != "orientation")
        ]
        assert told == [LAST_STEP if answer == NOBODY_ANSWERS else NEARLY_OUT]
        assert sum(isinstance(event, AwaitingReply) for event in events) == 1
        assert isinstance(session.transcript.blocks[-1], EndBlock)


async def test_c1_the_person_is_asked_ahead_of_a_cap_of_tokens(tmp_path: Path) -> None:
    """C-1, L-14: for the turn as much again, for the day a quarter more, and so again."""
    async with engine_home(tmp_path, "anthropic", working(9, Usage(inp=1_000, out=0))) as home:
        files(home, 40)
        values = home.engine.settings.values
        values.turn_tokens, values.day_tokens = 6_000, 8_000
        session = await home.session()
        events = await talk(session, lambda asked: asked.choices[0])
        asked = [event for event in events if isinstance(event, AwaitingReply)]
        assert [one.choices[0] for one in asked] == [
            "Yes, 6,000 tokens more",
            "Yes, 2,000 tokens more",
            "Yes, 2,500 tokens more",
        ]
        assert "of your limit of 6,000 tokens for one turn" in asked[0].text
        assert "of your limit of 8,000 tokens for today" in asked[1].text
        assert end_of(events).reason == "done"


async def test_c1_one_request_beyond_what_is_left_is_asked_about_before_it_goes_out(
    tmp_path: Path,
) -> None:
    """C-1, L-14: nothing was used yet, so no share of the cap could announce it."""
    async with engine_home(tmp_path, "anthropic", [Turn(Words("Done."))]) as home:
        home.engine.settings.values.turn_tokens = 100
        session = await home.session()
        refused = await talk(session, lambda _: NO)
        assert (end_of(refused).reason, end_of(refused).cap) == ("token_limit", "turn")
        assert not home.asked
        home.engine.settings.values.turn_tokens = 100_000
        session = await home.session()
        assert end_of(await talk(session, nobody)).reason == "done"


async def test_c1_commands_and_questions_take_no_time(tmp_path: Path) -> None:
    """C-1, L-11: neither what a command takes nor what the person takes ends a turn."""
    calls = [
        Call("run", {"command": "sleep 1.2", "time_limit": 600}),
        Call("ask", {"question": "Which?"}),
    ]
    script = [Turn(*calls, stop="tool_use"), Turn(Words("Done."))]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        events: list[Event] = []
        async for envelope in session.turn([Text("Go")], rules=[Rule.parse("run")]):
            event = envelope.event
            events.append(event)
            if isinstance(event, ToolFinished) and event.text != "The left one":
                open_call = session.transcript.last_calls[1]
                await asyncio.sleep(0.3)
                session.answer_question(open_call.call_id, "The left one")
        ran = next(event for event in events if isinstance(event, ToolFinished))
        assert ran.seconds > 1.0
        end = end_of(events)
        assert end.reason == "done" and end.seconds < ran.seconds


async def test_c1_waiting_for_a_job_takes_no_time(tmp_path: Path) -> None:
    """C-1, C-13: a command that takes longer goes on in the background, and is still a command."""

    def script(view: RequestView) -> Turn:
        jobs = home.engine.services.jobs.of()
        match len(results_in(view)):
            case 0:
                command = "until [ -e ready ]; do sleep 0.05; done"
                return Turn(Call("run", {"command": command, "background": True}))
            case 1:
                return Turn(Call("job", {"id": jobs[0].id, "wait": 600}))
            case _:
                return Turn(Words("Done."))

    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        await session.change(permission_mode="auto")
        events: list[Event] = []
        began, starts = time.monotonic(), 0
        async for envelope in session.turn([Text("Go")], rules=[Rule.parse("run")]):
            events.append(envelope.event)
            starts += isinstance(envelope.event, ToolStarted)
            if isinstance(envelope.event, ToolStarted) and starts == 2:
                await asyncio.sleep(1 + 2 * (time.monotonic() - began))
                (home.folder / "ready").touch()
        waited = [event for event in events if isinstance(event, ToolFinished)][1]
        assert waited.seconds > 1.0 and "is over" in waited.text
        assert end_of(events).reason == "done" and end_of(events).seconds < waited.seconds


@pytest.mark.parametrize(("answer", "least"), [("yes, all day long", 8.0), (NO, 4.0)])
async def test_c1_a_time_that_runs_out_waits_for_the_answer(
    tmp_path: Path, answer: str, least: float
) -> None:
    """C-1: the clock stands while the open question is all that keeps a turn from its end."""
    script = [look(1), Turn(faults=[stall("headers")])]
    async with engine_home(tmp_path, "anthropic", script) as home:
        files(home, 2)
        home.engine.settings.values.long_seconds = 4.0
        session = await home.session()
        events: list[Event] = []
        async for envelope in session.turn([Text("Go")]):
            event = envelope.event
            events.append(event)
            if isinstance(event, ToolFinished):
                assert session._turn is not None
                clock = session._turn._state.clock
                clock._worked += max(0.0, 3.1 - clock.seconds)
            if isinstance(event, AwaitingReply) and "4 s in this turn" in event.text:
                await until(lambda clock=clock: clock._since is None, what="the clock stands")
                session.answer_question(event.call_id, answer)
            elif isinstance(event, AwaitingReply):  # about the time that was added
                session.answer_question(event.call_id, NOBODY_ANSWERS)
        assert any(isinstance(event, ReplyGiven) for event in events)
        assert end_of(events).reason == "time_limit" and end_of(events).seconds >= least
