"""Inline and background, and what a person says while an agent works (L-1, L-11, H-6)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from studio.agent.prompts import LAST_STEP, NEARLY_OUT
from studio.agent.session.event_channel import EventEnvelope
from studio.agent.session.session import Session
from studio.domain.agents import Limits
from studio.domain.blocks import EndBlock, UserBlock
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    Event,
    MessageTaken,
    Steered,
    Told,
    ToolFinished,
    TurnComplete,
    TurnStarted,
)
from studio.domain.messages import Image, Text
from studio.simulator import Call, Turn
from studio.simulator import Text as Words
from studio.storage.config.settings import Settings
from studio.tools import Context, tool
from support.engine_home import PROTOCOLS, EngineHome, engine_home, say


def look(path: str) -> Turn:
    return Turn(Call("search", {"pattern": path}), stop="tool_use")


def end_of(events: list[Event]) -> TurnComplete:
    end = events[-1]
    assert isinstance(end, TurnComplete)
    return end


def own_agent(home: EngineHome, text: str) -> None:
    file = home.engine.paths.agents / "own.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"---\nname: Own\n{text}\n---\nWork.\n")


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_l1_h6_the_inline_cap_is_told_and_the_background_goes_on(
    provider: str, tmp_path: Path
) -> None:
    """Five steps; the last request says so; then on from there, with nothing said twice."""
    script = [look(str(n)) for n in range(6)] + [Turn(Words("Done."))]
    async with engine_home(tmp_path, provider, script) as home:
        own_agent(home, "mode: inline")
        (home.folder / "numbers.txt").write_text("0\n1\n2\n3\n4\n5\n")  # each is found
        session = await home.session("Own")
        events = await say(session)
        assert (end_of(events).reason, end_of(events).steps) == ("step_limit", 5)
        assert [e.text for e in events if isinstance(e, Told)][1:] == [LAST_STEP]
        assert [str(one.json).count(LAST_STEP) for one in home.asked] == [0, 0, 0, 0, 1]
        last = session.transcript.blocks[-1]
        assert isinstance(last, EndBlock) and last.mode == "inline"
        events = [one.event async for one in session.turn((), mode="background")]
        assert isinstance(events[0], TurnStarted) and events[0].mode == "background"
        assert end_of(events).reason == "done" and len(home.asked) == 7
        assert not home.simulator.violations


async def test_l1_l11_both_modes_are_settings_and_an_agent_may_differ(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", []) as home:
        own_agent(home, "mode: inline\nsteps: 3\nseconds: 2.5")
        values = home.engine.settings.values
        values.inline_seconds = Settings().inline_seconds
        values.background_steps, values.background_seconds = 7, 70.0
        coder = await home.engine.agent("Coder", home.folder)
        own = await home.engine.agent("Own", home.folder)
        limits = home.engine.limits(coder, "inline")
        assert (limits.steps, limits.seconds, limits.parallel_tools) == (5, 30.0, 5)
        limits = home.engine.limits(coder, "background")
        assert (limits.steps, limits.seconds) == (7, 70.0)
        limits = home.engine.limits(own, "background")
        assert (limits.steps, limits.seconds) == (3, 2.5)


@pytest.mark.parametrize(("setting", "own"), [(2, ""), (7, "parallel_tools: 2")])
async def test_l3_how_many_tools_run_at_a_time_is_a_setting(
    tmp_path: Path, setting: int, own: str
) -> None:
    """Four calls of one reply go two by two; a third beside them would be seen."""
    calls = [Call("meet", {"number": n}) for n in range(4)]
    script = [Turn(*calls, stop="tool_use"), Turn(Words("Met."))]
    async with engine_home(tmp_path, "anthropic", script) as home:
        own_agent(home, own)
        home.engine.settings.values.parallel_tools = setting
        pair, there, most = asyncio.Barrier(2), 0, 0

        @tool(effect="read", time_limit=60)
        async def meet(context: Context, number: int) -> str:
            """Wait for another one.

            number: Which one this is.
            """
            nonlocal there, most
            there += 1
            most = max(most, there)
            await pair.wait()
            await asyncio.sleep(0)  # a third would begin before the second goes
            there -= 1
            return "Met."

        home.engine.toolbox.tools["meet"] = meet
        events = await say(await home.session("Own"))
        results = [event for event in events if isinstance(event, ToolFinished)]
        assert len(results) == 4 and not any(one.is_error for one in results)
        assert end_of(events).reason == "done" and most == 2


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_l1_words_said_meanwhile_steer_the_turn_at_its_next_step(
    provider: str, tmp_path: Path
) -> None:
    script = [look("a"), look("b"), Turn(Words("As you wish."))]
    async with engine_home(tmp_path, provider, script) as home:
        session = await home.session()

        def rather(envelope: EventEnvelope) -> None:
            event = envelope.event
            if isinstance(event, ToolFinished) and len(home.asked) == 1:
                session.steer(session.queue.add([Text("Rather look at tests.")]))

        session.subscribe(rather)
        events = await say(session)
        assert end_of(events).reason == "done"
        assert ["Rather look" in str(one.json) for one in home.asked] == [False, True, True]
        assert not session.transcript.queued and not home.simulator.violations
        kinds = [type(e) for e in events if isinstance(e, MessageTaken | Steered)]
        assert kinds == [MessageTaken, Steered]
        said = [b.text for b in session.transcript.blocks if isinstance(b, UserBlock)]
        assert said == ["Go", "Rather look at tests."]
        # Another provider gets it too, in its place.
        roles = [(m.role, m.text) for m in session.transcript.messages() if m.text]
        assert roles == [
            ("user", "Go"), ("user", "Rather look at tests."), ("assistant", "As you wish."),
        ]  # fmt: skip


async def test_l1_a_message_that_is_taken_back_steers_nothing(tmp_path: Path) -> None:
    """Nor does one steer twice that is given to the turn twice."""
    async with engine_home(tmp_path, "anthropic", [look("a"), Turn(Words("Yes."))]) as home:
        session = await home.session()

        def change_of_mind(envelope: EventEnvelope) -> None:
            if isinstance(envelope.event, ToolFinished):
                back = session.queue.add([Text("Not this.")])
                session.steer(back)
                assert session.queue.remove(back) == (Text("Not this."),)
                for _ in range(2):
                    session.steer(session.queue.add([Text("Twice.")]) if not twice else twice[0])
                    twice.extend(session.transcript.queued)

        twice: list[str] = []
        session.subscribe(change_of_mind)
        await say(session)
        sent = str(home.asked[-1].json)
        assert (sent.count("Not this."), sent.count("Twice.")) == (0, 1)
        assert not session.transcript.queued


async def test_l1_steering_an_answer_that_is_being_written_gets_one_more_step(
    tmp_path: Path,
) -> None:
    script = [Turn(Words("Done.")), Turn(Words("Louder: done."))]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()

        def louder(envelope: EventEnvelope) -> None:
            event = envelope.event
            if type(event).__name__ == "TextDelta" and len(home.asked) == 1:
                session.steer(session.queue.add([Text("Louder.")]))

        session.subscribe(louder)
        events = await say(session)
        assert (end_of(events).reason, end_of(events).steps) == ("done", 2)


async def test_l1_queued_words_wait_for_the_end_and_outlive_the_program(tmp_path: Path) -> None:
    script = [look("a"), Turn(Words("One.")), Turn(Words("Two."))]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        taken = ""
        async for envelope in session.turn([Text("Go")]):
            event = envelope.event
            if isinstance(event, ToolFinished):
                session.queue.add([Text("Then this.")])
                session.queue.add([Text("And this.")])
                taken = session.queue.add([Text("Not this.")])
        assert "Then this" not in str([one.json for one in home.asked])
        assert session.queue.remove(taken) == (Text("Not this."),)
        assert session.queue.remove(taken) == ()
    async with engine_home(tmp_path, "anthropic", script[2:]) as home:
        session = await _only(home)
        assert list(session.transcript.queued.values()) == [
            (Text("Then this."),), (Text("And this."),),
        ]  # fmt: skip
        events = [one.event async for one in session.turn(session.queue.next)]
        assert end_of(events).reason == "done" and "Then this." in str(home.asked[0].json)
        last = session.queue.next
        assert last is not None and last.said == (Text("And this."),)
        assert session.queue.remove(last.message_id) == last.said and session.queue.next is None


async def test_l1_a_stopped_turn_keeps_what_was_to_steer_it(tmp_path: Path) -> None:
    script = [Turn(Call("run", {"command": "sleep 3600"}), stop="tool_use"), Turn(Words("Hi."))]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        async for envelope in session.turn([Text("Go")]):
            event = envelope.event
            if type(event).__name__ == "AwaitingPermission":
                session.steer(session.queue.add([Text("Wait.")]))
                session.stop()
        assert [words[0] for words in session.transcript.queued.values()] == [Text("Wait.")]
        assert (
            end_of([one.event async for one in session.turn(session.queue.next)]).reason == "done"
        )


async def test_l1_two_turns_at_once_each_with_its_own_stop(tmp_path: Path) -> None:
    """Side by side in the background; one is stopped, the other does not notice."""
    script = [
        Turn(Call("run", {"command": "sleep 3600"}), stop="tool_use"),
        Turn(Call("run", {"command": "sleep 3600"}), stop="tool_use"),
    ]
    async with engine_home(tmp_path, "anthropic", script) as home:
        first, second = await home.session(), await home.session()
        ends: dict[str, str] = {}

        async def drive(session: Session, other: Session | None) -> None:
            async for envelope in session.turn([Text("Go")], mode="background"):
                event = envelope.event
                name = type(event).__name__
                if name == "AwaitingPermission":
                    if other is not None:
                        ends["other"] = str(other.running)
                    session.stop()
                if isinstance(event, TurnComplete):
                    ends[session.info.id] = event.reason

        one = drive(first, second)
        two = second.turn([Text("Go")], mode="background")
        async for envelope in two:
            event = envelope.event
            if type(event).__name__ == "AwaitingPermission":
                break
        await one
        assert ends == {"other": "True", first.info.id: "cancelled"}
        assert second.running
        await two.aclose()
        assert not second.running


async def _only(home: EngineHome) -> Session:
    infos = await home.engine.sessions.list()
    return await home.engine.sessions.open(infos[0].id)


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_l1_what_a_model_cannot_read_steers_it_in_words(
    provider: str, tmp_path: Path
) -> None:
    """H-5: a picture that would be refused does not reach a model that reads none."""
    script = [look("a"), Turn(Words("As you wish."))]
    async with engine_home(tmp_path, provider, script) as home:
        home.engine.settings.values.models[f"{provider}/sim-model"] = {"images": False}
        session = await home.session()

        def show(envelope: EventEnvelope) -> None:
            event = envelope.event
            if isinstance(event, ToolFinished):
                picture = Image("image/png", b"\x89PNG not sent")
                session.steer(session.queue.add([Text("Like this."), picture]))

        session.subscribe(show)
        await say(session)
        sent = str(home.asked[1].json)
        assert "Like this." in sent and "icture" in sent and "iVBOR" not in sent
        assert len(home.asked) == 2 and not home.simulator.violations


@pytest.mark.parametrize("asked", ["run", "ask"])
async def test_l11_the_wait_for_an_answer_does_not_count(tmp_path: Path, asked: str) -> None:
    """Whether the agent asks something, or for leave."""
    given = {"command": "true"} if asked == "run" else {"question": "Which?"}
    script = [Turn(Call(asked, given), stop="tool_use"), Turn(Words("Done."))]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        async for envelope in session.turn([Text("Go")]):
            event = envelope.event
            turn = session._turn
            if isinstance(event, AwaitingPermission | AwaitingReply) and turn is not None:
                before = turn._state.clock.seconds
                await asyncio.sleep(0.05)
                assert turn._state.clock.seconds == before
                if isinstance(event, AwaitingReply):
                    session.answer_question(event.call_id, "Blue")
                else:
                    session.answer_permission(event.question.id, "once")
        assert end_of([event]).reason == "done"


async def test_l11_h6_the_agent_is_told_before_its_time_is_up(tmp_path: Path) -> None:
    async with engine_home(
        tmp_path, "anthropic", [look("a"), look("b"), Turn(Words("Done."))]
    ) as home:
        session = await home.session()

        def pass_time(envelope: EventEnvelope) -> None:
            event = envelope.event
            if isinstance(event, ToolFinished) and len(home.asked) == 1:
                assert session._turn is not None
                session._turn._state.clock._worked += 900.0

        session.subscribe(pass_time)
        async for _ in session.turn([Text("Go")], limits=Limits(9, 1000.0)):
            pass
        assert [str(one.json).count(NEARLY_OUT) for one in home.asked] == [0, 1, 1]
