"""A session goes from any provider to any other, at any point, and loses only what is said (H-7)."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from studio.agent.session.session import Session
from studio.domain.agents import Limits
from studio.domain.blocks import ToolBlock
from studio.domain.events import AwaitingReply, TurnComplete
from studio.domain.messages import Text as Words
from studio.simulator import Call, Text, Think, Turn, eof, tool_json
from support.engine_home import PROTOCOLS
from support.provider_switch import SwitchScene, enclosing, plain, read, switch, switch_scene
from support.waiting import FOREVER

# What happens before the switch


async def thinking(on: SwitchScene, session: Session) -> None:
    """Signed, sealed, encrypted, between calls: whatever each protocol has."""
    replies = [
        Turn(Think("Deep thoughts."), Think("", redacted=True), Text("I look."), read("a.txt")),
        Turn(Think("Deeper still."), read("b.txt")),
        Turn(Think("Enough."), Text("That is all.")),
    ]
    await on.say(session, Words("Think hard."), replies=replies)


async def stopped(on: SwitchScene, session: Session) -> None:
    """The person stops while one tool has its result and one waits."""
    replies = [Turn(Text("I ask."), read("a.txt"), Call("ask", {"question": "Which?"}))]
    await on.say(session, Words("Ask me."), replies=replies, stop_at=AwaitingReply)


async def limited(on: SwitchScene, session: Session) -> None:
    """The last thing in the history is a result."""
    replies = [Turn(Text("I read."), read("a.txt"), read("b.txt"))]
    events = await on.say(session, Words("Read."), replies=replies, limits=Limits(1, FOREVER))
    assert isinstance(events[-1], TurnComplete) and events[-1].reason == "step_limit"


async def alike(on: SwitchScene, session: Session) -> None:
    """Names and ids come twice in one reply, and the ids again in the next."""
    calls = [read("a.txt", "same"), read("a.txt", "same"), read("b.txt", "other")]
    replies = [Turn(*calls), Turn(Text("Again."), *calls), Turn(Text("The same."))]
    await on.say(session, Words("Read twice."), replies=replies)
    await on.say(session, Words("And again."), replies=[Turn(*calls), Turn(Text("Still."))])


async def broken(on: SwitchScene, session: Session) -> None:
    """Half an answer stays, half a call does not."""
    replies = [Turn(Text("Half of an answer that goes on."), read("a.txt"), faults=[eof(at=-4)])]
    events = await on.say(session, Words("Tell me."), replies=replies)
    assert isinstance(events[-1], TurnComplete) and events[-1].reason == "error"
    replies = [Turn(Text("Another half of one, longer."), faults=[eof(at=4)])]
    await on.say(session, Words("Once more."), replies=replies)


async def unreadable(on: SwitchScene, session: Session) -> None:
    replies = [
        Turn(read("a.txt"), faults=[tool_json("invalid")]),
        Turn(Text("I try again."), read("a.txt")),
        Turn(Text("Now I have it.")),
    ]
    await on.say(session, Words("Read."), replies=replies)


async def cut_short(on: SwitchScene, session: Session) -> None:
    """The output limit in the middle of a call."""
    replies = [
        Turn(Text("I begin."), read("a.txt"), stop="max_tokens", faults=[tool_json("truncated")]),
        Turn(Text("So be it.")),
    ]
    await on.say(session, Words("Write a lot."), replies=replies)


SITUATIONS: list[Callable[[SwitchScene, Session], Awaitable[None]]] = [
    plain,
    thinking,
    stopped,
    limited,
    enclosing,
    alike,
    broken,
    unreadable,
    cut_short,
]


@pytest.mark.parametrize("first", PROTOCOLS)
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda one: one.__name__)
async def test_h7_every_pair_there_and_back(
    tmp_path: Path, first: str, situation: Callable[[SwitchScene, Session], Awaitable[None]]
) -> None:
    async with switch_scene(tmp_path) as on:
        for other in PROTOCOLS:
            if other == first:
                continue
            session = await on.session(first)
            await situation(on, session)
            await switch(on, session, other)
            await switch(on, session, first)
            assert not on.home.simulator.violations, (first, other, on.home.simulator.violations)


@pytest.mark.parametrize("first", PROTOCOLS)
async def test_h7_a_crash_in_the_middle_of_tools(tmp_path: Path, first: str) -> None:
    """The program dies while a tool runs; after the restart another provider goes on."""
    sessions: dict[str, str] = {}
    async with switch_scene(tmp_path) as on:
        database = on.home.engine.paths.database
        crashed = database.with_name("crashed.db")
        turns = []
        for other in PROTOCOLS:
            session = await on.session(first)
            sessions[other] = session.info.id
            on.replies[:] = [Turn(Think("Hm."), read("a.txt"), Call("ask", {"question": "Which?"}))]
            turn = session.turn([Words("Ask me.")])
            turns.append(turn)
            async for _ in turn:
                done = [b.state for b in session.transcript.blocks if isinstance(b, ToolBlock)]
                if {"done", "waiting"} <= set(done):
                    break
            await session.flush()
        with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(crashed)) as to:
            source.backup(to)
        for turn in turns:
            await turn.aclose()
    for companion in ("-wal", "-shm"):
        database.with_name(database.name + companion).unlink(missing_ok=True)
    shutil.move(crashed, database)
    async with switch_scene(tmp_path) as on:
        for other, identifier in sessions.items():
            if other != first:
                session = await on.home.engine.sessions.open(identifier)
                assert [b.state for b in session.transcript.blocks if isinstance(b, ToolBlock)] == [
                    "done",
                    "cancelled",
                ]
                await switch(on, session, other)
                assert "What it did by then is not known" in json.dumps(on.views[-1].body)
                await switch(on, session, first)


@pytest.mark.parametrize(
    ("provider", "models"),
    [
        ("anthropic", ("claude-haiku-4-5-20251001", "sim-preserved-1", "claude-opus-5-5")),
        ("openai", ("gpt-4o", "gpt-5.6", "o4-mini")),
        ("gemini", ("sim-gemini-25", "sim-gemini-3", "sim-gemini-3-mixed")),
        ("openai-compatible", ("sim-one", "sim-two", "sim-three")),
        ("ollama", ("demo-fast:latest", "demo-thinker:latest", "sim-model")),
    ],
)
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda one: one.__name__)
async def test_h7_from_model_to_model(
    tmp_path: Path,
    provider: str,
    models: Sequence[str],
    situation: Callable[[SwitchScene, Session], Awaitable[None]],
) -> None:
    """Plain thinking to preserved thinking and back, unsigned calls to signed ones."""
    async with switch_scene(tmp_path) as on:
        session = await on.session(provider, models[0])
        await situation(on, session)
        for model in (*models[1:], *models):
            await switch(on, session, provider, model)
