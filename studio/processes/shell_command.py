"""Shell commands: runs a command line, and ends it with all its children (L-11).

Uses plain threads, so that it is the same under every event loop.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import re
import threading
import time
from collections.abc import Callable
from itertools import groupby

from studio.domain.records import dataclass

from .command_start import Stdin, start_command
from .command_streams import BegunCommand, Streams
from .daemon_thread import in_daemon_thread
from .keeper import Keeper
from .sandbox import Sandbox
from .sandbox_mounts import Launch

KEPT = 1_000_000
"""Characters of output that are kept: the first and the last half of this."""
SHOWN = 200_000
"""Characters of output that are shown while the command runs."""
END = "\x04"
"""What ends the input of a command: Ctrl+D."""
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
    "GIT_ASKPASS": "",  # also where a desktop or an editor has set one
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
    both streams as they came, see ``OutputCapture.since`` and ``last_states``."""

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

    def since(self, position: int = 0) -> tuple[str, int]:
        """What is kept of the output from a position on, and the position after it; a note says
        how many characters are missing in its middle."""
        with self._lock:
            tail = self._tail[-self._half :]
            begins = self._total - len(tail)
            head = self._head[position:]
            left_out = begins - max(position, len(self._head))
            if left_out > 0:
                head += f"\n\n[… {left_out:,} characters of output are left out here …]\n\n"
            return head + tail[max(0, position - begins) :], self._total


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


class ShellCommand:
    """A command line that runs in the system's shell, until it ends or ``end`` is called.

    Then all processes that it started get SIGTERM, and ``GRACE`` seconds later SIGKILL.
    ``output`` has what it printed so far. Belongs to the event loop that it was started on.
    """

    def __init__(self, begun: BegunCommand, time_limit: float | None) -> None:
        loop = asyncio.get_running_loop()
        self._arrived = asyncio.Event()
        self.output = OutputCapture(lambda: loop.call_soon_threadsafe(self._arrived.set))
        self.timed_out = self.stopped = False
        """Why it ended, if not by itself."""
        self._begun = begun
        self._typing = False
        self._began = time.monotonic()
        self._ended: float | None = None
        self._ending = asyncio.Event()
        self._life = asyncio.ensure_future(self._live(time_limit))

    @classmethod
    async def start(
        cls,
        launch: Launch,
        *,
        sandbox: Sandbox,
        keeper: Keeper,
        stdin: Stdin = "nothing",
        time_limit: float | None = None,
    ) -> ShellCommand:
        """Start a command line. Raises OSError if the shell cannot be started."""
        begun = await start_command(launch, sandbox=sandbox, keeper=keeper, stdin=stdin)
        return cls(begun, time_limit)

    @property
    def running(self) -> bool:
        return not self._life.done()

    @property
    def code(self) -> int:
        """Its exit code, once it has ended; negative for a signal."""
        exited = self._begun.process.exited
        return exited.result() if exited.done() else -9

    @property
    def result(self) -> CommandResult:
        return CommandResult(self.code, self.output.since()[0], self.timed_out)

    @property
    def seconds(self) -> float:
        """For how long it runs, or ran."""
        return (self._ended or time.monotonic()) - self._began

    @property
    def takes_input(self) -> bool:
        return self._begun.streams.takes_input and not self._typing

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait for its end, ``seconds`` at most; whether it has ended."""
        done, _ = await asyncio.wait([self._life], timeout=seconds)
        return bool(done)

    async def follow(
        self, emit: Callable[[str], None], seconds: float, released: asyncio.Event
    ) -> bool:
        """Show its output as it comes until it ends, or ``seconds`` are over, or ``released`` is
        set; returns whether it has ended. ``emit`` is called on the event loop."""
        showing = asyncio.ensure_future(self._show(emit))
        releasing = asyncio.ensure_future(released.wait())
        try:
            await asyncio.wait(
                [self._life, releasing], timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            showing.cancel()
            releasing.cancel()
        if text := self.output.fresh():
            emit(text.replace("\r", "\n"))
        return not self.running

    async def write(self, text: str) -> None:
        """Give it input; at the end of a pipe ``END`` closes it.

        Raises OSError if it takes none, or takes it too slowly.
        """
        begun = self._begun
        if not self.takes_input or not self.running:
            raise OSError("it takes no input")
        closes = not begun.terminal and text.endswith(END)
        data = (text.removesuffix(END) if closes else text).encode("utf-8", "replace")
        self._typing = True  # one at a time
        try:
            await in_daemon_thread(lambda: begun.streams.write(data))
        finally:
            self._typing = False
            if closes or not self.running:
                begun.streams.close_input()

    async def end(self) -> None:
        """End it with all that it started; returns when that is done, also if cancelled."""
        self.stopped = self.stopped or self.running
        self._ending.set()
        await asyncio.shield(self._life)

    async def _live(self, time_limit: float | None) -> None:
        begun = self._begun
        exited = asyncio.wrap_future(begun.process.exited)
        reading = asyncio.ensure_future(in_daemon_thread(lambda: _read(begun.streams, self.output)))
        ending = asyncio.ensure_future(self._ending.wait())
        try:
            done, _ = await asyncio.wait(
                [exited, ending], timeout=time_limit, return_when=asyncio.FIRST_COMPLETED
            )
            self.timed_out = not done
            if exited in done:
                self.stopped = False
                await asyncio.wait([reading], timeout=_LINGER)
        finally:
            ending.cancel()
            # In a thread, so that it goes on when the loop ends.
            await in_daemon_thread(begun.end)
        await asyncio.wait([reading], timeout=_LINGER)
        self._ended = time.monotonic()
        begun.streams.close_input()

    async def _show(self, emit: Callable[[str], None]) -> None:
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            if text := self.output.fresh():
                emit(text.replace("\r", "\n"))
            await asyncio.sleep(_TICK)  # many small writes become one


async def run_shell(
    launch: Launch, *, sandbox: Sandbox, keeper: Keeper, time_limit: float
) -> CommandResult:
    """Run a command line without input; it is ended with the caller. Raises OSError."""
    command = await ShellCommand.start(
        launch, sandbox=sandbox, keeper=keeper, time_limit=time_limit
    )
    try:
        await command.wait()
    finally:
        await command.end()
    return command.result


def _read(streams: Streams, capture: OutputCapture) -> None:
    text = TerminalText()
    with contextlib.suppress(RuntimeError):  # the loop is closed
        streams.read(lambda data: capture.add(text.feed(data)))
        capture.add(text.feed(b"", final=True))
