"""Standard streams and signals: reads piped input, handles signals and streams that are closed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from studio.domain.errors import ConfigurationError
from studio.processes.daemon_thread import in_daemon_thread

from .exit_codes import CANCELLED, USAGE

if TYPE_CHECKING:
    from studio.domain.messages import File, Image


def discard_output(stream: TextIO) -> None:
    """Send what is left to write to the null device."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def write_error_text(error: OSError) -> str:
    """The message for a person about an output that cannot be written."""
    return f"Standard output cannot be written: {(error.strerror or str(error)).lower()}."


def handle_flush_error(stream: TextIO, error: OSError, code: int) -> int:
    """Give up what was to be written at the end; returns the exit code for that."""
    discard_output(stream)  # or the interpreter tries once more, and complains itself
    if stream is sys.stderr:
        return code
    if isinstance(error, BrokenPipeError):  # the reader has gone, and misses nothing
        return CANCELLED
    print(write_error_text(error), file=sys.stderr)
    return USAGE


@contextmanager
def on_signals(actions: Mapping[str, Callable[[], object]]) -> Generator[None]:
    """Call these functions on signals, by name; signals this system lacks are left out."""
    loop = asyncio.get_running_loop()
    with ExitStack() as handlers:
        # Windows has no handlers of this kind; Ctrl-C then cancels the main task.
        with suppress(NotImplementedError):
            for name, action in actions.items():
                if number := getattr(signal, name, None):
                    loop.add_signal_handler(number, action)
                    handlers.callback(loop.remove_signal_handler, number)
        yield


FIRST_BYTE_SECONDS = 1.0
"""Seconds to wait for the first byte where no option says that input is coming."""
NO_INPUT_NOTICE = (
    "Nothing came on standard input, so the message goes without it. "
    "To wait for what comes later: --attach -"
)


async def stdin_attachment(patience: float | None = None) -> Image | File | None:
    """Read standard input as an attachment called ``stdin``; None if it is empty.

    Raises TimeoutError if neither a first byte nor the end comes within ``patience``
    seconds (a parent process may have left a pipe open), and ConfigurationError for
    input that is too large or cannot be attached.
    """
    from studio.agent.attachments import given

    data = await read_stdin(patience)
    return await given("stdin", data) if data.strip() else None


async def read_stdin(patience: float | None = None) -> bytes:
    """Read all of standard input; raises what ``stdin_attachment`` raises."""
    from studio.agent.attachments import LIMIT
    from studio.tools.sdk.result import size

    data = await _read(patience, LIMIT)
    if len(data) > LIMIT:
        raise ConfigurationError(
            f"Standard input has more than {size(LIMIT)}, the most for one message. "
            "Keep it in a file and name its path: the agent can read parts of it."
        )
    return data


async def _read(patience: float | None, limit: int) -> bytes:
    """Read until the end, or until there is more than ``limit``."""
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] (started without one)
        return b""
    try:
        # Not through sys.stdin: a thread that still reads from it when the program
        # ends holds a lock the interpreter wants.
        file = sys.stdin.fileno()
    except OSError:  # it is no file
        return b""
    loop, begun = asyncio.get_running_loop(), asyncio.Event()

    def read() -> bytes:
        data = bytearray()
        try:
            while len(data) <= limit and (part := os.read(file, 1 << 16)):
                loop.call_soon_threadsafe(begun.set)
                data += part
        except OSError:  # a folder, say, or opened for writing alone
            return b""
        return bytes(data)

    async def first() -> None:
        await begun.wait()

    reading = asyncio.ensure_future(in_daemon_thread(read))
    waiting = asyncio.ensure_future(first())
    try:
        await asyncio.wait(
            [reading, waiting], timeout=patience, return_when=asyncio.FIRST_COMPLETED
        )
        if not reading.done() and not begun.is_set():
            raise TimeoutError
        return await reading
    finally:
        reading.cancel()
        waiting.cancel()
