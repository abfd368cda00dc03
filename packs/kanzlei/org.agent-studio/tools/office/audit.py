"""Audit: who did what in which Akte, and what was sent to whom, in a chain (KZ-41).

Rows hold no words of an Akte, so they stay when it is deleted. The chain shows that a row was
changed or taken out between others; who can write the file could make a new one, so note its end
elsewhere, as on the printed export.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from dataclasses import astuple

from studio.packs import Person, Records, dataclass

BEGIN = "0" * 64
SENT, MASKED = "gesendet", "maskiert gesendet"
HELD = "zurückgehalten: ein Name, die Person wurde gefragt"
_FIELDS = (
    *("zeit", "akte", "az", "person", "rolle", "anbieter", "modell", "was", "entscheidung"),
    "kette",
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class Entry:
    """One row. ``what`` is a request's purpose, or the field that was changed."""

    time: str
    akte: int | None
    az: str
    person: str
    role: str
    provider: str
    model: str
    what: str
    decision: str

    def chained(self, before: str) -> str:
        words = json.dumps([before, *astuple(self)], ensure_ascii=False)
        return hashlib.sha256(words.encode()).hexdigest()


def append(
    records: Records,
    time: str,
    person: Person,
    akte: int | None,
    what: str,
    decision: str,
    *,
    provider: str = "",
    model: str = "",
    az: str = "",
) -> None:
    """Add a row; within a transaction, with what it is about. Blocks."""
    with records.together():
        found = records.read("SELECT az FROM akte WHERE id = ?", akte)
        last = records.read("SELECT kette FROM protokoll ORDER BY id DESC LIMIT 1")
        entry = Entry(
            time,
            akte if found or az else None,
            str(found[0]["az"]) if found else az,
            *(person.name, person.role, provider, model, what, decision),
        )
        chain = entry.chained(str(last[0]["kette"]) if last else BEGIN)
        marks = ", ".join("?" * len(_FIELDS))
        sql = f"INSERT INTO protokoll ({', '.join(_FIELDS)}) VALUES ({marks})"
        records.write(sql, *astuple(entry), chain)


def verify(records: Records) -> tuple[int, str, str]:
    """Rows, the end of the chain, and what is wrong with it; empty if nothing is. Blocks."""
    chain, last = BEGIN, 0
    while rows := records.read("SELECT * FROM protokoll WHERE id > ? ORDER BY id LIMIT 5000", last):
        for row in rows:
            number = int(str(row["id"]))
            if number != last + 1:
                return last, chain, f"Zwischen den Zeilen {last} und {number} fehlen welche."
            chain = Entry(*(row[one] for one in _FIELDS[:-1])).chained(chain)  # type: ignore[arg-type]
            if chain != row["kette"]:
                return last, chain, f"Die Zeile {number} wurde geändert oder eingefügt."
            last = number
    return last, chain, ""


def as_csv(records: Records, akte: int) -> str:
    """The rows of one Akte as German spreadsheets read them. Blocks."""
    rows = records.read("SELECT * FROM protokoll WHERE akte = ? ORDER BY id", akte)
    made = io.StringIO()
    writer = csv.writer(made, delimiter=";", lineterminator="\r\n")
    names = ("id", *_FIELDS)
    writer.writerow(names)
    for row in rows:
        writer.writerow([cell(str(row[name] if row[name] is not None else "")) for name in names])
    return made.getvalue()


HEADS = ("Zeit", "Person", "Rolle", "Anbieter", "Modell", "Was", "Entscheidung")


def rows_of(records: Records, akte: int) -> list[tuple[str, ...]]:
    """The rows of one Akte under ``HEADS``, for paper. Blocks."""
    names = ("zeit", "person", "rolle", "anbieter", "modell", "was", "entscheidung")
    rows = records.read("SELECT * FROM protokoll WHERE akte = ? ORDER BY id", akte)
    return [tuple(str(row[name] or "") for name in names) for row in rows]


def private(path: str, flags: int) -> int:
    """Opens a file that its owner alone may read: what it holds is secret (§ 203 StGB)."""
    return os.open(path, flags, 0o600)


def cell(text: str) -> str:
    """A value that no spreadsheet computes."""
    return f"'{text}" if text.startswith(_FORMULA) else text
