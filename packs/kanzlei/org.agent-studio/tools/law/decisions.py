"""Decisions: finds those that a text cites, by Aktenzeichen, ECLI or collection (KZ-29)."""

from __future__ import annotations

import datetime
import re

from studio.packs import dataclass

from .._patterns import lazy_pattern

_COURT = (
    r"(?:BVerfG|BGH|BAG|BSG|BFH|BVerwG|BPatG|EuGH|EuG|EGMR|BayObLG|KG"
    r"|(?:OLG|LG|AG|LAG|ArbG|LSG|SG|FG|OVG|VGH|VG|HansOLG)"
    r"\s+[A-ZÄÖÜ][\w./-]+(?:\s+(?:a\.\s?M\.|am\s+\w+|[IVX]+\b|\([\w. ]+\)))?)"
)
_DAY = r"\d{1,2}\.\s?(?:\d{1,2}\.|[A-ZÄ][a-zä]+)\s?\d{4}"
_NUMBER = (
    r"(?:B\s\d{1,2}\s[A-Z]{1,3}\s\d{1,5}/\d{2}|"  # B 12 KR 5/16
    r"(?:[IVX]{1,5}[a-z]?|[A-Z]{1,2}|\d{1,4}[a-z]?)\s[A-Za-z()]{1,8}"
    r"(?:\s\([A-Za-z]+\))?\s\d{1,6}/\d{2})"
)
_CITED = lazy_pattern(
    rf"\b{_COURT},?\s(?:(?:Urt|Urteil|Beschl|Beschluss|Teilurteil|Vers)\w*\.?,?\s)?"
    rf"(?:vom\s|v\.\s?)?(?:{_DAY})?\s?(?:[-–—,:]\s?)?(?:Az\.:?\s)?(?:{_NUMBER}|C-\d{{1,4}}/\d{{2}})"
    r"|\bECLI:[A-Z]{2}:[A-Z0-9]{1,7}:\d{4}:[A-Z0-9.]{1,25}(?<!\.)"
    r"|\b(?:BGHZ|BGHSt|BVerfGE|BVerwGE|BAGE|BSGE|BFHE)\s\d{1,3},\s?\d{1,4}"
)


_MONTHS = {
    "Januar": 1,
    "Februar": 2,
    "März": 3,
    "April": 4,
    "Mai": 5,
    "Juni": 6,
    "Juli": 7,
    "August": 8,
    "September": 9,
    "Oktober": 10,
    "November": 11,
    "Dezember": 12,
}
_PARTS = lazy_pattern(
    rf"(?P<court>{_COURT})|(?P<ecli>ECLI:\S+)|(?P<day>{_DAY})|(?P<number>{_NUMBER}|C-\d{{1,4}}/\d{{2}})"
)


@dataclass(frozen=True, slots=True)
class Cited:
    """A decision as it is cited. ``key`` is its Aktenzeichen or ECLI, empty for a collection's;
    ``year`` that in which its case began."""

    text: str
    court: str = ""
    day: datetime.date | None = None
    key: str = ""
    year: int = 0


def decisions(text: str) -> list[Cited]:
    """Each decision as it is cited, once, in the order of the text."""
    found = (" ".join(match[0].split()) for match in _CITED.finditer(text))
    return [_read(one) for one in dict.fromkeys(found)]


def _read(text: str) -> Cited:
    parts: dict[str, str] = {}
    for match in _PARTS.finditer(text):
        parts.setdefault(match.lastgroup or "", match[0])
    number = parts.get("number", "")
    year = int(number[-2:]) if number else 0
    century = 2000 if year <= datetime.date.today().year % 100 else 1900
    return Cited(
        text,
        " ".join(parts.get("court", "").split()),
        _day(parts.get("day", "")),
        parts.get("ecli", number),
        century + year if number else 0,
    )


def _day(text: str) -> datetime.date | None:
    named = re.findall(r"\d+|[A-ZÄ][a-zä]+", text)
    if len(named) != 3:
        return None
    months = [number for month, number in _MONTHS.items() if month.startswith(named[1])]
    month = int(named[1]) if named[1].isdecimal() else next(iter(months), 0)
    try:
        return datetime.date(int(named[2]), month, int(named[0]))
    except ValueError:
        return None
