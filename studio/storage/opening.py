"""Opening the database file, whatever state it is in."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from sqlite3 import Connection

from studio.domain.errors import StorageError

from .files import unused_name
from .migrations import LATEST, migrate
from .paths import private_folder

MAGIC = b"SQLite format 3\0"
FIXED = b"\x40\x20\x20"  # bytes 21 to 23 of every database
DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
BUSY_TIMEOUT_MS = 5000
# One damaged letter must not make a whole table unreadable.
LENIENT = partial(str, encoding="utf-8", errors="replace")
COMPANIONS = ("", "-wal", "-shm", "-journal")


class DatabaseDamaged(Exception):
    """The file is no database, or a broken one."""


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's primary result code; -1 where the error is Python's own."""
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else -1


def explain_error(error: sqlite3.Error, path: Path) -> StorageError:
    """What a SQLite error means to the person."""
    match primary_code(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            text = f"Another program is using {path}. Close it and try again."
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            text = f"{path} cannot be written. Allow writing to the file and its folder."
        case sqlite3.SQLITE_CANTOPEN:
            text = f"{path} cannot be opened. Allow writing to the file and its folder."
        case sqlite3.SQLITE_FULL:
            text = f"The disk is full. Free some space on the disk of {path}."
        case sqlite3.SQLITE_IOERR:
            text = f"{path} cannot be read or written: the disk reports an error."
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            text = (
                f"{path} is damaged. Start the program again: "
                "it keeps the damaged file and begins a new one."
            )
        case _:
            text = f"{path}: {error}"
    return StorageError(text)


def open_for_writing(path: Path, patience: float) -> tuple[Connection, str]:
    """The writer's connection, and what the person should be told (or "").

    A locked file is tried again for ``patience`` seconds. A damaged one is
    kept under another name and a new one begun. Raises StorageError.
    """
    deadline = time.monotonic() + patience
    try:
        private_folder(path.parent)
        _refuse_newer(path, _version_in_header(path))
        if not path.exists():
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise StorageError(
            f"{path} cannot be opened ({error.strerror}). Allow writing to the file and its folder."
        ) from error
    try:
        return _until(deadline, path), ""
    except DatabaseDamaged:
        return _begin_anew(path, deadline)
    except sqlite3.Error as error:
        raise explain_error(error, path) from error


def open_for_reading(path: Path) -> Connection:
    """A connection that cannot write. Raises sqlite3.Error."""
    db = sqlite3.connect(
        path, timeout=BUSY_TIMEOUT_MS / 1000, isolation_level=None, check_same_thread=False
    )
    db.text_factory = LENIENT
    try:
        db.execute("PRAGMA query_only = 1")
        db.execute("PRAGMA cache_size = -8000")
    except sqlite3.Error:
        db.close()
        raise
    return db


def _until(deadline: float, path: Path) -> Connection:
    """Prepare a connection; the switch to WAL does not wait for locks, so we do."""
    while True:
        try:
            return _prepare(path, max(0.0, deadline - time.monotonic()))
        except sqlite3.OperationalError as error:
            if primary_code(error) not in BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(0.05)


def _prepare(path: Path, timeout: float) -> Connection:
    db = sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)
    db.text_factory = LENIENT
    try:
        _refuse_newer(path, db.execute("PRAGMA user_version").fetchone()[0])
        findings = db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if findings != "ok":
            raise DatabaseDamaged(findings)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA foreign_keys = 1")
        db.execute("PRAGMA cache_size = -8000")
        db.execute("PRAGMA journal_size_limit = 16777216")
        # Also proves that the file can be written.
        db.execute("BEGIN IMMEDIATE")
        migrate(db)
        db.execute("COMMIT")
        db.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    except sqlite3.DatabaseError as error:
        db.close()
        if primary_code(error) in DAMAGED:
            raise DatabaseDamaged(str(error)) from error
        raise
    except BaseException:
        db.close()
        raise
    return db


def _begin_anew(path: Path, deadline: float) -> tuple[Connection, str]:
    """Put the damaged file aside and start an empty one.

    Two programs may find the damage at once: only one may move the file, and
    the other must then see the new one. A lock on a neighbour orders them.
    """
    kept = path
    try:
        guard = sqlite3.connect(
            path.with_name(path.name + ".repair"), timeout=10.0, isolation_level=None
        )
        with closing(guard):
            guard.execute("BEGIN EXCLUSIVE")
            try:
                return _until(deadline, path), ""
            except DatabaseDamaged:
                kept = unused_name(path, "damaged")
                # The file first: if it cannot be moved (in use on Windows), nothing has changed.
                for companion in COMPANIONS:
                    source = path.with_name(path.name + companion)
                    if source.exists():
                        source.rename(kept.with_name(kept.name + companion))
                db = _until(time.monotonic() + 1.0, path)
    except OSError as error:
        raise StorageError(
            f"{path} is damaged and cannot be moved aside ({error.strerror}). "
            "Close other programs that use it."
        ) from error
    except sqlite3.Error as error:
        raise explain_error(error, path) from error
    notice = f"The saved chats were damaged. The file is kept as {kept}; a new one was begun."
    return db, notice


def _version_in_header(path: Path) -> int:
    """``user_version`` read without SQLite, which leaves traces beside a file it opens."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        header = file.read(64)
    if len(header) < 64 or not header.startswith(MAGIC) or header[21:24] != FIXED:
        return 0  # no database, or a broken one, whose version would be noise
    return int.from_bytes(header[60:64], "big")


def _refuse_newer(path: Path, version: int) -> None:
    if version > LATEST:
        raise StorageError(
            f"{path} was written by a newer version of this program (its format is {version}, "
            f"this version knows {LATEST}). Install the newer version. The file was not changed."
        )
