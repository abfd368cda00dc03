"""History: keeps of each change what was and is, who did it, and from which draft (KZ-11)."""

from __future__ import annotations

import datetime

from studio.packs import Person, Records, Value

from .persons import number_of


def now() -> str:
    """This moment in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def note(
    records: Records,
    person: Person,
    akte: int,
    what: str,
    row: int,
    *,
    field: str,
    old: Value = None,
    new: Value = None,
    draft: str | None = None,
) -> None:
    """Note one change of one field of a row; within the transaction of the change."""
    sql = (
        "INSERT INTO verlauf (akte, zeit, person, was, zeile, feld, alt, neu, entwurf) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    )
    records.write(sql, akte, now(), number_of(person), what, row, field, old, new, draft)
