"""Projections: updates the tables of turns, usage, approvals and drafts from events."""

from __future__ import annotations

from sqlite3 import Connection

from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    DraftCreated,
    DraftResolved,
    Event,
    PermissionResolved,
    ReplyGiven,
    Routed,
    StepEnded,
    TurnComplete,
    TurnStarted,
)
from studio.domain.ledger import Sent

from . import audit_log
from .search import sanitise_text


def update_projections(
    db: Connection, session_id: str, owner: str, turn_id: str, at: float, event: Event
) -> None:
    """Update the tables by one more event of a turn that ``owner`` runs."""
    match event:
        case TurnStarted():
            _run(
                db,
                """INSERT INTO turns (session_id, turn_id, agent, provider, model, mode, owner,
                started) VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
                (session_id, turn_id, event.agent, event.provider, event.model, event.mode,
                 owner, at),
            )  # fmt: skip
            _state(db, session_id, "running", at)
            if not event.by_agent:
                db.execute(
                    "UPDATE sessions SET archived = 0 WHERE id = ? AND archived <> 0", (session_id,)
                )
        case TurnComplete():
            _run(
                db,
                """UPDATE turns SET ended = ?, reason = ?, detail = ?, steps = ?, seconds = ?
                WHERE id = (SELECT max(id) FROM turns WHERE session_id = ?)""",
                (at, event.reason, event.detail, event.steps, event.seconds, session_id),
            )
            _state(db, session_id, event.reason, at)
        case StepEnded():
            _add_usage(
                db, session_id, turn_id, at, event, (None, None, event.step), _sent(event.sent)
            )
        case Routed() if event.asked:
            provider, _, model = event.asked.partition("/")
            _add_usage(db, session_id, turn_id, at, event, (provider, model, 0), _sent(None))
        case AwaitingPermission():
            asked = event.question
            _run(
                db,
                """INSERT INTO approvals (session_id, turn_id, question_id, call_id, tool, title,
                detail, asked) VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
                (session_id, turn_id, asked.id, asked.call_id, asked.tool, asked.title,
                 asked.detail, at),
            )  # fmt: skip
            _state(db, session_id, "waiting", at)
        case PermissionResolved():
            _run(
                db,
                """UPDATE approvals SET resolved = ?, answer = ? WHERE id =
                (SELECT max(id) FROM approvals WHERE session_id = ? AND question_id = ?)""",
                (at, event.answer, session_id, event.question_id),
            )
            _resume(db, session_id)
        case AwaitingReply():
            _state(db, session_id, "waiting", at)
        case ReplyGiven():
            _resume(db, session_id)
        case DraftCreated():
            draft, about = event.draft, event.draft.describe()
            _run(
                db,
                """INSERT INTO drafts (session_id, turn_id, draft_id, call_id, path, status,
                detail, created, action, target, noun)
                VALUES (?, ?, ?, ?, ?, ?, '', ?, ?, ?, ?)""",
                (session_id, turn_id, draft.id, event.call_id, about.name, draft.status, at,
                 about.action, about.target, about.noun),
            )  # fmt: skip
        case DraftResolved():
            _run(
                db,
                """UPDATE drafts SET status = ?, detail = ?, resolved = ? WHERE id =
                (SELECT max(id) FROM drafts WHERE session_id = ? AND draft_id = ?)""",
                (event.status, event.detail, at, session_id, event.draft_id),
            )
        case _:
            pass
    audit_log.record(db, session_id, turn_id, at, event)


def _add_usage(
    db: Connection,
    session_id: str,
    turn_id: str,
    at: float,
    event: StepEnded | Routed,
    made_by: tuple[str | None, str | None, int],
    sent: tuple[str | float | None, ...],
) -> None:
    """Add a request; ``made_by`` is provider, model (None for the turn's own), and step."""
    used = event.usage
    _run(
        db,
        """INSERT INTO usage (session_id, turn_id, at, provider, model, step, input, cache_read,
        cache_write, output, reasoning, seconds, cost, agent, epoch, items, prefix, expected,
        broke, lost)
        SELECT ?1, ?2, ?3, coalesce(?4, max(provider), ''), coalesce(?5, max(model), ''), ?6, ?7,
        ?8, ?9, ?10, ?11, ?12, ?13, coalesce(max(agent), ''), ?14, ?15, ?16, ?17, ?18, ?19
        FROM turns WHERE id = (SELECT max(id) FROM turns WHERE session_id = ?1)""",
        (session_id, turn_id, at, *made_by, used.input, used.cache_read, used.cache_write,
         used.output, used.reasoning, event.seconds, event.cost, *sent),
    )  # fmt: skip


def _sent(sent: Sent | None) -> tuple[str | float | None, ...]:
    if sent is None:
        return (None,) * 6
    return sent.epoch, sent.items, sent.prefix, sent.expected, sent.broke, sent.lost


def _state(db: Connection, session_id: str, state: str, at: float) -> None:
    db.execute(
        "UPDATE sessions SET state = ?, updated = max(updated, ?) WHERE id = ?",
        (state, at, session_id),
    )


def _resume(db: Connection, session_id: str) -> None:
    """Set the state to running after an answer, unless the turn has ended."""
    db.execute(
        "UPDATE sessions SET state = 'running' WHERE id = ? AND state = 'waiting'", (session_id,)
    )


def _run(db: Connection, statement: str, values: tuple[str | float | None, ...]) -> None:
    """Execute with values made fit for SQLite, which refuses lone surrogates and huge numbers."""
    db.execute(statement, [_fitting(value) for value in values])


def _fitting(value: str | float | None) -> str | float | None:
    if isinstance(value, str):  # most need nothing
        return value if value.isascii() and value.isprintable() else sanitise_text(value)
    if isinstance(value, int):
        return max(-(2**63), min(value, 2**63 - 1))
    return value
