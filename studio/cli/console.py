"""The terminal of a command: prints text and reads answers."""

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
    """Prints to standard output and error, and reads from standard input.

    Text of models and files may contain codes that move the cursor or hide text, of a
    permission question for example. A terminal gets such codes in visible form; a pipe
    gets the text as it is.
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
        """Print a part of the result on standard output."""
        if not text:
            return
        _put(sys.stdout, text)
        self._open_line = not text.endswith("\n")

    def write_json(self, value: object, *, indent: int | None = None) -> None:
        """Print a JSON value and a line end on standard output."""
        utf8 = sys.stdout.encoding.lower().replace("-", "") == "utf8"
        _put(sys.stdout, json.dumps(value, ensure_ascii=not utf8, indent=indent) + "\n")

    def say(self, text: str) -> None:
        """Print a line about what happens on standard error."""
        self.end_line()
        _put(sys.stderr, text + "\n")

    def end_line(self) -> None:
        """Print a line end if the line is not empty."""
        if self._open_line:
            self.write("\n")

    async def line(self, prompt: str) -> str | None:
        """Read one line from the terminal; None at its end. Can be cancelled.

        What was typed before the prompt appeared is not taken as the answer (T-7).
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
        """Drop the rest of the output, because nobody reads it any more."""
        for stream in (sys.stdout, sys.stderr):
            discard_output(stream)


def visible(text: str) -> str:
    """Replace each code that a terminal would obey by a visible form."""
    return text.translate(_CODES)


_CODES = {
    code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"
} | {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
"""Control characters, and characters that change the direction of text."""


def _put(stream: TextIO, text: str) -> None:
    """Write and flush; raises BrokenPipeError where nobody reads, also at a closed terminal."""
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
    """The line that the terminal has ready, empty at its end; None if there is none.

    Does not block: Ctrl-C makes a terminal drop a line that it has announced already, and
    a blocking read would then not notice Ctrl-C.
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
    """Drop typed text that was not read yet."""
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
