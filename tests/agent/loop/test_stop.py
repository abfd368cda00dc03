"""L-11: whatever a turn waits for, Stop ends it and nothing runs on.

What is waited for here never comes. How quick Stop is, its benchmark says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from studio.agent.budget import Amount
from studio.agent.prompts import CALL_STOPPED, CALL_STOPPED_AFTER
from studio.agent.session.session import Session
from studio.domain.agents import Caps
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    Event,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnComplete,
    TurnStarted,
)
from studio.domain.messages import Text
from studio.domain.permissions import Rule
from studio.simulator import Call, Turn, stall
from studio.simulator import Text as Words
from support import story_checks
from support.engine_home import EngineHome, engine_home


async def stopped(
    session: Session,
    ready: Callable[[list[Event]], bool],
    *rules: str,
    after: float | asyncio.Event = 0.05,
) -> list[Event]:
    """The events of a turn that is stopped a moment after it is ready, or when something is set."""
    events: list[Event] = []
    pressing: asyncio.Task[None] | None = None

    async def press() -> None:
        await (after.wait() if isinstance(after, asyncio.Event) else asyncio.sleep(after))
        session.stop()

    async with aclosing(
        session.turn([Text("Go")], rules=[Rule.parse(rule) for rule in rules])
    ) as turn:
        async for envelope in turn:
            event = envelope.event
            events.append(event)
            if pressing is None and ready(events):
                pressing = asyncio.create_task(press())
    end = events[-1]
    assert isinstance(end, TurnComplete) and end.reason == "cancelled"
    assert not session.running
    return events


def seen(kind: type, times: int = 1) -> Callable[[list[Event]], bool]:
    return lambda events: sum(isinstance(event, kind) for event in events) == times


async def goes_on(home: EngineHome, session: Session, *, at_once: bool = False) -> None:
    """Nothing is left of the stopped turn, and the next one is accepted."""
    if not at_once:
        await story_checks.check_nothing_runs()
    events = [one.event async for one in session.turn([Text("And now?")])]
    end = events[-1]
    assert isinstance(end, TurnComplete) and end.reason == "done", end
    assert not home.simulator.violations


async def test_while_it_waits_for_a_place_in_a_budget(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", [Turn(Words("Done."))]) as home:
        session = await home.session()
        await session.change(caps=Caps(tokens=120_000))
        agent = await home.engine.agent("Coder", home.folder)
        budget = await home.engine.services.budgets.for_turn(session.info, agent, None)
        other = await budget.reserve(Amount(1), 119_000)
        await stopped(session, seen(TurnStarted), after=0.3)
        assert not home.asked
        other.settle()
        assert all(one.open == 0 for one in budget.accounts)
        await goes_on(home, session)


async def test_while_a_summary_is_written(tmp_path: Path) -> None:
    long = Words("Many words about nothing. " * 400)
    script = [Turn(long)] * 3 + [Turn(faults=(stall("headers"),)), Turn(Words("Done."))]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        for _ in range(3):
            async for _ in session.turn([Text("Go")]):
                pass
        before = list(session.transcript.blocks)
        writing = asyncio.ensure_future(session.context.summarise())
        await home.simulator.wait_requests(4)
        session.stop()
        await writing
        assert session.transcript.blocks == before
        await goes_on(home, session)


async def test_while_a_large_folder_is_looked_at_for_the_first_time(tmp_path: Path) -> None:
    script = [Turn(Call("run", {"command": "true"}), stop="tool_use"), Turn(Words("Done."))]
    async with engine_home(tmp_path, "anthropic", script) as home:
        await asyncio.to_thread(_fill, home.folder)
        session = await home.session()
        events = await stopped(session, seen(ToolStarted), "run", after=0.0)
        assert any(isinstance(event, ToolStarted) for event in events)
        await goes_on(home, session, at_once=True)  # the look itself is of use later


def _fill(folder: Path) -> None:
    for name in range(200):
        inner = folder / str(name)
        inner.mkdir()
        for number in range(100):
            (inner / f"{number}.txt").write_text("the same")


async def test_while_a_page_does_not_come(tmp_path: Path) -> None:
    arrived = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        arrived.set()
        await reader.read()  # until the other side hangs up
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    call = Call("fetch", {"url": f"http://127.0.0.1:{port}/"})
    script = [Turn(call, stop="tool_use"), Turn(Words("Done."))]
    async with server, engine_home(tmp_path, "anthropic", script) as home:
        home.engine.settings.values.fetch_private = True
        session = await home.session("Researcher")
        events = await stopped(session, seen(ToolStarted), "fetch", after=arrived)
        assert [e for e in events if isinstance(e, ToolFinished)] == []
        await goes_on(home, session)


@pytest.mark.parametrize("asked", ["run", "ask"])
async def test_while_a_question_is_open(tmp_path: Path, asked: str) -> None:
    given = {"command": "true"} if asked == "run" else {"question": "Which?"}
    script = [Turn(Call(asked, given), stop="tool_use"), Turn(Words("Done."))]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        await stopped(session, lambda events: bool(_open(events)))
        assert session.info.state == "cancelled" and not session.transcript.questions
        await goes_on(home, session)


def _open(events: list[Event]) -> list[Event]:
    return [e for e in events if type(e).__name__ in ("AwaitingPermission", "AwaitingReply")]


async def test_while_three_commands_run(tmp_path: Path) -> None:
    calls = [Call("run", {"command": f"sleep {n}"}) for n in (3600, 3601, 3602)]
    script = [Turn(*calls, stop="tool_use"), Turn(Words("Done."))]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        events = await stopped(session, seen(ToolStarted, 3), "run", after=0.2)
        assert not any(isinstance(event, AwaitingPermission) for event in events)
        await goes_on(home, session)


async def test_c25_stopping_a_call_leaves_the_turn_and_the_other_calls(tmp_path: Path) -> None:
    """C-25: the model hears what was printed until then, and the turn goes on to its answer."""
    slow = "echo begun; sleep 3600"
    calls = [
        Call("run", {"command": slow, "time_limit": 3600}),
        Call("ask", {"question": "Which?"}),
    ]
    script = [Turn(*calls, stop="tool_use"), Turn(Words("Done.")), Turn(Words("Done."))]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        assert not session.stop_calls()
        finished: list[ToolFinished] = []
        asked = ""
        async for envelope in session.turn([Text("Go")], rules=[Rule.parse("run")]):
            match envelope.event:
                case ToolOutput() as printed:
                    assert session.stop_calls(printed.call_id)
                case AwaitingReply() as question:
                    asked = question.call_id
                case ToolFinished() as one:
                    finished.append(one)
                case TurnComplete() as end:
                    assert end.reason == "done"
                case _:
                    pass
            if asked and finished:  # it still waits, though the other was stopped
                session.answer_question(asked, "The left one")
        run, ask = finished
        assert run.is_error and run.text == CALL_STOPPED_AFTER.format(output="begun")
        assert not ask.is_error and ask.text == "The left one"
        assert CALL_STOPPED in str(home.asked[-1].json)
        await goes_on(home, session)


async def test_c25_an_interruption_stops_the_tool_and_the_next_one_the_turn(
    tmp_path: Path,
) -> None:
    """C-25: the question beside it still waits, the plan stays, and the turn goes on until then."""
    calls = [
        Call("plan", {"items": [{"text": "wait", "status": "active"}]}),
        Call("run", {"command": "echo begun; sleep 3600", "time_limit": 3600}),
        Call("ask", {"question": "Which?"}),
    ]
    script = [Turn(*calls, stop="tool_use"), Turn(Words("Done."))]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        going_on: list[bool] = []
        asked = printed = False
        async for envelope in session.turn([Text("Go")], rules=[Rule.parse("run")]):
            event = envelope.event
            asked |= isinstance(event, AwaitingReply)
            printed |= isinstance(event, ToolOutput)
            if asked and printed and not going_on:
                going_on.append(session.interrupt())
            if isinstance(event, ToolFinished) and event.text.startswith("begun"):
                assert session.running and session.transcript.last_calls[2].state == "waiting"
                going_on.append(session.interrupt())  # only the question is left
        assert going_on == [True, False]
        assert isinstance(event, TurnComplete) and event.reason == "cancelled"
        assert session.transcript.plan is not None and session.transcript.plan.active is not None
        await goes_on(home, session)


async def test_c25_a_second_interruption_does_not_wait_for_the_tool(tmp_path: Path) -> None:
    """C-25: twice at once is the turn, also where the tool has not ended yet."""
    calls = Call("run", {"command": "sleep 3600", "time_limit": 3600})
    script = [Turn(calls, stop="tool_use"), Turn(Words("Done."))]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()

        def twice() -> None:
            assert [session.interrupt(), session.interrupt()] == [True, False]

        events: list[Event] = []
        async for envelope in session.turn([Text("Go")], rules=[Rule.parse("run")]):
            events.append(envelope.event)
            if isinstance(events[-1], ToolStarted):  # one turn of the loop later it works
                asyncio.get_running_loop().call_soon(twice)
        end = events[-1]
        assert isinstance(end, TurnComplete) and end.reason == "cancelled"
        assert not session.interrupt()  # nothing runs at all
        await goes_on(home, session)


async def test_c25_all_calls_that_work_are_stopped_and_a_turn_can_be_stopped_meanwhile(
    tmp_path: Path,
) -> None:
    """C-25: without a name every tool that works ends; to stop the turn as well wins."""
    calls = [Call("run", {"command": f"sleep {n}", "time_limit": 3600}) for n in (3600, 3601)]
    script = [Turn(*calls, stop="tool_use"), Turn(*calls, stop="tool_use"), Turn(Words("Done."))]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        begun = finished = 0
        async for envelope in session.turn([Text("Go")], rules=[Rule.parse("run")]):
            event = envelope.event
            begun += isinstance(event, ToolStarted)
            if isinstance(event, ToolStarted) and begun in (2, 4):
                # One turn of the loop later both tools work.
                asyncio.get_running_loop().call_soon(session.stop_calls)
                if begun == 4:
                    asyncio.get_running_loop().call_soon(session.stop)
            if isinstance(event, ToolFinished):
                finished += 1
                assert event.text == CALL_STOPPED
            if isinstance(event, TurnComplete):
                assert event.reason == "cancelled" and finished == 2
        assert [call.state for call in session.transcript.last_calls] == ["error"] * 2 + [
            "cancelled"
        ] * 2
        await goes_on(home, session)
