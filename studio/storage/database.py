"""SQLite database: opens one file, writes it in one thread and reads it in a few.

Damage is repaired where it is met, see ``recovery``. A file that cannot be written is read.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from studio.domain.errors import StorageError

from .connection import (
    Migration,
    Schema,
    Unwritable,
    connect_for_writing,
    explain_error,
    is_damage,
    is_sound,
    open_for_reading,
    open_for_writing,
    open_repaired,
    owners_folder,
)
from .process_registry import ProcessLock, running_owners, sweep

if TYPE_CHECKING:
    from .recovery.repair import Mend

T = TypeVar("T")
_Job: TypeAlias = tuple[Callable[[Connection], Any] | int, "Future[Any]"]
"""A function to run, or how many repairs there were when the file was found damaged."""

READERS = 3
REPAIRS = 3
"""How often one program repairs a file: more would only fill the disk with copies."""
LOG_CHANGES = 500
"""Rows that change, roughly as many pages, before what the log has is written into the file."""


class _Readers:
    """Connections that read, each used by one thread at a time."""

    def __init__(self) -> None:
        self.connect: Callable[[], Connection]
        """Opens another one."""
        self._idle: list[Connection] = []
        self._used = 0
        self._paused = False
        self._changed = threading.Condition()

    @contextmanager
    def one(self) -> Generator[Connection, None, None]:
        """A connection that nobody else uses meanwhile."""
        with self._changed:
            self._changed.wait_for(lambda: not self._paused)
            self._used += 1
            db = self._idle.pop() if self._idle else None
        try:
            db = db or self.connect()
            yield db
        finally:
            with self._changed:
                self._used -= 1
                if db is not None:
                    self._idle.append(db)
                self._changed.notify_all()

    @contextmanager
    def none(self) -> Generator[None, None, None]:
        """Close all of them, and let nobody read meanwhile."""
        with self._changed:
            self._paused = True
            self._changed.wait_for(lambda: not self._used)
            self.close()
        try:
            yield
        finally:
            with self._changed:
                self._paused = False
                self._changed.notify_all()

    def close(self) -> None:
        """Close those that nobody uses."""
        with self._changed:
            while self._idle:
                self._idle.pop().close()


class _Reading:
    """One read, which another thread may interrupt while it lasts."""

    def __init__(self) -> None:
        self._db: Connection | None = None
        self._lock = threading.Lock()

    @contextmanager
    def on(self, db: Connection) -> Generator[None, None, None]:
        """The read uses this connection; nobody interrupts it before or after."""
        with self._lock:
            self._db = db
        try:
            yield
        finally:
            with self._lock:
                self._db = None

    def interrupt(self) -> None:
        with self._lock:
            if self._db is not None:
                self._db.interrupt()


class Database:
    """The program's database. Several processes may have the same file open.

    Every function that is passed to it runs in a transaction: all of it happens, or
    nothing. It runs in another thread and must not touch the caller's state. It may run
    a second time if the file is damaged, and is repaired.
    """

    def __init__(
        self,
        path: Path,
        migrations: Sequence[Migration],
        *,
        patience: float = 5.0,
        contents: str = "saved chats",
        mend: Mend | None = None,
    ) -> None:
        """``migrations`` are all steps that make the schema, see ``migrate``.

        ``patience``: seconds to wait while another program locks the file. ``contents``
        says what is in the file, for the notice about a damaged one; ``mend`` makes what
        was saved of it fit together.
        """
        self._schema = Schema(migrations, contents, mend)
        self.path = path
        self.notice = ""
        """After ``open``: a notice for the person, about a damaged file for example."""
        self.on_notice: Callable[[str], None] | None = None
        """Called on the event loop for each notice after ``open``."""
        self.owner = ""
        """This program's id among all that have the file open; see ``alive``."""
        self.unwritable = ""
        """Why the file can only be read; empty if it can be written."""
        self._patience = patience
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._brought_in = 0
        """Changes of the connection up to which the log was brought into the file."""
        self._writer: threading.Thread | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._db: Connection
        self._readers = _Readers()
        self._lock = threading.Lock()
        self._closed = False
        self._repaired = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    async def open(self) -> None:
        """Open or create the file and migrate it to the latest schema.

        Raises StorageError that says what is wrong: locked by another program, not
        readable, from a newer version. A damaged file is no error, nor is one that can
        only be read, see ``notice``.
        """
        self._loop = asyncio.get_running_loop()
        ready: Future[str] = Future()
        # A daemon thread: the program ends even if the disk does not answer.
        self._writer = threading.Thread(
            target=self._work, args=(ready,), name="database", daemon=True
        )
        self._pool = ThreadPoolExecutor(READERS, thread_name_prefix="database-read")
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
            elif self.unwritable:
                future.set_exception(Unwritable(self.unwritable))
            else:
                self._jobs.put((fn, future))
        return future

    async def read(self, fn: Callable[[Connection], T]) -> T:
        """Run ``fn`` on a read-only connection, with one state of the database throughout.

        Several run at once, beside the writer. It is interrupted if the caller is cancelled.
        Raises StorageError.
        """
        if self._closed or self._pool is None:
            raise StorageError(f"{self.path} is closed.")
        loop = asyncio.get_running_loop()
        reading = _Reading()
        try:
            return await loop.run_in_executor(self._pool, partial(self._read, fn, reading))
        except asyncio.CancelledError:
            reading.interrupt()
            raise

    def read_here(self, fn: Callable[[Connection], T]) -> T:
        """The same in the caller's own thread, which is not that of the event loop."""
        if self._closed:
            raise StorageError(f"{self.path} is closed.")
        return self._read(fn, _Reading())

    async def execute(self, query: str, *values: Any) -> int:
        """Run one statement like ``write``; returns the number of rows that it changed."""
        return await self.write(lambda db: db.execute(query, values).rowcount)

    async def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """All rows that a query finds, like ``read``."""
        return await self.read(lambda db: db.execute(query, values).fetchall())

    async def compact(self) -> None:
        """Leave nothing in the file of what was deleted, and give its space back.

        Raises StorageError while another program uses the file, for example; it is whole then,
        and not smaller.
        """
        await self.write(_compact)

    async def alive(self, owners: set[str]) -> set[str]:
        """Those of ``owners`` whose program still has the database open."""
        return await asyncio.to_thread(self.living, owners)

    def living(self, owners: set[str]) -> set[str]:
        """The same, blocking, for a function that runs in a transaction."""
        return running_owners(owners_folder(self.path), owners)

    async def close(self) -> None:
        """Finish all writes and reads, and close. May be called twice."""
        with self._lock:
            first, self._closed = not self._closed, True
            if first and self._writer is not None:
                self._jobs.put(None)
        if first and self._writer is not None:
            await asyncio.to_thread(self._finish)

    def _finish(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True)
        with self._readers.none():  # others read in threads of their own
            pass
        if self._writer is not None:
            self._writer.join()

    # The writer's thread

    def _work(self, ready: Future[str]) -> None:
        try:
            try:
                notice, owner = self._open_file()
            except Unwritable as error:
                self._only_read(error, ready)
                return
        except BaseException as error:
            ready.set_exception(error)
            return
        self.owner = owner.id
        ready.set_result(notice)
        sweep(owners_folder(self.path))
        if self.path.with_name(f"{self.path.name}.repair").exists():
            from .recovery.repair import sweep_leftovers

            sweep_leftovers(self.path)
        try:
            while (job := self._jobs.get()) is not None:
                self._run(*job)
                del job  # or its result would live until the next one
                self._bring_in_log()
        finally:
            self._db.close()
            owner.release()

    def _bring_in_log(self) -> None:
        """Write what the log has into the file, once it has much and nobody waits for a job.

        SQLite would do so in a commit, and whoever waits for that one would wait for the disk, too.
        """
        with suppress(sqlite3.Error):  # it is tried again, and what is wrong is met by a job
            changes = self._db.total_changes  # of this connection, and a repair opens another one
            if 0 <= changes - self._brought_in < LOG_CHANGES or not self._jobs.empty():
                return
            self._brought_in = changes
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def _open_file(self) -> tuple[str, ProcessLock]:
        self._db, notice = open_for_writing(self.path, self._schema, self._patience)
        self._brought_in = self._db.total_changes
        self._readers.connect = partial(open_for_reading, self.path)
        folder = owners_folder(self.path)
        try:
            return notice, ProcessLock(folder)
        except OSError as error:
            self._db.close()
            raise Unwritable(f"{folder} cannot be written ({error.strerror}).") from error

    def _only_read(self, why: Unwritable, ready: Future[str]) -> None:
        """Read until the database is closed. Raises ``why`` if not even that works."""
        from .read_only import ReadOnlyFile

        try:
            file = ReadOnlyFile(self.path, self._schema)
        except (sqlite3.Error, OSError, StorageError) as error:
            raise why from error
        self.unwritable = str(why)
        self._readers.connect = file.connect
        ready.set_result(f"{why} Until then the {self._schema.name} can only be read.")
        try:
            while (job := self._jobs.get()) is not None:
                self._run(*job, copy=file.repair)
        finally:
            self._readers.close()
            file.close()

    def _run(
        self,
        fn: Callable[[Connection], Any] | int,
        future: Future[Any],
        copy: Callable[[], None] | None = None,
    ) -> None:
        """Run a job, or repair the file if that was not done since the repair number ``fn``."""
        if not future.set_running_or_notify_cancel():
            return
        try:
            if isinstance(fn, int):
                if fn == self._repaired:
                    self._repair(force=fn > 0, copy=copy)
                result = None
            else:
                result = self._transaction(fn)
        except sqlite3.Error as error:
            explained = explain_error(error, self.path)
            explained.__cause__ = error
            future.set_exception(explained)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    def _transaction(self, fn: Callable[[Connection], Any]) -> Any:
        while True:
            db, before = self._db, self._repaired
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
                if before == REPAIRS or not self._met_damage(error):
                    raise
                self._repair(force=before > 0)
            else:
                return result

    def _met_damage(self, error: sqlite3.Error) -> bool:
        """Whether the file is damaged; a rule of the schema may be broken for another reason.

        An index with other contents than its table says that a row exists which does not, or
        the other way round: SQLite notices no damage, and refuses the new row.
        """
        if isinstance(error, sqlite3.IntegrityError):
            return not is_sound(self.path)
        return is_damage(error)

    def _repair(self, *, force: bool, copy: Callable[[], None] | None = None) -> None:
        """Repair the file; not if another program has done it, unless ``force``.

        ``copy`` repairs the copy of a file that cannot be written. Raises StorageError.
        """
        self._repaired += 1
        with self._readers.none():
            if copy is not None:
                copy()
                return
            self._db.close()
            try:
                self._db, notice = open_repaired(
                    self.path,
                    self._schema,
                    time.monotonic() + self._patience,
                    lambda: not force and is_sound(self.path),
                )
            except StorageError:
                self._db = connect_for_writing(self.path)
                raise
        if notice and self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._notify, notice)

    def _notify(self, notice: str) -> None:
        self.notice = f"{self.notice} {notice}".lstrip()
        if self.on_notice is not None:
            self.on_notice(notice)

    # The readers' threads

    def _read(self, fn: Callable[[Connection], T], reading: _Reading) -> T:
        while True:
            before = self._repaired
            try:
                with self._readers.one() as db:
                    db.execute("BEGIN")
                    try:
                        with reading.on(db):
                            return fn(db)
                    finally:
                        if db.in_transaction:
                            db.execute("ROLLBACK")
            except sqlite3.Error as error:
                if not is_damage(error) or before == REPAIRS:
                    raise explain_error(error, self.path) from error
            repaired: Future[None] = Future()
            with self._lock:
                if self._closed:
                    raise StorageError(f"{self.path} is closed.")
                self._jobs.put((before, repaired))
            repaired.result()


def _compact(db: Connection) -> None:
    """The file is written anew, which no transaction can hold; the next statement begins one."""
    indexes = "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE%USING fts5%'"
    for (name,) in db.execute(indexes).fetchall():  # they keep deleted words until then
        db.execute(f"INSERT INTO {name} ({name}) VALUES ('optimize')")
    db.execute("COMMIT")
    try:
        db.execute("VACUUM")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        db.execute("BEGIN IMMEDIATE")
