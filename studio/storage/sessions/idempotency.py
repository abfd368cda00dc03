"""Idempotency: recognises a repeated request of a client, or a file imported before."""

from __future__ import annotations

from sqlite3 import Connection

from studio.domain.records import dataclass
from studio.storage.database import Database

KEPT_SECONDS = 24 * 3600.0
KEPT_REQUESTS = 1_000


@dataclass(frozen=True, slots=True)
class IdempotencyRow:
    """A known request: the digest of its body, its first arrival, and where it was answered.

    ``at`` is in seconds since the epoch; the ids are empty as long as no turn has begun.
    ``turn_id`` alone is empty where the program ended during the answer, and nothing of
    it is kept: then nobody knows what was done.
    """

    body: str
    at: float
    session_id: str = ""
    turn_id: str = ""


class IdempotencyStore:
    """Requests with an ``Idempotency-Key``, in the table ``requests``: digests and ids.

    A row is kept for a day, whatever becomes of its session. The table ``passing`` has the
    sessions that are deleted after their answer. Every coroutine raises StorageError.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    async def begin(self, key: str, body: str, now: float) -> IdempotencyRow:
        """The row of this key; a new one if there was none. ``key`` and ``body`` are digests."""

        def found_or_new(db: Connection) -> IdempotencyRow:
            db.execute("DELETE FROM requests WHERE at < ?", (now - KEPT_SECONDS,))
            query = "SELECT body, at, session_id, turn_id FROM requests WHERE key = ?"
            if row := db.execute(query, (key,)).fetchone():
                return IdempotencyRow(*row)
            db.execute("INSERT INTO requests (key, body, at) VALUES (?, ?, ?)", (key, body, now))
            db.execute(
                """DELETE FROM requests WHERE key NOT IN
                (SELECT key FROM requests ORDER BY at DESC, rowid DESC LIMIT ?)""",
                (KEPT_REQUESTS,),
            )
            return IdempotencyRow(body, now)

        return await self._db.write(found_or_new)

    def answered_in(self, key: str, session_id: str, turn_id: str) -> None:
        """Note where a request is answered; stored before anything the turn writes later."""
        query = "UPDATE requests SET session_id = ?, turn_id = ? WHERE key = ?"
        self._db.submit(lambda db: db.execute(query, (session_id, turn_id, key)) and None)

    async def mark_temporary(self, session_id: str) -> None:
        """Have a session deleted after its answer, or else when the server starts again."""
        query = "INSERT OR REPLACE INTO passing VALUES (?, ?)"
        await self._db.execute(query, session_id, self._db.owner)

    async def leftover_temporary(self) -> list[str]:
        """Temporary sessions whose program ended before it deleted them."""
        rows = await self._db.rows("SELECT session_id, owner FROM passing")
        alive = await self._db.alive({owner for _, owner in rows})
        return [session_id for session_id, owner in rows if owner not in alive]

    async def mark_interrupted(self, session_id: str) -> None:
        """Note that the answer in this session ended with its program, and will not be kept."""
        await self._db.execute("UPDATE requests SET turn_id = '' WHERE session_id = ?", session_id)


class ImportLog:
    """Imported files by the digest of their content, so that none is imported twice.

    A file is forgotten with its session. Every coroutine raises StorageError.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    async def session(self, digest: str) -> str:
        """The id of the session that the file became; empty if there is none any more."""
        query = """SELECT session_id FROM imports JOIN sessions ON id = session_id
            WHERE digest = ? AND deleted = 0"""
        rows = await self._db.rows(query, digest)
        return str(rows[0][0]) if rows else ""

    async def note(self, digest: str, session_id: str) -> None:
        """Remember which session the file became."""
        await self._db.execute("INSERT OR REPLACE INTO imports VALUES (?, ?)", digest, session_id)
