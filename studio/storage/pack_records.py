"""Pack records: the database of one pack, whose tables are made by the pack's numbered steps (X-6).

A pack's SQL reaches this file alone: it attaches no other, loads no extension and sets no pragma.
Before its tables change a copy is made; the steps that are new run in one transaction. A database
that a newer version of the pack made is refused. One that is encrypted is opened by SQLCipher with
the key in the keychain (KZ-44).
"""

from __future__ import annotations

import hmac
import itertools
import os
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Any, Literal

from studio.domain.errors import StorageError, ToolFailed
from studio.domain.extensions import Value
from studio.files.file_lock import exclusive_access
from studio.files.folders import private_folder
from studio.files.sealed_file import SealedReader, Unsealable

from .pack_key import ENGLISH, KeyWords, PackKeys, cipher, errors, is_encrypted, new_key, unlock
from .pack_steps import Step, StepFailed, run_step

MOST_ROWS = 100_000
"""Rows of one answer."""
MOST_LENGTH = 100_000_000
"""Bytes of one value."""
BUSY_SECONDS = 5.0
QUERY_SECONDS = 30.0
STEP_SECONDS = 300.0
"""What one statement of a step has."""
_FILES = b"files of the pack"
_INSTRUCTIONS = 100_000
"""How many of SQLite's it takes to look at the time again."""
_UNFIT = (OverflowError, ValueError)
"""What numbers and texts raise that SQLite cannot keep."""
_REFUSED = frozenset({sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH})
_OURS = frozenset({sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT})
"""What the studio alone does: a pack's SQL is always within a transaction."""
_PRAGMAS = {"data_version"}
"""What full-text search asks for itself."""
_FUNCTIONS = {"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"}
_MODULES = {"fts5", "fts5vocab", "rtree"}


class PackRecords:
    """The database of one pack, opened with the first use. It blocks; any thread may call."""

    def __init__(
        self,
        path: Path,
        steps: Sequence[Step],
        pack: str,
        keys: PackKeys | None = None,
        words: KeyWords = ENGLISH,
    ) -> None:
        """``words`` are for people about the key, in the pack's language."""
        self.path = path
        self.words = words
        self._keys = keys or PackKeys()
        self._key = ""
        self._steps = steps
        self._pack = pack
        self._db: sqlite3.Connection | None = None
        self._lock = RLock()
        self._together = False
        self.seconds = QUERY_SECONDS
        """What one query or change has."""

    def read(self, sql: str, *values: Value) -> list[dict[str, Value]]:
        """The rows that a query finds; raises ToolFailed where it is wrong or changes something."""
        with self._lock:
            db = self._opened()
            try:
                with _limited(db, self.seconds):
                    db.set_authorizer(_reads)
                    cursor = db.execute(sql, values)
                    names = [one[0] for one in cursor.description or ()]
                    rows = cursor.fetchmany(MOST_ROWS + 1)
            except (*errors(), *_UNFIT) as error:
                raise self._wrong(error) from error
            if len(rows) > MOST_ROWS:
                raise ToolFailed(f"The query finds more than {MOST_ROWS:,} rows. Add a LIMIT.")
            return [dict(zip(names, row, strict=True)) for row in rows]

    def write(self, sql: str, *values: Value) -> int:
        """Change rows; returns the id of the row that was added, or how many were changed.

        All of it happens, or nothing.
        """
        with self.together():
            db = self._opened()
            self._require_begun(db)
            try:
                with _limited(db, self.seconds):
                    db.set_authorizer(_writes)
                    cursor = db.execute(sql, values)
                    cursor.fetchall()
            except (*errors(), *_UNFIT) as error:
                raise self._wrong(error) from error
            added = sql.lstrip()[:6].upper() in ("INSERT", "REPLAC")
            return (cursor.lastrowid if added else cursor.rowcount) or 0

    @contextmanager
    def together(self) -> Generator[None]:
        """What is written inside is kept as a whole, or not at all."""
        with self._lock:
            db = self._opened()
            if self._together:  # within another one, which decides
                yield
                return
            try:
                db.execute("BEGIN IMMEDIATE")
            except errors() as error:
                raise self._wrong(error) from error
            self._together = True
            try:
                yield
                self._commit(db)
            except BaseException:
                self._undo(db)
                raise
            finally:
                self._together = False

    def _commit(self, db: sqlite3.Connection) -> None:
        self._require_begun(db)
        try:
            db.execute("COMMIT")
        except errors() as error:  # a row that refers to none, or a full disk
            raise self._wrong(error) from error

    def _require_begun(self, db: sqlite3.Connection) -> None:
        """Raise ToolFailed if a statement undid the whole, such as INSERT OR ROLLBACK."""
        if not db.in_transaction:
            raise ToolFailed(
                f"The records of {self._pack}: a statement undid all that was written together."
            )

    def copy(self, target: Path) -> None:
        """A whole copy in a new file, as all was at one moment, while others go on writing."""
        with self._lock:
            self._opened()
        try:
            with (
                closing(self._connect(self.path)) as now,
                closing(self._connect(target, "rwc")) as copy,
            ):
                now.backup(copy)
            target.chmod(0o600)
        except (OSError, *errors()) as error:
            raise self._wrong(error) from error

    def replace(self, source: Path) -> None:
        """Have all that such a copy has, and nothing else; what was here is kept beside the file.

        Raises ToolFailed for a file that is no such copy, or of a newer version."""
        with self._lock:
            if self._together:
                raise ToolFailed(f"The records of {self._pack} are being changed.")
            db = self._opened()
            fitting = source
            try:
                fitting = self._as_here(source)
                with closing(self._connect(fitting, "ro")) as copy:
                    version: int = copy.execute("PRAGMA user_version").fetchone()[0]
                    if not 0 < version <= len(self._steps):
                        raise ToolFailed(
                            f"{source.name} is no copy of the records of {self._pack}, or of a "
                            f"newer version: it has {version} steps of {len(self._steps)}."
                        )
                    found = copy.execute("PRAGMA quick_check(1)").fetchall()
                    if found != [("ok",)]:
                        raise ToolFailed(f"{source.name} is damaged: {found[0][0]}.")
                    self._copy(0, self._free_ending())
                    copy.backup(db)
                self._migrate(db)
            except (OSError, *errors()) as error:
                raise self._wrong(error) from error
            finally:
                if fitting != source:
                    fitting.unlink(missing_ok=True)

    def _as_here(self, source: Path) -> Path:
        """A copy that is encrypted if these records are; raises ToolFailed where it cannot be."""
        if is_encrypted(source) == bool(self._key):
            return source
        if not self._key:
            told = self.words.other_copy.format(file=source.name, pack=self._pack)
            raise ToolFailed(told)
        target = self.path.with_name(f"{self.path.name}.incoming")
        self._rewrite(source, "", target, self._key)
        return target

    # Encryption

    @property
    def is_encrypted(self) -> bool:
        return is_encrypted(self.path)

    def encrypt(self, sealed: Iterable[Path] = (), *, anew: bool = False) -> str:
        """Encrypt the file with the key in the keychain, or a new one there; returns the key.

        No new key is made, but ``anew``, where an earlier one encrypted a copy, or ``sealed`` these
        files: the person has it on a sheet. Raises StorageError or ConfigurationError, and nothing
        is changed then. Copies beside the file stay as they are.
        """
        if not (anew or self.is_encrypted or self._keys.read(self._pack)):
            for closed, _ in self._closed(sealed):
                told = self.words.old_key.format(file=closed, pack=self._pack)
                raise StorageError(told)
        return self._exchange(encrypt=True)

    def decrypt(self) -> None:
        """Have the file as any program reads it again; the key stays in the keychain."""
        self._exchange(encrypt=False)

    def key(self) -> str:
        """The key of the file, which opens it; raises StorageError."""
        with self._lock:
            self._opened()
            if not self._key:
                raise StorageError(f"{self.path} is not encrypted.")
            return self._key

    def file_key(self, *, opening: bool = False) -> bytes | None:
        """A key for files of the pack, made of that of the records; see ``Records``."""
        with self._lock:
            self._opened()
            key = self._key or (self._keys.read(self._pack) if opening else "")
        return _file_key(key) if key else None

    def take_key(self, key: str, sealed: Iterable[Path] = ()) -> None:
        """Keep a key that a person typed; raises StorageError for one that opens nothing here.

        Where the records are not encrypted, that is a copy of them, or one of ``sealed``.
        """
        closed = [(self.path, self._unlock)] if self.is_encrypted else [*self._closed(sealed)]
        if closed and not any(_opens(open_it, one, key) for one, open_it in closed):
            raise StorageError(self.words.wrong.format(file=closed[0][0]))
        self._keys.keep(self._pack, key)

    def _closed(
        self, sealed: Iterable[Path]
    ) -> Iterator[tuple[Path, Callable[[Path, str], object]]]:
        """What needs a key, and what opens it: encrypted copies of the records, sealed files."""
        copies = sorted(self.path.parent.glob(f"{self.path.name}.before-*"))
        yield from ((one, self._unlock) for one in filter(is_encrypted, copies))
        yield from ((one, _unseal) for one in sealed)

    def _unlock(self, path: Path, key: str) -> None:
        with closing(cipher(self.words, path).connect(path)) as db:
            unlock(db, key, self.words, path)

    def _exchange(self, *, encrypt: bool) -> str:
        """Put a file with another key in the place of this one, while nobody else has it open.

        Returns the key.
        """
        with self._lock:
            if self._together:
                raise ToolFailed(f"The records of {self._pack} are being changed.")
            self._opened()  # in the newest form, and with the right key
            if bool(self._key) == encrypt:
                raise StorageError(f"{self.path} is as it shall be already.")
            self.close()
            target = self._exchanged
            try:
                with self._alone():
                    with closing(self._connect(self.path)) as db:
                        # Refused while anybody else has it open. Asked of the library that they
                        # have: two of them in one program do not see each other's locks.
                        db.execute("PRAGMA journal_mode = DELETE")
                    after = self._made_key() if encrypt else ""
                    self._rewrite(self.path, self._key, target, after, alone=True)
                    with target.open("rb+") as file:
                        os.fsync(file.fileno())
                    target.replace(self.path)
                return after
            except errors() as error:
                if "locked" in str(error):
                    raise StorageError(self.words.in_use.format(file=self.path)) from error
                raise StorageError(f"{self.path}: {error}.") from error
            except OSError as error:
                raise StorageError(f"{self.path}: {error}.") from error
            finally:
                target.unlink(missing_ok=True)

    def _rewrite(
        self, source: Path, before: str, target: Path, after: str, *, alone: bool = False
    ) -> None:
        """Write what a file has into a new one with another key, and look at that one."""
        module = cipher(self.words, self.path)
        target.unlink(missing_ok=True)
        target.touch(0o600)
        with closing(module.connect(source, isolation_level=None)) as db:
            if before:
                unlock(db, before, self.words, source)
            if alone:  # until it is closed
                db.execute("PRAGMA locking_mode = EXCLUSIVE")
                db.execute("BEGIN EXCLUSIVE")
                db.execute("COMMIT")
            version: int = db.execute("PRAGMA user_version").fetchone()[0]
            key = f"x'{after}'" if after else ""
            db.execute("ATTACH ? AS new KEY ?", (str(target), key))
            db.execute("SELECT sqlcipher_export('new')")
            db.execute(f"PRAGMA new.user_version = {version}")
            sql = "SELECT count(*) FROM {}.sqlite_master"
            many = [db.execute(sql.format(name)).fetchone() for name in ("main", "new")]
            found = db.execute("PRAGMA new.quick_check(1)").fetchall()
            if many[0] != many[1] or found != [("ok",)]:
                told = "tables are missing" if found == [("ok",)] else found[0][0]
                raise StorageError(f"{source} could not be copied: {told}.")

    @property
    def _exchanged(self) -> Path:
        """What is to take the place of the file."""
        return self.path.with_name(f"{self.path.name}.exchanged")

    def _made_key(self) -> str:
        """A key that the keychain has; raises KeychainUnavailable where it keeps none."""
        if (key := self._keys.read(self._pack)) is None:
            key = new_key()
            self._keys.keep(self._pack, key)
        return key

    def _read_key(self) -> str:
        """The key of the file; raises StorageError where there is none in the keychain."""
        if (key := self._keys.read(self._pack)) is None:
            told = self.words.no_key.format(file=self.path, pack=self._pack)
            raise StorageError(told)
        return key

    def _connect(self, path: Path, mode: Literal["ro", "rw", "rwc"] = "rw") -> Any:
        """Another connection, to this file or one with its key."""
        module = cipher(self.words, path) if self._key else sqlite3
        address = f"{path.absolute().as_uri()}?mode={mode}"
        db: Any = module.connect(address, uri=True, timeout=BUSY_SECONDS)
        if not self._key:
            return db
        try:
            unlock(db, self._key, self.words, path)
        except BaseException:
            db.close()
            raise
        return db

    def _free_ending(self) -> str:
        """The ending of a copy that writes over no earlier one."""
        names = (
            "before-copy" + (f"-{number}" if number > 1 else "") for number in itertools.count(1)
        )
        return next(
            one for one in names if not self.path.with_name(f"{self.path.name}.{one}").exists()
        )

    def check(self) -> str:
        """What is wrong with the file; empty if nothing is."""
        with self._lock:
            try:
                rows = self._opened().execute("PRAGMA quick_check(5)").fetchall()
            except (StorageError, *errors()) as error:
                return str(error)
            return "" if rows == [("ok",)] else "; ".join(str(row[0]) for row in rows)

    @contextmanager
    def _alone(self) -> Generator[None]:
        """Keep other programs from the file; raises StorageError where one of them has it long."""
        with exclusive_access(self.path) as alone:
            if not alone:  # it may be about to put another one in its place: writes would be lost
                raise StorageError(self.words.in_use.format(file=self.path))
            yield

    def close(self) -> None:
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def _opened(self) -> sqlite3.Connection:
        """Raises StorageError."""
        if self._db is not None:
            return self._db
        try:
            private_folder(self.path.parent)
            # SQLite does not wait for others here, and nobody puts another file in its place.
            with self._alone():
                db = self._begun()
                # Of a program that died while it made it: what is in it may be plain.
                self._exchanged.unlink(missing_ok=True)
        except (OSError, *errors()) as error:
            raise StorageError(f"{self.path} cannot be opened: {error}.") from error
        try:
            self._migrate(db)
        except (OSError, *errors()) as error:
            db.close()
            raise StorageError(f"{self.path}: {error}.") from error
        except BaseException:
            db.close()
            raise
        self._db = db
        return db

    def _begun(self) -> Any:
        """A connection that is set up for a pack's SQL."""
        before, encrypted = _place(self.path), is_encrypted(self.path)
        self._key = self._read_key() if encrypted else ""
        module = cipher(self.words, self.path) if encrypted else sqlite3
        db: Any = module.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            if encrypted:
                unlock(db, self._key, self.words, self.path)
            else:  # SQLCipher's module has no limits
                db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
                db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_LENGTH)
            db.execute("PRAGMA trusted_schema = OFF")
            db.execute("PRAGMA foreign_keys = ON")
            db.execute("PRAGMA journal_mode = WAL")
            if before not in (None, _place(self.path)):  # exchanged after all: writes would be lost
                raise StorageError(self.words.in_use.format(file=self.path))
        except BaseException:
            db.close()
            raise
        return db

    def _migrate(self, db: sqlite3.Connection) -> None:
        version: int = db.execute("PRAGMA user_version").fetchone()[0]
        self._check_version(version)
        if version == len(self._steps):
            return
        db.execute("BEGIN IMMEDIATE")  # another program may have been faster
        step = None

        def execute(sql: str, values: Sequence[Value]) -> tuple[Any, list[Any]]:
            self._require_begun(db)  # what comes after INSERT OR ROLLBACK could not be undone
            with _limited(db, STEP_SECONDS):
                db.set_authorizer(_builds)
                cursor = db.execute(sql, values)
                return cursor, cursor.fetchmany(MOST_ROWS)

        try:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            self._check_version(version)
            if 0 < version < len(self._steps):
                self._copy(version)
            for step in self._steps[version:]:
                run_step(step, execute)
            db.execute(f"PRAGMA user_version = {len(self._steps)}")
            db.execute("COMMIT")
        except (StepFailed, ToolFailed, *errors()) as error:
            self._undo(db)
            where = step.name if step else "the schema"
            raise StorageError(
                f"{where} of the pack {self._pack} failed, and nothing was changed: {_told(error)}."
            ) from error
        except BaseException:
            self._undo(db)
            raise

    def _check_version(self, version: int) -> None:
        if version > len(self._steps):
            raise StorageError(
                f"{self.path} was made by a newer version of the pack {self._pack}: it has "
                f"{version} steps, and this version knows {len(self._steps)}. Update the pack."
            )

    def _copy(self, version: int, ending: str = "") -> None:
        """A copy beside the file, as it was before its tables change; no other program writes.

        Through another connection: one that began to write cannot be copied from.
        """
        target = self.path.with_name(f"{self.path.name}.{ending or f'before-{version + 1}'}")
        unfinished = target.with_name(f"{target.name}.part")
        unfinished.unlink(missing_ok=True)
        with (
            closing(self._connect(self.path)) as now,
            closing(self._connect(unfinished, "rwc")) as copy,
        ):
            now.backup(copy)
        unfinished.chmod(0o600)
        unfinished.replace(target)

    def _undo(self, db: sqlite3.Connection) -> None:
        with suppress(*errors()):
            if db.in_transaction:
                db.execute("ROLLBACK")

    def _wrong(self, error: Exception) -> ToolFailed:
        return ToolFailed(f"The records of {self._pack}: {_told(error)}.")


def _file_key(key: str) -> bytes:
    return hmac.digest(bytes.fromhex(key), _FILES, "sha256")


def _unseal(path: Path, key: str) -> None:
    """Raises Unsealable where the beginning of a file has another key."""
    with path.open("rb") as file:
        SealedReader(file, _file_key(key)).read(1)


def _opens(open_it: Callable[[Path, str], object], path: Path, key: str) -> bool:
    try:
        open_it(path, key)
    except (StorageError, Unsealable, OSError):
        return False
    return True


def _place(path: Path) -> tuple[int, int] | None:
    """What tells a file from another at its path; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def _limited(db: sqlite3.Connection, seconds: float) -> Generator[None]:
    """Run a pack's SQL, which is ended after these seconds: it may have no end of its own."""
    end = time.monotonic() + seconds
    db.set_progress_handler(lambda: time.monotonic() > end, _INSTRUCTIONS)
    try:
        yield
    finally:
        db.set_authorizer(None)
        db.set_progress_handler(None, 0)


def _told(error: BaseException) -> str:
    if isinstance(error, StepFailed):
        why = _told(error.error) if isinstance(error.error, errors()) else str(error)
        return f"line {error.line}: {why}"
    if str(error) == "interrupted":
        return "it took too long, and was ended"
    if "not authorized" in str(error) or "prohibited" in str(error):
        return (
            "a pack's SQL may not attach files, load extensions, set pragmas or end transactions, "
            "and a query may not change anything"
        )
    return str(error)


def _allowed(action: int, first: str | None, second: str | None) -> bool:
    if action in _REFUSED or action in _OURS:
        return False
    if action == sqlite3.SQLITE_PRAGMA:
        return first in _PRAGMAS and not second
    if action == sqlite3.SQLITE_FUNCTION:
        return (second or "").lower() not in _FUNCTIONS
    if action == sqlite3.SQLITE_CREATE_VTABLE:
        return (second or "").lower() in _MODULES
    return True


_CHANGES = frozenset({sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE})
_SHAPES = frozenset(
    getattr(sqlite3, f"SQLITE_{verb}_{what}")
    for verb in ("CREATE", "DROP")
    for what in ("INDEX", "TABLE", "TRIGGER", "VIEW", "VTABLE")
) | {sqlite3.SQLITE_ALTER_TABLE, sqlite3.SQLITE_REINDEX}


def _builds(
    action: int, first: str | None, second: str | None, db: str | None, by: str | None
) -> int:
    return sqlite3.SQLITE_OK if _allowed(action, first, second) else sqlite3.SQLITE_DENY


def _writes(
    action: int, first: str | None, second: str | None, db: str | None, by: str | None
) -> int:
    """Changes rows; the shape of tables is changed by steps alone."""
    refused = action in _SHAPES or not _allowed(action, first, second)
    return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK


def _reads(
    action: int, first: str | None, second: str | None, db: str | None, by: str | None
) -> int:
    if action == sqlite3.SQLITE_UPDATE and first == "sqlite_master":
        return sqlite3.SQLITE_OK  # so full-text tables are opened; SQLite lets nobody change it
    refused = action in _SHAPES or action in _CHANGES or not _allowed(action, first, second)
    return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK
