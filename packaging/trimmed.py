"""Cuts packages down to the languages and countries that the program asks them for."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

PACKAGES = ("holidays", "snowballstemmer")
"""What is cut down: their modules are not the installed ones."""
NAMES = Path("holidays", "locale", "de", "LC_MESSAGES", "DE.mo")
"""The German names of Germany's holidays; without them nothing is found in German."""
STEMS = """\
from snowballstemmer.english_stemmer import EnglishStemmer
from snowballstemmer.german_stemmer import GermanStemmer

_KNOWN = {"english": EnglishStemmer, "german": GermanStemmer}


def stemmer(language):
    return _KNOWN[language]()
"""


def trim(place: Path) -> Path:
    """Make ``place`` a folder with these packages."""
    shutil.rmtree(place, ignore_errors=True)
    only_germany(_installed("holidays"), place / "holidays")
    only_german_and_english(_installed("snowballstemmer"), place / "snowballstemmer")
    return place


def only_germany(whole: Path, part: Path) -> None:
    """The package ``holidays`` as far as the pack Kanzlei uses it."""
    leave = shutil.ignore_patterns("locale", "countries", "financial", "__pycache__")
    shutil.copytree(whole, part, ignore=leave)
    (part / "countries").mkdir()
    shutil.copy(whole / "countries" / "germany.py", part / "countries")
    (part / "countries" / "__init__.py").write_text(
        "from holidays.countries.germany import DE, DEU, Germany\n"
    )
    (part / "financial").mkdir()
    (part / "financial" / "__init__.py").write_text("")
    (part.parent / NAMES).parent.mkdir(parents=True)
    shutil.copy(whole.parent / NAMES, part.parent / NAMES)


def only_german_and_english(whole: Path, part: Path) -> None:
    """The package ``snowballstemmer`` as far as laws and notes are searched with it."""
    part.mkdir(parents=True)
    for name in ("among", "basestemmer", "english_stemmer", "german_stemmer"):
        shutil.copy(whole / f"{name}.py", part)
    (part / "__init__.py").write_text(STEMS)


def _installed(name: str) -> Path:
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        raise SystemExit(f"{name} is not installed")
    return Path(found.origin).parent
