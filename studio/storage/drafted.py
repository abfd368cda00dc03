"""The lists of drafts: what waits for the person, and what became of the rest."""

from __future__ import annotations

from sqlite3 import Connection

from studio.domain.sessions import DraftEntry

_OPEN = "('waiting', 'conflict')"
_DONE = "('approved', 'discarded', 'undone')"


def list_drafts(db: Connection, session_id: str, done: bool, limit: int) -> tuple[DraftEntry, ...]:
    """Newest first: by when they were made, or when they were decided."""
    states, order = (_DONE, "d.resolved") if done else (_OPEN, "d.created")
    rows = db.execute(
        f"""SELECT s.id, CAST(s.title AS TEXT), s.agent, CAST(s.folder AS TEXT), d.draft_id,
        CAST(d.path AS TEXT), d.action, CAST(d.target AS TEXT), d.status,
        CAST(d.detail AS TEXT), d.created, d.resolved
        FROM drafts d JOIN sessions s ON s.id = d.session_id
        WHERE d.status IN {states} AND (?1 = '' OR s.id = ?1)
        ORDER BY {order} DESC, d.id DESC LIMIT ?2""",
        (session_id, limit),
    )
    return tuple(DraftEntry(*row) for row in rows)
