"""Spelling: finds the words of a message that no dictionary of the person knows."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from studio.domain.errors import StorageError
from studio.files.atomic_write import write_atomically

from .enchant import Enchant

OWN_WORDS = "dictionary.txt"
"""The file of the person's own words, beside the settings."""
AUTOMATIC, OFF = "automatic", "off"
"""What the setting ``spelling`` may say beside one language."""
LONGEST = 20_000
"""Characters of a message that are looked at: what is longer was hardly typed."""
LONGEST_WORD = 60
MOST = 6
"""Suggestions that are shown."""
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
_CODE = re.compile(r"(?<!`)(`++).+?(?<!`)\1(?!`)")
_TOKEN = re.compile(r"\S+")
_NO_PROSE = re.compile(r"[/\\@_=<>{}#$|~^*`\d]|\w[.:]\w|--")
"""What stands in paths, addresses, names of code and the like, and not in a word."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_ALPHABETS = {
    "CYRILLIC": ("ru", "uk", "be", "bg", "mk", "sr", "kk"),
    "GREEK": ("el",),
}
"""The languages that are not written in Latin letters."""


class Word(NamedTuple):
    """A word and its place in a text, in UTF-16 units as Qt counts them."""

    start: int
    length: int
    text: str


def words_in(text: str) -> Iterator[Word]:
    """The words of a message's prose: without code, paths, addresses, mentions and commands."""
    at, fence = 0, ""
    wide = max(text, default="") > "\uffff"
    for line in text[:LONGEST].split("\n"):
        found = _FENCE.match(line)
        if found and (not fence or found[1].startswith(fence)):
            fence = "" if fence else found[1]
        elif not fence:
            prose = _CODE.sub(lambda code: "`" * len(code[0]), line)
            for token in _TOKEN.finditer(prose):
                if not _NO_PROSE.search(token[0].strip("*_.,;:")):
                    for word in _WORD.finditer(prose, token.start(), token.end()):
                        if _is_plain(word[0]):
                            start = at + word.start()
                            if wide:
                                start = _units(text[:start])
                            yield Word(start, _units(word[0]) if wide else len(word[0]), word[0])
        at += len(line) + 1


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _is_plain(word: str) -> bool:
    """Whether it is written as a word is: no abbreviation and no name in camel case."""
    if not 1 < len(word) <= LONGEST_WORD:
        return False
    return word[1:] == word[1:].lower()


def pick_languages(setting: str, wanted: Sequence[str], there: Sequence[str]) -> list[str]:
    """The dictionaries to ask: the one of the setting, or those of the locales ``wanted``."""
    if setting == OFF:
        return []
    if setting != AUTOMATIC:
        return [setting] if setting in there else []
    found: list[str] = []
    for one in wanted:
        language = one.partition("_")[0]
        same = [name for name in there if name.partition("_")[0] == language]
        found += [one] if one in there else same[:1]
    return list(dict.fromkeys(found))


def _plain(word: str) -> str:
    """A word as dictionaries write it."""
    return word.replace("’", "'")


def _alphabet(word: str) -> str:
    return unicodedata.name(word[0], "").partition(" ")[0]


def _is_written_in(language: str, alphabet: str) -> bool:
    own = language.partition("_")[0]
    other = next((name for name, some in _ALPHABETS.items() if own in some), "LATIN")
    return alphabet == other


class Spelling:
    """The system's dictionaries and the person's own words, one a line in ``file``.

    Everything here blocks: call it in a thread. The library is loaded with the first call.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._enchant: Enchant | None = None
        self._absent = False
        self._own: frozenset[str] = frozenset()
        self._own_stamp: tuple[int, int] | None = None
        self._known: dict[tuple[str, str], bool] = {}
        """Whether a dictionary has a word, by language and word."""

    def languages(self) -> list[str]:
        """Those that there are dictionaries for."""
        with self._lock:
            return list(enchant.languages) if (enchant := self._library()) else []

    def misspelt(self, text: str, setting: str, wanted: Sequence[str]) -> list[Word]:
        """The words of a text that none of the dictionaries has; see ``pick_languages``."""
        with self._lock:
            enchant = self._library()
            picked = pick_languages(setting, wanted, enchant.languages) if enchant else []
            if enchant is None or not picked:
                return []
            with suppress(OSError):  # else they would be told of it at every pause
                self._read_own()
            return [one for one in words_in(text) if not self._knows(enchant, picked, one.text)]

    def suggestions(self, word: str, setting: str, wanted: Sequence[str]) -> list[str]:
        """Words that may be meant, of each dictionary in turn."""
        with self._lock:
            enchant = self._library()
            if enchant is None:
                return []
            picked = pick_languages(setting, wanted, enchant.languages)
            lists = [enchant.suggestions(one, word) for one in picked]
        ranks = range(max(map(len, lists), default=0))
        mixed = [found[rank] for rank in ranks for found in lists if rank < len(found)]
        return list(dict.fromkeys(mixed))[:MOST]

    def add(self, word: str) -> None:
        """Add to the person's own words; raises StorageError."""
        with self._lock:
            try:
                self._read_own()
                word = _plain(word)
                text = "".join(f"{one}\n" for one in sorted({*self._own, word}))
                self._file.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(self._file, text.encode())
            except OSError as error:
                why = error.strerror or error
                raise StorageError(f"{self._file} cannot be written ({why}).") from error

    def _library(self) -> Enchant | None:
        if self._enchant is None and not self._absent:
            try:
                self._enchant = Enchant()
            except OSError:
                self._absent = True
        return self._enchant

    def _knows(self, enchant: Enchant, picked: Sequence[str], word: str) -> bool:
        word = _plain(word)
        if word in self._own or word.lower() in self._own:
            return True
        alphabet = _alphabet(word)
        asked = [one for one in picked if _is_written_in(one, alphabet)]
        return not asked or any(self._has(enchant, one, word) for one in asked)

    def _has(self, enchant: Enchant, language: str, word: str) -> bool:
        key = (language, word)
        if key not in self._known:
            if len(self._known) > LONGEST:
                self._known.clear()
            self._known[key] = enchant.knows(language, word)
        return self._known[key]

    def _read_own(self) -> None:
        """Read the person's words where the file is another than last time; raises OSError."""
        try:
            status = self._file.stat()
        except FileNotFoundError:
            self._own, self._own_stamp = frozenset(), None
            return
        stamp = (status.st_mtime_ns, status.st_size)
        if stamp != self._own_stamp:
            words = self._file.read_text("utf-8", "replace").split("\n")
            self._own = frozenset(one.strip() for one in words if one.strip())
            self._own_stamp = stamp
