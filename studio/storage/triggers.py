"""Trigger store: which triggers of workflows are switched on, and how far they have come (W-9).

A trigger belongs to a text of a file: of another text nothing is switched on. Several programs
look at the same triggers; the one that brings a mark forward begins the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Connection

from .database import Database

_WHERE = "source = ? AND folder = ? AND number = ? AND digest = ? AND seen = ? AND files = ?"


@dataclass(frozen=True, slots=True)
class TriggerMark:
    """One trigger that is on, by the file, its ``folder`` of work and its place in the file.

    All times until ``seen`` are dealt with, in seconds since the epoch, and so is the state
    ``files`` of the files that it looks at. On the day ``day`` it has begun ``begun`` runs.
    """

    source: str
    folder: str
    number: int
    digest: str
    seen: float
    files: str = ""
    day: str = ""
    begun: int = 0

    def begun_on(self, day: str) -> int:
        return self.begun if self.day == day else 0


class TriggerStore:
    """The table ``triggers``. Every coroutine raises StorageError."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def all(self) -> list[TriggerMark]:
        rows = await self._db.rows(
            """SELECT source, folder, number, digest, seen, files, day, begun FROM triggers
            ORDER BY source, folder, number"""
        )
        return [TriggerMark(*row) for row in rows]

    async def switch_on(self, marks: list[TriggerMark]) -> None:
        """Switch on the triggers of one file; what was on of it before is not any more."""

        def write(db: Connection) -> None:
            first = marks[0]
            _remove(db, first.source, first.folder, "")
            db.executemany(
                "INSERT INTO triggers VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (*(one.source, one.folder, one.number, one.digest),
                     *(one.seen, one.files, one.day, one.begun))
                    for one in marks
                ],
            )  # fmt: skip

        await self._db.write(write)

    async def switch_off(self, source: str, folder: str, digest: str = "") -> bool:
        """Switch off what is on of a file, with a ``digest`` only of this text of it.

        False if nothing was on.
        """
        return await self._db.write(lambda db: _remove(db, source, folder, digest))

    async def advance(self, mark: TriggerMark, seen: float, files: str = "") -> bool:
        """Bring a mark forward without a run; False if another program has done it."""
        return await self._db.write(lambda db: _advance(db, mark, seen, files))

    async def claim(self, mark: TriggerMark, seen: float, files: str, day: str, most: int) -> bool:
        """Bring a mark forward and count a run of this day.

        False if another program has done it, or the day has had ``most`` runs.
        """

        def write(db: Connection) -> bool:
            if not _advance(db, mark, seen, files):
                return False
            query = """UPDATE triggers SET day = ?1,
                begun = CASE WHEN day = ?1 THEN begun ELSE 0 END + 1
                WHERE source = ?2 AND folder = ?3 AND number = ?4 AND (day <> ?1 OR begun < ?5)"""
            values = (day, mark.source, mark.folder, mark.number, most)
            return db.execute(query, values).rowcount > 0

        return await self._db.write(write)


def _advance(db: Connection, mark: TriggerMark, seen: float, files: str) -> bool:
    query = f"UPDATE triggers SET seen = ?, files = ? WHERE {_WHERE}"
    where = (mark.source, mark.folder, mark.number, mark.digest, mark.seen, mark.files)
    return db.execute(query, (seen, files, *where)).rowcount > 0


def _remove(db: Connection, source: str, folder: str, digest: str) -> bool:
    query = "DELETE FROM triggers WHERE source = ?1 AND folder = ?2 AND ?3 IN ('', digest)"
    return db.execute(query, (source, folder, digest)).rowcount > 0
