"""Requests of the server's clients, known again when they are repeated (``Idempotency-Key``)."""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Connection

from .database import Database

KEPT_SECONDS = 24 * 3600.0
KEPT_REQUESTS = 1_000


@dataclass(frozen=True, slots=True)
class RequestRow:
    """What is known of a request: the digest of its body, when it first came, where it was
    answered.

    ``at`` is in seconds since the epoch; the ids are empty as long as no turn has begun.
    """

    body: str
    at: float
    session_id: str = ""
    turn_id: str = ""


class RequestStore:
    """Table ``requests``; a row goes with its session, and after a day."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def begin(self, key: str, body: str, now: float) -> RequestRow:
        """The row of this key; a new one if there was none.

        ``key`` and ``body`` are digests. Raises StorageError.
        """

        def found_or_new(db: Connection) -> RequestRow:
            db.execute("DELETE FROM requests WHERE at < ?", (now - KEPT_SECONDS,))
            query = "SELECT body, at, session_id, turn_id FROM requests WHERE key = ?"
            if row := db.execute(query, (key,)).fetchone():
                return RequestRow(str(row[0]), float(row[1]), row[2] or "", row[3] or "")
            db.execute("INSERT INTO requests (key, body, at) VALUES (?, ?, ?)", (key, body, now))
            db.execute(
                """DELETE FROM requests WHERE key NOT IN
                (SELECT key FROM requests ORDER BY at DESC, rowid DESC LIMIT ?)""",
                (KEPT_REQUESTS,),
            )
            return RequestRow(body, now)

        return await self._db.write(found_or_new)

    def answered_in(self, key: str, session_id: str, turn_id: str) -> None:
        """Say where a request is answered; written before anything that the turn writes later."""
        query = "UPDATE requests SET session_id = ?, turn_id = ? WHERE key = ?"
        self._db.submit(lambda db: db.execute(query, (session_id, turn_id, key)) and None)
