"""Citations: the norms that a text names, as a lawyer writes them, and their addresses (KZ-29).

``§ 280 I, III i. V. m. § 281 I 1 BGB`` names three. What names no law is not guessed. Numbers of
the schedules of fees are norms too: ``kanzlei:norm/RVG/VV-3100``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from studio.packs import dataclass

from .._patterns import lazy_pattern

_ARTICLES = frozenset({"GG", "EGBGB", "DSGVO", "EMRK", "AEUV", "EUV", "GRCh", "WRV"})
"""Laws that are cited by Art., not by §."""
_NAMES = {
    "bürgerliche[ns]? gesetzbuch(?:e?s)?": "BGB",
    "handelsgesetzbuch(?:e?s)?": "HGB",
    "strafgesetzbuch(?:e?s)?": "StGB",
    "zivilprozessordnung": "ZPO",
    "strafprozessordnung": "StPO",
    "verwaltungsgerichtsordnung": "VwGO",
    "insolvenzordnung": "InsO",
    "abgabenordnung": "AO",
    "bundesrechtsanwaltsordnung": "BRAO",
    "grundgesetz(?:es)?": "GG",
    "kündigungsschutzgesetz(?:es)?": "KSchG",
    "rechtsanwaltsvergütungsgesetz(?:es)?": "RVG",
    "gerichtskostengesetz(?:es)?": "GKG",
    "straßenverkehrsgesetz(?:es)?": "StVG",
}
_ROMAN = "(?:X{0,3}(?:IX|IV|V?I{1,3}|V)|X{1,3})"
_NO_LAWS = "AG|KG|UG|OHG|GmbH|SE|LG|OLG|LAG|BGH|BAG|BVerfG|BVerwG|BSG|EUR|USA|EU|DIN|TV"
_LAW = (
    r"SGB[ -][IVX]+\b|DS-?GVO\b|GRCh\b|"
    rf"(?!(?:{_ROMAN}|{_NO_LAWS})\b)[A-ZÄÖÜ][A-Za-zÄÖÜäöü]{{0,30}}[A-ZÄÖÜ]\b"
)
_TOKEN = lazy_pattern(
    r"\s*(?:"
    r"(?P<sign>§§?|Art(?:ikeln?|\.|\b))"
    r"|(?P<joined>i\.?\s?V\.?\s?m\.?|in Verbindung mit)"
    r"|(?P<absatz>Abs\.|Abs\b|Absatz\b|Absätzen?\b)"
    r"|(?P<satz>S\.|Satz\b|Sätzen?\b)"
    r"|(?P<nummer>Nrn?\.|Nr\b|Nummern?\b)"
    r"|(?P<part>(?:lit\.|Buchst\.|Buchstabe)\s*[a-z]{1,2}\b|(?:Alt\.|Var\.|Fall)\s*\d+"
    r"|\d\.\s*(?:Alt\.|Var\.|Fall\b|HS\b|Halbs\.|Halbsatz\b)|(?:Halbs\.|Halbsatz|HS|Hs\.)\s*\d)"
    r"|(?P<following>ff?\.|ff?\b)"
    r"|(?P<until>bis\b|[-–])"
    r"|(?P<separator>,|;|und\b|u\.|sowie\b|oder\b)"
    rf"|(?P<roman>{_ROMAN}[a-z]?\b)"
    r"|(?P<number>\d{1,4}(?:[a-z]|\s[a-eg-z](?![\w.]))?\b)"
    rf"|(?P<law>{_LAW})"
    rf"|(?:de[sr]\s+)?(?P<name>(?i:{'|'.join(_NAMES)})\b)"
    r")"
)
_START = lazy_pattern(r"§§?|\bArt(?:ikeln?\b|\.|\b)(?=\s*\d)")
_BEFORE = lazy_pattern(rf"\b({'|'.join(sorted(set(_NAMES.values())))})\s+$")
_SCHEDULE = lazy_pattern(
    r"\b(?:Nr\.\s*)?(?:(VV|KV)(?:[ -](?:RVG|GKG))?\s+(?:Nr\.\s*)?(\d{4})|(\d{4})\s+(VV|KV))\b"
)
_SCHEDULES = {"VV": "RVG", "KV": "GKG"}
_ADDRESS = lazy_pattern(
    r"kanzlei:norm/([A-Za-zÄÖÜäöü]+(?:-[IVX]+)?)/"
    r"(?:(VV|KV)-(\d{4})|(\d{1,4}[a-z]?(?:-\d{1,4}[a-z]?)?)(?:/(\d{1,3}[a-z]?))?)"
)
_VALUES = {"I": 1, "V": 5, "X": 10}
_MOST_OF_A_RANGE = 30
_MOST_ABSAETZE = 60
_MOST_OF_A_LEVEL = {"absatz": _MOST_ABSAETZE, "satz": 20, "nummer": 40}
"""A larger number after a comma is a section's: ``§§ 437 Nr. 2, 323 BGB``."""
_LEVELS = ("section", "absatz", "satz", "nummer")


@dataclass(frozen=True, slots=True)
class Citation:
    """One norm that is cited. ``absatz``, ``satz`` and ``nummer`` are empty where none is named."""

    law: str
    section: str
    absatz: str = ""
    satz: str = ""
    nummer: str = ""
    sign: str = "§"

    @property
    def address(self) -> str:
        absatz = f"/{self.absatz}" if self.absatz else ""
        return f"kanzlei:norm/{self.law.replace(' ', '-')}/{self.section}{absatz}"

    def __str__(self) -> str:
        if self.sign == "VV" or self.sign == "KV":
            return f"{self.sign} {self.section.removeprefix(f'{self.sign}-')} {self.law}"
        digits = self.absatz.rstrip("abcdefghijklmnopqrstuvwxyz")
        absatz = f" {_roman(int(digits))}{self.absatz[len(digits) :]}" if digits else ""
        satz = f" S. {self.satz}" if self.satz else ""
        nummer = f" Nr. {self.nummer}" if self.nummer else ""
        first, _, inner = self.section.partition("-")
        section = f"{first} § {inner}" if inner else first
        return f"{self.sign} {section}{absatz}{satz}{nummer} {self.law}"


def addresses(texts: Iterable[str]) -> tuple[str, ...]:
    """The address of each norm that the texts name, once each, in their order."""
    return tuple(dict.fromkeys(one.address for text in texts for one in citations(text)))


def title_of(address: str) -> str:
    """``§ 520 II ZPO`` of ``kanzlei:norm/ZPO/520/2``; empty for what is no address of a norm."""
    found = cited_by(address)
    return str(found) if found else ""


def cited_by(address: str) -> Citation | None:
    """The norm that an address is of."""
    found = _ADDRESS.fullmatch(address)
    if found is None:
        return None
    law, schedule, number, section, absatz = found.groups()
    law = law.replace("-", " ")
    if schedule:
        return Citation(law, f"{schedule}-{number}", sign=schedule)
    return Citation(law, section, absatz or "", sign="Art." if law in _ARTICLES else "§")


def citations(text: str) -> list[Citation]:
    """The norms that a text names, in their order; what names no law is left out."""
    return [one for passage in passages(text) for one in passage.cited]


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a text that cites norms."""

    start: int
    end: int
    cited: tuple[Citation, ...]


def passages(text: str) -> list[Passage]:
    """The parts of a text that cite norms, those of paragraphs first."""
    found: list[Passage] = []
    place = 0
    while start := _START.search(text, place):
        chain = _Chain()
        place = max(chain.read(text, start.start()), start.end())
        if not chain.found and (before := _BEFORE.search(text[: start.start()][-40:])):
            chain.close(before[1])  # BGB § 433
        if chain.found:
            found.append(Passage(start.start(), place, tuple(chain.found)))
    for match in _SCHEDULE.finditer(text):
        schedule, number = match[1] or match[4], match[2] or match[3]
        one = Citation(_SCHEDULES[schedule], f"{schedule}-{number}", sign=schedule)
        found.append(Passage(match.start(), match.end(), (one,)))
    return found


class _Chain:
    """The norms that are cited together, up to the first word that is none of a citation."""

    def __init__(self) -> None:
        self.found: list[Citation] = []
        self._open: list[Citation] = []
        self._level = ""
        self._sign, self._several = "§", False
        self._law = ""
        self._joined = False
        self._roman = False
        self._until = False
        self._after_separator = False

    def read(self, text: str, place: int) -> int:
        """Take what belongs to the chain; returns where it ends."""
        while match := _TOKEN.match(text, place):
            kind, words = match.lastgroup or "", match[match.lastgroup or 0]
            if not self._take(kind, words):
                break
            place = match.end()
        if self._joined and self._law:  # § 280 BGB i. V. m. § 286
            self.close(self._law)
        return place

    def _take(self, kind: str, words: str) -> bool:
        between = ("joined", "separator", "sign")
        if self._law and not self._open and kind not in between and self._level != "section?":
            return False
        if kind == "sign":
            if self._law and not self._joined and not self._after_separator:
                return False
            self._several = words == "§§" or words.startswith("Artikeln")
            self._start_section("§" if words.startswith("§") else "Art.")
        elif kind in ("law", "name"):
            law = words if kind == "law" else _named(words)
            self.close(law.replace("SGB-", "SGB ").replace("DS-GVO", "DSGVO"))
        elif kind == "joined":
            self._joined, self._after_separator = True, True
        elif kind == "separator":
            self._after_separator = True
        elif kind == "until":
            self._until = True
        elif kind in _LEVELS:
            self._level, self._after_separator = f"{kind}?", False
        elif kind in ("number", "roman"):
            return self._number(kind, words.replace(" ", ""))
        return True

    def _start_section(self, sign: str) -> None:
        nested = self._level == "section" and self._sign == "Art." and sign == "§"
        after = self._after_separator
        self._after_separator = False
        if nested and self._open and not after:
            self._level = "inner?"  # Art. 229 § 5 EGBGB
            return
        self._sign, self._level = sign, "section?"

    def _number(self, kind: str, words: str) -> bool:
        level, after = self._level, self._after_separator
        until, self._until, self._after_separator = self._until, False, False
        if level == "section?" or not self._open:
            if kind == "roman" or level != "section?":
                return False
            self._begin(words)
            return True
        last = self._open[-1]
        if level == "inner?":
            self._open[-1] = replace(last, section=f"{last.section}-{words}")
            self._level = "section"
            return True
        number = _arabic(words) if kind == "roman" else words
        if level.endswith("?"):
            level = level[:-1]
        elif kind == "roman":
            level = "absatz"
        elif not after and not until:
            if level != "absatz":
                return False
            level = "satz"  # § 433 I 1 BGB
        elif self._is_section(last, level, number):
            level = "section"
        if level == "absatz" and _digits(number) > _MOST_ABSAETZE:
            return False
        self._level, self._roman = level, kind == "roman"
        if until:
            return self._range(last, level, number)
        if level == "section":
            self._begin(number)
        elif level == "satz" and last.nummer and not last.satz and not after:
            self._open[-1] = replace(last, satz=number)  # Nr. 2 Satz 1
        elif after or getattr(last, level):
            self._open.append(_at(last, level, number))
        else:
            self._open[-1] = _at(last, level, number)
        return True

    def _is_section(self, last: Citation, level: str, number: str) -> bool:
        """Whether the number after a comma is a section's: ``§§ 692 I Nr. 3, 694 ZPO``."""
        return level == "section" or (
            self._several
            and (
                self._roman
                or _digits(number) >= _digits(last.section.partition("-")[0])
                or _digits(number) > _MOST_OF_A_LEVEL[level]
            )
        )

    def _range(self, last: Citation, level: str, number: str) -> bool:
        before = last.section if level == "section" else getattr(last, level)
        if not before.isdecimal() or not number.isdecimal():
            between = [number]
        else:
            between = [str(one) for one in range(int(before) + 1, int(number) + 1)]
            if len(between) > _MOST_OF_A_RANGE:
                between = [number]
        for one in between:
            if level == "section":
                self._begin(one)
            else:
                self._open.append(_at(last, level, one))
        return bool(between)

    def _begin(self, number: str) -> None:
        self._open.append(Citation("", number, sign=self._sign))
        self._level = "section"

    def close(self, law: str) -> None:
        """The law is that of all that has none yet."""
        self.found += [replace(one, law=law) for one in self._open]
        self._open, self._law, self._joined = [], law, False
        self._level = ""


def _at(last: Citation, level: str, number: str) -> Citation:
    """The norm before, with another number at a level and none below it."""
    below = _LEVELS[_LEVELS.index(level) + 1 :]
    return replace(last, **{level: number, **dict.fromkeys(below, "")})


def _named(words: str) -> str:
    return next(law for name, law in _NAMES.items() if re.fullmatch(name, words.lower()))


def _digits(number: str) -> int:
    return int(number.rstrip("abcdefghijklmnopqrstuvwxyz") or 0)


def _arabic(roman: str) -> str:
    letters = roman.rstrip("abcdefghijklmnopqrstuvwxyz")
    values = [_VALUES[letter] for letter in letters]
    total = sum(
        -value if value < max(values[index:]) else value for index, value in enumerate(values)
    )
    return f"{total}{roman[len(letters) :]}"


def _roman(number: int) -> str:
    text = ""
    for value, letters in ((10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):
        text += letters * (number // value)
        number %= value
    return text
