"""Session lock: lets one program at a time work in a session.

A lock is a row, written in one transaction with the check of what other programs do. The lock
of a program that has ended (see ``process_registry``) does not count, and neither does its
turn without an end.
"""

from __future__ import annotations

from collections.abc import Callable
from sqlite3 import Connection

from studio.domain.errors import StorageError
from studio.domain.records import dataclass


@dataclass(frozen=True, slots=True)
class ExternalActivity:
    """What other programs do with a session.

    ``running``: one runs a turn in it, or has locked it. ``changed``: one has
    added events since the session was opened here, if it is known which there were.
    """

    running: bool
    changed: bool


def read_lock_state(db: Connection, session_id: str) -> tuple[int, str, str]:
    """The number of a session's newest event, the owner of its turn without an end, and the
    owner of its lock; 0 and "" for none."""
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
    """Lock the session for ``owner``, unless another program runs in it or changed it.

    ``known`` is the number of the newest event that ``owner`` knows, None where it does not
    know any. ``living`` returns those of some owners whose program still runs.
    Raises StorageError if the session is deleted.
    """
    newest, *owners = read_lock_state(db, session_id)
    others = {*owners} - {"", owner}
    found = ExternalActivity(bool(others and living(others)), known is not None and newest != known)
    if not (found.running or found.changed):
        taken = db.execute(
            "INSERT OR REPLACE INTO claims SELECT id, ? FROM sessions WHERE id = ? AND deleted = 0",
            (owner, session_id),
        )
        if not taken.rowcount:
            raise StorageError("This chat was deleted, so it cannot be continued.")
    return found


def release_lock(session_id: str, owner: str, db: Connection) -> None:
    """Unlock the session, if ``owner`` has the lock."""
    db.execute("DELETE FROM claims WHERE session_id = ? AND owner = ?", (session_id, owner))
