"""The terminal: words out, answers in."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import sys
from pathlib import Path
from typing import TextIO

from studio.domain.errors import ConfigurationError
from studio.processes.daemon_thread import in_daemon_thread

from .terminal_io import discard_output, write_error_text


class Console:
    """Standard input, output and error of this process.

    What a model or a file says may hold codes that move the cursor or hide
    text, a permission question for example. On a terminal they are shown
    instead of obeyed; a pipe gets the text as it is.
    """

    def __init__(self) -> None:
        self._open_line = False
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if stream is None:  # closed before we were started
                nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 (kept open)
                setattr(sys, name, nowhere)

    @property
    def interactive(self) -> bool:
        """Whether a person can read a question and answer it."""
        return _is_terminal(sys.stdin) and _is_terminal(sys.stderr)

    def write(self, text: str) -> None:
        """The answer, on standard output, as far as it has come."""
        if not text:
            return
        _put(sys.stdout, text)
        self._open_line = not text.endswith("\n")

    def write_json(self, value: object, *, indent: int | None = None) -> None:
        """One JSON value and a line end, on standard output."""
        utf8 = sys.stdout.encoding.lower().replace("-", "") == "utf8"
        _put(sys.stdout, json.dumps(value, ensure_ascii=not utf8, indent=indent) + "\n")

    def say(self, text: str) -> None:
        """A line about what happens, on standard error."""
        self.end_line()
        _put(sys.stderr, text + "\n")

    def end_line(self) -> None:
        """Go to the beginning of a line."""
        if self._open_line:
            self.write("\n")

    async def line(self, prompt: str) -> str | None:
        """One line from the terminal, None at its end. Can be cancelled.

        What was typed before the prompt was there is no answer to it (T-7).
        """
        self.end_line()
        loop = asyncio.get_running_loop()
        file = sys.stdin.fileno()
        discard_typed(file)
        _put(sys.stderr, prompt)
        ready = asyncio.Event()
        try:
            loop.add_reader(file, ready.set)
        except NotImplementedError:  # Windows cannot wait for a terminal without a thread
            return await in_daemon_thread(sys.stdin.readline) or None
        try:
            while (data := _waiting(file)) is None:
                ready.clear()
                await ready.wait()
        finally:
            loop.remove_reader(file)
        if not data:
            self.say("")
        return data.decode("utf-8", "replace") if data else None

    def discard_rest(self) -> None:
        """Nobody reads our output any more: what is left of it goes nowhere."""
        for stream in (sys.stdout, sys.stderr):
            discard_output(stream)


def visible(text: str) -> str:
    """The text with every code that a terminal would obey made visible."""
    return text.translate(_CODES)


_CODES = {
    code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"
} | {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
"""Control characters, and those that change the direction of the text."""


def _put(stream: TextIO, text: str) -> None:
    """Write and flush; BrokenPipeError if nobody is there to read, also at a closed terminal."""
    try:
        stream.write(visible(text) if _is_terminal(stream) else text)
        stream.flush()
    except OSError as error:
        if error.errno == errno.EIO:
            raise BrokenPipeError from error
        if isinstance(error, BrokenPipeError):
            raise
        discard_output(stream)  # or the interpreter tries once more, and complains itself
        if stream is not sys.stderr:  # a log that is full is no reason to end
            raise ConfigurationError(write_error_text(error)) from error


def _waiting(file: int) -> bytes | None:
    """The line that a terminal hands out, empty at its end; None where there is none.

    Ctrl-C makes a terminal forget a line that it has already announced. Who waits
    for it then in a read does not hear of Ctrl-C.
    """
    os.set_blocking(file, False)
    try:
        return os.read(file, 4096)
    except BlockingIOError:
        return None
    except OSError:  # it was closed
        return b""
    finally:
        os.set_blocking(file, True)


def discard_typed(file: int) -> None:
    """Drop what was typed and nobody has read yet."""
    try:
        import termios
    except ImportError:  # Windows
        return
    try:
        termios.tcflush(file, termios.TCIFLUSH)
    except termios.error:  # it was closed, which the next read tells
        return


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()
