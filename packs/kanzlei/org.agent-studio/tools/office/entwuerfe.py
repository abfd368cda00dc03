"""Entwürfe: what Helena drafted for an Akte, and what a person decided about it (KZ-37).

The studio holds the drafts themselves. A row here says to which Akte one belongs and how it
stands; approving writes it in the transaction of what the draft makes.
"""

from __future__ import annotations

import difflib
import json
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Protocol, cast

from studio.packs import (
    DraftKind,
    Home,
    KindDraft,
    Person,
    PersonsAct,
    ToolFailed,
    Value,
    dataclass,
)

from .akten import Akte, Akten, visible
from .history import now
from .persons import ADMIN, ANWALT, SACHBEARBEITER, number_of

PENDING, APPROVED, UNDONE = "PENDING", "APPROVED", "UNDONE"
OPEN = (PENDING, "CONFLICT")
STATES = {
    "waiting": PENDING,
    "approved": APPROVED,
    "discarded": "REJECTED",
    "superseded": "SUPERSEDED",
    "conflict": "CONFLICT",
    "undone": UNDONE,
}
"""Our names of the states that a draft has in the studio."""
PROPOSAL = "Vorschlag von Helena"


@dataclass(frozen=True, slots=True)
class Entwurf:
    """One draft. ``change`` is what a person changed in the one before it, as a difference."""

    id: str
    akte: int
    az: str
    kind: str
    state: str
    title: str
    text: str
    reason: str
    change: str
    asked_by: int
    made: str

    @property
    def open(self) -> bool:
        return self.state in OPEN


class Entwuerfe:
    """The drafts of the office. All of it blocks."""

    def __init__(self, home: Home) -> None:
        self._records = home.records

    def find(
        self,
        person: Person,
        *,
        akte: int | None = None,
        states: Sequence[str] = OPEN,
        kinds: Sequence[str] = (),
        most: int = 200,
    ) -> list[Entwurf]:
        """Those of Akten that a person may see, the newest first."""
        allowed, values = visible(person)
        sql = (
            "SELECT entwurf.*, akte.az FROM entwurf JOIN akte ON akte.id = entwurf.akte "
            f"WHERE {allowed} AND entwurf.zustand IN ({', '.join('?' * len(states))})"
        )
        asked: list[Value] = [*values, *states]
        if akte is not None:
            sql, asked = f"{sql} AND entwurf.akte = ?", [*asked, akte]
        if kinds:
            sql += f" AND entwurf.art IN ({', '.join('?' * len(kinds))})"
            asked += kinds
        rows = self._records.read(f"{sql} ORDER BY angelegt DESC, id LIMIT ?", *asked, most)
        return [_entwurf(row) for row in rows]

    def state(self, draft: str) -> str:
        """How a draft stands, empty for one that is not known."""
        rows = self._records.read("SELECT zustand FROM entwurf WHERE id = ?", draft)
        return str(rows[0]["zustand"]) if rows else ""

    def asked_by(self, draft: str) -> int | None:
        """Who had it drafted."""
        rows = self._records.read("SELECT gefragt_von FROM entwurf WHERE id = ?", draft)
        return cast("int", rows[0]["gefragt_von"]) if rows else None

    def settle(
        self, draft: KindDraft, fields: OfficeFields, person: Person, state: str, reason: str = ""
    ) -> None:
        """Keep how a draft stands now; what was decided before is not opened again."""
        decided = None if state == PENDING else now()
        with self._records.together():
            if known := self.state(draft.id):
                if known == state or (state == PENDING and known != PENDING):
                    return
                sql = (
                    "UPDATE entwurf SET zustand = ?, grund = ?, entschieden = ?,"
                    " entschieden_von = ? WHERE id = ?"
                )
                self._records.write(sql, state, reason, decided, number_of(person), draft.id)
                return
            row: dict[str, Value] = {
                "id": draft.id,
                "akte": fields.akte,
                "art": draft.kind.rpartition(":")[2],
                "zustand": state,
                "titel": draft.title,
                "text": draft.after,
                "felder": json.dumps(draft.fields, ensure_ascii=False),
                "grund": reason,
                "bearbeitet_aus": fields.edited or None,
                "unterschied": self._difference(fields.edited, draft.after),
                "gefragt_von": self.asked_by(fields.edited) or number_of(person),
                "angelegt": now(),
                "entschieden": decided,
                "entschieden_von": number_of(person) if decided else None,
            }
            names, marks = ", ".join(row), ", ".join("?" * len(row))
            self._records.write(f"INSERT INTO entwurf ({names}) VALUES ({marks})", *row.values())

    def _difference(self, older: str, text: str) -> str:
        """What a person changed by hand in an older draft."""
        rows = self._records.read("SELECT text FROM entwurf WHERE id = ?", older) if older else []
        if not rows:
            return ""
        old, new = str(rows[0]["text"]).splitlines(), text.splitlines()
        lines = difflib.unified_diff(old, new, PROPOSAL, "geändert", n=1, lineterm="")
        return "\n".join(lines)


class OfficeFields(Protocol):
    """What the fields of all our drafts have. ``edited`` is the draft that a person changed."""

    akte: int
    edited: str


class OfficeKind(DraftKind):
    """A kind of drafts of the office: what it makes, and its row, are written as one."""

    @abstractmethod
    def enter(self, draft: KindDraft, fields: Any, akte: Akte, home: Home, person: Person) -> None:
        """Make what the draft says; within the transaction."""

    @abstractmethod
    def take_back(
        self, draft: KindDraft, fields: Any, akte: Akte, home: Home, person: Person
    ) -> None:
        """Take back what it made; raises ToolFailed where something depends on it."""

    def require_may(
        self, draft: KindDraft, fields: Any, akte: Akte, home: Home, person: Person
    ) -> None:
        """Raise ToolFailed unless a person may decide about this draft (KZ-36)."""
        require_may_decide(person, lawyer=akte.lawyer, clerk=akte.clerk, what=self.noun)

    def prepare(self, draft: KindDraft, fields: Any, akte: Akte, home: Home) -> None:
        """What is not in the records, such as a file: before them, and safe to do twice."""

    def remove(self, draft: KindDraft, fields: Any, akte: Akte, home: Home) -> None:
        """Put back what ``prepare`` did; safe to do twice."""

    def conflict(self, draft: KindDraft, fields: Any, home: Home) -> str:
        if home.service(Entwuerfe).state(draft.id) == APPROVED:
            return ""  # it is done already
        now = self.show(fields, home)
        if now.after != draft.after:
            return "Heute ergibt sich etwas anderes als im Entwurf. Lass ihn neu entwerfen."
        if now.before != draft.before:
            return "Die Akte hat sich seit dem Entwurf geändert. Nichts wurde geändert."
        return ""

    def approve(self, draft: KindDraft, fields: Any, home: Home, act: PersonsAct) -> None:
        akte, drafts = home.service(Akten).get(act.person, fields.akte), home.service(Entwuerfe)
        self.require_may(draft, fields, akte, home, act.person)
        if drafts.state(draft.id) == APPROVED:
            return
        self.prepare(draft, fields, akte, home)
        with home.records.together():
            if drafts.state(draft.id) == APPROVED:  # another thread was first
                return
            self.enter(draft, fields, akte, home, act.person)
            drafts.settle(draft, fields, act.person, APPROVED)

    def undo(self, draft: KindDraft, fields: Any, home: Home, act: PersonsAct) -> None:
        akte, drafts = home.service(Akten).get(act.person, fields.akte), home.service(Entwuerfe)
        self.require_may(draft, fields, akte, home, act.person)
        if drafts.state(draft.id) == UNDONE:
            self.remove(draft, fields, akte, home)
            return
        with home.records.together():
            self.take_back(draft, fields, akte, home, act.person)
            drafts.settle(draft, fields, act.person, UNDONE)
            self.remove(draft, fields, akte, home)  # it may refuse, and then nothing is undone

    def sweep(self, draft: KindDraft, fields: Any, akte: Akte, home: Home) -> None:
        """Remove what a program that was killed while it approved left of a dropped draft."""

    def settled(self, draft: KindDraft, fields: Any, home: Home, reason: str) -> None:
        state = STATES[draft.status]
        home.service(Entwuerfe).settle(draft, fields, home.person, state, reason)
        if state in ("REJECTED", "SUPERSEDED"):
            akte = home.service(Akten).get(home.person, fields.akte)
            self.sweep(draft, fields, akte, home)


class EditableKind(OfficeKind):
    """A kind whose text a person may change by hand."""

    @abstractmethod
    def read(self, fields: Any, text: str) -> Any:
        """The fields of a text that a person changed; raises ToolFailed."""

    def edit(self, draft: KindDraft, fields: Any, text: str, home: Home) -> Any:
        return replace(self.read(fields, text), edited=draft.id)


def require_may_decide(
    person: Person,
    *,
    lawyer: int | None,
    clerk: int | None,
    notfrist: bool = False,
    what: str = "Frist",
) -> None:
    """Raise ToolFailed unless a person may approve, check or close this (KZ-36)."""
    if person.role in (ADMIN, ANWALT):
        return
    own = number_of(person) in (lawyer, clerk)
    if person.role == SACHBEARBEITER and own and not notfrist:
        return
    about = "Notfristen" if notfrist else f"Entwürfe dieser Akte ({what})"
    raise ToolFailed(f"Über {about} entscheidet {person.name} als {person.role or 'Gast'} nicht.")


def as_fields(fields: Any) -> str:
    """The fields of a draft as JSON, without what only a draft has."""
    told = {name: value for name, value in asdict(fields).items() if name != "edited"}
    return json.dumps(told, ensure_ascii=False)


def _entwurf(row: dict[str, Value]) -> Entwurf:
    return Entwurf(
        id=str(row["id"]),
        akte=cast("int", row["akte"]),
        az=str(row["az"]),
        kind=str(row["art"]),
        state=str(row["zustand"]),
        title=str(row["titel"]),
        text=str(row["text"]),
        reason=str(row["grund"]),
        change=str(row["unterschied"]),
        asked_by=cast("int", row["gefragt_von"]),
        made=str(row["angelegt"]),
    )
