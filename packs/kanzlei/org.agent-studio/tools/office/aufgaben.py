"""Aufgaben: what somebody has to do for an Akte, on a day or without one (KZ-11)."""

from __future__ import annotations

import datetime
from typing import cast

from studio.packs import Home, Person, ToolFailed, Value, dataclass

from .akten import Akte
from .forms import read_day
from .history import note, now
from .persons import ADMIN, ANWALT, number_of, require_may_enter
from .rows import AkteRows
from .zeit_kind import require_text

LONGEST = 300


@dataclass(frozen=True, slots=True)
class Aufgabe:
    """One Aufgabe; ``done`` is when it was done, and empty before."""

    id: int
    akte: int
    az: str
    rubrum: str
    text: str
    due: datetime.date | None
    person: int
    who: str
    done: str
    note: str


class Aufgaben:
    """The Aufgaben of the office. All of it blocks."""

    def __init__(self, home: Home) -> None:
        self._records = home.records
        self._rows = AkteRows(home.records, "aufgabe", _aufgabe, "keine Aufgabe")

    def find(
        self,
        person: Person,
        *,
        akte: int | None = None,
        own: bool = False,
        until: datetime.date | None = None,
        closed: bool = False,
    ) -> list[Aufgabe]:
        """The open ones that a person may see, by their day, those without one last.

        ``own``: only what is for this person. ``closed``: the done ones too, after the open ones.
        """
        return self._rows.find(
            person,
            ("aufgabe.akte = ?", akte),
            ("aufgabe.person = ?", number_of(person) if own else None),
            ("aufgabe.faellig <= ?", until.isoformat() if until else None),
            ("aufgabe.erledigt IS NULL", None if closed else ()),
            order="aufgabe.erledigt IS NOT NULL, coalesce(aufgabe.faellig, '9'), aufgabe.id",
        )

    def get(self, person: Person, number: int) -> Aufgabe:
        """One by its id; raises ToolFailed where there is none to see."""
        return self._rows.get(person, number)

    def add(
        self, person: Person, akte: Akte, text: str, *, due: str = "", who: Person | None = None
    ) -> int:
        """Give somebody something to do, oneself unless ``who`` is said."""
        require_may_enter(person, "Aufgaben")
        require_text(text, LONGEST)
        day = read_day("Fällig", due) if due.strip() else None
        text = " ".join(text.split())
        with self._records.together():
            number = self._records.write(
                "INSERT INTO aufgabe (akte, text, faellig, person, angelegt) "
                "VALUES (?, ?, ?, ?, ?)",
                *(akte.id, text, day, number_of(who or person), now()),
            )
            note(self._records, person, akte.id, "aufgabe", number, field="angelegt", new=text)
        return number

    def finish(self, person: Person, aufgabe: Aufgabe, words: str = "") -> None:
        """It is done: says whom it is for, or a lawyer."""
        if person.role not in (ADMIN, ANWALT) and number_of(person) != aufgabe.person:
            raise ToolFailed(f"Diese Aufgabe erledigt {aufgabe.who} oder ein Anwalt.")
        with self._records.together():
            sql = "UPDATE aufgabe SET erledigt = ?, notiz = ? WHERE id = ? AND erledigt IS NULL"
            if not self._records.write(sql, now(), " ".join(words.split()), aufgabe.id):
                raise ToolFailed("Die Aufgabe ist schon erledigt.")
            note(self._records, person, aufgabe.akte, "aufgabe", aufgabe.id, field="erledigt",
                 new=aufgabe.text)  # fmt: skip


def _aufgabe(row: dict[str, Value]) -> Aufgabe:
    due = row["faellig"]
    return Aufgabe(
        id=cast("int", row["id"]),
        akte=cast("int", row["akte"]),
        az=str(row["az"]),
        rubrum=str(row["rubrum"]),
        text=str(row["text"]),
        due=datetime.date.fromisoformat(str(due)) if due else None,
        person=cast("int", row["person"]),
        who=str(row["wer"]),
        done=str(row["erledigt"] or ""),
        note=str(row["notiz"]),
    )
