"""Histories that can be proved whole, explained, and continued elsewhere."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studio.domain import events as ev
from studio.domain.codec import encode_event
from studio.domain.drafts import FileDraft
from studio.domain.errors import StorageError
from studio.domain.events import Event
from studio.domain.ledger import (
    LedgerEntry,
    Sent,
    UsageRow,
    canonical_json,
    chain_next,
    chain_start,
)
from studio.domain.messages import Text
from studio.domain.models import Usage
from studio.domain.sessions import SessionInfo
from studio.domain.transcript import Transcript
from studio.storage.database import Database
from studio.storage.migrations import LATEST, MIGRATIONS
from studio.storage.sessions.store import SessionStore


def info(session_id: str = "s", updated: float = 2.0) -> SessionInfo:
    return SessionInfo(
        session_id, "A chat", "/x", "Coder", "simulator", "m", "ask", 1.0, updated, effort="high"
    )


def started(turn_id: str, agent: str = "Coder", model: str = "m") -> ev.TurnStarted:
    said = (Text(f"question {turn_id}"),)
    return ev.TurnStarted("s", turn_id, said, agent, "anthropic", model, "inline")


def turn(turn_id: str, *between: Event) -> list[Event]:
    return [
        started(turn_id),
        ev.StepStarted(1),
        ev.TextDelta(f"answer {turn_id}"),
        ev.StepEnded(1, "end", Usage(10, 0, 0, 5, 0), 0.5),
        *between,
        ev.TurnComplete("done", "", 1, Usage(10, 0, 0, 5, 0), 1.0),
    ]


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Database]:
    database = Database(tmp_path / "s.db", MIGRATIONS)
    await database.open()
    yield database
    await database.close()


@pytest.fixture
async def store(db: Database) -> AsyncIterator[SessionStore]:
    sessions = SessionStore(db)
    await sessions.create(info())
    yield sessions
    await sessions.close()


async def keep(store: SessionStore, events: list[Event], session_id: str = "s") -> None:
    journal = store.journal(session_id)
    for event in events:
        journal.append(event)
    await journal.flush()


async def change(db: Database, statement: str, *values: Any) -> None:
    await db.write(lambda c: c.execute(statement, values) and None)


async def test_effort_and_parent_are_kept(store: SessionStore) -> None:
    assert await store.get("s") == info()
    await store.create(replace(info("child"), parent="s", effort=None))
    child = await store.get("child")
    assert child is not None and (child.parent, child.effort) == ("s", None)
    await store.update("child", effort="max")
    child = await store.get("child")
    assert child is not None and child.effort == "max"


# --- the native history -----------------------------------------------------------------------

TOOLS: list[Any] = [{"name": "run"}]
ITEMS: list[Any] = [{"n": 1, "text": "é \ud800"}, {"n": 2}, {"n": 3, "deep": [{"x": None}]}]


async def begun(store: SessionStore, why: str = "") -> int:
    epoch = await store.begin_epoch("s", "p", "q", "m", "You help.", TOOLS, ITEMS[:1], why)
    await store.append_native("s", epoch, ITEMS[1:2])
    await store.append_native("s", epoch, ITEMS[2:])
    return epoch


async def test_each_item_carries_the_chain_to_it(db: Database, store: SessionStore) -> None:
    """H-9: what the stored rows say is what the ledger computes from what is sent."""
    await begun(store)
    native = await store.native("s")
    assert native is not None and native.damage == "" and native.items == ITEMS
    chain = [chain_start("You help.", TOOLS)]
    for item in ITEMS:
        chain.append(chain_next(chain[-1], canonical_json(item)))
    assert native.chain == chain
    rows = await db.read(lambda c: c.execute("SELECT digest FROM native ORDER BY seq").fetchall())
    assert [digest for (digest,) in rows] == chain[1:]


async def test_older_epochs_stay_readable(store: SessionStore) -> None:
    """H-9."""
    assert await store.epochs("s") == [] and await store.native("s", 1) is None
    began = time.time()
    first = await begun(store)
    second = await store.begin_epoch("s", "r", "q", "n", "", [], [], "The model changed.")
    told = await store.epochs("s")
    assert [(e.number, e.provider, e.protocol, e.model, e.why, e.items) for e in told] == [
        (first, "p", "q", "m", "", 3),
        (second, "r", "q", "n", "The model changed.", 0),
    ]
    assert all(began <= epoch.at <= time.time() for epoch in told)
    old, now = await store.native("s", first), await store.native("s")
    assert old is not None and old.items == ITEMS and old.why == ""
    assert now is not None and now.why == "The model changed." and now.damage == ""
    assert now.chain == [chain_start("", [])]
    assert await store.native("s", 99) is None


@pytest.mark.parametrize(
    ("statement", "damage", "left"),
    [
        ("UPDATE native SET body = '{' WHERE seq = 2", "item 2 cannot be read", 1),
        ("UPDATE native SET body = '[]' WHERE seq = 2", "item 2 cannot be read", 1),
        ("UPDATE native SET body = x'ff' WHERE seq = 2", "item 2 cannot be read", 1),
        (
            "UPDATE native SET body = CAST(x'7b226e223a22ff227d' AS TEXT) WHERE seq = 2",
            "item 2 was changed",
            1,
        ),
        ("UPDATE native SET body = '{\"n\":7}' WHERE seq = 2", "item 2 was changed", 1),
        ("UPDATE native SET digest = '' WHERE seq = 1", "item 1 was changed", 0),
        ("DELETE FROM native WHERE seq = 1", "items are missing after 0", 0),
        ("DELETE FROM native WHERE seq = 2", "items are missing after 1", 1),
        ("DELETE FROM native WHERE seq = 3", "items are missing after 2", 2),
        ("UPDATE epochs SET tools = '['", "the tools cannot be read", 3),
        ("UPDATE epochs SET tools = '[1]'", "the tools cannot be read", 3),
        ("UPDATE epochs SET system = '1'", "the system prompt cannot be read", 3),
        ("UPDATE epochs SET system = '\"\"'", "the system prompt or the tools were changed", 3),
    ],
)
async def test_damage_is_found_and_what_is_before_it_kept(
    db: Database, store: SessionStore, statement: str, damage: str, left: int
) -> None:
    """H-5."""
    await begun(store)
    await change(db, statement)
    native = await store.native("s")
    assert native is not None and native.damage == damage and native.items == ITEMS[:left]


# --- the transcript ---------------------------------------------------------------------------


async def test_a_transcript_that_nothing_happened_to_is_sound(
    db: Database, store: SessionStore
) -> None:
    assert await store.damage("s") == "" and await store.damage("none") == ""
    await keep(store, turn("t1"))
    await change(
        db, "INSERT INTO transcript SELECT 's', 6, 't', 1.0, '{\"event\":\"new\"}', NULL"
    )  # of an older program beside this one that knows more events: no sum
    await keep(store, turn("t2", ev.Silent(3.0)))
    assert await store.damage("s") == ""
    assert len(await store.events("s")) == 10
    await keep(store, turn("t3"))
    await change(db, "UPDATE transcript SET sum = NULL WHERE seq = 4")
    assert await store.damage("s") == ""


@pytest.mark.parametrize(
    ("statement", "damage"),
    [
        ("UPDATE transcript SET body = '{' WHERE seq IN (2, 3)", "2 entries cannot be read"),
        ("UPDATE transcript SET body = x'00' WHERE seq = 2", "1 entry cannot be read"),
        ("UPDATE transcript SET body = '{}', sum = NULL WHERE seq = 2", "1 entry cannot be read"),
        ("UPDATE transcript SET body = replace(body, 'answer', 'axswer')", "1 entry was changed"),
        ("UPDATE transcript SET turn_id = 'x' WHERE seq < 3", "2 entries were changed"),
        ("DELETE FROM transcript WHERE seq = 1", "entries are missing after number 0"),
        (
            "DELETE FROM transcript WHERE seq IN (2, 4)",
            "entries are missing after number 1",
        ),
        ("UPDATE sessions SET title = x'ff'", "the chat's title cannot be read"),
        (
            "UPDATE sessions SET folder = CAST(x'ff' AS TEXT), effort = 'none at all'",
            "the chat's folder and effort cannot be read",
        ),
        (
            "UPDATE sessions SET permission_mode = 'askk', updated = 'now'",
            "the chat's permission mode and date cannot be read",
        ),
    ],
)
async def test_damage_of_a_transcript_is_said_in_words(
    db: Database, store: SessionStore, statement: str, damage: str
) -> None:
    """H-5: and neither this chat nor the others are lost from the list."""
    await store.create(info("other", 9.0))
    await keep(store, turn("t1"))
    await change(db, statement)
    assert await store.damage("s") == damage
    assert sorted(session.id for session in await store.all()) == ["other", "s"]
    Transcript(await store.events("s"))
    assert isinstance(await store.search("answer"), list)
    accepted = {"1 entry was changed": 1, "2 entries were changed": 2}.get(damage, 0)
    assert await store.accept_changed("s") == accepted
    assert await store.damage("s") == ("" if accepted else damage)


# --- branches ---------------------------------------------------------------------------------


def waiting(draft_id: str) -> ev.DraftCreated:
    return ev.DraftCreated("c", FileDraft(draft_id, f"{draft_id}.txt", None, "zebra\n", ""))


async def test_a_branch_has_what_was_before_the_turn(db: Database, store: SessionStore) -> None:
    await keep(
        store,
        turn("t1", waiting("d1"), waiting("d2"), ev.DraftResolved("d2", "approved"))
        + turn("t2")
        + [ev.DraftResolved("d1", "approved")],
    )
    await begun(store)
    await store.branch("s", replace(info("b", 7.0), state="idle"), "t2")
    assert await store.get("b") == replace(info("b", 7.0), parent="s")
    source, events = await store.events("s"), await store.events("b")
    assert events[0] == replace(started("t1"), session_id="b")
    assert events[1:] == [*source[1:8], ev.DraftResolved("d1", "superseded")]
    assert await store.damage("b") == "" and await store.native("b") is None
    assert await store.usage("b") == Usage() and await store.ledger("b") == []
    assert await store.interrupted() == [] and await store.drafts() == ()
    found = {hit.session_id for hit in await store.search("answer t1")}
    assert found == {"s", "b"}
    assert [hit.session_id for hit in await store.search("answer t2")] == ["s"]
    await keep(store, turn("t9"), "b")
    assert await store.damage("b") == "" and len(await store.events("s")) == len(source)

    await store.branch("s", info("whole"))
    assert len(await store.events("whole")) == len(source)
    await store.delete("s")
    assert len(await store.events("b")) == 14 and await store.damage("whole") == ""


async def test_a_branch_of_a_damaged_or_running_chat_is_sound(
    db: Database, store: SessionStore
) -> None:
    """H-5: "continue from here in a new session"."""
    await keep(store, turn("t1") + turn("t2") + [started("t3"), ev.TextDelta("half")])
    await change(db, "UPDATE transcript SET body = '{' WHERE seq = 2")
    await change(db, 'UPDATE transcript SET body = \'{"event":"notice"}\' WHERE seq = 3')
    await change(db, "DELETE FROM transcript WHERE seq = 7")
    assert await store.damage("s") != ""
    await store.branch("s", info("b"))
    assert await store.damage("b") == ""
    own = [
        replace(event, session_id="b") if isinstance(event, ev.TurnStarted) else event
        for event in await store.events("s")
    ]
    assert await store.events("b") == own
    assert len(await rows(db, "transcript", "b")) == len(own)
    # The turn runs there; here it was interrupted, and is closed as after a crash.
    assert await store.interrupted() == ["b"]


async def test_a_branch_of_nothing_is_refused_whole(store: SessionStore) -> None:
    await keep(store, turn("t1"))
    with pytest.raises(StorageError, match="no longer"):
        await store.branch("s", info("b"), "t9")
    with pytest.raises(StorageError, match="deleted"):
        await store.branch("none", info("b"))
    assert await store.get("b") is None


# --- the ledger -------------------------------------------------------------------------------


async def test_the_ledger_has_every_request(store: SessionStore) -> None:
    assert await store.ledger("s") == [] and await store.last_sent("s") is None
    sent = Sent(1, 4, "abc", 900, "The tools changed.", 0.25)
    began = time.time()
    await keep(
        store,
        [
            started("t1"),
            ev.StepEnded(1, "tool_use", Usage(1000, 10, 5, 50, 20), 0.5, sent, 0.125),
            ev.StepEnded(2, "end", Usage(7, 0, 0, 1, 0), 1.5),
            ev.TurnComplete("done"),
        ],
    )
    first, second = await store.ledger("s")
    assert began <= first.at <= time.time()
    assert first == LedgerEntry(
        first.at, "t1", 1, "Coder", "anthropic", "m", Usage(1000, 10, 5, 50, 20), 0.5, sent, 0.125
    )
    assert (second.step, second.sent, second.cost) == (2, None, None)
    assert await store.last_sent("s") == first


async def test_usage_by_turn_session_agent_day_and_model(db: Database, store: SessionStore) -> None:
    await store.create(info("o"))
    for session_id, turn_id, agent, model, cost, sent in (
        ("s", "t1", "Coder", "m", 0.5, Sent(1, 1, "a", lost=0.25)),
        ("s", "t1", "Coder", "m", None, None),
        ("s", "t2", "Writer", "n", None, Sent(1, 1, "a", lost=0.5)),
        ("o", "t3", "Coder", "m", 0.25, None),
    ):
        end = ev.StepEnded(1, "end", Usage(10, 1, 2, 3, 4), 0.5, sent, cost)
        await keep(store, [started(turn_id, agent, model), end], session_id)
    await change(
        db,
        "UPDATE usage SET at = ? WHERE turn_id = 't3'",
        time.mktime((2026, 3, 9, 0, 5, 0, 0, 0, -1)),
    )
    one, two = Usage(10, 1, 2, 3, 4), Usage(20, 2, 4, 6, 8)

    def row(key: str, model: str, used: Usage, n: int, *rest: Any) -> UsageRow:
        return UsageRow(key, "anthropic", model, used, n, *rest)

    assert await store.usage_by("turn", session_id="s") == [
        row("t1", "m", two, 2, 0.5, 1, one, 0.25),
        row("t2", "n", one, 1, 0.0, 1, one, 0.5),
    ]
    assert await store.usage_by("session") == [
        row("s", "m", two, 2, 0.5, 1, one, 0.25),
        row("s", "n", one, 1, 0.0, 1, one, 0.5),
        row("o", "m", one, 1, 0.25, 0, Usage(), 0.0),
    ]
    assert await store.usage_by("agent") == [
        row("Coder", "m", Usage(30, 3, 6, 9, 12), 3, 0.75, 1, one, 0.25),
        row("Writer", "n", one, 1, 0.0, 1, one, 0.5),
    ]
    assert [r.key for r in await store.usage_by("model")] == ["m", "n"]
    days = {r.key: r.requests for r in await store.usage_by("day", session_id="o")}
    assert days == {"2026-03-09": 1}
    assert [r.key for r in await store.usage_by("session", since=time.time() - 3600)] == ["s", "s"]


async def test_large_requests_are_summed_apart(store: SessionStore) -> None:
    ends = [ev.StepEnded(1, "end", Usage(size), 0.5) for size in (10, 11, 99, 10)]
    await keep(store, [started("t"), *ends])
    whole = await store.usage_by("session", "s")
    assert [(row.requests, row.usage.input) for row in whole] == [(4, 130)]
    apart = await store.usage_by("session", "s", sizes=(10, 50))
    assert [(row.requests, row.usage.input) for row in apart] == [(2, 20), (1, 11), (1, 99)]


async def test_an_absurd_figure_does_not_break_the_sums(store: SessionStore) -> None:
    end = ev.StepEnded(1, "end", Usage(10**30, 0, 0, 10**18, 0), 0.5)
    await keep(store, [started("t"), end, end, end, end])
    assert (await store.usage("s")).output == 4 * 10**18
    assert (await store.usage_by("model"))[0].requests == 4


# --- a file of the first version --------------------------------------------------------------


def first_version(path: Path) -> None:
    """A file as the first version left it, a session in it sound and one damaged."""
    with closing(sqlite3.connect(path)) as db:
        MIGRATIONS[0](db)
        db.execute("PRAGMA user_version = 1")
        for session_id in ("s", "hurt"):
            db.execute(
                "INSERT INTO sessions VALUES (?, 'Old', '/x', 'Coder', 'p', 'm', 'ask', 1, 2, "
                "'done', 1)",
                (session_id,),
            )
            db.execute(
                "INSERT INTO turns VALUES (NULL, ?, 't1', 'Writer', 'p', 'm', 'inline', '', 1, 2, "
                "'done', '', 1, 1.0)",
                (session_id,),
            )
            bodies = [canonical_json(encode_event(event)) for event in turn("t1")]
            if session_id == "hurt":
                bodies[2] = bodies[2][:-1]
            db.executemany(
                "INSERT INTO transcript VALUES (?, ?, 't1', 1.0, ?)",
                [(session_id, seq, body) for seq, body in enumerate(bodies, 1)],
            )
            db.execute(
                "INSERT INTO usage VALUES (NULL, ?, 't1', 1.0, 'p', 'm', 1, 10, 4, 3, 5, 1, 0.5)",
                (session_id,),
            )
            for epoch in (1, 2):
                tools = "[" if (session_id, epoch) == ("hurt", 2) else canonical_json(TOOLS)
                db.execute(
                    "INSERT INTO epochs VALUES (?, ?, 1.0, 'p', 'q', 'm', ?, ?)",
                    (session_id, epoch, canonical_json("You help."), tools),
                )
                items = [canonical_json(item) for item in ITEMS]
                if session_id == "hurt":
                    items[1] = "[1"
                db.executemany(
                    "INSERT INTO native VALUES (?, ?, ?, ?)",
                    [(session_id, epoch, seq, body) for seq, body in enumerate(items, 1)],
                )
            db.execute("INSERT INTO said VALUES (NULL, ?, 1, 'answer', 'zebra')", (session_id,))
            db.execute("INSERT INTO rules VALUES (?, 'allow', '\"run\"', '\"*\"')", (session_id,))
        db.commit()


async def test_a_file_of_the_first_version_keeps_everything(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    first_version(path)
    with closing(sqlite3.connect(path)) as old:
        tables = ("sessions", "turns", "transcript", "usage", "epochs", "native", "said", "rules")
        before = {}
        for table in tables:
            found = old.execute(f"SELECT * FROM {table}")
            before[table] = [column[0] for column in found.description], found.fetchall()
    db = Database(path, MIGRATIONS)
    await db.open()
    store = SessionStore(db)
    for table, (names, rows) in before.items():
        columns = ", ".join(names)
        now = await db.read(
            lambda c, t=table, cs=columns: c.execute(f"SELECT {cs} FROM {t}").fetchall()
        )
        assert now == rows, table
    assert (await db.read(lambda c: c.execute("PRAGMA user_version").fetchone())) == (LATEST,)

    session = await store.get("s")
    assert session is not None and (session.effort, session.parent) == (None, "")
    assert await store.events("s") == turn("t1") and await store.damage("s") == ""
    assert [hit.session_id for hit in await store.search("zebra")]
    (entry,) = await store.ledger("s")
    assert entry.agent == "Writer" and entry.usage == Usage(10, 4, 3, 5, 1) and entry.sent is None
    assert [epoch.items for epoch in await store.epochs("s")] == [3, 3]
    native = await store.native("s")
    assert native is not None and native.items == ITEMS and native.damage == ""
    assert native.chain[0] == chain_start("You help.", TOOLS)
    await store.append_native("s", 2, ITEMS)
    native = await store.native("s")
    assert native is not None and native.items == ITEMS * 2 and native.damage == ""

    assert await store.damage("hurt") == "1 entry cannot be read"
    one, two = await store.native("hurt", 1), await store.native("hurt", 2)
    assert one is not None and (one.damage, one.items) == ("item 2 cannot be read", ITEMS[:1])
    assert two is not None and (two.damage, two.tools) == ("the tools cannot be read", [])
    await store.branch("hurt", info("healed"))
    assert await store.damage("healed") == ""
    await db.close()


# --- any damage -------------------------------------------------------------------------------

STORY: list[Event] = [
    *turn("t1", ev.CallStarted("c1", "run"), ev.ToolQueued("c1", "run", {"a": [1, None]}, "é")),
    *turn("t2", waiting("d1"), ev.Told("date", "It is Sunday."), ev.HistoryBegun(2, "p", "m")),
    *turn(
        "t3",
        ev.ToolFinished("c1", "done", False, 0.5, sources=("a.py",)),
        ev.RetryScheduled(2, 3, 1.5, "network", "No connection"),
        ev.Retried(),
        ev.Failed("storage", "title", "detail"),
    ),
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)


@st.composite
def damages(draw: st.DrawFn) -> tuple[str, tuple[Any, ...]]:
    """A statement that harms one or two rows of the session ``?1``, and what it is given."""
    table, last, columns = draw(
        st.sampled_from(
            [
                ("transcript", len(STORY), ("body", "turn_id", "at", "sum")),
                ("native", len(ITEMS), ("body", "digest")),
                ("epochs", 0, ("system", "tools", "digest", "items")),
                (
                    "sessions",
                    0,
                    ("title", "folder", "agent", "permission_mode", "created", "updated", "state",
                     "effort", "parent"),
                ),
            ]
        )
    )  # fmt: skip
    column = draw(st.sampled_from(columns))
    where = "id = ?1" if table == "sessions" else "session_id = ?1"
    rows = st.integers(1, max(last, 1))
    kinds = ["replace", "cut", "flip"] + (["delete", "swap", "field"] if last else [])
    match draw(st.sampled_from(kinds)):
        case "delete":
            return f"DELETE FROM {table} WHERE {where} AND seq = ?2", (draw(rows),)
        case "swap":
            one, two = draw(rows), draw(rows)
            return (
                f"""UPDATE {table} SET body = (SELECT body FROM {table} AS other WHERE
                other.session_id = ?1 AND other.seq = ?2 + ?3 - {table}.seq)
                WHERE {where} AND seq IN (?2, ?3)
                AND (SELECT count(*) FROM {table} WHERE {where} AND seq IN (?2, ?3)) = 2""",
                (one, two),
            )
        case "field":
            event = encode_event(draw(st.sampled_from(STORY)))
            event[draw(st.sampled_from([*event]))] = draw(VALUES)
            body = json.dumps(event)
            return f"UPDATE {table} SET body = ?2 WHERE {where} AND seq = ?3", (body, draw(rows))
        case "flip":
            at, byte = draw(st.integers(1, 60)), bytes([draw(st.integers(0, 255))])
            new = f"""coalesce(CAST(substr(CAST({column} AS BLOB), 1, ?2 - 1) || ?3 ||
                substr(CAST({column} AS BLOB), ?2 + 1) AS TEXT), '')"""
            values: tuple[Any, ...] = (at, byte)
        case "cut":
            new, values = f"coalesce(substr({column}, 1, ?2), '')", (draw(st.integers(0, 40)),)
        case _:
            new = "?2"
            values = (draw(st.integers(-(2**63), 2**63 - 1) | st.binary(max_size=9) | st.text()),)
    values = tuple(
        v.encode("utf-8", "replace").decode() if isinstance(v, str) else v for v in values
    )
    statement = f"UPDATE {table} SET {column} = {new} WHERE {where}"
    if last:
        statement += f" AND seq = {draw(rows)}"
    return statement, values


class Shared:
    """A loop and a database for all examples."""

    def __init__(self, runner: asyncio.Runner, db: Database) -> None:
        self.runner, self.db, self.store = runner, db, SessionStore(db)
        self.number = 0


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    with asyncio.Runner() as runner:
        database = Database(tmp_path_factory.mktemp("shared") / "s.db", MIGRATIONS)
        runner.run(database.open())
        yield Shared(runner, database)
        runner.run(database.close())


async def rows(db: Database, table: str, session_id: str) -> list[Any]:
    columns = {
        "transcript": "seq, turn_id, body, sum",
        "native": "seq, body, digest",
        "epochs": "system, tools, digest, items",
    }[table]
    query = f"SELECT {columns} FROM {table} WHERE session_id = ? ORDER BY 1"
    return await db.read(lambda c: c.execute(query, (session_id,)).fetchall())


@settings(
    max_examples=200, deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(harm=st.lists(damages(), min_size=1, max_size=3))
def test_any_damage_is_found_or_harmless(
    shared: Shared, harm: list[tuple[str, tuple[Any, ...]]]
) -> None:
    """H-5: and it never raises, nor hides another chat."""
    store, db = shared.store, shared.db
    shared.number += 1
    name, branch = f"n{shared.number}", f"b{shared.number}"

    async def go() -> None:
        await store.create(info(name))
        await keep(store, STORY, name)
        await store.begin_epoch(name, "p", "q", "m", "You help.", TOOLS, ITEMS)
        before = {table: await rows(db, table, name) for table in ("transcript", "native")}
        sound = await store.native(name)
        listed = {session.id for session in await store.all()}
        for statement, values in harm:
            await db.write(lambda c, s=statement, v=values: c.execute(s, (name, *v)) and None)

        assert {session.id for session in await store.all()} == listed
        assert await store.get(name) is not None
        events = await store.events(name)
        Transcript(events).messages()
        if not await store.damage(name):
            assert await rows(db, "transcript", name) == before["transcript"][: len(events)]
            assert events == STORY[: len(events)]
        native = await store.native(name)
        assert native is not None and sound is not None
        assert native.items == ITEMS[: len(native.items)]
        if not native.damage:  # or cut short together with the count: as it was a moment earlier
            assert await rows(db, "native", name) == before["native"][: len(native.items)]
            assert native == replace(
                sound, items=native.items, chain=sound.chain[: len(native.chain)]
            )
        await store.ledger(name)
        await store.epochs(name)
        await store.search("answer")
        await store.drafts()
        await store.branch(name, info(branch))
        assert await store.damage(branch) == ""
        assert len(await store.events(branch)) >= len(events)
        await store.delete(name)
        await store.delete(branch)

    shared.runner.run(go())
