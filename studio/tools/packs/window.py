"""What a pack shows in the window: pages by widgets, and lines of the palette (KZ-9).

They stand in the pack's manifest. No word here is a widget's: a page's module is imported when the
page is first opened.
"""

from __future__ import annotations

import re

from studio.domain.records import dataclass

_KEY = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_SOURCE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class PageEntry:
    """One page. ``source`` is its module and class in the pack: ``pages.calendar:CalendarPage``.

    ``key`` tells it apart from the pack's other pages, ``icon`` is a name of lucide.dev.
    """

    key: str
    title: str
    source: str
    icon: str = "list"

    def __post_init__(self) -> None:
        if not _KEY.fullmatch(self.key):
            raise ValueError(f"The key of a page is of a-z, 0-9 and -, not “{self.key}”.")
        if not _SOURCE.fullmatch(self.source):
            raise ValueError(f"“{self.source}” is no “pages.module:Class”.")


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    """One line of the palette: it opens a page of the pack, with what on it is wanted.

    ``page`` is the key of a ``PageEntry``, or the name of a declared page.
    """

    title: str
    page: str
    target: tuple[str, ...] = ()
    icon: str = "layers"
