"""Databases of earlier versions open, and their chats go on where they ended (H-5)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from studio.agent.session.session import Session
from studio.domain.blocks import DraftBlock, TextBlock, ToolBlock
from studio.domain.events import HistoryBegun, Notice, TurnComplete
from studio.simulator import Call, Turn
from studio.simulator import Text as Words
from studio.storage.migrations import LATEST, MIGRATIONS, _checksum
from studio.storage.sessions.audit_log import AuditFilter
from studio.storage.sessions.idempotency import IdempotencyRow, IdempotencyStore, ImportLog
from support.engine_home import PROTOCOLS, EngineHome, engine_home, say

TABLES = (
    *("sessions", "rules", "turns", "epochs", "native"),
    *("approvals", "usage", "drafts", "said"),
)
NEW_EVENTS = ("exposed", "files_changed", "files_restored", "routed", "summarised", "pinned")
NEW_FIELDS = {
    "tool_started": ("allowed_by",),
    "step_ended": ("beside",),
    "turn_complete": ("cap",),
    "question": ("why", "covers"),
    "draft": ("action", "target"),
}


DOORS = ("origin", "instructions")
"""Columns of a session that step 4 added."""


def before_doors(new: Path, old: Path) -> None:
    """Write what ``new`` holds as the version of step 3 would have written it."""
    with closing(sqlite3.connect(new)) as source, closing(sqlite3.connect(old)) as db, db:
        for step in MIGRATIONS[:3]:
            step(db)
        db.execute("PRAGMA user_version = 3")
        for table in (*TABLES, "transcript", "file_changes", "audit"):
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            assert not {*columns} & {*DOORS}
            names, marks = ", ".join(columns), ", ".join("?" * len(columns))
            rows = source.execute(f"SELECT {names} FROM {table}").fetchall()
            db.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)


def aged(new: Path, old: Path) -> None:
    """Write what ``new`` holds as the version of step 2 would have written it."""
    with closing(sqlite3.connect(new)) as source, closing(sqlite3.connect(old)) as db, db:
        for step in MIGRATIONS[:2]:
            step(db)
        db.execute("PRAGMA user_version = 2")
        for table in TABLES:
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            names = ", ".join(columns)
            marks = ", ".join("?" * len(columns))
            rows = source.execute(f"SELECT {names} FROM {table}").fetchall()
            db.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)
        calls = source.execute(
            """SELECT session_id, turn_id, call_id, tool, arguments, target, effect, at, finished,
            state <> 'done', seconds, summary FROM audit ORDER BY id"""
        ).fetchall()
        db.executemany(
            """INSERT INTO tool_calls (session_id, turn_id, call_id, name, arguments, target,
            effect, queued, finished, is_error, seconds, summary)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            calls,
        )
        _old_events(source, db)


def _old_events(source: sqlite3.Connection, db: sqlite3.Connection) -> None:
    """Without what no event had by then."""
    rows = source.execute("SELECT session_id, turn_id, at, body FROM transcript ORDER BY seq")
    seq = 0
    for session_id, turn_id, at, body in rows.fetchall():
        event = json.loads(body)
        if event["event"] in NEW_EVENTS:
            continue
        seq += 1
        for kind, names in NEW_FIELDS.items():
            inner = event if event["event"] == kind else event.get(kind, {})
            for name in names:
                inner.pop(name, None)
        text = json.dumps(event, ensure_ascii=False)
        total = _checksum(seq, turn_id, text)
        values = (session_id, seq, turn_id, at, text, total)
        db.execute("INSERT INTO transcript VALUES (?, ?, ?, ?, ?, ?)", values)


async def only(home: EngineHome) -> Session:
    (info,) = await home.engine.sessions.list()
    return await home.engine.sessions.open(info.id)


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_a_chat_of_step_2_opens_and_goes_on(tmp_path: Path, provider: str) -> None:
    script = [
        Turn(
            Call("read", {"path": "a.txt"}),
            Call("run", {"command": "true"}),
            Call("edit", {"path": "a.txt", "old": "alpha", "new": "beta"}),
            stop="tool_use",
        ),
        Turn(Words("One.")),
    ]
    database = tmp_path / "studio" / "studio.db"
    async with engine_home(tmp_path, provider, script) as home:
        (home.folder / "a.txt").write_text("alpha\n")
        await say(await home.session(), answer="once")
    put_back(database, aged)

    async with engine_home(tmp_path, provider, [Turn(Words("Two."))] * 2) as home:
        session = await only(home)
        assert not session.damage and not session.transcript.exposed
        kinds = [type(block) for block in session.transcript.blocks]
        assert kinds.count(ToolBlock) == 3 and DraftBlock in kinds and TextBlock in kinds
        events = await say(session)
        end = events[-1]
        assert isinstance(end, TurnComplete) and end.reason == "done"
        # The stored history is gone on with: nothing begins anew, nothing is repaired.
        assert not any(isinstance(event, HistoryBegun | Notice) for event in events)
        (draft,) = session.drafts.waiting()
        assert (draft.action, draft.target) == ("write", "")
        assert await session.review.decide(draft.id, "approve") == "approved"
        assert (home.folder / "a.txt").read_text() == "beta\n"
        audit = await home.engine.store.audit(AuditFilter(session_id=session.info.id))
        assert sorted(entry.tool for entry in audit) == ["edit", "read", "run"]
        restored = await session.undo_turn(draft_turn(session))
        assert restored.paths == ("a.txt",) and not restored.left
        assert (home.folder / "a.txt").read_text() == "alpha\n"
        assert not home.simulator.violations
    with closing(sqlite3.connect(database)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (LATEST,)


def put_back(database: Path, older: Callable[[Path, Path], None]) -> None:
    """Put the database in the shape of an older version."""
    old = database.with_name("old.db")
    older(database, old)
    for companion in ("-wal", "-shm"):
        database.with_name(database.name + companion).unlink(missing_ok=True)
    old.replace(database)


async def test_a_database_of_step_3_knows_the_doors(tmp_path: Path) -> None:
    """H-5, S-1: its chats came through the window, and other programs can ask and be known."""
    database = tmp_path / "studio" / "studio.db"
    async with engine_home(tmp_path, "anthropic", [Turn(Words("One."))]) as home:
        await say(await home.session())
    put_back(database, before_doors)

    async with engine_home(tmp_path, "anthropic", [Turn(Words("Two."))]) as home:
        session = await only(home)
        assert (session.info.origin, session.info.instructions) == ("window", "")
        await session.change(agent="Nobody")
        await say(session, "Not answered")
        await session.change(agent="Coder")
        events = await say(session)
        assert str(home.asked[-1].json).count("Not answered") == 1
        assert events[-1].reason == "done" and not session.damage  # type: ignore[union-attr]
        engine, session_id = home.engine, session.info.id
        assert not await engine.questions.has_window()
        await engine.questions.register()
        assert await engine.questions.has_window() and await engine.questions.waiting() == []
        requests = IdempotencyStore(engine.database)
        assert not (await requests.begin("key", "body", 1.0)).session_id
        requests.answered_in("key", session_id, session.transcript.turn_id)
        assert (await requests.begin("key", "body", 2.0)).session_id == session_id
        imports = ImportLog(engine.database)
        await imports.note("digest", session_id)
        assert await imports.session("digest") == session_id
        await engine.sessions.delete(session_id)
        assert await imports.session("digest") == ""
        assert (await requests.begin("key", "another", 3.0)).session_id == session_id
        assert await requests.begin("two", "another", 3.0) == IdempotencyRow("another", 3.0)
    with closing(sqlite3.connect(database)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (LATEST,)


def draft_turn(session: Session) -> str:
    return next(b.turn_id for b in session.transcript.blocks if isinstance(b, DraftBlock))
