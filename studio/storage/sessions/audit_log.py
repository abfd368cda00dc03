"""Audit log: records each call of a tool in one row, whoever made it (L-15).

Rows are written in the transaction of the events that they come from. Arguments and summaries
are stored without secrets. A row stays when its session is deleted, with the session's title.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from sqlite3 import Connection
from typing import Any, Literal, TypeAlias, cast

from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    CallChanged,
    DraftCreated,
    DraftResolved,
    Event,
    PermissionResolved,
    ReplyGiven,
    ToolFinished,
    ToolQueued,
    ToolStarted,
    TurnComplete,
)
from studio.domain.jsonvalue import JsonObject
from studio.domain.ledger import canonical_json
from studio.domain.records import dataclass
from studio.domain.redaction import arguments_without_secrets, without_secrets

from .search import sanitise_text
from .search_filters import escape_like

AuditState: TypeAlias = Literal[
    "queued", "waiting", "running", "done", "error", "denied", "refused", "cancelled"
]
"""``denied``: the person said no, or nobody could be asked. ``refused``: the call never
began, because a rule forbids it or it was wrong; the summary says which.
``cancelled``: the turn ended first."""
PAGE = 500
_COLUMNS = (
    "a.id, a.at, a.session_id, coalesce(s.title, a.title), a.turn_id, a.call_id, a.agent, a.tool, "
    "a.effect, a.target, a.arguments, a.state, a.summary, a.seconds, a.decided_by, a.decided_at, "
    "a.draft, a.draft_at"
)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One call. Times are seconds since the epoch, None where nothing happened yet.

    ``decided_by`` says who or what allowed or refused it, at ``decided_at``:
    “you, once”, “your rule run(pytest *)”. ``draft`` is the status of the draft that it
    proposed, changed at ``draft_at``; empty where it proposed none.
    """

    id: int
    at: float
    session_id: str
    title: str
    turn_id: str
    call_id: str
    agent: str
    tool: str
    effect: str
    target: str
    arguments: JsonObject
    state: AuditState
    summary: str
    seconds: float | None
    decided_by: str
    decided_at: float | None
    draft: str
    draft_at: float | None

    def to_json(self) -> JsonObject:
        return cast("JsonObject", asdict(self))


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which calls; a field that is empty, or 0, matches all.

    From the time ``since`` on and before ``until``. ``text`` is searched for in tool, target,
    arguments, summary, agent, title and ``decided_by``, case-insensitively.
    """

    session_id: str = ""
    tool: str = ""
    agent: str = ""
    states: tuple[AuditState, ...] = ()
    since: float = 0.0
    until: float = 0.0
    text: str = ""


EVERYTHING = AuditFilter()


def record(db: Connection, session_id: str, turn_id: str, at: float, event: Event) -> None:
    """Bring the audit up to one more event (in the writer's transaction)."""
    match event:
        case ToolQueued():
            arguments = arguments_without_secrets(event.arguments)
            texts = (session_id, turn_id, event.call_id, event.name, event.effect)
            texts += (without_secrets(event.target), canonical_json(arguments))
            db.execute(
                """INSERT INTO audit (session_id, turn_id, call_id, tool, effect, target, arguments,
                at, agent, state) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, coalesce(max(agent), ''),
                'queued' FROM turns WHERE id = (SELECT max(id) FROM turns WHERE session_id = ?1)""",
                (*map(sanitise_text, texts), at),
            )
            if event.external:
                client = "state = 'running', decided_by = 'the client', decided_at = ?"
                _change(db, session_id, event.call_id, client, at)
        case CallChanged():
            arguments = canonical_json(arguments_without_secrets(event.arguments))
            texts = map(sanitise_text, (without_secrets(event.target), arguments))
            _change(db, session_id, event.call_id, "target = ?, arguments = ?", *texts)
        case ToolStarted():
            started = "state = 'running', decided_by = ?, decided_at = coalesce(decided_at, ?)"
            _change(db, session_id, event.call_id, started, _shown(event.allowed_by), at)
        case ToolFinished():
            finished = """finished = ?, seconds = ?, summary = ?, state = CASE
                WHEN state = 'denied' THEN state
                WHEN ? = 0 THEN 'done' WHEN state = 'running' THEN 'error' ELSE 'refused' END"""
            values = (at, event.seconds, _shown(event.summary), event.is_error)
            _change(db, session_id, event.call_id, finished, *values)
            if event.refused_by:
                refused = "decided_by = ?, decided_at = ?"
                _change(db, session_id, event.call_id, refused, _shown(event.refused_by), at)
        case AwaitingPermission():
            # A call that has begun is not asked about: its child asks.
            waits = "state = CASE WHEN decided_at IS NULL THEN 'waiting' ELSE state END"
            _change(db, session_id, event.question.call_id, waits)
        case PermissionResolved():
            denied = event.answer == "deny"
            db.execute(
                """UPDATE audit SET state = ?, decided_by = ?, decided_at = ? WHERE id = (
                SELECT max(a.id) FROM audit a JOIN approvals q ON q.session_id = a.session_id
                AND q.call_id = a.call_id WHERE q.session_id = ? AND q.question_id = ?)
                AND state = 'waiting'""",
                ("denied" if denied else "queued",
                 sanitise_text(event.by or "you") if denied else "",
                 at, session_id, event.question_id),
            )  # fmt: skip
        case AwaitingReply():
            _change(db, session_id, event.call_id, "state = 'waiting'")
        case ReplyGiven():
            _change(db, session_id, event.call_id, "state = 'running'")
        case DraftCreated():
            _change(db, session_id, event.call_id, "draft = ?", event.draft.status)
        case DraftResolved():
            db.execute(
                """UPDATE audit SET draft = ?, draft_at = ? WHERE id = (
                SELECT max(a.id) FROM audit a JOIN drafts d ON d.session_id = a.session_id
                AND d.turn_id = a.turn_id AND d.call_id = a.call_id
                WHERE d.session_id = ? AND d.draft_id = ?)""",
                (event.status, at, session_id, event.draft_id),
            )
        case TurnComplete() if event.reason != "handed_over":
            # A question that ends with its turn was not denied by the person.
            db.execute(
                """UPDATE audit SET state = 'cancelled', decided_by = CASE WHEN state = 'denied'
                THEN '' ELSE decided_by END WHERE session_id = ? AND finished IS NULL
                AND state != 'cancelled'""",
                (session_id,),
            )
        case _:
            pass


def _change(
    db: Connection, session_id: str, call_id: str, changes: str, *values: str | float
) -> None:
    """Change the row of a session's newest call with this id."""
    query = f"""UPDATE audit SET {changes} WHERE id =
        (SELECT max(id) FROM audit WHERE session_id = ? AND call_id = ?)"""
    db.execute(query, (*values, session_id, call_id))


def _shown(text: str) -> str:
    return sanitise_text(without_secrets(text))


def read(
    db: Connection,
    wanted: AuditFilter,
    *,
    beyond: int = 0,
    limit: int = PAGE,
    newest_first: bool = True,
) -> list[AuditEntry]:
    """A page of calls; ``beyond`` is the last id of the page before, 0 for the first page."""
    where, values = _where(wanted)
    if beyond:
        where.append("a.id < ?" if newest_first else "a.id > ?")
        values.append(beyond)
    rows = db.execute(
        f"""SELECT {_COLUMNS} FROM audit a LEFT JOIN sessions s ON s.id = a.session_id
        WHERE {" AND ".join(where)} ORDER BY a.id {"DESC" if newest_first else ""} LIMIT ?""",
        (*values, limit),
    )
    return [_entry(row) for row in rows]


def count(db: Connection, wanted: AuditFilter) -> int:
    """How many calls match a filter."""
    where, values = _where(wanted)
    found = db.execute(
        f"""SELECT count(*) FROM audit a LEFT JOIN sessions s ON s.id = a.session_id
        WHERE {" AND ".join(where)}""",
        values,
    )
    return int(found.fetchone()[0])


def sessions(db: Connection, start: str) -> list[str]:
    """The sessions with calls whose id begins with ``start``."""
    rows = db.execute(
        "SELECT DISTINCT session_id FROM audit WHERE session_id LIKE ? ESCAPE '\\'",
        (f"{escape_like(sanitise_text(start))}%",),
    )
    return [str(row[0]) for row in rows]


def _where(wanted: AuditFilter) -> tuple[list[str], list[str | float]]:
    where: list[str] = ["1"]
    values: list[str | float] = []

    def put(condition: str, *given: str | float) -> None:
        where.append(condition)
        values.extend(given)

    for column in ("session_id", "tool", "agent"):
        if value := getattr(wanted, column):
            put(f"a.{column} = ?", value)
    if wanted.states:
        put(f"a.state IN ({', '.join('?' * len(wanted.states))})", *wanted.states)
    if wanted.since:
        put("a.at >= ?", wanted.since)
    if wanted.until:
        put("a.at < ?", wanted.until)
    for word in wanted.text.split():
        like = "%" + escape_like(sanitise_text(word)) + "%"
        columns = ("a.tool", "a.target", "a.arguments", "a.summary", "a.agent", "a.decided_by")
        named = " OR ".join(f"{column} LIKE ? ESCAPE '\\'" for column in columns)
        put(f"({named} OR coalesce(s.title, a.title) LIKE ? ESCAPE '\\')", *[like] * 7)
    return where, values


def _entry(row: Sequence[Any]) -> AuditEntry:
    """A row, with unreadable arguments as text: a damaged row must not hide the others."""
    try:
        found = json.loads(row[10])
    except (ValueError, TypeError, RecursionError):
        found = None
    whole = cast("JsonObject", found) if isinstance(found, dict) else {"arguments": str(row[10])}
    cells: list[Any] = [*row[:10], whole, *row[11:]]
    return AuditEntry(*cells)
