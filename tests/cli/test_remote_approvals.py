"""``agent-studio run`` where no terminal is: permission is asked for in the window (S-5, T-7)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from studio.cli.console import Console
from studio.cli.event_printer import JsonPrinter
from studio.cli.turn_driver import TurnDriver
from studio.domain.events import Event, Notice
from studio.domain.messages import Text as Words
from studio.files.folders import private_folder
from studio.simulator import Call, Text, Turn
from studio.storage import remote_approvals as module
from studio.storage.database import Database
from studio.storage.migrations import MIGRATIONS
from studio.storage.paths import Paths
from studio.storage.remote_approvals import RemoteApprovals, RemoteQuestion
from support.command import Command, at_provider, finish
from support.engine_home import engine_home, reply_requests
from support.waiting import within

BASE = ("run", "--provider", "ollama", "--model", "m")
ASKS = Turn(Call("run", {"command": "touch ran"}), stop="tool_use")
DONE = Turn(Text("Done."))


@contextlib.asynccontextmanager
async def window(terminal: Command) -> AsyncIterator[RemoteApprovals]:
    """This program, as a window at the command's data."""
    paths = Paths.below(terminal.home)
    private_folder(paths.database.parent)
    database = Database(paths.database, MIGRATIONS)
    await database.open()
    questions = RemoteApprovals(database, paths.data / "bells")
    await questions.register()
    try:
        yield questions
    finally:
        await database.close()


async def one(questions: RemoteApprovals) -> RemoteQuestion:
    async with within():
        while not (waiting := await questions.waiting()):  # noqa: ASYNC110 (of another process)
            await asyncio.sleep(0.01)
    (found,) = waiting
    return found


async def test_the_window_decides_where_no_terminal_is(tmp_path: Path) -> None:
    async with at_provider(tmp_path, "ollama", [ASKS, DONE] * 2) as (terminal, simulator):
        ran = terminal.folder / "ran"
        async with window(terminal) as questions:
            command = asyncio.ensure_future(terminal(*BASE, "Go"))
            found = await one(questions)
            assert (found.through, found.title, found.agent) == ("terminal", "Go", "Coder")
            assert found.question.detail == "touch ran" and found.question.always == ()
            assert not ran.exists()
            await questions.answer(found.id, "deny")
            ended = await command
            assert (ended.code, ended.out) == (4, "Done.\n")
            assert "Asked in the window: run touch ran\n" in ended.err
            assert "Not allowed: run touch ran\n  Denied in the window.\n" in ended.err
            assert not ran.exists()
            assert "The person did not allow" in str(reply_requests(simulator)[-1].json)

            command = asyncio.ensure_future(terminal(*BASE, "--quiet", "--seconds", "90", "Go"))
            await questions.answer((await one(questions)).id, "always")
            ended = await command
            assert (ended.code, ended.out) == (0, "Done.\n") and ran.exists()
            assert ended.err == "Waiting for your answer in the window, 1 m 30 s at most.\n"
        audit = json.loads((await terminal("audit", "--json")).out)
        assert [(row["state"], row["decided_by"]) for row in audit] == [
            ("denied", "you"),
            ("done", "you, once"),
        ]
        assert not simulator.violations


async def test_rules_of_the_turn_decide_before_the_window(tmp_path: Path) -> None:
    at_two = at_provider(tmp_path, "ollama", [ASKS, DONE] * 2)
    async with at_two as (terminal, _), window(terminal):
        for rule, code in (("--deny", 4), ("--allow", 0)):
            ended = await terminal(*BASE, rule, "run(touch *)", "Go")
            assert ended.code == code and "window" not in ended.err
            assert (terminal.folder / "ran").exists() == (not code)


async def test_ctrl_c_takes_the_question_back(tmp_path: Path) -> None:
    """L-11"""
    async with at_provider(tmp_path, "ollama", [ASKS, DONE]) as (terminal, simulator):
        async with window(terminal) as questions:
            process = await terminal.start(*BASE, "Go")
            found = await one(questions)
            process.send_signal(signal.SIGINT)
            ended = await finish(process)
            assert ended.code == 130 and "Not allowed" not in ended.err
            rows = await questions._db.read(
                lambda db: db.execute("SELECT count(*) FROM questions").fetchone()
            )
            assert rows[0] == 0 and not await questions.answer(found.id, "once")
        assert len(reply_requests(simulator)) == 1 and not (terminal.folder / "ran").exists()


async def test_a_window_that_closes_has_said_no(tmp_path: Path) -> None:
    async with at_provider(tmp_path, "ollama", [ASKS, DONE]) as (terminal, simulator):
        async with window(terminal) as questions:
            command = asyncio.ensure_future(terminal(*BASE, "Go"))
            await one(questions)
        ended = await command
        assert ended.code == 4 and "  Nobody answered in the window. To allow it:" in ended.err
        assert "nobody was there to ask" in str(reply_requests(simulator)[-1].json)


@pytest.mark.parametrize("limited", [None, 0.2])
async def test_nobody_is_asked_twice_who_did_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limited: float | None
) -> None:
    """A command at night ends in the time of one question, however many there are.

    L-1: and in that of its own limit.
    """
    if limited is None:
        monkeypatch.setattr(module, "TIMEOUT", 0.2)
    heard: list[Event] = []

    class Kept(JsonPrinter):
        def event(self, event: Event) -> None:
            heard.append(event)

    calls = [Call("run", {"command": f"touch {name}"}) for name in "abc"]
    async with engine_home(tmp_path, "ollama", [Turn(*calls, stop="tool_use"), DONE]) as home:
        await home.engine.questions.register()
        console = Console()
        window = home.engine.questions
        driver = TurnDriver(await home.session(), console, Kept(console), window, seconds=limited)
        assert await driver.run_turn([Words("Go")], [], None) == 4
        told = [event.text for event in heard if isinstance(event, Notice)]
        assert len([text for text in told if "Asked in the window" in text]) == 1
        assert not [*home.folder.iterdir()] and not await home.engine.questions.waiting()
