"""Crash reports: keeps what an error that nobody caught looked like, for the person to read.

A report is a file on this computer, and nothing sends it. It has versions and the places in the
code; keys in the words of an error are taken out, as in the log.
"""

from __future__ import annotations

import faulthandler
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, TypeAlias

import studio
from studio.files.folders import private_folder

Hook: TypeAlias = Callable[[type[BaseException], BaseException, TracebackType | None], object]
NAME, RUNNING = "crash.txt", "crash-running.txt"
LONGEST = 100_000
"""Characters of a report; an error that comes again and again adds no more."""


class CrashReports:
    """The last report in a folder. What it does never raises: there was an error already."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._native: IO[bytes] | None = None

    @property
    def path(self) -> Path:
        return self._folder / NAME

    def watch(self) -> bool:
        """Have crashes written down from now on; whether the last run ended with one."""
        with suppress(OSError):
            private_folder(self._folder)
            running = self._folder / RUNNING
            crashed = running.exists() and running.stat().st_size > 0
            if crashed:
                text = running.read_text("utf-8", "replace")
                self.path.write_text(f"{_head()}\n{text}"[:LONGEST], encoding="utf-8")
            self._native = running.open("wb")
            faulthandler.enable(self._native)
            return crashed
        return False

    def hook(self, before: Hook) -> Hook:
        """For ``sys.excepthook``: writes the report, then does what was done ``before``."""
        first = True

        def caught(
            kind: type[BaseException], error: BaseException, trace: TracebackType | None
        ) -> None:
            nonlocal first
            with suppress(Exception):
                self._add(error, anew=first)
                first = False
            before(kind, error, trace)

        return caught

    def read(self) -> str:
        """The last report; empty if there is none. Blocks."""
        try:
            return self.path.read_text("utf-8", "replace")[:LONGEST]
        except OSError:
            return ""

    def close(self) -> None:
        """The program has ended as it should."""
        if self._native is not None:
            faulthandler.disable()
            self._native.close()
            self._native = None
            with suppress(OSError):
                (self._folder / RUNNING).unlink()

    def _add(self, error: BaseException, *, anew: bool) -> None:
        import traceback

        from studio.domain.redaction import redact

        text = redact("".join(traceback.format_exception(error)))
        kept = _head() if anew else self.read()
        if len(kept) + len(text) < LONGEST or anew:
            self.path.write_text(f"{kept}\n{text}"[:LONGEST], encoding="utf-8")


def _head() -> str:
    import platform
    from datetime import datetime

    lines = (
        f"Agent Studio {studio.__version__}, Python {platform.python_version()}",
        f"{platform.system()} {platform.release()}, {platform.machine()}",
        f"{datetime.now().astimezone():%Y-%m-%d %H:%M}, "
        f"{'packaged' if getattr(sys, 'frozen', False) else 'installed'}",
    )
    return "\n".join((*lines, ""))
