"""What a program that was killed had shown of an answer is in the next request (H-1, H-5).

The stories of ``tests/properties`` crash at many more moments; here are the ones that differ.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from studio.agent.retry_policy import RetryPolicy
from studio.agent.session.event_channel import EventEnvelope
from studio.agent.session.native_history import Unheard, unheard
from studio.agent.session.session import Session
from studio.domain.blocks import TextBlock, UserBlock
from studio.domain.errors import ConfigurationError
from studio.domain.events import (
    CallStarted,
    Event,
    HistoryBegun,
    MessageTaken,
    Notice,
    ReasoningDelta,
    RetryScheduled,
    Steered,
    StepEnded,
    StepStarted,
    TextDelta,
    Told,
    ToolStarted,
    TurnComplete,
    TurnStarted,
)
from studio.domain.messages import Text as Words
from studio.domain.models import Usage
from studio.simulator import Call, Fault, Text, Think, Turn, eof, stall, status
from support.engine_home import PROTOCOLS, EngineHome, engine_home, reply_requests, say
from support.waiting import HANG, within

ENDED = StepEnded(1, "end", Usage(), 1.0)
BESIDE = replace(ENDED, beside=True)
AGAIN = RetryScheduled(2, 5, 0.1, "network", "It broke off.")
STARTED = TurnStarted("s", "t", (Words("Go"),), "Coder", "p", "m", "background")
RETRY = replace(STARTED, said=())
STEERED = Steered((Words("Also"),))
TOLD = Told("date", "It is Monday.")

LATER: dict[str, tuple[Sequence[Event], list[Any]]] = {
    "nothing": ([], []),
    "a turn that ended": ([ENDED, TurnComplete("done"), Notice("x")], []),
    "an answer": ([TextDelta("Half an "), TextDelta("answer")], ["Half an answer"]),
    "thoughts alone": ([ReasoningDelta("Hm."), ReasoningDelta("So.")], []),
    "an answer between thoughts": (
        [ReasoningDelta("Hm."), TextDelta("One"), ReasoningDelta("So."), TextDelta("Two")],
        ["One", "Two"],
    ),
    "an answer after blanks": ([TextDelta(" \n"), ReasoningDelta("Hm."), TextDelta("x")], ["x"]),
    "half a call": ([TextDelta("I look."), CallStarted("c", "read")], ["I look."]),
    "a notice within": ([TextDelta("Half a "), Notice("x"), TextDelta("word")], ["Half a word"]),
    "the end of the program": (
        [TextDelta("Half"), TurnComplete("error"), Notice("It ended.")],
        ["Half"],
    ),
    "a turn that could not begin": (
        [TextDelta("Half"), TurnComplete("error"), STARTED, TurnComplete("error")],
        ["Half", STARTED],
    ),
    "a retry": ([TextDelta("Half"), TurnComplete("error"), RETRY], ["Half"]),
    "another attempt": ([TextDelta("Half"), AGAIN, TextDelta("Whole")], ["Whole"]),
    "the attempt that is given up": ([TextDelta("Half"), AGAIN], []),
    "a reply that nothing is kept of": ([TextDelta("I will not."), ENDED], []),
    "a reply whose calls were not stored": (
        [TextDelta("I look."), CallStarted("c", "read"), ENDED],
        ["I look."],
    ),
    "a summary beside": ([TextDelta("Half"), BESIDE], ["Half"]),
    "the next step": ([CallStarted("c", "read"), ENDED, StepStarted(2), TextDelta("y")], ["y"]),
    "what was said meanwhile": ([StepStarted(2), STEERED], [STEERED]),
    "what the model was told": ([ENDED, TOLD, STEERED, TOLD], [TOLD, STEERED, TOLD]),
    "all of it in order": (
        [TextDelta("Half"), TurnComplete("error"), STARTED, TOLD, STEERED, TextDelta("More")],
        ["Half", STARTED, TOLD, STEERED, "More"],
    ),
    "what was told before a reply that ended": ([TOLD, TextDelta("Half"), ENDED], [TOLD]),
    "what is stored before it is told": ([TextDelta("Half"), AGAIN, Told("resume", "Go on")], []),
}


def plain(one: Unheard) -> list[Any]:
    return [words.text for words in one] if isinstance(one, list) else [one]


@pytest.mark.parametrize("case", LATER)
def test_what_no_history_has_yet(case: str) -> None:
    events, expected = LATER[case]
    assert [inner for one in unheard(events) for inner in plain(one)] == expected


def copied(home: EngineHome, target: Path) -> None:
    """The database as it is at this moment, in a home of its own."""
    (target / "studio").mkdir(parents=True)
    with (
        closing(sqlite3.connect(home.engine.paths.database)) as source,
        closing(sqlite3.connect(target / "studio" / "studio.db")) as copy,
    ):
        source.backup(copy)


async def crashed(home: EngineHome, target: Path) -> str:
    """Copy the database as a crash within the last answer would leave it; the session's id."""
    session = await home.session()

    async def turn() -> None:
        async for _ in session.turn([Words("Go")]):
            pass

    shown = asyncio.Event()
    session.subscribe(lambda envelope: shown.set() if "Zwölf" in str(envelope.event) else None)
    running = asyncio.ensure_future(turn())
    async with within():
        await shown.wait()
        await reply_requests(home.simulator)[-1].stalled.wait()
    await session.flush()
    copied(home, target)
    session.stop()
    await asyncio.wait_for(running, HANG)
    return session.info.id


def reply(*parts: object, faults: Sequence[Fault]) -> Turn:
    return Turn(*parts, faults=list(faults))  # type: ignore[arg-type]


LOOKED = Turn(Think("Hm."), Text("I look."), Call("list", {}))
WORDS = Text("Zwölf words of an answer 😀 that nobody could read to its end. " * 2)
SCENES = {
    "the first answer": [reply(WORDS, faults=[stall(at=-3)])],
    "after a thought, before a call": [
        LOOKED,
        reply(Think("So."), WORDS, Call("read", {"path": "a.txt"}), faults=[stall(at=-2)]),
    ],
    "the second attempt": [
        reply(Text("It breaks off."), faults=[eof(-3)]),
        reply(WORDS, faults=[stall(at=-3)]),
    ],
}


@pytest.mark.parametrize("provider", PROTOCOLS)
@pytest.mark.parametrize("scene", SCENES)
async def test_h5_the_model_knows_what_it_said(tmp_path: Path, provider: str, scene: str) -> None:
    """H-1, H-5, H-9: nothing that was sent changes; the words that were shown follow it."""
    (tmp_path / "before").mkdir()
    patience = RetryPolicy(attempts=2, base=0.0)
    script = SCENES[scene]
    async with engine_home(tmp_path / "before", provider, script, patience=patience) as home:
        identifier = await crashed(home, tmp_path / "after")
        assert not home.simulator.violations
    async with engine_home(tmp_path / "after", provider, [Turn(Text("Yes."))] * 2) as home:
        session = await home.engine.sessions.open(identifier)
        shown = [b.text for b in session.transcript.blocks if isinstance(b, TextBlock)]
        assert shown[-1].startswith("Zwölf words of an answer 😀")
        before = await home.engine.store.native(identifier)
        assert before is not None
        await say(session, "And?")
        after = await home.engine.store.native(identifier)
        assert after is not None and after.epoch == before.epoch == 1
        assert after.items[: len(before.items)] == before.items
        assert str(after.items).count(shown[-1].strip()) == 1
        await say(session, "Again")  # it is there once, and the turn after it is a usual one
        last = await home.engine.store.native(identifier)
        assert last is not None and last.items[: len(after.items)] == after.items
        assert str(last.items).count(shown[-1].strip()) == 1
        assert not home.simulator.violations


def copies_at(
    home: EngineHome, session: Session, kind: type[Event], target: Path
) -> list[asyncio.Task[None]]:
    """Copy the database as soon as an event of this kind is stored, with nothing after it."""
    copying: list[asyncio.Task[None]] = []

    def look(envelope: EventEnvelope) -> None:
        if isinstance(envelope.event, kind) and not copying:
            copying.append(asyncio.create_task(stored()))

    async def stored() -> None:
        await session.state.flush()
        copied(home, target)

    session.subscribe(look)
    return copying


@pytest.mark.parametrize("provider", PROTOCOLS)
@pytest.mark.parametrize(
    ("kind", "text"),
    [(Told, "24 November 2026"), (StepStarted, "Two, please"), (Steered, "Also this")],
)
async def test_h5_the_model_hears_what_was_stored_just_before_a_crash(
    tmp_path: Path, provider: str, kind: type[Event], text: str
) -> None:
    """H-5, H-6: the person's words or a note, on disk before the history had them, once."""
    (tmp_path / "before").mkdir()
    script = [Turn(Text("A.")), LOOKED, Turn(Text("B."))]
    async with engine_home(tmp_path / "before", provider, script) as home:
        home.engine.services.today = lambda: date(2026, 11, 23)
        session = await home.session()
        await say(session, "One")
        home.engine.services.today = lambda: date(2026, 11, 24)
        copying = copies_at(home, session, kind, tmp_path / "after")

        def steer(envelope: EventEnvelope) -> None:
            if isinstance(envelope.event, ToolStarted):
                session.steer(session.queue.add([Words("Also this")]))

        session.subscribe(steer)
        await say(session, "Two, please")
        await asyncio.wait_for(asyncio.gather(*copying), HANG)
        identifier = session.info.id
        assert len(copying) == 1 and not home.simulator.violations
    async with engine_home(tmp_path / "after", provider, [Turn(Text("Yes."))]) as home:
        home.engine.services.today = lambda: date(2026, 11, 24)
        session = await home.engine.sessions.open(identifier)
        before = await home.engine.store.native(identifier)
        assert before is not None and text not in str(before.items)
        *_, last = await say(session, "Three")
        assert isinstance(last, TurnComplete) and last.reason == "done"
        after = await home.engine.store.native(identifier)
        assert after is not None and after.items[: len(before.items)] == before.items
        assert str(after.items).count(text) == str(home.asked[-1].json).count(text) == 1
        assert not home.simulator.violations


@pytest.mark.parametrize("provider", PROTOCOLS)
@pytest.mark.parametrize("told", [True, False])
async def test_h5_a_second_crash_says_nothing_twice(
    tmp_path: Path, provider: str, told: bool
) -> None:
    """A new epoch has what was said before it; its events may be lost, or ``told``."""
    (tmp_path / "before").mkdir()
    broken = Turn(faults=[status(500)])
    async with engine_home(tmp_path / "before", provider, [Turn(Text("A.")), broken]) as home:
        session = await home.session()
        await say(session, "Zero")
        await say(session, "One, please")
        await session.change(agent="Nobody")
        *_, last = await say(session, "Two, please")
        assert isinstance(last, TurnComplete) and last.reason == "error"
        await session.change(agent="Coder", model="sim-other")
        copying = copies_at(home, session, HistoryBegun, tmp_path / "after")
        await say(session, "Three, please")
        await asyncio.wait_for(asyncio.gather(*copying), HANG)
        identifier = session.info.id
        assert len(copying) == 1
    if not told:
        with closing(sqlite3.connect(tmp_path / "after" / "studio" / "studio.db")) as db, db:
            (last_turn,) = db.execute("SELECT turn_id FROM transcript ORDER BY seq DESC").fetchone()
            db.execute("DELETE FROM transcript WHERE turn_id = ?", (last_turn,))
    async with engine_home(tmp_path / "after", provider, [Turn(Text("Yes."))]) as home:
        session = await home.engine.sessions.open(identifier)
        await say(session, "Four, please")
        sent = str(home.asked[-1].json)
        assert [sent.count(f"{word}, please") for word in ("One", "Two", "Three", "Four")] == [
            1, 1, int(told), 1,
        ]  # fmt: skip
        assert not home.simulator.violations


async def test_l1_a_crash_neither_loses_a_queued_message_nor_sends_it_twice(
    tmp_path: Path,
) -> None:
    """It leaves the queue and begins its turn in one write."""
    (tmp_path / "before").mkdir()
    async with engine_home(tmp_path / "before", "anthropic", [Turn(Text("A."))] * 2) as home:
        session = await home.session()
        await say(session, "One")
        session.queue.add([Words("Then this")])
        await session.flush()
        copying = copies_at(home, session, MessageTaken, tmp_path / "after")
        queued = session.queue.next
        assert queued is not None
        async for _ in session.turn(queued):
            assert session.queue.get(queued.message_id) is None
            assert session.queue.remove(queued.message_id) == ()
        await asyncio.wait_for(asyncio.gather(*copying), HANG)
        with pytest.raises(ConfigurationError, match="sent or taken back"):
            await anext(session.turn(queued))
        identifier = session.info.id
        assert len(copying) == 1 and str(home.asked[-1].json).count("Then this") == 1
    async with engine_home(tmp_path / "after", "anthropic", [Turn(Text("Yes."))]) as home:
        session = await home.engine.sessions.open(identifier)
        assert not session.transcript.queued
        said = [b.said for b in session.transcript.blocks if isinstance(b, UserBlock)]
        assert said.count(queued.said) == 1
        await say(session, "Two")
        assert str(home.asked[-1].json).count("Then this") == 1
        assert not home.simulator.violations


@pytest.mark.parametrize("how", ["it cannot begin", "it is stopped at once"])
@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_h1_words_of_a_first_turn_that_was_never_sent_reach_the_model(
    tmp_path: Path, provider: str, how: str
) -> None:
    """H-1: the history of a new chat is stored with its first message; until then there is none."""
    async with engine_home(tmp_path, provider, [Turn(Text("Yes."))] * 2) as home:
        session = await home.session()

        def stop(envelope: EventEnvelope) -> None:
            if isinstance(envelope.event, TurnStarted):
                session.stop()

        if how == "it cannot begin":
            await session.change(model="")
        unsubscribe = session.subscribe(stop)
        await say(session, "Lost words")
        unsubscribe()
        assert not home.asked and await home.engine.store.native(session.info.id) is None
        await session.change(model="sim-model")
        for words in ("Found words", "More words"):
            *_, last = await say(session, words)
            assert isinstance(last, TurnComplete) and last.reason == "done"
        sent = str(home.asked[-1].json)
        assert [sent.count(one) for one in ("Lost words", "Found words", "More words")] == [1] * 3
        native = await home.engine.store.native(session.info.id)
        assert native is not None and native.epoch == 1 and not native.damage
        assert not home.simulator.violations
