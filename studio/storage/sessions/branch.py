"""Session branch: copies the beginning of a session into a new one."""

from __future__ import annotations

from sqlite3 import Connection

from studio.domain.codec import encode_event
from studio.domain.errors import StorageError
from studio.domain.events import (
    DraftCreated,
    DraftResolved,
    FilesChanged,
    Pinned,
    Summarised,
    TurnComplete,
    TurnStarted,
)
from studio.domain.ledger import canonical_json
from studio.storage.snapshots.file_changes import copy_changes

from .event_rows import checksum, insert_event, insert_passages, read_data, read_event
from .projections import update_projections
from .search import Indexer


def copy_session(db: Connection, source: str, target: str, before_turn: str) -> None:
    """Give the session ``target``, which has nothing yet, the transcript of ``source``.

    Up to the turn ``before_turn``, all of it when that is empty. What cannot
    be read is left out. Usage, calls and approvals stay where they were paid
    and given; a draft that waits there is superseded here, so that nobody can
    approve it twice.
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
            continue  # they count blocks, and some are missing now
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
        # No owner: a turn that still runs there is one that was interrupted here.
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
