"""The database file in every state it can be found in."""

from __future__ import annotations

import asyncio
import errno
import os
import sqlite3
import stat
import subprocess
import sys
import textwrap
import threading
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection
from types import SimpleNamespace

import pytest

from studio.agent.loop.user_messages import describe_error
from studio.domain.errors import StorageError
from studio.domain.sessions import SessionInfo
from studio.storage.database import LOG_CHANGES, Database, explain_error
from studio.storage.migrations import LATEST, MIGRATIONS
from studio.storage.sessions.store import SessionStore
from support.waiting import HANG, until

ROOT = Path(__file__).parents[2]


def info(session_id: str, updated: float = 2.0) -> SessionInfo:
    return SessionInfo(session_id, "A chat", "/x", "Coder", "simulator", "m", "ask", 1.0, updated)


async def filled(path: Path, count: int = 50) -> None:
    db = Database(path, MIGRATIONS)
    await db.open()
    for number in range(count):
        await SessionStore(db).create(info(f"s{number}"))
    await db.close()


def beside(path: Path) -> list[str]:
    return sorted(p.name for p in path.parent.iterdir())


async def test_a_new_database_is_private_and_closes_without_leftovers(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "studio.db"
    await filled(path)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not any(name.endswith(("-wal", "-shm")) for name in beside(path))
    assert list((path.parent / "studio.db.open").iterdir()) == []

    db = Database(path, MIGRATIONS)
    await db.open()
    pragmas = ("user_version", "journal_mode", "foreign_keys", "synchronous")
    found = await db.write(
        lambda c: [c.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas]
    )
    assert found == [LATEST, "wal", 1, 1] and db.notice == ""
    await db.close()
    await db.close()
    with pytest.raises(StorageError, match="closed"):
        await db.read(lambda c: None)
    with pytest.raises(StorageError, match="closed"):
        await db.write(lambda c: None)


async def test_a_write_happens_whole_or_not_at_all(tmp_path: Path) -> None:
    db = Database(tmp_path / "s.db", MIGRATIONS)
    await db.open()

    def half(c: sqlite3.Connection) -> None:
        c.execute("INSERT INTO rules VALUES ('nobody', 'allow', 'run', '*')")

    def wrong(c: sqlite3.Connection) -> None:
        c.execute("DELETE FROM sessions")
        raise KeyError("mine")

    await SessionStore(db).create(info("s"))
    with pytest.raises(StorageError):
        await db.write(half)
    with pytest.raises(KeyError):
        await db.write(wrong)
    assert len(await SessionStore(db).all()) == 1
    with pytest.raises(StorageError):
        await db.read(lambda c: c.execute("DELETE FROM sessions"))
    assert len(await SessionStore(db).all()) == 1
    await db.close()


async def test_a_cancelled_caller_does_not_undo_a_write(tmp_path: Path) -> None:
    db = Database(tmp_path / "s.db", MIGRATIONS)
    await db.open()
    gate = threading.Event()

    def slow(c: sqlite3.Connection) -> None:
        gate.wait()
        c.execute(
            """INSERT INTO sessions (id, title, folder, agent, provider, model, permission_mode,
            created, updated, state, unread) VALUES ('s','','','','','','',1,1,'',0)"""
        )

    task = asyncio.create_task(db.write(slow))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.set()
    await db.close()
    db = Database(tmp_path / "s.db", MIGRATIONS)
    await db.open()
    assert await db.read(lambda c: c.execute("SELECT count(*) FROM sessions").fetchone()) == (1,)
    await db.close()


async def test_a_locked_file_is_waited_for_and_then_reported(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    await filled(path, 1)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    db = Database(path, MIGRATIONS, patience=0.2)
    with pytest.raises(StorageError, match="Another program is using"):
        await db.open()

    patient = Database(path, MIGRATIONS, patience=HANG)
    opening = asyncio.create_task(patient.open())
    ticks = 0
    while ticks < 20:  # the loop is free meanwhile
        await asyncio.sleep(0.005)
        ticks += 1
    assert not opening.done()
    other.execute("COMMIT")
    other.close()
    await opening
    await patient.close()


async def test_a_newer_version_is_refused_and_the_file_untouched(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    await filled(path)
    changed = sqlite3.connect(path)
    changed.execute(f"PRAGMA user_version = {LATEST + 6}")
    changed.close()
    before, names = path.read_bytes(), beside(path)
    with pytest.raises(StorageError, match=f"its format is {LATEST + 6}, this version knows"):
        await Database(path, MIGRATIONS).open()
    assert path.read_bytes() == before and beside(path) == names

    # The same where only the log beside the file knows of the newer version yet.
    newer = sqlite3.connect(tmp_path / "t.db", isolation_level=None)
    newer.execute("PRAGMA journal_mode = WAL")
    newer.execute(f"PRAGMA user_version = {LATEST + 1}")
    with pytest.raises(StorageError, match="newer version"):
        await Database(tmp_path / "t.db", MIGRATIONS).open()
    newer.close()


@pytest.mark.parametrize("how", ["text", "zeros"])
async def test_a_file_that_is_no_database_is_kept_and_a_new_one_begun(
    tmp_path: Path, how: str
) -> None:
    path = tmp_path / "s.db"
    bad = b"this is no database at all\n" * 100 if how == "text" else bytes(5000)
    path.write_bytes(bad)
    (tmp_path / "s.db-wal").write_bytes(b"left over")
    db = Database(path, MIGRATIONS)
    await db.open()
    store = SessionStore(db)
    assert await store.all() == []
    await store.create(info("new"))
    assert "Nothing in it could be read" in db.notice
    kept = [p for p in tmp_path.iterdir() if ".damaged-" in p.name]
    (main,) = [p for p in kept if not p.name.endswith("-wal")]
    assert main.read_bytes() == bad and str(main) in db.notice
    await db.close()

    db = Database(path, MIGRATIONS)
    await db.open()
    assert db.notice == "" and len(await SessionStore(db).all()) == 1
    await db.close()
    path.write_bytes(bad)
    await filled(path, 1)
    names = [p.name for p in tmp_path.iterdir() if p.suffix.startswith(".damaged")]
    assert len({n for n in names if not n.endswith("-wal")}) == 2, "nothing is overwritten"


async def test_damage_found_by_two_programs_at_once_is_repaired_once(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    path.write_bytes(b"nonsense" * 1000)
    databases = [Database(path, MIGRATIONS) for _ in range(6)]
    await asyncio.gather(*(db.open() for db in databases))
    await SessionStore(databases[0]).create(info("s"))
    for db in databases:
        assert len(await SessionStore(db).all()) == 1
    assert sum(bool(db.notice) for db in databases) == 1
    for db in databases:
        await db.close()


async def test_an_empty_file_and_many_at_once_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    path.touch()
    databases = [Database(path, MIGRATIONS) for _ in range(8)]
    await asyncio.gather(*(db.open() for db in databases))
    await asyncio.gather(
        *(SessionStore(db).create(info(f"s{n}")) for n, db in enumerate(databases))
    )
    assert len(await SessionStore(databases[3]).all()) == 8
    assert {db.notice for db in databases} == {""}
    for db in databases:
        await db.close()


def test_read_only_places_are_named(tmp_path: Path) -> None:
    """In a process without a superuser's rights, which no permission would stop."""
    script = """
    import asyncio, os, sqlite3, stat, sys, tempfile
    from pathlib import Path
    from studio.domain.errors import StorageError
    from studio.storage.database import Database
    from studio.storage.migrations import MIGRATIONS
    import studio.storage.read_only  # which nobody may read in the superuser's own folder
    async def attempt(path):
        db = Database(path, MIGRATIONS)
        try:
            await db.open()
            rows = await db.rows("SELECT count(*) FROM sessions")
            assert rows == [(0,)] and db.unwritable in db.notice
            await db.execute("DELETE FROM sessions")
        except StorageError as error:
            return str(error)
        finally:
            await db.close()
        return "opened"
    async def main():
        home = Path(tempfile.mkdtemp())
        try:
            home.chmod(0o755)
            file, folder = home / "file", home / "folder"
            file.mkdir(); folder.mkdir()
            db = Database(file / "s.db", MIGRATIONS); await db.open(); await db.close()
            (file / "s.db").chmod(0o444); file.chmod(0o555); folder.chmod(0o555)
            if os.geteuid() == 0: os.seteuid(65534)
            print(await attempt(file / "s.db"))
            print(await attempt(folder / "s.db"))
            print(await attempt(folder / "sub" / "s.db"))
        finally:
            os.seteuid(os.getuid())
            for path in (file, folder): path.chmod(0o755)
            import shutil; shutil.rmtree(home)
    asyncio.run(main())
    """
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=HANG,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    for line in lines:
        assert "s.db" in line and "Allow writing to the file and its folder." in line


async def test_a_folder_in_place_of_the_file_is_an_error_not_a_crash(tmp_path: Path) -> None:
    (tmp_path / "s.db").mkdir()
    with pytest.raises(StorageError, match="cannot be opened"):
        await Database(tmp_path / "s.db", MIGRATIONS).open()
    (tmp_path / "f").write_text("")
    with pytest.raises(StorageError, match="cannot be opened"):
        await Database(tmp_path / "f" / "s.db", MIGRATIONS).open()


def _contacts(db: Connection) -> None:
    db.execute("CREATE TABLE contacts (name TEXT PRIMARY KEY, mail TEXT NOT NULL)")


def _phone(db: Connection) -> None:
    db.execute("ALTER TABLE contacts ADD COLUMN phone TEXT NOT NULL DEFAULT ''")


async def test_a_pack_has_a_file_of_its_own_with_its_own_steps(tmp_path: Path) -> None:
    path = tmp_path / "contacts.db"
    first = Database(path, [_contacts], contents="contacts")
    await first.open()
    await first.write(lambda db: db.execute("INSERT INTO contacts VALUES ('Ada', 'a@x')") and None)
    await first.close()

    second = Database(path, [_contacts, _phone], contents="contacts")
    await second.open()
    rows = await second.read(lambda db: db.execute("SELECT * FROM contacts").fetchall())
    version = await second.read(lambda db: db.execute("PRAGMA user_version").fetchone())
    assert rows == [("Ada", "a@x", "")] and version == (2,)
    tables = await second.read(
        lambda db: db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    )
    assert tables == [("contacts",)]  # nothing of the program's own
    await second.close()

    with pytest.raises(StorageError, match="its format is 2, this version knows 1"):
        await Database(path, [_contacts]).open()
    path.write_bytes(b"no database" * 1000)
    third = Database(path, [_contacts], contents="contacts")
    await third.open()
    assert third.notice.startswith("The contacts were damaged.")
    await third.close()


async def test_an_index_that_differs_from_its_table_is_repaired(tmp_path: Path) -> None:
    """SQLite calls that a broken rule of the schema, not damage (H-5)."""
    path = tmp_path / "contacts.db"
    first = Database(path, [_contacts], contents="contacts")
    await first.open()
    await first.execute("INSERT INTO contacts VALUES ('Ada Lovelace', 'a@x')")
    with pytest.raises(StorageError, match="UNIQUE"):
        await first.execute("INSERT INTO contacts VALUES ('Ada Lovelace', 'b@x')")
    assert not first.notice
    await first.close()

    data = path.read_bytes()
    table = data.index(b"Ada Lovelacea@x")
    path.write_bytes(data[:table] + b"Bob" + data[table + 3 :])
    second = Database(path, [_contacts], contents="contacts")
    await second.open()
    await second.execute("INSERT INTO contacts VALUES ('Ada Lovelace', 'b@x')")
    rows = await second.rows("SELECT name, mail FROM contacts ORDER BY name")
    assert rows == [("Ada Lovelace", "b@x"), ("Bob Lovelace", "a@x")]
    await second.close()
    assert second.notice.startswith("The contacts were damaged.")


async def test_a_full_disk_is_called_that(tmp_path: Path) -> None:
    """Nothing is lost by it: what did not fit is not there, what follows is taken."""
    db = Database(tmp_path / "studio.db", MIGRATIONS)
    await db.open()
    store = SessionStore(db)
    await db.execute("CREATE TABLE filler (body TEXT)")
    pages = (await db.rows("PRAGMA page_count"))[0][0]
    await db.write(lambda one: one.execute(f"PRAGMA max_page_count = {pages}").fetchall())
    with pytest.raises(StorageError, match="The disk is full"):
        await db.execute("INSERT INTO filler VALUES (?)", "x" * 100_000)
    await db.write(lambda one: one.execute("PRAGMA max_page_count = 100000").fetchall())
    await store.create(info("s1"))
    assert [one.id for one in await store.all()] == ["s1"]
    await db.close()


async def test_a_disk_that_is_full_at_the_first_start_is_called_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: object, *more: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(StorageError, match="The disk is full"):
        await Database(tmp_path / "studio.db", MIGRATIONS).open()


@pytest.mark.parametrize(
    ("code", "full", "said"),
    [
        (sqlite3.SQLITE_FULL, False, "disk is full"),
        (sqlite3.SQLITE_IOERR, False, "disk reports an error"),
        (sqlite3.SQLITE_IOERR, True, "disk is full"),
        (sqlite3.SQLITE_CANTOPEN, False, "cannot be opened"),
        (sqlite3.SQLITE_CANTOPEN, True, "disk is full"),
        (sqlite3.SQLITE_READONLY, True, "cannot be written"),
    ],
)
def test_sqlites_words_for_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, full: bool, said: str
) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code
    if full:
        monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=4_096))
    assert said in str(explain_error(error, tmp_path / "studio.db"))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_file_that_no_longer_fits_is_no_fault_of_the_program(number: int) -> None:
    told = describe_error(OSError(number, os.strerror(number), "a.txt"))
    assert (told.fault, told.detail) == ("storage", "The disk is full. Free some space.")


async def test_what_was_deleted_is_not_in_a_compacted_file(tmp_path: Path) -> None:
    path = tmp_path / "studio.db"
    database = Database(path, MIGRATIONS, patience=0.2)
    await database.open()
    secret = "a word that nobody is to find"
    query = "INSERT INTO windows VALUES (?)"
    await database.write(
        lambda db: [db.execute(query, (f"{n} {secret} " * 500,)) for n in range(50)]
    )
    await database.execute("INSERT INTO windows VALUES ('stays')")
    await database.execute("DELETE FROM windows WHERE owner != 'stays'")
    await database.compact()
    files = [file.read_bytes() for file in tmp_path.glob("studio.db*") if file.is_file()]
    assert not any(secret.encode() in data for data in files)
    assert sum(map(len, files)) < 700_000
    assert await database.rows("SELECT owner FROM windows") == [("stays",)]
    await database.execute("INSERT INTO windows VALUES ('later')")  # it goes on

    other = sqlite3.connect(path)
    other.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(StorageError):
            await database.compact()
    finally:
        other.close()
    assert len(await database.rows("SELECT owner FROM windows")) == 2
    await database.close()


async def test_nobody_waits_until_the_log_is_brought_into_the_file(tmp_path: Path) -> None:
    """S-3: the disk is waited for between two jobs, not in the commit that an answer waits for."""
    path = tmp_path / "studio.db"
    db = Database(path, MIGRATIONS)
    await db.open()

    def brought_in(table: str) -> int:
        """Rows of a table in the file, without its log."""
        (tmp_path / "copy.db").write_bytes(path.read_bytes())
        with closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
            try:
                return copy.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            except sqlite3.DatabaseError:  # not there, or caught while it was written
                return 0

    def large(connection: Connection) -> None:
        connection.execute("CREATE TABLE large AS SELECT randomblob(6000000)")

    def many(connection: Connection) -> None:
        connection.execute("CREATE TABLE many (number)")
        connection.executemany("INSERT INTO many VALUES (?)", [(n,) for n in range(LOG_CHANGES)])

    await db.write(large)  # more than the log has at most where SQLite empties it
    assert not brought_in("large")
    await db.write(many)
    await until(lambda: brought_in("many") == LOG_CHANGES and brought_in("large") == 1)
    await db.close()


async def test_a_connection_that_is_gone_leaves_no_write_waiting(
    tmp_path: Path,
) -> None:
    """S-3: the database's thread goes on where its connection is gone, and each write is told."""
    db = Database(tmp_path / "studio.db", MIGRATIONS)
    await db.open()
    for work in (lambda connection: connection.close(), lambda connection: None):
        with pytest.raises(StorageError):
            await db.write(work)
    await db.close()
