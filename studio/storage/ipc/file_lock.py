"""File locks: lock an open file; the system releases them however a program ends."""

from __future__ import annotations

import sys

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
