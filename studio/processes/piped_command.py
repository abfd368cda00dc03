"""Piped command: runs a command that is given something and answers on two streams (K-8).

What it answers is read to the end but for what is too much: then it is ended, as it is when it
takes too long. All that it started ends with it.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Literal, TypeAlias

from studio.domain.records import dataclass

from .command_start import begin_command
from .command_streams import BegunCommand
from .daemon_thread import Stop
from .keeper import Keeper
from .sandbox import Sandbox
from .sandbox_mounts import Launch

MOST = 1_000_000
"""Bytes of one stream; a command that prints more is ended."""
_LINGER = 0.2
"""Seconds in which what it has printed arrives when it has ended, and others have its streams."""
_AT_ONCE = 16_000
"""Bytes that any pipe holds, so that nobody has to wait for who reads them."""

Cut: TypeAlias = Literal["", "time", "flood"]
"""Why it was ended before its end."""


@dataclass(frozen=True, slots=True)
class PipedResult:
    """How it ended: its exit code, negative for a signal, and what is on both streams."""

    code: int
    output: bytes
    errors: bytes
    cut: Cut
    seconds: float


def run_piped(
    launch: Launch, given: bytes, *, sandbox: Sandbox, keeper: Keeper, seconds: float, stop: Stop
) -> PipedResult:
    """Run a command line that reads ``given``; ``stop`` ends it.

    Blocks: call it in a thread, in which it begins, is read and ends. Threads that wait for each
    other cost more than a hook may. Raises OSError if it cannot be started.
    """
    began = time.monotonic()
    if stop():
        raise OSError("it was stopped before it began")
    begun = begin_command(launch, sandbox=sandbox, keeper=keeper, stdin="pipe", errors="apart")
    exchange = _Exchange(begun, began)
    stop.then(exchange.end)
    return exchange.run(given, seconds)


class _Exchange:
    """Gives a command that runs its input, and reads what it answers."""

    def __init__(self, begun: BegunCommand, began: float) -> None:
        self._begun = begun
        self._began = began
        self._cut: Cut = ""
        self._ending = threading.Lock()
        self._ended = False
        self._read = threading.Event()
        """Set when both streams are read to their ends."""
        self._over = threading.Event()
        """Set when the command itself has ended, or was ended as far as that goes."""
        begun.process.exited.add_done_callback(lambda _: self._over.set())

    def end(self, cut: Cut = "") -> None:
        """End the command with all that it started, and with that the reading. Blocks."""
        with self._ending:
            if not self._ended:
                self._ended, self._cut = True, cut
                try:
                    self._begun.end()
                finally:
                    self._over.set()

    def run(self, given: bytes, seconds: float) -> PipedResult:
        begun, exited = self._begun, self._begun.process.exited
        output, errors = _Stream(self._flooded), _Stream(self._flooded)
        left = max(seconds - (time.monotonic() - self._began), 0.0)
        if len(given) > _AT_ONCE:
            threading.Thread(target=self._give, args=(given,), daemon=True).start()
        else:
            self._give(given)
        threading.Thread(target=self._watch, args=(left,), daemon=True).start()
        apart = threading.Thread(target=self._read_errors, args=(errors,), daemon=True)
        apart.start()
        begun.streams.read(output.add)
        apart.join()
        self._read.set()
        self._over.wait()  # it may have closed its streams and go on
        self.end()
        begun.streams.close_input()
        code = exited.result() if exited.done() else -9
        took = time.monotonic() - self._began
        return PipedResult(code, output.data, errors.data, self._cut, took)

    def _watch(self, seconds: float) -> None:
        """End it when its time is over; and when it has ended, but others hold its streams."""
        try:
            self._begun.process.exited.result(min(seconds, threading.TIMEOUT_MAX))
        except TimeoutError:
            self.end("time")
        else:
            if not self._read.wait(_LINGER):
                self.end()

    def _flooded(self) -> None:
        threading.Thread(target=self.end, args=("flood",), daemon=True).start()

    def _read_errors(self, errors: _Stream) -> None:
        if self._begun.errors is not None:
            self._begun.errors.read(errors.add)

    def _give(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # it does not have to read it
            self._begun.streams.write(data)
        self._begun.streams.close_input()


class _Stream:
    """What one stream has so far; ``full`` is called once, when it is too much."""

    def __init__(self, full: Callable[[], object]) -> None:
        self._full: Callable[[], object] | None = full
        self._data = bytearray()

    def add(self, data: bytes) -> None:
        room = MOST - len(self._data)
        self._data += data[:room]
        if len(data) > room and self._full is not None:
            self._full()
            self._full = None

    @property
    def data(self) -> bytes:
        return bytes(self._data)
