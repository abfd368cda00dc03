"""Address files: reads contacts of other programs, from CSV tables and vCards (KZ-51).

A file is a stranger's: what is wrong in a row is told and stops nothing.
"""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator

from studio.packs import Records

from ..contacts.kontakte import KINDS
from ..contacts.names import has_legal_form
from .tables import MOST, Columns, Table, read_csv

_FIRM = "firma"
"""What a column may also be: the name of one that is no person."""
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
COLUMNS = Columns(_KNOWN, ("name", _FIRM), ("telefon",))


def read_contacts(text: str, records: Records, own: str = "") -> Table:
    """The contacts of a table with a head; raises ToolFailed where there is none."""
    table = read_csv(text, COLUMNS, records, own)
    table.lines = [(line, contact_of(fields)) for line, fields in table.lines]
    return table


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
            table.lines.append((begun, contact_of(card)))
            begun = 0
        elif begun:
            _take(card, name, parameters, value)
        if len(table.lines) >= MOST:
            table.problems.append(f"Mehr als {MOST} Kontakte; die übrigen blieben liegen.")
            break
    if begun:
        table.problems.append(f"Der Kontakt ab Zeile {begun} hat kein Ende.")
    return table


def properties(text: str) -> Iterator[tuple[int, str, str, str]]:
    """The properties of vCards and calendars: line, name, parameters and value.

    Lines that go on are joined.
    """
    parts, begun, quoted = list[str](), 0, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        soft = quoted and parts[-1].endswith("=")
        if line[:1] in (" ", "\t") or soft:
            if soft:
                parts[-1] = parts[-1][:-1]
            parts.append(line.strip() if soft else line[1:])
            continue
        if whole := "".join(parts):
            head, _, value = whole.partition(":")
            name, _, parameters = head.partition(";")
            if "QUOTED-PRINTABLE" in parameters.upper():
                value = quopri.decodestring(value.encode()).decode("utf-8", "replace")
            yield begun, name.rpartition(".")[2].upper(), parameters, value
        parts, begun = [line], number
        quoted = "QUOTED-PRINTABLE" in line.partition(":")[0].upper()


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
