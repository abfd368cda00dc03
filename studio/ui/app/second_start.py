"""Lets a second start of the program raise the window of the first, through a socket.

The socket lies in the data folder, which this person alone may enter. A start says which
folder it was given, nothing else, and hears whether the window takes it. A socket that
nobody listens at any more is replaced. Windows has no such sockets in Python: there each
start opens a window of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from studio.domain.jsonvalue import Json
from studio.storage.paths import Paths

NAME = "window.sock"
TIMEOUT = 3.0
"""Seconds within which a running window answers; one that hangs counts as absent."""
LONGEST = 64 * 1024
TAKEN = b"taken\n"


def raise_first(paths: Paths, folder: str = "") -> bool:
    """Have the window that is open show itself; False if there is none. Blocks for a moment."""
    if sys.platform == "win32":
        return False
    with socket.socket(socket.AF_UNIX) as client, suppress(OSError):
        client.settimeout(TIMEOUT)
        client.connect(str(paths.data / NAME))
        client.sendall(json.dumps({"folder": folder}).encode() + b"\n")
        return client.recv(len(TAKEN), socket.MSG_WAITALL) == TAKEN
    return False


class SecondStarts:
    """Listens for later starts; ``on_start`` gets the folder of each, which may be empty."""

    def __init__(self, paths: Paths, on_start: Callable[[str], None]) -> None:
        self._path, self._on_start = paths.data / NAME, on_start
        self._server: asyncio.Server | None = None
        self._file: os.stat_result | None = None

    async def listen(self) -> None:
        """Begin to listen. Where that cannot be done, later starts open windows of their own."""
        if sys.platform == "win32":
            return
        with suppress(OSError):  # the folder is read-only, or its path too long for a socket
            self._server = await asyncio.start_unix_server(
                self._answer, sock=self._bind(), limit=LONGEST
            )

    def _bind(self) -> socket.socket:
        """A socket that takes the place of one that is there: nobody answered at that."""
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
        with suppress(OSError, ValueError, asyncio.IncompleteReadError):
            async with asyncio.timeout(TIMEOUT):
                told = json.loads(await reader.readuntil(b"\n"))
                folder = await asyncio.to_thread(_folder_of, told)
                writer.write(TAKEN)
                await writer.drain()
                self._on_start(folder)
        writer.close()

    async def aclose(self) -> None:
        """Listen no more; the socket of another window stays."""
        if self._server is None:
            return
        self._server.close()
        with suppress(OSError):
            if self._file is not None and os.path.samestat(self._path.stat(), self._file):
                self._path.unlink()


def _folder_of(told: Json) -> str:
    """The folder that a start names, if there is one; else nothing. Blocks for a moment."""
    folder = told.get("folder") if isinstance(told, dict) else None
    return folder if isinstance(folder, str) and Path(folder).is_dir() else ""
