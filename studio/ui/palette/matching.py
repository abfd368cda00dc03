"""Matching: finds texts by a few of their letters, best first, free of Qt.

All texts of an index stand in one string, a line each, so that one regular expression looks
through thousands of them in a millisecond.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

_MARKS = str.maketrans(dict.fromkeys("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~“”„‘’–…", " "))


SCATTERED = 3
"""So many letters are also found apart from each other; fewer would be in nearly every text."""


class Match(NamedTuple):
    """A text that was found, by its index, and the places of the letters that match."""

    index: int
    letters: frozenset[int]


def folded(text: str) -> str:
    """Small letters without accents, one for each character, in one line."""
    return "".join(map(_fold, text)) if not text.isascii() else text.lower().replace("\n", " ")


def _fold(letter: str) -> str:
    if "가" <= letter <= "힣":
        return letter  # a syllable; its first part would be a letter of many others
    found = unicodedata.normalize("NFD", letter)[0].lower()
    return " " if found in "\n\r\u2028\u2029" else found[0]


class MatchIndex:
    """Texts in the order in which equally good ones are found."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._lines = list(map(folded, texts))
        self._text = "\n".join(self._lines)
        self._starts = list(accumulate((len(line) + 1 for line in self._lines), initial=0))
        words = self._text.translate(_MARKS).split("\n")
        self._initials = ["".join(word[0] for word in line.split()) for line in words]
        self._masks = list(map(_mask, self._lines))

    def find(self, query: str, most: int) -> list[Match]:
        """The best texts: those with a word that begins so, then with words whose first letters
        these are, then with the letters side by side, then with all of them in this order.
        """
        query = " ".join(folded(query).split())
        if not query:
            return [Match(index, frozenset()) for index in range(min(most, len(self._lines)))]
        found: dict[int, Match] = {}
        whole, letters = re.escape(query), [re.escape(c) for c in query if c != " "]
        has_it = query in self._text
        if has_it:
            self._search(re.compile(rf"(?<![^\W_]){whole}"), found, most)
        if len(found) < most and len(letters) > 1:
            self._match_initials(letters, found, most)
        if has_it and len(found) < most:
            self._search(re.compile(whole), found, most)
        if len(found) < most and len(letters) >= SCATTERED:
            self._match_letters(letters, found, most)
        return list(found.values())

    def _search(self, pattern: re.Pattern[str], found: dict[int, Match], most: int) -> None:
        """Add the texts that have what a pattern matches."""
        at = 0
        while len(found) < most and (hit := pattern.search(self._text, at)):
            index = bisect_right(self._starts, hit.start()) - 1
            start = self._starts[index]
            if index not in found:
                letters = frozenset(range(hit.start() - start, hit.end() - start))
                found[index] = Match(index, letters)
                at = self._starts[index + 1]  # the next line
            else:
                at = hit.end()

    def _match_initials(self, letters: list[str], found: dict[int, Match], most: int) -> None:
        wanted = "".join(letters).replace("\\", "")
        between = r"[^\W_]*[\W_]+"
        pattern = re.compile(rf"(?<![^\W_]){between.join(f'({c})' for c in letters)}")
        for index, initials in enumerate(self._initials):
            if wanted in initials and index not in found:
                hit = pattern.search(self._lines[index])
                if hit is not None:
                    found[index] = Match(index, _places(hit))
                if len(found) >= most:
                    return

    def _match_letters(self, letters: list[str], found: dict[int, Match], most: int) -> None:
        # Up to each letter nothing equals it, so that a line is read only once.
        match = re.compile("".join(f"[^{c}]*({c})" for c in letters)).match
        need = _mask("".join(letters).replace("\\", ""))
        lines = self._lines
        for index in [n for n, mask in enumerate(self._masks) if mask & need == need]:
            if index not in found and (hit := match(lines[index])):
                found[index] = Match(index, _places(hit))
                if len(found) >= most:
                    return


def _places(hit: re.Match[str]) -> frozenset[int]:
    return frozenset(hit.start(group) for group in range(1, len(hit.groups()) + 1))


def _mask(text: str) -> int:
    """A bit for each of its letters; different letters may share one."""
    mask = 0
    for letter in set(text):
        mask |= 1 << (ord(letter) & 63)
    return mask
