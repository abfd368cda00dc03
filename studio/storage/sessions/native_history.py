"""Native history: stores a provider's own message list, and verifies its hash chain."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import field
from sqlite3 import Connection
from typing import Any, cast

from studio.domain.errors import StorageError
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.ledger import canonical_json, chain_next, chain_start
from studio.domain.records import dataclass

DECODER = json.JSONDecoder()
BATCH = 256
"""Items that are decoded at once."""


@dataclass(frozen=True, slots=True)
class StoredHistory:
    """One epoch of a provider's own history, as it was stored (H-1).

    ``chain`` holds the digest before each item and after the last, see
    ``studio.domain.ledger``. ``damage`` says in words for the person what is
    wrong with what is stored (H-5), and is empty if nothing is; ``items`` and
    ``chain`` then stop before the first item that cannot be trusted. ``events`` is
    how many events the session had when the last item was stored, None if an older
    version stored it.
    """

    epoch: int
    provider: str
    protocol: str
    model: str
    system: str
    tools: list[JsonObject] = field(default_factory=list[JsonObject])
    items: list[JsonObject] = field(default_factory=list[JsonObject])
    why: str = ""
    chain: list[str] = field(default_factory=lambda: [""])
    damage: str = ""
    events: int | None = None


@dataclass(frozen=True, slots=True)
class EpochInfo:
    """One of a session's epochs; ``at`` in seconds since the epoch of Unix.

    ``why`` says why it was begun, and is empty for the first. ``items`` is how
    many it has.
    """

    number: int
    at: float
    provider: str
    protocol: str
    model: str
    why: str
    items: int


def epochs(db: Connection, session_id: str) -> list[EpochInfo]:
    rows = db.execute(
        """SELECT epoch, at, provider, protocol, model, why, items FROM epochs
        WHERE session_id = ? ORDER BY epoch""",
        (session_id,),
    )
    return [EpochInfo(*row) for row in rows]


def read(db: Connection, session_id: str, number: int | None) -> StoredHistory | None:
    """One epoch, the last if ``number`` is None, checked against its chain."""
    row = db.execute(
        """SELECT epoch, provider, protocol, model, system, tools, why, digest, items, events
        FROM epochs WHERE session_id = ?1 AND epoch = coalesce(?2, (SELECT max(epoch) FROM epochs
        WHERE session_id = ?1))""",
        (session_id, number),
    ).fetchone()
    if row is None:
        return None
    epoch, provider, protocol, model, system_text, tools_text, why, first, count, known = row
    rows = db.execute(
        "SELECT seq, body, digest FROM native WHERE session_id = ? AND epoch = ? ORDER BY seq",
        (session_id, epoch),
    ).fetchall()
    system, tools, damage = _frame(system_text, tools_text, first)
    items, chain, wrong = _chained(rows, first, count)
    events = known if isinstance(known, int) else None
    return StoredHistory(
        epoch, provider, protocol, model, system, tools, items, why, chain, damage or wrong, events
    )


def _frame(
    system_text: object, tools_text: object, first: str
) -> tuple[str, list[JsonObject], str]:
    """System prompt and tools, and what is wrong with them."""
    system, tools = _json(system_text), _json(tools_text)
    if not isinstance(system, str):
        return "", [], "the system prompt cannot be read"
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        return system, [], "the tools cannot be read"
    known = cast("list[JsonObject]", tools)
    if chain_start(system, known) != first:
        return system, known, "the system prompt or the tools were changed"
    return system, known, ""


def _chained(
    rows: Sequence[tuple[int, Any, Any]], first: str, count: Any
) -> tuple[list[JsonObject], list[str], str]:
    """The items up to the first that is wrong, the chain of digests, and what is wrong."""
    chain = [first]
    wrong = ""
    for number, (seq, body, digest) in enumerate(rows, 1):
        if seq != number:
            wrong = f"items are missing after {number - 1}"
            break
        after = chain_next(chain[-1], body) if isinstance(body, str) else ""
        if after != digest:
            known = isinstance(_json(body), dict)
            wrong = f"item {number} {'was changed' if known else 'cannot be read'}"
            break
        chain.append(after)
    sound: list[str] = [body for _, body, _ in rows[: len(chain) - 1]]
    items = _items(sound)
    if len(items) < len(sound):
        del chain[len(items) + 1 :]
        wrong = f"item {len(items) + 1} cannot be read"
    elif not wrong and len(rows) != count:
        wrong = f"items are missing after {len(rows)}"
    return items, chain, wrong


def _items(bodies: Sequence[str]) -> list[JsonObject]:
    """The decoded items, up to the first text that is no item.

    Decodes many at once, so that they share their keys: a fifth less memory and time.
    """
    items: list[JsonObject] = []
    for start in range(0, len(bodies), BATCH):
        batch = bodies[start : start + BATCH]
        found = _json(f"[{','.join(batch)}]")
        if not isinstance(found, list) or len(found) != len(batch):
            found = [_json(body) for body in batch]
        for item in found:
            if not isinstance(item, dict):
                return items
            items.append(item)
    return items


def _json(text: object) -> Json:
    """The decoded value of a stored text; None if it cannot be decoded.

    ``json.loads`` looks for space around the text, which takes half its time; stored texts
    have none.
    """
    if not isinstance(text, str):
        return None
    try:
        value, end = DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return value if end == len(text) else None


def begin(
    db: Connection,
    session_id: str,
    made_by: tuple[str, str, str],
    system: str,
    tools: Sequence[JsonObject],
    items: Sequence[JsonObject],
    why: str,
) -> int:
    """Begin a new epoch; ``made_by`` is provider, protocol, model. Returns its number."""
    row = db.execute("SELECT max(epoch) FROM epochs WHERE session_id = ?", (session_id,))
    epoch: int = (row.fetchone()[0] or 0) + 1
    db.execute(
        """INSERT INTO epochs (session_id, epoch, at, provider, protocol, model, system, tools,
        why, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (session_id, epoch, time.time(), *made_by, canonical_json(system),
         canonical_json(cast("Json", [*tools])), why, chain_start(system, tools)),
    )  # fmt: skip
    append(session_id, epoch, items, db)
    return epoch


def append(session_id: str, epoch: int, items: Sequence[JsonObject], db: Connection) -> None:
    """Add items after the last one, each with the chain's digest after it."""
    where = (session_id, epoch)
    begun = db.execute(
        "SELECT digest FROM epochs WHERE session_id = ? AND epoch = ?", where
    ).fetchone()
    if begun is None:
        raise StorageError("This chat was deleted, so its latest messages cannot be saved.")
    row = db.execute(
        """SELECT seq, digest FROM native WHERE session_id = ? AND epoch = ?
        ORDER BY seq DESC LIMIT 1""",
        where,
    ).fetchone()
    already, last = row or (0, begun[0])
    rows: list[tuple[str, int, int, str, str]] = []
    for seq, item in enumerate(items, already + 1):
        body = canonical_json(item)
        last = chain_next(last, body)
        rows.append((session_id, epoch, seq, body, last))
    db.executemany(
        "INSERT INTO native (session_id, epoch, seq, body, digest) VALUES (?, ?, ?, ?, ?)", rows
    )
    db.execute(
        """UPDATE epochs SET items = items + ?3, events =
        (SELECT coalesce(max(seq), 0) FROM transcript WHERE session_id = ?1)
        WHERE session_id = ?1 AND epoch = ?2""",
        (*where, len(rows)),
    )
