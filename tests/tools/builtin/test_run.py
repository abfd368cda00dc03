"""Commands as real processes: streaming, limits, and nothing left behind (L-11)."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from studio.domain.errors import NothingRead, ToolFailed
from studio.processes.shell_command import KEPT, OutputCapture, TerminalText, last_states
from studio.tools import Context, Result, Workspace, shorten
from studio.tools.builtin.run import run
from support.cpu_cost import grows_linearly
from support.waiting import until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands here are for sh")

ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nowhere"}


def context(folder: Path, shown: list[str] | None = None) -> Context:
    emit = shown.append if shown is not None else lambda text: None
    return Context(Workspace(folder), emit=emit, environment=ENVIRONMENT)


async def ran(folder: Path, command: str, **more: object) -> Result:
    return await run.call(context(folder), {"command": command, **more})  # type: ignore[dict-item]


def alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat")
        if stat.exists():
            return stat.read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
        os.kill(pid, 0)
    except (ProcessLookupError, FileNotFoundError):
        return False
    return not Path("/proc/self").exists()


async def pids(*files: Path) -> list[int]:
    def written() -> bool:
        return all(file.exists() and file.read_text().strip() for file in files)

    await until(written)
    return [int(file.read_text()) for file in files]


async def test_output_exit_code_folder_and_environment(tmp_path: Path) -> None:
    result = await ran(tmp_path, "pwd; echo $HOME; echo bad >&2; exit 3")
    assert result.text == f"{tmp_path}\n/nowhere\nbad\n[exit 3]"
    assert (result.summary, result.is_error) == ("exit 3", True)
    assert result.sources == ("pwd; echo $HOME; echo bad >&2; exit 3",)  # T-4

    quiet = await ran(tmp_path, "true")
    assert (quiet.text, quiet.summary, quiet.is_error) == ("(no output)", "exit 0", False)


async def test_a_command_gets_no_input(tmp_path: Path) -> None:
    assert (await ran(tmp_path, "cat; echo end")).text == "end"


async def test_output_is_shown_before_the_command_ends(tmp_path: Path) -> None:
    shown: list[str] = []
    command = "echo first; while [ ! -e go ]; do sleep 0.02; done; echo last"
    task = asyncio.create_task(run.call(context(tmp_path, shown), {"command": command}))
    await until(lambda: "first" in "".join(shown))
    assert not task.done()
    (tmp_path / "go").touch()
    result = await task
    assert result.text == "first\nlast"
    assert "".join(shown) == "first\nlast\n"


@pytest.mark.parametrize(
    "command",
    [
        "sh -c 'echo $$ > child; sleep 3600' & echo $$ > shell; wait",
        "sh -c 'trap \"\" TERM; echo $$ > child; while :; do sleep 0.1; done' & "
        "trap '' TERM; echo $$ > shell; while :; do sleep 0.1; done",
    ],
    ids=["obedient", "deaf"],
)
async def test_cancel_ends_grandchildren(tmp_path: Path, command: str) -> None:
    """L-11."""
    task = asyncio.create_task(run.call(context(tmp_path), {"command": command}))
    found = await pids(tmp_path / "shell", tmp_path / "child")
    assert all(alive(pid) for pid in found)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: not any(alive(pid) for pid in found))


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="only Linux tells environments")
async def test_cancel_ends_those_that_left_the_group(tmp_path: Path) -> None:
    """L-11: a daemon in a session of its own is still ours."""
    script = tmp_path / "daemon.py"
    script.write_text(
        "import os, time\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "open('daemon', 'w').write(str(os.getpid()))\n"
        "time.sleep(3600)\n"
    )
    command = f"{sys.executable} daemon.py; echo $$ > shell; sleep 3600"
    task = asyncio.create_task(run.call(context(tmp_path), {"command": command}))
    found = await pids(tmp_path / "shell", tmp_path / "daemon")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: not any(alive(pid) for pid in found))


async def test_time_limit_keeps_the_output_so_far(tmp_path: Path) -> None:
    command = "echo begun; echo $$ > shell; sleep 3600"
    for seconds in (0.5, 5.0, 50.0):  # a busy computer may take as long to begin
        result = await ran(tmp_path, command, time_limit=seconds)
        if (tmp_path / "shell").exists():
            break
    assert result.is_error
    assert result.text.startswith(f"begun\n[Stopped after {seconds:g} s")
    assert result.summary == f"stopped after {seconds:g} s"
    shell = int((tmp_path / "shell").read_text())
    await until(lambda: not alive(shell))


async def test_background_processes_end_with_the_command(tmp_path: Path) -> None:
    result = await ran(tmp_path, "sleep 3600 & echo $! > child; echo done")
    assert (result.text, result.summary) == ("done", "exit 0")
    (child,) = await pids(tmp_path / "child")
    await until(lambda: not alive(child))


async def test_much_output_is_bounded(tmp_path: Path) -> None:
    shown: list[str] = []
    command = "echo begin; yes 'y\ny ' | head -c 5000000; echo end"
    result = await run.call(context(tmp_path, shown), {"command": command})
    assert len(result.text) < KEPT + 200
    assert result.text.startswith("begin\ny\n")
    assert result.text.endswith("y \nend")
    assert "characters of output are left out" in result.text
    assert len("".join(shown)) < 300_000


async def test_a_signal_is_named(tmp_path: Path) -> None:
    assert (await ran(tmp_path, "kill -9 $$")).summary == "ended by SIGKILL"


async def test_wrong_calls(tmp_path: Path) -> None:
    for arguments in ({"command": " "}, {"command": "true", "time_limit": -1}):
        with pytest.raises(NothingRead):
            await run.call(context(tmp_path), arguments)  # type: ignore[arg-type]
    with pytest.raises(NothingRead, match="cannot be started"):
        await run.call(context(tmp_path), {"command": "echo \0"})
    gone = tmp_path / "gone"
    gone.mkdir()
    there = context(gone)
    gone.rmdir()
    with pytest.raises(ToolFailed, match="not there any more"):
        await run.call(there, {"command": "true"})


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_terminal_output_becomes_text(size: int) -> None:
    raw = "\x1b[1;31mrot\x1b[0m\r\n50 %\r100 %\n\x1b]0;title\x07ö\x1b(Bend".encode()
    text = TerminalText()
    pieces = [text.feed(raw[i : i + size]) for i in range(0, len(raw), size)]
    assert "".join([*pieces, text.feed(b"", final=True)]) == "rot\n50 %\r100 %\nöend"


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ("10 %\r50 %\r100 %\ndone\n", "100 %\ndone\n"),
        ("a\r\r\nb\r", "a\nb"),
        ("a\n" * 3, "a\n" * 3),
        ("x\n" + "a\n" * 1_000 + "b", "x\na\n[… the same line 999 times more …]\nb"),
        ("", ""),
    ],
)
def test_of_overwritten_and_equal_lines_one_is_shown(output: str, shown: str) -> None:
    """C-16."""
    assert last_states(output) == shown


@pytest.mark.parametrize("piece", ["a\n", "ab", "\r", "x\r", "a\nb\n"])
def test_output_is_gone_through_in_linear_time(piece: str) -> None:
    assert grows_linearly(lambda size: piece * size, last_states, 20_000)


async def test_nobody_has_to_leave_a_pager_or_an_editor(tmp_path: Path) -> None:
    """C-15, C-16."""
    told = await ran(tmp_path, 'echo "$PAGER $EDITOR $TERM"; printf "1 %%\\r2 %%\\n"')
    assert (told.text, told.keeps_end) == ("cat true dumb\n2 %", True)
    names = ("NO_COLOR", "FORCE_COLOR", "PIP_PROGRESS_BAR", "npm_config_progress", "GIT_EDITOR")
    told = await ran(tmp_path, f"echo {' '.join(f'${name}' for name in names)}")
    assert told.text == "1 0 off false true"
    long = "\n".join(map(str, range(10_000)))
    short = shorten(long, 3_000, keeps_end=True)
    head, _, tail = short.partition("[…")
    assert 800 < len(head) < 1_200 and 1_800 < len(tail) < 2_400
    assert short.startswith("0\n1\n") and short.endswith("\n9999")


@pytest.mark.parametrize("variable", ["GIT_ASKPASS", "SSH_ASKPASS", "configured"])
async def test_git_opens_no_window_for_a_password(tmp_path: Path, variable: str) -> None:
    """C-15: also where a desktop or an editor has set a program that would."""
    asks = tmp_path / "asks"
    asks.write_text("#!/bin/sh\necho asked\n")
    asks.chmod(0o755)
    set_up = f"-c core.askPass={asks}" if variable == "configured" else ""
    command = (
        "printf 'protocol=https\\nhost=example.com\\n\\n' | "
        f"git -c credential.helper= {set_up} credential fill"
    )
    environment = {**ENVIRONMENT, variable: str(asks)}
    asked = Context(Workspace(tmp_path), emit=lambda text: None, environment=environment)
    told = await run.call(asked, {"command": command})
    assert told.is_error and "asked" not in told.text and "prompts disabled" in told.text


def test_capture_keeps_both_ends() -> None:
    capture = OutputCapture(lambda: None, kept=100)
    for number in range(100):
        capture.add(f"{number:04}\n")
    text = capture.since()[0]
    assert "400 characters of output are left out" in text
    assert text.startswith("0000\n")
    assert text.endswith("0099\n")
