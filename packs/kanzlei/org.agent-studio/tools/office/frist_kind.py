"""Drafts of Fristen: their end is computed, and a person alone makes one count (KZ-37, KZ-38)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from studio.packs import DraftKind, Home, KindDraft, Person, PersonsAct, Shown, ToolFailed

from .. import _german as german
from ..deadlines.calculation import Deadline
from ..deadlines.reading import compute_from_words, read_day
from .akten import Akte, Akten
from .fristen import CANCELLED, COMPUTED, Frist, Fristen, require_may_decide
from .settings import OfficeSettings


@dataclass
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


class FristKind(DraftKind):
    """A Frist of an Akte."""

    name, noun, fields = "frist", "Frist", FristFields

    def show(self, fields: FristFields, home: Home) -> Shown:
        akte = home.service(Akten).get(home.person, fields.akte)
        found = computed(fields, home)
        key = f"akte/{akte.id}/{found.kind.name}/{fields.event or fields.pronounced}"
        title = f"{found.kind.name}, {german.day(found.end)} ({akte.az})"
        return Shown(key, title, described(akte, found, fields), self._before(fields, home))

    def _before(self, fields: FristFields, home: Home) -> str | None:
        """The same Frist, if it stands already."""
        for frist in home.service(Fristen).find(home.person, akte=fields.akte):
            if frist.kind == fields.kind and _event_of(frist, home) == fields.event:
                return _standing(frist)
        return None

    def conflict(self, draft: KindDraft, fields: FristFields, home: Home) -> str:
        """Whether the calculation gives something else now: other holidays, another setting."""
        made = home.service(Fristen).of_draft(draft.id)
        if made is not None and made.state != CANCELLED:
            return ""  # it is done already
        now = self.show(fields, home)
        if now.after != draft.after:
            return "Die Frist ergibt heute etwas anderes als im Entwurf. Lass sie neu entwerfen."
        if now.before != draft.before:
            return "Diese Frist steht inzwischen schon in der Akte. Nichts wurde geändert."
        return ""

    def approve(self, draft: KindDraft, fields: FristFields, home: Home, act: PersonsAct) -> None:
        enter(act.person, fields, home, draft.id)

    def undo(self, draft: KindDraft, fields: FristFields, home: Home, act: PersonsAct) -> None:
        fristen = home.service(Fristen)
        frist = fristen.of_draft(draft.id)
        if frist is None or frist.state == CANCELLED:
            return
        if frist.state != COMPUTED:
            raise ToolFailed(f"Die Frist ist schon {frist.state}; storniere sie mit einem Grund.")
        akte = home.service(Akten).get(act.person, fields.akte)
        require_may_decide(
            act.person, notfrist=frist.notfrist, lawyer=akte.lawyer, clerk=akte.clerk
        )
        fristen.take_back(act.person, frist, draft.id)


FRIST = FristKind()


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
            "eingaben": json.dumps(asdict(fields), ensure_ascii=False),
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
    """The draft as the person reads it."""
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


def _event_of(frist: Frist, home: Home) -> str:
    rows = home.records.read("SELECT eingaben FROM frist WHERE id = ?", frist.id)
    return str(json.loads(str(rows[0]["eingaben"])).get("event", ""))


def _standing(frist: Frist) -> str:
    return f"{frist.kind} ({frist.norm})\nEnde: {german.day(frist.end)}\nZustand: {frist.state}\n"


def _json(texts: list[str]) -> str:
    return json.dumps(texts, ensure_ascii=False)
