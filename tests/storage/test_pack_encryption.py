"""The database of a pack that is encrypted: its key, copies, and what goes wrong (KZ-44)."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from studio.domain.errors import ConfigurationError, StorageError, ToolFailed
from studio.files.sealed_file import SealedWriter
from studio.storage.config.keychain import Keychain, KeychainUnavailable, NoKeyringError
from studio.storage.pack_key import GERMAN, PackKeys, from_paper, is_encrypted, new_key, on_paper
from studio.storage.pack_records import PackRecords
from studio.storage.pack_steps import Step

pytest.importorskip("sqlcipher3", reason="the extra encryption is not installed")

FIRST = """CREATE TABLE deed (id INTEGER PRIMARY KEY, title TEXT NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(title, prefix = '2 3');
"""
SECRET = "Wagner gegen Holzbau"


class Drawer:
    """A keychain in memory, like one of a system."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get(username)

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[username]


class Forgetful(Drawer):
    """Says that it kept what it does not keep."""

    def set_password(self, service: str, username: str, password: str) -> None:
        pass


class Broken(Drawer):
    def set_password(self, service: str, username: str, password: str) -> None:
        raise NoKeyringError


def records(path: Path, drawer: Drawer, *more: str) -> PackRecords:
    steps = [Step(number, f"{number:03}.sql", sql) for number, sql in enumerate((FIRST, *more), 1)]
    keys = PackKeys(lambda: Keychain(backend=drawer))
    return PackRecords(path, steps, "office", keys, GERMAN)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "office" / "records.db"


def in_files(folder: Path) -> bool:
    """Whether a file in a folder shows the words."""
    return any(SECRET.encode() in one.read_bytes() for one in folder.iterdir())


def test_kz44_records_are_encrypted_and_used_as_before(path: Path) -> None:
    """All that reads and writes works; no file shows the words any more, also after new steps and
    copies; and any program reads them again once they are decrypted."""
    drawer = Drawer()
    with closing(records(path, drawer)) as db:
        db.write("INSERT INTO deed (title) VALUES (?)", SECRET)
        db.write("INSERT INTO words VALUES (?)", SECRET)
        db.close()
        assert in_files(path.parent) and not db.is_encrypted, "plain is the usual way"
        key = db.encrypt()
        assert drawer.kept == {"pack office": key} and db.is_encrypted
        assert db.read("SELECT title FROM words WHERE words MATCH 'wag*'") == [{"title": SECRET}]
        db.write("INSERT INTO deed (title) VALUES (?)", f"{SECRET} zwei")
        with pytest.raises(ToolFailed):
            db.read("DELETE FROM deed")
        with pytest.raises(ToolFailed):
            db.write("ATTACH 'x' AS x KEY ''")
        assert db.check() == "" and not in_files(path.parent)
        with pytest.raises(StorageError):
            db.encrypt()
    with closing(sqlite3.connect(path)) as plain, pytest.raises(sqlite3.DatabaseError):
        plain.execute("SELECT * FROM deed")
    with closing(records(path, drawer, "ALTER TABLE deed ADD COLUMN day TEXT")) as db:
        assert len(db.read("SELECT day FROM deed")) == 2
        assert path.with_name("records.db.before-2").exists() and not in_files(path.parent)
        db.decrypt()
        assert len(db.read("SELECT day FROM deed")) == 2 and not db.is_encrypted
    with closing(sqlite3.connect(path)) as plain:
        assert plain.execute("SELECT count(*) FROM deed").fetchone() == (2,)


def test_kz44_a_wrong_or_missing_key_is_told_in_german_and_changes_nothing(path: Path) -> None:
    """Until the right one is typed from the sheet, on which a slip is noticed."""
    drawer = Drawer()
    with closing(records(path, drawer)) as db:
        db.write("INSERT INTO deed (title) VALUES (?)", SECRET)
        key = db.encrypt()
    before = path.read_bytes()
    drawer.kept.clear()
    with closing(records(path, drawer)) as db:
        with pytest.raises(StorageError, match="nicht im Schlüsselbund"):
            db.read("SELECT 1")
        with pytest.raises(StorageError, match="nicht der Schlüssel"):
            db.take_key(new_key())
        with pytest.raises(StorageError, match="nicht im Schlüsselbund"):
            db.encrypt()
        assert not drawer.kept, "a new key would look like that of the file"
        drawer.kept["pack office"] = new_key()
        with pytest.raises(StorageError, match="nicht der Schlüssel"):
            db.read("SELECT 1")
        assert path.read_bytes() == before
        sheet = on_paper(key)
        assert len(sheet.splitlines()) == 3 and key not in sheet
        for wrong in (sheet[:-1], "0" + sheet[1:], sheet.replace(sheet[0], "g"), ""):
            if wrong != sheet:
                with pytest.raises(ValueError, match="no key"):
                    from_paper(wrong)
        db.take_key(from_paper(sheet.upper()))
        assert db.read("SELECT title FROM deed") == [{"title": SECRET}]
        assert db.key() == key


def test_kz44_no_new_key_is_made_where_an_earlier_one_is_in_use(path: Path, tmp_path: Path) -> None:
    """On another computer its sheet comes first; who lost it says so, and gets another."""
    drawer = Drawer()
    with closing(records(path, drawer)) as db:
        db.write("INSERT INTO deed (title) VALUES (?)", SECRET)
        key = db.encrypt()
        sealed = tmp_path / "deed.sealed"
        with sealed.open("wb") as file, SealedWriter(file, db.file_key() or b"") as writer:
            writer.write(b"of the deed")
        db.copy(path.with_name("records.db.before-2"))
        db.decrypt()
        drawer.kept.clear()
        for files, named in (((), "before-2"), ((sealed,), "deed.sealed")):
            with pytest.raises(StorageError, match="früheren Schlüssel") as told:
                db.encrypt(files)
            assert named in str(told.value) and "packs key office" in str(told.value)
            with pytest.raises(StorageError, match="nicht der Schlüssel"):
                db.take_key(new_key(), files)
            assert not drawer.kept and not db.is_encrypted
            db.take_key(key, files)
            assert db.encrypt(files) == key
            db.decrypt()
            drawer.kept.clear()
            path.with_name("records.db.before-2").unlink(missing_ok=True)
        drawer.kept["pack office"] = key
        with pytest.raises(StorageError, match="nicht der Schlüssel"):
            db.take_key(new_key(), (sealed,))
        assert drawer.kept["pack office"] == key, "it opens what is sealed"
        drawer.kept.clear()
        assert db.encrypt((sealed,), anew=True) != key and db.is_encrypted


def test_kz44_nothing_is_encrypted_without_a_keychain_or_beside_another_program(
    path: Path,
) -> None:
    """A key that is kept nowhere would lose all; what another program writes would be lost."""
    for broken in (Broken(), Forgetful()):
        with closing(records(path, broken)) as db:
            db.write("INSERT INTO deed (title) VALUES (?)", SECRET)
            with pytest.raises(KeychainUnavailable):
                db.encrypt()
            assert not db.is_encrypted and db.read("SELECT * FROM deed")
    drawer = Drawer()
    with closing(records(path, drawer)) as other, closing(records(path, drawer)) as db:
        other.read("SELECT 1")
        with pytest.raises(StorageError, match="anderes Programm"):
            db.encrypt()
        assert not is_encrypted(path)
        other.write("INSERT INTO deed (title) VALUES ('zwei')")
        other.close()
        db.encrypt()
        assert len(other.read("SELECT * FROM deed")) == 3, "with the key from the keychain"


def test_kz44_copies_go_back_into_encrypted_records(path: Path, tmp_path: Path) -> None:
    """An encrypted copy, and one from before, which is encrypted on its way; an encrypted one is
    refused where nothing is, with what to do."""
    drawer = Drawer()
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    with closing(records(path, drawer)) as db:
        db.write("INSERT INTO deed (title) VALUES (?)", SECRET)
        db.copy(old)
        db.encrypt()
        db.write("INSERT INTO deed (title) VALUES ('zwei')")
        db.copy(new)
        assert is_encrypted(new) and not is_encrypted(old)
        db.replace(old)
        assert len(db.read("SELECT * FROM deed")) == 1 and db.is_encrypted
        db.replace(new)
        assert len(db.read("SELECT * FROM deed")) == 2
        db.close()
        assert not in_files(path.parent)
        broken = tmp_path / "broken.db"
        broken.write_bytes(b"x" * 4096)
        with pytest.raises(StorageError, match="nicht der Schlüssel"):
            db.replace(broken)
        assert len(db.read("SELECT * FROM deed")) == 2
    elsewhere = tmp_path / "elsewhere" / "records.db"
    with closing(records(elsewhere, drawer)) as db:
        with pytest.raises(ToolFailed, match="verschlüsselte Kopie"):
            db.replace(new)
        db.encrypt()
        db.replace(new)
        assert len(db.read("SELECT * FROM deed")) == 2


KILLED = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from storage.test_pack_encryption import Drawer, records
from studio.storage import pack_records

at, count = int(sys.argv[2]), 0

def audit(event, arguments):
    global count
    if event in ("open", "os.rename", "os.remove", "sqlite3.connect") and began:
        count += 1
        if count == at:
            os._exit(9)

began = False
sys.addaudithook(audit)
drawer = Drawer()
drawer.kept["pack office"] = "ab" * 32
db = records(Path(sys.argv[1]), drawer)
db.write("INSERT INTO deed (title) VALUES (?)", sys.argv[5])
if sys.argv[4] == "decrypt":
    db.encrypt()
began = True
getattr(db, sys.argv[4])()
print("done", count)
"""


@pytest.mark.parametrize("change", ["encrypt", "decrypt"])
def test_kz44_a_program_that_dies_while_it_encrypts_loses_nothing(
    tmp_path: Path, change: str
) -> None:
    """At each file that it opens, renames or removes: the records are the old or the new ones; and
    beside encrypted ones no plain file is left when they are next used."""
    drawer = Drawer()
    drawer.kept["pack office"] = "ab" * 32
    tests = str(Path(__file__).parents[1])
    for at in range(1, 100):
        path = tmp_path / str(at) / "records.db"
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(path), str(at), tests, change, SECRET],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode in (0, 9), done.stderr
        with closing(records(path, drawer)) as db:
            assert db.read("SELECT title FROM deed") == [{"title": SECRET}]
            assert not (db.is_encrypted and in_files(path.parent))
            if not db.is_encrypted:
                db.encrypt()
        if done.returncode == 0:
            break
    assert done.returncode == 0 and at > 3


def test_kz44_without_the_library_it_is_said_what_to_install(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawer = Drawer()
    with closing(records(path, drawer)) as db:
        db.encrypt()
    monkeypatch.setitem(sys.modules, "sqlcipher3.dbapi2", None)
    with (
        closing(records(path, drawer)) as db,
        pytest.raises(ConfigurationError, match="sqlcipher3"),
    ):
        db.read("SELECT 1")
