"""Process registry: knows which of the programs that opened a database still run.

A turn without an end was interrupted only if its program is gone: a command
line at work beside the window is not a crash. Each open database holds a lock
on a small file; the system lets go of it however the program ends.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from studio.files.file_lock import lock
from studio.files.folders import private_folder

STALE_AFTER = 86_400.0  # s; files of crashed programs are then removed


class ProcessLock:
    """This program's lock, under a fresh ``id``. Raises OSError if it cannot be had."""

    def __init__(self, folder: Path) -> None:
        self.id = uuid.uuid4().hex
        self._path = private_folder(folder) / self.id
        self._file = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        try:
            if not lock(self._file):
                raise OSError(f"{self._path} cannot be locked")
        except BaseException:
            os.close(self._file)
            raise

    def release(self) -> None:
        # The file goes first where that works, or its name would outlive us.
        with suppress(OSError):
            self._path.unlink()
        os.close(self._file)
        with suppress(OSError):
            self._path.unlink()


def running_owners(folder: Path, owners: Iterable[str]) -> set[str]:
    """Those of ``owners`` that still hold their lock."""
    return {owner for owner in owners if owner and _held(folder / owner)}


def sweep(folder: Path) -> None:
    """Remove files of programs that ended long ago without releasing them."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.stat().st_mtime < time.time() - STALE_AFTER and not _held(path):
                path.unlink()


def _held(path: Path) -> bool:
    try:
        file = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        return not lock(file, shared=True)
    except OSError:
        return True
    finally:
        os.close(file)
