"""Decisions: finds those that a text cites, by Aktenzeichen, ECLI or collection (KZ-29)."""

from __future__ import annotations

import re

_COURT = (
    r"(?:BVerfG|BGH|BAG|BSG|BFH|BVerwG|BPatG|EuGH|EuG|EGMR|BayObLG|KG"
    r"|(?:OLG|LG|AG|LAG|ArbG|LSG|SG|FG|OVG|VGH|VG|HansOLG)"
    r"\s+[A-ZÄÖÜ][\w./-]+(?:\s+(?:a\.\s?M\.|am\s+\w+|[IVX]+\b|\([\w. ]+\)))?)"
)
_DAY = r"\d{1,2}\.\s?(?:\d{1,2}\.|[A-ZÄ][a-zä]+)\s?\d{4}"
_NUMBER = (
    r"(?:[IVX]{1,5}[a-z]?|[A-Z]{1,2}|\d{1,4}[a-z]?)\s[A-Za-z()]{1,8}"
    r"(?:\s\([A-Za-z]+\))?\s\d{1,6}/\d{2}"
)
_CITED = re.compile(
    rf"\b{_COURT},?\s(?:(?:Urt|Urteil|Beschl|Beschluss|Teilurteil|Vers)\w*\.?,?\s)?"
    rf"(?:vom\s|v\.\s?)?(?:{_DAY})?\s?(?:[-–—,:]\s?)?(?:Az\.:?\s)?(?:{_NUMBER}|C-\d{{1,4}}/\d{{2}})"
    r"|\bECLI:[A-Z]{2}:[A-Z0-9]{1,7}:\d{4}:[A-Z0-9.]{1,25}(?<!\.)"
    r"|\b(?:BGHZ|BGHSt|BVerfGE|BVerwGE|BAGE|BSGE|BFHE)\s\d{1,3},\s?\d{1,4}"
)


def decisions(text: str) -> list[str]:
    """Each decision as it is cited, once, in the order of the text."""
    found = (" ".join(match[0].split()) for match in _CITED.finditer(text))
    return list(dict.fromkeys(found))
