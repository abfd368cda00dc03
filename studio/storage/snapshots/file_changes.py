"""File changes: records each path that a turn changed, before and after (T-5)."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from sqlite3 import Connection

from studio.domain.records import dataclass
from studio.storage.database import Database

from .blob_store import UNDO_SECONDS
from .file_state import Change, FileState


@dataclass(frozen=True, slots=True)
class FileChange:
    """How a turn changed a path, from the first change to the last.

    ``sure`` is False where not only the turn may have changed it: somebody changed the
    path in between, or two turns ran commands at once. Such a path is never undone.
    """

    folder: str
    path: str
    before: FileState | None
    after: FileState | None
    sure: bool = True

    def then(self, change: Change, *, sure: bool) -> FileChange:
        """This change together with a later one of the same turn."""
        before, after = change
        known = before in (self.after, self.before)  # or it was reverted in between
        return FileChange(self.folder, self.path, self.before, after, self.sure and sure and known)


class FileChangeStore:
    """The table ``file_changes``. Every coroutine raises StorageError."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def record(
        self,
        session_id: str,
        turn_id: str,
        folder: str,
        changes: Mapping[str, Change],
        *,
        sure: bool = True,
    ) -> None:
        """Add what a turn changed; a path that is again as before the turn is removed."""

        def write(db: Connection) -> None:
            known = {change.path: change for change in _of_turn(db, session_id, turn_id, folder)}
            for path, change in changes.items():
                old = known.get(path)
                new = (
                    old.then(change, sure=sure)
                    if old
                    else FileChange(folder, path, *change, sure=sure)
                )
                key = (session_id, turn_id, os.fsencode(folder), os.fsencode(path))
                if new.sure and new.before == new.after:
                    db.execute(
                        """DELETE FROM file_changes WHERE session_id = ? AND turn_id = ?
                        AND folder = ? AND path = ?""",
                        key,
                    )
                else:
                    db.execute(
                        "INSERT OR REPLACE INTO file_changes VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                        (*key, _text(new.before), _text(new.after), new.sure, time.time()),
                    )

        if changes:
            await self._db.write(write)

    async def of_turn(self, session_id: str, turn_id: str) -> list[FileChange]:
        """What a turn changed, by path; empty for none, and after 30 days."""
        return await self._db.read(lambda db: _of_turn(db, session_id, turn_id))

    async def left_so(self, folder: str, states: Mapping[str, FileState | None]) -> bool:
        """Whether each of these paths of a folder is as some turn left it."""

        def read(db: Connection) -> bool:
            query = "SELECT 1 FROM file_changes WHERE folder = ? AND path = ? AND after = ? LIMIT 1"
            where = os.fsencode(folder)
            return all(
                db.execute(query, (where, os.fsencode(path), _text(state))).fetchone()
                for path, state in states.items()
            )

        return await self._db.read(read)

    async def expire(self) -> set[str]:
        """Delete what is too old to be undone; returns the digests of the rest."""

        def write(db: Connection) -> set[str]:
            db.execute("DELETE FROM file_changes WHERE at < ?", (time.time() - UNDO_SECONDS,))
            rows = db.execute("SELECT before, after FROM file_changes").fetchall()
            entries = [_entry(text) for row in rows for text in row]
            return {entry.digest for entry in entries if entry is not None and entry.digest}

        return await self._db.write(write)


def copy_changes(db: Connection, source: str, target: str, turn_id: str) -> None:
    """Copy a turn's changes into a branch, so that it can undo the turn."""
    db.execute(
        """INSERT OR IGNORE INTO file_changes SELECT ?, turn_id, folder, path, before, after, sure,
        at FROM file_changes WHERE session_id = ? AND turn_id = ?""",
        (target, source, turn_id),
    )


def _of_turn(
    db: Connection, session_id: str, turn_id: str, folder: str | None = None
) -> list[FileChange]:
    rows = db.execute(
        """SELECT folder, path, before, after, sure FROM file_changes
        WHERE session_id = ? AND turn_id = ? ORDER BY folder, path""",
        (session_id, turn_id),
    ).fetchall()
    found = [
        FileChange(os.fsdecode(where), os.fsdecode(path), _entry(before), _entry(after), bool(sure))
        for where, path, before, after, sure in rows
    ]
    return [change for change in found if folder in (None, change.folder)]


def _text(entry: FileState | None) -> str:
    return "" if entry is None else str(entry)


def _entry(text: str) -> FileState | None:
    return FileState.parse(text) if text else None
