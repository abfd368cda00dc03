"""Words: stems of German words, and the parts of compounds, for index and query alike (KZ-31)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

from .._patterns import lazy_pattern

SEEN = 3
"""How often a word stands in the texts before compounds are split by it."""
_WORD = lazy_pattern(r"[a-zäöüß]+|\d+[a-z]?\b")
_SHORTEST = 4
_SHORTEST_HALF = 5
"""Of a beginning or end whose other half is not known."""
DOTS = str.maketrans({"ä": "a", "ö": "o", "ü": "u", "ß": "ss"})
"""What stems have for letters of their own."""
_LINKS = ("", "s", "es", "n", "en", "er", "e")
Known = Callable[[str], bool]


def words(text: str) -> list[str]:
    """The words and numbers of a text, in small letters."""
    return _WORD.findall(text.lower())


_PASSED = frozenset(
    words(
        "der die das des dem den ein eine einer eines einem einen und oder in im an am auf zu zum "
        "zur von vom bei beim mit für durch über aus nach wegen als ist sind wird werden kann "
        "nicht es er sie sich so wenn dass bis unter gegen"
    )
)
"""Words of a query that find nothing of their own."""


def vocabulary(texts: Iterable[str]) -> set[str]:
    """The words of which compounds may be made."""
    seen = Counter(word for text in texts for word in words(text))
    return {word for word, times in seen.items() if times >= SEEN and len(word) >= _SHORTEST}


def parts(word: str, known: Known, depth: int = 2) -> list[str]:
    """The parts of a compound, of those that are known; the more even split wins. Twice."""
    best: tuple[str, str] | None = None
    for cut in range(_SHORTEST, len(word) - _SHORTEST + 1):
        head, tail = word[:cut], word[cut:]
        if not known(tail):
            continue
        for link in _LINKS:
            stem = head.removesuffix(link) if link else head
            if (link and stem == head) or len(stem) < _SHORTEST or not known(stem):
                continue
            if best is None or min(map(len, best)) < min(len(stem), len(tail)):
                best = stem, tail
    if best is None:
        return []
    found = list(best)
    if depth > 1:
        found += [one for part in best for one in parts(part, known, depth - 1)]
    return found


def stems(word: str, known: Known) -> tuple[str, ...]:
    """What is indexed of a word: its stem, and those of its parts."""
    return tuple(stem(one) for one in (word, *parts(word, known)))


def indexer(known: Known) -> Callable[[str], str]:
    """Makes of a text what is indexed of it; each word is looked at once."""

    @lru_cache(200_000)
    def of_word(word: str) -> str:
        return " ".join(stems(word, known))

    return lambda text: " ".join(map(of_word, words(text)))


def ends(word: str, known: Known) -> list[str]:
    """The longest end and the longest beginning that are known, of a word that is not split:
    ``vergütung`` of ``werklohnvergütung``. It is asked for, and not indexed."""
    if len(word) < _SHORTEST_HALF + _SHORTEST or parts(word, known):
        return []
    last = len(word) - _SHORTEST + 1
    tails = (word[cut:] for cut in range(_SHORTEST, len(word) - _SHORTEST_HALF + 1))
    heads = (word[:cut].removesuffix(link) for cut in range(last, _SHORTEST, -1) for link in _LINKS)
    found = (
        next((one for one in some if len(one) >= _SHORTEST_HALF and known(one)), "")
        for some in (tails, heads)
    )
    return [one for one in found if one]


def content_words(query: str) -> list[str]:
    """The words of a query that find something of their own; all, if there are no others."""
    said = words(query)
    return [word for word in said if word not in _PASSED] or said


def read_synonyms(text: str) -> dict[str, str]:
    """What the office wrote as ``Rauswurf=Kündigung, Räumung; Knöllchen=Bußgeld``, by the stems of
    its words; what is not so is left out."""
    found: dict[str, str] = {}
    for part in text.split(";"):
        left, _, right = part.partition("=")
        for word in words(left) if right.strip() else ():
            found[stem(word)] = f"{found.get(stem(word), '')} {right}".strip()
    return found


def with_synonyms(query: str, synonyms: Mapping[str, str]) -> str:
    """A query with what the office also means by its words."""
    more = [synonyms[one] for word in words(query) if (one := stem(word)) in synonyms]
    return " ".join([query, *more])


def asked(query: str, known: Known) -> list[str]:
    """The stems that a query asks for, once each."""
    said = [word for word in words(query) if word not in _PASSED]
    whole = [one for word in said for one in stems(word, known)]
    return list(dict.fromkeys(whole + [stem(one) for word in said for one in ends(word, known)]))


@cache
def _stemmer() -> Callable[[str], str]:
    module: Any = import_module("snowballstemmer")  # untyped; it loads the rules of all languages
    return module.stemmer("german").stemWord


def stem(word: str) -> str:
    """The stem by Snowball's rules for German."""
    return _stemmer()(word)
