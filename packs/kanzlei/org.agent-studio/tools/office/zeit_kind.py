"""Drafts of time, which a person takes over or corrects (KZ-37)."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from studio.packs import Home, KindDraft, Person, Shown, ToolFailed, dataclass

from .akten import Akte, Akten
from .entwuerfe import EditableKind
from .forms import day_words, form, read_day, read_form, yes
from .zeiten import Zeiten, duration, require_minutes

LONGEST = 2_000
_HEADS = ("Datum", "Minuten", "Abrechenbar")


@dataclass()
class ZeitFields:
    """What a draft of time says. ``mark`` tells it from others of the Akte."""

    akte: int
    day: str
    minutes: int
    text: str
    billable: bool = True
    mark: str = ""
    edited: str = ""


class ZeitKind(EditableKind):
    """Time worked on an Akte, entered for the person who approves it."""

    name, noun, fields = "zeit", "Zeit", ZeitFields

    def show(self, fields: ZeitFields, home: Home) -> Shown:
        akte = home.service(Akten).get(home.person, fields.akte)
        require_minutes(fields.minutes)
        require_text(fields.text, LONGEST)
        heads = {
            "Datum": day_words(read_day("date", fields.day)),
            "Minuten": str(fields.minutes),
            "Abrechenbar": "ja" if fields.billable else "nein",
        }
        title = f"Zeit {duration(fields.minutes)}, {heads['Datum']} ({akte.az})"
        key = f"akte/{akte.id}/{fields.mark}"
        return Shown(key, title, form(heads, fields.text))

    def read(self, fields: ZeitFields, text: str) -> ZeitFields:
        heads, body = read_form(text, _HEADS)
        if not heads["Minuten"].isdecimal():
            raise ToolFailed(f"Minuten: „{heads['Minuten']}“ ist keine Zahl.")
        return replace(
            fields,
            day=read_day("Datum", heads["Datum"]),
            minutes=int(heads["Minuten"][:6]),
            billable=yes("Abrechenbar", heads["Abrechenbar"]),
            text=body,
        )

    def enter(
        self, draft: KindDraft, fields: ZeitFields, akte: Akte, home: Home, person: Person
    ) -> None:
        home.service(Zeiten).add(
            person,
            akte.id,
            day=read_day("date", fields.day),
            minutes=fields.minutes,
            text=fields.text.strip(),
            billable=fields.billable,
            draft=draft.id,
        )

    def take_back(
        self, draft: KindDraft, fields: ZeitFields, akte: Akte, home: Home, person: Person
    ) -> None:
        home.service(Zeiten).take_back(person, draft.id)


def require_text(text: str, longest: int) -> None:
    """Raise ToolFailed for no text, and for one that is too long."""
    if not 1 <= len(text.strip()) <= longest:
        raise ToolFailed(f"Der Text hat 1 bis {longest} Zeichen.")


def mark_of(*words: object) -> str:
    """A mark that is the same for the same words: drafted twice, it is one draft."""
    return hashlib.sha256("\0".join(map(str, words)).encode()).hexdigest()[:12]


ZEIT = ZeitKind()
