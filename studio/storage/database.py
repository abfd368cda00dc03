"""SQLite database: opens one file, writes it in one thread and reads it in a few.

A locked file is tried again, a damaged one is kept aside, one of a newer version refused.
"""

from __future__ import annotations

import asyncio
import os
import queue
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import Any, TypeAlias, TypeVar

from studio.domain.errors import StorageError, is_disk_full
from studio.files.folders import private_folder, unused_name

from .process_registry import ProcessLock, running_owners, sweep

MAGIC = b"SQLite format 3\0"
FIXED = b"\x40\x20\x20"  # bytes 21 to 23 of every database
DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
UNCLEAR = frozenset({sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN})
"""What SQLite says of a full disk too, if it is no page that does not fit."""
SMALLEST = 32_768
"""Bytes of the file of shared memory beside a database."""
BUSY_TIMEOUT_MS = 5000
# One damaged character must not make a whole table unreadable.
LENIENT = partial(str, encoding="utf-8", errors="replace")
COMPANIONS = ("", "-wal", "-shm", "-journal")


Migration: TypeAlias = Callable[[Connection], None]
"""One step that changes the shape of a database file."""


def migrate(db: Connection, migrations: Sequence[Migration]) -> None:
    """Run the steps that a file has not had yet; call inside a transaction.

    ``PRAGMA user_version`` counts the steps a file has had. So a step is never edited or
    removed once a version with it is out: a change is a new step at the end.
    """
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    for number, step in enumerate(migrations[version:], version + 1):
        step(db)
        db.execute(f"PRAGMA user_version = {number}")


class DatabaseDamaged(Exception):
    """The file is no database, or a broken one."""


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's primary result code; -1 where the error is Python's own."""
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else -1


DISK_FULL = "The disk is full. Free some space on the disk of {path}."


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
            text = (
                f"{path} is damaged. Start the program again: "
                "it keeps the damaged file and begins a new one."
            )
        case _:
            text = f"{path}: {error}"
    return StorageError(text)


def _has_no_space(path: Path) -> bool:
    """Whether the disk is so full that SQLite's smallest file does not fit."""
    try:
        return shutil.disk_usage(path.parent).free < SMALLEST
    except OSError:
        return False


def open_for_writing(
    path: Path, migrations: Sequence[Migration], patience: float, contents: str
) -> tuple[Connection, str]:
    """The writer's connection, and a notice for the person (or "").

    A locked file is tried again for ``patience`` seconds. A damaged one is
    kept under another name and a new one begun. Raises StorageError.
    """
    deadline = time.monotonic() + patience
    try:
        private_folder(path.parent)
        _refuse_newer(path, _version_in_header(path), len(migrations))
        if not path.exists():
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        if is_disk_full(error):
            raise StorageError(DISK_FULL.format(path=path)) from error
        raise StorageError(
            f"{path} cannot be opened ({error.strerror}). Allow writing to the file and its folder."
        ) from error
    try:
        return _until(deadline, path, migrations), ""
    except DatabaseDamaged:
        return _begin_anew(path, migrations, deadline, contents)
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


def _until(deadline: float, path: Path, migrations: Sequence[Migration]) -> Connection:
    """Prepare a connection; retries, because the switch to WAL does not wait for locks."""
    while True:
        try:
            return _prepare(path, migrations, max(0.0, deadline - time.monotonic()))
        except sqlite3.OperationalError as error:
            if primary_code(error) not in BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(0.05)


def _prepare(path: Path, migrations: Sequence[Migration], timeout: float) -> Connection:
    db = sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)
    db.text_factory = LENIENT
    try:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        _refuse_newer(path, version, len(migrations))
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
        migrate(db, migrations)
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


def _begin_anew(
    path: Path, migrations: Sequence[Migration], deadline: float, contents: str
) -> tuple[Connection, str]:
    """Rename the damaged file and begin an empty one.

    Two programs may find the damage at once: only one may rename the file, and
    the other must then use the new one. A lock on a file beside it orders them.
    """
    kept = path
    try:
        guard = sqlite3.connect(
            path.with_name(path.name + ".repair"), timeout=10.0, isolation_level=None
        )
        with closing(guard):
            guard.execute("BEGIN EXCLUSIVE")
            try:
                return _until(deadline, path, migrations), ""
            except DatabaseDamaged:
                kept = unused_name(path, "damaged")
                # The file first: if it cannot be renamed (in use on Windows), nothing changes.
                for companion in COMPANIONS:
                    source = path.with_name(path.name + companion)
                    if source.exists():
                        source.rename(kept.with_name(kept.name + companion))
                db = _until(time.monotonic() + 1.0, path, migrations)
    except OSError as error:
        raise StorageError(
            f"{path} is damaged and cannot be moved aside ({error.strerror}). "
            "Close other programs that use it."
        ) from error
    except sqlite3.Error as error:
        raise explain_error(error, path) from error
    notice = f"The {contents} were damaged. The file is kept as {kept}; a new one was begun."
    return db, notice


def _version_in_header(path: Path) -> int:
    """``user_version`` read without SQLite, which makes files beside one that it opens."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        header = file.read(64)
    if len(header) < 64 or not header.startswith(MAGIC) or header[21:24] != FIXED:
        return 0  # no database, or a damaged one
    return int.from_bytes(header[60:64], "big")


def _refuse_newer(path: Path, version: int, latest: int) -> None:
    if version > latest:
        raise StorageError(
            f"{path} was written by a newer version of this program (its format is {version}, "
            f"this version knows {latest}). Install the newer version. The file was not changed."
        )


T = TypeVar("T")
_Job: TypeAlias = tuple[Callable[[Connection], Any], "Future[Any]"]

READERS = 3


class Database:
    """The program's database. Several processes may have the same file open.

    Every function that is passed to it runs in a transaction: all of it happens, or
    nothing. It runs in another thread and must not touch the caller's state.
    """

    def __init__(
        self,
        path: Path,
        migrations: Sequence[Migration],
        *,
        patience: float = 5.0,
        contents: str = "saved chats",
    ) -> None:
        """``migrations`` are all steps that make the schema, see ``migrate``.

        ``patience``: seconds to wait while another program locks the file. ``contents``
        says what is in the file, for the notice about a damaged one.
        """
        self._migrations = migrations
        self._contents = contents
        self.path = path
        self.notice = ""
        """After ``open``: a notice for the person, about a damaged file for example."""
        self.owner = ""
        """This program's id among all that have the file open; see ``alive``."""
        self._patience = patience
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._writer: threading.Thread | None = None
        self._readers: ThreadPoolExecutor | None = None
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        self._closed = False

    async def open(self) -> None:
        """Open or create the file and migrate it to the latest schema.

        Raises StorageError that says what is wrong: locked by another program,
        not writable, from a newer version. A damaged file is no error, see
        ``notice``. The file is never overwritten.
        """
        ready: Future[str] = Future()
        # A daemon thread: the program ends even if the disk does not answer.
        self._writer = threading.Thread(
            target=self._work, args=(ready,), name="database", daemon=True
        )
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="database-read")
        self._writer.start()
        try:
            self.notice = await asyncio.shield(asyncio.wrap_future(ready))
        except BaseException:
            await self.close()
            raise

    async def write(self, fn: Callable[[Connection], T]) -> T:
        """Run ``fn`` in the writer's thread; return when its transaction is committed.

        Writes happen in the order of the calls. A write that has begun is finished even
        if the caller is cancelled. Raises StorageError, and whatever ``fn`` raises; then
        nothing is written.
        """
        return await asyncio.shield(asyncio.wrap_future(self.submit(fn)))

    def submit(self, fn: Callable[[Connection], T]) -> Future[T]:
        """Like ``write``, without waiting: for callers that are no coroutines."""
        future: Future[T] = Future()
        with self._lock:
            if self._closed or self._writer is None:
                future.set_exception(StorageError(f"{self.path} is closed."))
            else:
                self._jobs.put((fn, future))
        return future

    async def read(self, fn: Callable[[Connection], T]) -> T:
        """Run ``fn`` on a read-only connection, with one state of the database throughout.

        Several run at once, beside the writer. Raises StorageError.
        """
        if self._closed or self._readers is None:
            raise StorageError(f"{self.path} is closed.")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, partial(self._read, fn))

    async def execute(self, query: str, *values: Any) -> int:
        """Run one statement like ``write``; returns the number of rows that it changed."""
        return await self.write(lambda db: db.execute(query, values).rowcount)

    async def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """All rows that a query finds, like ``read``."""
        return await self.read(lambda db: db.execute(query, values).fetchall())

    async def alive(self, owners: set[str]) -> set[str]:
        """Those of ``owners`` whose program still has the database open."""
        return await asyncio.to_thread(self.living, owners)

    def living(self, owners: set[str]) -> set[str]:
        """The same, blocking, for a function that runs in a transaction."""
        return running_owners(self._owners, owners)

    async def close(self) -> None:
        """Finish all writes and reads, and close. May be called twice."""
        with self._lock:
            first, self._closed = not self._closed, True
            if first and self._writer is not None:
                self._jobs.put(None)
        if first and self._writer is not None:
            await asyncio.to_thread(self._finish)

    def _finish(self) -> None:
        if self._readers is not None:
            self._readers.shutdown(wait=True)
        while self._idle:
            self._idle.pop().close()
        if self._writer is not None:
            self._writer.join()

    @property
    def _owners(self) -> Path:
        return self.path.with_name(self.path.name + ".open")

    def _work(self, ready: Future[str]) -> None:
        try:
            db, notice = open_for_writing(
                self.path, self._migrations, self._patience, self._contents
            )
            try:
                owner = ProcessLock(self._owners)
            except OSError as error:
                db.close()
                raise StorageError(
                    f"{self._owners} cannot be written ({error.strerror})."
                ) from error
        except BaseException as error:
            ready.set_exception(error)
            return
        self.owner = owner.id
        ready.set_result(notice)
        sweep(self._owners)
        try:
            while (job := self._jobs.get()) is not None:
                self._run(db, *job)
                del job  # or its result would live until the next one
        finally:
            db.close()
            owner.release()

    def _run(self, db: Connection, fn: Callable[[Connection], Any], future: Future[Any]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            db.execute("BEGIN IMMEDIATE")
            try:
                result = fn(db)
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            explained = explain_error(error, self.path)
            explained.__cause__ = error
            future.set_exception(explained)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    def _read(self, fn: Callable[[Connection], T]) -> T:
        try:
            with self._lock:
                db = self._idle.pop() if self._idle else None
            if db is None:
                db = open_for_reading(self.path)
            try:
                db.execute("BEGIN")
                try:
                    return fn(db)
                finally:
                    if db.in_transaction:
                        db.execute("ROLLBACK")
            finally:
                with self._lock:
                    self._idle.append(db)
        except sqlite3.Error as error:
            raise explain_error(error, self.path) from error
