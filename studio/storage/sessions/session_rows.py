"""Session rows: adds, reads and lists the rows of sessions, with defaults for damaged fields."""

from __future__ import annotations

from collections.abc import Collection
from sqlite3 import Connection
from typing import Any, get_args

from studio.domain.agents import Caps, PermissionMode
from studio.domain.models import EFFORTS
from studio.domain.sessions import Caller, Origin, SessionInfo, SessionListing, TitledBy
from studio.storage.connection import damage_error

from .search import is_time, sanitise_text

COLUMNS = (
    "id, title, folder, agent, provider, model, permission_mode, created, updated, state, unread, "
    "effort, parent, cap_tokens, cap_dollars, model_chosen, origin, instructions, "
    "archived, pinned, group_name, titled_by, deleted, family, behind, "
    "caller_kind, caller, caller_part, subject"
)


def everything(db: Connection) -> list[tuple[Any, ...]]:
    """The rows of all sessions. A session whose id was damaged would be found by no query."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM sessions ORDER BY updated DESC, created DESC, id"
    ).fetchall()
    indexed = db.execute("SELECT id FROM sessions INDEXED BY sqlite_autoindex_sessions_1")
    if {one for (one,) in indexed} != {row[0] for row in rows}:
        raise damage_error("the ids of the sessions and their index differ")
    return rows


def listing(db: Connection, most: int, archive: int) -> SessionListing:
    """The condition ``kept`` is that of the index ``sessions_kept``.

    Of a chat with versions also one that is behind, if it waits for the person.
    """
    seen = "deleted = 0 AND caller = '' AND (behind = 0 OR state = 'waiting')"
    query = f"SELECT {COLUMNS} FROM sessions WHERE {seen} AND"
    order = "ORDER BY updated DESC, created DESC, id LIMIT ?"
    kept = "(archived <> 0 OR pinned <> 0 OR group_name <> '' OR deleted <> 0)"
    rows = db.execute(f"{query} archived = 0 AND {kept} {order}", (-1,)).fetchall()
    plain = "archived = 0 AND pinned = 0 AND group_name = ''"
    newest = db.execute(f"{query} {plain} {order}", (most + 1,)).fetchall()
    count = "SELECT count(*) FROM sessions WHERE deleted = 0 AND caller = '' AND behind = 0"
    count += f" AND {kept}"
    count += " AND archived <> 0"
    ((archived,),) = db.execute(count)
    rows += newest[:most]
    rows += db.execute(f"{query} archived <> 0 AND {kept} {order}", (archive,)).fetchall()
    more = len(newest) > most or 0 < archive < archived
    return SessionListing([info_of(row) for row in rows], archived, more)


def create(info: SessionInfo, db: Connection) -> None:
    values = (
        info.id, sanitise_text(info.title), sanitise_text(info.folder), info.agent, info.provider,
        info.model, info.permission_mode, info.created, info.updated, info.state, info.unread,
        info.effort, info.parent, info.caps.tokens, info.caps.dollars, info.model_chosen,
        info.origin, sanitise_text(info.instructions), info.archived, info.pinned,
        sanitise_text(info.group_name), info.titled_by, info.deleted,
        info.family, info.behind,
        *((info.caller.kind, info.caller.id, info.caller.part) if info.caller else ("", "", "")),
        sanitise_text(info.subject),
    )  # fmt: skip
    marks = ", ".join("?" * len(values))
    db.execute(f"INSERT INTO sessions ({COLUMNS}) VALUES ({marks})", values)


def info_of(row: tuple[Any, ...]) -> SessionInfo:
    """A row, with defaults for unreadable fields: a damaged row must not hide the others."""
    session_id, title, folder, agent, provider, model = map(_text, row[:6])
    mode, created, updated, state, unread, effort, parent, tokens, dollars, chosen = row[6:16]
    origin, instructions, archived, pinned, group_name, titled_by, deleted, family, behind = row[
        16:25
    ]
    caller_kind, caller, caller_part, subject = map(_text, row[25:])
    return SessionInfo(
        session_id,
        title,
        folder,
        agent,
        provider,
        model,
        mode if mode in get_args(PermissionMode) else "ask",
        created if is_time(created) else 0.0,
        updated if is_time(updated) else 0.0,
        _text(state),
        bool(unread),
        effort if effort in EFFORTS else None,
        _text(parent),
        Caps(
            tokens if isinstance(tokens, int) else 0,
            dollars if isinstance(dollars, int | float) else 0.0,
        ),
        bool(chosen),
        origin if origin in get_args(Origin) else "window",
        _text(instructions),
        bool(archived),
        bool(pinned),
        _text(group_name),
        titled_by if titled_by in get_args(TitledBy) else "person",
        deleted if is_time(deleted) else 0.0,
        _text(family),
        bool(behind),
        Caller("run" if caller_kind == "run" else "session", caller, caller_part)
        if caller
        else None,
        subject,
    )


def descendants(db: Connection, ids: Collection[str], of_runs: bool) -> list[str]:
    found: dict[str, None] = {}
    left = list(ids)
    while left:
        caller = (left.pop(),)
        rows = db.execute("SELECT id FROM sessions WHERE caller = ?", caller)
        new = [str(one) for (one,) in rows if one not in found]
        found |= dict.fromkeys(new)
        left += new
        if of_runs:
            rows = db.execute("SELECT id FROM runs WHERE caller = ?", caller)
            left += [str(one) for (one,) in rows]
    return list(found)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
