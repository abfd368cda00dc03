"""“Edit, then test” with a command in the background, at each door (C-12, C-13)."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from acp import text_block

from studio.domain.permissions import Rule
from studio.processes.keeper import Keeper
from studio.processes.sandbox import find_sandbox
from studio.simulator import Call, Text, Turn, stall
from support.acp_editor import editor
from support.command import at_provider
from support.job_story import END, RIGHT, WRONG, EditThenTest, lay_out
from support.running_server import PROVIDER, running_server
from support.terminal_emulator import at_terminal
from support.waiting import until, within
from support.window import alone, at_window, on_window_loop

pytestmark = [
    pytest.mark.usefixtures("alone"),
    pytest.mark.skipif(sys.platform == "win32", reason="the commands here are for sh"),
]
__all__ = ["alone"]
BASE = ("--provider", "ollama", "--model", "m", "--agent", "Coder")


@pytest.fixture
def sees_drafts() -> bool:
    """Whether commands see drafts here."""
    sandbox = find_sandbox(Keeper())
    try:
        return sandbox.desks
    finally:
        sandbox.close()


async def test_run(tmp_path: Path, sees_drafts: bool) -> None:
    """C-12, C-13: ``agent-studio run``, where drafts wait."""
    model = EditThenTest()
    async with at_provider(tmp_path, "ollama", model) as (terminal, simulator):
        calc = lay_out(terminal.folder)
        ended = await terminal("run", *BASE, "--allow", "run", "Go")
        assert END in ended.out, ended
        model.judge(drafts=True, sandboxed=sees_drafts)
        assert calc.read_text() == WRONG and not simulator.violations


async def test_terminal_chat(tmp_path: Path, sees_drafts: bool) -> None:
    """C-12, C-13: ``agent-studio chat``, whose person allows the command."""
    model = EditThenTest()
    async with at_provider(tmp_path, "ollama", model) as (terminal, simulator):
        calc = lay_out(terminal.folder)
        async with at_terminal(terminal, "chat", *BASE, columns=120) as person:
            await person.until("›")
            person.type("Go\r")
            await person.until("Allow?")
            person.type("y\r")
            await person.until(END)
            await person.until("calc.py")
            person.hang_up()
        model.judge(drafts=True, sandboxed=sees_drafts)
        assert calc.read_text() == WRONG and not simulator.violations


async def test_editor(tmp_path: Path, sees_drafts: bool) -> None:
    """C-12, C-13: ``agent-studio acp``, whose person decides about the draft afterwards."""
    model = EditThenTest()

    def choices(call: Any, options: list[str]) -> str:
        return "once" if "once" in options else "discard"

    async with editor(tmp_path, model, choices) as person:
        calc = lay_out(person.folder)
        session = await person.agent.new_session(cwd=str(person.folder))
        end = await person.agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
        assert end.stop_reason == "end_turn" and END in person.words
        model.judge(drafts=True, sandboxed=sees_drafts)
        assert calc.read_text() == WRONG and not person.simulator.violations


async def test_server(tmp_path: Path) -> None:
    """C-12, C-13: an agent of the server, where rules allow an edit; with its answer nothing is left."""
    model = EditThenTest()
    async with running_server(tmp_path, model) as server:
        calc = lay_out(server.house.folder)
        values = server.house.engine.settings.values
        values.default_provider, values.default_model[PROVIDER] = PROVIDER, "sim-model"
        values.server_rules = {"allow": ["edit", "run"]}
        answer = await server.ask("Go", model="agent/Coder")
        assert END in answer.json()["choices"][0]["message"]["content"], answer.text
        model.judge(drafts=False)
        assert calc.read_text() == RIGHT
        assert not server.house.engine.services.jobs.of()


@on_window_loop
async def test_window(tmp_path: Path, sees_drafts: bool) -> None:
    """C-12, C-13: the window, where the draft waits in the chat."""
    model = EditThenTest()
    async with at_window(tmp_path, "ollama", model) as person:
        calc = lay_out(person.folder)
        await person.engine.rules.add(Rule("allow", "run"), None)
        person.say("Go")
        await person.done()
        assert person.says(END)
        model.judge(drafts=True, sandboxed=sees_drafts)
        assert calc.read_text() == WRONG
        assert [one.path for one in person.session.drafts.waiting_files()] == ["calc.py"]


@pytest.mark.skipif(sys.platform != "linux", reason="what runs is read from /proc")
async def test_nothing_of_a_job_outlives_a_program_that_is_killed(tmp_path: Path) -> None:
    """C-13: not what it started in a session of its own either."""
    seconds = f"9{os.getpid()}"
    script = [
        Turn(
            Call(
                "run",
                {"command": f"setsid sleep {seconds} & sleep {seconds}", "background": True},
            )
        ),
        Turn(Text("It runs, " * 3), faults=[stall(at=2, seconds=0.3)]),
    ]

    def sleeping() -> int:
        found = 0
        for process in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                found += process.read_bytes() == f"sleep\0{seconds}\0".encode()
        return found

    held = asyncio.Event()
    async with at_provider(tmp_path, "ollama", script, sleep=lambda _: held.wait()) as (
        terminal,
        _,
    ):
        program = await terminal.start("run", "--json", *BASE, "--allow", "run", "Go")
        assert program.stdout is not None
        async with within():
            said = ""
            while "It runs" not in said:  # in one piece or in several, as they came
                line = await program.stdout.readline()
                assert line
                said += str(json.loads(line).get("text", ""))
        assert sleeping() == 2
        program.kill()
        await program.wait()
        await until(lambda: not sleeping())
        held.set()
