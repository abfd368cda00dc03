"""A row of a gallery: one file, or the heading of a section. Free of Qt."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from studio.domain.agents import Origin
from studio.ui.theme import joined
from studio.ui.translation import tr


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

    @property
    def spoken(self) -> str:
        states = (
            "" if self.trusted else tr("from a folder that you do not trust"),
            tr("not saved") if self.unsaved else "",
        )
        return joined((self.name, self.problem or self.about, *states))
