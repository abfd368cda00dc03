"""Pack records: the database of one pack, whose tables are made by the pack's numbered SQL (X-6).

A pack's SQL reaches this file alone: it attaches no other, loads no extension and sets no pragma.
Before its tables change a copy is made; the steps that are new run in one transaction. A database
that a newer version of the pack made is refused.
"""

from __future__ import annotations

import itertools
import re
import sqlite3
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import RLock

from studio.domain.errors import StorageError, ToolFailed
from studio.domain.extensions import Value
from studio.domain.records import dataclass
from studio.files.file_lock import exclusive_access
from studio.files.folders import private_folder

MOST_ROWS = 100_000
"""Rows of one answer."""
MOST_LENGTH = 100_000_000
"""Bytes of one value."""
BUSY_SECONDS = 5.0
QUERY_SECONDS = 30.0
STEP_SECONDS = 300.0
"""What one statement of a step has."""
_INSTRUCTIONS = 100_000
"""How many of SQLite's it takes to look at the time again."""
_WRONG = (sqlite3.Error, sqlite3.Warning, OverflowError, ValueError)
"""What SQL or its values raise; the last two are for numbers and texts that SQLite cannot keep."""
_STEP = re.compile(r"(\d{1,6})[_-].*\.sql|(\d{1,6})\.sql", re.I)
_REFUSED = frozenset({sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH})
_OURS = frozenset({sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT})
"""What the studio alone does: a pack's SQL is always within a transaction."""
_PRAGMAS = {"data_version"}
"""What full-text search asks for itself."""
_FUNCTIONS = {"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"}
_MODULES = {"fts5", "fts5vocab", "rtree"}


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a schema, from a file such as ``002_prices.sql``."""

    number: int
    name: str
    sql: str


def read_steps(files: Sequence[Path]) -> list[Step]:
    """The steps in order, 1, 2, 3 …; raises StorageError that says what is wrong. Blocks."""
    steps: list[Step] = []
    for path in files:
        match = _STEP.fullmatch(path.name)
        if match is None:
            raise StorageError(f"{path.name}: the name of a step begins with its number: 001_x.sql")
        try:
            sql = path.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise StorageError(f"{path.name} cannot be read: {error}.") from error
        steps.append(Step(int(match[1] or match[2]), path.name, sql))
    steps.sort(key=lambda one: one.number)
    for wanted, step in enumerate(steps, 1):
        if step.number != wanted:
            raise StorageError(f"{step.name}: step {wanted} is missing, or a number is there twice")
    return steps


class PackRecords:
    """The database of one pack, opened with the first use. It blocks; any thread may call."""

    def __init__(self, path: Path, steps: Sequence[Step], pack: str) -> None:
        self.path = path
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
            except _WRONG as error:
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
            except _WRONG as error:
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
            except sqlite3.Error as error:
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
        except sqlite3.Error as error:  # a row that refers to none, or a full disk
            raise self._wrong(error) from error

    def _require_begun(self, db: sqlite3.Connection) -> None:
        """Raise ToolFailed if a statement undid the whole, such as INSERT OR ROLLBACK."""
        if not db.in_transaction:
            raise ToolFailed(
                f"The records of {self._pack}: a statement undid all that was written together."
            )

    def copy(self, target: Path) -> None:
        """A whole copy in a new file, as all was at one moment, while others go on writing."""
        self._opened()
        try:
            with (
                closing(sqlite3.connect(self.path, timeout=BUSY_SECONDS)) as now,
                closing(sqlite3.connect(target)) as copy,
            ):
                now.backup(copy)
            target.chmod(0o600)
        except (OSError, sqlite3.Error) as error:
            raise self._wrong(error) from error

    def replace(self, source: Path) -> None:
        """Have all that such a copy has, and nothing else; what was here is kept beside the file.

        Raises ToolFailed for a file that is no such copy, or of a newer version."""
        with self._lock:
            if self._together:
                raise ToolFailed(f"The records of {self._pack} are being changed.")
            db = self._opened()
            try:
                with closing(sqlite3.connect(f"{source.as_uri()}?mode=ro", uri=True)) as copy:
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
            except (OSError, sqlite3.Error) as error:
                raise self._wrong(error) from error

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
            except (StorageError, sqlite3.Error) as error:
                return str(error)
            return "" if rows == [("ok",)] else "; ".join(str(row[0]) for row in rows)

    def close(self) -> None:
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def _opened(self) -> sqlite3.Connection:
        """Raises StorageError."""
        if self._db is None:
            try:
                private_folder(self.path.parent)
                db = sqlite3.connect(
                    self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
                )
            except (OSError, sqlite3.Error) as error:
                raise StorageError(f"{self.path} cannot be opened: {error}.") from error
            try:
                db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
                db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_LENGTH)
                db.execute("PRAGMA trusted_schema = OFF")
                db.execute("PRAGMA foreign_keys = ON")
                with exclusive_access(self.path):  # SQLite does not wait for others here
                    db.execute("PRAGMA journal_mode = WAL")
                self._migrate(db)
            except (OSError, sqlite3.Error) as error:
                db.close()
                raise StorageError(f"{self.path}: {error}.") from error
            except BaseException:
                db.close()
                raise
            self._db = db
        return self._db

    def _migrate(self, db: sqlite3.Connection) -> None:
        version: int = db.execute("PRAGMA user_version").fetchone()[0]
        self._check_version(version)
        if version == len(self._steps):
            return
        db.execute("BEGIN IMMEDIATE")  # another program may have been faster
        step = None
        try:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            self._check_version(version)
            if 0 < version < len(self._steps):
                self._copy(version)
            for step in self._steps[version:]:
                for statement in _statements(step):
                    with _limited(db, STEP_SECONDS):
                        db.set_authorizer(_builds)
                        db.execute(statement)
            db.execute(f"PRAGMA user_version = {len(self._steps)}")
            db.execute("COMMIT")
        except (sqlite3.Error, sqlite3.Warning) as error:
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
            closing(sqlite3.connect(self.path, timeout=BUSY_SECONDS)) as now,
            closing(sqlite3.connect(unfinished)) as copy,
        ):
            now.backup(copy)
        unfinished.chmod(0o600)
        unfinished.replace(target)

    def _undo(self, db: sqlite3.Connection) -> None:
        with suppress(sqlite3.Error):
            if db.in_transaction:
                db.execute("ROLLBACK")

    def _wrong(self, error: Exception) -> ToolFailed:
        return ToolFailed(f"The records of {self._pack}: {_told(error)}.")


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


def _told(error: Exception) -> str:
    if str(error) == "interrupted":
        return "it took too long, and was ended"
    if "not authorized" in str(error) or "prohibited" in str(error):
        return (
            "a pack's SQL may not attach files, load extensions, set pragmas or end transactions, "
            "and a query may not change anything"
        )
    return str(error)


def _statements(step: Step) -> Iterator[str]:
    """The statements of a step, one by one: Python runs several only outside a transaction."""
    rest = ""
    for line in step.sql.splitlines(keepends=True):
        rest += line
        while (end := rest.find(";")) >= 0:
            cut = end
            while cut >= 0 and not sqlite3.complete_statement(rest[: cut + 1]):
                cut = rest.find(";", cut + 1)
            if cut < 0:
                break
            yield rest[: cut + 1]
            rest = rest[cut + 1 :]
    if _is_code(rest):
        yield rest


def _is_code(sql: str) -> bool:
    """Whether there is more in it than blanks and comments."""
    return bool(re.sub(r"--[^\n]*|/\*.*?\*/", "", sql, flags=re.S).strip())


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
