"""Sessions on disk: what goes in comes out, whatever happens to the program."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap
import threading
import time
import types
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from studio.domain import events as ev
from studio.domain.drafts import FileDraft
from studio.domain.errors import StorageError
from studio.domain.events import Event
from studio.domain.messages import Text
from studio.domain.models import Usage
from studio.domain.permissions import Question, Rule
from studio.domain.sessions import Caller, SessionInfo
from studio.storage.database import Database
from studio.storage.migrations import MIGRATIONS
from studio.storage.sessions import journal as journals
from studio.storage.sessions.store import SessionStore
from support.waiting import HANG, within

ROOT = Path(__file__).parents[3]


def info(session_id: str = "s", updated: float = 2.0, title: str = "A chat") -> SessionInfo:
    return SessionInfo(session_id, title, "/x", "Coder", "simulator", "m", "ask", 1.0, updated)


def started(turn_id: str = "t", text: str = "hello") -> ev.TurnStarted:
    return ev.TurnStarted("s", turn_id, (Text(text),), "Coder", "anthropic", "m", "inline")


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


async def test_sessions_are_listed_changed_and_deleted_whole(
    db: Database, store: SessionStore
) -> None:
    await store.create(info("older", 1.0))
    await store.create(info("newest", 9.0))
    assert [s.id for s in await store.all()] == ["newest", "s", "older"]
    assert await store.get("s") == info() and await store.get("none") is None
    with pytest.raises(StorageError):
        await store.create(info())

    await store.update("s", title="Neu \ud800", permission_mode="plan", unread=True, updated=10.0)
    expected = replace(info(), title="Neu ?", permission_mode="plan", unread=True, updated=10.0)
    assert (await store.all())[0] == expected
    with pytest.raises(TypeError):
        await store.update("s", **{"id = 'x' --": 1})  # type: ignore[call-arg]

    journal = store.journal("s")
    for event in STORY:
        journal.append(event)
    await journal.flush()
    await store.begin_epoch("s", "anthropic", "anthropic", "m", "", [], [{"a": 1}])
    await store.rules.add("s", Rule("allow", "run"))
    journal.append(ev.TextDelta("late"))
    await store.delete("s")
    assert journal.closed and await store.get("s") is None
    tables = await db.read(
        lambda c: [
            name
            for (name,) in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if "session_id" in {row[1] for row in c.execute(f"PRAGMA table_info({name})")}
        ]
    )
    assert len(tables) >= 9
    tables.remove("audit")  # outlives the session, see test_audit
    tables.remove("usage")  # counts towards its day all the same, see test_budget
    for table in tables:
        rows = await db.read(
            lambda c, t=table: c.execute(f"SELECT * FROM {t} WHERE session_id = 's'").fetchall()
        )
        assert rows == [], table
    assert await store.search("please") == []


QUESTION = Question("q1", "c1", "run", "Coder wants to run a command", "ls")
STORY: list[Event] = [
    started(text="look around please"),
    ev.StepStarted(1),
    ev.ReasoningDelta("hm, "),
    ev.ReasoningDelta("the folder"),
    ev.ReasoningEnded(0.5),
    ev.TextDelta("I will "),
    ev.TextDelta("look"),
    ev.CallStarted("c1", "run"),
    ev.StepEnded(1, "tool_use", Usage(10, 4, 2, 3, 1), 0.5),
    ev.ToolQueued("c1", "run", {"command": "ls -l", "deep": [1, {"x": None}]}, "ls -l"),
    ev.AwaitingPermission(QUESTION),
    ev.PermissionResolved("q1", "once"),
    ev.ToolStarted("c1"),
    ev.ToolOutput("c1", "README"),
    ev.ToolOutput("c1", ".md\n"),
    ev.DraftCreated("c1", FileDraft("d1", "src/a.txt", None, "zebra\n", "")),
    ev.ToolFinished("c1", "README.md", False, 0.1, "1 file"),
    ev.DraftResolved("d1", "approved"),
    ev.StepStarted(2),
    ev.TextDelta("Found one file."),
    ev.StepEnded(2, "end", Usage(20, 0, 0, 5, 0), 0.7),
    ev.TurnComplete("done", "", 2, Usage(30, 4, 2, 8, 1), 2.0),
]


def joined(events: list[Event]) -> list[Event]:
    """Neighbouring deltas of one kind and call are one event on disk."""
    out: list[Event] = []
    for event in events:
        last = out[-1] if out else None
        if type(event) is type(last) and isinstance(event, ev.TextDelta | ev.ReasoningDelta):
            out[-1] = type(event)(last.text + event.text)  # type: ignore[union-attr]
        elif (
            isinstance(event, ev.ToolOutput)
            and isinstance(last, ev.ToolOutput)
            and event.call_id == last.call_id
        ):
            out[-1] = ev.ToolOutput(event.call_id, last.text + event.text)
        else:
            out.append(event)
    return out


async def test_kz48_the_newest_chat_about_something_is_one_of_the_list(store: SessionStore) -> None:
    """KZ-48: not one that is archived or in the bin, or that works for another."""
    for number, name in enumerate(("old", "wanted", "archived", "deleted", "other", "helper")):
        about = "notes:topic/lakes" if name == "other" else "notes:topic/rivers"
        caller = Caller("session", "old") if name == "helper" else None
        await store.create(replace(info(name, 3.0 + number), subject=about, caller=caller))
    await store.update("archived", archived=True)
    await store.update("deleted", deleted=9.0)
    assert await store.newest_about("notes:topic/rivers") == "wanted"
    assert await store.newest_about("notes:topic/seas") == ""


async def test_a_story_and_everything_derived_from_it(db: Database, store: SessionStore) -> None:
    journal = store.journal("s")
    assert store.journal("s") is journal
    for event in STORY:
        journal.append(event)
    assert await store.events("s") == joined(STORY)
    rows = await db.read(
        lambda c: {
            table: c.execute(f"SELECT {columns} FROM {table}").fetchall()
            for table, columns in {
                "turns": "turn_id, agent, provider, mode, reason, steps, seconds",
                "audit": "turn_id, call_id, tool, arguments, target, state, summary",
                "approvals": "turn_id, question_id, tool, detail, answer",
                "usage": "turn_id, provider, model, step, input, output",
                "drafts": "turn_id, draft_id, path, status",
                "said": "kind, text",
            }.items()
        }
    )
    assert rows == {
        "turns": [("t", "Coder", "anthropic", "inline", "done", 2, 2.0)],
        "audit": [
            (
                "t",
                "c1",
                "run",
                '{"command":"ls -l","deep":[1,{"x":null}]}',
                "ls -l",
                "done",
                "1 file",
            )
        ],
        "approvals": [("t", "q1", "run", "ls", "once")],
        "usage": [("t", "anthropic", "m", 1, 10, 3), ("t", "anthropic", "m", 2, 20, 5)],
        "drafts": [("t", "d1", "src/a.txt", "approved")],
        "said": [
            ("said", "look around please"),
            ("reasoning", "hm, the folder"),
            ("answer", "I will look"),
            ("call", 'run\nls -l\n[1, {"x": null}]'),
            ("draft", "src/a.txt\nzebra\n"),
            ("result", "README.md"),
            ("answer", "Found one file."),
        ],
    }
    assert await store.usage("s") == Usage(30, 4, 2, 8, 1)
    session = await store.get("s")
    assert session is not None and session.state == "done" and session.updated > 1e9


async def test_drafts_wait_until_they_are_resolved(store: SessionStore) -> None:
    journal = store.journal("s")
    journal.append(ev.DraftCreated("c", FileDraft("d1", "a.txt", None, "x", "")))
    journal.append(ev.DraftCreated("c", FileDraft("d2", "b.txt", None, "x", "")))
    journal.append(ev.DraftResolved("d1", "discarded"))
    await journal.flush()
    moved = FileDraft("d3", "c.txt", None, "", "0", action="move", target="d.txt")
    journal.append(ev.DraftCreated("c", moved))
    journal.append(ev.DraftResolved("d3", "conflict", "d.txt exists by now."))
    await journal.flush()
    third, second = await store.drafts("s")
    assert (third.path, third.action, third.target, third.status, third.detail) == (
        "c.txt",
        "move",
        "d.txt",
        "conflict",
        "d.txt exists by now.",
    )
    assert (second.session_id, second.title, second.path) == ("s", "A chat", "b.txt")
    assert (second.status, second.resolved) == ("waiting", None)
    (first,) = await store.drafts(done=True)
    assert (first.draft_id, first.status) == ("d1", "discarded")
    assert await store.drafts("another") == ()


async def test_drafts_are_listed_as_soon_as_they_are_made(store: SessionStore) -> None:
    """T-5: who looks once, and is told of no other change, finds the newest too."""
    journal = store.journal("s")
    journal.append(ev.DraftCreated("c", FileDraft("d1", "a.txt", None, "x", "")))
    (made,) = await store.drafts()
    journal.append(ev.DraftResolved("d1", "discarded"))
    assert made.draft_id == "d1" and await store.drafts("s") == ()


async def test_the_state_follows_the_turn(store: SessionStore) -> None:
    journal = store.journal("s")
    states: list[str] = []
    for event in (
        started(),
        ev.AwaitingPermission(QUESTION),
        ev.PermissionResolved("q1", "once"),
        ev.AwaitingReply("c", "Which?"),
        ev.ReplyGiven("c", "a"),
        ev.TurnComplete("step_limit"),
        ev.PermissionResolved("q1", "deny"),
    ):
        journal.append(event)
        await journal.flush()
        session = await store.get("s")
        assert session is not None
        states.append(session.state)
    assert states == [
        "running", "waiting", "running", "waiting", "running", "step_limit", "step_limit",
    ]  # fmt: skip


async def test_events_reach_the_disk_by_themselves(db: Database, store: SessionStore) -> None:
    began = time.time()
    journal = store.journal("s")
    journal.append(ev.TextDelta("a"))
    async with within():
        while not (
            rows := await db.read(lambda c: c.execute("SELECT at FROM transcript").fetchall())
        ):
            pass
    assert began <= rows[0][0] <= time.time()


async def test_rules_are_kept_once(store: SessionStore) -> None:
    rules = [Rule("allow", "run", "ls *"), Rule("deny", "fetch", 'odd "\ud800'), Rule("ask", "*")]
    for rule in [*rules, rules[0]]:
        await store.rules.add("s", rule)
    assert [one.rule for one in await store.rules.of("s")] == rules
    assert await store.rules.of("none") == []


async def test_t7_a_rule_of_a_session_is_changed_in_its_place_and_removed(
    store: SessionStore,
) -> None:
    """T-7: only where it is the session's; one that another has become takes its place."""
    for name in ("ls *", "cat *", "pwd"):
        await store.rules.add("s", Rule("allow", "run", name))
    first, second, third = await store.rules.of("s")
    assert not await store.rules.change("none", first.id, Rule("deny", "run"))
    assert not await store.rules.remove("none", first.id)
    assert await store.rules.change("s", first.id, Rule("ask", "run", "ls -l"))
    assert [str(one.rule) for one in await store.rules.of("s")] == [
        "run(ls -l)",
        "run(cat *)",
        "run(pwd)",
    ]
    assert await store.rules.change("s", first.id, third.rule)
    assert await store.rules.of("s") == [replace(third, id=first.id), second]
    assert await store.rules.change("s", second.id, second.rule)
    assert await store.rules.remove("s", second.id)
    assert not await store.rules.remove("s", second.id)
    assert [one.rule for one in await store.rules.of("s")] == [third.rule]


async def test_epochs_begin_anew_and_keep_the_old(db: Database, store: SessionStore) -> None:
    """H-1, H-9: verbatim, in order, and never edited in place."""
    assert await store.native("s") is None
    first = await store.begin_epoch("s", "anthropic", "anthropic", "m", "sys", [{"b": 1}], [])
    await store.append_native("s", first, [{"z": 1, "a": {"y": 2, "b": [1.5, None, "é"]}}])
    await store.append_native("s", first, [])
    await store.append_native("s", first, [{"n": 2}, {"n": 3}])
    native = await store.native("s")
    assert native is not None
    assert (native.provider, native.system, native.tools) == ("anthropic", "sys", [{"b": 1}])
    assert json.dumps(native.items[0]) == '{"z": 1, "a": {"y": 2, "b": [1.5, null, "\\u00e9"]}}'
    assert native.items[1:] == [{"n": 2}, {"n": 3}]

    second = await store.begin_epoch("s", "openai", "responses", "n", "", [], [{"new": True}])
    native = await store.native("s")
    assert native is not None and native.epoch == second > first and native.items == [{"new": True}]
    old = await db.read(
        lambda c: c.execute("SELECT count(*) FROM native WHERE epoch = ?", (first,)).fetchone()
    )
    assert old == (3,)
    with pytest.raises(StorageError):
        await store.append_native("s", 99, [{}])


async def test_appending_native_items_stores_the_events_before_them(
    db: Database, store: SessionStore
) -> None:
    epoch = await store.begin_epoch("s", "a", "a", "m", "", [], [])
    store.journal("s").append(ev.TextDelta("first"))
    await store.append_native("s", epoch, [{"second": 2}])
    assert await db.read(lambda c: c.execute("SELECT count(*) FROM transcript").fetchone()) == (1,)


async def test_items_that_follow_events_are_stored_with_them_and_by_no_other_write(
    db: Database, store: SessionStore
) -> None:
    """H-5: who has the end of a step has its reply; what was said later counts as later."""
    epoch = await store.begin_epoch("s", "a", "a", "m", "", [], [])
    assert not store.append_native_soon("s", epoch, [{"early": 1}])  # no event waits
    journal = store.journal("s")
    journal.append(ev.TextDelta("fir"))
    assert store.append_native_soon("s", epoch, [{"first": 1}])
    journal.append(ev.TextDelta("st"))  # not joined with what the items came after
    assert store.append_native_soon("s", epoch, [{"second": 2}])
    journal.append(ev.Notice("later"))
    await db.write(lambda c: c.execute("ALTER TABLE native RENAME TO away") and None)
    with pytest.raises(StorageError):
        await journal.flush()
    assert await db.read(lambda c: c.execute("SELECT count(*) FROM transcript").fetchone()) == (0,)
    await db.write(lambda c: c.execute("ALTER TABLE away RENAME TO native") and None)
    await store.append_native("s", epoch, [{"third": 3}])
    native = await store.native("s")
    assert native is not None and not native.damage
    assert native.items == [{"first": 1}, {"second": 2}, {"third": 3}]
    assert native.events == 3

    journal.append(ev.TextDelta("more"))
    assert store.append_native_soon("s", epoch, [{"fourth": 4}])
    journal.append(ev.Notice("said after it"))
    await journal.flush()
    native = await store.native("s")
    assert native is not None and (len(native.items), native.events) == (4, 4)
    assert await store.events("s", 4) == [ev.Notice("said after it")]


@dataclass
class NewSession:
    """A session whose row waits for the first write, and a reader that sees what is on disk."""

    store: SessionStore
    db: Database

    async def rows(self, table: str) -> int:
        found = await self.db.rows(f"SELECT count(*) FROM {table} WHERE {ID[table]} = 'new'")
        return int(found[0][0])


ID = {"sessions": "id", "claims": "session_id", "transcript": "session_id", "native": "session_id"}


@pytest.fixture
async def new(db: Database, store: SessionStore, monkeypatch: pytest.MonkeyPatch) -> NewSession:
    for wait in ("FLUSH_AFTER", "RETRY_AFTER"):  # only what is asked for is written
        monkeypatch.setattr(journals, wait, HANG)
    await store.create(info("new"), held=True)
    assert not (await store.journal("new").claim()).running
    store.journal("new").append(started())
    return NewSession(store, db)


async def test_a_new_session_its_lock_and_its_first_words_are_one_write(new: NewSession) -> None:
    """S-3, H-1: nothing of it is on disk before, and all of it after; both or neither."""
    assert [await new.rows(table) for table in ID] == [0, 0, 0, 0]
    await new.store.begin_epoch("new", "p", "p", "m", "", [], [{"said": 1}])
    assert [await new.rows(table) for table in ID] == [1, 1, 1, 1]
    native = await new.store.native("new")
    assert native is not None and native.epoch == 1 and native.events == 1
    new.store.journal("new").release()
    await new.store.flush("new")
    assert await new.rows("claims") == 0


async def test_a_new_session_that_is_over_before_its_first_write_is_not_locked(
    new: NewSession,
) -> None:
    """S-3: nobody else knew of it, and an answer of the server waits for what it writes."""
    ran: list[str] = []
    await new.db.write(lambda c: c.set_trace_callback(ran.append))
    refuse = """CREATE TRIGGER refuse BEFORE INSERT ON transcript
        BEGIN SELECT raise(ABORT, 'no room'); END"""
    await new.db.execute(refuse)
    journal = new.store.journal("new")
    journal.append(ev.TurnComplete("done"))
    journal.release()
    with pytest.raises(StorageError):
        await journal.flush()
    await new.db.execute("DROP TRIGGER refuse")
    await journal.flush()
    assert [await new.rows(table) for table in ID] == [1, 0, 2, 0]
    assert not [one for one in ran if one.startswith("INSERT OR REPLACE INTO claims")]
    assert not (await journal.claim()).running  # the next turn locks it, as that of any session
    assert await new.rows("claims") == 1


async def test_what_was_said_and_answered_is_indexed_at_once(new: NewSession) -> None:
    """S-3: each statement makes a piece of the index of words, which has to be merged later."""
    ran: list[str] = []
    await new.db.write(lambda c: c.set_trace_callback(ran.append))
    for event in (ev.TextDelta("An answer."), ev.StepEnded(1, "end", Usage(), 0.1), ev.Notice("x")):
        new.store.journal("new").append(event)
    await new.store.flush("new")
    told = await new.db.rows("SELECT kind, text FROM said WHERE session_id = 'new' ORDER BY id")
    assert ("answer", "An answer.") in told and len(told) > 1
    assert len({one for one in ran if one.startswith("INSERT INTO said")}) == 1


async def test_a_new_session_that_goes_on_before_its_first_write_is_locked(
    new: NewSession,
) -> None:
    """H-1: what was released and claimed again meanwhile is this program's."""
    journal = new.store.journal("new")
    journal.append(ev.TurnComplete("done"))
    journal.release()
    assert not (await journal.claim()).running
    await journal.flush()
    assert [await new.rows(table) for table in ID] == [1, 1, 2, 0]


async def test_a_new_session_that_cannot_be_written_is_tried_again(new: NewSession) -> None:
    refuse = """CREATE TRIGGER refuse BEFORE INSERT ON native
        BEGIN SELECT raise(ABORT, 'no room'); END"""
    await new.db.execute(refuse)
    with pytest.raises(StorageError):
        await new.store.begin_epoch("new", "p", "p", "m", "", [], [{"said": 1}])
    assert [await new.rows(table) for table in ID] == [0, 0, 0, 0]
    await new.db.execute("DROP TRIGGER refuse")
    await new.store.begin_epoch("new", "p", "p", "m", "", [], [{"said": 1}])
    assert [await new.rows(table) for table in ID] == [1, 1, 1, 1]


ASKS: dict[str, Any] = {
    "get": lambda store: store.get("new"),
    "update": lambda store: store.update("new", title="Named"),
    "give_title": lambda store: store.give_title("new", "Named"),
    "members": lambda store: store.members(("new",)),
    "events": lambda store: store.events("new"),
    "close": lambda store: store.close(),
}


@pytest.mark.parametrize("asks", ASKS)
async def test_who_asks_for_a_new_session_finds_it(new: NewSession, asks: str) -> None:
    found = await ASKS[asks](new.store)
    assert found or asks in ("update", "close")
    kept = await new.store.get("new")
    assert kept is not None
    assert kept.title == ("Named" if asks in ("update", "give_title") else "A chat")


async def test_events_of_a_newer_version_are_left_out(db: Database, store: SessionStore) -> None:
    for event in (ev.TextDelta("a"), ev.Notice("b")):
        store.journal("s").append(event)
    await store.journal("s").flush()
    odd = ('{"event":"hologram","x":1}', "no json", "[1]", '{"event":"notice"}', "[" * 100_000)
    for number, body in enumerate(odd, 3):
        row = ("s", number, "t", 1.0, body)
        await db.write(
            lambda c, r=row: (
                c.execute(
                    """INSERT INTO transcript (session_id, seq, turn_id, at, body)
                    VALUES (?, ?, ?, ?, ?)""",
                    r,
                )
                and None
            )
        )
    store.journal("s").append(ev.Notice("c"))
    assert await store.events("s") == [ev.TextDelta("a"), ev.Notice("b"), ev.Notice("c")]


async def test_a_failed_write_is_reported_and_nothing_is_lost(tmp_path: Path, db: Database) -> None:
    store = SessionStore(db)
    await store.create(info())
    journal = store.journal("s")
    await db.write(lambda c: c.execute("ALTER TABLE transcript RENAME TO away") and None)
    journal.append(ev.TextDelta("a"))
    with pytest.raises(StorageError):
        await journal.flush()
    journal.append(ev.TextDelta("b"))
    journal.append(ev.Notice("c"))
    with pytest.raises(StorageError):
        await journal.close()
    assert not journal.closed and not journal.settled
    await db.write(lambda c: c.execute("ALTER TABLE away RENAME TO transcript") and None)
    await journal.close()
    assert "".join(e.text for e in await store.events("s") if isinstance(e, ev.TextDelta)) == "ab"
    with pytest.raises(StorageError, match="closed"):
        journal.append(ev.Notice("d"))


async def test_what_is_written_together_stays_so_after_a_failed_write(
    db: Database, store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What hears of it in the chats above is never without it, nor it without them (W-16)."""
    for wait in ("FLUSH_AFTER", "RETRY_AFTER"):  # only what is asked for is written
        monkeypatch.setattr(journals, wait, HANG)
    names = ("s", "above", "top", "other")
    for one in names[1:]:
        await store.create(info(one))
    child, above, top, other = (store.journal(one) for one in names)

    async def stored() -> set[str]:
        return {str(one) for (one,) in await db.rows("SELECT session_id FROM transcript")}

    await db.write(lambda c: c.execute("ALTER TABLE transcript RENAME TO away") and None)
    for first in (child, other):  # two children of the same chats
        for one in (first, above, top):
            one.append(ev.Notice("told"))
        first.write_with((above, top))
        with pytest.raises(StorageError):
            await first.flush()
    await db.write(lambda c: c.execute("ALTER TABLE away RENAME TO transcript") and None)
    await other.flush()
    assert await stored() == {*names} and all(one.settled for one in (child, above, top, other))
    other.append(ev.Notice("alone again"))
    above.append(ev.Notice("waits"))
    await other.flush()
    assert other.settled and not above.settled


async def test_a_deleted_chat_keeps_no_other_from_being_written(
    db: Database, store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program deleted the chat above: the child is stored without it (W-16)."""
    for wait in ("FLUSH_AFTER", "RETRY_AFTER"):
        monkeypatch.setattr(journals, wait, HANG)
    await store.create(info("above"))
    child, above = store.journal("s"), store.journal("above")
    await db.execute("DELETE FROM sessions WHERE id = 'above'")
    for one in (child, above):
        one.append(ev.Notice("told"))
    child.write_with((above,))
    with pytest.raises(StorageError, match="deleted"):
        await child.flush()
    await child.flush()
    assert await store.events("s") == [ev.Notice("told")]
    above.discard()


async def test_flush_waits_for_a_write_already_under_way_and_survives_cancelling(
    db: Database, store: SessionStore
) -> None:
    gate = threading.Event()
    blocked = asyncio.ensure_future(db.write(lambda c: gate.wait() and None))
    journal = store.journal("s")
    journal.append(ev.Notice("1"))
    waiting = [asyncio.create_task(journal.flush()) for _ in range(3)]
    await asyncio.sleep(0)
    journal.append(ev.Notice("2"))
    waiting[0].cancel()
    gate.set()
    await asyncio.gather(blocked, *waiting[1:])
    await journal.flush()
    assert await store.events("s") == [ev.Notice("1"), ev.Notice("2")]


async def test_flush_in_the_moment_between_a_write_and_its_news(
    db: Database, store: SessionStore
) -> None:
    """The write is done, the loop has not heard of it yet: ``flush`` must let it."""
    journal = store.journal("s")
    journal.append(started())
    journal._write()
    db.submit(lambda _: None).result(5)  # the writer takes one job after the other
    await asyncio.create_task(journal.flush())
    assert journal._stored == 1


async def test_an_event_that_cannot_be_stored_does_not_hold_up_the_others(
    store: SessionStore,
) -> None:
    deep: Any = "end"
    for _ in range(5000):
        deep = [deep]
    journal = store.journal("s")
    journal.append(ev.ToolQueued("c", "run", {"a": deep}, "\ud800"))
    journal.append(ev.StepEnded(1, "end", Usage(10**30), 1.0))
    journal.append(ev.Notice("after"))
    events = await store.events("s")
    assert isinstance(events[0], ev.Notice) and "could not be saved" in events[0].text
    assert events[1:] == [ev.StepEnded(1, "end", Usage(10**30), 1.0), ev.Notice("after")]


# --- search -----------------------------------------------------------------------------------


async def test_search_finds_titles_words_and_unfinished_words(store: SessionStore) -> None:
    await store.create(info("t", title="Größe of things"))
    journal = store.journal("s")
    for event in STORY:
        journal.append(event)
    for text in ("naïve café on the 3rd line", "x" * 500 + " needle " + "y" * 500, "数据库很快"):
        journal.append(started("u", text))
    await journal.flush()

    async def find(text: str) -> list[tuple[str, str, str]]:
        return [(hit.session_id, hit.kind, hit.line) for hit in await store.search(text)]

    assert await find("größ") == [("t", "title", "Größe of things")]
    assert await find("look pleas") == [("s", "said", "look around please")]
    assert await find("zeb") == [("s", "draft", "zebra")]
    assert await find("ls -l") == [("s", "call", "ls -l")]
    assert await find("README.md") == [("s", "result", "README.md")]
    assert await find("CAFE naive") == [("s", "said", "naïve café on the 3rd line")]
    assert await find("据库") == [("s", "said", "数据库很快")]
    ((_, _, line),) = await find("needle")
    assert "needle" in line and len(line) <= 170 and line[0] == line[-1] == "…"
    assert await find("ook") == [] and await find("absent") == [] and await find("  ") == []
    for odd in (
        '"',
        "a OR",
        "NEAR(",
        "text:",
        "-",
        "*",
        "a*b",
        "^a",
        '"a',
        "%",
        "\\",
        "\0",
        "\ud800",
    ):
        assert isinstance(await store.search(odd), list)
    assert await find("%") == [] and await find("{") == [("s", "call", '[1, {"x": null}]')]


async def test_filters_limit_a_search(store: SessionStore) -> None:
    """By agent, model, folder, tool, day and what a chat has; other words stay words."""
    day = datetime(2026, 11, 5, 12).timestamp()
    told = replace(info("t", title="Told by another"), agent="Deep Researcher", model="sonnet-4",
                   folder="/code/100%_atlas")  # fmt: skip
    await store.create(told)
    await store.create(replace(info("d", title="Of one day"), created=day, updated=day))
    told_of: list[Event] = [started("u", "look at a needle: foo:bar")]
    for session_id, story in (("s", STORY), ("t", told_of)):
        journal = store.journal(session_id)
        for event in story:
            journal.append(event)
        await journal.flush()

    async def find(text: str) -> list[str]:
        return sorted(hit.session_id for hit in await store.search(text))

    assert await find("look") == ["s", "t"]
    assert await find('look agent:"deep res"') == ["t"] == await find("agent:deep")
    assert await find("look MODEL:sonnet") == ["t"]
    assert await find("look folder:100%_at") == ["t"] and await find("folder:100_") == []
    assert await find("look tool:run") == ["s"] == await find("tool:run has:draft")
    assert await find("day after:2026-11-05 before:2026-11-06") == ["d"]
    assert await find("day after:2026-11-06") == [] == await find("day before:2026-11")
    assert await find("day after:2026") == ["d"] == await find("day before:2026-12")
    assert await find("foo:bar") == ["t"]  # no filter
    assert await find("look before:never") == []  # no day: a word that is not there
    assert await find("needle: agent:deep") == ["t"]
    assert await find("据 agent:deep") == []
    await store.update("d", archived=True, group_name="Long trips")
    assert await find("day in:archive") == ["d"] == await find('in:"long tr"')
    assert await find("day in:pinned") == [] and await find("in:archive has:e") == []
    assert await find("look has:") == ["s", "t"], "a value that is still to be typed"
    (hit,) = await store.search("foo:bar")
    assert (hit.agent, hit.line) == ("Deep Researcher", "look at a needle: foo:bar")
    assert 1.7e9 < hit.at <= time.time()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A loop and a database for all examples of a property."""

    @dataclass
    class Shared:
        runner: asyncio.Runner
        store: SessionStore
        number: int = 0

        def new(self) -> str:
            self.number += 1
            session_id = f"p{self.number}"
            self.runner.run(self.store.create(info(session_id)))
            return session_id

    with asyncio.Runner() as runner:
        database = Database(tmp_path_factory.mktemp("shared") / "s.db", MIGRATIONS)
        runner.run(database.open())
        yield Shared(runner, SessionStore(database))
        runner.run(database.close())


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(ANY_TEXT, JSON, max_size=5)


def strategy(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of a field of an event."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return st.sampled_from(parts)
    if origin in (Union, types.UnionType):
        return st.one_of([strategy(part) for part in parts])
    if origin is tuple:
        if parts[-1] is ...:
            return st.lists(strategy(parts[0]), max_size=3).map(tuple)
        return st.tuples(*map(strategy, parts))
    if origin is dict:
        return OBJECTS
    if hint is str:
        return ANY_TEXT
    if hint is int:
        return st.integers()
    if hint is float:
        return st.floats(allow_nan=False, allow_infinity=False)
    if hint is bytes:
        return st.binary(max_size=20)
    if hint is type(None):
        return st.none()
    if hint is bool:
        return st.booleans()
    return st.builds(hint, **{name: strategy(h) for name, h in get_type_hints(hint).items()})


EVENTS = st.lists(st.one_of([strategy(kind) for kind in get_args(Event)]), max_size=25)
RELAXED = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)  # fmt: skip


@RELAXED
@given(events=EVENTS, cuts=st.sets(st.integers(0, 24), max_size=3))
def test_any_events_come_out_as_they_went_in(
    shared: Any, events: list[Event], cuts: set[int]
) -> None:
    async def go(session_id: str) -> list[Event]:
        journal = shared.store.journal(session_id)
        for number, event in enumerate(events):
            journal.append(event)
            if number in cuts:
                await journal.flush()
        await journal.close()
        return await shared.store.events(session_id)

    # Where a flush fell between deltas they stay two rows; joined they are the same.
    kept = [event for event in events if not isinstance(event, ev.Silent)]
    assert joined(shared.runner.run(go(shared.new()))) == joined(kept)


@RELAXED
@given(
    batches=st.lists(st.lists(OBJECTS, max_size=4), max_size=4),
    tools=st.lists(OBJECTS),
    system=ANY_TEXT,
)
@example(batches=[], tools=[], system="\ud83d\ude00")
@example(batches=[[{"a": "\ud83d\ude00"}]], tools=[{"\ud83d\ude00": 1, "\ud83d": 2}], system="")
def test_any_native_items_come_out_verbatim(
    shared: Any, batches: list[list[Any]], tools: list[Any], system: str
) -> None:
    """H-1: key order too."""

    async def go(session_id: str) -> Any:
        epoch = await shared.store.begin_epoch(session_id, "p", "p", "m", system, tools, [])
        for items in batches:
            await shared.store.append_native(session_id, epoch, items)
        return await shared.store.native(session_id)

    native = shared.runner.run(go(shared.new()))
    assert json.dumps(native.items) == json.dumps([item for batch in batches for item in batch])
    assert json.dumps(native.tools) == json.dumps(tools) and json.dumps(
        native.system
    ) == json.dumps(system)
    assert native.damage == ""


@RELAXED
@given(text=ANY_TEXT, question=ANY_TEXT)
def test_any_text_can_be_searched_and_every_word_is_found(
    shared: Any, text: str, question: str
) -> None:
    async def go(session_id: str) -> None:
        journal = shared.store.journal(session_id)
        journal.append(started(text=f"{text} marker{session_id}"))
        await journal.close()
        await shared.store.search(question)
        hits = await shared.store.search(f"marker{session_id}")
        assert session_id in [hit.session_id for hit in hits]

    shared.runner.run(go(shared.new()))


# --- more than one process --------------------------------------------------------------------

STREAM = """
import asyncio, sys, time
from pathlib import Path
from studio.domain import events as ev
from studio.domain.messages import Text
from studio.storage.database import Database
from studio.storage.migrations import MIGRATIONS
from studio.storage.sessions import journal as journals
from studio.storage.sessions.store import SessionStore
async def main():
    db = Database(Path(sys.argv[1]), MIGRATIONS); await db.open()
    journal = SessionStore(db).journal("s")
    journal.append(ev.TurnStarted("s", "t", (Text("go"),), "Coder", "p", "m", "inline"))
    await journal.flush()
    print("ready", flush=True)
    while True:
        journal.append(ev.TextDelta(f"{time.monotonic()} "))
        await asyncio.sleep(0.004)
asyncio.run(main())
"""


def streaming(path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(STREAM), str(path)],
        cwd=ROOT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def last_stored(path: Path) -> float:
    """When the youngest word on disk was said."""
    reader = sqlite_reader(path)
    try:
        row = reader.execute("SELECT body FROM transcript ORDER BY seq DESC LIMIT 1").fetchone()
    finally:
        reader.close()
    event = json.loads(row[0])
    return float(event["text"].split()[-1]) if event["event"] == "text_delta" else 0.0


def sqlite_reader(path: Path) -> Any:
    import sqlite3

    return sqlite3.connect(path)


async def test_a_killed_program_loses_less_than_half_a_second(tmp_path: Path) -> None:
    """H-5: and the file opens, says which session was interrupted, and finds its words."""
    path = tmp_path / "s.db"
    db = Database(path, MIGRATIONS)
    await db.open()
    await SessionStore(db).create(info())
    await db.close()
    for _ in range(3):
        child = streaming(path)
        try:
            assert child.stdout is not None and child.stdout.readline() == "ready\n"
            stored = [last_stored(path)]
            # Written four times a second; on a busy computer only now and then.
            while len(stored) < 3 or stored[-1] - stored[-2] > 0.5:
                if (newest := last_stored(path)) > stored[-1]:
                    stored.append(newest)
                await asyncio.sleep(0.01)
        finally:
            child.kill()
            child.communicate()
        assert last_stored(path) >= stored[-1]

        db = Database(path, MIGRATIONS)
        await db.open()
        assert db.notice == ""
        store = SessionStore(db)
        assert await store.interrupted() == ["s"]
        events = await store.events("s")
        said = [e for e in events if isinstance(e, ev.TextDelta)]
        assert said and isinstance(events[0], ev.TurnStarted)
        # The block that was growing when the program died is found once the session goes on.
        store.journal("s").append(ev.TurnComplete("cancelled"))
        await store.close()
        last = said[-1].text.split()[-1]
        assert [hit.kind for hit in await store.search(last)] == ["answer"]
        assert await store.interrupted() == []
        await db.close()


async def test_window_and_command_line_share_the_file(db: Database, store: SessionStore) -> None:
    await store.create(info("mine"))
    child = streaming(db.path)
    try:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
        mine = store.journal("mine")
        for number in range(40):
            mine.append(ev.Notice(str(number)))
            await mine.flush()
        assert len(await store.events("mine")) == 40
        theirs = len(await store.events("s"))
        async with within():
            while len(await store.events("s")) <= theirs:
                await db.read(lambda c: None)
        assert await store.interrupted() == [], "a turn of a running program is not a crash"
        # Both in one session: nothing is overwritten.
        here = store.journal("s")
        here.append(ev.Notice("from the window"))
        await here.flush()
        assert ev.Notice("from the window") in await store.events("s")
    finally:
        child.kill()
        child.communicate()
    assert await store.interrupted() == ["s"]


async def test_a_turn_that_runs_here_is_not_interrupted(store: SessionStore) -> None:
    journal = store.journal("s")
    journal.append(started())
    await journal.flush()
    assert await store.interrupted() == []
    await journal.close()
    assert await store.interrupted() == ["s"]
