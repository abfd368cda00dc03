"""Import log: remembers which files were imported, so that none is imported twice."""

from __future__ import annotations

from sqlite3 import Connection

from studio.storage.database import Database


class ImportLog:
    """By the digest of what was in the file; forgotten with the session. Raises StorageError."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def session(self, digest: str) -> str:
        """The id of the session that was made of it; empty if there is none."""

        def read(db: Connection) -> str:
            query = "SELECT session_id FROM imports WHERE digest = ?"
            row = db.execute(query, (digest,)).fetchone()
            return str(row[0]) if row else ""

        return await self._db.read(read)

    async def note(self, digest: str, session_id: str) -> None:
        """Remember that this session was made of it."""

        def write(db: Connection) -> None:
            db.execute("INSERT OR REPLACE INTO imports VALUES (?, ?)", (digest, session_id))

        await self._db.write(write)
