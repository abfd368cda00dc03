"""What a person sees of a command at a terminal: a small terminal of our own, and hands."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import fcntl
import os
import re
import struct
import termios
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable

from support.command import Command
from support.fork_server import start_python
from support.waiting import within

_CODE = re.compile(
    r"\x1b\[(?P<private>[?<>=]?)(?P<numbers>[\d;]*)(?P<what>[@-~])"
    r"|\x1b\](?P<title>[^\x07\x1b]*)(?:\x07|\x1b\\)|\x1b[=>78cDEHM()][0B]?"
)


class TerminalEmulator:
    """A terminal with ``rows`` and ``columns``: text, cursor, colours; ``top`` is what scrolled off."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self.top: list[str] = []
        self.lines: list[list[str]] = [[]]
        self.titles: list[str] = []
        self.colours: set[str] = set()
        """Numbers of colours that were asked for."""
        self._x = self._y = 0
        self._wraps = True
        self._rest = ""

    @property
    def shown(self) -> list[str]:
        """What is on the glass now."""
        return ["".join(line).rstrip() for line in self.lines]

    @property
    def text(self) -> str:
        """Everything: what scrolled off, and what is on the glass."""
        return "\n".join([*self.top, *self.shown])

    def feed(self, data: str) -> None:
        data, self._rest = self._rest + data, ""
        at = 0
        while at < len(data):
            one = data[at]
            if one == "\x1b":
                found = _CODE.match(data, at)
                if found is None:
                    if len(data) - at < 200:
                        self._rest = data[at:]
                        return
                    raise AssertionError(f"a code that this terminal does not know: {data[at:]!r}")
                self._obey(found)
                at = found.end()
                continue
            self._put(one)
            at += 1

    def _put(self, one: str) -> None:
        if one == "\r":
            self._x = 0
        elif one == "\n":
            self._down()
        elif one == "\b":
            self._x = max(self._x - 1, 0)
        elif one == "\x07":
            return
        else:
            assert one >= " ", f"{one!r} reached the terminal"
            if self._x >= self.columns:
                if self._wraps:
                    self._x = 0
                    self._down()
                else:
                    self._x = self.columns - 1
            line = self._line()
            line.extend(" " * (self._x + 1 - len(line)))
            line[self._x] = one
            self._x += 1

    def _line(self) -> list[str]:
        while len(self.lines) <= self._y:
            self.lines.append([])
        return self.lines[self._y]

    def _down(self) -> None:
        self._y += 1
        self._line()
        while len(self.lines) > self.rows:
            self.top.append("".join(self.lines.pop(0)).rstrip())
            self._y -= 1

    def _obey(self, found: re.Match[str]) -> None:
        what, private = found["what"], found["private"]
        numbers = [int(n or 0) for n in (found["numbers"] or "0").split(";")]
        many = max(numbers[0], 1)
        if found["title"] is not None:
            self.titles.append(found["title"])
        elif what is None or (private and what in "hl" and 7 not in numbers):
            return
        elif what in "hl":
            self._wraps = what == "h"
        elif what == "m":
            self.colours |= {str(n) for n in numbers if 30 <= n <= 49 or n >= 90}
        elif what == "A":
            self._y = max(self._y - many, 0)
        elif what == "B":
            self._y = min(self._y + many, self.rows - 1)
        elif what == "C":
            self._x = min(self._x + many, self.columns - 1)
        elif what == "D":
            self._x = max(min(self._x, self.columns - 1) - many, 0)
        elif what == "H":
            self._y, self._x = many - 1, max(numbers[1] if len(numbers) > 1 else 1, 1) - 1
        elif what == "J" and numbers[0] == 0:
            del self._line()[self._x :]
            del self.lines[self._y + 1 :]
        elif what == "J" and numbers[0] == 2:
            self.lines = [[]]
        elif what == "K":
            del self._line()[self._x :]
        elif what not in "nq":
            raise AssertionError(f"a code that this terminal does not know: {found[0]!r}")

    def resize(self, rows: int, columns: int) -> None:
        """As most terminals do when they grow; lines do not flow anew."""
        self.rows, self.columns = rows, columns
        while len(self.lines) > rows:
            self.top.append("".join(self.lines.pop(0)).rstrip())
            self._y = max(self._y - 1, 0)


class TerminalUser:
    """A person at a command: sees, types, resizes."""

    def __init__(self, process: Process, master: int, glass: TerminalEmulator) -> None:
        self.glass = glass
        self.process = process
        self.raw = ""
        self._master = master
        self._news = asyncio.Event()
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._over = False
        """Nobody can write any more: the process is over, and all it wrote was read."""
        asyncio.get_running_loop().add_reader(master, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._master)
            self._over = True
        text = self._decode(data)
        self.raw += text
        self.glass.feed(text)
        self._news.set()

    async def until(self, seen: str | Callable[[TerminalEmulator], object]) -> str:
        """Wait until these words can be seen, or this holds; returns everything there is."""

        def holds() -> bool:
            return seen in self.glass.text if isinstance(seen, str) else bool(seen(self.glass))

        try:
            async with within():
                while not holds():
                    assert not self._over, self.glass.text
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"never seen: {seen}\n{self.glass.text}") from None
        return self.glass.text

    def type(self, text: str) -> None:
        """Enter is ``\\r``, as a keyboard sends it."""
        os.write(self._master, text.encode())

    def resize(self, rows: int, columns: int) -> None:
        self.glass.resize(rows, columns)
        _size(self._master, rows, columns)

    async def end(self) -> int:
        async with within():
            code = await self.process.wait()
        os.set_blocking(self._master, False)
        with contextlib.suppress(OSError):
            while data := os.read(self._master, 1 << 16):
                self.glass.feed(self._decode(data))
        assert "Traceback" not in self.glass.text, self.glass.text
        return code

    def hang_up(self) -> None:
        master, self._master = self._master, -1
        if master >= 0:
            asyncio.get_running_loop().remove_reader(master)
            os.close(master)


@contextlib.asynccontextmanager
async def at_terminal(
    terminal: Command, *arguments: str, rows: int = 24, columns: int = 80, **environment: str
) -> AsyncIterator[TerminalUser]:
    """Start a command at a terminal of this size, which controls it."""
    master, slave = os.openpty()
    _size(slave, rows, columns)
    process = await start_python(
        *("-m", "studio", *arguments),
        environment={**terminal.environment, "TERM": "xterm-256color", **environment},
        folder=terminal.folder,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        terminal=True,
    )
    os.close(slave)
    person = TerminalUser(process, master, TerminalEmulator(rows, columns))
    try:
        yield person
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        person.hang_up()


def _size(file: int, rows: int, columns: int) -> None:
    fcntl.ioctl(file, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
