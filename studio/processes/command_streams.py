"""Command streams: what a command reads and prints, by pipes or a terminal."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
import time
from collections.abc import Callable
from typing import Protocol

from studio.domain.records import dataclass

from .keeper import KeptProcess

_TAKES = 5.0
"""Seconds in which a command has to read its input."""


class Streams(Protocol):
    """What a command reads and prints. Each method may be called in any thread."""

    @property
    def takes_input(self) -> bool:
        """Whether it can be given input."""
        ...

    def read(self, take: Callable[[bytes], object]) -> None:
        """Hand on what it prints as it comes, until it prints no more. Blocks."""
        ...

    def write(self, data: bytes) -> None:
        """Give it input. Blocks; raises OSError if it takes none, or takes it too slowly."""
        ...

    def close_input(self) -> None:
        """Tell it that there is no more input."""
        ...

    def abandon(self) -> None:
        """Close all of it: nobody reads what it prints."""
        ...


class DescriptorStreams:
    """See ``Streams``; the descriptors are closed here."""

    def __init__(self, output: int, input_: int | None) -> None:
        self._output = output
        self._input = input_
        self._lock = threading.Lock()

    @property
    def takes_input(self) -> bool:
        return self._input is not None

    def read(self, take: Callable[[bytes], object]) -> None:
        # A terminal that nobody has open any more cannot be read.
        with os.fdopen(self._output, "rb", 0), contextlib.suppress(OSError):
            while data := _piece(self._output):
                take(data)

    def write(self, data: bytes) -> None:
        with self._lock:
            if self._input is None:
                raise OSError("it takes no input")
            own = os.dup(self._input)  # it may be closed meanwhile
        _write_all(own, data)

    def close_input(self) -> None:
        with self._lock:
            end, self._input = self._input, None
        if end is not None:
            os.close(end)

    def abandon(self) -> None:
        self.close_input()
        os.close(self._output)


@dataclass(slots=True)
class BegunCommand:
    """A command that runs, with its streams, of which somebody takes care.

    ``errors`` is what it says apart from its output, where that is a stream of its own.
    """

    process: KeptProcess
    left: Callable[[], None]
    streams: Streams
    terminal: bool = False
    errors: Streams | None = None

    def end(self) -> None:  # once for each
        try:
            self.process.end()
        finally:
            self.left()


def _piece(output: int) -> bytes:
    while True:
        try:
            return os.read(output, 1 << 16)
        except BlockingIOError:  # a terminal is read and written by the same description
            select.select([output], [], [])


def _write_all(descriptor: int, data: bytes) -> None:
    """Write to who may not read, and close; OSError if it takes more than ``_TAKES`` seconds."""
    with os.fdopen(descriptor, "wb", 0):
        if sys.platform != "win32":
            os.set_blocking(descriptor, False)
        until = time.monotonic() + _TAKES
        while data:
            try:
                data = data[os.write(descriptor, data) :]
            except BlockingIOError:
                left = until - time.monotonic()
                if left <= 0:
                    raise OSError(f"it does not read, {len(data):,} bytes are left") from None
                select.select([], [descriptor], [], left)
