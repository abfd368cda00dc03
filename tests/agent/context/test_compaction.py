"""A conversation that outgrows its model's window goes on by itself (L-10, H-9)."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from studio.agent.context.truncation import SHORTENED
from studio.agent.prompts import SUMMARY_SYSTEM
from studio.agent.session.session import Session
from studio.domain.agents import Limits
from studio.domain.blocks import SummaryBlock, UserBlock
from studio.domain.errors import ConfigurationError
from studio.domain.events import (
    Event,
    Failed,
    HistoryBegun,
    Notice,
    StepEnded,
    Summarised,
    TurnComplete,
)
from studio.domain.messages import Text as Words
from studio.domain.transcript import SUMMED_UP
from studio.simulator import Call, RequestView, Text, Turn, Usage, stall, status
from support.engine_home import PROTOCOLS, EngineHome, engine_home, say
from support.waiting import FOREVER, until

WINDOW = 8_192
WIDER = 14_000
"""Room for a few exchanges beside all of the agent's tools."""
LONG = ("This-is-a-rather-long-line-of-words-about-nothing. " + "And-so-on-" * 5) * 24
"""About 600 tokens, which come in few pieces."""
SUMMARY = "They talked at length about a rather long line of words."


def small(home: EngineHome, window: int = WINDOW, model: str = "sim-model") -> None:
    """The model has a small window, and the simulator keeps it."""
    home.engine.settings.values.models[f"{home.provider}/{model}"] = {"context_window": window}
    home.simulator.window = window


def asks_for_summary(view: RequestView) -> bool:
    return SUMMARY_SYSTEM[:60] in view.system


def chatter(view: RequestView) -> Turn:
    """A model that answers in one long word, and sums up when it is asked to."""
    return Turn(Text(SUMMARY if asks_for_summary(view) else f"Yes. {'x' * 2_000}"))


def reader(view: RequestView) -> Turn:
    """A model that reads another part of a file each turn."""
    if asks_for_summary(view):
        return Turn(Text(SUMMARY))
    if view.results:
        return Turn(Text("Done."))
    number = int(view.last_user.rpartition("(m")[2].partition(")")[0] or 0)
    return Turn(Call("read", {"path": "long.txt", "first_line": 1 + number}))


def accepted(home: EngineHome) -> bool:
    return not home.simulator.violations and all(one.status == 200 for one in home.asked)


def begun(events: list[Event]) -> list[str]:
    return [event.why for event in events if isinstance(event, HistoryBegun) and event.why]


async def talk(session: Session, turns: int, words: str = LONG) -> list[Event]:
    events: list[Event] = []
    for number in range(turns):
        events += await say(session, f"(m{number}) {words}")
        assert isinstance(events[-1], TurnComplete) and events[-1].reason == "done", events[-3:]
    return events


def sent_last(home: EngineHome) -> str:
    return json.dumps(home.asked[-1].json, ensure_ascii=False)


def summaries(session: Session) -> list[SummaryBlock]:
    return [block for block in session.transcript.blocks if isinstance(block, SummaryBlock)]


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_old_results_become_stubs_first(tmp_path: Path, provider: str) -> None:
    """L-10: the first stage asks no model; calls stay, and what the person said."""
    async with engine_home(tmp_path, provider, reader) as home:
        small(home)
        (home.folder / "long.txt").write_text("A line of this file.\n" * 75)
        session = await home.session()
        events = await talk(session, 8, "Read it again")
        assert begun(events)[0] == SHORTENED
        assert not any(isinstance(event, Summarised) for event in events)
        last = sent_last(home)
        assert "was left out. Call it again" in last
        assert re.search(r"An older result of read \(long.txt:1-\d+\), [\d,]+ characters", last)
        assert all(f"(m{number})" in last for number in range(8))
        assert last.count("A line of this file") // 75 >= 3, "the last three results are whole"
        assert accepted(home)
        epochs = await home.engine.store.epochs(session.info.id)
        assert len(epochs) >= 2
        first = await home.engine.store.native(session.info.id, epochs[0].number)
        assert first is not None and "was left out" not in json.dumps(first.items)


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_a_summary_takes_the_place_of_the_beginning(tmp_path: Path, provider: str) -> None:
    """L-10: of what was said there is nothing to stub; the transcript keeps everything."""
    async with engine_home(tmp_path, provider, chatter) as home:
        small(home)
        session = await home.session()
        events = await talk(session, 8)
        assert begun(events)[0] == SUMMED_UP
        (summary, *_) = [event for event in events if isinstance(event, Summarised)]
        assert summary.text == SUMMARY and summary.after < summary.before < WINDOW
        last = sent_last(home)
        assert SUMMARY in last and "(m7)" in last and "(m0)" not in last
        assert accepted(home)
        said = [b for b in session.transcript.blocks if isinstance(b, UserBlock)]
        assert len(said) == 8
        beside = [e for e in events if isinstance(e, StepEnded) and e.beside]
        assert len(beside) == len(summaries(session))
        ledger = await home.engine.store.ledger(session.info.id)
        assert len(ledger) == len(home.asked), "what a summary costs is counted"
        assert not session.transcript.stale


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_room_is_made_in_the_middle_of_a_turn(tmp_path: Path, provider: str) -> None:
    """L-10: before every request; the message that is worked on stays as it was said."""
    step = 0

    def endless(view: RequestView) -> Turn:
        nonlocal step
        if asks_for_summary(view):
            return Turn(Text(SUMMARY))
        step += 1
        if step > 18:
            return Turn(Text("Done."))
        return Turn(Text(f"Step {step}. {LONG}"), Call("read", {"path": f"{step}.txt"}))

    async with engine_home(tmp_path, provider, endless) as home:
        small(home)
        for number in range(19):
            (home.folder / f"{number}.txt").write_text(f"{number} is what stands here.\n" * 60)
        session = await home.session()
        events = [
            one.event
            async for one in session.turn([Words("(mine) Read on")], limits=Limits(20, FOREVER))
        ]
        assert isinstance(events[-1], TurnComplete) and events[-1].reason == "done"
        assert SUMMED_UP in begun(events)
        for one in home.asked:
            if SUMMARY_SYSTEM[:60] not in json.dumps(one.json):
                assert json.dumps(one.json).count("(mine)") == 1
        assert accepted(home)


@pytest.mark.long
async def test_two_hundred_turns_on_a_small_window(tmp_path: Path) -> None:
    """L-10: no request is ever refused."""
    async with engine_home(tmp_path, "anthropic", chatter) as home:
        small(home)
        session = await home.session()
        await talk(session, 200)
        assert accepted(home)
        made = len(summaries(session))
        assert 10 < made < 80, "each makes room for several turns"


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_a_summary_is_edited_and_undone(tmp_path: Path, provider: str) -> None:
    """Each begins a new history; what was undone is not done again unasked."""
    async with engine_home(tmp_path, provider, chatter) as home:
        small(home, WIDER)
        session = await home.session()
        await talk(session, 4)
        await session.context.summarise()
        (summary,) = summaries(session)
        assert summary.state == "holds" and summary.after < summary.before
        await session.context.edit_summary(summary.summary_id, "Edited by hand.")
        await say(session, "Go on")
        assert "Edited by hand." in sent_last(home) and SUMMARY not in sent_last(home)
        await session.context.undo_summary(summary.summary_id)
        await say(session, "Go on")
        assert "Edited by hand." not in sent_last(home)
        for number in range(4):
            assert f"(m{number}) {LONG[:20]}" in sent_last(home)
        epochs = await home.engine.store.epochs(session.info.id)
        assert len(epochs) == 4
        assert accepted(home)
        with pytest.raises(ConfigurationError, match="empty"):
            await session.context.edit_summary(summary.summary_id, "  ")


async def test_what_changes_while_a_history_is_built_is_in_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H-9, L-10: a summary that is undone while its new words are stored is gone for the model."""
    async with engine_home(tmp_path, "anthropic", chatter) as home:
        small(home, WIDER)
        session = await home.session()
        await talk(session, 4)
        await session.context.summarise()
        (summary,) = summaries(session)
        begin_epoch, undone = home.engine.store.begin_epoch, []

        async def begin_and_undo(*args: Any, **more: Any) -> int:
            if not undone:
                undone.append(asyncio.create_task(session.context.undo_summary(summary.summary_id)))
                await until(lambda: summary.state == "undone")
            return await begin_epoch(*args, **more)

        monkeypatch.setattr(home.engine.store, "begin_epoch", begin_and_undo)
        await session.context.edit_summary(summary.summary_id, "Edited by hand.")
        await undone[0]
        parts = {part.kind for part in (await session.context.usage()).parts}
        assert "summary" not in parts and not session.transcript.stale
        await say(session, "Go on")
        assert "Edited by hand." not in sent_last(home) and "(m0)" in sent_last(home)
        assert accepted(home)


async def test_undone_it_holds_until_the_window_overflows(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", chatter) as home:
        session = await home.session("Writer")
        await talk(session, 4)
        await session.context.summarise()
        await session.context.undo_summary(summaries(session)[0].summary_id)
        assert "It is summed up again when you ask" in str(session.transcript.blocks[-1])
        home.engine.settings.values.models["anthropic/sim-model"] = {"context_window": WINDOW}
        await say(session, "Go on")
        used = (await session.context.usage()).used
        assert used > 0.75 * WINDOW and len(summaries(session)) == 1
        await talk(session, 3)
        assert len(summaries(session)) == 2, "it no longer fits"
        assert accepted(home)


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_pins_stay_whole(tmp_path: Path, provider: str) -> None:
    async with engine_home(tmp_path, provider, chatter) as home:
        small(home, WIDER)
        session = await home.session()
        await talk(session, 4)
        blocks = session.transcript.blocks
        said = [n for n, block in enumerate(blocks) if isinstance(block, UserBlock)]
        await session.context.pin(said[1])
        await session.context.pin(said[1] + 2)  # its answer, below the agent's line
        await session.context.summarise()
        await say(session, "Go on")
        last = sent_last(home)
        assert "(m1)" in last and "(m0)" not in last and "(m2)" not in last
        assert last.index(SUMMARY) < last.index("(m1)") < last.index("Yes. xx")
        await session.context.pin(said[1], False)
        await session.context.pin(said[0])
        await say(session, "Go on")
        last = sent_last(home)
        assert "(m0) This" in last and "(m1)" not in last
        assert accepted(home)


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_a_summary_holds_after_a_restart_and_in_a_branch(
    tmp_path: Path, provider: str
) -> None:
    async with engine_home(tmp_path, provider, chatter) as home:
        small(home, WIDER)
        session = await home.session()
        await talk(session, 4)
        await session.context.summarise()
        identifier = session.info.id
    async with engine_home(tmp_path, provider, chatter, seed=1) as home:
        session = await home.engine.sessions.open(identifier)
        await say(session, "Go on")
        assert SUMMARY in sent_last(home) and "(m1)" not in sent_last(home)
        branch = await home.engine.sessions.branch(identifier)
        await say(branch, "Go on")
        assert SUMMARY in sent_last(home) and "(m1)" not in sent_last(home)
        await branch.context.undo_summary(summaries(branch)[0].summary_id)
        await say(branch, "Go on")
        assert "(m1)" in sent_last(home)
        await say(session, "Go on")
        assert SUMMARY in sent_last(home), "the other one keeps its own"
        assert accepted(home)


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_a_failed_summary_breaks_nothing(tmp_path: Path, provider: str) -> None:
    def fails(view: RequestView) -> Turn:
        return Turn(faults=[status(500)]) if asks_for_summary(view) else chatter(view)

    async with engine_home(tmp_path, provider, fails) as home:
        small(home)
        session = await home.session()
        events = await talk(session, 8)
        notices = [event.text for event in events if isinstance(event, Notice)]
        assert any("could not be written" in text for text in notices)
        (summary, *_) = summaries(session)
        assert "The person: (m0) This-is" in summary.text
        assert "The agent said: Yes." in summary.text
        assert not home.simulator.violations


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_who_says_that_it_is_too_long_is_asked_again(tmp_path: Path, provider: str) -> None:
    """Nobody knew the window: the refusal tells it, and the turn goes on by itself."""
    async with engine_home(tmp_path, provider, chatter) as home:
        session = await home.session()
        await talk(session, 3)
        home.simulator.window = 5_000
        events = await talk(session, 3)
        assert not any(isinstance(event, Failed) for event in events)
        refused = [one for one in home.asked if one.status != 200]
        assert len(refused) <= 2, "once told, it is known"
        assert summaries(session) and not home.simulator.violations


@pytest.mark.parametrize("provider", ["anthropic", "ollama"])
async def test_an_answer_that_filled_the_window_is_gone_on_with(
    tmp_path: Path, provider: str
) -> None:
    full = False

    def fills(view: RequestView) -> Turn:
        nonlocal full
        if full and not asks_for_summary(view):
            full = False
            return Turn(
                Text("The first half"), stop="context_exceeded", usage=Usage(inp=WIDER, out=4)
            )
        return chatter(view)

    async with engine_home(tmp_path, provider, fills) as home:
        home.engine.settings.values.models[f"{provider}/sim-model"] = {"context_window": WIDER}
        session = await home.session()
        await talk(session, 3)
        full = True
        events = await talk(session, 1)
        assert events[-1].reason == "done"  # type: ignore[union-attr]
        assert begun(events) == [SUMMED_UP]
        assert "Your last answer broke off" in sent_last(home)
        assert accepted(home)


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_a_message_larger_than_the_window_is_explained(tmp_path: Path, provider: str) -> None:
    async with engine_home(tmp_path, provider, chatter) as home:
        small(home)
        session = await home.session()
        await talk(session, 2)
        events = await say(session, LONG * 20)
        (failed,) = [event for event in events if isinstance(event, Failed)]
        assert failed.fault == "too_long"
        assert "Shorten it, attach less, or choose a model that reads more." in failed.title
        assert len([one for one in home.asked if one.status != 200]) <= 2
        small(home, 100_000, "other-model")
        await session.change(model="other-model")
        assert (await say(session, ""))[-1].reason == "done"  # type: ignore[union-attr]
        assert not home.simulator.violations


async def test_summaries_can_be_switched_off(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", chatter) as home:
        small(home)
        home.engine.settings.values.summarise = False
        session = await home.session()
        events: list[Event] = []
        for _ in range(9):
            events = await say(session, LONG)
        assert any(isinstance(event, Failed) for event in events)
        assert not summaries(session)


async def test_a_summary_is_stopped(tmp_path: Path) -> None:
    """Nothing has changed then."""

    def stalls(view: RequestView) -> Turn:
        if asks_for_summary(view):
            return Turn(Text(SUMMARY), faults=[stall(2)])
        return chatter(view)

    async with engine_home(tmp_path, "anthropic", stalls) as home:
        session = await home.session()
        await talk(session, 3)
        asking = asyncio.ensure_future(session.context.summarise())
        await home.simulator.wait_requests(4)
        await home.simulator.requests[-1].stalled.wait()
        session.stop()
        await asking
        assert not summaries(session)
        await say(session, "Go on")
        assert "(m1)" in sent_last(home)


async def test_there_has_to_be_something_to_sum_up(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", chatter) as home:
        session = await home.session()
        await talk(session, 1)
        with pytest.raises(ConfigurationError, match="too little"):
            await session.context.summarise()


@pytest.mark.long
async def test_the_demo_sums_up_too(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", []) as home:
        session = await home.engine.sessions.create(
            folder=str(home.folder), agent="Coder", provider="simulator", model="demo-fast"
        )
        for words in ("Hello", f"Thanks {LONG}", "Hello again"):
            assert (await say(session, words))[-1].reason == "done"  # type: ignore[union-attr]
        await session.context.summarise()
        (summary,) = summaries(session)
        assert summary.text.startswith("*Simulated:*") and "- Hello" in summary.text
