"""Calendars: reads the entries of a calendar file (ics) into Akten (KZ-51, RFC 5545).

What has hours becomes a Termin, a whole day an Aufgabe that is due then; of more days the title
names the last one. An entry goes to the Akte that is named, else to the one whose Aktenzeichen is
in its title, text or place.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import field
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from studio.packs import Home, Person, ToolFailed, dataclass

from .._patterns import lazy_pattern
from ..office.akten import Akte, Akten
from ..office.aufgaben import Aufgaben
from ..office.history import note, now
from ..office.kalender import OURS
from ..office.persons import number_of, require_may_enter
from ..office.termine import LONGEST, OPEN, Termine
from ..office.texts import decoded, read_file
from .address_files import properties, unescaped

MOST = 20_000
"""Entries of one file."""
_DURATION = lazy_pattern(
    r"\+?P(?:(\d{1,4})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,7})M)?.*)?"
)
_MOST_AKTEN = 1_000_000
_HERE = "Europe/Berlin"
_ByWord = dict[str, list[tuple[str, Akte]]]
"""Akten with their Aktenzeichen, by its first word."""


@dataclass(frozen=True, slots=True)
class CalendarEntry:
    """One entry of a file, in local time; ``begin`` is None for a whole day."""

    line: int
    day: datetime.date
    title: str
    place: str = ""
    text: str = ""
    begin: datetime.datetime | None = None
    end: datetime.datetime | None = None

    @property
    def shown(self) -> str:
        hour = f" {self.begin:%H:%M}" if self.begin else ""
        return f"{self.day:%d.%m.%Y}{hour} {self.title}"


@dataclass(slots=True)
class CalendarPlan:
    """What would be entered: ``new`` with their Akten, ``known`` what stands there already."""

    path: Path
    new: list[tuple[CalendarEntry, Akte]] = field(default_factory=list[tuple[CalendarEntry, Akte]])
    known: list[CalendarEntry] = field(default_factory=list[CalendarEntry])
    problems: list[str] = field(default_factory=list[str])
    number: int = 0


def read_calendar(text: str) -> tuple[list[CalendarEntry], list[str]]:
    """The entries of a file, and what could not be read."""
    found: list[CalendarEntry] = []
    problems: list[str] = []
    values, begun, inside = dict[str, tuple[str, str]](), 0, 0
    for number, name, parameters, value in properties(text):
        if name == "BEGIN" and value.upper() == "VEVENT":
            values, begun, inside = {}, number, 0
        elif name == "BEGIN":
            inside += bool(begun)  # an alarm has a text of its own
        elif name == "END" and value.upper() == "VEVENT" and begun:
            try:
                found.append(_entry(begun, values, problems))
            except ValueError as error:
                problems.append(f"Zeile {begun}: {error}")
            begun = 0
            if len(found) >= MOST:
                problems.append(f"Mehr als {MOST} Einträge; die übrigen blieben liegen.")
                break
        elif name == "END":
            inside -= bool(begun and inside)
        elif begun and not inside:
            values.setdefault(name, (parameters, value))
    if begun:
        problems.append(f"Der Eintrag ab Zeile {begun} hat kein Ende.")
    return found, problems


def _entry(line: int, values: dict[str, tuple[str, str]], problems: list[str]) -> CalendarEntry:
    title = _text(values, "SUMMARY")[:LONGEST] or "Termin"
    if _text(values, "UID").endswith(OURS):
        raise ValueError(f"„{title}“ stammt von hier und bleibt liegen.")
    if _text(values, "STATUS").upper() == "CANCELLED":
        raise ValueError(f"„{title}“ ist abgesagt und bleibt liegen.")
    begin = _time(*values.get("DTSTART", ("", "")))
    if "RRULE" in values:
        problems.append(f"Zeile {line}: „{title}“ wiederholt sich; nur der erste wird übernommen.")
    place, text = _text(values, "LOCATION")[:LONGEST], _text(values, "DESCRIPTION")
    end = _end(begin, values)
    if not isinstance(begin, datetime.datetime):
        if not isinstance(end, datetime.datetime) and (end - begin).days > 1:
            title = until(title, f"{end - datetime.timedelta(days=1):%d.%m.%Y}")
        return CalendarEntry(line, begin, title, place, text)
    last = end if isinstance(end, datetime.datetime) and end > begin else None
    if last is not None and last.date() > begin.date():  # a Termin is of one day
        title, last = until(title, f"{last:%d.%m.%Y %H:%M}"), None
    return CalendarEntry(line, begin.date(), title, place, text, begin, last)


def _end(
    begin: datetime.date | datetime.datetime, values: dict[str, tuple[str, str]]
) -> datetime.date | datetime.datetime:
    """When an entry is over, by its end or its duration; its begin where neither is there."""
    if "DTEND" in values:
        return _time(*values["DTEND"])
    found = _DURATION.fullmatch(values.get("DURATION", ("", ""))[1].strip())
    weeks, days, hours, minutes = (int(one or 0) for one in found.groups()) if found else [0] * 4
    try:
        return begin + datetime.timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes)
    except OverflowError:
        return begin


def until(title: str, last: str) -> str:
    """The title of what has more days than one, with the last of them."""
    told = f" (bis {last})"
    return title[: LONGEST - len(told)] + told


def _text(values: dict[str, tuple[str, str]], name: str) -> str:
    return " ".join(unescaped(values.get(name, ("", ""))[1]).split())


def _time(parameters: str, value: str) -> datetime.date | datetime.datetime:
    """A day, or an hour as the clock on the wall here shows it; raises ValueError."""
    found = re.fullmatch(r"(\d{8})(?:T(\d{4})(?:\d{2})?(Z?))?", value.strip())
    if found is None:
        raise ValueError("ohne Tag, der gelesen werden kann.")
    try:
        day = datetime.datetime.strptime(found[1], "%Y%m%d")
        if not found[2]:
            return day.date()
        time = day.replace(hour=int(found[2][:2]), minute=int(found[2][2:]))
    except ValueError as error:
        raise ValueError(f"„{value[:20]}“ ist kein Tag.") from error
    zone = re.search(r'TZID="?([^";:]+)', parameters)
    name = "UTC" if found[3] else zone[1] if zone else ""
    try:
        there = time.replace(tzinfo=ZoneInfo(name))
    except (ZoneInfoNotFoundError, ValueError, OSError):  # none, or its own program's name for one
        return time
    try:
        return there.astimezone(ZoneInfo(_HERE)).replace(tzinfo=None)
    except OverflowError as error:  # before the first year, or after the last
        raise ValueError(f"„{value[:20]}“ ist kein Tag.") from error


class CalendarIntake:
    """Reads calendars in. All of it blocks."""

    def __init__(self, home: Home) -> None:
        self._home, self._records = home, home.records

    def plan(self, person: Person, path: Path, akte: Akte | None) -> CalendarPlan:
        """Look at a file; nothing is changed. Raises ToolFailed where it is no calendar."""
        require_may_enter(person, "Termine")
        text = decoded(read_file(path))
        if not text.lstrip("\ufeff \r\n").upper().startswith("BEGIN:VCALENDAR"):
            raise ToolFailed(f"{path.name} ist keine Kalenderdatei (ics).")
        plan = CalendarPlan(path)
        entries, plan.problems = read_calendar(text)
        known, akten = self._known(person), {} if akte else self._akten(person)
        for one in entries:
            where = akte or _named(one, akten)
            if where is None:
                plan.problems.append(f"Zeile {one.line}: „{one.shown}“ nennt keine Akte.")
                continue
            key = (where.id, one.begin or one.day, one.title)
            if key in known:
                plan.known.append(one)
            else:
                plan.new.append((one, where))
            known.add(key)
        return plan

    def apply(self, person: Person, plan: CalendarPlan) -> CalendarPlan:
        """Enter what is new; what cannot be is told, and the rest goes on."""
        done: list[tuple[CalendarEntry, Akte]] = []
        with self._records.together():
            for one, akte in plan.new:
                try:
                    what, row = self.enter(person, akte, one)
                except ToolFailed as error:
                    plan.problems.append(f"Zeile {one.line}: {error}")
                    continue
                if not plan.number:
                    sql = "INSERT INTO einlesung (zeit, person, quelle) VALUES (?, ?, ?)"
                    values = (now(), number_of(person), str(plan.path))
                    plan.number = self._records.write(sql, *values)
                sql = "INSERT INTO einlesung_eintrag VALUES (?, ?, ?)"
                self._records.write(sql, plan.number, what, row)
                done.append((one, akte))
        plan.new = done
        return plan

    def enter(self, person: Person, akte: Akte, one: CalendarEntry) -> tuple[str, int]:
        """Enter one; returns the table and the id of its row. Raises ToolFailed."""
        if one.begin is None:
            service, due = self._home.service(Aufgaben), f"{one.day:%d.%m.%Y}"
            return "aufgabe", service.add(person, akte, one.title, due=due)
        return "termin", self._home.service(Termine).add(
            person,
            akte,
            day=f"{one.day:%d.%m.%Y}",
            begin=f"{one.begin:%H:%M}",
            end=f"{one.end:%H:%M}" if one.end else "",
            place=one.place,
            text=one.title,
        )

    def _known(self, person: Person) -> set[tuple[int, datetime.date, str]]:
        """What stands there; a ``datetime`` is a ``date``, too."""
        termine = self._home.service(Termine).find(person)
        aufgaben = self._home.service(Aufgaben).find(person)
        return {(one.akte, one.begin, one.title) for one in termine} | {
            (one.akte, one.due, one.text) for one in aufgaben if one.due is not None
        }

    def _akten(self, person: Person) -> _ByWord:
        found: _ByWord = {}
        for one in self._home.service(Akten).find(person, most=_MOST_AKTEN):
            az = _plain(one.az)
            found.setdefault(az.partition(" ")[0], []).append((az, one))
        return found


def _named(entry: CalendarEntry, akten: _ByWord) -> Akte | None:
    """The one Akte whose Aktenzeichen the entry has; None for none or several."""
    said = _plain(f"{entry.title} {entry.place} {entry.text}")
    near = (one for word in set(said.split()) for one in akten.get(word, ()))
    found = [akte for az, akte in near if f" {az} " in f" {said} "]
    return found[0] if len(found) == 1 else None


def _plain(text: str) -> str:
    """The words of a text, without the marks around them."""
    return " ".join(filter(None, (word.strip(".,;:()[]") for word in text.split())))


def take_back(home: Home, person: Person, number: int) -> tuple[int, list[str]]:
    """Remove the entries of an import; those that were changed since stay, and are told. Blocks."""
    records, taken, told = home.records, 0, list[str]()
    sql = "SELECT was, zeile FROM einlesung_eintrag WHERE einlesung = ?"
    for row in records.read(sql, number):
        what, line = str(row["was"]), int(str(row["zeile"]))
        try:
            if what == "termin":
                termin = home.service(Termine).get(person, line)
                akte, shown, as_it_came = termin.akte, termin.title, termin.state == OPEN
            else:
                aufgabe = home.service(Aufgaben).get(person, line)
                akte, shown, as_it_came = aufgabe.akte, aufgabe.text, not aufgabe.done
        except ToolFailed as error:
            told.append(str(error))
            continue
        if not as_it_came:
            told.append(f"{shown} wurde seither geändert und bleibt.")
            continue
        with records.together():
            records.write(f"DELETE FROM {what} WHERE id = ?", line)
            note(records, person, akte, what, line, field="zurückgenommen", old=shown)
        taken += 1
    return taken, told
