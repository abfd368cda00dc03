"""Windows terminal: begins a command in a pseudo-terminal of Windows, with ``pywinpty`` (C-14).

The process is there before it can be put into its job object, so it waits for a key first: what
it starts would not be in the job else.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from .command_streams import BegunCommand
from .keeper import KeptProcess
from .sandbox import Sandbox
from .sandbox_mounts import Launch

CONPTY = 0
"""The backend of ``pywinpty`` that is Windows' own."""
_TICK = 0.02
_LINGER = 0.5
"""Seconds in which a terminal may still say something after the end of its command."""
_GO = " "
_ANSWERS = {"\x1b[6n": "\x1b[1;1R", "\x1b[c": "\x1b[?1;2c", "\x1b[0c": "\x1b[?1;2c"}
"""Where the cursor is, and what terminal this is: Windows' own asks, and waits for the answer."""
_LONGEST_QUESTION = max(map(len, _ANSWERS))


class Pty(Protocol):
    """What is used of ``winpty.PTY``."""

    @property
    def pid(self) -> int | None: ...
    def spawn(
        self, appname: str, cmdline: str | None, cwd: str | None, env: str | None
    ) -> bool: ...
    def read(self, blocking: bool) -> str: ...
    def write(self, to_write: str) -> int: ...
    def isalive(self) -> bool: ...
    def get_exitstatus(self) -> int | None: ...


def begin_in_terminal(
    launch: Launch,
    sandbox: Sandbox,
    columns: int,
    rows: int,
    open_pty: Callable[[int, int], Pty] | None = None,
    keep: Callable[[int, Callable[[], int]], KeptProcess] | None = None,
) -> BegunCommand:
    """Begin a command. ``open_pty`` makes a terminal, ``keep`` has a process end with its job.

    Raises OSError.
    """
    pty = (open_pty or _open_pty)(columns, rows)
    argv = sandbox.argv(replace(launch, command=f"pause>nul & {launch.command}", terminal=True))
    assert isinstance(argv, str), "there is no sandbox on Windows"
    program, _, rest = argv.partition(" /c ")
    environment = "".join(f"{name}={value}\0" for name, value in launch.environment.items())
    try:
        pty.spawn(program, f" /c {rest}", str(launch.begins), environment)
    except Exception as error:  # pywinpty has one of its own
        raise OSError(str(error)) from error
    streams = PtyStreams(pty)
    if pty.pid is None:
        raise OSError("The terminal has no process.")
    process = (keep or _keep)(pty.pid, lambda: _ended(pty))
    try:
        pty.write(_GO)
    except Exception as error:
        process.end()
        raise OSError(str(error)) from error
    return BegunCommand(process, sandbox.left, streams, terminal=True)


class PtyStreams:
    """See ``Streams``; what is written are the keys of a terminal."""

    def __init__(self, pty: Pty) -> None:
        self._pty = pty
        self._lock = threading.Lock()
        """``pywinpty`` says nothing of threads."""
        self._open = True

    @property
    def takes_input(self) -> bool:
        return self._open

    def read(self, take: Callable[[bytes], object]) -> None:
        until = 0.0
        asked = ""
        while self._open:
            try:
                text = self._read()
            except Exception:  # its end: pywinpty's own error
                return
            if text:
                take(text.encode("utf-8", "replace"))
                asked = self._answer(asked + text)
                continue
            # Its end is no end of the output: Windows keeps the terminal open.
            if until and time.monotonic() >= until:
                return
            if not until and not self._pty.isalive():
                until = time.monotonic() + _LINGER
            time.sleep(_TICK)

    def write(self, data: bytes) -> None:
        if not self._open or not self._pty.isalive():
            raise OSError("it takes no input")
        try:
            with self._lock:
                self._pty.write(data.decode("utf-8", "replace"))
        except Exception as error:
            raise OSError(str(error)) from error

    def close_input(self) -> None:
        """A terminal has one end for both; its end comes with that of its command."""

    def abandon(self) -> None:
        self._open = False

    def _read(self) -> str:
        with self._lock:
            return self._pty.read(False)

    def _answer(self, text: str) -> str:
        """Answer what the terminal asks; returns what may be the beginning of a question."""
        for question, answer in _ANSWERS.items():
            for _ in range(text.count(question)):
                with self._lock:
                    self._pty.write(answer)
        begins = text.rfind("\x1b", -_LONGEST_QUESTION + 1)
        rest = text[begins:] if begins >= 0 else ""
        return "" if rest in _ANSWERS else rest


def _open_pty(columns: int, rows: int) -> Pty:
    if sys.platform != "win32":
        raise OSError("This terminal is that of Windows.")
    try:
        from winpty import PTY

        return PTY(columns, rows, backend=CONPTY)
    except Exception as error:  # it is not there, or Windows is too old
        raise OSError(f"There is no terminal: {error}") from error


def _keep(pid: int, wait: Callable[[], int]) -> KeptProcess:
    if sys.platform != "win32":
        raise OSError("Jobs are those of Windows.")
    from .job_object import keep_in_job

    return keep_in_job(pid, wait)


def _ended(pty: Pty) -> int:
    """Wait for the end of its command; the exit code."""
    while pty.isalive():
        time.sleep(_TICK)
    return pty.get_exitstatus() or 0
