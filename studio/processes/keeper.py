"""Keeper: starts processes that end with everything they started, also when the program is killed.

On POSIX one small process starts them, see ``keeper_process``; on Windows each has a job object,
which ends with its last handle. Blocks: call it in a thread.
"""

from __future__ import annotations

import marshal
import os
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from io import BufferedReader
if sys.platform != "win32":
    from . import keeper_process

GRACE = 0.2
"""Seconds between SIGTERM and SIGKILL."""
_PATIENCE = 10.0
"""Seconds after which a keeper that says nothing is not waited for any more."""
_LINGER = 0.02
"""Seconds in which a sandbox ends after its command, before what is left is looked for."""
_LINKER = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")
"""All that Python itself may need of the environment."""


class KeptProcess(Protocol):
    """A process that ends with everything it started."""

    @property
    def pid(self) -> int: ...
    @property
    def exited(self) -> Future[int]:
        """Done when the process itself has ended: its code, negative for a signal."""
        ...

    def end(self) -> None:
        """End what is left of it and of all it started, and wait for that. Blocks."""
        ...


class Keeper:
    """Starts processes; the first one starts the keeper's own. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: tuple[socket.socket, Callable[[], object]] | None = None

    def start(
        self,
        argv: Sequence[str] | str | Callable[[], Sequence[str] | str],
        folder: Path,
        environment: Mapping[str, str],
        streams: tuple[int, int, int],
        *,
        rules: int | None = None,
        grace: float = GRACE,
        spared: bool = False,
        leads: bool = False,
    ) -> KeptProcess:
        """Start a program, whose path is whole, with these descriptors as its streams.

        ``rules`` is a Landlock ruleset that it gets. When it is ended, all get SIGTERM, but not
        the process itself if it is ``spared``, and ``grace`` seconds later SIGKILL. One that
        ``leads`` is the first of its session, so that it can have a terminal. A text as ``argv``
        is for Windows. A function that gives it is called once, while the supervisor starts.
        Raises OSError if it cannot be started.
        """
        if sys.platform == "win32":
            from .job_object import start_in_job

            return start_in_job(argv() if callable(argv) else argv, folder, environment, streams)
        values = {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}
        passed = [*streams, *([] if rules is None else [rules])]
        request = b""
        for _ in range(2):  # the keeper may have ended unseen
            order = self._ask(keeper_process.START, passed)
            try:
                if not request:
                    given = argv() if callable(argv) else argv
                    words = [os.fsencode(word) for word in given]
                    request = marshal.dumps(
                        (os.fsencode(folder), words, values, grace, spared, leads)
                    )
            except BaseException:
                order.close()  # the supervisor ends
                raise
            with suppress(BrokenPipeError, ConnectionResetError):
                order.sendall(len(request).to_bytes(8, "big") + request)
            lines = order.makefile("rb")
            begins = lines.readline().strip() == b"starting"
            word, _, rest = lines.readline().decode("utf-8", "replace").strip().partition(" ")
            if word == "started":
                return _Supervised(self, int(rest), order, lines)
            lines.close()
            order.close()
            if begins and not word:  # it may have begun, so it is not started a second time
                self.sweep()
                raise OSError("The command ended the process that keeps it.")
            if word == "failed":
                number, _, text = rest.partition(" ")
                error = OSError(text)
                error.errno = int(number) or None
                raise error
        raise OSError("The process that keeps commands cannot be started.")

    def sweep(self) -> None:
        """End what supervisors that were killed have left behind."""
        for _ in range(2):
            with self._ask(keeper_process.SWEEP, []) as order, suppress(ConnectionResetError):
                if order.recv(16):
                    return

    def close(self) -> None:
        """End the keeper's process; it goes on until its commands have ended."""
        with self._lock:
            running, self._running = self._running, None
        if running is not None:
            running[1]()

    def _ask(self, kind: bytes, passed: Sequence[int]) -> socket.socket:
        """Send the keeper a request; returns the socket on which it answers."""
        ours, theirs = socket.socketpair()
        try:
            with theirs, self._lock:
                for trial in range(2):
                    running = self._running or self._begin()
                    try:
                        socket.send_fds(running[0], [kind], [theirs.fileno(), *passed])
                        break
                    except (BrokenPipeError, ConnectionResetError):
                        self._running = None
                        running[1]()
                        if trial:
                            raise
        except BaseException:
            ours.close()
            raise
        return ours

    def _begin(self) -> tuple[socket.socket, Callable[[], object]]:
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                process = subprocess.Popen(
                    [sys.executable, "-I", "-S", keeper_process.__file__],
                    cwd="/",
                    env={name: os.environ[name] for name in _LINKER if name in os.environ},
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
        except BaseException:
            ours.close()
            raise
        ending = weakref.finalize(self, _release, ours, process)
        ending.atexit = False  # with the program both sockets close anyway
        self._running = ours, ending
        return ours, ending


def _release(ours: socket.socket, process: subprocess.Popen[bytes]) -> None:
    ours.close()
    try:
        process.wait(1.0)
    except subprocess.TimeoutExpired:  # a command goes on: it is still a child of this program
        threading.Thread(target=process.wait, daemon=True).start()


class _Supervised:
    """See ``KeptProcess``; the supervisor ends it when ``order`` is closed on this side."""

    def __init__(
        self, keeper: Keeper, pid: int, order: socket.socket, lines: BufferedReader
    ) -> None:
        self.pid = pid
        self.exited: Future[int] = Future()
        self.exited.set_running_or_notify_cancel()  # whoever waits for it may be cancelled
        self._keeper = keeper
        self._order = order
        self._over = threading.Event()
        threading.Thread(target=self._watch, args=(lines,), daemon=True).start()

    def end(self) -> None:
        if self.exited.done() and self._over.wait(_LINGER):
            return
        with suppress(OSError):  # it is over
            self._order.shutdown(socket.SHUT_WR)
        self._over.wait(_PATIENCE)

    def _watch(self, lines: BufferedReader) -> None:
        """Read what the supervisor says, until it has ended."""
        word = ""
        with self._order, lines, suppress(OSError):
            for line in lines:
                word, _, rest = line.decode("utf-8", "replace").strip().partition(" ")
                if word == "exited":
                    self.exited.set_result(int(rest))
                elif word == "stuck":
                    self._over.set()
        if word != "over":  # it was killed, and perhaps the keeper with it
            with suppress(OSError):
                self._keeper.sweep()
        if not self.exited.done():
            self.exited.set_result(-9)
        self._over.set()
