"""The editors' door: commands in the editor's terminals, with the same permission and Stop."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from acp import text_block
from acp.schema import ClientCapabilities, ToolCallProgress

from studio.simulator import Call, Turn
from studio.simulator import Text as Words
from support.acp_editor import Editor, editor
from support.engine_home import is_locked, reply_requests
from support.waiting import until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands of a POSIX shell")
TERMINALS = ClientCapabilities(terminal=True)


def runs(command: str, **more: Any) -> Turn:
    return Turn(Call("run", {"command": command, **more}))


def first(call: Any, options: list[str]) -> str:
    return options[0]


def told(person: Editor) -> list[str]:
    """The results that the model has."""
    messages = reply_requests(person.simulator)[-1].json["messages"]
    return [str(one["content"]) for one in messages if one["role"] == "tool"]


async def test_commands_run_in_the_editors_terminals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-4, T-7: once they are allowed, without keys, without input; the editor shows them."""
    monkeypatch.setenv("MY_API_KEY", "sk-secret-of-the-person")
    script = [
        runs("printf '\\033[1mbold\\033[0m\\n'; pwd; echo \"key:$MY_API_KEY.\"; cat; exit 3"),
        runs("echo up; kill -9 $$"),
        runs("sleep 3600", time_limit=0.2),
        Turn(Words("Done.")),
    ]
    answers = iter(["once", "once", "once", "deny"])

    def choices(call: Any, options: list[str]) -> str:
        return next(answers)

    async with editor(
        tmp_path, [*script, runs("touch x"), Turn(Words("."))], choices, TERMINALS
    ) as person:
        person.terminal.change(sandbox=False)
        session = await person.agent.new_session(cwd=str(person.folder))
        prompt = [text_block("Go")]
        await person.agent.prompt(session_id=session.session_id, prompt=prompt)
        ended, killed, stopped = told(person)
        assert ended == f"Error: bold\n{person.folder}\nkey:.\n[exit 3]"
        assert "up" in killed and "SIGKILL" in killed
        assert "Stopped after 0.2 s" in stopped
        assert person.released == [*person.terminals] and len(person.terminals) == 3
        last = {
            update.tool_call_id: update.content
            for update in person.updates
            if isinstance(update, ToolCallProgress) and update.content
        }
        shown = [[part.terminal_id for part in content] for content in last.values()]
        assert shown == [[name] for name in person.terminals]

        await person.agent.prompt(session_id=session.session_id, prompt=prompt)
        assert len(person.terminals) == 3, "nothing runs that was not allowed"


async def test_stop_ends_the_command_in_the_terminal(tmp_path: Path) -> None:
    """L-11."""
    child = (
        "import fcntl, time; f = open('child', 'w'); fcntl.flock(f, fcntl.LOCK_EX); time.sleep(99)"
    )
    script = [runs(f'{sys.executable} -c "{child}"'), Turn(Words("."))]
    async with editor(tmp_path, script, first, TERMINALS) as person:
        person.terminal.change(sandbox=False)
        (person.folder / "child").touch()
        session = await person.agent.new_session(cwd=str(person.folder))
        work = asyncio.create_task(
            person.agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
        )
        await until(lambda: is_locked(person.folder / "child"))
        await person.agent.cancel(session_id=session.session_id)
        assert (await work).stop_reason == "cancelled"
        await until(lambda: person.released == ["terminal-0"])
        await until(lambda: not is_locked(person.folder / "child"))


@pytest.mark.skipif(
    sys.platform.startswith("linux") and shutil.which("bwrap") is None, reason="no sandbox here"
)
async def test_a_sandboxed_command_never_leaves_its_sandbox(tmp_path: Path) -> None:
    """T-8: a terminal of the editor has the whole disk and the network."""
    async with editor(tmp_path, [runs("echo here"), Turn(Words("."))], first, TERMINALS) as person:
        session = await person.agent.new_session(cwd=str(person.folder))
        await person.agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
        assert told(person) == ["here"] and not person.terminals
