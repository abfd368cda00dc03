"""Likeness: how alike two names are, and why (KZ-15)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from studio.packs import dataclass

from .names import firm_words, person_words, sound, telling

SURE, LIKELY, WEAK = 3, 2, 1
_SHORTEST_PART = 5
_SHORT_NAMES = """
    hans johannes, hans johann, fritz friedrich, sepp josef, toni anton, max maximilian,
    alex alexander, alex alexandra, kathrin katharina, kati katharina, bernd bernhard,
    klaus nikolaus, uli ulrich, uli ulrike, steffi stefanie, tom thomas, mike michael,
    michi michael, chris christian, chris christine, bine sabine, lisa elisabeth,
    else elisabeth, grete margarete, heinz heinrich, jochen joachim, andi andreas,
    gabi gabriele, susi susanne, conny cornelia, wolf wolfgang, gerd gerhard
"""
_SHORT = frozenset(frozenset(one.split()) for one in _SHORT_NAMES.split(","))
"""First names that are one."""


@dataclass(frozen=True, slots=True)
class Name:
    """Who is asked about, or known: a person or a firm, with earlier names."""

    kind: str
    name: str
    first: str = ""
    earlier: str = ""
    born: str = ""

    @property
    def is_firm(self) -> bool:
        return self.kind != "Person"

    @property
    def words(self) -> list[str]:
        """The words of the family name and of earlier ones, or of the firm."""
        if self.is_firm:
            return [*firm_words(self.name), *firm_words(self.earlier)]
        return [*person_words(self.name), *person_words(self.earlier)]

    @property
    def names(self) -> list[list[str]]:
        """The words of a firm's name, and of each earlier one."""
        return [firm_words(one) for one in (self.name, *self.earlier.split(",")) if one.strip()]

    @property
    def firsts(self) -> list[str]:
        return person_words(self.first) if self.first.strip() else []


@dataclass(frozen=True, slots=True)
class Likeness:
    """How alike: SURE, LIKELY, WEAK or 0, and why in German."""

    grade: int
    reason: str = ""


NONE = Likeness(0)


def likeness(asked: Name, known: Name) -> Likeness:
    """How alike two names are."""
    if asked.is_firm and known.is_firm:
        return _firms(asked, known)
    if asked.is_firm or known.is_firm:
        return _mixed(asked, known)
    return _persons(asked, known)


def same(one: str, other: str) -> bool:
    """Whether two folded words are one name: written alike, sounding alike, or a letter apart."""
    if one == other:
        return True
    if len(one) > 2 and len(other) > 2 and sound(one) == sound(other) and one[:1] and sound(one):
        return abs(len(one) - len(other)) <= 3
    return min(len(one), len(other)) >= 4 and _apart(one, other) <= (1 if len(one) < 8 else 2)


def _apart(one: str, other: str) -> int:
    """Changed, added, missing or swapped letters, up to 3."""
    if abs(len(one) - len(other)) > 2:
        return 3
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            cost = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, rows[-2][j - 2] + 1)
            row.append(cost)
        rows.append(row)
    return rows[-1][-1]


def _persons(asked: Name, known: Name) -> Likeness:
    family = next(
        (pair for pair in itertools.product(asked.words, known.words) if same(*pair)), None
    )
    # First and family name may be swapped: „Ali Mehmet“ and „Mehmet Ali“.
    swapped = (
        bool(asked.firsts and known.firsts)
        and _some(asked.firsts, known.words)
        and _some(asked.words, known.firsts)
    )
    first = _firsts(asked.firsts, known.firsts)
    born = asked.born == known.born if asked.born and known.born else None
    if born and (first or family or swapped):
        what = "Name" if family else "Vorname"
        return Likeness(SURE, f"gleiches Geburtsdatum und {what}")
    if not (family or swapped):
        return NONE
    how = "gleicher Name" if family and family[0] == family[1] else "ähnlicher Name"
    if swapped and not (family and first):
        return Likeness(LIKELY, "Vor- und Nachname vertauscht")
    if born is False:
        return Likeness(WEAK if first else 0, f"{how}, anderes Geburtsdatum")
    if first is None:
        return Likeness(LIKELY, f"{how}, Vorname fehlt")
    if not first:
        return NONE
    return Likeness(SURE if how == "gleicher Name" else LIKELY, how)


def _firsts(asked: Sequence[str], known: Sequence[str]) -> bool | None:
    """Whether first names agree, also by the first letter or short; None where one is missing."""
    if not asked or not known:
        return None
    for one, other in itertools.product(asked, known):
        if same(one, other) or frozenset((one, other)) in _SHORT:
            return True
        if min(len(one), len(other)) == 1 and one[0] == other[0]:
            return True
    return False


def _some(asked: Sequence[str], known: Sequence[str]) -> bool:
    return any(same(*pair) for pair in itertools.product(asked, known))


def _firms(asked: Name, known: Name) -> Likeness:
    best = NONE
    for one, other in itertools.product(asked.names, known.names):
        if one == other or "".join(one) == "".join(other):
            return Likeness(SURE, "gleicher Name")
        if same("".join(one), "".join(other)):
            best = max(best, Likeness(LIKELY, "ähnlicher Name"), key=lambda found: found.grade)
        short, long = sorted((telling(one), telling(other)), key=len)
        if all(any(_part(word, more) for more in long) for word in short):
            best = max(best, Likeness(LIKELY, "Teil des Namens"), key=lambda found: found.grade)
        elif _initials(one, other) or _initials(other, one):
            best = max(best, Likeness(LIKELY, "Anfangsbuchstaben"), key=lambda found: found.grade)
    return best


def _part(word: str, more: str) -> bool:
    """Whether two words are one, or one begins the other, a compound."""
    short, long = sorted((word, more), key=len)
    return same(word, more) or (len(short) >= _SHORTEST_PART and long.startswith(short))


def _initials(short: Sequence[str], long: Sequence[str]) -> bool:
    """Whether a firm's name is the first letters of another's: BMW."""
    return len(short) == 1 and len(long) >= 3 and short[0] == "".join(one[0] for one in long)


def _mixed(asked: Name, known: Name) -> Likeness:
    """A person whose whole name is in a firm's: Petra Huber and „Huber, Petra e. K.“."""
    person, firm = (known, asked) if asked.is_firm else (asked, known)
    words = firm_words(firm.name)
    if not person.firsts or not _some(person.words, words) or not _some(person.firsts, words):
        return NONE
    return Likeness(LIKELY, "Name in der Firma")
