"""Fields: what is known of an Akte, by the names that templates use (KZ-33).

What is not known has no field here, and is asked for.
"""

from __future__ import annotations

import datetime
from decimal import Decimal

from studio.packs import Home, Person, ToolFailed, Value

from .. import _german as german
from ..fees.bill import Assignment, Bill, Item, compute_bill
from ..fees.note import statement
from ..fees.reading import read_items
from ..office.akten import Akte
from ..office.fristen import Fristen
from ..office.settings import OfficeSettings

_ROLES = {"mandant": "Mandant", "gegner": "Gegner", "versicherung": "Versicherung"}


def known_fields(home: Home, person: Person, akte: Akte) -> dict[str, str]:
    """The fields of an Akte that are not empty. Blocks."""
    today = datetime.date.today()
    found = {
        "az": akte.az,
        "rubrum": akte.rubrum,
        "gericht": akte.court,
        "gericht_az": akte.court_az,
        "sachgebiet": akte.area,
        "anwalt": _name(home, akte.lawyer) or person.name,
        "heute": f"{today:%d.%m.%Y}",
    }
    if akte.value is not None:
        value = Decimal(akte.value) / 100
        found |= {"wert": german.euros(value), "kosten": _costs(value, akte, today)}
    for prefix, role in _ROLES.items():
        found |= _people(home, akte, prefix, role)
    if fristen := home.service(Fristen).find(person, akte=akte.id):
        found |= {"frist": fristen[0].kind, "frist_ende": f"{fristen[0].end:%d.%m.%Y}"}
    settings = home.settings(OfficeSettings)
    found |= {"kanzlei": settings.kanzlei, "steuernummer": settings.steuernummer}
    return {name: value for name, value in found.items() if value.strip()}


def bill_of(home: Home, akte: Akte, positions: str) -> Bill:
    """The bill of an Akte for positions that somebody wrote; raises ToolFailed for a wrong one, or
    where the Akte has no value."""
    if akte.value is None:
        raise ToolFailed(f"Die Akte {akte.az} hat keinen Gegenstandswert. Trage ihn ein.")
    day = datetime.date.fromisoformat(akte.mandate) if akte.mandate else datetime.date.today()
    sql = "SELECT count(*) AS n FROM beteiligung WHERE akte = ? AND rolle = 'Mandant'"
    clients = int(str(home.records.read(sql, akte.id)[0]["n"])) or 1
    return compute_bill(
        read_items(positions), Assignment(Decimal(akte.value) / 100, day, day, clients)
    )


def _name(home: Home, person: int | None) -> str:
    rows = home.records.read("SELECT name FROM person WHERE id = ?", person or 0)
    return str(rows[0]["name"]) if rows else ""


def _people(home: Home, akte: Akte, prefix: str, role: str) -> dict[str, str]:
    """Name, address and salutation of those with a role; of several, of all."""
    rows = home.records.read(
        "SELECT kontakt.* FROM beteiligung JOIN kontakt ON kontakt.id = beteiligung.kontakt "
        "WHERE akte = ? AND rolle = ? ORDER BY beteiligung.id",
        *(akte.id, role),
    )
    if not rows:
        return {}
    streets = dict.fromkeys(_address(row) for row in rows)
    return {
        prefix: _and([_full(row) for row in rows]),
        f"{prefix}_anschrift": "" if "" in streets else "; ".join(streets),
        f"{prefix}_anrede": _salutation(rows),
    }


def _full(row: dict[str, Value]) -> str:
    return " ".join(str(row[part]) for part in ("titel", "vorname", "name") if row[part])


def _address(row: dict[str, Value]) -> str:
    town = f"{row['plz']} {row['ort']}".strip()
    return f"{row['strasse']}, {town}" if row["strasse"] and town else ""


def _salutation(rows: list[dict[str, Value]]) -> str:
    """``Sehr geehrte Frau Müller, sehr geehrter Herr Dr. Meier,``; of a firm, or where nobody said
    how a person is addressed, the general one."""
    said: list[str] = []
    for row in rows:
        name = " ".join(str(row[part]) for part in ("titel", "name") if row[part])
        if row["art"] != "Person" or row["anrede"] not in ("Frau", "Herr"):
            return "Sehr geehrte Damen und Herren,"
        said.append(f"geehrte{'' if row['anrede'] == 'Frau' else 'r'} {row['anrede']} {name}")
    return f"Sehr {', sehr '.join(said)},"


def _and(names: list[str]) -> str:
    *before, last = names
    return f"{', '.join(before)} und {last}" if before else last


def _costs(value: Decimal, akte: Akte, today: datetime.date) -> str:
    """The fees out of court with the rate of 1,3, as lines."""
    mandate = datetime.date.fromisoformat(akte.mandate) if akte.mandate else today
    bill = compute_bill([Item("2300")], Assignment(value, mandate, mandate))
    return statement(bill)
