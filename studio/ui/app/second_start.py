"""Lets a second start of the program hand what it was given to the first, through a socket.

The socket lies in the data folder, which this person alone may enter. A start says what it
is for, nothing else, and hears whether the window takes it. A socket that nobody listens at
any more is replaced. Windows has no such sockets in Python: there it is a port of this
computer, and a file in the data folder has its number and two words. A start shows the first,
and believes only an answer with the second, so that no other program takes part.

Of starts at the same moment one looks for a window, and listens once its own is painted, before
the next one looks. A window that is being closed takes no start any more.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from hmac import compare_digest
from pathlib import Path

from studio.domain.jsonvalue import Json
from studio.domain.records import dataclass
from studio.files.file_lock import exclusive_access
from studio.storage.paths import Paths

NAME, PORT_NAME = "window.sock", "window.port"
TIMEOUT = 3.0
"""Seconds within which a running window answers; one that hangs counts as absent."""
PATIENCE = 20.0
"""Seconds that a start waits for one before it, which shows its window meanwhile."""
LONGEST = 128 * 1024
"""Bytes of what a start says."""
TAKEN = "taken"
QUICK_ASK = "--quick-ask"
BY_PORT = sys.platform == "win32"


@dataclass(frozen=True, slots=True)
class Start:
    """What a start of the program is for: at most one of these; with none the window shows."""

    folder: str = ""
    """The folder of a new chat."""
    link: str = ""
    """See ``links``; not read yet."""
    quick_ask: bool = False
    """Whether the window for a quick question is wanted, and no other."""


@dataclass(frozen=True, slots=True)
class _Port:
    """Where a window listens, the word that a start shows, and the one that it hears."""

    number: int
    key: str
    answer: str


def wait_for_turn(paths: Paths) -> ExitStack:
    """Wait until no other start looks for a window; the next one may when this is closed.

    Blocks.
    """
    turn = ExitStack()
    with suppress(OSError):  # the folder is read-only
        turn.enter_context(exclusive_access(paths.data / NAME, PATIENCE))
    return turn


def raise_first(paths: Paths, start: Start, *, by_port: bool = BY_PORT) -> bool:
    """Have the window that is open do what this start is for; False if there is none.

    Blocks for a moment.
    """
    said: dict[str, Json] = {"folder": start.folder, "link": start.link}
    said["quick_ask"] = start.quick_ask
    taken = TAKEN
    with suppress(OSError):
        if by_port:
            if (port := _read_port(paths.data / PORT_NAME)) is None:
                return False
            said["key"], taken = port.key, port.answer
            _let_others_come_to_the_front()
            client = socket.create_connection(("127.0.0.1", port.number), TIMEOUT)
        else:
            client = _connect(paths.data / NAME)
        with client:
            client.settimeout(TIMEOUT)
            client.sendall(json.dumps(said).encode() + b"\n")
            heard = client.recv(len(taken) + 1, socket.MSG_WAITALL)
            return compare_digest(heard, taken.encode() + b"\n")
    return False


def _connect(path: Path) -> socket.socket:
    assert sys.platform != "win32"
    client = socket.socket(socket.AF_UNIX)
    try:
        client.settimeout(TIMEOUT)
        client.connect(str(path))
    except OSError:
        client.close()
        raise
    return client


def _let_others_come_to_the_front() -> None:
    """On Windows only the program that the person just started may do that, or give it on."""
    if sys.platform == "win32":
        import ctypes

        ctypes.windll.user32.AllowSetForegroundWindow(-1)


def _read_port(path: Path) -> _Port | None:
    """What the file says; None without one that is whole."""
    try:
        said = json.loads(path.read_bytes())
        return _Port(int(said["port"]), str(said["key"]), str(said["answer"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


class SecondStarts:
    """Listens for later starts; ``on_start`` gets what each is for, and says whether it takes it.

    One that is not taken opens a window of its own.
    """

    def __init__(
        self, paths: Paths, on_start: Callable[[Start], bool], *, by_port: bool = BY_PORT
    ) -> None:
        self._on_start, self._by_port = on_start, by_port
        self._path = paths.data / (PORT_NAME if by_port else NAME)
        self._port = _Port(0, "", TAKEN)
        self._server: asyncio.Server | None = None
        self._file: os.stat_result | None = None

    async def listen(self) -> None:
        """Begin to listen. Where that cannot be done, later starts open windows of their own."""
        with suppress(OSError):  # the folder is read-only, or its path too long for a socket
            if self._by_port:
                self._server = await asyncio.start_server(
                    self._answer, "127.0.0.1", 0, limit=LONGEST
                )
                number = int(self._server.sockets[0].getsockname()[1])
                self._port = _Port(number, secrets.token_hex(), secrets.token_hex())
                await asyncio.to_thread(self._write_port)
            elif sys.platform != "win32":
                self._server = await asyncio.start_unix_server(
                    self._answer, sock=self._bind(), limit=LONGEST
                )

    def _write_port(self) -> None:
        from studio.files.atomic_write import write_atomically

        port = self._port
        said = {"port": port.number, "key": port.key, "answer": port.answer}
        write_atomically(self._path, json.dumps(said).encode())

    def _bind(self) -> socket.socket:
        """A socket that takes the place of one that is there: nobody answered at that."""
        assert sys.platform != "win32"
        draft = self._path.with_name(f".{os.getpid()}")
        made = socket.socket(socket.AF_UNIX)
        try:
            draft.unlink(missing_ok=True)
            made.bind(str(draft))
            draft.chmod(0o600)
            self._file = draft.stat()
            draft.replace(self._path)
        except OSError:
            made.close()
            raise
        return made

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        faults = (OSError, ValueError, RecursionError)
        with suppress(*faults, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(TIMEOUT):
                told = json.loads(await reader.readuntil(b"\n"))
                if _is_one_of_ours(told, self._port.key):
                    start = await asyncio.to_thread(_start_of, told)
                    if self._on_start(start):  # then it is told at once: nothing comes between
                        writer.write(self._port.answer.encode() + b"\n")
                        await writer.drain()
        writer.close()

    async def aclose(self) -> None:
        """Listen no more; the socket of another window stays."""
        if self._server is None:
            return
        self._server.close()
        with suppress(OSError):
            if self._by_port:
                mine = await asyncio.to_thread(_read_port, self._path) == self._port
            else:
                mine = self._file is not None and os.path.samestat(self._path.stat(), self._file)
            if mine:
                self._path.unlink()


def _is_one_of_ours(told: Json, key: str) -> bool:
    shown = told.get("key", "") if isinstance(told, dict) else ""
    return isinstance(shown, str) and compare_digest(shown.encode(), key.encode())


def _start_of(told: Json) -> Start:
    """What a start says that it is for; a folder that is not there is left out.

    Blocks for a moment.
    """
    said = told if isinstance(told, dict) else {}
    folder, link = said.get("folder"), said.get("link")
    start = Start(quick_ask=said.get("quick_ask") is True)
    if isinstance(link, str):
        start = replace(start, link=link)
    if isinstance(folder, str) and Path(folder).is_dir():
        start = replace(start, folder=folder)
    return start
