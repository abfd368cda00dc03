"""What was done for a request whose answer cannot be told or gone on with any more.

The audit knows: it outlives the chats, also those that are not kept.
"""

from __future__ import annotations

from collections.abc import Collection

from studio.agent.permission.showing import escape_line
from studio.agent.studio import Engine
from studio.domain.redaction import without_secrets
from studio.storage.audit import AuditEntry, AuditFilter

from .wire import BadRequest, TurnRef

SHOWN = 5
"""Calls that are named."""
_CLIENT = "the client"
"""Who runs the calls that were handed over, in the audit."""
_ENDED = "Agent Studio ended in the middle of it, and it is not known all that was done. "


async def refuse_if_tools_ran(
    studio: Engine, place: TurnRef, since: float, turns: Collection[str] = ()
) -> None:
    """Raises BadRequest (409) if a tool has run for a request: it would run twice.

    ``since`` is when the request first came, in seconds since the epoch. ``turns``
    are those of its answer, where they are known; else the session's all count, but
    what may be the person's own there is not named to a client.
    """
    store, wanted = studio.sessions.store, AuditFilter(session_id=place.session_id, since=since)
    own = turns or {place.turn_id}
    calls: list[str] = []
    unnamed = 0
    beyond = 0
    while page := await store.audit(wanted, beyond=beyond, newest_first=False):
        beyond = page[-1].id
        for entry in filter(_ran, page):
            if entry.turn_id in own or not place.turn_id:
                calls.append(without_secrets(escape_line(f"{entry.tool} {entry.target}", 100)))
            elif not turns:
                unnamed += 1
    if calls or unnamed or not place.turn_id:
        raise _done(calls, unnamed, broken=not place.turn_id)


def _ran(entry: AuditEntry) -> bool:
    """Whether a call was begun here; one that was allowed and then cut off may have been."""
    if entry.decided_by == _CLIENT:
        return False
    cut = entry.state in ("cancelled", "queued") and entry.decided_at is not None
    return cut or entry.state in ("running", "done", "error")


def _done(calls: list[str], unnamed: int, *, broken: bool) -> BadRequest:
    count = len(calls[SHOWN:]) + unnamed
    more = f" and {count} more" if count else ""
    ran = "Tools have run. " if count else ""
    if calls:
        ran = f"These tools have run: {', '.join(calls[:SHOWN])}{more}. "
    return BadRequest(
        "This request came before under the same Idempotency-Key, and its answer is no longer "
        f"here. {_ENDED if broken else ''}{ran}To have it done again, use a new key.",
        status=409,
        code="idempotency_key_used",
    )
