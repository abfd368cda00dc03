"""Process registry: says which of the programs that opened a database still run.

A turn without an end was interrupted only if its program has ended: a turn that a command
line runs beside the window was not. Each open database holds a lock on a small file, which
the system releases however the program ends.
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

STALE_AFTER = 86_400.0  # s


class ProcessLock:
    """This program's lock, under a fresh ``id``. Raises OSError if it cannot be acquired."""

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
        # Before closing it, where the system can: if the program ends between, no file is left.
        with suppress(OSError):
            self._path.unlink()
        os.close(self._file)
        with suppress(OSError):
            self._path.unlink()


def running_owners(folder: Path, owners: Iterable[str]) -> set[str]:
    """Those of ``owners`` that still hold their lock."""
    return {owner for owner in owners if owner and _held(folder / owner)}


def sweep(folder: Path) -> None:
    """Remove files that crashed programs left ``STALE_AFTER`` ago."""
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
