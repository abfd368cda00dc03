"""Drafts of notes and of alerts: shown at once as a proposal, counted once taken over (KZ-37)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from studio.packs import Home, KindDraft, Person, Shown, ToolFailed, dataclass

from .akten import Akte, Akten
from .entwuerfe import EditableKind, Entwuerfe
from .forms import day_words, form, read_day, read_form
from .notizen import Notizen, require_level
from .persons import named, number_of
from .zeit_kind import require_text

LONGEST = 5_000
_HEADS = ("Für", "Fällig", "Stufe")


@dataclass()
class NotizFields:
    """What a draft of a note says."""

    akte: int
    text: str
    mark: str = ""
    edited: str = ""


@dataclass()
class AlertFields:
    """What a draft of an alert says; ``person`` is the name or login of whom it calls."""

    akte: int
    text: str
    person: str
    due: str
    level: str
    mark: str = ""
    edited: str = ""


class _Taken(EditableKind):
    """What also the person may take over who had it drafted (KZ-36)."""

    def require_may(
        self, draft: KindDraft, fields: Any, akte: Akte, home: Home, person: Person
    ) -> None:
        if home.service(Entwuerfe).asked_by(draft.id) != number_of(person):
            super().require_may(draft, fields, akte, home, person)

    def take_back(
        self, draft: KindDraft, fields: Any, akte: Akte, home: Home, person: Person
    ) -> None:
        home.service(Notizen).take_back(person, self.name, draft.id, akte.id)


class NotizKind(_Taken):
    """A note about an Akte."""

    name, noun, fields = "notiz", "Notiz", NotizFields

    def show(self, fields: NotizFields, home: Home) -> Shown:
        akte = home.service(Akten).get(home.person, fields.akte)
        require_text(fields.text, LONGEST)
        key, title = f"akte/{akte.id}/{fields.mark}", f"Notiz zu {akte.az}: {begin(fields.text)}"
        return Shown(key, title, fields.text.strip() + "\n")

    def read(self, fields: NotizFields, text: str) -> NotizFields:
        return replace(fields, text=text.strip())

    def enter(
        self, draft: KindDraft, fields: NotizFields, akte: Akte, home: Home, person: Person
    ) -> None:
        home.service(Notizen).add(person, akte.id, fields.text, draft.id)


class AlertKind(_Taken):
    """A hint that calls a person on a day."""

    name, noun, fields = "alert", "Hinweis", AlertFields

    def show(self, fields: AlertFields, home: Home) -> Shown:
        akte = home.service(Akten).get(home.person, fields.akte)
        require_text(fields.text, LONGEST)
        require_level(fields.level)
        who = named(home.records, fields.person)
        if who is None:
            raise ToolFailed(f"Hier arbeitet niemand, der {fields.person} heißt.")
        due = day_words(read_day("due", fields.due))
        heads = {"Für": who.name, "Fällig": due, "Stufe": fields.level}
        key = f"akte/{akte.id}/{fields.mark}"
        title = f"Hinweis am {due} ({akte.az}): {begin(fields.text)}"
        return Shown(key, title, form(heads, fields.text))

    def read(self, fields: AlertFields, text: str) -> AlertFields:
        heads, body = read_form(text, _HEADS)
        return replace(
            fields,
            person=heads["Für"],
            due=read_day("Fällig", heads["Fällig"]),
            level=heads["Stufe"],
            text=body,
        )

    def enter(
        self, draft: KindDraft, fields: AlertFields, akte: Akte, home: Home, person: Person
    ) -> None:
        who = named(home.records, fields.person)
        if who is None:
            raise ToolFailed(f"Hier arbeitet niemand, der {fields.person} heißt.")
        home.service(Notizen).add_alert(
            person,
            akte.id,
            who=number_of(who),
            due=read_day("due", fields.due),
            level=fields.level,
            text=fields.text,
            draft=draft.id,
        )


def begin(text: str) -> str:
    """The first words of a text."""
    words = " ".join(text.split())
    return words if len(words) <= 60 else f"{words[:59].rstrip()}…"


NOTIZ, ALERT = NotizKind(), AlertKind()
