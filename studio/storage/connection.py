"""Database connection: opens a SQLite file, migrates it, and says in words what is wrong.

A locked file is tried again, a damaged one repaired, one of a newer version refused.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import TYPE_CHECKING, TypeAlias

from studio.domain.errors import StorageError, is_disk_full
from studio.domain.records import dataclass
from studio.files.folders import private_folder

from .process_registry import running_owners

if TYPE_CHECKING:
    from .recovery.repair import Contents, Mend

DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
UNWRITABLE = frozenset(
    {
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
    }
)
UNCLEAR = frozenset({sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN})
"""What SQLite says of a full disk too, if it is no page that does not fit."""
SMALLEST = 32_768
"""Bytes of the file of shared memory beside a database."""
DISK_FULL = "The disk is full. Free some space on the disk of {path}."
BUSY_TIMEOUT_MS = 5000
# One damaged character must not make a whole table unreadable.
LENIENT = partial(str, encoding="utf-8", errors="replace")

Migration: TypeAlias = Callable[[Connection], None]
"""One step that changes the shape of a database file."""


class DatabaseDamaged(Exception):
    """The file is no database, or a broken one."""


class Unwritable(StorageError):
    """The file is there and cannot be written. Perhaps it can be read."""


@dataclass(frozen=True, slots=True)
class Schema:
    """What a database is to hold: the steps that make its tables, and the name of its contents.

    ``mend`` makes what was saved of a damaged file fit together, see ``recovery``.
    """

    migrations: Sequence[Migration]
    name: str = "saved chats"
    mend: Mend | None = None

    @property
    def version(self) -> int:
        return len(self.migrations)

    def migrate(self, db: Connection, upto: int | None = None) -> None:
        """Run the steps that a file has not had yet, up to a version; call in a transaction."""
        migrate(db, self.migrations[:upto])

    def contents(self) -> Contents:
        """The same for the repair of a damaged file."""
        from .recovery.repair import Contents

        def build(db: Connection, version: int | None) -> None:
            db.execute("BEGIN")
            self.migrate(db, version or None)
            db.execute("COMMIT")

        return Contents(build, self.name, self.mend)


def migrate(db: Connection, migrations: Sequence[Migration]) -> None:
    """Run the steps that a file has not had yet; call inside a transaction.

    ``PRAGMA user_version`` counts the steps a file has had. So a step is never edited or
    removed once a version with it is out: a change is a new step at the end.
    """
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    for number, step in enumerate(migrations[version:], version + 1):
        step(db)
        db.execute(f"PRAGMA user_version = {number}")


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's primary result code; -1 where the error is Python's own."""
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else -1


def is_damage(error: sqlite3.Error) -> bool:
    """Whether SQLite met damage in the file."""
    return primary_code(error) in DAMAGED


def damage_error(text: str) -> sqlite3.DatabaseError:
    """The error of SQLite for damage, for what it does not look for itself."""
    error = sqlite3.DatabaseError(text)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def explain_error(error: sqlite3.Error, path: Path) -> StorageError:
    """A SQLite error in words for the person."""
    code = primary_code(error)
    if code in UNCLEAR and _has_no_space(path):
        code = sqlite3.SQLITE_FULL
    match code:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            text = f"Another program is using {path}. Close it and try again."
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            text = f"{path} cannot be written. Allow writing to the file and its folder."
        case sqlite3.SQLITE_CANTOPEN:
            text = f"{path} cannot be opened. Allow writing to the file and its folder."
        case sqlite3.SQLITE_FULL:
            text = DISK_FULL.format(path=path)
        case sqlite3.SQLITE_IOERR:
            text = f"{path} cannot be read or written: the disk reports an error."
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            text = f"{path} is damaged."
        case _:
            text = f"{path}: {error}"
    return (Unwritable if code in UNWRITABLE else StorageError)(text)


def _has_no_space(path: Path) -> bool:
    """Whether the disk is so full that SQLite's smallest file does not fit."""
    try:
        return shutil.disk_usage(path.parent).free < SMALLEST
    except OSError:
        return False


def open_for_writing(path: Path, schema: Schema, patience: float) -> tuple[Connection, str]:
    """The writer's connection, and a notice for the person (or "").

    A locked file is tried again for ``patience`` seconds. A damaged one is repaired, see
    ``recovery``. Raises StorageError; ``Unwritable`` where the file might still be read.
    """
    deadline = time.monotonic() + patience
    try:
        private_folder(path.parent)
        refuse_newer(path, _version_in_header(path), schema.version)
        used = owners_folder(path).exists()  # before the file is looked at: others make it first
        if not path.exists():
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            used = False
        empty = used and path.stat().st_size == 0
    except OSError as error:
        text = f"{path} cannot be opened ({error.strerror}). "
        text += "Allow writing to the file and its folder."
        if is_disk_full(error):
            text = DISK_FULL.format(path=path)
        raise (Unwritable if path.is_file() else StorageError)(text) from error
    try:
        db = _until(deadline, path, schema)
    except DatabaseDamaged:
        return open_repaired(path, schema, deadline)
    except sqlite3.Error as error:
        raise explain_error(error, path) from error
    lost = f"{path} was empty: the {schema.name} in it are gone, and a new file was begun."
    return db, lost if empty else ""


def open_repaired(
    path: Path, schema: Schema, deadline: float, sound: Callable[[], bool] = lambda: True
) -> tuple[Connection, str]:
    """Repair a file unless it is ``sound`` and can be opened; open it."""
    from .recovery.repair import repair

    opened: list[Connection] = []

    def still_damaged() -> bool:
        if not sound():
            return True
        try:
            opened.append(_until(deadline, path, schema))
        except DatabaseDamaged:
            return True
        return False

    notice = repair(path, schema.contents(), still_damaged)
    try:
        return opened[0] if opened else _until(time.monotonic() + 1.0, path, schema), notice
    except DatabaseDamaged as error:
        raise StorageError(f"{path} is damaged and cannot be repaired ({error}).") from error
    except sqlite3.Error as error:
        raise explain_error(error, path) from error


def open_for_reading(path: Path) -> Connection:
    """A connection that cannot write. Raises sqlite3.Error."""
    return as_reader(
        sqlite3.connect(
            path, timeout=BUSY_TIMEOUT_MS / 1000, isolation_level=None, check_same_thread=False
        )
    )


def as_reader(db: Connection) -> Connection:
    """Make a new connection one that only reads; closes it where that fails."""
    db.text_factory = LENIENT
    try:
        db.execute("PRAGMA query_only = 1")
        db.execute("PRAGMA cache_size = -8000")
    except sqlite3.Error:
        db.close()
        raise
    return db


def is_sound(path: Path) -> bool:
    """Whether SQLite finds nothing wrong in the whole file. Takes long for a large one."""
    try:
        db = open_for_reading(path)
        try:
            return bool(db.execute("PRAGMA integrity_check(1)").fetchone()[0] == "ok")
        finally:
            db.close()
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            return False
        raise


def owners_folder(path: Path) -> Path:
    """Where the programs that have a database open hold their locks."""
    return path.with_name(path.name + ".open")


def refuse_newer(path: Path, version: int, latest: int) -> None:
    """Raises StorageError for a file of a newer version."""
    if version > latest:
        raise StorageError(
            f"{path} was written by a newer version of this program (its format is {version}, "
            f"this version knows {latest}). Install the newer version. The file was not changed."
        )


def _until(deadline: float, path: Path, schema: Schema) -> Connection:
    """Prepare a connection; retries, because the switch to WAL does not wait for locks."""
    while True:
        try:
            return _prepare(path, schema, max(0.0, deadline - time.monotonic()))
        except sqlite3.OperationalError as error:
            if primary_code(error) not in BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(0.05)


def _prepare(path: Path, schema: Schema, timeout: float) -> Connection:
    _require_whole_log(path)
    db = sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)
    try:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        refuse_newer(path, version, schema.version)
        db.execute("PRAGMA journal_mode = WAL")
        _set_up(db)
        # Also proves that the file can be written.
        db.execute("BEGIN IMMEDIATE")
        schema.migrate(db)
        db.execute("COMMIT")
        db.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    except sqlite3.DatabaseError as error:
        db.close()
        if is_damage(error):
            raise DatabaseDamaged(str(error)) from error
        raise
    except BaseException:
        db.close()
        raise
    return db


def connect_for_writing(path: Path) -> Connection:
    """A connection to a file that was open before, and may be damaged."""
    db = sqlite3.connect(
        path, timeout=BUSY_TIMEOUT_MS / 1000, isolation_level=None, check_same_thread=False
    )
    with suppress(sqlite3.Error):
        _set_up(db)
    return db


def _set_up(db: Connection) -> None:
    db.text_factory = LENIENT
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA foreign_keys = 1")
    db.execute("PRAGMA cache_size = -8000")
    db.execute("PRAGMA journal_size_limit = 16777216")
    # Whoever uses it brings the log into the file between two jobs: that waits for the disk.
    db.execute("PRAGMA wal_autocheckpoint = 4000")


def _require_whole_log(path: Path) -> None:
    """Raises DatabaseDamaged if SQLite would drop a part of what a program that crashed left.

    It does so, and without a word, when it first opens the file.
    """
    log = path.with_name(path.name + "-wal")
    try:
        if not log.stat().st_size:
            return
        folder = owners_folder(path)
        names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
        alone = path.stat().st_size == 0
    except OSError:
        return
    if running_owners(folder, names):
        return
    from .recovery.pages import LOG_HEADER, is_log_whole

    if not is_log_whole(log) or (alone and log.stat().st_size > LOG_HEADER):
        raise DatabaseDamaged("the log is damaged")


def _version_in_header(path: Path) -> int:
    """``user_version`` read without SQLite, which makes files beside one that it opens."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        header = file.read(64)
    if len(header) < 64 or not header.startswith(b"SQLite format 3\0"):
        return 0  # no database, or a damaged one
    if header[21:24] != b"\x40\x20\x20":
        return 0
    return int.from_bytes(header[60:64], "big")
