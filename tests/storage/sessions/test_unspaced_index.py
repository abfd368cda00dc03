"""Search in scripts without spaces, while its index is made, and after chats are gone."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from studio.domain import events as ev
from studio.domain.messages import Text
from studio.domain.sessions import SessionInfo
from studio.storage.database import READERS, Database
from studio.storage.migrations import MIGRATIONS
from studio.storage.sessions.search import find
from studio.storage.sessions.store import SessionStore
from studio.storage.sessions.unspaced_index import (
    UNSPACED,
    index_due,
    index_older,
    older_left,
)
from support.waiting import HANG, until, within

BEFORE = next(at for at, step in enumerate(MIGRATIONS) if step.__name__ == "_unspaced_index")
TEXTS = {
    "zh": "我们用Python编写数据库。它很快。",
    "other": "库数据不在一起",
    "ja": "データベースを検索する が",
    "th": "ฐานข้อมูลเร็วมาก",
    "en": "a database in Python, it is fast",
}


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SessionStore]:
    db = Database(tmp_path / "s.db", MIGRATIONS)
    await db.open()
    yield SessionStore(db)
    await db.close()


async def say(store: SessionStore, name: str, text: str) -> None:
    await store.create(SessionInfo(name, name, "/x", "Coder", "p", "m", "ask", 1.0, 2.0))
    journal = store.journal(name)
    journal.append(ev.TurnStarted(name, "t", (Text(text),), "Coder", "p", "m", "inline"))
    await journal.close()


def fill(path: Path, texts: dict[str, str]) -> sqlite3.Connection:
    """A database of the version before the index."""
    db = sqlite3.connect(path, isolation_level=None)
    for step in MIGRATIONS[:BEFORE]:
        step(db)
    for name, text in texts.items():
        db.execute(
            """INSERT INTO sessions (id, title, folder, agent, provider, model, permission_mode,
            created, updated, state, unread) VALUES (?, 'T', '/x', 'C', 'p', 'm', 'ask', 1, 2,
            'done', 0)""",
            (name,),
        )
        db.execute(
            "INSERT INTO said (session_id, seq, kind, text) VALUES (?, 1, 'said', ?)", (name, text)
        )
    return db


def found(db: sqlite3.Connection, text: str) -> set[str]:
    return {hit.session_id for hit in find(db, text, 50)}


def in_index(db: sqlite3.Connection, gram: str) -> int:
    query = "SELECT count(*) FROM grams WHERE grams MATCH ?"
    return int(db.execute(query, (f'"{gram}"',)).fetchone()[0])


QUERIES = {
    "库": {"zh", "other"},  # one character
    "数据": {"zh", "other"},  # a pair
    "数据库": {"zh"},  # more: in this order
    "很快 数据库": {"zh"},
    "python": {"zh", "en"},  # without a space before it
    "pyth": {"zh", "en"},
    "Python 数据": {"zh"},
    "データベース": {"ja"},
    "検": {"ja"},
    "ข้อมูล": {"th"},
    "无": set[str](),
}


async def test_scripts_without_spaces_are_found_by_any_part_of_a_sentence(
    store: SessionStore,
) -> None:
    for name, text in TEXTS.items():
        await say(store, name, text)
    for query, chats in QUERIES.items():
        hits = await store.search(query)
        assert {hit.session_id for hit in hits} == chats, query
    (hit,) = await store.search("検索")
    assert (hit.kind, hit.line) == ("said", TEXTS["ja"])
    long = "数" * 5000 + "\nein schöner Größenvergleich 据\n" + "é" * 5000
    await say(store, "long", long)
    assert [hit.line for hit in await store.search("GROSSENVERGLEICH")] == []
    (hit,) = await store.search("größenvergleich")
    assert hit.line == "ein schöner Größenvergleich 据"
    assert next(hit.line for hit in await store.search("据", lines=3)) == hit.line


def test_an_old_database_is_searched_whole_while_its_index_is_made(tmp_path: Path) -> None:
    """In slices, the newest first; a kill between two of them loses and doubles nothing."""
    texts = {**TEXTS, **{f"more{n}": f"一个消息{n}" for n in range(150)}}
    with closing(fill(tmp_path / "old.db", texts)) as db:
        for step in MIGRATIONS[BEFORE:]:
            step(db)
        triggers = db.execute(
            "SELECT sql FROM sqlite_master WHERE name IN ('said_due', 'said_gone')"
        )
        assert all(f"*[{UNSPACED}]*" in sql for (sql,) in triggers), "one notion of such a script"
        assert older_left(db) == len(texts) and in_index(db, "数据") == 0
        for query, chats in QUERIES.items():
            if not query.isascii():  # the index of words has these
                assert found(db, query) == chats, query
        assert index_older(db, 0.0) and older_left(db) == len(texts) - 100
        assert in_index(db, "消息") == 100
        assert len(found(db, "消息")) == 50 and found(db, "数据库") == {"zh"}
        db.execute("DELETE FROM sessions WHERE id IN ('other', 'more149')")
        db.execute("DELETE FROM said WHERE session_id IN ('other', 'more149')")
    with closing(sqlite3.connect(tmp_path / "old.db", isolation_level=None)) as db:
        while index_older(db, 0.0):
            pass
        assert older_left(db) == 0
        assert in_index(db, "消息") == 149 and in_index(db, "数据") == 1
        for query, chats in QUERIES.items():
            assert found(db, query) == chats - {"other"}, query
        # A row that takes the number of one that is gone is another one.
        (last,) = db.execute("SELECT max(id) FROM said").fetchone()
        db.execute("DELETE FROM said WHERE id = ?", (last,))
        db.execute(
            """INSERT INTO said (id, session_id, seq, kind, text)
            VALUES (?, 'zh', 2, 'said', '新的')""",
            (last,),
        )
        assert found(db, "新的") == {"zh"}  # not in the index yet
        assert not index_due(db, HANG) and found(db, "新的") == {"zh"}
        assert in_index(db, "新的") == 1 and in_index(db, "消息") == 148


async def test_nothing_of_a_deleted_chat_stays_in_a_compacted_file(
    store: SessionStore, tmp_path: Path
) -> None:
    await say(store, "kept", "other words 别的话")
    await say(store, "gone", "a xylophone 秘密计划 is secret")
    await store.delete("gone")
    assert await store.search("秘密") == [] == await store.search("xylophone")
    await store._db.compact()
    stored = b"".join(file.read_bytes() for file in tmp_path.glob("s.db*") if file.is_file())
    for trace in ("xylo", "秘密", "密计", "划"):
        assert trace.encode() not in stored, trace
    assert [hit.session_id for hit in await store.search("别的")] == ["kept"]
    await say(store, "long", "秘密计划")
    signs = "".join(map(chr, range(0x4E00, 0x9FFF)))
    rows = [(seq, f"秘密计划 {signs}") for seq in range(9)]  # more than one slice of time takes

    def add(db: sqlite3.Connection) -> None:
        query = "INSERT INTO said (session_id, seq, kind, text) VALUES ('long', ?, 'answer', ?)"
        db.executemany(query, rows)
        while index_due(db):
            pass

    await store._db.write(add)
    await store.delete("long")
    assert await store._db.rows("SELECT count(*) FROM grams_gone") == [(0,)]


async def test_a_copy_of_a_chat_waits_for_no_index(store: SessionStore) -> None:
    """Else others could not write meanwhile. It is found all the same."""
    for name in ("one", "two"):
        await say(store, name, "秘密计划")
    info = await store.get("one")
    assert info is not None
    await store.branch("one", replace(info, id="copy"))
    assert await store._db.rows("SELECT count(*) FROM grams_due") == [(1,)]
    hits = await store.search("秘密")
    assert {hit.session_id for hit in hits} == {"one", "two", "copy"}
    others = 0  # what is stored next brings the index up to date, a slice of time each
    while await store._db.rows("SELECT count(*) FROM grams_due") != [(0,)]:
        assert others < 100
        others += 1
        await say(store, f"other{others}", "words")


async def test_a_search_that_nobody_waits_for_gives_its_place_to_the_next(
    store: SessionStore,
) -> None:
    begun = [threading.Event() for _ in range(READERS)]

    def endless(event: threading.Event, db: sqlite3.Connection) -> None:
        rows = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT x FROM n"
        for _ in db.execute(rows):
            event.set()

    reads = [asyncio.ensure_future(store._db.read(partial(endless, event))) for event in begun]
    for event in begun:
        await until(event.is_set)
    for read in reads:
        read.cancel()
    async with within():
        assert await store._db.rows("SELECT 1") == [(1,)]
