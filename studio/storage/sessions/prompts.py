"""Prompts: reads what the person wrote in all chats, the latest first."""

from __future__ import annotations

from sqlite3 import Connection

from studio.domain.events import TurnStarted
from studio.domain.messages import Text

from .event_log import read_event

# CAST and the check of the event's kind: the database may be damaged.
_QUERY = """SELECT said.id, transcript.body FROM said
    JOIN transcript ON transcript.session_id = said.session_id AND transcript.seq = said.seq
    JOIN sessions ON sessions.id = said.session_id
    WHERE said.kind = 'said' AND said.id < ? AND said.session_id <> ? AND sessions.deleted = 0
    AND sessions.caller = ''
    AND sessions.origin IN ('window', 'terminal') ORDER BY said.id DESC LIMIT ?"""


def read_prompts(db: Connection, before: int, but: str, most: int) -> tuple[list[str], int]:
    """Texts from before a place on, without those of one session; and the place to go on from.

    The place is 0 if there are no more.
    """
    rows = db.execute(_QUERY, (before, but, most)).fetchall()
    found: list[str] = []
    for _, body in rows:
        event = read_event(body)
        if isinstance(event, TurnStarted) and not event.by_agent:
            text = "\n\n".join(part.text for part in event.said if isinstance(part, Text))
            found.append(text)
    return [text for text in found if text.strip()], int(rows[-1][0]) if len(rows) == most else 0
