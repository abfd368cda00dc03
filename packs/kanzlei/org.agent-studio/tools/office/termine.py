"""Termine: hearings and meetings of an Akte (KZ-11).

Their hours are kept as the clock on the wall shows them: that is how a court sets them.
"""

from __future__ import annotations

import datetime
from typing import cast

from studio.packs import Home, Person, ToolFailed, Value, dataclass

from .akten import Akte
from .forms import read_day
from .history import note
from .persons import number_of, require_may_enter
from .rows import AkteRows

OPEN, OFF = "offen", "abgesagt"
KINDS = ("Verhandlung", "Besprechung", "Telefonat", "Ortstermin", "Termin")
LONGEST = 300


@dataclass(frozen=True, slots=True)
class Termin:
    """One Termin; ``end`` is None where nobody said it."""

    id: int
    akte: int
    az: str
    rubrum: str
    kind: str
    begin: datetime.datetime
    end: datetime.datetime | None
    place: str
    text: str
    state: str
    person: str

    @property
    def title(self) -> str:
        return self.text or self.kind

    @property
    def day(self) -> datetime.date:
        return self.begin.date()

    @property
    def hours(self) -> str:
        """``10:30`` or ``10:30 bis 11:15``."""
        until = f" bis {self.end:%H:%M}" if self.end else ""
        return f"{self.begin:%H:%M}{until}"


class Termine:
    """The Termine of the office. All of it blocks."""

    def __init__(self, home: Home) -> None:
        self._records = home.records
        self._rows = AkteRows(home.records, "termin", _termin, "keinen Termin")

    def find(
        self,
        person: Person,
        *,
        akte: int | None = None,
        since: datetime.date | None = None,
        until: datetime.date | None = None,
        states: tuple[str, ...] = (OPEN,),
    ) -> list[Termin]:
        """Those a person may see, by their hour."""
        return self._rows.find(
            person,
            (f"termin.zustand IN ({', '.join('?' * len(states))})", states),
            ("termin.akte = ?", akte),
            ("termin.beginn >= ?", since.isoformat() if since else None),
            ("date(termin.beginn) <= ?", until.isoformat() if until else None),
            order="termin.beginn, termin.id",
        )

    def get(self, person: Person, number: int) -> Termin:
        """One by its id; raises ToolFailed where there is none to see."""
        return self._rows.get(person, number)

    def add(
        self,
        person: Person,
        akte: Akte,
        *,
        day: str,
        begin: str,
        end: str = "",
        kind: str = "Termin",
        place: str = "",
        text: str = "",
    ) -> int:
        """Enter one: ``04.02.2026``, ``10:30``. Raises ToolFailed for hours that cannot be."""
        require_may_enter(person, "Termine")
        if kind not in KINDS:
            raise ToolFailed(f"„{kind}“ ist keine Art. Es gibt: {', '.join(KINDS)}.")
        day = read_day("Tag", day)
        first, last = _hour("Beginn", begin), _hour("Ende", end) if end.strip() else ""
        if last and last <= first:
            raise ToolFailed(f"Das Ende {last} liegt nicht nach dem Beginn {first}.")
        text, place = " ".join(text.split()), " ".join(place.split())
        if max(len(text), len(place)) > LONGEST:
            raise ToolFailed(f"Ort und Text haben je höchstens {LONGEST} Zeichen.")
        with self._records.together():
            number = self._records.write(
                "INSERT INTO termin (akte, art, beginn, ende, ort, text, person) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                *(akte.id, kind, f"{day}T{first}", f"{day}T{last}" if last else None),
                *(place, text, number_of(person)),
            )
            note(self._records, person, akte.id, "termin", number, field="angelegt",
                 new=f"{day} {first}: {text or kind}")  # fmt: skip
        return number

    def cancel(self, person: Person, termin: Termin) -> None:
        """It does not take place; the row stays."""
        require_may_enter(person, "Termine")
        with self._records.together():
            sql = "UPDATE termin SET zustand = ? WHERE id = ? AND zustand = ?"
            if not self._records.write(sql, OFF, termin.id, OPEN):
                raise ToolFailed("Der Termin ist schon abgesagt.")
            note(self._records, person, termin.akte, "termin", termin.id, field="zustand",
                 old=OPEN, new=OFF)  # fmt: skip


def _hour(name: str, text: str) -> str:
    try:
        return datetime.datetime.strptime(text.strip(), "%H:%M").strftime("%H:%M")
    except ValueError as error:
        raise ToolFailed(
            f"{name}: „{text}“ ist keine Uhrzeit. Geschrieben wird sie 10:30."
        ) from error


def _termin(row: dict[str, Value]) -> Termin:
    end = row["ende"]
    return Termin(
        id=cast("int", row["id"]),
        akte=cast("int", row["akte"]),
        az=str(row["az"]),
        rubrum=str(row["rubrum"]),
        kind=str(row["art"]),
        begin=datetime.datetime.fromisoformat(str(row["beginn"])),
        end=datetime.datetime.fromisoformat(str(end)) if end else None,
        place=str(row["ort"]),
        text=str(row["text"]),
        state=str(row["zustand"]),
        person=str(row["wer"]),
    )
