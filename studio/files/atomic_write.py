"""Atomic writes: replaces a file in one step; a crash leaves the old or the new one, whole.

For files of the program's own. Files that a person may change meanwhile are written by
``studio.tools.drafts.draft_write``.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from .folders import private_folder

UNFINISHED = ".studio-tmp"
"""The end of the names of temporary files: unfinished, or left by a crash."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def write_atomically(path: Path, data: bytes, *, follow_links: bool = True) -> None:
    """Replace ``path`` by ``data``, readable by this person alone; raises OSError.

    A link stays a link and its target is replaced, unless ``follow_links`` is False: then
    the link itself is replaced.
    """
    path = path.resolve() if follow_links else path
    private_folder(path.parent)
    with temporary_beside(path) as temporary:
        with new_file(temporary) as file:
            file.write(data)
        temporary.replace(path)


@contextmanager
def temporary_beside(path: Path) -> Generator[Path, None, None]:
    """An unused hidden name in the same folder, whose file is removed in the end."""
    temporary = path.with_name(f".{path.name[:40]}.{secrets.token_hex(4)}{UNFINISHED}")
    try:
        yield temporary
    finally:
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def new_file(path: Path, mode: int = 0o600) -> Generator[BinaryIO, None, None]:
    """A file that must not exist yet, open for writing; its data is durable after the block."""
    with os.fdopen(os.open(path, _NEW, mode), "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make new and removed names in a folder durable, where the system can."""
    if sys.platform == "win32":
        return
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
