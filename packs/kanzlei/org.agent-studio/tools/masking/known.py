"""Known: whom and what an Akte knows, so that it can be hidden (KZ-43)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from studio.packs import Records, dataclass

from .._patterns import lazy_pattern
from .folding import folded

CLIENT, OPPONENT, PERSON = "Mandant", "Gegner", "Person"
LABELS = {
    **{one: one for one in (CLIENT, OPPONENT, PERSON, "Zeuge", "Anwalt", "Versicherung")},
    "Sachverständiger": "Gutachter",
    "Vertreter": "Anwalt",
}
_PUBLIC = ("Gericht",)
"""Roles of those who are not hidden: deadlines and fees depend on the court."""
_SIDES = lazy_pattern(r"\s+(?:\./\.|gegen|gg\.|[-–/])\s+|\s*\./\.\s*", re.I)
_REST = lazy_pattern(r"\s+(?:wg\.|wegen|u\. ?a\.|et al\.)(?:\s.*|$)", re.I)
_TITLES = lazy_pattern(
    r"^(?:(?:herrn?|frau|eheleute|familie|firma|fa\.|dr\.|prof\.|dipl\.-ing\.|ra(?:in)?|"
    r"erbengemeinschaft(?: nach)?|nachlass|wegen|in sachen)\s+)+",
    re.I,
)
_ISO = lazy_pattern(r"\d{4}-\d\d-\d\d")
_COMPANY = lazy_pattern(
    r"\b(?:gmbh|mbh|ag|kg|kgaa|ohg|ug|gbr|se|eg|e\. ?k\.|e\. ?v\.|ev|partg|partgmbb|ltd|limited|"
    r"inc|b\. ?v\.|s\. ?a\. ?r\. ?l\.|stiftung|verein|versicherung|bank|sparkasse|weg|stadt|land|"
    r"gemeinde|landkreis|freistaat|bundesrepublik|co\.?)(?!\w)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Known:
    """Somebody or something to hide. ``label`` is what it is, as Mandant.

    A person has ``first`` and ``last``, and ``earlier`` last names; a company only ``last``;
    ``value`` is a number, an address or a day instead.
    """

    label: str
    last: str = ""
    first: str = ""
    company: bool = False
    value: str = ""
    earlier: tuple[str, ...] = ()


def known_of(records: Records, akte: int) -> tuple[Known, ...]:
    """All that an Akte knows, and what those know of which its chats were told. Blocks."""
    rows = records.read("SELECT andere FROM gesehen WHERE akte = ? ORDER BY andere", akte)
    others = [
        replace(one, label=PERSON) if one.label in (CLIENT, OPPONENT) else one
        for row in rows
        for one in _of_akte(records, int(str(row["andere"])))
    ]
    return tuple(dict.fromkeys((*_of_akte(records, akte), *others)))


def _of_akte(records: Records, akte: int) -> tuple[Known, ...]:
    rows = records.read("SELECT az, rubrum, gericht_az FROM akte WHERE id = ?", akte)
    if not rows:
        return ()
    row = rows[0]
    people = _taking_part(records, akte)
    lasts = {folded(one.last) for one in people}
    sides = [one for one in in_rubrum(str(row["rubrum"])) if folded(one.last) not in lasts]
    numbers = [str(row[name] or "") for name in ("az", "gericht_az")]
    values = [Known("Aktenzeichen", value=one) for one in numbers if one]
    return (*people, *sides, *values)


def everybody(records: Records) -> list[Known]:
    """All contacts of the office, for what is said of others in a chat about one Akte. Blocks."""
    rows = records.read("SELECT art, vorname, name FROM kontakt WHERE art IN ('Person', 'Firma')")
    return [
        Known(PERSON, str(row["name"]), str(row["vorname"]), company=row["art"] == "Firma")
        for row in rows
        if row["vorname"] or row["art"] == "Firma"
    ]


def taking_part(records: Records) -> list[Known]:
    """Who takes part in any Akte, by last name or firm, also those whom its Rubrum alone names.
    Blocks."""
    rows = records.read(
        "SELECT DISTINCT kontakt.art, name, fruehere_namen FROM beteiligung JOIN kontakt "
        "ON kontakt.id = beteiligung.kontakt WHERE rolle != ? AND art IN ('Person', 'Firma')",
        *_PUBLIC,
    )
    people = [
        Known(
            PERSON,
            str(row["name"]),
            company=row["art"] == "Firma",
            earlier=tuple(_listed(str(row["fruehere_namen"] or ""))),
        )
        for row in rows
    ]
    sides = records.read("SELECT DISTINCT rubrum FROM akte")
    return [*people, *(one for row in sides for one in in_rubrum(str(row["rubrum"])))]


def _taking_part(records: Records, akte: int) -> list[Known]:
    """The contacts that take part in an Akte, and who represents them."""
    rows = records.read(
        "SELECT kontakt.*, rolle, zeichen FROM beteiligung JOIN kontakt ON "
        "kontakt.id = beteiligung.kontakt WHERE akte = ? UNION ALL "
        "SELECT kontakt.*, 'Vertreter', '' FROM beteiligung JOIN kontakt ON "
        "kontakt.id = beteiligung.vertreten_durch WHERE akte = ?",
        *(akte, akte),
    )
    people: list[Known] = []
    values: list[Known] = []
    for row in rows:
        texts = {name: str(value or "").strip() for name, value in row.items()}
        values += [Known("Aktenzeichen", value=one) for one in [texts["zeichen"]] if one]
        if texts["rolle"] in _PUBLIC or texts["art"] == "Gericht":
            continue
        company = texts["art"] != "Person"
        first = "" if company else texts["vorname"]
        label = texts["rolle"] if texts["rolle"] in LABELS else PERSON
        earlier = tuple(_listed(texts["fruehere_namen"]))
        people.append(Known(label, texts["name"], first, company=company, earlier=earlier))
        values += _values(texts)
    return [*people, *values]


def _values(texts: dict[str, str]) -> Iterator[Known]:
    if _ISO.fullmatch(texts["geboren"]):
        yield Known("Geburtstag", value=texts["geboren"])
    if texts["plz"] and texts["ort"]:
        yield Known("Ort", value=f"{texts['plz']} {texts['ort']}")
    for label, name in (
        ("Anschrift", "strasse"),
        ("Anschrift", "weitere_anschriften"),
        ("Telefon", "telefon"),
        ("E-Mail", "email"),
        ("IBAN", "iban"),
        ("Kennzeichen", "kennzeichen"),
    ):
        yield from (Known(label, value=one) for one in _listed(texts[name]))


def _listed(text: str) -> list[str]:
    return [one for part in re.split(r"[;,\n]", text) if len(one := part.strip()) > 1]


@lru_cache(50_000)
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
