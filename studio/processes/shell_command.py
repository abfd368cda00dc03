"""Shell commands: runs a command line, and ends it with all its children (L-11).

Uses plain threads, so that it is the same under every event loop.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from .daemon_thread import in_daemon_thread
from .desk import Desk
from .keeper import GRACE, Keeper, KeptProcess
from .sandbox import Sandbox
from .sandbox_mounts import Launch

KEPT = 1_000_000
"""Characters of output that are kept: the first and the last half of this."""
SHOWN = 200_000
"""Characters of output that are shown while the command runs."""
_TICK = 0.05
_LINGER = 0.5
_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()#].|[@-Z\\^_=>78])"
)
_UNFINISHED = re.compile(r"(?:\r|\x1b[^\n]{0,300})\Z")
_SAME = 3
"""Equal lines that stay as they are."""
UNATTENDED = {
    **dict.fromkeys(("PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER", "AWS_PAGER"), "cat"),
    **dict.fromkeys(("EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"), "true"),
    "GIT_TERMINAL_PROMPT": "0",
    "GCM_INTERACTIVE": "never",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "CLICOLOR": "0",
    "FORCE_COLOR": "0",
    "PIP_PROGRESS_BAR": "off",
    "npm_config_progress": "false",
}
"""The environment of a command that nobody watches: no pagers, editors, questions for a password,
colours or progress bars (C-15)."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended. ``code`` is the exit code, negative for a signal; ``output`` has
    both streams as they came, see ``OutputCapture.whole`` and ``last_states``."""

    code: int
    output: str
    timed_out: bool


class OutputCapture:
    """Output so far, in bounded memory; one thread adds, another reads.

    ``arrived`` is called in the thread that adds, when there is new output to show.
    """

    def __init__(self, arrived: Callable[[], object], kept: int = KEPT) -> None:
        self._arrived = arrived
        self._half = kept // 2
        self._head = ""
        self._tail = ""
        self._fresh: list[str] = []
        self._shown = 0
        self._total = 0
        self._lock = threading.Lock()

    def add(self, text: str) -> None:
        with self._lock:
            self._total += len(text)
            if self._shown < SHOWN:
                self._fresh.append(text)
                self._shown += len(text)
                if self._shown >= SHOWN:
                    self._fresh.append("\n[… more output follows, not shown here …]\n")
                self._arrived()
            room = max(0, self._half - len(self._head))
            self._head += text[:room]
            self._tail += text[room:]
            if len(self._tail) > 2 * self._half:
                self._tail = self._tail[-self._half :]

    def fresh(self) -> str:
        """The output since the last call, until ``SHOWN`` characters were shown."""
        with self._lock:
            text = "".join(self._fresh)
            self._fresh.clear()
        return text

    def whole(self) -> str:
        """Everything kept; a note says how many characters are missing in its middle."""
        with self._lock:
            tail = self._tail[-self._half :]
            left_out = self._total - len(self._head) - len(tail)
            if not left_out:
                return self._head + tail
            note = f"\n\n[… {left_out:,} characters of output are left out here …]\n\n"
            return self._head + note + tail


class TerminalText:
    """Terminal output as text: no escape sequences, line ends as ``\\n``; fed in pieces. A
    ``\\r`` that stays goes back to the beginning of its line."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""

    def feed(self, data: bytes, *, final: bool = False) -> str:
        text = _ESCAPE.sub("", self._held + self._decoder.decode(data, final))
        unfinished = None if final else _UNFINISHED.search(text)
        end = unfinished.start() if unfinished else len(text)
        text, self._held = text[:end], text[end:]
        return text.replace("\r\n", "\n").replace("\0", "")


def last_states(output: str) -> str:
    """Output as a terminal shows it in the end: of a line that was overwritten the last state,
    of more than three equal lines one with their count (C-16)."""

    lines: list[str] = []
    for line, same in groupby(map(_last_state, output.split("\n"))):
        count = sum(1 for _ in same)
        if count <= _SAME:
            lines += [line] * count
        else:
            lines += [line, f"[… the same line {count - 1:,} times more …]"]
    return "\n".join(lines)


def _last_state(line: str) -> str:
    return next((state for state in reversed(line.split("\r")) if state), "")


async def run_shell(
    command: str,
    *,
    folder: Path,
    environment: Mapping[str, str],
    sandbox: Sandbox,
    keeper: Keeper,
    network: bool = False,
    desk: Desk | None = None,
    time_limit: float,
    emit: Callable[[str], None],
) -> CommandResult:
    """Run a command line in the system's shell, without input; on a desk of the folder, if given.

    ``emit`` gets output as it comes, on the event loop. When the command ends,
    takes longer than ``time_limit`` seconds or the caller is cancelled, all
    processes that it started get SIGTERM, and ``GRACE`` seconds later SIGKILL.
    Raises OSError if the shell cannot be started.
    """

    def begin() -> _Command:
        argv = sandbox.argv(Launch(command, folder, environment, network, desk=desk))
        try:
            return _begin(argv, folder, environment, sandbox, keeper)
        except BaseException:
            sandbox.left()
            raise

    def end(begun: _Command) -> None:  # once for each
        try:
            begun.process.end()
        finally:
            sandbox.left()

    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()
    capture = OutputCapture(lambda: loop.call_soon_threadsafe(arrived.set))
    begun = await _start(begin, end)
    ending = asyncio.wrap_future(begun.process.exited)
    reading = asyncio.ensure_future(in_daemon_thread(lambda: _read(begun.output, capture)))
    showing = asyncio.ensure_future(_show(capture, arrived, emit))
    try:
        done, _ = await asyncio.wait([ending], timeout=time_limit)
        if done:
            await asyncio.wait([reading], timeout=_LINGER)
    finally:
        # In a thread, so that it goes on when the caller is cancelled again.
        stopping = asyncio.ensure_future(in_daemon_thread(lambda: end(begun)))
        try:
            await asyncio.shield(stopping)
        finally:
            showing.cancel()
    await asyncio.wait([reading], timeout=_LINGER)
    if text := capture.fresh():
        emit(text.replace("\r", "\n"))
    exited = begun.process.exited
    return CommandResult(exited.result() if exited.done() else -9, capture.whole(), not done)


async def _show(
    capture: OutputCapture, arrived: asyncio.Event, emit: Callable[[str], None]
) -> None:
    while True:
        await arrived.wait()
        arrived.clear()
        if text := capture.fresh():
            emit(text.replace("\r", "\n"))
        await asyncio.sleep(_TICK)  # many small writes become one


@dataclass(frozen=True, slots=True)
class _Command:
    process: KeptProcess
    output: int
    """A descriptor with both of its streams, to be closed."""


def _begin(
    argv: list[str] | str,
    folder: Path,
    environment: Mapping[str, str],
    sandbox: Sandbox,
    keeper: Keeper,
) -> _Command:
    output, writing = os.pipe()
    opened = [writing]
    try:
        opened.append(null := os.open(os.devnull, os.O_RDONLY))
        if (rules := sandbox.rules()) is not None:
            opened.append(rules)
        confined = sandbox.kind == "bubblewrap"
        # Its end kills all in it, so it gets no SIGTERM: they need time to react to theirs.
        process = keeper.start(
            *(argv, folder, environment, (null, writing, writing)),
            rules=rules,
            grace=GRACE,
            spared=confined,
        )
    except BaseException:
        os.close(output)
        raise
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return _Command(process, output)


async def _start(begin: Callable[[], _Command], end: Callable[[_Command], None]) -> _Command:
    """Start a command in a thread; if the caller is cancelled, ``end`` is called with it."""
    begun: list[_Command] = []
    left = False
    handing = threading.Lock()

    def work() -> _Command:
        command = begin()
        with handing:
            begun.append(command)
            wanted = not left
        if not wanted:
            abandon(command)
        return command

    def abandon(command: _Command) -> None:
        os.close(command.output)
        end(command)

    try:
        return await in_daemon_thread(work)
    except asyncio.CancelledError:
        with handing:
            left = True
            for command in begun:
                threading.Thread(target=abandon, args=(command,), daemon=True).start()
        raise


def _read(output: int, capture: OutputCapture) -> None:
    text = TerminalText()
    with os.fdopen(output, "rb", 0), contextlib.suppress(OSError, RuntimeError):
        # RuntimeError: the event loop is closed.
        while data := os.read(output, 1 << 16):
            capture.add(text.feed(data))
        capture.add(text.feed(b"", final=True))
