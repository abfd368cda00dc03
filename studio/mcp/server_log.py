"""Server log: keeps what a server writes to stderr, without secrets, in memory and in a file."""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import suppress
from pathlib import Path

from studio.domain.redaction import without_secrets
from studio.files.folders import private_folder

KEPT = 256_000
"""Bytes that are kept in memory."""
IN_FILE = 1_000_000
"""Bytes of both files, the one that is written and the one before."""
_LONGEST = 4_000
"""Bytes of a line; what is longer is cut."""


class ServerLog:
    """The lines of one server. Any thread may add to it.

    ``path`` is the file, None for none.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._secrets: list[str] = []
        self._lines: deque[str] = deque()
        self._size = 0
        self._rest = b""
        self._skipping = False
        self._lock = threading.Lock()
        self.last = ""
        """The server's last line that is not empty."""

    def hide(self, *secrets: str) -> None:
        """These values never stand in a line."""
        known = {*self._secrets, *(one for one in secrets if len(one) >= 4)}
        self._secrets = sorted(known, key=len, reverse=True)

    def feed(self, data: bytes) -> None:
        """Add a piece of a stream; a line counts when it is whole or too long."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        for number, line in enumerate(whole):
            if not (self._skipping and number == 0):
                self.add(line.decode("utf-8", "replace"))
        if whole:
            self._skipping = False
        if len(self._rest) > _LONGEST:
            if not self._skipping:
                self.add(self._rest.decode("utf-8", "replace"))
            self._rest, self._skipping = b"", True

    def finish(self) -> None:
        """The stream ended: what is left of it is a line."""
        rest, self._rest = self._rest, b""
        if rest and not self._skipping:
            self.add(rest.decode("utf-8", "replace"))

    def note(self, line: str) -> None:
        """Add a line of our own."""
        self.add(f"[{line}]", ours=True)

    def add(self, line: str, *, ours: bool = False) -> None:
        line = self.clean(line[:_LONGEST]).rstrip()
        if not line:
            return
        with self._lock:
            self.last = self.last if ours else line
            self._lines.append(line)
            self._size += len(line) + 1
            while self._size > KEPT:
                self._size -= len(self._lines.popleft()) + 1
            self._write(line)

    def text(self) -> str:
        """What is kept in memory."""
        with self._lock:
            return "\n".join(self._lines)

    def clean(self, text: str) -> str:
        """A text without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, "[secret]")
        return without_secrets(text)

    def _write(self, line: str) -> None:
        if self._path is None:
            return
        with suppress(OSError):  # the disk is full: the server works all the same
            private_folder(self._path.parent)
            if self._path.exists() and self._path.stat().st_size > IN_FILE // 2:
                self._path.replace(self._path.with_suffix(".before.log"))
            new = not self._path.exists()
            with self._path.open("a", encoding="utf-8", errors="replace") as file:
                if new:
                    self._path.chmod(0o600)
                file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n")
