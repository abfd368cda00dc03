"""Zeiten: what was worked on an Akte, by whom and how long (KZ-11)."""

from __future__ import annotations

import datetime
from typing import cast

from studio.packs import Home, Person, ToolFailed, Value, dataclass

from .. import _german as german
from .history import note, now
from .persons import number_of, require_may_enter
from .rows import AkteRows

MOST_MINUTES = 1440


@dataclass(frozen=True, slots=True)
class Zeit:
    """One entry. ``billed`` names the Kostennote that it is in."""

    id: int
    akte: int
    az: str
    person: str
    day: str
    minutes: int
    text: str
    billable: bool
    billed: str
    draft: str

    @property
    def address(self) -> str:
        return f"kanzlei:zeit/{self.id}"


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """The stopwatch of a person, which runs on an Akte."""

    akte: int
    az: str
    rubrum: str
    since: datetime.datetime

    @property
    def minutes(self) -> int:
        """Those that it ran, begun ones too."""
        ran = datetime.datetime.now(datetime.UTC) - self.since
        return min(max(int(ran.total_seconds() + 59) // 60, 1), MOST_MINUTES)

    @property
    def shown(self) -> str:
        """``0:42``."""
        return f"{self.minutes // 60}:{self.minutes % 60:02}"


class Zeiten:
    """The time of the office. All of it blocks."""

    def __init__(self, home: Home) -> None:
        self._records = home.records
        self._rows = AkteRows(home.records, "zeit", _zeit, "keine Zeit")

    def find(
        self, person: Person, akte: int, *, since: str = "", until: str = "", who: str = ""
    ) -> list[Zeit]:
        """Those of an Akte that a person may see, the newest first; ``who`` is a name or login."""
        return self._rows.find(
            person,
            ("zeit.akte = ?", akte),
            ("zeit.datum >= ?", since or None),
            ("zeit.datum <= ?", until or None),
            ("? IN (wer.name, wer.login)", who or None),
            order="zeit.datum DESC, zeit.id DESC",
        )

    def of_day(self, person: Person, day: datetime.date) -> list[Zeit]:
        """What a person entered for themselves on a day, the newest first."""
        return self._rows.find(
            person,
            ("zeit.person = ?", number_of(person)),
            ("zeit.datum = ?", day.isoformat()),
            order="zeit.id DESC",
        )

    def stopwatch(self, person: Person) -> Stopwatch | None:
        """The stopwatch of a person, if it runs."""
        sql = (
            "SELECT stoppuhr.*, akte.az, akte.rubrum FROM stoppuhr "
            "JOIN akte ON akte.id = stoppuhr.akte WHERE stoppuhr.person = ?"
        )
        rows = self._records.read(sql, number_of(person))
        if not rows:
            return None
        (row,) = rows
        since = datetime.datetime.fromisoformat(str(row["seit"]))
        return Stopwatch(cast("int", row["akte"]), str(row["az"]), str(row["rubrum"]), since)

    def start(self, person: Person, akte: int) -> None:
        """Let the stopwatch run on an Akte; raises ToolFailed where it runs already."""
        with self._records.together():
            if running := self.stopwatch(person):
                raise ToolFailed(f"Die Stoppuhr läuft schon, für {running.az} {running.rubrum}.")
            sql = "INSERT INTO stoppuhr (person, akte, seit) VALUES (?, ?, ?)"
            self._records.write(sql, number_of(person), akte, now())

    def stop(self, person: Person) -> None:
        """The stopwatch runs no more."""
        self._records.write("DELETE FROM stoppuhr WHERE person = ?", number_of(person))

    def get(self, person: Person, number: int) -> Zeit:
        """One by its id; raises ToolFailed where there is none to see."""
        return self._rows.get(person, number)

    def add(
        self,
        person: Person,
        akte: int,
        *,
        day: str,
        minutes: int,
        text: str,
        billable: bool,
        draft: str | None = None,
    ) -> int:
        """Enter time of the person who works here; ``draft`` is entered once."""
        require_minutes(minutes)
        with self._records.together():
            sql = (
                "INSERT INTO zeit (akte, person, datum, minuten, text, abrechenbar, angelegt,"
                " entwurf) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            )
            values = (akte, number_of(person), day, minutes, text, int(billable), now(), draft)
            number = self._records.write(sql, *values)
            words = f"{minutes} min am {day}: {text}"
            note(self._records, person, akte, "zeit", number, field="angelegt", new=words,
                 draft=draft)  # fmt: skip
        return number

    def bill(self, person: Person, akte: int, until: str, number: str) -> int:
        """Mark what is billable and not billed, up to an ISO day, as standing in a Kostennote;
        returns how many entries. They are those of all who work on the Akte."""
        require_may_enter(person, "Kostennoten")
        with self._records.together():  # else two Kostennoten could bill the same
            found = self.find(person, akte, until=until)
            open_ones = [one for one in found if one.billable and not one.billed]
            for one in open_ones:
                self._set_billed(person, one, number)
        return len(open_ones)

    def unbill(self, person: Person, akte: int, number: str) -> int:
        """Mark what stands in a Kostennote as not billed; returns how many entries."""
        require_may_enter(person, "Kostennoten")
        billed = [one for one in self.find(person, akte) if number and one.billed == number]
        with self._records.together():
            for one in billed:
                self._set_billed(person, one, "")
        return len(billed)

    def _set_billed(self, person: Person, one: Zeit, number: str) -> None:
        sql = "UPDATE zeit SET abgerechnet = ? WHERE id = ?"
        self._records.write(sql, number or None, one.id)
        note(self._records, person, one.akte, "zeit", one.id, field="abgerechnet",
             old=one.billed, new=number)  # fmt: skip

    def take_back(self, person: Person, draft: str) -> None:
        """Remove what came of a draft; its history stays. Raises ToolFailed where it is billed."""
        one = self._rows.of_draft(draft)
        if one is None:
            return
        if one.billed:
            raise ToolFailed(f"Diese Zeit steht in der Kostennote {one.billed}.")
        with self._records.together():
            self._records.write("DELETE FROM zeit WHERE id = ?", one.id)
            note(self._records, person, one.akte, "zeit", one.id, field="gelöscht", old=one.text,
                 draft=draft)  # fmt: skip


def require_minutes(minutes: int) -> None:
    """Raise ToolFailed for what no day has."""
    if not 1 <= minutes <= MOST_MINUTES:
        raise ToolFailed(f"Eine Zeit hat 1 bis {MOST_MINUTES} Minuten, nicht {minutes}.")


def read_minutes(text: str) -> int:
    """The minutes of ``42``, ``0:42`` or ``0,7 h``; raises ToolFailed."""
    plain = text.strip().lower()
    hours, colon, rest = plain.partition(":")
    try:
        if colon:
            return int(hours or 0) * 60 + int(rest)
        if plain.endswith("h"):
            return int(german.read_amount(plain.removesuffix("h")) * 60)
        return int(plain.removesuffix("min"))
    except ValueError as error:
        raise ToolFailed(
            f"Dauer: „{text}“ ist keine Zeit. Geschrieben wird sie 42, 0:42 oder 0,7 h."
        ) from error


def duration(minutes: int) -> str:
    """``1 h 30 min``."""
    hours, rest = divmod(minutes, 60)
    return " ".join([*([f"{hours} h"] if hours else []), *([f"{rest} min"] if rest else [])]) or "0"


def _zeit(row: dict[str, Value]) -> Zeit:
    return Zeit(
        id=cast("int", row["id"]),
        akte=cast("int", row["akte"]),
        az=str(row["az"]),
        person=str(row["wer"]),
        day=str(row["datum"]),
        minutes=cast("int", row["minuten"]),
        text=str(row["text"]),
        billable=bool(row["abrechenbar"]),
        billed=str(row["abgerechnet"] or ""),
        draft=str(row["entwurf"] or ""),
    )
