"""Names: invented people and firms. None of them exists: addresses end in ``.example``, telephone
numbers are those kept for films, and the bank of the IBANs has a number that no bank has."""

from __future__ import annotations

import json
import random
from pathlib import Path

from studio.packs import dataclass

FILE = Path(__file__).parents[2] / "data" / "beispiel" / "namen.json"
PLACES = (
    ("Berlin", "BE", "10999"),
    ("Hamburg", "HH", "20095"),
    ("München", "BY+kath", "80331"),
    ("Köln", "NW", "50667"),
    ("Frankfurt am Main", "HE", "60311"),
    ("Stuttgart", "BW", "70173"),
    ("Leipzig", "SN-kath", "04109"),
    ("Hannover", "NI", "30159"),
    ("Bremen", "HB", "28195"),
    ("Erfurt", "TH-kath", "99084"),
    ("Mainz", "RP", "55116"),
    ("Kiel", "SH", "24103"),
)
"""Where courts are: the place, that of its holidays, and a postal code."""


@dataclass(frozen=True, slots=True)
class Party:
    """One invented person, or a firm, which has no first name."""

    salutation: str
    first: str
    name: str
    street: str
    code: str
    town: str
    born: str
    phone: str
    mail: str
    iban: str

    @property
    def full(self) -> str:
        return f"{self.first} {self.name}".strip()

    @property
    def address(self) -> str:
        return f"{self.street}, {self.code} {self.town}"


class Names:
    """Makes them, by chance."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._parts: dict[str, list[str]] = json.loads(FILE.read_text("utf-8"))

    def _one(self, part: str) -> str:
        return self._chance.choice(self._parts[part])

    def surname(self) -> str:
        name = self._one("Anfänge") + self._one("Endungen")
        return f"{name}-{self.surname()}" if self._chance.random() < 0.04 else name

    def person(self) -> Party:
        chance = self._chance
        salutation = chance.choice(("Frau", "Herr"))
        first, name = self._one(salutation), self.surname()
        born = f"{chance.randint(1940, 2005)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
        return self._party(salutation, first, name, born)

    def firm(self) -> Party:
        name = f"{self.surname()} {self._one('Branchen')} {self._one('Rechtsformen')}"
        return self._party("", "", name, "")

    def insurer(self) -> Party:
        return self._party("", "", f"{self.surname()} Versicherung AG", "")

    def lawyer(self) -> str:
        return f"{self.surname()} & {self.surname()}"

    def place(self) -> tuple[str, str, str]:
        return self._chance.choice(PLACES)

    def _party(self, salutation: str, first: str, name: str, born: str) -> Party:
        chance = self._chance
        town, _, code = self.place()
        host = "".join(one for one in name.split()[0].lower() if one.isascii() and one.isalpha())
        return Party(
            salutation,
            first,
            name,
            f"{self._one('Straßen')} {chance.randint(1, 140)}",
            code,
            town,
            born,
            f"030 23125 {chance.randint(0, 999):03}",
            f"{first.lower() or 'post'}@{host}.example".replace("ö", "oe").replace("ü", "ue"),
            _iban(chance.randint(0, 9_999_999_999)),
        )


def _iban(account: int) -> str:
    """An IBAN whose check digits are right, of a bank that does not exist."""
    body = f"00000000{account:010}"
    check = 98 - int(f"{body}131400") % 97
    return f"DE{check:02}{body}"
