"""Known: whom and what an Akte knows, so that it can be hidden (KZ-43)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from studio.packs import Records

CLIENT, OPPONENT, PERSON = "Mandant", "Gegner", "Person"
LABELS = {
    **{one: one for one in (CLIENT, OPPONENT, PERSON, "Zeuge", "Anwalt", "Versicherung")},
    "Sachverständiger": "Gutachter",
}
_SIDES = re.compile(r"\s+(?:\./\.|gegen|gg\.|[-–/])\s+|\s*\./\.\s*", re.I)
_REST = re.compile(r"\s+(?:wg\.|wegen|u\. ?a\.|et al\.)(?:\s.*|$)", re.I)
_TITLES = re.compile(
    r"^(?:(?:herrn?|frau|eheleute|familie|firma|fa\.|dr\.|prof\.|dipl\.-ing\.|ra(?:in)?|"
    r"erbengemeinschaft(?: nach)?|nachlass|wegen|in sachen)\s+)+",
    re.I,
)
_COMPANY = re.compile(
    r"\b(?:gmbh|mbh|ag|kg|kgaa|ohg|ug|gbr|se|eg|e\. ?k\.|e\. ?v\.|ev|partg|partgmbb|ltd|limited|"
    r"inc|b\. ?v\.|s\. ?a\. ?r\. ?l\.|stiftung|verein|versicherung|bank|sparkasse|weg|stadt|land|"
    r"gemeinde|landkreis|freistaat|bundesrepublik|co\.?)(?!\w)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Known:
    """Somebody or something to hide. ``label`` is what it is, as Mandant.

    A person has ``first`` and ``last``; a company only ``last``; ``value`` is a number,
    an address or a day instead.
    """

    label: str
    last: str = ""
    first: str = ""
    company: bool = False
    value: str = ""


def known_of(records: Records, akte: int) -> tuple[Known, ...]:
    """All that an Akte knows. Blocks."""
    rows = records.read("SELECT az, rubrum, gericht_az FROM akte WHERE id = ?", akte)
    if not rows:
        return ()
    row = rows[0]
    numbers = [str(row[name] or "") for name in ("az", "gericht_az")]
    values = [Known("Aktenzeichen", value=one) for one in numbers if one]
    return tuple(dict.fromkeys((*in_rubrum(str(row["rubrum"])), *values)))


def in_rubrum(rubrum: str) -> Sequence[Known]:
    """The two sides of a Rubrum, as in “Wagner ./. Holzbau Süd GmbH”."""
    found: list[Known] = []
    for number, side in enumerate(_SIDES.split(rubrum)):
        label = CLIENT if number == 0 else OPPONENT
        for name in re.split(r"\s+(?:und|u\.|&)\s+|;\s*", _REST.sub("", side.strip())):
            if _COMPANY.search(side):
                found.append(Known(label, last=side_name(side), company=True))
                break
            if one := named(label, name):
                found.append(one)
    return found


def side_name(side: str) -> str:
    return _TITLES.sub("", _REST.sub("", side.strip())).strip(" ,.;")


def named(label: str, name: str) -> Known | None:
    """A person by their name, as “Erika Müller” or “Müller, Erika”."""
    name = side_name(name)
    last, comma, first = name.partition(",")
    if not comma:
        first, _, last = name.rpartition(" ")
    last, first = last.strip(), _TITLES.sub("", first.strip()).strip()
    return Known(label, last=last, first=first) if any(map(str.isalpha, last)) else None
