"""Kalender: Fristen, Vorfristen, Termine and Aufgaben as a file of calendars (RFC 5545, KZ-21)."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

from studio.packs import Home, Person, ToolFailed, dataclass

from .aufgaben import Aufgabe, Aufgaben
from .fristen import CHECKED, Frist, Fristen
from .termine import Termin, Termine

OURS = "@kanzlei"
"""How the ids of what this office exports end."""
_LONGEST = 75
"""Bytes of a line; what is longer is folded."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A whole day of the calendar, or from ``begin`` to ``end``, which are local times."""

    id: str
    day: datetime.date
    title: str
    text: str = ""
    place: str = ""
    begin: datetime.datetime | None = None
    end: datetime.datetime | None = None


def of_fristen(fristen: Sequence[Frist]) -> list[Entry]:
    """The days of open Fristen, and of their Vorfristen."""
    found: list[Entry] = []
    for one in fristen:
        unchecked = "" if one.state == CHECKED else " (ungeprüft)"
        notfrist = "Notfrist" if one.notfrist else "Frist"
        title = f"{notfrist}: {one.kind}, {one.az}{unchecked}"
        text = "\n".join([one.rubrum, one.norm, *one.steps, *one.hints])
        found.append(Entry(f"frist-{one.id}", one.end, title, text))
        if one.vorfrist is not None:
            words = f"Vorfrist: {one.kind} bis {one.end:%d.%m.%Y}, {one.az}{unchecked}"
            found.append(Entry(f"vorfrist-{one.id}", one.vorfrist, words, text))
    return sorted(found, key=lambda entry: (entry.day, entry.id))


def of_termine(termine: Sequence[Termin]) -> list[Entry]:
    """The hours of Termine; one without an end takes the hour that calendars give it."""
    return [
        Entry(
            f"termin-{one.id}",
            one.day,
            f"{one.title}, {one.az}",
            f"{one.kind}: {one.rubrum}",
            one.place,
            one.begin,
            one.end,
        )
        for one in termine
    ]


def of_aufgaben(aufgaben: Sequence[Aufgabe]) -> list[Entry]:
    """The days of Aufgaben that have one."""
    return [
        Entry(f"aufgabe-{one.id}", one.due, f"Aufgabe: {one.text}, {one.az}", one.rubrum)
        for one in aufgaben
        if one.due is not None
    ]


def write_calendar(home: Home, person: Person, path: Path, akte: int | None = None) -> int:
    """Write all that is open into a file; returns how many entries. Raises ToolFailed. Blocks."""
    entries = [
        *of_fristen(home.service(Fristen).find(person, akte=akte)),
        *of_termine(home.service(Termine).find(person, akte=akte)),
        *of_aufgaben(home.service(Aufgaben).find(person, akte=akte)),
    ]
    try:
        path.write_bytes(calendar(entries, datetime.datetime.now(datetime.UTC)).encode())
    except OSError as error:
        raise ToolFailed(f"{path} kann nicht geschrieben werden: {error.strerror}.") from error
    return len(entries)


def calendar(entries: Sequence[Entry], made: datetime.datetime) -> str:
    """All of it as one calendar; ``made`` is in UTC."""
    head = ("VERSION:2.0", "PRODID:-//Agent Studio//Kanzlei//DE", "CALSCALE:GREGORIAN")
    lines = ["BEGIN:VCALENDAR", *head]
    for one in entries:
        lines += ["BEGIN:VEVENT", f"UID:{one.id}{OURS}", f"DTSTAMP:{made:%Y%m%dT%H%M%SZ}"]
        if one.begin is not None:
            lines.append(f"DTSTART:{one.begin:%Y%m%dT%H%M%S}")
            lines += [f"DTEND:{one.end:%Y%m%dT%H%M%S}"] if one.end is not None else []
        else:
            after = one.day + datetime.timedelta(days=1)
            lines += [f"DTSTART;VALUE=DATE:{one.day:%Y%m%d}", f"DTEND;VALUE=DATE:{after:%Y%m%d}"]
            lines.append("TRANSP:TRANSPARENT")
        lines.append(f"SUMMARY:{_escaped(one.title)}")
        lines += [f"LOCATION:{_escaped(one.place)}"] if one.place else []
        lines += [f"DESCRIPTION:{_escaped(one.text)}"] if one.text else []
        lines.append("END:VEVENT")
    lines.append("END:VCALENDAR")
    return "".join(f"{_folded(line)}\r\n" for line in lines)


def _escaped(text: str) -> str:
    for sign in "\\;,":
        text = text.replace(sign, f"\\{sign}")
    return text.replace("\r", "").replace("\n", "\\n")


def _folded(line: str) -> str:
    """A line in parts of at most 75 bytes, which begin with a space from the second on."""
    parts, part = list[str](), ""
    for sign in line:
        if len((part + sign).encode()) > _LONGEST - bool(parts):
            parts.append(part)
            part = ""
        part += sign
    return "\r\n ".join([*parts, part])
