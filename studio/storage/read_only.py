"""Read-only file: reads a database that cannot be written.

SQLite itself writes beside a file that it only reads. So this tries what asks for less and
less: to read it as it is, to take it as unchanging, and at last a private copy in the
system's temporary folder, without damage and in the newest version's form.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from urllib.parse import quote

from .connection import Schema, as_reader, open_for_reading, open_for_writing, refuse_newer


class ReadOnlyFile:
    """A database that this program cannot write. Methods block."""

    def __init__(self, path: Path, schema: Schema) -> None:
        """Raises sqlite3.Error, OSError or StorageError where it cannot be read either."""
        self._path = path
        self._schema = schema
        self._copy = ""
        self._connect: Callable[[], Connection] = self.copied
        for options in ("mode=ro", "mode=ro&immutable=1"):
            if options != "mode=ro" and _has_log(path):
                continue  # taken as unchanging, it is read without the log
            address = f"file:{quote(str(path))}?{options}"
            with suppress(sqlite3.Error):
                if self._is_current(address):
                    self._connect = partial(_reader, address)
                    break
        self.connect().close()

    def connect(self) -> Connection:
        """A connection that reads."""
        return self._connect()

    def copied(self) -> Connection:
        """A connection to a copy, from which damage is removed; from now on ``connect`` uses it."""
        if not self._copy:
            self._copy = tempfile.mkdtemp(prefix="agent-studio-")
            copy = Path(self._copy) / self._path.name
            try:
                for ending in ("", "-wal"):
                    source = self._path.with_name(self._path.name + ending)
                    if source.exists():
                        shutil.copyfile(source, copy.with_name(copy.name + ending))
                open_for_writing(copy, self._schema, 1.0)[0].close()
            except BaseException:
                self.close()
                raise
            self._connect = partial(open_for_reading, copy)
        return self._connect()

    def repair(self) -> None:
        """Read from a copy without the damage that was met. Raises like the constructor."""
        from .recovery.repair import repair

        self.copied().close()
        repair(Path(self._copy) / self._path.name, self._schema.contents(), lambda: True)

    def close(self) -> None:
        """Remove the copy, if there is one."""
        if self._copy:
            shutil.rmtree(self._copy, ignore_errors=True)
            self._copy = ""

    def _is_current(self, address: str) -> bool:
        db = _reader(address)
        try:
            version: int = db.execute("PRAGMA user_version").fetchone()[0]
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        finally:
            db.close()
        refuse_newer(self._path, version, self._schema.version)
        return version == self._schema.version


def _reader(address: str) -> Connection:
    return as_reader(
        sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
    )


def _has_log(path: Path) -> bool:
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0
