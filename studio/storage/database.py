"""One SQLite file, written by one thread and read by a few."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import Any, TypeAlias, TypeVar

from studio.domain.errors import StorageError

from .opening import explain_error, open_for_reading, open_for_writing
from .owners import ProcessLock, running_owners, sweep

T = TypeVar("T")
_Job: TypeAlias = tuple[Callable[[Connection], Any], "Future[Any]"]

READERS = 3


class Database:
    """The program's database. Several processes may have the same file open.

    Every function handed in runs in a transaction: all of it happens, or
    nothing. Functions run in other threads and must not touch the caller's
    state.
    """

    def __init__(self, path: Path, *, patience: float = 5.0) -> None:
        """``patience``: seconds to wait while another program locks the file."""
        self.path = path
        self.notice = ""
        """After ``open``: what the person should know, a damaged file for example."""
        self.owner = ""
        """Names this program among all that have the file open; see ``alive``."""
        self._patience = patience
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._writer: threading.Thread | None = None
        self._readers: ThreadPoolExecutor | None = None
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        self._closed = False

    async def open(self) -> None:
        """Open or create the file and bring it to the latest shape.

        Raises StorageError that says what is wrong: locked by another program,
        not writable, from a newer version. A damaged file is no error, see
        ``notice``. The file is never overwritten.
        """
        ready: Future[str] = Future()
        # A daemon: a stuck disk must not keep the program from ending.
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

        Writes happen in the order of the calls. One that was begun is finished
        even if the caller is cancelled. Raises StorageError; other exceptions
        of ``fn`` come through as they are. Either way nothing was written.
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
        """Run ``fn`` on a connection that only reads, seeing one moment's state.

        Several run at once, beside the writer. Raises StorageError.
        """
        if self._closed or self._readers is None:
            raise StorageError(f"{self.path} is closed.")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, partial(self._read, fn))

    async def alive(self, owners: set[str]) -> set[str]:
        """Those of ``owners`` whose program still has the database open."""
        return await asyncio.to_thread(self.living, owners)

    def living(self, owners: set[str]) -> set[str]:
        """The same at once, for a function that runs in a transaction."""
        return running_owners(self._owners, owners)

    async def close(self) -> None:
        """Finish what was asked for, fold the log into the file, close. May be called twice."""
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
            db, notice = open_for_writing(self.path, self._patience)
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
            future.set_exception(self._explained(error))
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
            raise self._explained(error) from error

    def _explained(self, error: sqlite3.Error) -> StorageError:
        found = explain_error(error, self.path)
        found.__cause__ = error
        return found
