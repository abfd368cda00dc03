"""``agent-studio batch`` and ``workflow run`` with a person at a real terminal (W-22, W-55)."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from studio.cli.exit_codes import CANCELLED, DONE
from studio.domain.items import SAMPLE
from studio.simulator import Call, RequestView, Returned, Text, Turn
from studio.storage.paths import Paths
from support.command import Command, at_provider
from support.terminal_emulator import at_terminal
from support.workflow_home import asked_in, workflow, write

BASE = ("--provider", "ollama", "--model", "m")
COUNT = 51
WORKER = """---
name: Worker
tools: [run]
---
Work.
"""


def acts(view: RequestView) -> Turn:
    """Runs the command that its item is, and tells what came of it."""
    for one in view.items:
        if isinstance(one, Returned):
            return Turn(Text(f"ran {one.text.strip()}"))
    return Turn(Call("run", {"command": asked_in(view).partition("Run: ")[2].split("\n")[0]}))


def prepare(terminal: Command, *items: str) -> None:
    agents = Paths.below(terminal.home).agents
    agents.mkdir(parents=True, exist_ok=True)
    (agents / "worker.md").write_text(WORKER)
    text = f"""\
  - id: act
    agent: Worker
    for_each: [{", ".join(items)}]
    prompt: "Run: ${{{{ item }}}}"
"""
    write(terminal.folder, "acts", workflow(text))


async def test_w22_w55_what_an_item_of_a_table_asks_is_answered_at_the_terminal(
    tmp_path: Path,
) -> None:
    """Once, for the whole run, and then the sample's own question."""
    async with at_provider(tmp_path, "ollama", acts) as (terminal, _):
        prepare(terminal, *(f"echo {number}" for number in range(COUNT)))
        async with at_terminal(terminal, "batch", "run", "acts", *BASE, rows=40) as person:
            text = await person.until("Allow?")
            assert "Worker: Worker wants to run a command\n    echo " in text
            person.type("y\r")
            await person.until(lambda glass: glass.text.count("Allow?") == 2)
            person.type("r\r")
            text = await person.until("[k]eep only the sample")
            assert f"{SAMPLE} of {COUNT} items tried. Run the rest?" in text
            person.type("a\r")
            text = await person.until("Story is done")
            assert await person.end() == DONE
            assert text.count("Allow?") == 2, text
        run_id = text.partition("run 1 (")[2].partition(")")[0]
        told = await terminal("batch", "export", run_id)
        rows = [json.loads(line) for line in told.out.splitlines()]
        assert [one["text"] for one in rows] == [f"ran {number}" for number in range(COUNT)]


@pytest.mark.parametrize("way", ["ctrl_c", "kill_9"])
async def test_w15_w22_the_question_of_an_item_is_left_and_asked_again(
    tmp_path: Path, way: str
) -> None:
    """Each item is asked about by itself; one that is denied goes on without it."""
    async with at_provider(tmp_path, "ollama", acts) as (terminal, _):
        prepare(terminal, "echo 1", "echo 2")
        async with at_terminal(terminal, "workflow", "run", "acts", *BASE, rows=40) as person:
            text = await person.until("Allow?")
            run_id = text.partition("run 1 (")[2].partition(")")[0]
            if way == "ctrl_c":
                person.type("\x03")
                assert await person.end() == CANCELLED
                after = person.glass.text.partition("[n]o: ")[2].splitlines()
                assert after[:2] == ["^C", "Paused. You interrupted it."], after
            else:
                person.process.kill()
                await person.end()
        async with at_terminal(terminal, "workflow", "resume", run_id, rows=40) as person:
            await person.until("Allow?")
            person.type("n\r")
            await person.until(lambda glass: glass.text.count("Allow?") == 2)
            person.type("y\r")
            text = await person.until("Story is done")
            assert await person.end() == DONE
            assert text.count("Allow?") == 2, text


async def test_w22_an_answer_that_cannot_be_stored_is_told_at_once(tmp_path: Path) -> None:
    """The run does not wait for an answer that nobody asks for any more, and goes on later."""
    async with at_provider(tmp_path, "ollama", acts) as (terminal, _):
        write(terminal.folder, "gate", workflow('  - {id: ok, approve: "Go on?"}\n'))
        base = ("workflow", "run", "gate", *BASE)
        async with at_terminal(terminal, *base, rows=40) as person:
            text = await person.until("[y]es, [n]o")
            run_id = text.partition("run 1 (")[2].partition(")")[0]
            full = """CREATE TRIGGER full BEFORE INSERT ON run_events
            BEGIN SELECT RAISE(ABORT, 'there is no room'); END"""
            with closing(sqlite3.connect(terminal.home / "studio.db")) as db:
                db.execute(full)
            person.type("y\r")
            assert await person.end() not in (DONE, CANCELLED)
            said = person.glass.text
            assert "there is no room" in said, said
            assert f"To go on: agent-studio workflow resume {run_id}" in said, said
        with closing(sqlite3.connect(terminal.home / "studio.db")) as db:
            db.execute("DROP TRIGGER full")
        async with at_terminal(terminal, "workflow", "resume", run_id, rows=40) as person:
            await person.until("[y]es, [n]o")
            person.type("y\r")
            await person.until("Story is done")
            assert await person.end() == DONE


async def test_w22_an_item_is_left_out_at_the_terminal(tmp_path: Path) -> None:
    async with at_provider(tmp_path, "ollama", acts) as (terminal, _):
        prepare(terminal, "echo 1", "echo 2", "echo 3")
        async with at_terminal(terminal, "workflow", "run", "acts", *BASE, rows=40) as person:
            await person.until("[s]kip the item")
            person.type("s\r")
            await person.until(lambda glass: glass.text.count("Allow?") == 2)
            person.type("r\r")
            text = await person.until("Story is done")
            assert await person.end() == DONE
            assert text.count("You left it out.") == 1 and text.count("✓ act, echo") == 2, text
