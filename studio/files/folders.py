"""Folders: makes private folders, finds unused names and deletes old files."""

from __future__ import annotations

import time
from contextlib import suppress
from os import scandir
from pathlib import Path


def private_folder(folder: Path) -> Path:
    """Make ``folder`` and its missing parents with mode 0700; existing ones stay as they are."""
    missing = [folder, *folder.parents]
    for path in reversed(missing):
        if not path.is_dir():
            path.mkdir(mode=0o700, exist_ok=True)
    return folder


def unused_name(path: Path, what: str) -> Path:
    """A name that does not exist yet: ``studio.db.damaged-2026-11-21``, then ``…-2``."""
    date = time.strftime("%Y-%m-%d")
    name = path.with_name(f"{path.name}.{what}-{date}")
    number = 2
    while name.exists():
        name = path.with_name(f"{path.name}.{what}-{date}-{number}")
        number += 1
    return name


def delete_older_than(folder: Path, after: float) -> None:
    """Delete the files that have been in a folder for more than ``after`` seconds."""
    with suppress(OSError), scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                # By ctime: a copied file has the mtime of the original.
                if time.time() - entry.stat(follow_symlinks=False).st_ctime > after:
                    Path(entry.path).unlink()
