"""Blob store: keeps contents of files by their SHA-256, and the last scan of each folder.

A database rather than a file for each content: ten thousand small ones are written in one
transaction, and a power cut leaves all of it or nothing. It is as private as the sessions, and
contents without references are deleted (``collect``). Without it nothing can be undone.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from sqlite3 import Connection
from typing import TypeAlias

from studio.domain.errors import StorageError
from studio.files.folders import private_folder
from studio.storage.connection import BUSY_TIMEOUT_MS, explain_error, is_damage, is_sound

DAY = 86_400.0
UNDO_SECONDS = 30 * DAY
"""How long a turn can be undone, and the scan of an unused folder is kept."""
_PACKED_FROM = 128  # bytes

_SHAPE = """
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS content (
    digest TEXT PRIMARY KEY, at REAL NOT NULL, packed INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS folder (
    id INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS seen (
    folder INTEGER NOT NULL REFERENCES folder ON DELETE CASCADE, path BLOB NOT NULL,
    signature TEXT NOT NULL, entry TEXT NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (folder, path)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS seen_digest ON seen (digest);
CREATE TABLE IF NOT EXISTS collected (at REAL NOT NULL);
"""

SeenRow: TypeAlias = tuple[bytes, str, str, str]
"""Path, signature, file state and digest of a file, see ``FolderSnapshot.save``."""


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class BlobStore:
    """The store; its file is opened at the first use. Methods block, and raise StorageError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db: Connection | None = None
        self._lock = threading.Lock()

    def put(self, contents: Mapping[str, bytes]) -> None:
        """Keep contents by their digests; for known ones only the time is renewed."""
        now = time.time()
        with self._use() as db:
            held = {digest for digest in contents if _holds(db, digest)}
        rows = [
            (digest, now, *_packed(data)) for digest, data in contents.items() if digest not in held
        ]
        with self._use() as db:
            db.executemany("UPDATE content SET at = ? WHERE digest = ?", ((now, d) for d in held))
            db.executemany("INSERT OR IGNORE INTO content VALUES (?, ?, ?, ?)", rows)

    def get(self, digest: str) -> bytes | None:
        """The content; None if it is not kept or is damaged."""
        with self._use() as db:
            row = db.execute(
                "SELECT packed, data FROM content WHERE digest = ?", (digest,)
            ).fetchone()
        if row is None:
            return None
        try:
            data = zlib.decompress(row[1]) if row[0] else row[1]
        except (zlib.error, TypeError):
            return None
        return data if isinstance(data, bytes) and digest_of(data) == digest else None

    def seen(self, folder: str) -> list[SeenRow]:
        """The rows of a folder that ``keep_seen`` kept."""
        with self._use() as db:
            return db.execute(
                """SELECT path, signature, entry, digest FROM seen
                WHERE folder = (SELECT id FROM folder WHERE path = ?)""",
                (os.fsencode(folder),),
            ).fetchall()

    def keep_seen(self, folder: str, rows: Iterable[SeenRow], gone: Iterable[bytes]) -> None:
        """Add or replace rows of a folder, and delete those with a path in ``gone``."""
        with self._use() as db:
            (number,) = db.execute(
                """INSERT INTO folder (path, at) VALUES (?, ?)
                ON CONFLICT (path) DO UPDATE SET at = excluded.at RETURNING id""",
                (os.fsencode(folder), time.time()),
            ).fetchone()
            db.executemany(
                "DELETE FROM seen WHERE folder = ? AND path = ?", ((number, path) for path in gone)
            )
            db.executemany(
                "INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?, ?)",
                ((number, *row) for row in rows),
            )

    def due(self) -> bool:
        """Whether a day has passed since the last ``collect``; never for a new file."""
        if not self.path.exists():
            return False
        with self._use() as db:
            (last,) = db.execute("SELECT max(at) FROM collected").fetchone()
            if last is None:
                db.execute("INSERT INTO collected VALUES (?)", (time.time(),))
        return last is not None and time.time() - last > DAY

    def collect(self, wanted: Collection[str], *, spare: float = DAY) -> int:
        """Delete contents that are neither ``wanted`` nor in a scan; returns how many.

        Those of the last ``spare`` seconds stay: another program may be about to
        refer to them.
        """
        now = time.time()
        with self._use() as db:
            db.execute("DELETE FROM folder WHERE at < ?", (now - UNDO_SECONDS,))
            db.execute("CREATE TEMP TABLE IF NOT EXISTS wanted (digest TEXT PRIMARY KEY)")
            db.execute("DELETE FROM wanted")
            db.executemany("INSERT OR IGNORE INTO wanted VALUES (?)", ((d,) for d in wanted))
            gone = db.execute(
                """DELETE FROM content WHERE at <= ? AND digest NOT IN (SELECT digest FROM seen)
                AND digest NOT IN (SELECT digest FROM wanted)""",
                (now - spare,),
            ).rowcount
            db.execute("DELETE FROM collected")
            db.execute("INSERT INTO collected VALUES (?)", (now,))
        with self._lock:
            if self._db is not None:
                self._db.execute("PRAGMA incremental_vacuum").fetchall()
        return gone

    def close(self) -> None:
        """Close the file. May be called twice; a later use opens it again."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    @contextmanager
    def _use(self) -> Generator[Connection, None, None]:
        """The connection, inside one transaction."""
        with self._lock:
            try:
                db = self._db = self._db or self._open()
                db.execute("BEGIN IMMEDIATE")
                try:
                    yield db
                    db.execute("COMMIT")
                finally:
                    if db.in_transaction:
                        db.execute("ROLLBACK")
            except sqlite3.Error as error:
                if is_damage(error):
                    self._repair()
                raise explain_error(error, self.path) from error
            except OSError as error:
                raise StorageError(f"{self.path} cannot be opened ({error.strerror}).") from error

    def _open(self) -> Connection:
        try:
            return self._connected()
        except sqlite3.Error as error:
            if not is_damage(error):
                raise
        self._repair()
        return self._connected()

    def _repair(self) -> None:
        """Keep what can be read; the next use opens the file again. Raises StorageError."""
        from studio.storage.recovery.repair import Contents, repair

        if self._db is not None:
            self._db.close()
            self._db = None

        def build(db: Connection, version: int | None) -> None:
            db.executescript(_SHAPE)

        contents = Contents(build, "undo records")
        repair(self.path, contents, lambda: not is_sound(self.path))

    def _connected(self) -> Connection:
        private_folder(self.path.parent)
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        db = sqlite3.connect(
            self.path,
            timeout=BUSY_TIMEOUT_MS / 1000,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            db.execute("PRAGMA foreign_keys = ON")
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("PRAGMA secure_delete = FAST")
            db.executescript(_SHAPE)
        except BaseException:
            db.close()
            raise
        return db


def _holds(db: Connection, digest: str) -> bool:
    return db.execute("SELECT 1 FROM content WHERE digest = ?", (digest,)).fetchone() is not None


def _packed(data: bytes) -> tuple[bool, bytes]:
    if len(data) >= _PACKED_FROM:
        small = zlib.compress(data, 1)
        if len(small) < len(data) * 0.9:
            return True, small
    return False, data
