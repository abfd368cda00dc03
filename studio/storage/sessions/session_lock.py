"""Session lock: lets one program at a time work in a session.

A lock is a row, written in one transaction with the check of what others do. One
whose program has ended (see ``process_registry``) does not count, and neither does a
turn without an end that such a program left behind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from sqlite3 import Connection

from studio.domain.errors import StorageError


@dataclass(frozen=True, slots=True)
class ExternalActivity:
    """What other programs do with a session.

    ``running``: one has a turn in it, or has taken it. ``changed``: one has
    added to it since it was opened here, as far as is known here what there was.
    """

    running: bool
    changed: bool


def read_lock_state(db: Connection, session_id: str) -> tuple[int, str, str]:
    """The number of a session's newest event, whose turn has no end, and who has taken it."""
    newest, turns, claims = db.execute(
        """SELECT (SELECT max(seq) FROM transcript WHERE session_id = ?1),
        (SELECT CASE WHEN reason IS NULL THEN owner END FROM turns WHERE session_id = ?1
        ORDER BY id DESC LIMIT 1), (SELECT owner FROM claims WHERE session_id = ?1)""",
        (session_id,),
    ).fetchone()
    return newest or 0, turns or "", claims or ""


def acquire_lock(
    session_id: str,
    owner: str,
    known: int | None,
    living: Callable[[set[str]], set[str]],
    db: Connection,
) -> ExternalActivity:
    """Claim the session for ``owner``, unless something happens or happened elsewhere.

    ``known`` is the number of the newest event that ``owner`` knows, None where
    it does not know. ``living`` are those of some programs that still run.
    Raises StorageError if the session is gone.
    """
    newest, *owners = read_lock_state(db, session_id)
    theirs = {*owners} - {"", owner}
    found = ExternalActivity(bool(theirs and living(theirs)), known is not None and newest != known)
    if not (found.running or found.changed):
        taken = db.execute(
            "INSERT OR REPLACE INTO claims SELECT id, ? FROM sessions WHERE id = ?",
            (owner, session_id),
        )
        if not taken.rowcount:
            raise StorageError("This chat was deleted, so it cannot be continued.")
    return found


def release_lock(session_id: str, owner: str, db: Connection) -> None:
    """Let go of a session."""
    db.execute("DELETE FROM claims WHERE session_id = ? AND owner = ?", (session_id, owner))
