"""Crash reports: keeps what an error that nobody caught looked like, for the person to read.

A report is a file on this computer, and nothing sends it. It has versions and the places in the
code; secrets in the words of an error are taken out, as in the log.

Each running program holds a lock on a file of its own, which the system releases however the
program ends. Into that file Python writes a crash of the process. A later start takes it over from
there, and a mark stays until the person was told.
"""

from __future__ import annotations

import atexit
import faulthandler
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TypeAlias

import studio
from studio.files.atomic_write import write_atomically
from studio.files.file_lock import lock
from studio.files.folders import private_folder

Hook: TypeAlias = Callable[[type[BaseException], BaseException, TracebackType | None], object]
NAME, MARK, RUNNING = "crash.txt", "crash-untold.txt", "crash-running"
CRASH, ERROR = "crash", "error"
"""What the mark says: the program ended, or went on."""
LONGEST = 100_000
"""Characters of a report; an error that comes again and again adds no more."""


class CrashReports:
    """The last report in a folder. What it does never raises: there was an error already."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: tuple[int, Path] | None = None
        self._own = ""
        """What this program has written into the report."""
        self._mark = ""
        """The mark that this start found."""
        self._ended: BaseException | None = None

    @property
    def path(self) -> Path:
        return self._folder / NAME

    @property
    def untold(self) -> str:
        """What there is to tell of earlier runs: ``CRASH``, ``ERROR`` or nothing."""
        return self._mark.partition(" ")[0]

    def watch(self) -> None:
        """Have crashes written down from now on, and take over those of programs that ended.

        Blocks for a moment.
        """
        with suppress(OSError):
            private_folder(self._folder)
            for path in self._left():
                self._take_over(path)
            self._mark = self._read(MARK)
            self._begin()

    def told(self) -> None:
        """The person was told of earlier runs; what came since is for the next start. Blocks."""
        with suppress(OSError):
            if self._mark and self._read(MARK) == self._mark:
                (self._folder / MARK).unlink()

    def hook(self, before: Hook) -> Hook:
        """For ``sys.excepthook``: writes the report, then does what was done ``before``."""

        def caught(
            kind: type[BaseException], error: BaseException, trace: TracebackType | None
        ) -> None:
            if error is not self._ended:
                self._add(error, ERROR)
            before(kind, error, trace)

        return caught

    def ended_by(self, error: BaseException) -> None:
        """Write the report on the error that ends the program; the hook may get it, too."""
        if error is not self._ended:
            self._ended = error
            self._add(error, CRASH)

    def read(self) -> str:
        """The last report; empty if there is none. Blocks."""
        return self._read(NAME)

    def last(self) -> Path | None:
        """The newest file with a report, also one that no start has taken over yet. Blocks."""
        newest, last = 0.0, None
        for path in (self.path, *self._left()):
            with suppress(OSError):
                about = path.stat()
                if about.st_size and about.st_mtime > newest:
                    newest, last = about.st_mtime, path
        return last

    def close(self) -> None:
        """The program has ended as it should; done at the end of Python, too."""
        atexit.unregister(self.close)
        if self._running is None:
            return
        (file, path), self._running = self._running, None
        faulthandler.disable()
        with suppress(OSError):  # before closing it, where the system can: nobody takes it over
            path.unlink()
        os.close(file)
        with suppress(OSError):
            path.unlink()

    def _left(self) -> list[Path]:
        """The files of programs, those that run and those that have ended."""
        with suppress(OSError):
            return [one for one in self._folder.iterdir() if _is_running(one.name)]
        return []

    def _begin(self) -> None:
        """Take a file that a crash is written into."""
        path = self._folder / f"{RUNNING}-{os.getpid()}-{os.urandom(4).hex()}.txt"
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        with suppress(OSError):  # some folders have no locks
            lock(file)
        self._running = file, path
        faulthandler.enable(file)
        # Not earlier: the objects of Qt are destroyed late, and that may crash.
        atexit.register(self.close)

    def _take_over(self, path: Path) -> None:
        """Add what a program left that crashed; its file goes, unless it still runs."""
        with suppress(OSError):
            file = os.open(path, os.O_RDWR)
            try:
                ended = _is_free(file)
                about = os.fstat(file)
                if ended is False or (ended is None and not about.st_size):
                    return
                if about.st_size:  # by this handle: on Windows others may not read what is locked
                    text = os.read(file, LONGEST).decode("utf-8", "replace")
                    self._write(f"{_head(about.st_mtime)}\n{text}", self._older(), CRASH)
            finally:
                os.close(file)
            path.unlink()

    def _add(self, error: BaseException, kind: str) -> None:
        with suppress(Exception):
            import traceback

            from studio.domain.redaction import without_secrets

            text = without_secrets("".join(traceback.format_exception(error)))
            # As it is read again: else what is in the report already is not found there.
            text = text.encode(errors="backslashreplace").decode()
            before = self._own
            if before and kind == ERROR and len(before) + len(text) >= LONGEST:
                return
            older = self._older().removeprefix(before).lstrip("\n")
            if before and kind == ERROR:
                self._own = f"{before}\n{text}"
            else:  # what ended the program is read first
                self._own = f"{_head()}\n{text}\n{before}".rstrip("\n") + "\n"
            self._write(self._own, older, kind)

    def _older(self) -> str:
        """What of the report stays, below what is new: that of which nobody was told yet."""
        return self.read() if self._own or self._read(MARK) else ""

    def _write(self, text: str, older: str, kind: str) -> None:
        whole = f"{text}\n{older}" if older else text
        write_atomically(self.path, whole[:LONGEST].encode())
        if kind == CRASH or self._read(MARK) in ("", self._mark):
            mark = f"{kind} {os.urandom(4).hex()}"
            (self._folder / MARK).write_text(mark, encoding="utf-8")

    def _read(self, name: str) -> str:
        try:
            return (self._folder / name).read_text("utf-8", "replace")[:LONGEST]
        except OSError:
            return ""


def _is_running(name: str) -> bool:
    return name.startswith(RUNNING) and name.endswith(".txt")


def _is_free(file: int) -> bool | None:
    """Whether the program whose file it is has ended; None where files cannot be locked."""
    try:
        return lock(file)
    except OSError:
        return None


def _head(at: float | None = None) -> str:
    """The versions and the time: now, or that of a crash."""
    import platform
    import time
    from datetime import datetime

    when = datetime.fromtimestamp(time.time() if at is None else at).astimezone()
    lines = (
        f"Agent Studio {studio.__version__}, Python {platform.python_version()}",
        f"{platform.system()} {platform.release()}, {platform.machine()}",
        f"{when:%Y-%m-%d %H:%M}, {'packaged' if getattr(sys, 'frozen', False) else 'installed'}",
    )
    return "\n".join((*lines, ""))
