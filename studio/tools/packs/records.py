"""Pack records: opens the database of one pack, and brings it to the pack's version (X-6).

The steps are files of SQL named by their numbers, ``0001.sql``; those that are new run in one
transaction, after a copy of the file. A pack's SQL reaches no other file and loads no code.
"""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from studio.domain.errors import StorageError, ToolFailed

from .home import Value

_REFUSED = {sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_PRAGMA}
_TOUCHES_FILES = {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"}
BACKUP = ".before"
"""Ends the name of the copy that is made before new steps."""


class PackRecords:
    """The database in ``file``, with the tables that ``steps`` make. Everything blocks.

    Raises StorageError if it cannot be opened: damaged, or of a newer version of the pack.
    """

    def __init__(self, file: Path, steps: Sequence[Path]) -> None:
        self._lock = threading.RLock()
        self._depth = 0
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self._db = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
            file.chmod(0o600)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA foreign_keys = ON")
            self._bring_up(file, sorted(steps, key=lambda one: one.name))
        except (sqlite3.Error, OSError) as error:
            raise StorageError(f"The records {file} cannot be opened: {error}.") from error
        self._db.set_authorizer(_allow)

    def _bring_up(self, file: Path, steps: Sequence[Path]) -> None:
        (now,) = self._db.execute("PRAGMA user_version").fetchone()
        if now > len(steps):
            raise StorageError(
                f"The records {file} are of a newer version of the pack. Update the pack."
            )
        if now == len(steps):
            return
        if now:
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            shutil.copyfile(file, file.with_name(f"{file.name}{BACKUP}-{now}"))
        self._db.execute("BEGIN IMMEDIATE")
        try:
            for step in steps[now:]:
                self._db.set_authorizer(_allow)
                for statement in _statements(step.read_text("utf-8")):
                    self._db.execute(statement)
                self._db.set_authorizer(None)
            self._db.execute(f"PRAGMA user_version = {len(steps)}")
            self._db.execute("COMMIT")
        except BaseException:
            self._db.set_authorizer(None)
            with suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise

    def read(self, sql: str, *values: Value) -> list[dict[str, Value]]:
        """The rows that a query finds."""
        with self._lock, self._told(), closing(self._db.execute(sql, values)) as found:
            names = [column[0] for column in found.description or ()]
            return [dict(zip(names, row, strict=True)) for row in found]

    def write(self, sql: str, *values: Value) -> int:
        """Change rows; returns the id of the row that was added, or how many were changed."""
        with self._lock, self._told(), closing(self._db.execute(sql, values)) as done:
            added = sql.lstrip()[:6].upper() in ("INSERT", "REPLAC")
            return (done.lastrowid or 0) if added else done.rowcount

    @contextmanager
    def together(self) -> Generator[None]:
        """What is written inside is kept as a whole, or not at all."""
        with self._lock:
            if self._depth == 0:
                self._db.execute("BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield
            except BaseException:
                self._depth -= 1
                if self._depth == 0:
                    self._db.execute("ROLLBACK")
                raise
            self._depth -= 1
            if self._depth == 0:
                self._db.execute("COMMIT")

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextmanager
    def _told(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise ToolFailed(f"The records refused this: {error}.") from error


def _statements(text: str) -> Generator[str]:
    """The statements of a file: a trigger has semicolons in it."""
    begun = ""
    for piece in text.split(";"):
        begun += f"{piece};"
        if sqlite3.complete_statement(begun):
            if begun.strip(" \t\r\n;"):
                yield begun
            begun = ""
    if begun.strip(" \t\r\n;"):
        yield begun


def _allow(
    action: int, one: str | None, two: str | None, database: str | None, inside: str | None
) -> int:
    refused = action in _REFUSED or (
        action == sqlite3.SQLITE_FUNCTION and (two or "").lower() in _TOUCHES_FILES
    )
    return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK
