"""Shell commands: runs a command line, and ends it with all its children (L-11).

Uses plain threads and ``subprocess``, so that it is the same under every event loop.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from .daemon_thread import in_daemon_thread
from .sandbox import Sandbox
from .sandbox_mounts import Launch

GRACE = 0.2
"""Seconds between SIGTERM and SIGKILL."""
KEPT = 1_000_000
"""Characters of output that are kept: the first and the last half of this."""
SHOWN = 200_000
"""Characters of output that are shown while the command runs."""
_TICK = 0.05
_LINGER = 0.5
_MARK = "AGENT_STUDIO_RUN"
_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()#].|[@-Z\\^_=>78])"
)
_UNFINISHED = re.compile(r"(?:\r|\x1b[^\n]{0,300})\Z")


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended. ``code`` is the exit code, negative for a signal; ``output`` has
    both streams as they came, see ``OutputCapture.whole``."""

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
    """Terminal output as text: no escape sequences, line ends as ``\\n``; fed in pieces."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""

    def feed(self, data: bytes, *, final: bool = False) -> str:
        text = _ESCAPE.sub("", self._held + self._decoder.decode(data, final))
        unfinished = None if final else _UNFINISHED.search(text)
        end = unfinished.start() if unfinished else len(text)
        text, self._held = text[:end], text[end:]
        return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


async def run_shell(
    command: str,
    *,
    folder: Path,
    environment: Mapping[str, str],
    sandbox: Sandbox,
    network: bool = False,
    time_limit: float,
    emit: Callable[[str], None],
) -> CommandResult:
    """Run a command line in the system's shell, without input.

    ``emit`` gets output as it comes, on the event loop. When the command ends,
    takes longer than ``time_limit`` seconds or the caller is cancelled, all
    processes that it started get SIGTERM, and ``GRACE`` seconds later SIGKILL.
    Raises OSError if the shell cannot be started.
    """
    mark = uuid.uuid4().hex
    marked = {**environment, _MARK: mark}

    def begin() -> subprocess.Popen[bytes]:
        argv = sandbox.argv(Launch(command, folder, marked, network))
        try:
            sandbox.enter()  # see _start: this thread ends with the child
            return _popen(argv, folder, marked)
        except BaseException:
            sandbox.left()
            raise

    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()
    capture = OutputCapture(lambda: loop.call_soon_threadsafe(arrived.set))

    def end(child: _Child) -> None:  # once for each child
        try:
            stop(child, mark, confined=sandbox.kind == "bubblewrap")
        finally:
            sandbox.left()

    child, ending = await _start(begin, end)
    reading = asyncio.ensure_future(in_daemon_thread(lambda: _read(child, capture)))
    showing = asyncio.ensure_future(_show(capture, arrived, emit))
    try:
        done, _ = await asyncio.wait([ending], timeout=time_limit)
        if done:
            await asyncio.wait([reading], timeout=_LINGER)
    finally:
        # In a thread, so that it goes on when the caller is cancelled again.
        stopping = asyncio.ensure_future(in_daemon_thread(lambda: end(child)))
        try:
            await asyncio.shield(stopping)
        finally:
            showing.cancel()
    await asyncio.wait([reading], timeout=_LINGER)
    if text := capture.fresh():
        emit(text)
    return CommandResult(child.returncode, capture.whole(), not done)


async def _show(
    capture: OutputCapture, arrived: asyncio.Event, emit: Callable[[str], None]
) -> None:
    while True:
        await arrived.wait()
        arrived.clear()
        if text := capture.fresh():
            emit(text)
        await asyncio.sleep(_TICK)  # many small writes become one


_Child: TypeAlias = "subprocess.Popen[bytes]"


async def _start(
    begin: Callable[[], _Child], end: Callable[[_Child], None]
) -> tuple[_Child, asyncio.Future[None]]:
    """Start the child; returns it, and a future that is done when it has ended.

    The thread that starts it also waits for it: a sandbox ends with the thread that started
    it. If the caller is cancelled, ``end`` is called with the child.
    """
    loop = asyncio.get_running_loop()
    started = asyncio.Event()
    begun: list[_Child] = []
    left = False
    handing = threading.Lock()

    def work() -> None:
        child = begin()
        with handing:
            begun.append(child)
            wanted = not left
        if wanted:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(started.set)
            child.wait()
        else:
            abandon(child)

    def abandon(child: _Child) -> None:
        end(child)
        if child.stdout is not None:
            child.stdout.close()

    ending = asyncio.ensure_future(in_daemon_thread(work))
    starting = asyncio.ensure_future(started.wait())
    try:
        await asyncio.wait([ending, starting], return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        with handing:
            left = True
            for child in begun:
                threading.Thread(target=abandon, args=(child,), daemon=True).start()
        raise
    finally:
        starting.cancel()
    if not begun:
        ending.result()  # raises what kept it from starting
    return begun[0], ending


def _popen(argv: list[str] | str, folder: Path, environment: Mapping[str, str]) -> _Child:
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
    return subprocess.Popen(
        argv,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        creationflags=flags,
        start_new_session=sys.platform != "win32",
    )


def _read(child: subprocess.Popen[bytes], capture: OutputCapture) -> None:
    assert child.stdout is not None
    text = TerminalText()
    with child.stdout as stream, contextlib.suppress(OSError, RuntimeError):
        # RuntimeError: the event loop is closed.
        while data := os.read(stream.fileno(), 1 << 16):
            capture.add(text.feed(data))
        capture.add(text.feed(b"", final=True))


def stop(child: _Child, mark: str, *, confined: bool = False) -> None:
    """End a child and everything it started, and reap it. Blocks for some more than ``GRACE``.

    ``confined``: the child is a sandbox with a PID namespace, whose end kills all in it. It
    gets no SIGTERM, so that the processes in it have time to react to theirs.
    """
    if sys.platform == "win32":
        subprocess.run(
            ["taskkill", "/T", "/F", "/PID", str(child.pid)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            creationflags=subprocess.CREATE_NO_WINDOW,
            check=False,
        )
        child.wait()
        return
    if _signal(child.pid, mark, signal.SIGTERM, spared=child.pid if confined else 0):
        deadline = time.monotonic() + GRACE
        while time.monotonic() < deadline and _alive(child, mark):
            time.sleep(0.01)
    _signal(child.pid, mark, signal.SIGKILL)
    child.wait()


if sys.platform != "win32":

    def _signal(group: int, mark: str, number: signal.Signals, spared: int = 0) -> bool:
        """Send a signal to the group and to processes that left it; False if there are none."""
        found = False
        if not spared:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)
                found = True
        for pid in _ours(group, mark):
            if pid != spared:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
                    found = True
        return found

    def _alive(child: _Child, mark: str) -> bool:
        child.poll()
        if Path("/proc/self/stat").exists():
            return bool(_ours(child.pid, mark))
        try:
            os.killpg(child.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def _ours(group: int, mark: str) -> list[int]:
        """Living processes of the group, and those with our mark in their environment (Linux).

        Zombies do not count.
        """
        wanted = f"{_MARK}={mark}".encode()
        own = os.getuid()
        found: list[int] = []
        with contextlib.suppress(OSError):
            for entry in os.scandir("/proc"):
                if not entry.name.isdigit():
                    continue
                with contextlib.suppress(OSError):
                    if entry.stat().st_uid != own:
                        continue
                    # The process name, in brackets, may hold anything.
                    stat = Path(entry.path, "stat").read_bytes().rpartition(b")")[2].split()
                    if stat[0] not in (b"Z", b"X") and (
                        int(stat[2]) == group
                        or wanted in Path(entry.path, "environ").read_bytes().split(b"\0")
                    ):
                        found.append(int(entry.name))
        return found
