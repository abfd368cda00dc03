"""Small files: replaces them atomically, and sets damaged ones aside."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from .ipc.file_lock import lock
from .paths import private_folder

PATIENCE = 5.0
"""Seconds that ``alone`` waits at most for another program."""


def write_atomically(path: Path, data: bytes) -> None:
    """Replace ``path`` by ``data``; after a power cut it holds the old or the new, all of it.

    Readable by this person alone. A link stays a link. Raises OSError.
    """
    path = path.resolve()
    private_folder(path.parent)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


@contextmanager
def exclusive_access(path: Path) -> Generator[None, None, None]:
    """Between reading ``path`` and replacing it, no other program that asks for this does so.

    The system lets go of the lock however a program ends; one that hangs is waited
    for ``FIRST_BYTE_SECONDS``, and where files cannot be locked nothing is. Blocks, and raises
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


def delete_older_than(folder: Path, after: float) -> None:
    """Remove the files that have been in a folder for more than ``after`` seconds."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                # The time that nobody can set: a kept file has its old times.
                if time.time() - entry.stat(follow_symlinks=False).st_ctime > after:
                    Path(entry.path).unlink()


def unused_name(path: Path, what: str) -> Path:
    """A name nobody has yet: ``studio.db.damaged-2026-11-21``, then ``…-2``."""
    date = time.strftime("%Y-%m-%d")
    name = path.with_name(f"{path.name}.{what}-{date}")
    number = 2
    while name.exists():
        name = path.with_name(f"{path.name}.{what}-{date}-{number}")
        number += 1
    return name
