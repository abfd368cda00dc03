"""Event log: stores a session's events, verifies them, and copies them into a branch.

Each event is one row of the table ``transcript``, with a checksum.
"""

from __future__ import annotations

import json
import zlib
from sqlite3 import Connection
from typing import get_args

from studio.domain.agents import PermissionMode
from studio.domain.codec import decode_event, encode_event
from studio.domain.errors import StorageError
from studio.domain.events import (
    DraftCreated,
    DraftResolved,
    Event,
    FilesChanged,
    Pinned,
    Summarised,
    TurnComplete,
    TurnStarted,
)
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.ledger import canonical_json
from studio.domain.models import EFFORTS
from studio.storage.snapshots.file_changes import copy_changes

from .projections import update_projections
from .search import Indexer, Passage, is_time, sanitise_text


def insert_event(
    db: Connection, session_id: str, seq: int, turn_id: str, at: float, body: str
) -> None:
    """Add the row number ``seq``; ``body`` is the event's JSON."""
    turn_id = sanitise_text(turn_id)
    db.execute(
        """INSERT INTO transcript (session_id, seq, turn_id, at, body, sum)
        VALUES (?, ?, ?, ?, ?, ?)""",
        (session_id, seq, turn_id, at, body, checksum(seq, turn_id, body)),
    )


def insert_passages(db: Connection, session_id: str, seq: int, passages: list[Passage]) -> None:
    """Add what can be found from row ``seq`` on."""
    insert_said(db, session_id, [(seq, *passage) for passage in passages])


def insert_said(db: Connection, session_id: str, found: list[tuple[int, str, str]]) -> None:
    """Add passages, each with its row, its kind and its text.

    Many at once: the index of words gets a piece for each statement, which it has to merge.
    """
    for some in (found[at : at + 100] for at in range(0, len(found), 100)):
        rows = ", ".join(["(?, ?, ?, ?)"] * len(some))
        db.execute(
            f"INSERT INTO said (session_id, seq, kind, text) VALUES {rows}",
            [value for one in some for value in (session_id, *one)],
        )


def read_data(body: object) -> JsonObject | None:
    """The JSON of an event of any version; None if it cannot be read."""
    try:
        data: Json = json.loads(body) if isinstance(body, str) else None
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and isinstance(data.get("event"), str) else None


def read_event(body: object) -> Event | None:
    """An event from its JSON; None if a newer version wrote it, or it is damaged."""
    try:
        data = read_data(body)
        return None if data is None else decode_event(data)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def events(db: Connection, session_id: str, after: int = 0) -> list[Event]:
    """What can be read of a session's transcript after so many rows, in order."""
    rows = db.execute(
        "SELECT body FROM transcript WHERE session_id = ? AND seq > ? ORDER BY seq",
        (session_id, after),
    )
    return [event for (body,) in rows if (event := read_event(body)) is not None]


def recent_events(db: Connection, session_id: str, most: int) -> list[tuple[float, Event]]:
    """The newest events that can be read, in order, each with its time in Unix seconds."""
    rows = db.execute(
        "SELECT at, body FROM transcript WHERE session_id = ? ORDER BY seq DESC LIMIT ?",
        (session_id, most),
    )
    found = [(at, event) for at, body in rows if (event := read_event(body)) is not None]
    return found[::-1]


def copy_session(db: Connection, source: str, target: str, before_turn: str) -> None:
    """Copy the events of ``source`` into the session ``target``, which has none yet.

    Up to the turn ``before_turn``, all of them when that is empty. What cannot
    be read is left out. Usage, calls and approvals are not copied. A draft that waits in
    ``source`` is superseded in ``target``, so that nobody can approve it twice. Raises
    StorageError if there is no such turn.
    """
    rows = db.execute(
        "SELECT seq, turn_id, at, body, sum FROM transcript WHERE session_id = ? ORDER BY seq",
        (source,),
    ).fetchall()
    indexer = Indexer()
    seq, turn_id, at = 0, "", 0.0
    waiting: list[str] = []
    lost = False
    for old_seq, old_turn, old_at, body, total in rows:
        if before_turn and old_turn == before_turn:
            break
        data, event = read_data(body), read_event(body)
        of_newer_version = total == checksum(old_seq, old_turn, body)
        if data is None or (event is None and not of_newer_version):
            lost = True
            continue
        if lost and isinstance(event, Summarised | Pinned):
            continue  # they refer to blocks by number, and some are missing now
        seq, turn_id, at = seq + 1, str(old_turn), old_at
        if "session_id" in data:
            data["session_id"] = target
            body = canonical_json(data)
        insert_event(db, target, seq, turn_id, at, body)
        if event is None:
            continue
        if isinstance(event, FilesChanged):
            copy_changes(db, source, target, event.turn_id)
        insert_passages(db, target, seq, indexer.feed(event))
        match event:
            case DraftCreated():
                waiting.append(event.draft.id)
            case DraftResolved() if event.draft_id in waiting and event.status not in (
                "waiting",
                "conflict",
            ):
                waiting.remove(event.draft_id)
            case TurnStarted() | TurnComplete() | DraftResolved():
                pass
            case _:
                continue
        # No owner: a turn that still runs in the source counts as interrupted in the branch.
        update_projections(db, target, "", turn_id, at, event)
    else:
        if before_turn:
            raise StorageError("This message is no longer in the chat.")
    insert_passages(db, target, seq, indexer.finish())
    for draft_id in waiting:
        seq += 1
        event = DraftResolved(draft_id, "superseded")
        insert_event(db, target, seq, turn_id, at, canonical_json(encode_event(event)))
        update_projections(db, target, "", turn_id, at, event)


def describe_damage(db: Connection, session_id: str) -> str:
    """What is wrong with what is stored of a session, in words for the person; empty if sound.

    An event of a newer version is sound: its sum says that it is as it was written.
    """
    found: list[str] = []
    fields = _unreadable_fields(db, session_id)
    if fields:
        found.append(f"the chat's {' and '.join(fields)} cannot be read")
    unreadable = changed = 0
    missing: list[int] = []
    last = 0
    rows = db.execute(
        "SELECT seq, turn_id, body, sum FROM transcript WHERE session_id = ? ORDER BY seq",
        (session_id,),
    )
    for seq, turn_id, body, total in rows:
        if seq != last + 1:
            missing.append(last)
        last = seq
        if total == checksum(seq, turn_id, body):
            continue
        if read_data(body) is None:
            unreadable += 1
        elif total is not None:  # without one: written by an older version beside this one
            changed += 1
    if unreadable:
        found.append(f"{_entries(unreadable)} cannot be read")
    if changed:
        found.append(_changed(changed))
    if missing:
        found.append(f"entries are missing after number {missing[0]}")
    return ", ".join(found)


def accept_changed(db: Connection, session_id: str) -> int:
    """Take entries as they are now where only the sum says that they were changed.

    Returns how many, all of which can be read; 0 if there is other damage, which nothing here
    mends.
    """
    rows = db.execute(
        "SELECT seq, turn_id, body, sum FROM transcript WHERE session_id = ?", (session_id,)
    )
    changed = [
        (checksum(seq, turn_id, body), session_id, seq)
        for seq, turn_id, body, total in rows
        if total is not None
        and total != checksum(seq, turn_id, body)
        and read_event(body) is not None
    ]
    if describe_damage(db, session_id) != _changed(len(changed)):
        return 0
    db.executemany("UPDATE transcript SET sum = ? WHERE session_id = ? AND seq = ?", changed)
    return len(changed)


def _changed(number: int) -> str:
    return f"{_entries(number)} {'was' if number == 1 else 'were'} changed"


def _entries(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"


def checksum(seq: int, turn_id: object, body: object) -> int:
    """The CRC-32 that a row is stored with; see step 2 of ``migrations``."""
    return zlib.crc32(f"{seq}\n{turn_id}\n{body}".encode())


def _unreadable_fields(db: Connection, session_id: str) -> list[str]:
    names = ("title", "folder", "agent", "provider", "model", "state", "parent")
    raw = ", ".join(f"cast({name} AS BLOB)" for name in names)
    row = db.execute(
        f"SELECT created, updated, permission_mode, effort, {raw} FROM sessions WHERE id = ?",
        (session_id,),
    ).fetchone()
    if row is None:
        return []
    created, updated, mode, effort, *texts = row
    wrong = [name for name, text in zip(names, texts, strict=True) if not _is_text(text)]
    if mode not in get_args(PermissionMode):
        wrong.append("permission mode")
    if effort is not None and effort not in EFFORTS:
        wrong.append("effort")
    if not is_time(created) or not is_time(updated):
        wrong.append("date")
    return wrong


def _is_text(raw: object) -> bool:
    if not isinstance(raw, bytes):
        return False
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
