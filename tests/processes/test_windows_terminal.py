"""C-14: a command in a terminal of Windows.

``pywinpty`` is there on Windows alone: a terminal of POSIX stands in for its ``PTY``, with its
methods. All around it is real.
"""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

import pytest

from studio.processes.sandbox import NoSandbox
from studio.processes.sandbox_mounts import Launch
from studio.processes.shell_command import ShellCommand
from studio.processes.windows_terminal import begin_in_terminal
from support.waiting import until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is of POSIX")
CMD = r"C:\WINDOWS\system32\cmd.exe"


class CmdSandbox(NoSandbox):
    """Makes the command line of Windows."""

    def argv(self, launch: Launch) -> str:
        return f'{CMD} /c "{launch.command}"'


class StandIn:
    """``winpty.PTY``: asks where the cursor is, and ``pause`` waits for a key."""

    def __init__(self, columns: int, rows: int) -> None:
        self.size = (columns, rows)
        self.kept = False
        self.began = False
        self.answers: list[str] = []
        self._outer, self._inner = pty.openpty()
        self._process: subprocess.Popen[bytes] | None = None
        self._said = ["\x1b[6", "n\x1b[c"]

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def spawn(self, appname: str, cmdline: str | None, cwd: str | None, env: str | None) -> bool:
        assert appname == CMD and cmdline is not None and env is not None
        assert env.endswith("\0") and "=" in env
        begin, _, command = cmdline.removeprefix(' /c "').removesuffix('"').partition(" & ")
        assert begin == "pause>nul"
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", f"read -r key; {command}"],
            cwd=cwd,
            env=dict(one.split("=", 1) for one in env.split("\0") if one),
            **dict.fromkeys(("stdin", "stdout", "stderr"), self._inner),
            start_new_session=True,
            preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)),
        )
        return True

    def read(self, blocking: bool) -> str:
        assert not blocking
        if self._said:
            return self._said.pop(0)
        ready, _, _ = select.select([self._outer], [], [], 0)
        return os.read(self._outer, 1000).decode() if ready else ""

    def write(self, to_write: str) -> int:
        if to_write.startswith("\x1b"):
            self.answers.append(to_write)
        elif to_write == " " and not self.began:
            assert self.kept, "a command that begins before it is in its job may leave it"
            self.began = True
            os.write(self._outer, b"\n")
        else:
            os.write(self._outer, to_write.encode())
        return len(to_write)

    def isalive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def get_exitstatus(self) -> int | None:
        return self._process.poll() if self._process else None


class Kept:
    """A process and what it started, without a job."""

    def __init__(self, pid: int, wait: Callable[[], int]) -> None:
        self.pid = pid
        self.exited: Future[int] = Future()
        threading.Thread(target=lambda: self.exited.set_result(wait()), daemon=True).start()

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)


async def begun(folder: Path, line: str) -> tuple[StandIn, ShellCommand]:
    opened: list[StandIn] = []

    def open_pty(columns: int, rows: int) -> StandIn:
        opened.append(StandIn(columns, rows))
        return opened[0]

    def keep(pid: int, wait: Callable[[], int]) -> Kept:
        opened[0].kept = True
        return Kept(pid, wait)

    launch = Launch(line, folder, {"PATH": os.environ["PATH"]})
    command = begin_in_terminal(launch, CmdSandbox(), 120, 40, open_pty, keep)
    return opened[0], ShellCommand(command, None)


async def test_it_is_as_a_terminal_of_posix(tmp_path: Path) -> None:
    """C-14: it begins in its job, its questions are answered, keys reach it, its end is told."""
    line = "pwd; read -r name; echo hello $name; exit 3"
    terminal, command = await begun(tmp_path, line)
    assert terminal.size == (120, 40) and command.takes_input
    await until(lambda: str(tmp_path) in command.output.since()[0])
    await command.write("Ada\r")
    await command.wait()
    assert command.code == 3 and "hello Ada" in command.output.since()[0]
    assert "\x1b" not in command.output.since()[0]
    assert terminal.answers == ["\x1b[1;1R", "\x1b[?1;2c"]
    with pytest.raises(OSError, match="no input"):
        await command.write("more\r")


async def test_a_control_key_and_the_end(tmp_path: Path) -> None:
    """C-14: Ctrl+C, and Stop."""
    line = "trap 'echo caught' INT; echo ready; while :; do sleep 0.05; done"
    _, command = await begun(tmp_path, line)
    await until(lambda: "ready" in command.output.since()[0])
    await command.write("\x03")
    await until(lambda: "caught" in command.output.since()[0])
    await command.end()
    assert not command.running and command.stopped


async def test_what_cannot_begin_says_why(tmp_path: Path) -> None:
    """C-14: also an error of the library's own."""

    class Broken(StandIn):
        def spawn(self, *args: object) -> bool:  # type: ignore[override]
            raise ValueError("The directory name is invalid.")

    launch = Launch("echo", tmp_path, {})
    with pytest.raises(OSError, match="directory name"):
        begin_in_terminal(launch, CmdSandbox(), 120, 40, Broken)
    with pytest.raises(OSError, match="Windows"):
        begin_in_terminal(launch, CmdSandbox(), 120, 40)
