"""Usage: reads what requests used and cost, one by one and in sums."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Any, Literal, TypeAlias

from studio.domain.ledger import LedgerEntry, Sent, UsageRow
from studio.domain.models import Usage

UsageKey: TypeAlias = Literal["turn", "session", "agent", "day", "model"]

_KEYS: dict[UsageKey, str] = {
    "turn": "turn_id",
    "session": "session_id",
    "agent": "agent",
    "day": "date(at, 'unixepoch', 'localtime')",
    "model": "model",
}
_COUNTS = ("input", "cache_read", "cache_write", "output", "reasoning")
_ENTRY = (
    f"at, turn_id, step, agent, provider, model, seconds, cost, {', '.join(_COUNTS)}, "
    "epoch, items, prefix, expected, broke, lost"
)


def sums(where: str = "1") -> str:
    """Columns with the sums of a ``Usage``, over the rows that match ``where``.

    Added as floating point: an absurd figure must not overflow the sum.
    """
    return ", ".join(f"cast(total({name}) FILTER (WHERE {where}) AS INTEGER)" for name in _COUNTS)


def add(
    db: Connection,
    session_id: str,
    turn_id: str,
    at: float,
    agent: str,
    provider: str,
    model: str,
    used: Usage,
    seconds: float,
    cost: float | None,
) -> None:
    """Add a request that is no step of a turn."""
    db.execute(
        f"""INSERT INTO usage (session_id, turn_id, at, agent, provider, model, step, seconds, cost,
        {', '.join(_COUNTS)}) VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?)""",
        (session_id, turn_id, at, agent, provider, model, seconds, cost,
         *(getattr(used, name) for name in _COUNTS)),
    )  # fmt: skip


def ledger(db: Connection, session_id: str, since: float) -> list[LedgerEntry]:
    """The requests of one session or of all (""), oldest first."""
    rows = db.execute(
        f"""SELECT {_ENTRY} FROM usage
        WHERE at >= ?1 AND (?2 = '' OR session_id = ?2) ORDER BY id""",
        (since, session_id),
    )
    return [_entry(row) for row in rows]


def last_sent(db: Connection, session_id: str) -> LedgerEntry | None:
    """A session's last request with a record of what was sent."""
    row = db.execute(
        f"""SELECT {_ENTRY} FROM usage WHERE session_id = ? AND epoch IS NOT NULL
        ORDER BY id DESC LIMIT 1""",
        (session_id,),
    ).fetchone()
    return _entry(row) if row else None


def _entry(row: tuple[Any, ...]) -> LedgerEntry:
    at, turn_id, step, agent, provider, model, seconds, cost, *rest = row
    used, sent = Usage(*rest[:5]), None if rest[5] is None else Sent(*rest[5:])
    return LedgerEntry(at, turn_id, step, agent, provider, model, used, seconds, sent, cost)


SPEED_OF = 5
"""The newest answers of a model that tell its speed."""
SPEED_TOKENS = 16
"""An answer with fewer tokens tells nothing of it."""


def speeds(db: Connection, provider: str) -> dict[str, float]:
    """Tokens a second of a provider's models: of the fastest of the last answers.

    The others waited for the model to be loaded, or read a long text first.
    """
    rows = db.execute(
        """SELECT model, max(output / seconds) FROM (
            SELECT model, output, seconds,
            row_number() OVER (PARTITION BY model ORDER BY id DESC) AS back FROM usage
            WHERE provider = ? AND output >= ? AND seconds > 0
        ) WHERE back <= ? GROUP BY model""",
        (provider, SPEED_TOKENS, SPEED_OF),
    )
    return {model: float(speed) for model, speed in rows}


def usage_by(
    db: Connection, by: UsageKey, session_id: str, since: float, sizes: Sequence[int]
) -> list[UsageRow]:
    """Sums by a key, model and size of the requests; of one session or of all ("")."""
    size = " + ".join(f"(input > {tokens:d})" for tokens in sizes) or "''"
    rows = db.execute(
        f"""SELECT {_KEYS[by]} AS key, provider, model, {sums()}, count(*), total(cost),
        count(*) - count(cost), {sums("cost IS NULL")}, total(lost) FROM usage
        WHERE at >= ?1 AND (?2 = '' OR session_id = ?2)
        GROUP BY key, provider, model, {size} ORDER BY min(id)""",
        (since, session_id),
    )
    return [_usage_row(row) for row in rows]


def _usage_row(row: tuple[Any, ...]) -> UsageRow:
    key, provider, model, *rest = row
    used, unpriced_usage = Usage(*rest[:5]), Usage(*rest[8:13])
    requests, cost, unpriced = rest[5:8]
    return UsageRow(key, provider, model, used, requests, cost, unpriced, unpriced_usage, rest[13])
