"""File locks: lock an open file; the system releases them however a program ends."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from .folders import private_folder

PATIENCE = 5.0
"""Seconds that ``exclusive_access`` waits at most for another program."""

if sys.platform == "win32":
    import msvcrt

    def lock(file: int, *, shared: bool = False) -> bool:
        # There are no shared ones here: for a moment, one that looks may pass for the owner.
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

else:
    import fcntl

    def lock(file: int, *, shared: bool = False) -> bool:
        """Whether the lock was had, without waiting; False while another has it.

        It lasts as long as the file is open. Those who only look take it ``shared``:
        two of them at once must not take each other for its owner. Raises OSError
        where files cannot be locked, as in some network folders.
        """
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextmanager
def exclusive_access(path: Path) -> Generator[None, None, None]:
    """Between reading ``path`` and replacing it, no other program that asks for this does so.

    The system lets go of the lock however a program ends; one that hangs is waited
    for ``PATIENCE``, and where files cannot be locked nothing is. Blocks, and raises
    OSError if the folder cannot be written.
    """
    path = path.resolve()
    beside = private_folder(path.parent) / f".{path.name}.lock"
    file = os.open(beside, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        end = time.monotonic() + PATIENCE
        with suppress(OSError):  # some folders have no locks
            while not lock(file) and time.monotonic() < end:
                time.sleep(0.01)
        yield
    finally:
        os.close(file)
