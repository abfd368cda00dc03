"""Which model works on a message, and whether the person waits: opt-in and visible (L-13)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from studio.agent.prompts import NOBODY_ANSWERS, TAKE_OVER
from studio.agent.session import model_router
from studio.agent.session.session import Session
from studio.cli.console import Console
from studio.cli.event_printer import JsonPrinter
from studio.cli.turn_driver import TurnDriver
from studio.domain.agents import Caps, Limits, Mode
from studio.domain.blocks import EndBlock, NoticeBlock
from studio.domain.errors import ConfigurationError
from studio.domain.events import (
    AwaitingReply,
    Event,
    HistoryBegun,
    Routed,
    Told,
    TurnComplete,
    TurnStarted,
)
from studio.domain.messages import Image, Said
from studio.domain.messages import Text as Words
from studio.simulator import Call, RequestView, Text, Turn, Usage, stall, status
from support.engine_home import EngineHome, engine_home
from support.waiting import FOREVER

PROVIDER = "openai-compatible"
QUICK, TASK = "What is this?", "Add type hints to all files in src."
HARD = "Refactor the whole project: design a new architecture and migrate every module to it."


def models(home: EngineHome, *, asked: str = "", **tiers: str) -> None:
    """Routing is on, with these models for the tiers."""
    values = home.engine.settings.values
    values.routing = True
    values.tiers = {tier: f"{PROVIDER}/{model}" for tier, model in tiers.items()}
    values.routing_model = f"{PROVIDER}/{asked}" if asked else ""


async def say(session: Session, *said: Said | str, mode: Mode | None = None) -> list[Event]:
    blocks = [Words(one) if isinstance(one, str) else one for one in said]
    events: list[Event] = []
    async for envelope in session.turn(blocks, mode=mode):
        events.append(envelope.event)
        if isinstance(envelope.event, AwaitingReply):  # ahead of a limit
            session.answer_question(envelope.event.call_id, NOBODY_ANSWERS)
    return events


def of(kind: type[Any], events: Sequence[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def answer(view: RequestView) -> Turn:
    return Turn(Text(f"{view.model} here."), usage=Usage(inp=100, out=5))


async def test_it_is_off_until_the_person_wants_it(tmp_path: Path) -> None:
    async with engine_home(tmp_path, PROVIDER, answer) as home:
        home.engine.settings.values.tiers = {"small": f"{PROVIDER}/tiny"}
        session = await home.session(model="usual")
        events = await say(session, QUICK)
        assert not of(Routed, events) and session.info.model == "usual"
        assert events[0].mode == "long"  # type: ignore[union-attr]


async def test_a_message_goes_to_the_tier_that_it_looks_like(tmp_path: Path) -> None:
    """L-13: rules choose mode and tier; the event says so, the transcript shows it."""
    async with engine_home(tmp_path, PROVIDER, answer) as home:
        models(home, small="tiny", large="big", cloud="huge")
        for words, mode, model in (
            (QUICK, "inline", "tiny"),
            (TASK, "long", "big"),
            (HARD, "long", "huge"),
        ):
            session = await home.session(model="usual")
            events = await say(session, words)
            started, routed = events[0], of(Routed, events)[0]
            assert isinstance(started, TurnStarted)
            assert (started.mode, started.model) == (mode, model)
            assert (routed.mode, routed.provider, routed.model) == (mode, PROVIDER, model)
            assert not routed.asked and model in routed.why
            assert home.asked[-1].json["model"] == model  # type: ignore[index]
            assert session.info.model == model and not session.info.model_chosen
            shown = [b.text for b in session.transcript.blocks if isinstance(b, NoticeBlock)]
            assert shown == [routed.why]
            kept = await home.engine.store.get(session.info.id)
            assert kept is not None and (kept.model, kept.model_chosen) == (model, False)
        assert not home.simulator.violations


async def test_a_chat_moves_up_and_never_down(tmp_path: Path) -> None:
    """H-7: a switch makes the new model read everything anew, so it has to be worth it."""
    async with engine_home(tmp_path, PROVIDER, answer) as home:
        models(home, small="tiny", large="big")
        session = await home.session(model="usual")
        assert of(TurnStarted, await say(session, QUICK))[0].model == "tiny"
        up = await say(session, TASK)
        assert of(TurnStarted, up)[0].model == "big"
        assert [e.model for e in of(HistoryBegun, up)] == ["big"]
        down = await say(session, QUICK)
        assert (down[0].model, down[0].mode) == ("big", "inline")  # type: ignore[union-attr]
        assert not of(HistoryBegun, down)
        assert not home.simulator.violations


async def test_what_the_person_chose_stays(tmp_path: Path) -> None:
    """A model chosen in this chat, at its beginning or later, and an agent's own."""
    async with engine_home(tmp_path, PROVIDER, answer) as home:
        models(home, small="tiny", large="big")
        later = await home.session(model="usual")
        await later.change(provider=PROVIDER, model="mine")
        chosen = await home.engine.sessions.create(
            folder=str(home.folder),
            agent="Coder",
            provider=PROVIDER,
            model="mine",
            model_chosen=True,
        )
        agents = home.engine.paths.agents
        agents.mkdir(parents=True, exist_ok=True)
        (agents / "own.md").write_text("---\nname: Own\nmodel: mine\n---\nGo.\n")
        own = await home.session(agent="Own", model="mine")
        for session in (later, chosen, own):
            events = await say(session, QUICK)
            assert events[0].model == "mine" and session.info.model == "mine"  # type: ignore[union-attr]
            assert events[0].mode == "inline"  # type: ignore[union-attr]
            assert of(Routed, events)[0].model == "mine"
        assert (await say(later, QUICK, mode="background"))[0].mode == "background"  # type: ignore[union-attr]


async def test_a_tier_that_cannot_be_used_is_passed_over(tmp_path: Path) -> None:
    async with engine_home(tmp_path, PROVIDER, answer) as home:
        models(home, large="big")
        home.engine.settings.values.tiers["small"] = "anthropic/no-key-for-it"
        home.engine.settings.values.tiers["cloud"] = "not a name"
        for words in (QUICK, HARD):
            session = await home.session(model="usual")
            assert (await say(session, words))[0].model == "big"  # type: ignore[union-attr]
        home.engine.settings.values.tiers = {}
        session = await home.session(model="usual")
        assert (await say(session, QUICK))[0].model == "usual"  # type: ignore[union-attr]


async def test_a_model_that_cannot_see_gets_no_picture(tmp_path: Path) -> None:
    async with engine_home(tmp_path, PROVIDER, answer) as home:
        models(home, small="blind", large="seeing")
        home.engine.settings.values.models = {f"{PROVIDER}/blind": {"images": False}}
        session = await home.session(model="usual")
        from support.sample_files import picture

        events = await say(session, Image("image/png", picture()), QUICK)
        assert events[0].model == "seeing"  # type: ignore[union-attr]


async def test_a_small_model_may_be_asked(tmp_path: Path) -> None:
    """Its word counts instead of the rules', and what it used is counted."""

    def play(view: RequestView) -> Turn:
        if view.model == "sorter":
            assert "two words" in view.system and QUICK in view.last_user and not view.tools
            return Turn(Text("Cloud, background."), usage=Usage(inp=77, out=3))
        return answer(view)

    async with engine_home(tmp_path, PROVIDER, play) as home:
        models(home, asked="sorter", small="tiny", cloud="huge")
        session = await home.session(model="usual")
        events = await say(session, QUICK)
        routed = of(Routed, events)[0]
        assert events[0].model == "huge" and routed.mode == "long"  # type: ignore[union-attr]
        assert routed.asked == f"{PROVIDER}/sorter" and routed.usage.input == 77
        assert session.transcript.total_usage.input == 177
        spent = await home.engine.usage_costs.spent("model", session.info.id)
        assert spent["sorter"].usage.input == 77 and spent["huge"].usage.input == 100
        entries = await home.engine.store.ledger(session.info.id)
        assert [(e.model, e.step) for e in entries] == [("sorter", 0), ("huge", 1)]
        assert not home.simulator.violations


@pytest.mark.parametrize("trouble", ["nonsense", "error", "slow", "budget"])
async def test_without_its_word_the_rules_decide(
    tmp_path: Path, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(view: RequestView) -> Turn:
        if view.model != "sorter":
            return answer(view)
        if trouble in ("error", "slow"):
            fault = status(500) if trouble == "error" else stall()
            return Turn(Text("Cloud, background."), faults=[fault])
        return Turn(Text("I think it is nice."))

    # As the rest it has time to arrive, also at a computer that is busy.
    monkeypatch.setattr(model_router, "DEADLINE", 1.0 if trouble == "slow" else 60.0)
    async with engine_home(tmp_path, PROVIDER, play) as home:
        models(home, asked="sorter", small="tiny", large="big")
        values = home.engine.settings.values
        if trouble == "budget":
            values.turn_tokens = 10
        session = await home.session(model="usual")
        events = await say(session, QUICK)
        assert events[0].model == "tiny", events  # type: ignore[union-attr]
        sorted_by = [one for one in home.asked if "sorter" in str(one.json)]
        assert bool(sorted_by) is (trouble != "budget")


def circling(view: RequestView) -> Turn:
    """The small model reads the same file again and again."""
    if view.model == "tiny":
        return Turn(Call("read", {"path": "a.txt"}), usage=Usage(inp=10, out=1))
    assert "got stuck" in str(view.body)
    return answer(view)


async def test_a_stalled_turn_goes_to_the_next_tier(tmp_path: Path) -> None:
    """L-8, L-13: the next model sees what was done, is told, and finishes."""
    async with engine_home(tmp_path, PROVIDER, circling) as home:
        (home.folder / "a.txt").write_text("alpha\n")
        models(home, small="tiny", large="big", cloud="huge")
        session = await home.session(model="usual")
        events = await say(session, "What is in a.txt?")
        ends = of(TurnComplete, events)
        assert [end.reason for end in ends] == ["stalled", "done"]
        assert [e.model for e in of(TurnStarted, events)] == ["tiny", "big"]
        assert [e.said for e in of(TurnStarted, events)][1] == ()
        first, second = of(Routed, events)
        assert second.why == "tiny got stuck, so big works on it in the background."
        assert any(told.text == TAKE_OVER for told in of(Told, events))
        assert session.info.model == "big" and session.info.state == "done"
        assert not home.simulator.violations and first.mode == "inline"


async def test_l2_a_message_that_rose_has_one_end_in_a_script(tmp_path: Path) -> None:
    """L-2, L-13, S-5: the last one, with what all tiers did."""
    printed: list[Event] = []

    class Kept(JsonPrinter):
        def event(self, event: Event) -> None:
            printed.append(event)

    async with engine_home(tmp_path, PROVIDER, circling) as home:
        (home.folder / "a.txt").write_text("alpha\n")
        models(home, small="tiny", large="big", cloud="huge")
        session = await home.session(model="usual")
        driver = TurnDriver(session, Console(), Kept(Console()), None)
        assert await driver.run_turn([Words("What is in a.txt?")], [], None) == 0
        assert [e.model for e in of(TurnStarted, printed)] == ["tiny", "big"]
        (end,) = of(TurnComplete, printed)
        assert end is printed[-1] and end.reason == "done"
        assert (end.steps, end.usage.input) == (len(home.asked), 3 * 10 + 100)


@pytest.mark.parametrize("cap", [23_000, 200_000])
async def test_l14_all_tiers_of_a_message_draw_on_one_cap(tmp_path: Path, cap: int) -> None:
    """Or one message might use the turn's cap once for each tier."""

    def circles(view: RequestView) -> Turn:
        if view.model == "tiny":
            return Turn(Call("read", {"path": "a.txt"}), usage=Usage(inp=7_000, out=1))
        return answer(view)

    async with engine_home(tmp_path, PROVIDER, circles) as home:
        (home.folder / "a.txt").write_text("alpha\n")
        models(home, small="tiny", large="big")
        values = home.engine.settings.values
        values.turn_tokens = cap
        session = await home.session(model="usual")
        events = await say(session, "What is in a.txt?")
        first, last = of(TurnComplete, events)
        assert first.reason == "stalled"
        asked = [one.json["model"] for one in home.asked]  # type: ignore[index]
        if cap > 23_000:
            assert last.reason == "done" and asked == ["tiny"] * 3 + ["big"]
            return
        assert (last.reason, last.cap) == ("token_limit", "turn") and asked == ["tiny"] * 3
        again = [one.event async for one in session.turn(())]  # the person wants to go on
        assert of(TurnComplete, again)[0].reason == "done"


async def test_l14_the_small_model_that_is_asked_draws_on_the_same_cap(tmp_path: Path) -> None:
    def play(view: RequestView) -> Turn:
        if view.model == "sorter":
            return Turn(Text("small, inline"), usage=Usage(inp=29_990, out=9))
        return answer(view)

    async with engine_home(tmp_path, PROVIDER, play) as home:
        models(home, asked="sorter", small="tiny")
        home.engine.settings.values.turn_tokens = 30_000
        events = await say(await home.session(model="usual"), QUICK)
        (end,) = of(TurnComplete, events)
        assert (end.reason, end.cap) == ("token_limit", "turn") and len(home.asked) == 1


async def test_l1_a_working_model_at_the_inline_cap_is_not_stuck(tmp_path: Path) -> None:
    """L-1, L-13: the person is offered the background; the next tier comes at that one's cap."""
    looks = iter(range(100))

    def works(view: RequestView) -> Turn:
        if view.model == "tiny":
            return Turn(Call("read", {"path": f"{next(looks)}.txt"}), usage=Usage(inp=10, out=1))
        return answer(view)

    async with engine_home(tmp_path, PROVIDER, works) as home:
        models(home, small="tiny", large="big")
        for n in range(100):
            (home.folder / f"{n}.txt").write_text(f"{n}\n")
        session = await home.session(model="usual")
        events = await say(session, QUICK)
        (end,) = of(TurnComplete, events)
        assert (end.reason, end.steps) == ("step_limit", 5) and not session.running
        last = session.transcript.blocks[-1]
        assert isinstance(last, EndBlock) and last.mode == "inline"
        assert session.info.model == "tiny" and len(of(Routed, events)) == 1

        events = [one.event async for one in session.turn((), mode="background")]
        started = of(TurnStarted, events)
        assert [(e.model, e.mode) for e in started] == [
            ("tiny", "background"),
            ("big", "background"),
        ]
        assert [e.reason for e in of(TurnComplete, events)] == ["step_limit", "done"]
        assert not home.simulator.violations


@pytest.mark.parametrize("rounds", [0, 1, 2, 4, 8])
async def test_l13_between_two_tiers_the_session_works_and_is_stopped(
    tmp_path: Path, rounds: int
) -> None:
    """L-11: a Stop between two turns of one message is not lost, so many rounds of the
    event loop after the first one's end; nobody else begins there."""

    async def stopped(session: Session) -> None:
        assert session.escalating and session.info.state == "stalled"
        for _ in range(rounds):
            await asyncio.sleep(0)
        assert session.running
        with pytest.raises(ConfigurationError, match="still working"):
            await say(session, "Me too")
        session.stop()

    async with engine_home(tmp_path, PROVIDER, circling) as home:
        (home.folder / "a.txt").write_text("alpha\n")
        models(home, small="tiny", large="big")
        session = await home.session(model="usual")
        events: list[Event] = []
        stopping: asyncio.Task[None] | None = None
        async for envelope in session.turn([Words("What is in a.txt?")]):
            event = envelope.event
            events.append(event)
            if isinstance(event, TurnComplete) and stopping is None:
                stopping = asyncio.ensure_future(stopped(session))
                await asyncio.sleep(0)
        assert stopping is not None
        await stopping
        assert [e.reason for e in of(TurnComplete, events)] == ["stalled", "cancelled"]
        assert not session.running and session.info.state == "cancelled"
        ends = of(TurnComplete, await say(session, "And now?"))
        assert ends[-1].reason == "done" and not session.running
        assert not home.simulator.violations


async def test_a_reader_who_leaves_between_two_tiers_leaves_a_session_at_rest(
    tmp_path: Path,
) -> None:
    async with engine_home(tmp_path, PROVIDER, circling) as home:
        (home.folder / "a.txt").write_text("alpha\n")
        models(home, small="tiny", large="big")
        session = await home.session(model="usual")
        async with aclosing(session.turn([Words("What is in a.txt?")])) as turn:
            async for envelope in turn:
                event = envelope.event
                if isinstance(event, TurnComplete):
                    break
        assert not session.running and not session.escalating
        assert of(TurnStarted, await say(session, "And now?"))[-1].model == "big"


async def test_the_last_tier_is_the_end(tmp_path: Path) -> None:
    """A chat that everybody circles in ends once, at the top; so does one with a chosen model."""

    def all_circle(view: RequestView) -> Turn:
        return Turn(Call("read", {"path": "a.txt"}), usage=Usage(inp=10, out=1))

    async with engine_home(tmp_path, PROVIDER, all_circle) as home:
        (home.folder / "a.txt").write_text("alpha\n")
        models(home, small="tiny", large="big")
        session = await home.session(model="usual")
        events = await say(session, "What is in a.txt?")
        assert [e.model for e in of(TurnStarted, events)] == ["tiny", "big"]
        assert [e.reason for e in of(TurnComplete, events)] == ["stalled", "stalled"]
        chosen = await home.session(model="usual")
        await chosen.change(model="tiny")
        assert len(of(TurnStarted, await say(chosen, "What is in a.txt?"))) == 1


@pytest.mark.parametrize("bound", ["steps", "tokens"])
async def test_l14_bounds_of_one_turn_hold_for_every_tier(tmp_path: Path, bound: str) -> None:
    """Who asks for three steps, or for so many tokens, gets no other turn on top."""

    def all_circle(view: RequestView) -> Turn:
        return Turn(Call("read", {"path": "a.txt"}), usage=Usage(inp=10, out=1))

    async with engine_home(tmp_path, PROVIDER, all_circle) as home:
        (home.folder / "a.txt").write_text("alpha\n")
        models(home, small="tiny", large="big")
        session = await home.session(model="usual")
        bounds: dict[str, Any] = (
            {"limits": Limits(2, FOREVER)} if bound == "steps" else {"caps": Caps(tokens=1_000_000)}
        )
        turn = session.turn([Words("What is in a.txt?")], mode="background", **bounds)
        events = [envelope.event async for envelope in turn]
        assert [e.model for e in of(TurnStarted, events)] == ["tiny"]
        assert of(TurnComplete, events)[0].reason == (
            "step_limit" if bound == "steps" else "stalled"
        )
        assert of(TurnStarted, await say(session, "And now?"))[-1].model == "big"
