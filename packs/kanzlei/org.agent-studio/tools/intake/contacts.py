"""Contacts: keeps the contacts of a file, those alone that the office does not have (KZ-51)."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import cast

from studio.packs import Home, Person, ToolFailed, dataclass

from ..contacts.kontakte import Kontakt, Kontakte, require_may_enter
from ..contacts.names import fold
from ..office.history import note, now
from ..office.persons import number_of
from ..office.texts import decoded, read_file
from .address_files import read_contacts, read_vcards
from .tables import Line, Table, remember

_MOST_KNOWN = 1_000_000


@dataclass(slots=True)
class ContactPlan:
    """What would be kept: ``new`` by their lines, ``known`` names that are there already."""

    path: Path
    table: Table
    new: list[Line] = field(default_factory=list[Line])
    known: list[str] = field(default_factory=list[str])
    number: int = 0


class ContactIntake:
    """Reads contacts in. All of it blocks."""

    def __init__(self, home: Home) -> None:
        self._home, self._records = home, home.records

    def plan(self, person: Person, path: Path, columns: str = "") -> ContactPlan:
        """Look at a file; nothing is changed. Raises ToolFailed where it has no contacts."""
        require_may_enter(person)
        text = decoded(read_file(path))
        if text.lstrip().upper().startswith("BEGIN:VCARD"):
            table = read_vcards(text)
        else:
            table = read_contacts(text, self._records, columns)
        plan = ContactPlan(path, table)
        seen = {
            key
            for one in self._home.service(Kontakte).find(person, most=_MOST_KNOWN)
            for key in same_keys(one.name.name, one.name.first, one.zip, one.name.born)
        }
        for line, one in table.lines:
            if not one.get("name"):
                table.problems.append(f"Zeile {line}: ohne Namen.")
                continue
            born = iso_day(one.get("geboren", ""))
            keys = same_keys(one["name"], one.get("vorname", ""), one.get("plz", ""), born)
            if seen & keys:
                plan.known.append(f"{one.get('vorname', '')} {one['name']}".strip())
            else:
                plan.new.append((line, one))
            seen |= keys
        return plan

    def apply(self, person: Person, plan: ContactPlan) -> ContactPlan:
        """Keep what is new; what cannot be is told, and the rest goes on."""
        kontakte, table = self._home.service(Kontakte), plan.table
        done: list[Line] = []
        with self._records.together():
            remember(self._records, table)
            for line, fields in plan.new:
                try:
                    made = kontakte.add(person, **fields)
                except ToolFailed as error:
                    table.problems.append(f"Zeile {line}: {error}")
                    continue
                plan.number = plan.number or self._begun(person, plan.path)
                sql = "INSERT INTO einlesung_kontakt VALUES (?, ?)"
                self._records.write(sql, plan.number, made.id)
                done.append((line, fields))
        plan.new = done
        return plan

    def _begun(self, person: Person, path: Path) -> int:
        sql = "INSERT INTO einlesung (zeit, person, quelle) VALUES (?, ?, ?)"
        return self._records.write(sql, now(), number_of(person), str(path))


def take_back(home: Home, person: Person, number: int) -> tuple[int, list[str]]:
    """Remove the contacts of an import; those that were used or changed since stay, and are told.
    Blocks."""
    records, taken, told = home.records, 0, list[str]()
    sql = "SELECT kontakt FROM einlesung_kontakt WHERE einlesung = ?"
    for row in records.read(sql, number):
        contact = cast("int", row["kontakt"])
        try:
            one = home.service(Kontakte).get(person, contact)
        except ToolFailed as error:
            told.append(str(error))
            continue
        if _is_used(home, one):
            told.append(f"{one.shown} wurde seither gebraucht oder geändert und bleibt.")
            continue
        with records.together():
            records.write("DELETE FROM kontakt_schluessel WHERE kontakt = ?", contact)
            records.write("DELETE FROM kontakt WHERE id = ?", contact)
            note(records, person, None, "kontakt", contact, field="zurückgenommen", old=one.shown)
        taken += 1
    return taken, told


def _is_used(home: Home, contact: Kontakt) -> bool:
    sql = (
        "SELECT 1 FROM beteiligung WHERE ? IN (kontakt, vertreten_durch) UNION ALL "
        "SELECT 1 FROM konflikt WHERE kontakt = ? UNION ALL "
        "SELECT 1 FROM verlauf WHERE was = 'kontakt' AND zeile = ? AND feld != 'angelegt' LIMIT 1"
    )
    return bool(home.records.read(sql, contact.id, contact.id, contact.id))


def same_keys(name: str, first: str, code: str, born: str) -> set[str]:
    """By what two contacts are the same: a name with a postal code or a birthday, or alone."""
    whole = f"{fold(first)} {fold(name)}".strip()
    return {f"{whole}|{one}" for one in (code.strip(), born) if one} or {f"{whole}|"}


def iso_day(day: str) -> str:
    """A birthday as it is kept; as it is where it is none, which is told when it is kept."""
    parts = day.split(".")
    if len(parts) == 3 and all(one.isdecimal() for one in parts):
        return f"{int(parts[2]):04}-{int(parts[1]):02}-{int(parts[0]):02}"
    return day
