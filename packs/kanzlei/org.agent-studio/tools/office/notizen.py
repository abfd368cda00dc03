"""Notizen: notes about an Akte, and alerts that call a person on a day (KZ-11).

What Helena proposes is no note and no alert: it is a draft, and counts once it is taken over.
"""

from __future__ import annotations

import datetime
from typing import cast

from studio.packs import Home, Person, ToolFailed, Value, dataclass

from .history import note, now
from .persons import ADMIN, ANWALT, number_of
from .rows import AkteRows

LEVELS = ("Hinweis", "wichtig", "dringend")


@dataclass(frozen=True, slots=True)
class Notiz:
    """One note."""

    id: int
    akte: int
    person: str
    text: str
    made: str

    @property
    def address(self) -> str:
        return f"kanzlei:notiz/{self.id}"


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert; ``done`` is when it was seen to."""

    id: int
    akte: int
    az: str
    person: int
    who: str
    due: datetime.date
    level: str
    text: str
    done: str

    @property
    def address(self) -> str:
        return f"kanzlei:alert/{self.id}"


class Notizen:
    """The notes and alerts of the office. All of it blocks."""

    def __init__(self, home: Home) -> None:
        self._records = home.records
        self._notes = AkteRows(home.records, "notiz", _notiz, "keine Notiz")
        self._alerts = AkteRows(home.records, "alert", _alert, "keinen Hinweis")

    def find(self, person: Person, akte: int) -> list[Notiz]:
        """The notes of an Akte that a person may see, the newest first."""
        return self._notes.find(person, ("notiz.akte = ?", akte), order="notiz.id DESC")

    def add(self, person: Person, akte: int, text: str, draft: str | None = None) -> int:
        """Keep a note."""
        if not text.strip():
            raise ToolFailed("Eine Notiz hat einen Text.")
        with self._records.together():
            sql = "INSERT INTO notiz (akte, person, text, angelegt, entwurf) VALUES (?, ?, ?, ?, ?)"
            number = self._records.write(sql, akte, number_of(person), text.strip(), now(), draft)
            note(self._records, person, akte, "notiz", number, field="angelegt", new=text.strip(),
                 draft=draft)  # fmt: skip
        return number

    def alerts(
        self, person: Person, *, akte: int | None = None, until: datetime.date | None = None
    ) -> list[Alert]:
        """The open alerts that are for a person, or all of one Akte; by their day."""
        return self._alerts.find(
            person,
            ("alert.erledigt IS NULL", ()),
            ("alert.akte = ?", akte),
            ("alert.person = ?", number_of(person) if akte is None else None),
            ("alert.faellig <= ?", until.isoformat() if until else None),
            order="alert.faellig, alert.id",
        )

    def alert(self, person: Person, number: int) -> Alert:
        """One by its id; raises ToolFailed where there is none to see."""
        return self._alerts.get(person, number)

    def add_alert(
        self,
        person: Person,
        akte: int,
        *,
        who: int,
        due: str,
        level: str,
        text: str,
        draft: str | None = None,
    ) -> int:
        """Call a person on a day."""
        require_level(level)
        with self._records.together():
            sql = (
                "INSERT INTO alert (akte, person, faellig, stufe, text, angelegt, entwurf) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)"
            )
            number = self._records.write(sql, akte, who, due, level, text.strip(), now(), draft)
            words = f"{due}, {level}: {text.strip()}"
            note(self._records, person, akte, "alert", number, field="angelegt", new=words,
                 draft=draft)  # fmt: skip
        return number

    def see_to(self, person: Person, alert: Alert) -> None:
        """Close an alert: whom it is for, or a lawyer."""
        if person.role not in (ADMIN, ANWALT) and number_of(person) != alert.person:
            raise ToolFailed(f"Diesen Hinweis erledigt {alert.who} oder ein Anwalt.")
        with self._records.together():
            sql = "UPDATE alert SET erledigt = ? WHERE id = ? AND erledigt IS NULL"
            if self._records.write(sql, now(), alert.id):
                note(self._records, person, alert.akte, "alert", alert.id, field="erledigt",
                     new=alert.text)  # fmt: skip

    def take_back(self, person: Person, what: str, draft: str, akte: int) -> None:
        """Remove the note or alert that came of a draft; raises ToolFailed where it was seen to."""
        if what not in ("notiz", "alert"):
            raise ValueError(what)
        rows = self._records.read(f"SELECT * FROM {what} WHERE entwurf = ?", draft)
        if not rows:
            return
        if rows[0].get("erledigt"):
            raise ToolFailed("Der Hinweis ist schon erledigt.")
        number = cast("int", rows[0]["id"])
        with self._records.together():
            self._records.write(f"DELETE FROM {what} WHERE id = ?", number)
            note(self._records, person, akte, what, number, field="gelöscht", old=rows[0]["text"],
                 draft=draft)  # fmt: skip


def require_level(level: str) -> None:
    """Raise ToolFailed for a level that there is not."""
    if level not in LEVELS:
        raise ToolFailed(f"„{level}“ ist keine Stufe. Es gibt: {', '.join(LEVELS)}.")


def _notiz(row: dict[str, Value]) -> Notiz:
    return Notiz(
        id=cast("int", row["id"]),
        akte=cast("int", row["akte"]),
        person=str(row["wer"]),
        text=str(row["text"]),
        made=str(row["angelegt"]),
    )


def _alert(row: dict[str, Value]) -> Alert:
    return Alert(
        id=cast("int", row["id"]),
        akte=cast("int", row["akte"]),
        az=str(row["az"]),
        person=cast("int", row["person"]),
        who=str(row["wer"]),
        due=datetime.date.fromisoformat(str(row["faellig"])),
        level=str(row["stufe"]),
        text=str(row["text"]),
        done=str(row["erledigt"] or ""),
    )
