"""Stories: reads what the Akten of the example are made of, one file for each Sachgebiet.

A file has a head with its Fristen and times, and documents, each under a line
``=== Name | Ordner | Art | Tage her``. Words in ``{braces}`` are filled in for each Akte.
"""

from __future__ import annotations

import re
from pathlib import Path

from studio.packs import dataclass

from .._patterns import lazy_pattern

FOLDER = Path(__file__).parents[2] / "data" / "beispiel"
_DOCUMENT = lazy_pattern(r"^=== (.+?) \| (.+?) \| (.+?) \| (\d+)$", re.MULTILINE)
_SLOT = lazy_pattern(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class StoryFrist:
    """A Frist of a story: its kind, how many days ago it began and with what, and its length."""

    kind: str
    days: int
    event: str
    length: str


@dataclass(frozen=True, slots=True)
class StoryDocument:
    """A document of a story."""

    name: str
    folder: str
    kind: str
    days: int
    text: str


@dataclass(frozen=True, slots=True)
class Story:
    """What one Akte is made of. ``times`` are minutes and what was done in them."""

    area: str
    rubrum: str
    court: str
    least: int
    most: int
    fristen: tuple[StoryFrist, ...]
    times: tuple[tuple[int, str], ...]
    documents: tuple[StoryDocument, ...]


def stories() -> list[Story]:
    """All of them, by the names of their files."""
    return [_story(one.read_text("utf-8")) for one in sorted(FOLDER.glob("*.txt"))]


def filled(text: str, values: dict[str, str]) -> str:
    """The text with its slots filled."""
    return _SLOT.sub(lambda slot: values[slot[1]], text)


def _story(text: str) -> Story:
    head, *rest = _DOCUMENT.split(text)
    fields: dict[str, list[str]] = {}
    for line in head.strip().splitlines():
        name, _, value = line.partition(": ")
        fields.setdefault(name, []).append(value)
    least, most = map(int, fields["Wert"][0].split())
    return Story(
        area=fields["Sachgebiet"][0],
        rubrum=fields["Rubrum"][0],
        court=fields["Gericht"][0],
        least=least,
        most=most,
        fristen=tuple(_frist(one) for one in fields.get("Frist", [])),
        times=tuple(
            (int(minutes), words)
            for minutes, _, words in (one.partition(" | ") for one in fields.get("Zeit", []))
        ),
        documents=tuple(
            StoryDocument(name, folder, kind, int(days), words.strip())
            for name, folder, kind, days, words in (
                rest[at : at + 5] for at in range(0, len(rest), 5)
            )
        ),
    )


def _frist(text: str) -> StoryFrist:
    kind, days, event, *length = text.split(" | ")
    return StoryFrist(kind, int(days), event, length[0] if length else "")
