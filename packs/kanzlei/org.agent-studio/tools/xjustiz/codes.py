"""Codes: what the numbers in XJustiz's code lists stand for, from a data file (KZ-34)."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from studio.packs import dataclass

FILE = Path(__file__).parents[2] / "data" / "xjustiz.csv"
OTHER = "001"
"""The class of a document that has none of the others."""
FILENAME = "xjustiz_nachricht.xml"
"""The name that each message has."""


@dataclass(frozen=True, slots=True)
class Role:
    """A role in a lawsuit. ``role`` is the office's where it has one; ``party`` tells who attacks,
    1, from who defends, 2."""

    code: str
    name: str
    role: str
    party: str


class Codes:
    """The lists that this program knows; a list of the standard has more."""

    def __init__(self) -> None:
        with FILE.open(encoding="utf-8", newline="") as file:
            rows = [*csv.DictReader(file)]
        states = {row["liste"]: row["code"] for row in rows if row["liste"].startswith("Fassung")}
        self.version = states["Fassung"]
        self.class_version = states["Fassung Dokumentklasse"]
        self.role_version = states["Fassung Rollenbezeichnung"]
        self.classes = {
            row["code"]: row["name"] for row in rows if row["liste"] == "Dokumentklasse"
        }
        self.roles = {
            row["code"]: Role(row["code"], row["name"], row["rolle"], row["partei"])
            for row in rows
            if row["liste"] == "Rolle"
        }

    def class_of(self, *said: str) -> str:
        """The class of a document, by the first of what is said of it that names one: “Klage”."""
        for words in said:
            plain = set(re.findall(r"\w+", words.casefold().replace("_", " ")))
            for code, name in self.classes.items():
                kinds = {one.split()[0].casefold() for one in name.split(" / ")}
                if code != OTHER and plain & kinds:
                    return code
        return OTHER

    def role_named(self, name: str) -> Role | None:
        """The role that a person typed: Kläger, Klägerin; None where there is no such one."""
        plain = name.strip().casefold()
        found = {one.name.casefold(): one for one in self.roles.values()}
        return found.get(plain) or found.get(plain.removesuffix("in")) or found.get(f"{plain}r")
