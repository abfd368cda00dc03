"""Small files that are replaced whole, or set aside, and never half written."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from .paths import private_folder


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


def forget(folder: Path, after: float) -> None:
    """Remove the files that have been in a folder for more than ``after`` seconds."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                # The time that nobody can set: a kept file has its old times.
                if time.time() - entry.stat(follow_symlinks=False).st_ctime > after:
                    Path(entry.path).unlink()


def free_name(path: Path, what: str) -> Path:
    """A name nobody has yet: ``studio.db.damaged-2026-11-21``, then ``…-2``."""
    date = time.strftime("%Y-%m-%d")
    name = path.with_name(f"{path.name}.{what}-{date}")
    number = 2
    while name.exists():
        name = path.with_name(f"{path.name}.{what}-{date}-{number}")
        number += 1
    return name
