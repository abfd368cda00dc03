"""History: keeps of each change what was and is, who did it, and from which draft (KZ-11)."""

from __future__ import annotations

import datetime

from studio.packs import Person, Records, Value, dataclass

from .audit import append
from .persons import number_of


def now() -> str:
    """This moment in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def note(
    records: Records,
    person: Person,
    akte: int | None,
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
    time = now()
    records.write(sql, akte, time, number_of(person), what, row, field, old, new, draft)
    decision = "genehmigt" if draft else "geändert"
    append(records, time, person, akte, f"{what} {row}: {field}", decision)


@dataclass(frozen=True, slots=True)
class Change:
    """One change: when (UTC), by whom, of what; ``draft`` is empty where it came from none."""

    time: datetime.datetime
    person: str
    what: str
    row: int
    field: str
    old: str
    new: str
    draft: str

    def __str__(self) -> str:
        was = f"{self.old} → " if self.old else ""
        source = f" (Entwurf {self.draft[:8]})" if self.draft else ""
        words = f"{self.what} {self.row}, {self.field}: {was}{self.new}"
        return f"{self.time.astimezone():%d.%m.%Y %H:%M} {self.person}: {words}{source}"


def changes_of(records: Records, akte: int, most: int = 200) -> list[Change]:
    """The changes of an Akte that a person may see, the newest first."""
    rows = records.read(
        "SELECT verlauf.*, person.name FROM verlauf JOIN person ON person.id = verlauf.person "
        "WHERE akte = ? ORDER BY verlauf.id DESC LIMIT ?",
        akte,
        most,
    )

    def text(row: dict[str, Value], name: str) -> str:
        return "" if row[name] is None else str(row[name])

    return [
        Change(
            datetime.datetime.fromisoformat(text(row, "zeit")),
            *(text(row, "name"), text(row, "was"), int(text(row, "zeile"))),
            *(text(row, name) for name in ("feld", "alt", "neu", "entwurf")),
        )
        for row in rows
    ]
