"""A row of a gallery: one file, or the heading of a section. Free of Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from studio.domain.agents import Origin
from studio.ui.formatting import short_path
from studio.ui.theme import joined
from studio.ui.translation import tr, tr_later

SECTIONS: tuple[tuple[Origin, str], ...] = (
    ("folder", tr_later("In {folder}")),
    ("own", tr_later("Your library")),
    ("pack", tr_later("From packs")),
    ("shipped", tr_later("Come with the studio")),
)


@dataclass(frozen=True, slots=True)
class FileRow:
    """One file. ``problem`` says why it is not used; empty for one that can be.

    A row without a ``path`` heads a section.
    """

    path: Path | None
    name: str
    about: str = ""
    icon: str = "sparkle"
    hue: str = "slate"
    origin: Origin = "own"
    trusted: bool = True
    problem: str = ""
    unsaved: bool = False
    tag: str = ""
    """A word about what kind of file it is."""

    @property
    def spoken(self) -> str:
        states = (
            "" if self.trusted else tr("from a folder that you do not trust"),
            tr("not saved") if self.unsaved else "",
        )
        return joined((self.name, self.tag, self.problem or self.about, *states))


def in_sections(rows: Sequence[FileRow], folder: Path | None) -> list[FileRow]:
    """A heading for each place that has files, and its files by name."""
    found: list[FileRow] = []
    for key, words in SECTIONS:
        if here := [row for row in rows if row.origin == key]:
            name = short_path(str(folder)) if folder else ""
            found.append(FileRow(None, tr(words).format(folder=name)))
            found += sorted(here, key=lambda row: row.name.casefold())
    return found
