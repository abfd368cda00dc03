"""The real command, killed while it answers, knows afterwards what it said (H-1, H-5)."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from studio.simulator import Call, RequestView, Said, Text, Think, Turn, drip
from studio.storage.paths import Paths
from support.command import Command, at_provider
from support.engine_home import PROTOCOLS, reply_requests
from support.fork_server import start_python
from support.waiting import until, within

DIES = """
import asyncio, os, signal, sys
from datetime import date
from studio.app import build
from studio.domain import events
from studio.domain.messages import Text
from studio.storage.config.settings import SettingsFile
from studio.storage.paths import Paths

async def main(session_id, kind):
    paths = Paths.default()
    settings = SettingsFile(paths.settings)
    await settings.load()
    engine = await build(paths, settings)
    engine.services.today = lambda: date(2026, 1, 5)
    session = await engine.sessions.open(session_id)
    tasks = []

    async def die():
        await session.flush()
        os.kill(os.getpid(), signal.SIGKILL)

    def heard(envelope):
        if isinstance(envelope.event, events.ToolStarted):
            session.steer(session.queue.add([Text("Also this")]))
        if isinstance(envelope.event, getattr(events, kind)):
            tasks.append(asyncio.create_task(die()))

    session.subscribe(heard)
    async for _ in session.turn([Text("Go on")]):
        pass
    await asyncio.gather(*tasks)  # a slow disk may let the turn end first

asyncio.run(main(*sys.argv[1:]))
"""
"""A door that ends when an event of a kind is stored, before the history is."""
KILLS = 100 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 1
PAUSE = "sleep 0.05"
TOOLS = [Call("list", {}), Call("read", {"path": "a.txt"}), Call("run", {"command": PAUSE})]
ANSWER = " ".join(f"word{number}" for number in range(2_000))


def stored(terminal: Command) -> list[dict[str, Any]]:
    """The events that are stored."""
    database = Paths.below(terminal.home).database
    if not database.exists():
        return []
    with closing(sqlite3.connect(database)) as db:
        tables = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'transcript'").fetchall()
        rows = db.execute("SELECT body FROM transcript ORDER BY seq").fetchall() if tables else []
    return [json.loads(body) for (body,) in rows]


def shown(terminal: Command) -> list[str]:
    """What the stored transcript shows of each answer."""
    answers: list[str] = []
    for event in stored(terminal):
        if event["event"] == "step_started":
            answers.append("")
        elif event["event"] == "text_delta":
            answers[-1] += event["text"]
    return answers


def is_written(terminal: Command, before: int) -> bool:
    """Whether the beginning of an answer is stored, after so many."""
    return len(answers := shown(terminal)) > before and "word1 " in answers[-1]


def is_sound(terminal: Command) -> bool:
    with closing(sqlite3.connect(Paths.below(terminal.home).database)) as db:
        return db.execute("PRAGMA quick_check").fetchall() == [("ok",)]


@pytest.mark.parametrize("provider", list(PROTOCOLS))
async def test_h5_killed_in_the_middle_of_an_answer(tmp_path: Path, provider: str) -> None:
    """At any moment: the next request has every word that the transcript has, and is accepted."""
    chance = random.Random(provider)

    views: list[RequestView] = []

    def script(view: RequestView) -> Turn:
        views.append(view)
        if "And now" in view.last_user:
            return Turn(Text("The end."))
        thought = [Think("Hm.")] if chance.random() < 0.5 else []
        if len(views) > 1 and chance.random() < 0.6:
            calls = chance.choices(TOOLS, k=chance.randint(1, 3))
            return Turn(*thought, Text("I look. " * 20), *calls, faults=[drip(20_000)])
        return Turn(*thought, Text(ANSWER), faults=[drip(20_000)])

    async with at_provider(tmp_path, provider, script) as (terminal, simulator):
        (terminal.folder / "a.txt").write_text("alpha\n")
        session = ("--provider", provider, "--model", "sim-model")
        rule = ("--allow", f"run({PAUSE})")
        for number in range(KILLS):
            before = len(shown(terminal))
            process = await terminal.start("run", *session, *rule, "--json", f"Write ({number}).")
            assert process.stdout is not None
            async with within():
                first = json.loads(await process.stdout.readline())
                if number == 0:
                    await until(partial(is_written, terminal, before))
                await asyncio.sleep(chance.random() / 3 if number == 0 else chance.random())
            process.kill()
            await process.wait()
            assert is_sound(terminal), number
            session = ("--session", first["session_id"])
        known = shown(terminal)
        ended = await terminal("run", *session, "And now")
        assert (ended.code, ended.out) == (0, "The end.\n"), ended
        assert known and not simulator.violations, simulator.violations
        said = [one for one in views[-1].items if isinstance(one, Said)]
        own = "".join(one.text for one in said if one.role == "assistant")
        for words in known:
            assert words.strip() in own, words[-80:]
        asked = "".join(one.text for one in said if one.role == "user")
        begun = [event["said"][0]["text"] for event in stored(terminal) if event.get("said")]
        assert len(begun) > KILLS // 2
        assert [asked.count(words) for words in begun] == [1] * len(begun)


async def test_h5_killed_between_the_transcript_and_the_history(tmp_path: Path) -> None:
    """H-6: the next request has what the person said meanwhile, and what the model was told."""

    def script(view: RequestView) -> Turn:
        return Turn(Call("list", {})) if view.last_user.endswith("Go on") else Turn(Text("Yes."))

    async with at_provider(tmp_path, "anthropic", script) as (terminal, simulator):
        provider = ("--provider", "anthropic", "--model", "sim-model")
        begun = await terminal.turn(*provider, "Hello")
        for kind in ("Told", "Steered"):
            process = await start_python(
                *("-c", DIES, begun[0]["session_id"], kind),
                environment=terminal.environment,
                folder=terminal.folder,
            )
            assert (await process.communicate())[1] == b""
            assert process.returncode == -signal.SIGKILL
        ended = await terminal("run", "--session", begun[0]["session_id"], "And now")
        assert (ended.code, ended.out) == (0, "Yes.\n"), ended
        sent = str(reply_requests(simulator)[-1].json)
        assert (sent.count("5 January 2026"), sent.count("Also this")) == (1, 1)
        assert not simulator.violations
