"""Drafts of Fristen: their end is computed, and a person alone makes one count (KZ-37, KZ-38)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import replace

from studio.packs import Home, KindDraft, Person, Shown, ToolFailed, dataclass

from .. import _german as german
from ..deadlines.calculation import Deadline
from ..deadlines.kinds import find_kind
from ..deadlines.reading import compute_from_words, read_day
from .akten import Akte, Akten
from .entwuerfe import EditableKind, as_fields, require_may_decide
from .forms import day_words, form, read_form
from .forms import read_day as read_form_day
from .fristen import CANCELLED, COMPUTED, Frist, Fristen
from .settings import OfficeSettings


@dataclass()
class FristFields:
    """What a draft of a Frist says. ``named`` is an end that a document names."""

    akte: int
    kind: str
    place: str
    event: str = ""
    extensions: Sequence[str] = ()
    length: str = ""
    pronounced: str = ""
    posted: bool = False
    reason: str = ""
    named: str = ""
    edited: str = ""


class FristKind(EditableKind):
    """A Frist of an Akte."""

    name, noun, fields = "frist", "Frist", FristFields

    def show(self, fields: FristFields, home: Home) -> Shown:
        akte = home.service(Akten).get(home.person, fields.akte)
        found = computed(fields, home)
        key = f"akte/{akte.id}/{found.kind.name}/{fields.event or fields.pronounced}"
        title = f"{found.kind.name}, {german.day(found.end)} ({akte.az})"
        stands = standing(fields, home)
        return Shown(key, title, _drafted(akte, found, fields, stands))

    def read(self, fields: FristFields, text: str) -> FristFields:
        _, _, given = text.replace("\r\n", "\n").partition(f"{_GIVEN}\n")
        heads, _ = read_form(given.partition("\n\n")[0], _HEADS)
        event = heads["Ereignis"]
        return replace(
            fields,
            event=read_form_day("Ereignis", event) if event else "",
            place=heads["Ort"],
            length=heads["Länge"],
            extensions=tuple(
                one.strip() for one in heads["Verlängerungen"].split(";") if one.strip()
            ),
            reason=heads["Grund"],
        )

    def conflict(self, draft: KindDraft, fields: FristFields, home: Home) -> str:
        """Whether the calculation gives something else now: other holidays, another setting."""
        made = home.service(Fristen).of_draft(draft.id)
        if made is not None and made.state != CANCELLED:
            return ""  # it is done already
        if self.show(fields, home).after == draft.after:
            return ""
        if (stands := standing(fields, home)) is not None:
            return f"Diese Frist steht inzwischen schon in der Akte: {_standing(stands)}."
        return "Die Frist ergibt heute etwas anderes als im Entwurf. Lass sie neu entwerfen."

    def require_may(
        self, draft: KindDraft, fields: FristFields, akte: Akte, home: Home, person: Person
    ) -> None:
        made = home.service(Fristen).of_draft(draft.id)
        notfrist = made.notfrist if made is not None else computed(fields, home).kind.notfrist
        require_may_decide(person, notfrist=notfrist, lawyer=akte.lawyer, clerk=akte.clerk)

    def enter(
        self, draft: KindDraft, fields: FristFields, akte: Akte, home: Home, person: Person
    ) -> None:
        if (older := standing(fields, home)) is not None:
            end = computed(fields, home).end
            home.service(Fristen).replace(person, older, end, draft.id)
        enter(person, fields, home, draft.id)

    def take_back(
        self, draft: KindDraft, fields: FristFields, akte: Akte, home: Home, person: Person
    ) -> None:
        fristen = home.service(Fristen)
        frist = fristen.of_draft(draft.id)
        if frist is None or frist.state == CANCELLED:
            return
        if frist.state != COMPUTED:
            raise ToolFailed(f"Die Frist ist schon {frist.state}; storniere sie mit einem Grund.")
        fristen.take_back(person, frist, draft.id)


FRIST = FristKind()
_GIVEN = "Gerechnet aus diesen Angaben, die Du ändern kannst:"
_HEADS = ("Ereignis", "Ort", "Länge", "Verlängerungen", "Grund")


def enter(person: Person, fields: FristFields, home: Home, draft: str = "") -> None:
    """Enter a Frist as it is computed: from a draft, or as a person asks for it.

    Raises ToolFailed where the person may not, or it cannot be computed.
    """
    akte = home.service(Akten).get(person, fields.akte)
    found = computed(fields, home)
    require_may_decide(person, notfrist=found.kind.notfrist, lawyer=akte.lawyer, clerk=akte.clerk)
    home.service(Fristen).add(
        person,
        draft or f"hand-{uuid.uuid4().hex}",
        akte.id,
        {
            "art": found.kind.name,
            "norm": found.kind.norm,
            "eingaben": as_fields(fields),
            "ende": found.end.isoformat(),
            "vorfrist": found.vorfrist.isoformat() if found.vorfrist else None,
            "notfrist": int(found.kind.notfrist),
            "schritte": _json([str(step) for step in found.steps]),
            "hinweise": _json([*found.warnings, *_differing(found, fields)]),
            "grund": fields.reason,
            "genannt": fields.named or None,
        },
    )


def computed(fields: FristFields, home: Home) -> Deadline:
    """The Frist of these fields, with the office's Vorfrist; raises ToolFailed."""
    return compute_from_words(
        fields.kind,
        fields.place,
        fields.event,
        fields.extensions,
        fields.length,
        fields.pronounced,
        posted=fields.posted,
        vorfrist_days=home.settings(OfficeSettings).vorfrist_tage,
    )


def described(akte: Akte, found: Deadline, fields: FristFields) -> str:
    """The Frist as the person reads it."""
    notfrist = "Notfrist" if found.kind.notfrist else "Frist"
    lines = [
        f"{found.kind.name} ({found.kind.norm}), {notfrist}",
        f"Akte: {akte.title}",
        f"Ende: {german.day(found.end)}",
    ]
    if found.vorfrist:
        lines.append(f"Vorfrist: {german.day(found.vorfrist)}")
    lines += _differing(found, fields)
    if fields.reason.strip():
        lines.append(f"Grund: {fields.reason.strip()}")
    lines += ["", "So gerechnet:", *(f"{n}. {step}" for n, step in enumerate(found.steps, 1))]
    if found.warnings:
        lines += ["", "Zu beachten:", *(f"- {one}" for one in found.warnings)]
    return "\n".join(lines) + "\n"


def _drafted(akte: Akte, found: Deadline, fields: FristFields, stands: Frist | None) -> str:
    """The draft: the Frist, which other one it replaces, and what the person may change."""
    replaced = f"\nErsetzt: {_standing(stands)}\n" if stands is not None else ""
    heads = {
        "Ereignis": day_words(fields.event) if fields.event else "",
        "Ort": fields.place,
        "Länge": fields.length,
        "Verlängerungen": "; ".join(fields.extensions),
        "Grund": " ".join(fields.reason.split()),
    }
    about = described(akte, found, replace(fields, reason=""))
    return f"{about}{replaced}\n{_GIVEN}\n{form(heads)}"


def _differing(found: Deadline, fields: FristFields) -> list[str]:
    """The end that a document names, where it is another (KZ-38)."""
    if not fields.named:
        return []
    named = read_day("named", fields.named)
    if named == found.end:
        return []
    return [
        f"Achtung: Im Dokument steht {german.day(named)}, gerechnet ist {german.day(found.end)}."
    ]


def standing(fields: FristFields, home: Home) -> Frist | None:
    """The open Frist of the same kind and event, if it stands in the Akte."""
    for frist in home.service(Fristen).find(home.person, akte=fields.akte):
        if frist.kind.casefold() == find_kind(fields.kind).name.casefold():
            given = json.loads(frist.given)
            same = given.get("event", ""), given.get("pronounced", "")
            if same == (fields.event, fields.pronounced):
                return frist
    return None


def stands_already(fields: FristFields, home: Home) -> str:
    """Says that the same Frist with the same end stands in the Akte; empty if it does not."""
    frist = standing(fields, home)
    if frist is None or frist.end != computed(fields, home).end:
        return ""
    return f"Diese Frist steht schon in der Akte: {_standing(frist)}."


def _standing(frist: Frist) -> str:
    return f"{frist.kind}, {german.day(frist.end)}, {frist.state}"


def _json(texts: list[str]) -> str:
    return json.dumps(texts, ensure_ascii=False)
