"""What a program that was killed had shown of an answer is in the next request (H-1, H-5).

The stories of ``tests/properties`` crash at many more moments; here are the ones that differ.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from studio.agent.retry_policy import RetryPolicy
from studio.agent.session.native_history import unheard_words
from studio.domain.blocks import TextBlock
from studio.domain.events import (
    CallStarted,
    Event,
    Notice,
    ReasoningDelta,
    RetryScheduled,
    StepEnded,
    StepStarted,
    TextDelta,
    TurnComplete,
    TurnStarted,
)
from studio.domain.messages import Text as Words
from studio.domain.models import Usage
from studio.simulator import Call, Fault, Text, Think, Turn, eof, stall
from support.engine_home import PROTOCOLS, EngineHome, engine_home, reply_requests, say
from support.waiting import HANG, within

ENDED = StepEnded(1, "end", Usage(), 1.0)
BESIDE = replace(ENDED, beside=True)
AGAIN = RetryScheduled(2, 5, 0.1, "network", "It broke off.")
STARTED = TurnStarted("s", "t", (Words("Go"),), "Coder", "p", "m", "background")

LATER: dict[str, tuple[Sequence[Event], list[str]]] = {
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
        ["Half"],
    ),
    "another attempt": ([TextDelta("Half"), AGAIN, TextDelta("Whole")], ["Whole"]),
    "the attempt that is given up": ([TextDelta("Half"), AGAIN], []),
    "a reply that nothing is kept of": ([TextDelta("I will not."), ENDED], []),
    "a reply whose calls were not stored": (
        [TextDelta("I look."), CallStarted("c", "read"), ENDED],
        ["I look."],
    ),
    "a summary beside": ([TextDelta("Half"), BESIDE], ["Half"]),
    "the next step": ([CallStarted("c", "read"), ENDED, StepStarted(2), TextDelta("y")], ["y"]),
}


@pytest.mark.parametrize("case", LATER)
def test_what_no_history_has_yet(case: str) -> None:
    events, expected = LATER[case]
    assert [words.text for words in unheard_words(events)] == expected


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
    (target / "studio").mkdir(parents=True)
    with (
        closing(sqlite3.connect(home.engine.paths.database)) as source,
        closing(sqlite3.connect(target / "studio" / "studio.db")) as copy,
    ):
        source.backup(copy)
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
