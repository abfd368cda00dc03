"""Names: folds them, drops legal forms and titles, and says how they sound in German (KZ-15).

The sound is that of the Kölner Phonetik (H. J. Postel, 1969).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from .._patterns import lazy_pattern

_FOLDED = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "ø": "oe", "ł": "l", "ı": "i"}
)
_WORD = lazy_pattern(r"[a-z0-9]+")
_LEGAL = lazy_pattern(
    r"(?<![a-z])(?:"
    r"gmbh\s*(?:&|und|u\.)\s*co\.?\s*kgaa|gmbh\s*(?:&|und|u\.)\s*co\.?\s*kg|gmbh\s*(?:&|und)\s*co\.?\s*ohg"
    r"|ag\s*(?:&|und)\s*co\.?\s*kg(?:aa)?|ug\s*\(?\s*haftungsbeschraenkt\s*\)?"
    r"|gesellschaft\s+mit\s+beschraenkter\s+haftung|aktiengesellschaft|kommanditgesellschaft"
    r"|offene\s+handelsgesellschaft|gesellschaft\s+buergerlichen\s+rechts|eingetragener\s+verein"
    r"|partg\s*mbb|partgmbb|partg|ggmbh|gmbh|mbh|kgaa|kg|ohg|gbr|ug|ag|se|eg|e\.\s*k\.?|e\.\s*v\.?"
    r"|e\.\s*g\.?|ltd\.?|limited|inc\.?|llc|corp\.?|plc|s\.?\s*a\.?\s*r\.?\s*l\.?|sarl|b\.\s*v\.?|bv|n\.\s*v\."
    r"|s\.\s*p\.\s*a\.?|spa|s\.\s*a\.|i\.\s*l\.|i\.\s*g\.|&\s*co\.?|und\s+co\.?"
    r")(?![a-z])"
)
_TITLES = frozenset(
    _WORD.findall(
        "herr frau fraeulein familie firma fa dr prof professor doktor dipl ing jur med phil rer "
        "nat h c mag ra rain rechtsanwalt rechtsanwaeltin notar notarin steuerberater "
        "steuerberaterin"
    )
)
_NOBLE = frozenset(
    _WORD.findall(
        "von vom van de der den zu zum zur und of la le di da dos del el al freiherr graf"
    )
)
"""Parts of names that are often left out."""
_GENERAL = frozenset(
    _WORD.findall(
        "bau holding verwaltung verwaltungs beteiligung beteiligungs immobilien handel handels "
        "vertrieb vertriebs service services gruppe group international deutschland germany "
        "gesellschaft betriebs betrieb technik consulting beratung management invest investment "
        "grundstuecks dienstleistung dienstleistungen versicherung versicherungs bank und the fuer "
        "mit sued nord ost west"
    )
)
"""Words that many firms have, and that tell none from another by themselves."""


def fold(text: str) -> str:
    """A name in small letters without accents and signs, with ``ae`` for ``ä``."""
    text = text.casefold().translate(_FOLDED)
    plain = unicodedata.normalize("NFKD", text)
    return "".join(one for one in plain if not unicodedata.combining(one))


def person_words(text: str) -> list[str]:
    """The words of a person's name, without titles and what is often left out."""
    words = _WORD.findall(fold(text))
    kept = [one for one in words if one not in _TITLES and one not in _NOBLE]
    return kept or words


def has_legal_form(text: str) -> bool:
    """Whether a name says that it is a firm's."""
    return _LEGAL.search(fold(text)) is not None


def firm_words(text: str) -> list[str]:
    """The words of a firm's name without its legal form."""
    plain = fold(text)
    words = _WORD.findall(_LEGAL.sub(" ", plain)) or _WORD.findall(plain)
    return [one for one in words if one not in ("firma", "fa", "und", "the")] or words


def telling(words: Iterable[str]) -> list[str]:
    """The words of a firm that tell it from others; all of them if none does."""
    every = list(words)
    return [one for one in every if one not in _GENERAL and len(one) > 1] or every


@lru_cache(maxsize=50_000)
def sound(word: str) -> str:
    """How a folded word sounds in German: the digits of the Kölner Phonetik."""
    letters = re.sub(r"[^a-z]", "", word)
    codes: list[str] = []
    for place, letter in enumerate(letters):
        before = letters[place - 1] if place else ""
        after = letters[place + 1] if place + 1 < len(letters) else ""
        codes.append(_code(letter, before, after, first=not place))
    joined = re.sub(r"(\d)\1+", r"\1", "".join(codes))
    return joined[:1] + joined[1:].replace("0", "")


def _code(letter: str, before: str, after: str, *, first: bool) -> str:
    if letter in "aeijouy":
        return "0"
    if letter == "b" or (letter == "p" and after != "h"):
        return "1"
    if letter in "dt":
        return "8" if after and after in "csz" else "2"
    if letter in "fvwp":
        return "3"
    if letter in "gkq":
        return "4"
    if letter == "c":
        soft = before and before in "sz"
        hard = "ahkloqrux" if first else "ahkoqux"
        return "4" if not soft and after and after in hard else "8"
    if letter == "x":
        return "8" if before and before in "ckq" else "48"
    if letter == "l":
        return "5"
    if letter in "mn":
        return "6"
    if letter == "r":
        return "7"
    if letter in "sz":
        return "8"
    return ""  # h


def keys_of(words: Iterable[str]) -> set[str]:
    """By what a word is found: as it is, as it sounds, and with one letter left out."""
    found: set[str] = set()
    for word in words:
        found |= {f"w:{word}", *(f"l:{one}" for one in near(word))}
        if len(sounds := sound(word)) > 1:
            found.add(f"k:{sounds}")
    return found


def near(word: str) -> set[str]:
    """A word, and what is left of it without one letter: two that share one differ by one."""
    if len(word) < 4:
        return {word}
    return {word, *(word[:place] + word[place + 1 :] for place in range(len(word)))}
