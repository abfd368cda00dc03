"""Calculation: the end of a Frist with its steps, by BGB §§ 187 to 193 and ZPO §§ 221 to 224.

Where something is not known or not checked, the earlier day counts, and a warning says so.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace

from studio.packs import ToolFailed, dataclass

from .. import _german as german
from .free_days import Place, last_working_day, next_working_day
from .kinds import POSTED, Kind
from .lengths import Length, end_of, lacks_day

FOUR_DAYS_SINCE = datetime.date(2025, 1, 1)
"""A letter that an authority posts from this day on arrives on the fourth day, not the third."""
VORFRIST_DAYS = 7


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a calculation: the norm, what it says here, and the day that comes of it."""

    norm: str
    what: str
    day: datetime.date

    def __str__(self) -> str:
        return f"{self.norm}: {self.what} → {german.day(self.day)}"


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a Frist ends. ``warnings`` are for the person to look at."""

    kind: Kind
    end: datetime.date
    steps: tuple[Step, ...]
    warnings: tuple[str, ...] = ()
    vorfrist: datetime.date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a Frist is computed from.

    ``event`` is the day it begins with, as the kind says; ``posted``: it is the day on which an
    authority posted its letter. ``pronounced`` is the day of the decision. ``length`` replaces the
    kind's own, a day is an end that the court named. ``extensions`` are lengths or named ends.
    """

    event: datetime.date | None = None
    place: Place
    length: Length | datetime.date | None = None
    posted: bool = False
    pronounced: datetime.date | None = None
    extensions: Sequence[Length | datetime.date] = ()
    vorfrist_days: int = VORFRIST_DAYS


def compute(kind: Kind, asked: Asked) -> Deadline:
    """The end of a Frist; the earliest one where the place or the arrival leaves a choice.

    Raises ToolFailed for what the law does not have, and says what to give instead.
    """
    found = [
        _compute(kind, replace(asked, place=place), moves_arrival)
        for place in asked.place.variants()
        for moves_arrival in _arrivals(kind, asked)
    ]
    first = min(found, key=lambda one: one.end)
    warnings = list(first.warnings)
    if others := sorted({one.end for one in found} - {first.end}):
        days = " oder ".join(map(german.day, others))
        why = (
            "Ob die Gemeinde einen katholischen Feiertag hat, ist nicht angegeben (+kath, -kath)"
            if asked.place.catholic is None
            else "Ob § 41 II VwVfG den Tag der Bekanntgabe verschiebt, ist ungeprüft"
        )
        warnings.append(f"{why}: Das Ende wäre sonst {days}; der frühere Tag ist notiert.")
    if kind.note:
        warnings.append(kind.note)
    if kind.checked == "ungeprüft":
        warnings.append(f"Ungeprüft: {kind.moved_by} (Verschiebung von freien Tagen).")
    vorfrist = None
    if kind.has_vorfrist:
        vorfrist = last_working_day(
            first.end - datetime.timedelta(days=asked.vorfrist_days), asked.place
        )
    return replace(first, warnings=tuple(warnings), vorfrist=vorfrist)


def _arrivals(kind: Kind, asked: Asked) -> tuple[bool, ...]:
    """Whether the day moves on which a posted letter arrives: both, where that is not checked."""
    if asked.posted and POSTED.get(kind.name, "").endswith("VwVfG"):
        return True, False
    return (True,)


def _compute(kind: Kind, asked: Asked, moves_arrival: bool) -> Deadline:
    place = asked.place
    steps: list[Step] = []
    warnings: list[str] = []
    if isinstance(asked.length, datetime.date):
        if not kind.set_by_court:
            raise ToolFailed(
                f"{kind.name} hat eine gesetzliche Länge; ein Ende als Datum nennt das Gericht nur "
                "bei Klageerwiderung und Frist des Gerichts, oder in einer Verlängerung."
            )
        end = asked.length
        steps.append(Step("§ 221 ZPO", "Ende, wie das Gericht es nennt", end))
    else:
        length = _length(kind, asked.length, warnings)
        begin = _begin(kind, asked, moves_arrival, steps, warnings)
        end = end_of(begin, length)
        steps.append(Step("§ 187 I BGB", "Der Tag des Ereignisses zählt nicht mit", begin))
        norm = "§ 188 II, III BGB" if lacks_day(begin, length, end) else length.norms
        steps.append(Step(norm, f"{length} ({kind.norm})", end))
    end = _moved(kind.moved_by, end, place, steps)
    if kind.latest_end is not None and asked.pronounced is not None:
        latest = end_of(asked.pronounced, kind.latest_end)
        if latest < end:
            what = f"spätestens {kind.latest_end} nach der Verkündung"
            steps.append(Step(kind.norm, what, latest))
            end = _moved(kind.moved_by, latest, place, steps)
    for extension in asked.extensions:
        end = _extended(kind, extension, end, place, steps)
    return Deadline(kind, end, tuple(steps), tuple(warnings))


def _length(kind: Kind, asked: Length | None, warnings: list[str]) -> Length:
    if kind.length is None:
        if asked is None:
            raise ToolFailed(
                f"{kind.name}: Die Länge bestimmt das Gericht. Gib sie an (length: „3 W“) oder das "
                "Ende, das es nennt (length: „2026-05-05“)."
            )
        return asked
    if asked is not None and asked == kind.other:
        warnings.append(f"Gerechnet mit {kind.other}: {kind.other_case}.")
        return asked
    if asked is not None and asked != kind.length:
        other = f", oder {kind.other} {kind.other_case}" if kind.other else ""
        raise ToolFailed(f"{kind.name} dauert {kind.length} ({kind.norm}){other}, nicht {asked}.")
    if kind.other is not None:
        warnings.append(f"{kind.other} {kind.other_case}: ob das zutrifft, ist zu prüfen.")
    return kind.length


def _begin(
    kind: Kind, asked: Asked, moves_arrival: bool, steps: list[Step], warnings: list[str]
) -> datetime.date:
    """The day of the event that counts."""
    begin = asked.event
    if begin is not None and asked.posted:
        begin = _arrival(kind, begin, asked.place, moves_arrival, steps)
    if asked.pronounced is not None and kind.latest_begin is not None:
        if begin is not None and begin < asked.pronounced:
            raise ToolFailed("Die Zustellung liegt vor der Verkündung. Prüfe beide Tage.")
        latest = end_of(asked.pronounced, kind.latest_begin)
        if begin is None or latest < begin:
            what = f"Beginn spätestens {kind.latest_begin} nach der Verkündung"
            steps.append(Step(kind.norm, what, latest))
            warnings.append(
                f"Beginn ohne Zustellung: Ob ein freier Tag das Ende der {kind.latest_begin} "
                "verschiebt, ist ungeprüft; gerechnet ist ohne Verschiebung."
            )
            begin = latest
    if begin is None:
        raise ToolFailed(
            f"{kind.name} beginnt mit: {kind.begins_with}. Gib diesen Tag an (event: „2026-02-04“)."
        )
    return begin


def _arrival(
    kind: Kind, posted: datetime.date, place: Place, moves: bool, steps: list[Step]
) -> datetime.date:
    """When a letter of an authority counts as announced."""
    norm = POSTED.get(kind.name)
    if norm is None:
        raise ToolFailed(
            f"{kind.name}: Für diese Frist ist keine Regel über die Aufgabe zur Post hinterlegt. "
            f"Gib den Tag an, mit dem sie beginnt: {kind.begins_with}."
        )
    days = 4 if posted >= FOUR_DAYS_SINCE else 3
    day = posted + datetime.timedelta(days=days)
    steps.append(Step(norm, f"{days}. Tag nach der Aufgabe zur Post", day))
    return _moved(norm, day, place, steps) if moves else day


def _moved(norm: str, day: datetime.date, place: Place, steps: list[Step]) -> datetime.date:
    moved, reasons = next_working_day(day, place)
    if reasons:
        steps.append(Step(norm, f"verschoben ({', '.join(reasons)})", moved))
    return moved


def _extended(
    kind: Kind,
    extension: Length | datetime.date,
    end: datetime.date,
    place: Place,
    steps: list[Step],
) -> datetime.date:
    if not kind.extendable:
        what = "eine Notfrist" if kind.notfrist else "eine gesetzliche Frist"
        raise ToolFailed(
            f"{kind.name} ist {what} und kann nicht verlängert werden (§ 224 ZPO). "
            "In Betracht kommt die Wiedereinsetzung (§ 233 ZPO)."
        )
    if isinstance(extension, datetime.date):
        if extension <= end:
            raise ToolFailed(
                f"Eine Verlängerung bis {german.day(extension)} endet nicht nach dem bisherigen "
                f"Ende {german.day(end)}. Prüfe das Datum."
            )
        steps.append(
            Step("§ 224 II ZPO", "verlängert bis zu dem Tag, den das Gericht nennt", extension)
        )
        return _moved(kind.moved_by, extension, place, steps)
    new = end_of(end, extension)
    what = f"um {extension} verlängert, vom Ende der vorigen Frist an"
    steps.append(Step("§ 224 III ZPO, § 190 BGB", what, new))
    return _moved(kind.moved_by, new, place, steps)
