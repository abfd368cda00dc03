"""Look-alikes: finds names that a reader may take for each other.

An agent of a stranger's folder must not pass for one that the person knows. So names are
compared by what they look like: without accents, blanks, signs and invisible characters,
in one alphabet. It finds too many rather than too few.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_TABLES = (
    # Cyrillic, small and large
    ("авгеёзікмнопрстухьъѕіјԁһӏԛԝүпэ", "abreesikmhonpctyxbbsijdhlqwyne"),
    ("АВГЕЁЗІКМНОПРСТУХЬЪЅІЈԌԚԜҮЭ", "abreeeikmhonpctyxbbsijgqwye"),
    # Greek, small and large
    ("αβγδεζηικλμνορςστυφχωϲϳ", "abydezniklmvopcotuoxwcj"),
    ("ΑΒΓΔΕΖΗΙΚΛΜΝΟΡΣΤΥΧϹͿ", "abrdezhikamnopetyxcj"),
    # Armenian, Cherokee, Lisu
    ("օոսհցզյւ", "onuhgqjl"),
    ("ᎪᏴᏟᎠᎬᏀᎻᎥᎫᏦᏞᎷᏢᎡᏒᏚᎢᏙᎳᏃᎩᎾ", "abcdeghijklmprrstvwzyo"),
    ("ꓐꓑꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ", "bpdtgkjczfmnlsrvhwxyaeiou"),
    # Latin, digits and signs
    ("ɑɩʋſ013457|@$!", "aiusoleastlasl"),
)
_LOOKS = {
    ord(char): looks for chars, plain in _TABLES for char, looks in zip(chars, plain, strict=True)
} | dict.fromkeys(map(ord, "\u115f\u1160\u3164\uffa0"), "")  # letters that are blank
_LETTER = re.compile(r"(?:LATIN|INDICATOR)\b.* LETTER (?:[A-Z]+ )*?([A-Z])(?: |$)")
"""The plain letter in the name of a character: LATIN LETTER SMALL CAPITAL C."""
_MISTAKABLE = {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"}
"""Alphabets with letters that look like Latin ones."""


@lru_cache(maxsize=1024)
def skeleton(name: str) -> str:
    """What is left of a name for the eye; the same for names that look alike."""
    plain = "".join(map(_look, name)).replace("i", "l")
    return plain.replace("rn", "m").replace("vv", "w")


def mixes_alphabets(name: str) -> bool:
    """Whether Latin letters stand beside those of an alphabet that looks like it."""
    scripts = {unicodedata.name(c, "").partition(" ")[0] for c in name if c.isalpha()}
    return "LATIN" in scripts and bool(scripts & _MISTAKABLE)


def _look(char: str) -> str:
    """What a character looks like: small letters and digits, often one; nothing for a sign."""
    known = char.translate(_LOOKS)
    if known != char:
        return known
    if unicodedata.category(char) == "So":
        return _look_of_part(char)
    return "".join(map(_look_of_part, unicodedata.normalize("NFKD", char).casefold()))


def _look_of_part(char: str) -> str:
    known = char.translate(_LOOKS)
    if known != char or char.isascii():
        return known if known.isalnum() else ""
    category = unicodedata.category(char)
    letter = _LETTER.search(unicodedata.name(char, ""))
    if letter is not None and category[0] in "LNS":
        return letter[1].lower().translate(_LOOKS)
    return char if category[0] in "LN" else ""
