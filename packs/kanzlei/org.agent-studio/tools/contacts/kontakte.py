"""Kontakte: persons, firms and courts, and how they take part in an Akte (KZ-11).

A contact is seen by who may see an Akte that it takes part in, and by all while it takes part in
none.
"""

from __future__ import annotations

import re
from typing import cast

from studio.packs import Home, Person, ToolFailed, Value, dataclass

from ..office.akten import Akte, visible
from ..office.forms import read_day
from ..office.history import note, now
from ..office.persons import ADMIN, ANWALT, SACHBEARBEITER
from .likeness import Name
from .names import fold, keys_of, telling

KINDS = ("Person", "Firma", "Gericht", "Behörde")
ROLES = (
    *("Mandant", "Gegner", "Anwalt", "Gericht", "Versicherung", "Zeuge", "Sachverständiger"),
    *("Vertreter", "Dritter"),
)
SIDES = ("", "Mandant", "Gegner")
FIELDS = (
    *("art", "anrede", "titel", "vorname", "name", "fruehere_namen", "geboren", "strasse", "plz"),
    *("ort", "land", "weitere_anschriften", "telefon", "email", "iban", "kennzeichen"),
)
LONGEST = 300


@dataclass(frozen=True, slots=True)
class Kontakt:
    """One contact."""

    id: int
    name: Name
    title: str
    salutation: str
    street: str
    zip: str
    city: str
    phone: str
    mail: str
    iban: str

    @property
    def shown(self) -> str:
        """``Dr. Petra Huber``, or the firm."""
        return " ".join(filter(None, (self.title, self.name.first, self.name.name)))

    @property
    def address(self) -> str:
        return f"kanzlei:kontakt/{self.id}"


@dataclass(frozen=True, slots=True)
class Beteiligung:
    """How a contact takes part in an Akte; ``by`` is who represents it."""

    id: int
    akte: int
    role: str
    side: str
    contact: Kontakt
    by: str
    sign: str


def _found(person: Person, words: str) -> tuple[str, list[Value]]:
    """From which rows, and the values of that."""
    allowed, values = _seen(person)
    sql, asked = f"FROM kontakt WHERE {allowed}", [*values]
    for word in words.split():
        like = "%" + re.sub(r"([\\%_])", r"\\\1", word) + "%"
        sql += (
            " AND (name || ' ' || vorname || ' ' || fruehere_namen || ' ' || ort)"
            " LIKE ? ESCAPE '\\'"
        )
        asked.append(like)
    return sql, asked


class Kontakte:
    """The contacts of the office. All of it blocks."""

    def __init__(self, home: Home) -> None:
        self._records = home.records

    def get(self, person: Person, number: int) -> Kontakt:
        """One by its id; raises ToolFailed where there is none to see."""
        allowed, values = _seen(person)
        sql = f"SELECT * FROM kontakt WHERE kontakt.id = ? AND {allowed}"
        rows = self._records.read(sql, number, *values)
        if not rows:
            raise ToolFailed(
                f"Es gibt keinen Kontakt {number}, oder er ist für {person.name} nicht zugänglich."
            )
        return kontakt_of(rows[0])

    def find(
        self, person: Person, words: str = "", most: int = 200, skip: int = 0
    ) -> list[Kontakt]:
        """Those whose names or places have all the words, without the first ``skip``."""
        found, values = _found(person, words)
        sql = f"SELECT * {found} ORDER BY name, vorname, id LIMIT ? OFFSET ?"
        return [kontakt_of(row) for row in self._records.read(sql, *values, most, skip)]

    def count(self, person: Person, words: str = "") -> int:
        """How many ``find`` could find."""
        found, values = _found(person, words)
        (row,) = self._records.read(f"SELECT count(*) AS n {found}", *values)
        return int(str(row["n"]))

    def add(self, person: Person, **fields: str) -> Kontakt:
        """Keep a new contact; raises ToolFailed for a wrong field."""
        require_may_enter(person)
        values = _checked({"art": "Person", **fields})
        if not values.get("name"):
            raise ToolFailed("Ein Kontakt hat einen Namen.")
        row: dict[str, Value] = {**values, "angelegt": now()}
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        with self._records.together():
            number = self._records.write(
                f"INSERT INTO kontakt ({names}) VALUES ({marks})", *row.values()
            )
            self._index(number)
            note(self._records, person, None, "kontakt", number, field="angelegt",
                 new=values["name"])  # fmt: skip
        return self.get(person, number)

    def change(self, person: Person, contact: Kontakt, **fields: str) -> Kontakt:
        """Change fields of a contact; each with its history."""
        require_may_enter(person)
        values = _checked(fields)
        if values.get("name") == "":
            raise ToolFailed("Ein Kontakt hat einen Namen.")
        rows = self._records.read("SELECT * FROM kontakt WHERE id = ?", contact.id)
        with self._records.together():
            for field, new in values.items():
                old = rows[0][field]
                if (old or "") != (new or ""):
                    self._records.write(
                        f"UPDATE kontakt SET {field} = ? WHERE id = ?", new, contact.id
                    )
                    note(self._records, person, None, "kontakt", contact.id, field=field, old=old,
                         new=new)  # fmt: skip
            self._index(contact.id)
        return self.get(person, contact.id)

    def of_akte(self, akte: Akte) -> list[Beteiligung]:
        """Who takes part in an Akte that the person may see."""
        sql = (
            "SELECT kontakt.*, beteiligung.id AS nummer, akte, rolle, seite, zeichen, "
            "wer.name AS durch, wer.vorname AS durch_vorname FROM beteiligung "
            "JOIN kontakt ON kontakt.id = beteiligung.kontakt "
            "LEFT JOIN kontakt AS wer ON wer.id = beteiligung.vertreten_durch "
            "WHERE akte = ? ORDER BY beteiligung.id"
        )
        return [
            Beteiligung(
                id=cast("int", row["nummer"]),
                akte=akte.id,
                role=str(row["rolle"]),
                side=str(row["seite"]),
                contact=kontakt_of(row),
                by=f"{row['durch_vorname'] or ''} {row['durch'] or ''}".strip(),
                sign=str(row["zeichen"]),
            )
            for row in self._records.read(sql, akte.id)
        ]

    def take_part(
        self,
        person: Person,
        akte: Akte,
        contact: Kontakt,
        role: str,
        *,
        side: str = "",
        by: Kontakt | None = None,
        sign: str = "",
    ) -> int:
        """Let a contact take part in an Akte; the caller checks for conflicts."""
        require_may_enter(person)
        if role not in ROLES:
            raise ToolFailed(f"„{role}“ ist keine Rolle. Es gibt: {', '.join(ROLES)}.")
        side = side or (role if role in SIDES else "")
        if side not in SIDES:
            raise ToolFailed("Die Seite ist Mandant oder Gegner, oder leer.")
        known = "SELECT 1 FROM beteiligung WHERE akte = ? AND kontakt = ? AND rolle = ?"
        with self._records.together():
            if self._records.read(known, akte.id, contact.id, role):
                raise ToolFailed(f"{contact.shown} ist in der Akte {akte.az} schon {role}.")
            sql = (
                "INSERT INTO beteiligung (akte, kontakt, rolle, seite, vertreten_durch, zeichen) "
                "VALUES (?, ?, ?, ?, ?, ?)"
            )
            values = (akte.id, contact.id, role, side, by.id if by else None, sign)
            number = self._records.write(sql, *values)
            note(self._records, person, akte.id, "beteiligung", number, field=role,
                 new=contact.shown)  # fmt: skip
        return number

    def leave(self, person: Person, akte: Akte, number: int) -> None:
        """Take a contact out of an Akte; the history stays."""
        require_may_enter(person)
        one = next((one for one in self.of_akte(akte) if one.id == number), None)
        if one is None:
            raise ToolFailed(f"In der Akte {akte.az} gibt es keine Beteiligung {number}.")
        with self._records.together():
            self._records.write("DELETE FROM beteiligung WHERE id = ?", number)
            note(self._records, person, akte.id, "beteiligung", number, field=one.role,
                 old=one.contact.shown)  # fmt: skip

    def _index(self, number: int) -> None:
        """Keep by what a contact is found."""
        rows = self._records.read("SELECT * FROM kontakt WHERE id = ?", number)
        self._records.write("DELETE FROM kontakt_schluessel WHERE kontakt = ?", number)
        for key in keys(kontakt_of(rows[0]).name):
            self._records.write("INSERT INTO kontakt_schluessel VALUES (?, ?)", key, number)


def keys(name: Name, *, asked: bool = False) -> list[str]:
    """By what a name is found; ``asked`` for a name that is looked for, in either order."""
    words = telling(name.words) if name.is_firm else name.words
    found = keys_of(words)
    if name.is_firm:
        for whole in name.names:
            found |= keys_of(["".join(whole)])
            if len(whole) >= 3 or (asked and len(whole) == 1 and len(whole[0]) <= 5):
                found.add("a:" + (whole[0] if len(whole) == 1 else "".join(w[0] for w in whole)))
        if len(words) == 1 and len(words[0]) <= 5:
            found.add(f"a:{words[0]}")
    else:
        # One whose first and family name were swapped has the asked family name as its first.
        found |= {f"s:{one}" for one in (words if asked else name.firsts)}
        if name.born:
            found.add(f"g:{name.born}")
    return sorted(found)


def name_and_heads(contact: Kontakt, by: Kontakt | None) -> list[Name]:
    """The names that a conflict check of a contact asks for: its own, and who represents it."""
    return [contact.name, *([by.name] if by is not None else [])]


def require_may_enter(person: Person) -> None:
    """Raise ToolFailed unless a person may enter contacts."""
    if person.role not in (ADMIN, ANWALT, SACHBEARBEITER, "SEKRETARIAT"):
        raise ToolFailed(f"{person.name} darf als {person.role or 'Gast'} keine Kontakte ändern.")


def kontakt_of(row: dict[str, Value]) -> Kontakt:
    """The contact of a row of ``kontakt``."""

    def text(name: str) -> str:
        return str(row[name] or "")

    name = Name(*(text(one) for one in ("art", "name", "vorname", "fruehere_namen", "geboren")))
    more = ("titel", "anrede", "strasse", "plz", "ort", "telefon", "email", "iban")
    return Kontakt(cast("int", row["id"]), name, *(text(one) for one in more))


def _checked(fields: dict[str, str]) -> dict[str, str | None]:
    """Fields as they are kept; raises ToolFailed for a wrong one."""
    if unknown := sorted(set(fields) - set(FIELDS)):
        raise ToolFailed(f"Ein Kontakt hat kein Feld {unknown[0]}.")
    values: dict[str, str | None] = {name: " ".join(one.split()) for name, one in fields.items()}
    if long := next((name for name, one in values.items() if len(one or "") > LONGEST), ""):
        raise ToolFailed(f"{long}: höchstens {LONGEST} Zeichen.")
    if values.get("art", "Person") not in KINDS:
        raise ToolFailed(f"„{values['art']}“ ist keine Art. Es gibt: {', '.join(KINDS)}.")
    if "geboren" in values:
        born = values["geboren"]
        values["geboren"] = read_day("Geboren", born) if born else None
    if (iban := values.get("iban")) and not _is_iban(iban):
        raise ToolFailed(f"„{iban}“ ist keine IBAN: ihre Prüfziffer stimmt nicht.")
    return values


def _is_iban(text: str) -> bool:
    plain = fold(text).replace(" ", "").upper()
    if not re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", plain):
        return False
    return int("".join(str(int(one, 36)) for one in plain[4:] + plain[:4])) % 97 == 1


def _seen(person: Person) -> tuple[str, tuple[Value, ...]]:
    """A condition on ``kontakt``, and its values: who may see one."""
    allowed, values = visible(person)
    if allowed == "1":
        return "1", ()
    part = (
        "SELECT 1 FROM beteiligung JOIN akte ON akte.id = beteiligung.akte WHERE "
        "kontakt.id IN (beteiligung.kontakt, beteiligung.vertreten_durch)"
    )
    return f"(NOT EXISTS ({part}) OR EXISTS ({part} AND {allowed}))", values
