"""Commands whose output nobody reads, has no room, or was never open (S-5)."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, create_subprocess_exec
from pathlib import Path

import pytest

from studio.cli.console import Console
from studio.simulator import Text, Turn
from support.command import Command, Ended, at_provider, finish

BASE = ("run", "--provider", "ollama", "--model", "m")
COMMANDS = [
    ("--help",),
    ("completion", "bash"),
    ("config", "list"),
    ("agents", "list"),
    ("simulate", "--port", "0"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
async def test_whoever_reads_no_more_misses_nothing(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    ended = await Command(tmp_path).unread(*command)
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize("command", COMMANDS[:4], ids=" ".join)
async def test_output_without_room_is_an_error_that_is_said(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    process = await Command(tmp_path).start(*command, stdout=full)
    os.close(full)
    ended = await finish(process)
    said = "Standard output cannot be written: no space left on device.\n"
    assert (ended.code, ended.err) == (1, said)


async def test_a_full_log_does_not_end_a_turn(tmp_path: Path) -> None:
    async with at_provider(tmp_path, "ollama", lambda _: Turn(Text("Yes."))) as (terminal, _):
        ended = await _in_shell(terminal, "2>/dev/full", *BASE, "Hello")
        assert (ended.code, ended.out) == (0, "Yes.\n")
        wrong = await _in_shell(terminal, "2>/dev/full", "nonsense")
        assert (wrong.code, wrong.out) == (1, "")


async def test_what_is_said_is_written_into_no_other_file(tmp_path: Path) -> None:
    """With its streams closed, the files a program opens would get their numbers."""
    async with at_provider(tmp_path, "ollama", lambda _: Turn(Text("Yes."))) as (terminal, _):
        ended = await _in_shell(terminal, "<&- >&- 2>&-", *BASE, "Hello")
        assert (ended.code, ended.out, ended.err) == (0, "", "")
        ended = await _in_shell(terminal, "2>&-", *BASE, "--session", "last", "Again")
        assert (ended.code, ended.out) == (0, "Yes.\n")
        shown = await terminal("sessions", "show", "last")
        assert shown.code == 0 and shown.out.count("Yes.") == 2
        for file in terminal.home.rglob("*"):
            assert file.is_dir() or b"To go on:" not in file.read_bytes(), file


async def _in_shell(terminal: Command, streams: str, *command: str) -> Ended:
    """Run with streams as a shell sets them up."""
    shell = f'exec "$@" {streams}'
    process = await create_subprocess_exec(
        *("sh", "-c", shell, "sh", sys.executable, "-m", "studio", *command),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=terminal.environment,
        cwd=terminal.folder,
    )
    return await finish(process, b"")


async def test_t7_what_is_said_while_a_question_is_open_stands_below_its_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """W-22: steps that go on neither tear the prompt nor push the question away."""
    master, slave = os.openpty()
    reads, writes = os.fdopen(slave), os.fdopen(os.dup(slave), "w")
    with reads, writes:
        monkeypatch.setattr("sys.stdin", reads)
        monkeypatch.setattr("sys.stderr", writes)
        console = Console()
        asked = asyncio.create_task(console.choice("Allow? ", "yes", "no"))
        await asyncio.to_thread(os.read, master, 100)
        console.say("· first")
        os.write(master, b"y\n")
        assert await asked == "y"
        console.say("· second")
        seen = b""
        while not seen.endswith(b"second\r\n"):
            seen += os.read(master, 100)
        assert seen.decode() == "y\r\n· first\r\n· second\r\n"
    os.close(master)
