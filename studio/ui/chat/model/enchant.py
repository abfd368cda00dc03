"""Enchant: the system's spelling dictionaries, through the C library ``libenchant-2``.

Desktops on Linux bring it, and it finds the dictionaries of Hunspell and others. Where it is not
there, as on Windows and mostly on macOS, there is no spelling. The wheel of PyEnchant for
Windows takes 37 MB; elsewhere that package is this module and a slow search for the library.
"""

from __future__ import annotations

import ctypes
import logging
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_int, c_size_t, c_ssize_t, c_void_p
from functools import cached_property

log = logging.getLogger(__name__)

NAMES = (
    "libenchant-2.so.2",
    "/opt/homebrew/lib/libenchant-2.2.dylib",
    "/usr/local/lib/libenchant-2.2.dylib",
)
_SEEN = CFUNCTYPE(None, c_char_p, c_char_p, c_char_p, c_char_p, c_void_p)


class Enchant:
    """The dictionaries by language, as in ``de_DE``. Blocks, and is for one thread at a time."""

    def __init__(self) -> None:
        """Raises OSError where there is no library."""
        self._library = library = _load()
        library.enchant_broker_init.restype = c_void_p
        library.enchant_broker_request_dict.restype = c_void_p
        library.enchant_broker_request_dict.argtypes = (c_void_p, c_char_p)
        library.enchant_broker_list_dicts.argtypes = (c_void_p, _SEEN, c_void_p)
        library.enchant_broker_list_dicts.restype = None
        library.enchant_dict_check.argtypes = (c_void_p, c_char_p, c_ssize_t)
        library.enchant_dict_check.restype = c_int
        library.enchant_dict_suggest.argtypes = (c_void_p, c_char_p, c_ssize_t, POINTER(c_size_t))
        library.enchant_dict_suggest.restype = POINTER(c_char_p)
        library.enchant_dict_free_string_list.argtypes = (c_void_p, POINTER(c_char_p))
        library.enchant_dict_free_string_list.restype = None
        self._broker: int = library.enchant_broker_init()
        self._opened: dict[str, int | None] = {}

    @cached_property
    def languages(self) -> list[str]:
        """Those that there are dictionaries for, in order; also plain ones as in ``de``."""
        found: set[str] = set()

        def seen(language: bytes, *_others: object) -> None:
            found.add(language.decode("utf-8", "replace"))

        self._library.enchant_broker_list_dicts(self._broker, _SEEN(seen), None)
        return sorted(found)

    def knows(self, language: str, word: str) -> bool:
        """Whether a dictionary has the word; True where there is no such dictionary."""
        raw, dictionary = word.encode(), self._dictionary(language)
        if dictionary is None:
            return True
        return self._library.enchant_dict_check(dictionary, raw, len(raw)) <= 0

    def suggestions(self, language: str, word: str) -> list[str]:
        """Words that may be meant, the likeliest first."""
        raw, dictionary = word.encode(), self._dictionary(language)
        if dictionary is None:
            return []
        count = c_size_t()
        found = self._library.enchant_dict_suggest(dictionary, raw, len(raw), byref(count))
        if not found:
            return []
        words = [(found[at] or b"").decode("utf-8", "replace") for at in range(count.value)]
        self._library.enchant_dict_free_string_list(dictionary, found)
        return words

    def _dictionary(self, language: str) -> int | None:
        if language not in self._opened:
            self._opened[language] = self._library.enchant_broker_request_dict(
                self._broker, language.encode()
            )
        return self._opened[language]


def _load() -> ctypes.CDLL:
    for name in NAMES:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            log.debug("no spelling by %s: %s", name, error)
    raise OSError("no library of Enchant")
