"""File locks: locks an open file; the system releases the lock however the program ends."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from .folders import private_folder

LOCK_TIMEOUT = 5.0
"""Seconds that ``exclusive_access`` waits at most for another program."""

if sys.platform == "win32":
    import msvcrt

    def lock(file: int, *, shared: bool = False) -> bool:
        # Windows has no shared locks: one that only looks may briefly count as the owner.
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

else:
    import fcntl

    def lock(file: int, *, shared: bool = False) -> bool:
        """Lock an open file without waiting; False while another program has the lock.

        The lock lasts until the file is closed. To only test a lock, take it ``shared``: two
        tests at once must not count as its owner. Raises OSError where files cannot be
        locked, as in some network folders.
        """
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextmanager
def exclusive_access(path: Path, seconds: float | None = None) -> Generator[bool, None, None]:
    """Lock ``path``, so that no other program replaces it between our reading and replacing.

    Only programs that use this too are kept out. Waits for ``seconds`` at most, or
    ``LOCK_TIMEOUT``, and then goes on without the lock, as where files cannot be locked; yields
    whether no other program has it. Blocks, and raises OSError if the folder cannot be written.
    """
    path, seconds = path.resolve(), LOCK_TIMEOUT if seconds is None else seconds
    beside = private_folder(path.parent) / f".{path.name}.lock"
    file = os.open(beside, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        end, alone = time.monotonic() + seconds, True
        with suppress(OSError):  # some folders have no locks
            while not (alone := lock(file)) and time.monotonic() < end:
                time.sleep(0.01)
        yield alone
    finally:
        os.close(file)
