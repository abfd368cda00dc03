"""Search filters: words such as ``agent:Coder`` or ``before:2026-11`` that limit a search.

A value with spaces stands in quotes. A word that is no filter, or whose value means nothing, is
searched for as it stands; so is a filter's name alone, unless it is the last word.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from sqlite3 import Connection
from typing import TypeAlias

from studio.domain.records import dataclass

Condition: TypeAlias = tuple[str, tuple[str | float, ...]]
"""A condition on a row of ``sessions`` in SQL, and its values."""

_WORD = re.compile(r'(?<!\S)([A-Za-z]+):("[^"]*"|\S+)(?!\S)')
_DAY = re.compile(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?")

_HAS = {
    "file": "EXISTS (SELECT 1 FROM file_changes f WHERE f.session_id = sessions.id)",
    "error": (
        "EXISTS (SELECT 1 FROM turns t WHERE t.session_id = sessions.id "
        "AND t.reason IN ('error', 'stalled'))"
    ),
    "draft": "EXISTS (SELECT 1 FROM drafts d WHERE d.session_id = sessions.id)",
}
"""``file``: files were changed in it; ``error``: a turn ended with one; ``draft``: it has one."""

_IN = {"archive": "sessions.archived <> 0", "pinned": "sessions.pinned <> 0"}
"""Any other word is a part of the name of a group."""


@dataclass(frozen=True, slots=True)
class Filtered:
    """A search: its words, and a condition on sessions with its values.

    ``found`` are the words of the text that are filters, as they stand in it.
    """

    words: str
    where: str = "1"
    values: tuple[str | float, ...] = ()
    found: tuple[str, ...] = ()

    @property
    def limited(self) -> bool:
        return self.where != "1"


def read_filters(text: str, now: float) -> Filtered:
    """Separate filters from words. ``now`` is in seconds since the epoch, for today."""
    found: list[Condition] = []
    typed: list[str] = []

    def take(match: re.Match[str]) -> str:
        make = _FILTERS.get(match[1].lower())
        condition = make(match[2].strip('"'), now) if make is not None else None
        if condition is None:
            return match[0]
        found.append(condition)
        typed.append(match[0])
        return ""

    words = " ".join(_WORD.sub(take, text).split()) if ":" in text else text
    begun = words.rpartition(" ")[2]
    if begun.endswith(":") and begun[:-1].lower() in _FILTERS:
        words = words.removesuffix(begun).rstrip()  # its value is still to be typed
    if not found:
        return Filtered(words)
    values = tuple(value for _, several in found for value in several)
    return Filtered(words, " AND ".join(f"({one})" for one, _ in found), values, tuple(typed))


def known_values(db: Connection) -> dict[str, list[str]]:
    """What may stand after each filter, the most used first; days are only named."""

    def used(column: str, table: str = "sessions") -> list[str]:
        kept = "AND deleted = 0 AND caller = ''" if table == "sessions" else ""
        rows = db.execute(
            f"""SELECT CAST({column} AS TEXT), count(*) FROM {table} WHERE {column} <> '' {kept}
            GROUP BY 1 ORDER BY 2 DESC LIMIT 50"""
        )
        return [name for name, _ in rows if '"' not in name]

    return {
        "agent": used("agent"),
        "model": used("model"),
        "folder": list(dict.fromkeys(name.rpartition("/")[2] for name in used("folder"))),
        "tool": used("tool", "audit"),
        "before": ["today", "yesterday"],
        "after": ["today", "yesterday"],
        "has": list(_HAS),
        "in": [*_IN, *used("group_name")],
    }


def escape_like(text: str) -> str:
    """``text`` for a LIKE pattern with ``ESCAPE '\\'``."""
    return re.sub(r"([\\%_])", r"\\\1", text)


def _contains(*columns: str) -> Callable[[str, float], Condition | None]:
    like = " OR ".join(f"{column} LIKE ? ESCAPE '\\'" for column in columns)

    def condition(value: str, now: float) -> Condition | None:
        return (like, (f"%{escape_like(value)}%",) * len(columns)) if value else None

    return condition


def _tool(value: str, now: float) -> Condition | None:
    calls = "SELECT 1 FROM audit a WHERE a.session_id = sessions.id AND a.tool LIKE ? ESCAPE '\\'"
    return (f"EXISTS ({calls})", (escape_like(value),)) if value else None


def _before(value: str, now: float) -> Condition | None:
    day = _day(value, now)
    return None if day is None else ("sessions.created < ?", (day,))


def _after(value: str, now: float) -> Condition | None:
    day = _day(value, now)
    return None if day is None else ("sessions.updated >= ?", (day,))


def _has(value: str, now: float) -> Condition | None:
    known = next((one for name, one in _HAS.items() if name.startswith(value.lower())), None)
    return None if known is None else (known, ())


def _in(value: str, now: float) -> Condition | None:
    known = _IN.get(value.lower())
    return _contains("sessions.group_name")(value, now) if known is None else (known, ())


def _day(value: str, now: float) -> float | None:
    """The beginning of a day, month or year, in seconds since the epoch; None for other words."""
    today = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
    if value.lower() in ("today", "yesterday"):
        return (today - timedelta(days=value.lower() == "yesterday")).timestamp()
    match = _DAY.fullmatch(value)
    if match is None:
        return None
    try:
        return datetime(int(match[1]), int(match[2] or 1), int(match[3] or 1)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


_FILTERS: dict[str, Callable[[str, float], Condition | None]] = {
    "agent": _contains("sessions.agent"),
    "model": _contains("sessions.model", "sessions.provider"),
    "folder": _contains("sessions.folder"),
    "tool": _tool,
    "before": _before,
    "after": _after,
    "has": _has,
    "in": _in,
}
FILTERS = tuple(_FILTERS)
