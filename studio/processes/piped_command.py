"""Piped command: runs a command that is given something and answers on two streams (K-8).

What it answers is read to the end but for what is too much: then it is ended, as it is when it
takes too long, and with the caller. All that it started ends with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Literal, TypeAlias

from studio.domain.records import dataclass

from .command_start import start_command
from .command_streams import BegunCommand
from .daemon_thread import in_daemon_thread
from .keeper import Keeper
from .sandbox import Sandbox
from .sandbox_mounts import Launch

MOST = 1_000_000
"""Bytes of one stream; a command that prints more is ended."""
_LINGER = 0.2
"""Seconds in which what it has printed arrives when it has ended, and others have its streams."""

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


class _Stream:
    """What one stream has so far; ``full`` is called when it is too much."""

    def __init__(self, full: Callable[[], object]) -> None:
        self._full = full
        self._data = bytearray()

    def add(self, data: bytes) -> None:
        room = MOST - len(self._data)
        self._data += data[:room]
        if len(data) > room:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._full()

    @property
    def data(self) -> bytes:
        return bytes(self._data)


async def run_piped(
    launch: Launch, given: bytes, *, sandbox: Sandbox, keeper: Keeper, seconds: float
) -> PipedResult:
    """Run a command line that reads ``given``. Raises OSError if it cannot be started."""
    began = time.monotonic()
    begun = await start_command(
        launch, sandbox=sandbox, keeper=keeper, stdin="pipe", errors="apart"
    )
    assert begun.errors is not None
    loop, flooded = asyncio.get_running_loop(), asyncio.Event()

    def full() -> None:
        loop.call_soon_threadsafe(flooded.set)

    output, errors = _Stream(full), _Stream(full)
    pairs = ((begun.streams, output), (begun.errors, errors))
    reading = [
        asyncio.ensure_future(in_daemon_thread(lambda s=streams, kept=kept: s.read(kept.add)))
        for streams, kept in pairs
    ]
    giving = asyncio.ensure_future(in_daemon_thread(lambda: _give(begun, given)))
    exited = asyncio.wrap_future(begun.process.exited)
    flooding = asyncio.ensure_future(flooded.wait())
    try:
        left = max(seconds - (time.monotonic() - began), 0.0)
        first = asyncio.FIRST_COMPLETED
        done, _ = await asyncio.wait([exited, flooding], timeout=left, return_when=first)
        if exited in done:
            await asyncio.wait(reading, timeout=_LINGER)
    finally:
        flooding.cancel()
        # In a thread, so that it goes on when the loop ends.
        await asyncio.shield(in_daemon_thread(begun.end))
    await asyncio.wait([*reading, giving], timeout=_LINGER)
    cut: Cut = "flood" if flooded.is_set() else "" if done else "time"
    code = begun.process.exited.result() if begun.process.exited.done() else -9
    took = time.monotonic() - began
    return PipedResult(code, output.data, errors.data, cut, took)


def _give(begun: BegunCommand, data: bytes) -> None:
    with contextlib.suppress(OSError):  # it does not have to read it
        begun.streams.write(data)
    begun.streams.close_input()
