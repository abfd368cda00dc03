"""A damaged database loses what was on the damaged page, and nothing else (H-5)."""

from __future__ import annotations

import asyncio
import shutil
import signal
import sqlite3
import textwrap
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from studio.agent.bootstrap import mend_sessions
from studio.domain import events as ev
from studio.domain.errors import StorageError
from studio.domain.messages import Text
from studio.domain.sessions import SessionInfo
from studio.storage.database import Database
from studio.storage.migrations import MIGRATIONS
from studio.storage.recovery.pages import PageFile, Tree
from studio.storage.sessions.store import SessionStore
from studio.storage.snapshots.blob_store import BlobStore, digest_of
from support.fork_server import start_python
from support.waiting import within

PAGE = 4096
CHATS, TURNS = 3, 12


def opened(path: Path) -> Database:
    return Database(path, MIGRATIONS, mend=mend_sessions)


def info(name: str) -> SessionInfo:
    return SessionInfo(name, f"Chat {name}", "/x", "Coder", "demo", "m", "ask", 1.0, 2.0)


async def fill(path: Path) -> None:
    db = opened(path)
    await db.open()
    store = SessionStore(db)
    for chat in range(CHATS):
        name = f"s{chat}"
        await store.create(info(name))
        journal = store.journal(name)
        for turn in range(TURNS):
            said = (Text(f"question {turn} of {name} 问题"),)
            turn_id = f"{name}-{turn}"
            journal.append(ev.TurnStarted(name, turn_id, said, "Coder", "demo", "m", "background"))
            journal.append(ev.StepStarted(1))
            journal.append(ev.TextDelta(f"answer {turn} " + "words " * 80))
            journal.append(ev.TurnComplete("done", steps=1))
        await journal.flush()
        items = [{"role": "user", "content": "x" * 200} for _ in range(10)]
        await store.begin_epoch(name, "demo", "chat", "m", "system", [], items)
    await store.close()
    await db.close()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "studio.db"
    asyncio.run(fill(path))
    return path


@pytest.fixture
def path(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(sound, tmp_path / "studio.db"))


def root_of(path: Path, name: str) -> int:
    with closing(sqlite3.connect(path)) as db:
        query = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        return int(db.execute(query, (name,)).fetchone()[0])


def leaves_of(path: Path, name: str) -> list[int]:
    """The pages that hold the rows of a table, or the entries of an index."""
    with PageFile(path) as pages:
        taken: set[int] = set()
        tree = Tree(pages, root_of(path, name), taken, lambda _: True)
        list(tree.rows() if not name.startswith("sqlite_auto") else tree.entries())
        return sorted(one for one in taken if pages.page(one)[0] in (10, 13))


def spoil(path: Path, page: int, content: bytes = b"\xa5" * PAGE, at: int = 0) -> None:
    data = bytearray(path.read_bytes())
    start = (page - 1) * PAGE + at
    data[start : start + len(content)] = content
    path.write_bytes(data)


def kept(path: Path) -> list[Path]:
    return sorted(one for one in path.parent.iterdir() if ".damaged-" in one.name)


def words(events: list[ev.Event]) -> list[str]:
    said = [
        part.text
        for event in events
        if isinstance(event, ev.TurnStarted)
        for part in event.said
        if isinstance(part, Text)
    ]
    return said + [event.text for event in events if isinstance(event, ev.TextDelta)]


def middle(path: Path, name: str) -> int:
    found = leaves_of(path, name)
    return found[len(found) // 2]


Harm = Callable[[Path], None]


def cut(path: Path) -> None:
    """End the file within the rows of a table."""
    end = middle(path, "transcript") * PAGE + 100
    path.write_bytes(path.read_bytes()[:end])


NOTHING_LOST: dict[str, Harm] = {
    "an index": lambda path: spoil(path, middle(path, "sqlite_autoindex_transcript_1")),
    "the first page of a table": lambda path: spoil(path, root_of(path, "transcript")),
    "the header": lambda path: spoil(path, 1, b"?" * 100),
    "the first page": lambda path: spoil(path, 1),
    "the list of free pages": lambda path: spoil(path, 1, b"\0\0\0\x09\0\0\0\x05", at=32),
    "words to search for": lambda path: spoil(path, middle(path, "words_data")),
    "characters to search for": lambda path: spoil(path, middle(path, "grams_data")),
    "turns": lambda path: spoil(path, middle(path, "turns")),
}


@pytest.mark.parametrize("harm", NOTHING_LOST)
async def test_what_other_pages_tell_is_not_lost(path: Path, sound: Path, harm: str) -> None:
    NOTHING_LOST[harm](path)
    before = path.read_bytes()
    db = opened(path)
    await db.open()
    store = SessionStore(db)
    assert {one.id for one in await store.all()} == {"s0", "s1", "s2"}
    for number in range(CHATS):
        found = words(await store.events(f"s{number}"))
        assert len(found) == 2 * TURNS and not await store.damage(f"s{number}")
        native = await store.native(f"s{number}")
        assert native is not None and not native.damage and len(native.items) == 10
    assert len(await store.search("question")) == CHATS == len(await store.search("问题"))
    turns = await db.rows("SELECT session_id, turn_id, reason FROM turns ORDER BY id")
    assert len(turns) == CHATS * TURNS and {reason for *_, reason in turns} == {"done"}
    await store.index_older()  # writes, which may change the file before a copy is made
    grams = await db.rows("SELECT rowid FROM grams WHERE grams MATCH '问题'")
    assert len(grams) == CHATS * TURNS
    await store.create(info("new"))  # takes from the list of free pages
    await db.write(lambda c: c.execute("CREATE TABLE more AS SELECT * FROM transcript") and None)
    await db.close()
    if "free" not in harm:  # met when something is written
        copies = [one.read_bytes() for one in kept(path)]
        assert copies == [before] or ("search" in harm and not copies)
    assert all(str(one) in db.notice for one in kept(path))


@pytest.mark.parametrize("place", [0, 1, -1])
async def test_a_page_of_a_chat_loses_its_entries_and_no_others(path: Path, place: int) -> None:
    pages = leaves_of(path, "transcript")
    spoil(path, pages[place])
    db = opened(path)
    await db.open()
    store = SessionStore(db)
    said: list[str] = []
    db.on_notice = said.append
    gaps = 0
    for number in range(CHATS):
        events = await store.events(f"s{number}")
        assert not await store.damage(f"s{number}")
        notes = [one.text for one in events if isinstance(one, ev.Notice)]
        gaps += len(notes)
        native = await store.native(f"s{number}")
        assert native is not None and native.events is not None
        # The history has all that was said; what stands in the gap is not to be said again.
        later = events[native.events :]
        assert not [one for one in later if isinstance(one, ev.TextDelta)]
        if not notes:
            assert len(words(events)) == 2 * TURNS
            continue
        assert "missing here" in notes[0]
        # What the person said is in the index for searching; every turn begins and ends.
        assert len([one for one in words(events) if one.startswith("question")]) == TURNS
        ends = [type(one) for one in events if isinstance(one, ev.TurnStarted | ev.TurnComplete)]
        assert ends == [ev.TurnStarted, ev.TurnComplete] * TURNS
        # What was lost may have been private, and a stranger's.
        assert {one.exposure for one in events if isinstance(one, ev.Exposed)} == {
            "private",
            "untrusted",
        }
    await asyncio.sleep(0)
    assert 1 <= gaps <= 2 and len(said) == 1
    assert (
        "missing in “Chat s" in said[0] and str(kept(path)[0]) in said[0] and db.notice == said[0]
    )
    await store.close()
    await db.close()
    again = opened(path)
    await again.open()
    assert again.notice == "" and await again.rows("PRAGMA integrity_check") == [("ok",)]
    await again.close()


async def test_a_lost_title_comes_back_and_a_deleted_chat_does_not(path: Path) -> None:
    db = opened(path)
    await db.open()
    await SessionStore(db).delete("s1")
    await db.close()
    spoil(path, root_of(path, "sessions"))
    db = opened(path)
    await db.open()
    infos = {one.id: one for one in await SessionStore(db).all()}
    assert {*infos} == {"s0", "s2"} and infos["s0"].title == "question 0 of s0 问题"
    assert Path(infos["s0"].folder).is_dir() and not list(Path(infos["s0"].folder).iterdir())
    assert "2 chats have lost" in db.notice
    await db.close()


async def test_a_chat_whose_id_was_damaged_is_found_again(path: Path) -> None:
    """Its index has another id than its row: SQLite sees no damage, and no query finds it."""
    whole = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
    db = opened(path)
    await db.open()
    store = SessionStore(db)
    await store.create(replace(info(whole), title="Named by hand"))
    journal = store.journal(whole)
    journal.append(ev.TurnStarted(whole, "t", (Text("Hello"),), "Coder", "demo", "m", "background"))
    await journal.flush()
    await store.close()
    await db.close()
    data = path.read_bytes()
    row = data.index(f"{whole}Named by hand".encode())
    spoil(path, row // PAGE + 1, b"\xff", at=row % PAGE + 5)
    db = opened(path)
    await db.open()
    store = SessionStore(db)
    infos = {one.id: one for one in await store.all()}
    assert {*infos} == {"s0", "s1", "s2", whole} and infos[whole].title == "Named by hand"
    assert words(await store.events(whole)) == ["Hello"] and await store.get(whole)
    assert "Nothing is missing" in db.notice and len(kept(path)) == 1
    await store.close()
    await db.close()


async def test_rules_that_were_among_it_widen_nothing(path: Path) -> None:
    db = opened(path)
    await db.open()
    rules = "INSERT INTO standing_rules VALUES (?, '/x', ?, 'run', ?, 1.0)"

    def add(c: sqlite3.Connection) -> None:
        for number in range(300):
            c.execute(rules, (number, "deny" if number % 2 else "allow", f"{number} *"))

    await db.write(add)
    await db.close()
    spoil(path, leaves_of(path, "standing_rules")[1])
    db = opened(path)
    await db.open()
    found = await db.rows("SELECT verdict, added FROM standing_rules")
    assert {verdict for verdict, _ in found} == {"deny"} and "taken back" in db.notice
    await db.close()


async def test_the_last_epoch_is_never_replaced_by_an_older_one(path: Path) -> None:
    """H-9: an older history does not know what was said since."""
    db = opened(path)
    await db.open()
    store = SessionStore(db)
    journal = store.journal("s0")
    for number in range(2, 40):
        items = [{"role": "user", "content": str(number)}]
        await store.begin_epoch("s0", "demo", "chat", "m", "system " * 60, [], items)
    journal.append(ev.HistoryBegun(39, "demo", "m"))
    await store.close()
    await db.close()
    spoil(path, leaves_of(path, "epochs")[-1])
    db = opened(path)
    await db.open()
    native = await SessionStore(db).native("s0")
    assert native is not None and native.epoch == 39 and native.damage
    await db.close()


@pytest.mark.parametrize("harm", ["cut", "a frame", "the log's header", "only the log"])
async def test_the_log_and_the_end_of_the_file(path: Path, tmp_path: Path, harm: str) -> None:
    """What a crashed program left in the log is not dropped without a word."""
    log = path.with_name("studio.db-wal")
    if harm == "cut":
        cut(path)
    else:
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("PRAGMA wal_autocheckpoint = 0")
            for number in range(5):
                db.execute("UPDATE sessions SET title = ?", (f"Title {number}",))
            if harm == "only the log":
                db.execute("UPDATE transcript SET at = at + 1")
            crashed = (path.read_bytes(), log.read_bytes())
        path.write_bytes(crashed[0] if harm != "only the log" else b"")
        body = bytearray(crashed[1])
        if harm == "a frame":
            frame = 32 + (24 + PAGE) * (len(body) // (24 + PAGE) // 2)
            body[frame + 100 : frame + 200] = b"!" * 100
        elif harm == "the log's header":
            body[:32] = b"!" * 32
        log.write_bytes(body)
    db = opened(path)
    await db.open()
    store = SessionStore(db)
    if harm == "cut":
        infos = await store.all()
        found = [len(words(await store.events(one.id))) for one in infos]
        assert len(found) == CHATS and max(found) > TURNS
    elif harm == "only the log":
        found = [len(words(await store.events(one.id))) for one in await store.all()]
        assert max(found) > 10
    else:
        assert {one.title for one in await store.all()} == {"Title 4"}
        assert len(words(await store.events("s2"))) == 2 * TURNS
    assert kept(path) and str(kept(path)[0]) in db.notice
    await db.close()


async def test_an_emptied_file_is_said(path: Path) -> None:
    db = opened(path)
    await db.open()
    await db.close()
    path.write_bytes(b"")
    await db.close()
    db = opened(path)
    await db.open()
    assert "was empty" in db.notice
    await db.close()


async def test_programs_that_meet_it_at_once_go_on_with_one_file(path: Path) -> None:
    """The content is replaced in the file that all of them have open."""
    databases = [opened(path) for _ in range(3)]
    for db in databases:
        await db.open()
    spoil(path, middle(path, "transcript"))
    stores = [SessionStore(db) for db in databases]
    await asyncio.gather(*(store.events(f"s{n}") for store in stores for n in range(CHATS)))
    await stores[0].create(info("mine"))
    for store in stores:
        assert len(await store.all()) == CHATS + 1
    assert len(kept(path)) == 1
    for db in databases:
        await db.close()


async def test_killed_at_any_moment_nothing_is_lost(path: Path) -> None:
    """The damaged content stays until the new one is whole, and then its copy does."""
    spoil(path, middle(path, "transcript"))
    damaged = path.read_bytes()
    script = """
    import asyncio, os, signal, sys
    from pathlib import Path
    from studio.storage.database import Database
    from studio.storage.migrations import MIGRATIONS
    from studio.storage.recovery import repair
    left = int(sys.argv[2])
    def count(frame, event, arg):
        global left
        if frame.f_code.co_filename == repair.__file__:
            if event == "line":
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
            return count
    import threading
    threading.settrace(count)
    async def main():
        db = Database(Path(sys.argv[1]), MIGRATIONS)
        await db.open()
        await db.rows("SELECT body FROM transcript")
        await db.close()
    asyncio.run(main())
    """
    ended, line = -signal.SIGKILL, 8
    while ended == -signal.SIGKILL:
        process = await start_python("-c", textwrap.dedent(script), str(path), str(line))
        async with within():
            await process.communicate()
        ended = process.returncode
        held = [path, *kept(path)]
        assert any(one.read_bytes() == damaged for one in held), line
        line = line * 3 // 2
    assert ended == 0 and kept(path)
    assert not [
        one for one in path.parent.iterdir() if one.name.endswith((".copying", ".salvaged"))
    ]


async def test_a_file_that_can_only_be_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each way to read it: as it is, with what a crash left in its log, of an older version."""
    from studio.storage.connection import Schema
    from studio.storage.read_only import ReadOnlyFile

    def titles(path: Path) -> set[str]:
        file = ReadOnlyFile(path, Schema(MIGRATIONS))
        try:
            with closing(file.connect()) as db:
                return {title for (title,) in db.execute("SELECT title FROM sessions")}
        finally:
            file.close()

    assert titles(path) == {"Chat s0", "Chat s1", "Chat s2"}
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 999")
    with pytest.raises(StorageError, match="newer version"):
        titles(path)
    old = path.with_name("old.db")
    with closing(sqlite3.connect(old)) as db, db:
        for step in MIGRATIONS[:3]:
            step(db)
        db.execute("PRAGMA user_version = 3")
    assert titles(old) == set()
    assert old.read_bytes()[60:64] == (3).to_bytes(4, "big")


def test_undo_records_are_repaired_when_damage_is_met(tmp_path: Path) -> None:
    store = BlobStore(tmp_path / "snapshots.db")
    contents = {digest_of(bytes([n]) * 3000): bytes([n]) * 3000 for n in range(100)}
    import os

    contents |= {digest_of(data): data for data in (os.urandom(1500) for _ in range(60))}
    store.put(contents)
    store.close()
    path = tmp_path / "snapshots.db"
    spoil(path, leaves_of(path, "content")[3])
    with pytest.raises(StorageError, match="damaged"):
        for digest in contents:
            store.get(digest)
    found = [store.get(digest) for digest in contents]
    assert found.count(None) <= 40 and found.count(None) >= 1
    assert all(data is None or digest_of(data) in contents for data in found)
    store.put({digest_of(b"new"): b"new"})
    assert kept(path)
    store.close()
