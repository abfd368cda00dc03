"""Akten: opens those of a CSV table that the office does not have, with who takes part (KZ-51)."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import field
from pathlib import Path

from studio.packs import Home, Person, ToolFailed, dataclass

from .. import _german as german
from ..contacts.konflikte import Konflikte, named
from ..contacts.kontakte import Kontakt, Kontakte
from ..office.akten import STATES, Akte, Akten, require_may_open
from ..office.history import note, now
from ..office.persons import number_of
from ..office.retention import Aufbewahrung
from ..office.texts import decoded, read_file
from .tables import Columns, Line, Table, read_csv, remember

COLUMNS = Columns(
    {
        "az": "az aktenzeichen aktennummer aktennr aktenr akte registernummer registernr",
        "rubrum": "rubrum kurzrubrum bezeichnung aktenbezeichnung betreff name sache",
        "mandant": "mandant mandantin mandanten auftraggeber",
        "gegner": "gegner gegnerin gegenseite",
        "sachgebiet": "sachgebiet rechtsgebiet referat",
        "status": "status zustand aktenstatus",
        "wert": "wert gegenstandswert streitwert",
        "mandat_seit": "mandatseit mandat_seit angelegt angelegtam anlagedatum datum beginn",
        "beendet": "beendet ende ablage abgelegt abgelegtam ablagedatum beendetam",
        "gericht": "gericht",
        "gericht_az": "gericht_az gerichtsaktenzeichen gerichtsaz azgericht",
        "gericht_ort": "gericht_ort land bundesland",
        "anwalt": "anwalt rechtsanwalt",
        "sachbearbeiter": "sachbearbeiter bearbeiter",
        "dezernat": "dezernat",
    },
    needed=("rubrum", "mandant"),
    joined=("mandant", "gegner"),
    kind="akten: ",
)
_CHANGED = (
    *("sachgebiet", "wert", "mandat_seit", "gericht", "gericht_az", "gericht_ort"),
    *("sachbearbeiter", "dezernat", "anwalt"),
)
"""What is set after an Akte is opened; the lawyer last, who sees it."""
_STATES = {"aktiv": "laufend", "offen": "laufend", "archiviert": "abgelegt", "erledigt": "abgelegt"}
_SIDES = (("mandant", "Mandant"), ("gegner", "Gegner"))
_FRESH = ("dokument", "frist", "zeit", "notiz", "alert", "termin", "aufgabe", "entwurf", "zugriff")
"""Tables in which an Akte that was opened and not used has nothing."""


@dataclass(slots=True)
class AktenPlan:
    """What would be opened: ``new`` by their lines, ``known`` that are there already.

    ``clashes`` says where somebody stands on the other side of another Akte, perhaps.
    """

    path: Path
    table: Table
    new: list[Line] = field(default_factory=list[Line])
    known: list[str] = field(default_factory=list[str])
    clashes: list[str] = field(default_factory=list[str])
    number: int = 0


class AktenIntake:
    """Reads Akten in. All of it blocks."""

    def __init__(self, home: Home) -> None:
        self._home, self._records = home, home.records

    def plan(self, person: Person, path: Path, columns: str = "") -> AktenPlan:
        """Look at a table; nothing is changed. Raises ToolFailed where it has no Akten."""
        require_may_open(person)
        table = read_csv(decoded(read_file(path)), COLUMNS, self._records, columns)
        plan = AktenPlan(path, table)
        # Also those that the person may not see: a number is given once.
        seen = {str(row["az"]) for row in self._records.read("SELECT az FROM akte")}
        titles = {one.rubrum for one in self._home.service(Akten).find(person, most=1_000_000)}
        for line, row in table.lines:
            title = rubrum_of(row)
            if not title:
                table.problems.append(f"Zeile {line}: ohne Rubrum und ohne Mandant.")
                continue
            az = row.get("az", "")
            if az in seen if az else title in titles:
                plan.known.append(f"{az} {title}".strip())
            elif problem := _problem(row):
                table.problems.append(f"Zeile {line}: {problem}")
            else:
                plan.new.append((line, row))
            seen |= {az} - {""}
            titles |= set() if az else {title}
        return plan

    def apply(self, person: Person, plan: AktenPlan) -> AktenPlan:
        """Open what is new; an Akte that cannot be is told, and the rest goes on."""
        done: list[Line] = []
        with self._records.together():
            remember(self._records, plan.table)
            for line, row in plan.new:
                told: list[str] = []
                try:
                    akte = open_akte(self._home, person, row, told)
                except ToolFailed as error:
                    plan.table.problems.append(f"Zeile {line}: {error}")
                    continue
                plan.table.problems += [f"Zeile {line}, {one}" for one in told]
                if not plan.number:
                    sql = "INSERT INTO einlesung (zeit, person, quelle) VALUES (?, ?, ?)"
                    values = (now(), number_of(person), str(plan.path))
                    plan.number = self._records.write(sql, *values)
                for problem in self._take_in(person, plan, akte, row):
                    plan.table.problems.append(f"Zeile {line}, {problem}")
                last = self._records.read("SELECT max(id) AS id FROM verlauf")[0]["id"]
                sql = "INSERT INTO einlesung_akte VALUES (?, ?, ?)"
                self._records.write(sql, plan.number, akte.id, last)
                done.append((line, row))
        plan.new = done
        return plan

    def _take_in(
        self, person: Person, plan: AktenPlan, akte: Akte, row: dict[str, str]
    ) -> Iterator[str]:
        """Let who is named take part, each checked for conflicts (KZ-15); says who cannot."""
        kontakte = self._home.service(Kontakte)
        for column, role in _SIDES:
            for name in dict.fromkeys(one.strip() for one in row.get(column, "").split(";")):
                if not name:
                    continue
                try:
                    who = self._contact(person, plan.number, name)
                except ToolFailed as error:
                    yield f"{column}: {error}"
                    continue
                try:
                    kontakte.take_part(person, akte, who, role)
                except ToolFailed:  # the row names them twice
                    continue
                found = self._home.service(Konflikte).check(
                    person, [who.name], role, akte=akte, contact=who
                )
                plan.clashes += [f"{akte.az}, {name}: {one}" for one in found.hits if one.clash]

    def _contact(self, person: Person, number: int, text: str) -> Kontakt:
        """The one contact of this name, or a new one, also where several have it."""
        kontakte, name = self._home.service(Kontakte), named(text)
        whole = f"{name.first} {name.name}".strip().casefold()
        same = [
            one
            for one in kontakte.find(person, whole)
            if f"{one.name.first} {one.name.name}".strip().casefold() == whole
        ]
        if len(same) == 1:
            return same[0]
        made = kontakte.add(person, art=name.kind, name=name.name, vorname=name.first)
        self._records.write("INSERT INTO einlesung_kontakt VALUES (?, ?)", number, made.id)
        return made


def open_akte(home: Home, person: Person, row: dict[str, str], told: list[str]) -> Akte:
    """Open the Akte of a row; what of it cannot be kept is told, and it is opened all the same.

    Raises ToolFailed where it cannot be opened. Blocks.
    """
    akten = home.service(Akten)
    akte = akten.open(person, rubrum_of(row), az=row.get("az", ""))
    for name in _CHANGED:
        if value := row.get(name, ""):
            try:
                akte = akten.change(person, akte, name, value)
            except ToolFailed as error:
                told.append(f"{name}: {error}")
    state = _state(row)
    try:
        if row.get("beendet"):
            day = german.read_day(row["beendet"])
            home.service(Aufbewahrung).close_akte(person, akte, day)
        elif state != akte.state:
            akten.change(person, akte, "status", state)
    except ToolFailed as error:
        told.append(f"status: {error}")
    return akte


def take_back(home: Home, person: Person, number: int) -> tuple[int, list[str]]:
    """Remove the Akten of an import; those that were used or changed since stay, and are told.
    Blocks."""
    records, taken, told = home.records, 0, list[str]()
    sql = "SELECT akte, verlauf FROM einlesung_akte WHERE einlesung = ?"
    for row in records.read(sql, number):
        try:
            akte = home.service(Akten).get(person, int(str(row["akte"])))
        except ToolFailed as error:
            told.append(str(error))
            continue
        # What came with it was taken back before it, which is in its history.
        used = "SELECT 1 FROM verlauf WHERE akte = ? AND id > ? AND feld != 'zurückgenommen'"
        if records.read(used, akte.id, row["verlauf"]) or _used(home, akte):
            told.append(f"{akte.title} wurde seither gebraucht oder geändert und bleibt.")
            continue
        home.forget(akte.address)
        with records.together():
            home.service(Aufbewahrung).remove_rows(akte)
            note(records, person, None, "akte", akte.id, field="zurückgenommen", old=akte.az)
        taken += 1
    return taken, told


def _used(home: Home, akte: Akte) -> bool:
    """Whether there is more of it than the table had."""
    return any(
        home.records.read(f"SELECT 1 FROM {table} WHERE akte = ? LIMIT 1", akte.id)
        for table in _FRESH
    )


def rubrum_of(row: dict[str, str]) -> str:
    """What an Akte of a row is called; made of who takes part where no column says it."""
    sides = [row[column].replace(";", ",") for column, _ in _SIDES if row.get(column)]
    return row.get("rubrum", "") or (" ./. ".join(sides) if row.get("mandant") else "")


def _state(row: dict[str, str]) -> str:
    said = row.get("status", "").casefold()
    return _STATES.get(said, said or STATES[0])


def _problem(row: dict[str, str]) -> str:
    """Why an Akte of a row would be a wrong one; empty where it is right."""
    if _state(row) not in STATES:
        return f"„{row['status']}“ ist kein Status. Es gibt: {', '.join(STATES)}."
    for name in ("mandat_seit", "beendet"):
        if row.get(name) and not _is_day(row[name]):
            return f"„{row[name]}“ ist kein Tag."
    if row.get("wert"):
        try:
            german.cents(row["wert"])
        except ToolFailed as error:
            return str(error)
    return ""


def _is_day(text: str) -> bool:
    try:
        return german.read_day(text) <= datetime.date.max
    except ValueError:
        return False


def shown(lines: Sequence[Line]) -> list[str]:
    """The Akten of some lines, as people read them."""
    return [f"{row.get('az', '')} {rubrum_of(row)}".strip() for _, row in lines]
