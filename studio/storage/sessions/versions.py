"""Versions: which sessions are versions of one chat, and where they differ.

The versions of a chat share a ``family``. Each is a whole session of its own: its first turns are
those of the session that it was made from, with their ids. So two versions differ from the first
turn on whose id they do not share.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from sqlite3 import Connection

from studio.domain.events import TurnStarted
from studio.domain.messages import Said
from studio.domain.sessions import SearchHit, TurnVersions, Versions

from .event_log import read_event


def members(db: Connection, ids: Collection[str]) -> list[str]:
    """The sessions, and every other version of their chats."""
    found = dict.fromkeys(ids)
    for session_id in ids:
        rows = db.execute(
            """SELECT id FROM sessions WHERE family <> ''
            AND family = (SELECT family FROM sessions WHERE id = ?)""",
            (session_id,),
        )
        found |= dict.fromkeys(str(one) for (one,) in rows)
    return list(found)


def show(db: Connection, session_id: str) -> None:
    """Let a version stand for its chat in lists."""
    db.execute(
        """UPDATE sessions SET behind = (id <> ?1) WHERE family <> ''
        AND family = (SELECT family FROM sessions WHERE id = ?1)""",
        (session_id,),
    )


def one_of_each(db: Connection, hits: Sequence[SearchHit]) -> list[SearchHit]:
    """The hits in one version of each chat: if there are any, in the one that lists show."""
    chosen: dict[str, str] = {}
    family: dict[str, str] = {}
    for name in dict.fromkeys(hit.session_id for hit in hits):
        query = "SELECT family, behind FROM sessions WHERE id = ?"
        of, behind = db.execute(query, (name,)).fetchone() or ("", False)
        family[name] = of or name
        if not behind or family[name] not in chosen:
            chosen[family[name]] = name
    return [hit for hit in hits if chosen[family[hit.session_id]] == hit.session_id]


def where_versions_differ(db: Connection, session_id: str) -> list[TurnVersions]:
    """The turns of a session to which there are other versions, in order."""
    family = members(db, (session_id,))
    if len(family) < 2:
        return []
    paths = {one: _turns(db, one) for one in family}
    marks = ", ".join("?" * len(family))
    recent = f"SELECT id FROM sessions WHERE id IN ({marks}) ORDER BY updated"
    order = [str(one) for (one,) in db.execute(recent, family)]
    own, found = paths[session_id], list[TurnVersions]()
    for at, turn_id in enumerate(own):
        beside: dict[str, str] = {}  # the other turns here, and of each a session that has it
        for one in order:
            if len(paths[one]) > at and paths[one][:at] == own[:at]:
                beside[paths[one][at]] = one
        beside[turn_id] = session_id
        if len(beside) > 1:
            found.append(_versions(db, turn_id, beside))
    return found


def _turns(db: Connection, session_id: str) -> list[str]:
    rows = db.execute("SELECT turn_id FROM turns WHERE session_id = ? ORDER BY id", (session_id,))
    return [str(turn_id) for (turn_id,) in rows]


def _versions(db: Connection, turn_id: str, beside: dict[str, str]) -> TurnVersions:
    """The turns with the same message are versions of an answer, the others of the message."""
    begun: dict[str, tuple[float, tuple[Said, ...]]] = {
        turn: _beginning(db, one, turn) for turn, one in beside.items()
    }
    messages: dict[tuple[Said, ...], list[str]] = {}
    for turn in sorted(beside, key=lambda turn: begun[turn][0]):
        messages.setdefault(begun[turn][1], []).append(turn)
    said = begun[turn_id][1]
    of_message = [
        beside[turn_id] if words == said else beside[turns[-1]] for words, turns in messages.items()
    ]
    of_answer = [beside[turn] for turn in messages[said]]
    return TurnVersions(
        turn_id,
        Versions(tuple(of_message), list(messages).index(said)),
        Versions(tuple(of_answer), messages[said].index(turn_id)),
    )


def _beginning(db: Connection, session_id: str, turn_id: str) -> tuple[float, tuple[Said, ...]]:
    """When a turn began, and with which message."""
    rows = db.execute(
        "SELECT at, body FROM transcript WHERE session_id = ? AND turn_id = ? ORDER BY seq",
        (session_id, turn_id),
    )
    first = 0.0
    for at, body in rows:
        first = first or at
        event = read_event(body)
        if isinstance(event, TurnStarted):
            return at, event.said
    return first, ()
