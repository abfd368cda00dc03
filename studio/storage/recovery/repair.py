"""Repair: keeps a damaged database under another name, and replaces its content.

The new content is written into the same file in one transaction of SQLite: other programs
that have the file open go on with it, and if this one is killed the damaged content stays for
the next one. The copy is whole before anything is replaced.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import Connection
from typing import BinaryIO, TypeAlias

from studio.domain.errors import StorageError
from studio.files.folders import unused_name

from .pages import PAGE_SIZE, header_size
from .salvage import Build, Losses, salvage

PATIENCE = 600.0
"""Seconds to wait while another program repairs the same file."""
ATTEMPTS = 5
"""How often it begins anew because another program wrote meanwhile."""
_WAL = 2
_PARTS = (".copying", ".salvaged")
"""The endings of the files that it works with."""

Mend: TypeAlias = Callable[[Connection, Losses], str]
"""Makes what was salvaged fit together; returns what is missing, in words for the person."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in a database: how its tables are made, how it is mended, and its name."""

    build: Build
    name: str
    mend: Mend | None = None


class _Changed(Exception):
    """Another program wrote to the file after it was copied."""


def repair(path: Path, contents: Contents, still_damaged: Callable[[], bool]) -> str:
    """Salvage what can be read, into the same file; returns a notice for the person.

    It is empty where another program repaired the file meanwhile: ``still_damaged`` is asked
    when no other program is at it. Raises StorageError, and then the file is as it was.
    """
    try:
        with _alone(path):
            if not still_damaged():
                return ""
            _sweep(path)
            for _ in range(ATTEMPTS):
                with suppress(_Changed):
                    return _repair(path, contents)
    except OSError as error:
        raise StorageError(
            f"{path} is damaged and cannot be repaired ({error.strerror or error}). "
            "Allow writing to the file and its folder, and free space for a copy of it."
        ) from error
    except sqlite3.Error as error:
        raise StorageError(f"{path} is damaged and cannot be repaired ({error}).") from error
    raise StorageError(f"{path} is damaged. Close the other programs that use it.")


def sweep_leftovers(path: Path) -> None:
    """Remove what a repair left that was killed, unless another one is under way."""
    if any(_beside(path, name).exists() for name in _PARTS):
        with suppress(OSError, sqlite3.Error), _alone(path, patience=0.0):
            _sweep(path)


def salvage_into(target: Path, source: Path, contents: Contents) -> tuple[int, str]:
    """Make a sound database of ``source``; returns how many rows it has, and what is missing."""
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with closing(sqlite3.connect(target, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = OFF")  # a file that a crash leaves is swept
        losses = salvage(source, db, contents.build)
        contents.build(db, None)  # mended in the newest version's tables
        db.execute("BEGIN")
        missing = contents.mend(db, losses) if contents.mend else ""
        for table, row_id, *_ in db.execute("PRAGMA foreign_key_check").fetchall():
            db.execute(f"DELETE FROM {table} WHERE rowid = ?", (row_id,))
        db.execute("COMMIT")
    return losses.rows, missing


def _repair(path: Path, contents: Contents) -> str:
    kept = unused_name(path, "damaged")
    copy, sound = (_beside(path, name) for name in _PARTS)
    # Open to the end: to close it would take away the locks of SQLite's connections to it.
    with path.open("r+b") as file:
        try:
            with closing(sqlite3.connect(path, isolation_level=None)) as watch:
                # SQLite deletes the log of an empty file when it first reads it.
                before = _data_version(watch) if file.seek(0, os.SEEK_END) else None
                _copy_unchanging(path, file, copy)
                rows, missing = salvage_into(sound, copy, contents)
                for ending in ("-wal", ""):  # the name without an ending says that all is there
                    with suppress(FileNotFoundError):
                        _beside(copy, ending).rename(_beside(kept, ending))
                _mend_header(file, sound)
                try:
                    _replace_content(path, sound, lambda: before in (None, _data_version(watch)))
                except BaseException:  # nothing was replaced
                    for ending in ("", "-wal"):
                        _beside(kept, ending).unlink(missing_ok=True)
                    raise
            with closing(sqlite3.connect(path, timeout=1.0)) as db, suppress(sqlite3.Error):
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            _sweep(path)
    what = missing if rows else "Nothing in it could be read, so a new one was begun."
    return f"The {contents.name} were damaged. The file is kept as {kept}. {what}".rstrip()


def _copy_unchanging(path: Path, file: BinaryIO, target: Path) -> None:
    """Copy a database that other programs may be using; ``file`` is it, opened."""
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        if file.seek(0, os.SEEK_END):
            with suppress(sqlite3.Error):  # what SQLite cannot open nobody writes to
                reader.execute("PRAGMA writable_schema = 1")  # accepts a file that is cut off
                reader.execute("BEGIN")  # as long as somebody reads, the log is not begun anew
                reader.execute("PRAGMA user_version").fetchone()
        _copy(file, target)  # first, because the log is only ever moved into it
        with suppress(FileNotFoundError), _beside(path, "-wal").open("rb") as log:
            if log.seek(0, os.SEEK_END):
                _copy(log, _beside(target, "-wal"))


def _copy(source: BinaryIO, target: Path) -> None:
    file = os.open(target, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    with os.fdopen(file, "wb") as copied:
        source.seek(0)
        shutil.copyfileobj(source, copied, 1 << 20)
        copied.flush()
        os.fsync(copied.fileno())


@contextmanager
def _alone(path: Path, patience: float = PATIENCE) -> Generator[None, None, None]:
    """Keep out other programs that meet the same damage."""
    guard = sqlite3.connect(_beside(path, ".repair"), timeout=patience, isolation_level=None)
    with closing(guard):
        guard.execute("BEGIN EXCLUSIVE")
        yield


def _data_version(db: Connection) -> int | None:
    try:
        db.execute("PRAGMA writable_schema = 1")
        return int(db.execute("PRAGMA data_version").fetchone()[0])
    except sqlite3.Error:
        return None


def _replace_content(path: Path, sound: Path, unchanged: Callable[[], bool]) -> None:
    """Write the content of ``sound`` into ``path``, in one transaction."""
    with (
        closing(sqlite3.connect(sound, isolation_level=None)) as source,
        closing(sqlite3.connect(path, isolation_level=None, timeout=30.0)) as target,
    ):
        target.execute("PRAGMA writable_schema = 1")
        pages: int = source.execute("PRAGMA page_count").fetchone()[0]
        checked = False

        def check(status: int, remaining: int, total: int) -> None:
            nonlocal checked  # from the first step on no other program can write
            if not checked and not unchanged():
                raise _Changed
            checked = True

        # Not all in the first step, or it would be written before it is checked.
        source.backup(target, pages=max(1, min(1000, pages // 2)), progress=check)


def _mend_header(file: BinaryIO, sound: Path) -> None:
    """Write a header where there is none, so that SQLite opens the file.

    It leaves the number of pages to be found from the file's size.
    """
    file.seek(0)
    if header_size(file.read(100)):
        return
    with sound.open("rb") as source:
        header = bytearray(source.read(100))
    header[18:20] = bytes((_WAL, _WAL))
    header[24:40] = bytes(16)
    size = header_size(bytes(header)) or PAGE_SIZE
    file.truncate(max(1, -(-file.seek(0, 2) // size)) * size)
    file.seek(0)
    file.write(header)
    file.flush()
    os.fsync(file.fileno())


def _sweep(path: Path) -> None:
    """Remove what a repair left that was killed."""
    for name in _PARTS:
        for ending in ("", "-wal", "-shm", "-journal"):
            with suppress(OSError):
                _beside(path, name + ending).unlink(missing_ok=True)


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)
