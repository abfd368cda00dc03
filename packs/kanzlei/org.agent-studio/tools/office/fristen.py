"""Fristen: kept with their calculation, checked by a person, then done or cancelled (KZ-21).

None is ever deleted.
"""

from __future__ import annotations

import datetime
import json
from typing import cast

from studio.packs import Home, Person, ToolFailed, Value, dataclass

from .akten import visible
from .entwuerfe import require_may_decide
from .history import note
from .persons import ADMIN, ANWALT, number_of

COMPUTED, CHECKED, DONE, CANCELLED = "berechnet", "geprüft", "erledigt", "storniert"
OPEN = (COMPUTED, CHECKED)
STATES = (COMPUTED, CHECKED, DONE, CANCELLED)
_COLUMNS = (
    "SELECT frist.*, akte.az, akte.rubrum, akte.anwalt, akte.sachbearbeiter FROM frist "
    "JOIN akte ON akte.id = frist.akte"
)


@dataclass(frozen=True, slots=True)
class Frist:
    """One Frist. ``steps`` and ``hints`` are those of its calculation, ``given`` what it
    was computed from, as JSON."""

    id: int
    akte: int
    az: str
    rubrum: str
    kind: str
    norm: str
    end: datetime.date
    vorfrist: datetime.date | None
    notfrist: bool
    steps: tuple[str, ...]
    hints: tuple[str, ...]
    reason: str
    named: str
    state: str
    entered_by: int
    lawyer: int | None
    clerk: int | None
    note: str
    draft: str
    given: str

    @property
    def address(self) -> str:
        return f"kanzlei:frist/{self.id}"


class Fristen:
    """The Fristen of the office. All of it blocks."""

    def __init__(self, home: Home) -> None:
        self._home, self._records = home, home.records

    @property
    def person(self) -> Person:
        """Who works here now."""
        return self._home.person

    def get(self, person: Person, number: int) -> Frist:
        """One by its id; raises ToolFailed where there is none to see."""
        allowed, values = visible(person)
        rows = self._records.read(f"{_COLUMNS} WHERE frist.id = ? AND {allowed}", number, *values)
        if not rows:
            raise ToolFailed(
                f"Es gibt keine Frist {number}, oder sie ist für {person.name} nicht zugänglich."
            )
        return _frist(rows[0])

    def of_draft(self, draft: str) -> Frist | None:
        """What was made of a draft, whoever may see it."""
        rows = self._records.read(f"{_COLUMNS} WHERE frist.entwurf = ?", draft)
        return _frist(rows[0]) if rows else None

    def find(
        self,
        person: Person,
        *,
        akte: int | None = None,
        states: tuple[str, ...] = OPEN,
        until: datetime.date | None = None,
    ) -> list[Frist]:
        """Those a person may see, by their end."""
        allowed, values = visible(person)
        marks = ", ".join("?" * len(states))
        sql = f"{_COLUMNS} WHERE {allowed} AND frist.zustand IN ({marks})"
        asked: list[Value] = [*values, *states]
        if akte is not None:
            sql, asked = f"{sql} AND frist.akte = ?", [*asked, akte]
        if until is not None:
            sql, asked = f"{sql} AND frist.ende <= ?", [*asked, until.isoformat()]
        return [_frist(row) for row in self._records.read(f"{sql} ORDER BY ende, frist.id", *asked)]

    def add(self, person: Person, draft: str, akte: int, values: dict[str, Value]) -> None:
        """Enter what a draft says, once; it comes back where its draft was undone."""
        known = self.of_draft(draft)
        with self._records.together():
            if known is not None:
                if known.state == CANCELLED:
                    self._change(person, known, COMPUTED, "", draft)
                return
            row: dict[str, Value] = {
                **values,
                "akte": akte,
                "eingetragen_von": number_of(person),
                "entwurf": draft,
            }
            names, marks = ", ".join(row), ", ".join("?" * len(row))
            frist = self._records.write(
                f"INSERT INTO frist ({names}) VALUES ({marks})", *row.values()
            )
            note(
                self._records,
                person,
                akte,
                "frist",
                frist,
                field="ende",
                new=values["ende"],
                draft=draft,
            )

    def check(self, person: Person, frist: Frist) -> None:
        """A person confirms the calculation; where two work, another than who entered it."""
        self._require(frist, COMPUTED)
        others = self._records.read("SELECT 1 FROM person WHERE rolle != 'PRAKTIKANT' AND id != ?",
                                    number_of(person))  # fmt: skip
        if others and frist.entered_by == number_of(person):
            raise ToolFailed(
                "Diese Frist prüft eine andere Person als die, die sie eingetragen hat."
            )
        self._require_may(person, frist)
        self._change(person, frist, CHECKED, frist.note)

    def done(self, person: Person, frist: Frist, words: str) -> None:
        """A person did what was due, and says what."""
        self._require(frist, *OPEN)
        if frist.notfrist and frist.state != CHECKED:
            raise ToolFailed("Eine Notfrist wird erst geprüft und dann erledigt.")
        if not words.strip():
            raise ToolFailed("Was wurde getan? Eine Frist wird mit einer Notiz erledigt.")
        self._require_may(person, frist)
        self._change(person, frist, DONE, words.strip())

    def replace(self, person: Person, frist: Frist, end: datetime.date, draft: str) -> None:
        """Cancel a Frist in whose place a draft puts another, such as one that was extended."""
        words = f"Ersetzt durch die Frist mit Ende {end:%d.%m.%Y}"
        self._change(person, frist, CANCELLED, words, draft)

    def take_back(self, person: Person, frist: Frist, draft: str) -> None:
        """Cancel what came of a draft that is undone; the row stays, and what it replaced comes
        back."""
        with self._records.together():
            self._change(person, frist, CANCELLED, "Entwurf zurückgenommen", draft)
            sql = (
                "SELECT zeile, alt FROM verlauf WHERE entwurf = ? AND was = 'frist' "
                "AND feld = 'zustand' AND neu = ? AND zeile != ?"
            )
            for row in self._records.read(sql, draft, CANCELLED, frist.id):
                older = self.get(person, cast("int", row["zeile"]))
                if older.state == CANCELLED:
                    self._change(person, older, str(row["alt"]), "", draft)

    def cancel(self, person: Person, frist: Frist, reason: str) -> None:
        """A lawyer cancels it with a reason; the row stays."""
        self._require(frist, *OPEN)
        if person.role not in (ADMIN, ANWALT):
            raise ToolFailed(f"Eine Frist storniert ein Anwalt, nicht {person.role}.")
        if not reason.strip():
            raise ToolFailed("Warum? Eine Frist wird mit einem Grund storniert.")
        self._change(person, frist, CANCELLED, reason.strip())

    def _require(self, frist: Frist, *states: str) -> None:
        if frist.state not in states:
            raise ToolFailed(f"Die Frist ist {frist.state}; das lässt sich nicht mehr ändern.")

    def _require_may(self, person: Person, frist: Frist) -> None:
        require_may_decide(person, notfrist=frist.notfrist, lawyer=frist.lawyer, clerk=frist.clerk)

    def _change(
        self, person: Person, frist: Frist, state: str, words: str, draft: str | None = None
    ) -> None:
        with self._records.together():
            sql = "UPDATE frist SET zustand = ?, notiz = ? WHERE id = ? AND zustand = ?"
            if not self._records.write(sql, state, words, frist.id, frist.state):
                raise ToolFailed("Die Frist wurde inzwischen geändert. Sieh sie noch einmal an.")
            note(
                self._records,
                person,
                frist.akte,
                "frist",
                frist.id,
                field="zustand",
                old=frist.state,
                new=state,
                draft=draft,
            )


def _frist(row: dict[str, Value]) -> Frist:
    def number(name: str) -> int:
        return cast("int", row[name])

    def day(name: str) -> datetime.date | None:
        value = row[name]
        return datetime.date.fromisoformat(value) if isinstance(value, str) else None

    def texts(name: str) -> tuple[str, ...]:
        return tuple(cast("list[str]", json.loads(str(row[name]))))

    end = day("ende")
    assert end is not None
    return Frist(
        id=number("id"),
        akte=number("akte"),
        az=str(row["az"]),
        rubrum=str(row["rubrum"]),
        kind=str(row["art"]),
        norm=str(row["norm"]),
        end=end,
        vorfrist=day("vorfrist"),
        notfrist=bool(row["notfrist"]),
        steps=texts("schritte"),
        hints=texts("hinweise"),
        reason=str(row["grund"]),
        named=str(row["genannt"] or ""),
        state=str(row["zustand"]),
        entered_by=number("eingetragen_von"),
        lawyer=cast("int | None", row["anwalt"]),
        clerk=cast("int | None", row["sachbearbeiter"]),
        note=str(row["notiz"]),
        draft=str(row["entwurf"]),
        given=str(row["eingaben"]),
    )
