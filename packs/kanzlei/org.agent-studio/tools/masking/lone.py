"""Lone: finds somebody who takes part in an Akte by their last name alone, where it is a name
(KZ-40).

“Haftet Müller?” names somebody, “der Müller” and “der Wolf” do not. A last name that is an ordinary
word, or a word of the laws, counts beside a title alone: Frau Wolf.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from .._patterns import lazy_pattern
from .common import NOUNS, PARTICLES, is_determined
from .finding import Found, distinct_words
from .folding import Folded, folded
from .known import Known

_LEAST = 3
"""Letters of a name that is found alone."""
_WORD = lazy_pattern(r"[^\W\d_]+")
_ENDINGS = ("", "s", "sche", "schen", "scher", "sches", "schem")
_TITLE = lazy_pattern(
    r"(?:\b(?:Herrn?|Frau|Fr\.|Hr\.|Dr\.|Prof\.|Fam(?:\.|ilie)|Eheleuten?|Mandant(?:in|en)?|"
    r"Kläger(?:in|s)?|Beklagte[rn]?|Zeug(?:en?|in)|Gegner(?:in|s)?|RA(?:in)?|"
    r"Rechtsanw(?:alt|alts|ältin))|\./\.)\s+$"
)
_PLACE = lazy_pattern(r"\b(?:[A-Z][A-Za-z]{0,4}G|VGH|\w+gericht|in|bei|nach|aus|Raum|Stadt)\s+$")
"""Before the name of a town: LG Rosenheim."""
_TRADE = lazy_pattern(
    r".+(?:ei|ung|ungen|schaft|heit|keit|buero|bueros|haus|werk|werke|bau|bauten|technik|praxis|dienst"
    r"|dienste|handel|markt|center|zentrum|betrieb|betriebe|salon|studio|theke|schule|klinik|kliniken"
    r"|heim|hof|laden|stube|makler|makelei|planer|meister|macher|bank|kasse|fonds|reisen|tours|garten"
    r"|pflege|therapie|arzt|aerzte|anwaelte|berater|system|systeme|produkte|moebel|fahrzeuge|ware|waren"
    r"|export|import|design|druck|medien|chemie|pharma|logistik|energien|anlagen|maschinen|geraete)"
)
"""Words of firms' names that say what they do: Reisebüro Müller, Bäckerei Huber."""
_ANY = lazy_pattern(r"\b(?:k?ein|jed|welch|manch|solch|all|viel)(?:e[rsmn]?)?\s+$", re.I)
"""Before a word that is no name: ein Reisebüro."""
_AGAINST = lazy_pattern(r"\s*\./\.")
_BEFORE = 60
_ROLES = """
bauherr beamter besitzer besteller bote buerge buerger eigentuemer erblasser fahrer gast geber
halter handwerker haendler jaeger kaeufer kunde laie makler mieter nehmer notar paechter
pfaender pfleger schuldner spieler traeger verkaeufer vermieter vormund werber zahler
"""
_ORDINARY = NOUNS | PARTICLES | frozenset(_ROLES.split())


class LoneNames:
    """Finds them. ``ordinary`` says of a word in small letters whether it is one of the laws."""

    def __init__(self, known: Iterable[Known], ordinary: Callable[[str], bool]) -> None:
        self._ordinary = ordinary
        self._firms: set[str] = set()
        self._people: set[str] = set()
        for one in known:
            words = {word for word in distinct_words(one) if len(word) >= _LEAST}
            if one.company:
                self._firms.update(word for word in words if not _TRADE.fullmatch(word))
            else:
                self._people |= words

    def find(self, text: str) -> list[Found]:
        """Those in a text, in its order."""
        plain, found = Folded(text), list[Found]()
        for word in _WORD.finditer(plain.text):
            name = self._name(word[0])
            if not name:
                continue
            start, end = plain.origin(*word.span())
            if text[start].isupper() and self._is_name(name, text, start, end):
                found.append(Found(start, end, "", name))
        return found

    def _name(self, word: str) -> str:
        """The last name of which a word is a form; empty for another word."""
        for ending in _ENDINGS:
            name = word.removesuffix(ending)
            if word.endswith(ending) and (name in self._people or name in self._firms):
                return name
        return ""

    def _is_name(self, name: str, text: str, start: int, end: int) -> bool:
        before = text[max(0, start - _BEFORE) : start]
        if _TITLE.search(before) or _AGAINST.match(text, end):
            return True
        word = text[start:end].lower()
        if name in _ORDINARY or folded(word) in _ORDINARY or self._ordinary(word):
            return False
        if name in self._firms and not (_PLACE.search(before) or _ANY.search(before)):
            return True
        return name in self._people and not is_determined(before)
