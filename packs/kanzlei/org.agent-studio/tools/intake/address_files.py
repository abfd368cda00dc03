"""Address files: reads contacts of other programs, from CSV tables and vCards (KZ-51).

A file is a stranger's: what is wrong in a row is told and stops nothing.
"""

from __future__ import annotations

import csv
import io
import quopri
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from studio.packs import ToolFailed

from ..contacts.kontakte import FIELDS, KINDS
from ..contacts.names import has_legal_form

MOST = 50_000
"""Contacts of one file."""
_FIRM = "firma"
"""What a column may also be: the name of one that is no person."""
TARGETS = (*FIELDS, _FIRM)
_KNOWN = {
    "art": "art typ",
    "anrede": "anrede",
    "titel": "titel title prefix namenspraefix",
    "vorname": "vorname vornamen firstname givenname rufname",
    "name": "name nachname familienname zuname lastname surname familyname",
    "fruehere_namen": "geburtsname fruehererename fruehere_namen maidenname",
    "geboren": "geburtsdatum geburtstag geboren geborenam birthday dateofbirth",
    "strasse": "strasse strassenr strassehausnummer adresse anschrift street homestreet "
    "strassegeschaeftlich strasseprivat businessstreet",
    "plz": "plz postleitzahl zip zipcode postalcode homepostalcode businesspostalcode",
    "ort": "ort stadt wohnort city homecity businesscity",
    "land": "land staat country",
    "telefon": "telefon tel telefonnummer phone telefonprivat telefongeschaeftlich homephone "
    "businessphone mobil mobiltelefon handy",
    "email": "email mail emailadresse emailaddress",
    "iban": "iban kontonummer",
    "kennzeichen": "kennzeichen kfzkennzeichen",
    _FIRM: "firma unternehmen company organisation organization firmenname",
}
_BY_HEAD = {word: target for target, words in _KNOWN.items() for word in words.split()}
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


Line = tuple[int, dict[str, str]]
"""A contact with the number of its line."""


@dataclass(slots=True)
class Table:
    """What a file has: contacts as fields by their line, columns that go nowhere, and what could
    not be read. ``head`` is what a mapping of columns is remembered by; empty for vCards."""

    contacts: list[Line] = field(default_factory=list[Line])
    left: list[str] = field(default_factory=list[str])
    problems: list[str] = field(default_factory=list[str])
    head: str = ""
    mapping: dict[str, str] = field(default_factory=dict[str, str])


def read_mapping(text: str) -> dict[str, str]:
    """The mapping of ``Zuname=name; Tel. privat=telefon``; raises ToolFailed."""
    found: dict[str, str] = {}
    for part in (one.strip() for one in text.split(";") if one.strip()):
        column, _, target = part.rpartition("=")
        if not column or target.strip() not in (*TARGETS, ""):
            names = ", ".join(TARGETS)
            raise ToolFailed(f"„{part}“: geschrieben wird Spalte=Feld. Felder: {names}.")
        found[column.strip()] = target.strip()
    return found


def read_csv(text: str, remembered: Mapping[str, Mapping[str, str]], own: str = "") -> Table:
    """The contacts of a table with a head. ``own`` says where columns go, else what was remembered
    for such a head, else their names. Raises ToolFailed where there is no table."""
    first = text.partition("\n")[0]
    separator = max(";,\t", key=lambda one: first.count(one))
    rows = csv.reader(io.StringIO(text.replace("\0", ""), newline=""), delimiter=separator)
    table = Table()
    try:
        columns = [one.strip() for one in next(rows, list[str]())]
        if len(columns) < 2:
            raise ToolFailed("Das ist keine Tabelle: ihre erste Zeile nennt die Spalten.")
        table.head = "\t".join(columns)
        table.mapping = _mapping(columns, remembered.get(table.head, {}), read_mapping(own))
        table.left = [one for one in columns if one and not table.mapping.get(one)]
        if not {"name", _FIRM} & set(table.mapping.values()):
            raise ToolFailed(
                f"Keine Spalte heißt wie ein Name. Sag es mit --spalten „SPALTE=name“. Es gibt: "
                f"{', '.join(filter(None, columns))}."
            )
        for row in rows:
            if len(table.contacts) >= MOST:
                table.problems.append(f"Mehr als {MOST} Zeilen; die übrigen blieben liegen.")
                break
            if any(map(str.strip, row)):
                values = dict(zip(columns, row, strict=False))
                table.contacts.append((rows.line_num, _fields(values, table.mapping)))
    except csv.Error:
        table.problems.append(f"Ab Zeile {rows.line_num} ist die Tabelle beschädigt.")
    return table


def _mapping(
    columns: Sequence[str], kept: Mapping[str, str], own: Mapping[str, str]
) -> dict[str, str]:
    if wrong := [one for one in own if one not in columns]:
        raise ToolFailed(f"Es gibt keine Spalte „{wrong[0]}“, sondern: {', '.join(columns)}.")
    found: dict[str, str] = {}
    for one in columns:
        plain = re.sub(r"[^a-z_]", "", one.lower().translate(_UMLAUTS))
        found[one] = own.get(one, kept.get(one, _BY_HEAD.get(plain, "")))
    return found


def _fields(row: Mapping[str, str], mapping: Mapping[str, str]) -> dict[str, str]:
    """A contact of a row; of several columns for a field the first that is not empty counts, of
    telephones all."""
    found: dict[str, str] = {}
    for column, value in row.items():
        target, value = mapping.get(column, ""), " ".join(value.split())
        if target and value:
            known = found.get(target, "")
            more = f"{known}; {value}" if known and target == "telefon" else known or value
            found[target] = more
    return contact_of(found)


def contact_of(found: dict[str, str]) -> dict[str, str]:
    """The fields of a contact as they are kept: a firm has its name as its name."""
    firm = found.pop(_FIRM, "")
    if found.get("anrede") not in (None, "Herr", "Frau"):
        del found["anrede"]
    if found.get("art") not in (None, *KINDS):
        del found["art"]
    if firm and not found.get("name"):
        found |= {"name": firm, "art": found.get("art", "Firma")}
    elif not found.get("vorname") and has_legal_form(found.get("name", "")):
        found.setdefault("art", "Firma")
    return found


def read_vcards(text: str) -> Table:
    """The contacts of a file of vCards, version 2.1 to 4.0."""
    table, card, begun = Table(), dict[str, str](), 0
    for number, name, parameters, value in properties(text):
        if name == "BEGIN":
            card, begun = {}, number
        elif name == "END" and begun:
            table.contacts.append((begun, contact_of(card)))
            begun = 0
        elif begun:
            _take(card, name, parameters, value)
        if len(table.contacts) >= MOST:
            table.problems.append(f"Mehr als {MOST} Kontakte; die übrigen blieben liegen.")
            break
    if begun:
        table.problems.append(f"Der Kontakt ab Zeile {begun} hat kein Ende.")
    return table


def properties(text: str) -> Iterator[tuple[int, str, str, str]]:
    """The properties of vCards and calendars: line, name, parameters and value.

    Lines that go on are joined.
    """
    whole, begun = "", 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        soft = whole.endswith("=") and "QUOTED-PRINTABLE" in whole.upper()
        if line[:1] in (" ", "\t") or soft:
            whole = whole[:-1] + line.strip() if soft else whole + line[1:]
            continue
        if whole:
            head, _, value = whole.partition(":")
            name, _, parameters = head.partition(";")
            if "QUOTED-PRINTABLE" in parameters.upper():
                value = quopri.decodestring(value.encode()).decode("utf-8", "replace")
            yield begun, name.rpartition(".")[2].upper(), parameters, value
        whole, begun = line, number


def _take(card: dict[str, str], name: str, parameters: str, value: str) -> None:
    parts = [" ".join(unescaped(one).split()) for one in re.split(r"(?<!\\);", value)]

    def part(number: int) -> str:
        return parts[number] if number < len(parts) else ""

    if name == "N":
        if part(0):
            card |= {"name": part(0), "vorname": part(1), "titel": part(3)}
    elif name == "FN":
        card.setdefault("name", part(0))
    elif name == "ORG":
        card[_FIRM] = part(0)
    elif name == "KIND" and value.strip().lower() == "org":
        card["art"] = "Firma"
    elif name == "BDAY":
        digits = re.sub(r"\D", "", value)[:8]
        if len(digits) == 8:
            card["geboren"] = f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"
    elif name == "ADR":
        if not card.get("strasse"):
            card |= {"strasse": part(2), "ort": part(3), "plz": part(5), "land": part(6)}
    elif name == "EMAIL":
        card.setdefault("email", part(0))
    elif name == "TEL" and "FAX" not in parameters.upper():
        number = part(0).removeprefix("tel:")
        card["telefon"] = f"{card['telefon']}; {number}" if card.get("telefon") else number


def unescaped(text: str) -> str:
    """A value without the backslashes before its marks; line ends are spaces."""
    return re.sub(r"\\([\\;,:nN])", lambda one: " " if one[1] in "nN" else one[1], text)
