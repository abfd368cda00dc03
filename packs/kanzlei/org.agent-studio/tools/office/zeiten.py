"""Zeiten: what was worked on an Akte, by whom and how long (KZ-11)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from studio.packs import Home, Person, ToolFailed, Value

from .akten import visible
from .history import note, now
from .persons import number_of

MOST_MINUTES = 1440


@dataclass(frozen=True, slots=True)
class Zeit:
    """One entry. ``billed`` names the Kostennote that it is in."""

    id: int
    akte: int
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


class Zeiten:
    """The time of the office. All of it blocks."""

    def __init__(self, home: Home) -> None:
        self._records = home.records

    def find(
        self, person: Person, akte: int, *, since: str = "", until: str = "", who: str = ""
    ) -> list[Zeit]:
        """Those of an Akte that a person may see, the newest first; ``who`` is a name or login."""
        allowed, values = visible(person)
        sql = f"{_COLUMNS} WHERE {allowed} AND zeit.akte = ?"
        asked: list[Value] = [*values, akte]
        for words, value in (
            ("zeit.datum >= ?", since),
            ("zeit.datum <= ?", until),
            ("? IN (wer.name, wer.login)", who),
        ):
            if value:
                sql, asked = f"{sql} AND {words}", [*asked, value]
        rows = self._records.read(f"{sql} ORDER BY zeit.datum DESC, zeit.id DESC", *asked)
        return [_zeit(row) for row in rows]

    def get(self, person: Person, number: int) -> Zeit:
        """One by its id; raises ToolFailed where there is none to see."""
        allowed, values = visible(person)
        rows = self._records.read(f"{_COLUMNS} WHERE zeit.id = ? AND {allowed}", number, *values)
        if not rows:
            raise ToolFailed(
                f"Es gibt keine Zeit {number}, oder sie ist für {person.name} nicht zugänglich."
            )
        return _zeit(rows[0])

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

    def take_back(self, person: Person, draft: str) -> None:
        """Remove what came of a draft; its history stays. Raises ToolFailed where it is billed."""
        rows = self._records.read(f"{_COLUMNS} WHERE zeit.entwurf = ?", draft)
        if not rows:
            return
        one = _zeit(rows[0])
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


def duration(minutes: int) -> str:
    """``1 h 30 min``."""
    hours, rest = divmod(minutes, 60)
    return " ".join([*([f"{hours} h"] if hours else []), *([f"{rest} min"] if rest else [])]) or "0"


_COLUMNS = (
    "SELECT zeit.*, wer.name AS wer FROM zeit JOIN akte ON akte.id = zeit.akte "
    "JOIN person AS wer ON wer.id = zeit.person"
)


def _zeit(row: dict[str, Value]) -> Zeit:
    return Zeit(
        id=cast("int", row["id"]),
        akte=cast("int", row["akte"]),
        person=str(row["wer"]),
        day=str(row["datum"]),
        minutes=cast("int", row["minuten"]),
        text=str(row["text"]),
        billable=bool(row["abrechenbar"]),
        billed=str(row["abgerechnet"] or ""),
        draft=str(row["entwurf"] or ""),
    )
