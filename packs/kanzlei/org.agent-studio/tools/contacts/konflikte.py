"""Konflikte: whether somebody stands on the other side already (§ 43a IV BRAO, KZ-15).

All Akten are looked at, also those that the person may not see: of these a hit says whom to ask,
and nothing else. What was asked and found is kept with its day.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import cast

from studio.packs import Home, Person, ToolFailed, Value, dataclass

from ..office.akten import Akte, visible
from ..office.history import now
from ..office.persons import number_of
from .kontakte import SIDES, Kontakt, keys, kontakt_of
from .likeness import WEAK, Likeness, Name, likeness
from .names import has_legal_form

_OTHER = {"Mandant": "Gegner", "Gegner": "Mandant"}
_PORTION = 500


@dataclass(frozen=True, slots=True)
class Hit:
    """One hit. ``clash``: on the other side there. Of a foreign Akte only ``ask`` is filled."""

    clash: bool
    grade: int = 0
    reason: str = ""
    name: str = ""
    akte: int = 0
    az: str = ""
    rubrum: str = ""
    role: str = ""
    ask: str = ""

    def __str__(self) -> str:
        what = "Widerstreit möglich" if self.clash else "bekannt"
        if self.ask:
            return f"{what}: in einer Akte, die Du nicht siehst. Frage {self.ask}."
        return f"{what}: {self.name}, {self.role} in {self.az} {self.rubrum} ({self.reason})"


@dataclass(frozen=True, slots=True)
class Check:
    """What was asked and found. ``day`` is when, in UTC; ``contact`` is 0 for a name alone."""

    id: int
    day: str
    asked: str
    side: str
    hits: tuple[Hit, ...]
    contact: int = 0

    @property
    def clashes(self) -> bool:
        return any(one.clash for one in self.hits)


class Konflikte:
    """The checks for conflicts. All of it blocks."""

    def __init__(self, home: Home) -> None:
        self._records = home.records

    def check(
        self,
        person: Person,
        names: Sequence[Name],
        side: str,
        *,
        akte: Akte | None = None,
        contact: Kontakt | None = None,
    ) -> Check:
        """Look for somebody, with those who represent them, who is to stand on a side.

        ``akte`` is the one they are to be in, which is no hit. Keeps the result.
        """
        if side not in SIDES:
            raise ToolFailed("Die Seite ist Mandant oder Gegner, oder leer.")
        names = [one for one in names if one.name.strip()]
        if not names:
            raise ToolFailed("Wer soll geprüft werden? Nenne einen Namen.")
        hits = self._hits(person, names, side, akte.id if akte else 0)
        asked = "; ".join(f"{one.first} {one.name}".strip() for one in names)
        told = json.dumps([asdict(one) for one in names], ensure_ascii=False)
        found = json.dumps([asdict(one) for one in hits], ensure_ascii=False)
        day = now()
        number = self._records.write(
            "INSERT INTO konflikt (zeit, person, akte, kontakt, seite, gefragt, treffer) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            *(day, number_of(person), akte.id if akte else None, contact.id if contact else None),
            *(side, told, found),
        )
        return Check(number, day, asked, side, tuple(hits), contact.id if contact else 0)

    def kept(self, akte: Akte) -> list[Check]:
        """The checks for an Akte that the person may see, the newest first."""
        sql = "SELECT * FROM konflikt WHERE akte = ? ORDER BY id DESC"
        found: list[Check] = []
        for row in self._records.read(sql, akte.id):
            names = cast("list[dict[str, str]]", json.loads(str(row["gefragt"])))
            hits = tuple(Hit(**one) for one in json.loads(str(row["treffer"])))
            asked = "; ".join(f"{one['first']} {one['name']}".strip() for one in names)
            number = cast("int", row["id"])
            contact = cast("int", row["kontakt"] or 0)
            found.append(Check(number, str(row["zeit"]), asked, str(row["seite"]), hits, contact))
        return found

    def _hits(self, person: Person, names: Sequence[Name], side: str, own: int) -> list[Hit]:
        alike: dict[int, tuple[Likeness, Kontakt]] = {}
        for name in names:
            for known in self._candidates(keys(name, asked=True)):
                found = likeness(name, known.name)
                if found.grade > alike.get(known.id, (Likeness(0), known))[0].grade:
                    alike[known.id] = found, known
        hits = [
            self._hit(row, *alike[cast("int", row["wen"])], side)
            for row in self._parts(person, alike)
            if row["akte"] != own
        ]
        kept = {(one.ask or one.akte, one.name, one.role, one.clash): one for one in hits}
        asked = {one.ask for one in kept.values() if one.ask and one.clash}
        shown = [one for one in kept.values() if one.clash or one.ask not in asked]
        return sorted(shown, key=lambda one: (not one.clash, bool(one.ask), -one.grade, one.az))

    def _candidates(self, asked: Sequence[str]) -> Iterable[Kontakt]:
        marks = ", ".join("?" * len(asked))
        sql = (
            "SELECT * FROM kontakt WHERE id IN (SELECT kontakt FROM kontakt_schluessel "
            f"WHERE schluessel IN ({marks}))"
        )
        return map(kontakt_of, self._records.read(sql, *asked))

    def _parts(self, person: Person, alike: Iterable[int]) -> Iterable[dict[str, Value]]:
        """How contacts take part in Akten, themselves or as who represents somebody there."""
        allowed, values = visible(person)
        numbers = list(alike)
        for first in range(0, len(numbers), _PORTION):
            some = numbers[first : first + _PORTION]
            marks = ", ".join("?" * len(some))
            for field in ("kontakt", "vertreten_durch"):
                sql = (
                    f"SELECT beteiligung.{field} AS wen, beteiligung.akte, beteiligung.rolle, "
                    f"seite, akte.az, akte.rubrum, {allowed} AS sichtbar, "
                    "wer.name AS anwalt FROM beteiligung "
                    "JOIN akte ON akte.id = beteiligung.akte LEFT JOIN person AS wer "
                    f"ON wer.id = akte.anwalt WHERE beteiligung.{field} IN ({marks})"
                )
                for row in self._records.read(sql, *values, *some):
                    yield (
                        row if field == "kontakt" else {**row, "rolle": f"vertritt {row['rolle']}"}
                    )

    def _hit(self, row: dict[str, Value], found: Likeness, known: Kontakt, side: str) -> Hit:
        clash = row["seite"] == _OTHER.get(side, "-") and found.grade > WEAK
        if not row["sichtbar"]:
            return Hit(clash, ask=str(row["anwalt"] or "die Kanzleileitung"))
        return Hit(
            clash,
            found.grade,
            found.reason,
            known.shown,
            cast("int", row["akte"]),
            str(row["az"]),
            str(row["rubrum"]),
            str(row["rolle"]),
        )


def named(text: str, kind: str = "", born: str = "") -> Name:
    """The name of words that a person typed: „Petra Huber“, „Huber, Petra“ or a firm."""

    text = " ".join(text.split())
    if kind == "Firma" or (not kind and has_legal_form(text)):
        return Name("Firma", text)
    if "," in text:
        last, _, first = text.partition(",")
        return Name("Person", last.strip(), first.strip(), born=born)
    first, _, last = text.rpartition(" ")
    return Name("Person", last, first, born=born)
