"""Agreements: with which provider the office agreed on secrecy (§ 43e BRAO, KZ-42).

One is in text form; recorded are its day, its sub-contractors, the country, and where it is kept.
"""

from __future__ import annotations

from studio.packs import Home, Person, ToolFailed, dataclass

from .history import now
from .persons import ADMIN, ANWALT, number_of


@dataclass(frozen=True, slots=True)
class Vereinbarung:
    """One agreement. ``place`` says where the text is."""

    id: int
    provider: str
    day: str
    subcontractors: str
    country: str
    place: str
    ended: str


class Vereinbarungen:
    """The agreements of the office. All of it blocks."""

    def __init__(self, home: Home) -> None:
        self._records = home.records

    def all(self) -> list[Vereinbarung]:
        rows = self._records.read("SELECT * FROM vereinbarung ORDER BY id")
        return [
            Vereinbarung(
                int(str(row["id"])),
                *(str(row[name]) for name in ("anbieter", "tag", "unterauftragnehmer", "land")),
                *(str(row[name] or "") for name in ("fundstelle", "beendet")),
            )
            for row in rows
        ]

    def of(self, provider: str) -> Vereinbarung | None:
        """The one that holds with a provider."""
        open_ones = [one for one in self.all() if one.provider == provider and not one.ended]
        return open_ones[-1] if open_ones else None

    def record(self, person: Person, provider: str, *texts: str) -> None:
        """Record one: its day, sub-contractors, country, and where its text is kept."""
        _require_lawyer(person)
        day, subcontractors, country, place = (" ".join(one.split()) for one in texts)
        for what, value in (("der Tag", day), ("das Land", country), ("die Fundstelle", place)):
            if not value:
                raise ToolFailed(f"An der Vereinbarung fehlt {what}.")
        if not subcontractors:
            raise ToolFailed("Nenne die Unterauftragnehmer, oder „keine“.")
        self._records.write(
            "INSERT INTO vereinbarung (anbieter, tag, unterauftragnehmer, land, fundstelle, "
            "person, zeit) VALUES (?, ?, ?, ?, ?, ?, ?)",
            *(provider, day, subcontractors, country, place, number_of(person), now()),
        )

    def end(self, person: Person, number: int) -> None:
        """End one; nothing is sent by it any more."""
        _require_lawyer(person)
        sql = "UPDATE vereinbarung SET beendet = ? WHERE id = ? AND beendet IS NULL"
        if not self._records.write(sql, now(), number):
            raise ToolFailed(f"Eine Vereinbarung {number}, die noch gilt, gibt es nicht.")


def _require_lawyer(person: Person) -> None:
    if person.role not in (ADMIN, ANWALT):
        raise ToolFailed(f"Vereinbarungen erfasst ein Anwalt, nicht {person.role}.")
