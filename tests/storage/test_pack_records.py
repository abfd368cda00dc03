"""The database of a pack: numbered steps, copies, and what its SQL may not do (X-6)."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from subprocess import PIPE

import pytest

from studio.domain.errors import StorageError, ToolFailed
from studio.files.file_lock import exclusive_access
from studio.storage.pack_records import PackRecords
from studio.storage.pack_steps import Step, read_steps

FIRST = """-- Deeds; and who they are about.
CREATE TABLE deed (id INTEGER PRIMARY KEY, title TEXT NOT NULL, cents INTEGER);
CREATE TRIGGER trim_title AFTER INSERT ON deed BEGIN
  UPDATE deed SET title = trim(title) WHERE id = new.id;
END;
INSERT INTO deed (title) VALUES ('a; b');
CREATE VIRTUAL TABLE words USING fts5(title)
"""


def records(path: Path, *steps: str) -> PackRecords:
    made = [Step(number, f"{number:03}.sql", sql) for number, sql in enumerate(steps, 1)]
    return PackRecords(path, made, "office")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "office" / "records.db"


def test_steps_make_tables_and_rows_are_kept(path: Path) -> None:
    with closing(records(path, FIRST)) as db:
        assert db.write("INSERT INTO deed (title, cents) VALUES (?, ?)", " Sale ", 1250) == 2
        assert db.write("UPDATE deed SET cents = 1") == 2
        assert db.read("SELECT id, title FROM deed WHERE cents = ?", 1) == [
            {"id": 1, "title": "a; b"},
            {"id": 2, "title": "Sale"},
        ]
        db.write("INSERT INTO words (title) VALUES ('contract of sale')")
        assert db.read("SELECT title FROM words WHERE words MATCH 'sale'")
        assert db.check() == ""
    with closing(records(path, FIRST)) as db:
        assert len(db.read("SELECT * FROM deed")) == 2


def test_a_new_step_runs_after_a_copy_and_a_failed_one_changes_nothing(path: Path) -> None:
    with closing(records(path, FIRST)) as db:
        db.read("SELECT 1")
    bad = "ALTER TABLE deed ADD COLUMN day TEXT; INSERT INTO nowhere VALUES (1);"
    with closing(records(path, FIRST, bad)) as db, pytest.raises(StorageError, match=r"002\.sql"):
        db.read("SELECT 1")
    with closing(records(path, FIRST)) as db:
        assert "day" not in db.read("SELECT * FROM deed")[0]
    with closing(records(path, FIRST, bad.split(";")[0])) as db:
        assert "day" in db.read("SELECT * FROM deed")[0]
    with closing(sqlite3.connect(path.with_name("records.db.before-2"))) as copy:
        assert copy.execute("SELECT * FROM deed").fetchone() == (1, "a; b", None)
    with closing(records(path, FIRST)) as db, pytest.raises(StorageError, match="newer version"):
        db.read("SELECT 1")


FORBIDDEN = (
    "ATTACH '{other}' AS other",
    "SELECT load_extension('x')",
    "PRAGMA writable_schema = ON",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA user_version = 9",
    "VACUUM INTO '{other}'",
    "COMMIT",
    "SAVEPOINT a",
    "DETACH main",
    "CREATE VIRTUAL TABLE x USING dbstat",
)


@pytest.mark.parametrize("sql", FORBIDDEN)
def test_no_sql_of_a_pack_leaves_its_file(path: Path, tmp_path: Path, sql: str) -> None:
    other = tmp_path / "other.db"
    sql = sql.format(other=other)
    with closing(records(path, FIRST)) as db:
        for run in (db.read, db.write):
            with pytest.raises(ToolFailed):
                run(sql)
        assert len(db.read("SELECT * FROM deed")) == 1
    with closing(records(path, FIRST, sql)) as db, pytest.raises(StorageError):
        db.read("SELECT 1")
    assert not other.exists()


def test_a_query_changes_nothing_and_a_change_keeps_the_tables(path: Path) -> None:
    with closing(records(path, FIRST)) as db:
        with pytest.raises(ToolFailed, match="may not change anything"):
            db.read("DELETE FROM deed")
        with pytest.raises(ToolFailed):
            db.write("DROP TABLE deed")
        with pytest.raises(ToolFailed, match="no such table"):
            db.read("SELECT * FROM nowhere")
        with pytest.raises(ToolFailed, match="NOT NULL"):
            db.write("INSERT INTO deed (title) VALUES (?)", None)
        assert len(db.read("SELECT * FROM deed")) == 1
        assert db.write("INSERT INTO deed (title) VALUES ('after')") == 2


def test_steps_are_numbered_without_gaps(tmp_path: Path) -> None:
    for name in ("002_b.sql", "001_a.sql", "010_c.sql"):
        (tmp_path / name).write_text(f"-- {name}")
    files = sorted(tmp_path.iterdir())
    with pytest.raises(StorageError, match="step 3 is missing"):
        read_steps(files)
    assert [one.name for one in read_steps(files[:2])] == ["001_a.sql", "002_b.sql"]
    (tmp_path / "first.sql").write_text("")
    with pytest.raises(StorageError, match="begins with its number"):
        read_steps([tmp_path / "first.sql"])


UPDATE = """
import sys
from pathlib import Path
from studio.storage.pack_records import PackRecords
from studio.storage.pack_steps import Step
first, second = (Step(n, f"{n}.sql", sql) for n, sql in enumerate(sys.argv[2:], 1))
sys.stdout.write("ready")
sys.stdout.flush()
sys.stdin.read()
PackRecords(Path(sys.argv[1]), [first, second], "office").read("SELECT 1")
"""


def test_programs_that_open_an_updated_pack_at_once_do_not_disturb_each_other(path: Path) -> None:
    """X-6: each finds the new tables, and the copy is of the old ones."""
    with closing(records(path, FIRST)) as db:
        db.read("SELECT 1")
    slow = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 50000) "
    second = f"CREATE TABLE many AS {slow} SELECT i FROM n; DROP TABLE deed;"
    words = [sys.executable, "-c", UPDATE, str(path), FIRST, second]
    begun = [
        subprocess.Popen(words, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True) for _ in range(4)
    ]
    for one in begun:
        assert one.stdout is not None and one.stdout.read(5) == "ready"
    for one in begun:
        assert one.stdin is not None
        one.stdin.close()
        one.stdin = None
    told = [one.communicate(timeout=100)[1] for one in begun]
    assert [one.returncode for one in begun] == [0, 0, 0, 0], told
    with closing(sqlite3.connect(path.with_name("records.db.before-2"))) as copy:
        assert copy.execute("SELECT count(*) FROM deed").fetchone() == (1,)


def test_kz44_nobody_opens_what_another_program_is_about_to_exchange(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To encrypt a large file takes longer than a program waits: its writes would be lost."""
    with closing(records(path, FIRST)) as db:
        db.read("SELECT 1")
    incoming = path.with_name("records.db.exchanged")
    incoming.write_bytes(b"all of it")
    monkeypatch.setattr("studio.files.file_lock.LOCK_TIMEOUT", 0.0)
    with exclusive_access(path), closing(records(path, FIRST)) as db:
        with pytest.raises(StorageError, match="Another program has"):
            db.write("INSERT INTO deed (title) VALUES ('lost')")
        assert incoming.exists(), "the other program puts it in place"
    with closing(records(path, FIRST)) as db:
        assert len(db.read("SELECT * FROM deed")) == 1 and not incoming.exists()


def test_what_is_written_together_is_kept_as_a_whole_whatever_fails_in_it(path: Path) -> None:
    """X-6: a value without room, a row that refers to none, and SQL that undoes the whole."""
    tables = (
        "CREATE TABLE a (id INTEGER PRIMARY KEY);"
        "CREATE TABLE b (a INTEGER REFERENCES a (id) DEFERRABLE INITIALLY DEFERRED);"
    )
    insert = "INSERT INTO a VALUES (?)"
    with closing(records(path, tables)) as db:
        with db.together():
            db.write(insert, 1)
            for wrong in (10**30, "\ud800"):
                with pytest.raises(ToolFailed):
                    db.write(insert, wrong)
            db.write(insert, 2)
        with pytest.raises(ToolFailed), db.together():
            db.write(insert, 3)
            db.write("INSERT INTO b VALUES (7)")
        with pytest.raises(ToolFailed):
            db.write("INSERT INTO b VALUES (7)")
        with pytest.raises(ToolFailed, match="undid"), db.together():
            db.write(insert, 4)
            with suppress(ToolFailed):
                db.write("INSERT OR ROLLBACK INTO a VALUES (1)")
            db.write(insert, 5)
        assert [row["id"] for row in db.read("SELECT id FROM a UNION SELECT a FROM b")] == [1, 2]


def test_sql_without_an_end_is_ended(path: Path) -> None:
    """X-6: a view of a pack cannot hold up the program."""
    rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    with closing(records(path, f"CREATE VIEW v AS {rows} SELECT count(*) AS n FROM n")) as db:
        db.seconds = 0.1
        with pytest.raises(ToolFailed, match="took too long"):
            db.read("SELECT * FROM v")
        with pytest.raises(ToolFailed, match="too big"):
            db.read("SELECT zeroblob(900000000)")
        assert db.read("SELECT 1 AS one") == [{"one": 1}]


SPLIT = """
import json

def step(records):
    records.write("ALTER TABLE deed ADD COLUMN words TEXT")
    for row in records.read("SELECT id, title FROM deed"):
        records.write("UPDATE deed SET words = ? WHERE id = ?", json.dumps(row), row["id"])
"""


def in_python(path: Path, code: str, **more: str) -> PackRecords:
    steps = [Step(1, "001.sql", FIRST), Step(2, "002_split.py", code=code, **more)]
    return PackRecords(path, steps, "office")


def test_kz4_a_step_in_python_is_one_of_the_others(path: Path) -> None:
    """KZ-4: after a copy, once, in the transaction of all that are new."""
    with closing(records(path, FIRST)) as db:
        db.read("SELECT 1")
    for _ in range(2):
        with closing(in_python(path, SPLIT)) as db:
            (row,) = db.read("SELECT title, words FROM deed")
            assert row == {"title": "a; b", "words": '{"id": 1, "title": "a; b"}'}
    with closing(sqlite3.connect(path.with_name("records.db.before-2"))) as copy:
        assert len(copy.execute("SELECT * FROM deed").fetchone()) == 3
    with closing(records(path, FIRST)) as db, pytest.raises(StorageError, match="newer version"):
        db.read("SELECT 1")


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (f"{SPLIT}    1 / 0\n", "line 8: ZeroDivisionError"),
        (f"{SPLIT}    records.write('INSERT INTO nowhere VALUES (1)')\n", "line 8: no such table"),
        (f"{SPLIT}    records.write('COMMIT')\n", "line 8: a pack's SQL may not"),
        (f"{SPLIT}    raise SystemExit(3)\n", "line 8: SystemExit: 3"),
        ("def step(records:\n", "line 1: SyntaxError"),
        ("x = 1\n", "line 0: KeyError: 'step'"),
        (
            f'{SPLIT}    try:\n        records.write("INSERT OR ROLLBACK INTO deed (id) VALUES (1)")\n'
            "    except Exception:\n        pass\n    records.write('DELETE FROM deed')\n",
            "undid all",
        ),
    ],
)
def test_kz4_a_step_in_python_that_fails_changes_nothing(path: Path, code: str, why: str) -> None:
    """KZ-4: the person reads which line, and a mended step runs later."""
    with closing(records(path, FIRST)) as db:
        db.read("SELECT 1")
    with closing(in_python(path, code)) as db, pytest.raises(StorageError, match=why) as told:
        db.read("SELECT 1")
    assert "nothing was changed" in str(told.value)
    with closing(records(path, FIRST)) as db:
        assert db.read("SELECT * FROM deed") == [{"id": 1, "title": "a; b", "cents": None}]
    with closing(in_python(path, SPLIT)) as db:
        assert db.read("SELECT words FROM deed")


def test_kz4_a_step_in_python_runs_where_the_packs_python_may(tmp_path: Path, path: Path) -> None:
    """KZ-4: elsewhere it is refused while it is new, and a database that has it opens."""
    for name, text in (("001_deeds.sql", FIRST), ("002_split.py", SPLIT)):
        (tmp_path / name).write_text(text)
    files = [*tmp_path.glob("00*")]
    with (
        closing(PackRecords(path, read_steps(files), "office")) as db,
        pytest.raises(StorageError, match="does not run in the program"),
    ):
        db.read("SELECT 1")
    for python in (True, False):
        with closing(PackRecords(path, read_steps(files, python=python), "office")) as db:
            assert db.read("SELECT words FROM deed")
