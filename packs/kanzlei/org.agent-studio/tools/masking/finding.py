"""Finding: finds those whom an Akte knows in a text, in every form; and numbers and addresses.

Names are compared word by word, so that ten thousand pages take no longer than a hundred names
would. A name of five letters or more is also found where a word goes on: Müllers, Müllerkonto; and
one within a word where a capital letter, its length or what is before it tell it: HerrMüller.
"""

from __future__ import annotations

import datetime
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache

from studio.packs import dataclass

from .._patterns import lazy_pattern
from .common import NOUNS, PARTICLES, is_name_here
from .folding import Folded, folded
from .known import Known

FIRST, LAST, SHORT = "Vorname", "Nachname", "Kurzname"
LONG = 5
"""Letters from which on a name is found at the beginning of a longer word."""
WITHIN = 6
"""Letters from which on a name is found within any word."""
_ENDINGS = {
    *("", "s", "es", "en", "n", "ns", "e", "er", "in", "sch"),
    *("sche", "schen", "scher", "sches", "schem", "schs"),
}
_WORD = lazy_pattern(r"[^\W\d_]+|\d+")
_POSSESSIVE = {one for one in _ENDINGS if one[:1] in ("", "s")}
"""How a name goes on that is a word too: what is Kinder or Grundlage is none."""
_JOINED = {
    *("herr", "herrn", "frau", "familie", "firma", "dr", "mandant", "mandantin", "gegner", "zeuge"),
    *("zeugin", "klage", "akte", "brief", "schreiben", "anwalt", "fall", "sache", "an", "von"),
}
"""What is written before a name without a blank."""
_LONGEST_JOINED = max(map(len, _JOINED))
_LONGEST = 1_000
"""Letters of a word within which names are looked for."""
_CAPITAL = lazy_pattern(r"(?<=[a-zß-öø-ÿ])[A-ZÀ-ÖØ-Þ]")
_BETWEEN = lazy_pattern(r"(?:[\s.,'\"„“«»&+/_-]|\\+[nrt\"]|=20|=\r?\n|<[^<>]{0,20}>){0,6}")
_PARTICLES = {*("von", "van", "der", "den", "dem", "de", "zu", "zum", "zur", "vom", "del", "di")}
_GENERAL = """
gmbh mbh ag kg kgaa ohg ug gbr se eg ek ev partg partgmbb ltd limited inc co und der die das bau
holzbau hochbau tiefbau logistik handel handels immobilien verwaltung verwaltungs versicherung
versicherungs bank sparkasse volksbank stadt land gemeinde landkreis verein sued nord ost west
deutschland deutsche bayern berlin hamburg muenchen koeln frankfurt haus hausverwaltung
wohnungsbau wohnungen wohnen service services technik elektro sanitaer auto autohaus transport
transporte spedition consulting beratung gesellschaft holding gruppe international invest
capital media verlag software systems solutions group energie stiftung freistaat bundesrepublik
zweigniederlassung niederlassung beteiligungs vertriebs vertrieb
"""
"""Words of firms' names that name nobody alone."""
_MONTHS = "januar februar maerz april mai juni juli august september oktober november dezember"


@dataclass(frozen=True, slots=True)
class Found:
    """A part of a text to hide. ``key`` is the same for all its forms; ``usual`` is its usual form,
    ``part`` which part of a name it is."""

    start: int
    end: int
    label: str
    key: str
    part: str = ""
    usual: str = ""


@dataclass(frozen=True, slots=True)
class _Name:
    words: tuple[str, ...]
    label: str
    key: str
    part: str
    usual: str

    @property
    def common(self) -> bool:
        """Whether it is a word, too."""
        return len(self.words) == 1 and (self.words[0] in NOUNS or self.words[0] in PARTICLES)


class Finder:
    """Finds what is known. One is kept as long as the same is known.

    ``whole``: people by their whole names alone, and nothing else.
    """

    def __init__(self, known: Sequence[Known], *, whole: bool = False) -> None:
        self._whole = whole
        self._names: dict[str, list[_Name]] = {}
        self._lengths: tuple[int, ...] = ()
        self._days: dict[datetime.date, str] = {}
        self._values: list[tuple[re.Pattern[str], Known]] = []
        for one in known:
            if one.value:
                self._add_value(one)
            else:
                for name in _names(one, whole=whole):
                    if whole and (name.part or len(name.words) < 2):
                        continue
                    self._names.setdefault(name.words[0], []).append(name)
        for names in self._names.values():
            names.sort(key=lambda one: -len(one.words))
        self._lengths = tuple(sorted({len(one) for one in self._names}, reverse=True))
        self._beginnings = lru_cache(100_000)(self._beginning_names)
        self._insides = lru_cache(100_000)(self._names_inside)

    def find(self, text: str) -> list[Found]:
        """What is to hide, in its order, without overlaps; the longest counts."""
        return apart(self.spans(text))

    def spans(self, text: str) -> list[Found]:
        """What is to hide, also where one thing is within another."""
        if self._whole:
            return [*self._in_names(text)]
        return [*self._in_names(text), *self._in_values(text), *_looking_like(text, self._days)]

    def _add_value(self, one: Known) -> None:
        if one.label == "Geburtstag":
            self._days[datetime.date.fromisoformat(one.value)] = one.value
            return
        pieces = map(re.escape, _WORD.findall(folded(one.value)))
        pattern = r"(?<![^\W_])" + _LOOSE.join(pieces) + r"(?![^\W_])"
        self._values.append((re.compile(pattern), one))

    def _in_values(self, text: str) -> Iterator[Found]:
        if not self._values:
            return
        plain = Folded(text)
        for pattern, one in self._values:
            for found in pattern.finditer(plain.text):
                start, end = plain.origin(*found.span())
                yield Found(start, end, one.label, _bare(one.value), usual=one.value)

    def _in_names(self, text: str) -> Iterator[Found]:
        if not self._names:
            return
        plain = Folded(text)
        words = [(one.start(), one.end()) for one in _WORD.finditer(plain.text)]
        capitals = [one.start() for one in _CAPITAL.finditer(text)]
        number = 0
        while number < len(words):
            start, end = words[number]
            taken = 0
            after_escape = start and plain.text[start - 1] == "\\" and plain.text[start] in "nrtbf"
            for begin in (start, start + 1) if after_escape else (start,):
                if begin >= end:
                    continue
                for found, last in self._at(plain.text, words, number, begin):
                    if (one := _found(text, plain, found)) is not None:
                        yield one
                        taken = max(taken, last - number)
                if taken:
                    break
            if not taken:
                yield from self._within(text, plain, words[number], capitals)
            number += max(1, taken)

    def _within(
        self, text: str, plain: Folded, word: tuple[int, int], capitals: Sequence[int]
    ) -> Iterator[Found]:
        """The names in a word that begins with none: HerrMüller, KlageMüller, klagemueller."""
        start, end = word
        pieces = _parted(plain, start, end, capitals)
        number, any_found = 0, False
        while number < len(pieces):
            taken = 1
            for found, last in self._at(plain.text, pieces, number, pieces[number][0]):
                if (one := _found(text, plain, found)) is not None:
                    yield one
                    any_found, taken = True, max(taken, last - number)
            number += taken
        if not any_found:
            for offset, length, name in self._insides(plain.text[start:end]):
                begin = start + offset
                if (one := _found(text, plain, (begin, begin + length, name))) is not None:
                    yield one

    def _at(
        self, text: str, words: Sequence[tuple[int, int]], number: int, begin: int
    ) -> list[tuple[tuple[int, int, _Name], int]]:
        """The names that begin in a word, each with the number of the word after it."""
        end = words[number][1]
        found: list[tuple[tuple[int, int, _Name], int]] = []
        for name in self._names.get(text[begin:end], ()):
            if (until := _goes_on(name, text, words, number)) is not None:
                stop, after = until
                return [((begin, stop, name), after)]
        offset = begin
        for length, name in self._beginnings(text[begin:end]):
            found.append(((offset, offset + length, name), number + 1))
            offset += length
        return found

    def _beginning_names(self, word: str) -> tuple[tuple[int, _Name], ...]:
        """Names of one word with which a word begins, one after the other: Müllers, ErikaMüller."""
        for length in self._lengths:
            for name in self._names.get(word[:length], ()) if length <= len(word) else ():
                rest = word[length:]
                ends = rest in (_POSSESSIVE if name.common else _ENDINGS)
                if len(name.words) == 1 and (ends or (length >= LONG and not name.common)):
                    more = self._beginning_names(rest) if rest and rest not in _ENDINGS else ()
                    return ((length, name), *more)
        return ()

    def _names_inside(self, word: str) -> tuple[tuple[int, int, _Name], ...]:
        """A name of one word within a word: where it begins there, and how long it is."""
        for offset in range(1, min(len(word), _LONGEST) - 1):
            joined = offset <= _LONGEST_JOINED and word[:offset] in _JOINED
            for length in self._lengths:
                if offset + length > len(word) or not (joined or length >= WITHIN):
                    continue
                for name in self._names.get(word[offset : offset + length], ()):
                    single = len(name.words) == 1 and not name.common
                    if single and (length >= LONG or word[offset + length :] in _ENDINGS):
                        return ((offset, length, name),)
        return ()


def _parted(plain: Folded, start: int, end: int, capitals: Sequence[int]) -> list[tuple[int, int]]:
    """The parts of a word that is written with capitals within; none of another."""
    first, last = plain.origin(start, start + 1)[0], plain.origin(end - 1, end)[1]
    within = {*capitals[bisect_right(capitals, first) : bisect_left(capitals, last)]}
    if not within:
        return []
    edges = [start]
    for at in range(start + 1, end):
        begin = plain.origin(at, at + 1)[0]
        if begin in within and plain.origin(at - 1, at)[0] != begin:
            edges.append(at)
    return [*zip(edges, [*edges[1:], end], strict=True)]


def _found(text: str, plain: Folded, found: tuple[int, int, _Name]) -> Found | None:
    """What is hidden for a name there; nothing where it is a word and no name."""
    start, end, name = found
    first, until = plain.origin(start, end)
    if name.common and not is_name_here(name.words[0], text, first):
        return None
    return Found(first, until, name.label, name.key, name.part, name.usual)


def apart(spans: list[Found]) -> list[Found]:
    """Those that do not overlap, in their order; the longest of others."""
    taken: list[Found] = []
    busy = bytearray(max((one.end for one in spans), default=0))
    for one in sorted(spans, key=lambda one: (one.start - one.end, one.start)):
        if not any(busy[one.start : one.end]):
            busy[one.start : one.end] = b"\1" * (one.end - one.start)
            taken.append(one)
    return sorted(taken, key=lambda one: one.start)


def _goes_on(
    name: _Name, text: str, words: Sequence[tuple[int, int]], number: int
) -> tuple[int, int] | None:
    """Where a name of several words ends, and the word after it; its last word may be inflected."""
    place = words[number][1]
    for offset, wanted in enumerate(name.words[1:], 1):
        if number + offset >= len(words):
            return None
        start, end = words[number + offset]
        if text[start - 1] == "\\" and text[start:end] != wanted:
            start += 1
        if _BETWEEN.fullmatch(text, place, start) is None:
            return None
        word, last = text[start:end], offset == len(name.words) - 1
        rest = word[len(wanted) :]
        if not word.startswith(wanted) or (rest and not last):
            return None
        if rest not in _ENDINGS and len(wanted) < LONG:
            return None
        place = start + len(wanted)
    return place, number + len(name.words)


def _names(known: Known, *, whole: bool = False) -> Iterator[_Name]:
    """What somebody is called: whole, and in parts unless only ``whole`` names are wanted."""
    key = " ".join(filter(None, (folded(known.first), folded(known.last))))
    full = f"{known.first} {known.last}".strip()

    def of(text: str, part: str) -> Iterator[_Name]:
        for words in _spelled(text):
            yield _Name(words, known.label, key, part, text if part else full)

    if known.company:
        yield from of(known.last, "")
        if whole:
            return
        words = _WORD.findall(folded(known.last))
        legal, general = set(_LEGAL.split()), set(_GENERAL.split())
        core = [one for one in words if one not in legal]
        written = {folded(one): one for one in re.findall(r"[^\W_]+", known.last)}
        if core and core != words:
            short = " ".join(written.get(one, one) for one in core)
            yield _Name(tuple(core), known.label, key, SHORT, short)
        for one in core:
            if len(one) >= 4 and one not in general and len(core) > 1:
                yield from of(written.get(one, one), f"{SHORT} {core.index(one) + 1}")
        return
    if known.first:
        yield from of(full, "")
        for words in _spelled(f"{known.last} {known.first}"):
            yield _Name(words, known.label, key, "", full)
        if whole:
            return
        for number, one in enumerate(_parts(known.first), 1):
            yield from of(one, FIRST if number == 1 else f"{FIRST} {number}")
    for number, one in enumerate(known.earlier, 11):
        yield from of(one, f"{LAST} {number}")
    part = LAST if known.first else ""
    yield from of(known.last, part)
    parts = [one for one in _parts(known.last) if folded(one) not in _PARTICLES]
    if len(_parts(known.last)) > 1:
        for number, one in enumerate(parts, 1):
            yield from of(one, LAST if len(parts) == 1 else f"{LAST} {number}")


@lru_cache(100_000)
def distinct_words(known: Known) -> frozenset[str]:
    """The words of a last name or a firm's that name it alone, folded."""
    if known.company:
        passed = {*_LEGAL.split(), *_GENERAL.split()}
        core = [one for one in _WORD.findall(folded(known.last)) if one not in passed]
        return frozenset(one for one in core if len(one) >= 4 and one.isalpha())
    parts = [part for name in (known.last, *known.earlier) for part in _parts(name)]
    named = [part for part in parts if folded(part) not in _PARTICLES]
    return frozenset(words[0] for part in named for words in _spelled(part))


_LEGAL = """
gmbh mbh ag kg kgaa ohg ug gbr se eg ek ev e k v co partg partgmbb ltd inc
"""


def _parts(name: str) -> list[str]:
    return [one for one in re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)?", name) if len(one) > 1]


def _spelled(name: str) -> Iterator[tuple[str, ...]]:
    """The words of a name as they are compared; umlauts also without their e."""
    words = tuple(_WORD.findall(folded(name)))
    if words:
        yield words
    plain = name.translate(str.maketrans("äöüÄÖÜ", "aouAOU"))
    if plain != name and (other := tuple(_WORD.findall(folded(plain)))):
        yield other


_LOOSE = r"(?:[\s./_:-]|\\+[nrt/]){0,4}"
_BREAK = r"(?:\s|\\+[nrt]|&nbsp;)"
_STREET = lazy_pattern(
    r"\b[A-ZÄÖÜ][\wäöüß.-]*(?:[sS]tra(?:ß|ss)e|[sS]tr\.|[wW]eg|[pP]latz|[aA]llee|[gG]asse|[rR]ing"
    rf"|[dD]amm|[uU]fer)(?:{_BREAK}|\s)+\d{{1,4}}(?:\s?[a-z](?![\w]))?(?!\d)"
    rf"|\b(?:[A-ZÄÖÜ][\wäöüß.-]*\s){{1,2}}(?:Stra(?:ß|ss)e|Str\.|Weg|Platz|Allee|Gasse|Ring|Damm|Ufer)"
    r"\s+\d{1,4}(?:\s?[a-z](?![\w]))?(?!\d)"
)
_TOWN = lazy_pattern(
    rf"(?<![\d.,])(?:D[- ])?\d{{5}}{_BREAK}+(?!Euro|EUR|USD|Eur)[A-ZÄÖÜ][a-zäöüß]+"
    r"(?:[- ][A-ZÄÖÜ][a-zäöüß]+)*"
)
_IBAN = lazy_pattern(r"\b[A-Z]{2}\d{2}(?:[ -]?[A-Z\d]{4}){3,7}(?:[ -]?[A-Z\d]{1,3})?\b", re.I)
_PHONE = lazy_pattern(
    r"(?<![\w.,/-])(?:\+\d{2}|00[1-9]\d|\(?0[1-9]\d{1,4}\)?)"
    r"(?:[ \xa0/()-]{0,3}\d){5,13}(?![\w/]|[.,]\d)"
)
_MAIL = lazy_pattern(r"[\w.+%-]{1,64}@[\w-]+(?:\.[\w-]+)+")
_PLATE = lazy_pattern(r"\b[A-ZÄÖÜ]{1,3}[-–:][ ]?[A-Z]{1,2}[ -]?\d{1,4}[EH]?\b")
_DAY = lazy_pattern(
    r"(?<!\d)(?:(\d{4})-(\d{1,2})-(\d{1,2})"
    r"|(\d{1,2})\.\s?(?:(\d{1,2})\.|(Jan|Feb|M(?:ä|ae)r|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)"
    r"[a-zä]*\.?)\s?(\d{4}|\d{2}))(?!\d)",
    re.I,
)
_BORN = lazy_pattern(r"(?:\bgeb(?:\.|oren)?(?:\s+am)?|\bGeburts(?:datum|tag)\W{0,12}|\*)\s*$", re.I)


def _looking_like(text: str, days: dict[datetime.date, str]) -> Iterator[Found]:
    """Numbers and addresses by how they look, whoever's they are."""
    for label, pattern in (
        ("IBAN", _IBAN),
        ("Telefon", _PHONE),
        ("E-Mail", _MAIL),
        ("Kennzeichen", _PLATE),
        ("Anschrift", _STREET),
        ("Ort", _TOWN),
    ):
        for one in pattern.finditer(text):
            if label != "IBAN" or sum(map(str.isdigit, one[0])) >= 12:
                yield Found(one.start(), one.end(), label, _bare(one[0]))
    for one in _DAY.finditer(text):
        if (day := _day(one)) and (
            day in days or _BORN.search(text[max(0, one.start() - 30) : one.start()])
        ):
            yield Found(one.start(), one.end(), "Geburtstag", day.isoformat())


def _day(found: re.Match[str]) -> datetime.date | None:
    if found[1]:
        numbers = [int(found[1]), int(found[2]), int(found[3])]
    else:
        months = _MONTHS.split()
        month = found[5] or 1 + next(
            n for n, name in enumerate(months) if name.startswith(folded(found[6])[:3])
        )
        year = int(found[7])
        year += (2000 if year < 40 else 1900) if year < 100 else 0
        numbers = [year, int(month), int(found[4])]
    try:
        return datetime.date(*numbers)
    except ValueError:
        return None


def _bare(value: str) -> str:
    """A number without what only separates its parts."""
    return "".join(_WORD.findall(folded(value)))
