"""Sources of packs: addresses that a pack resolves, such as ``notes:topic/rivers`` (KZ-8).

An address begins with the pack's id and a colon. The window and the terminal show the title in its
place, and one that leads nowhere is struck through.
"""

from __future__ import annotations

from studio.domain.records import dataclass


@dataclass(frozen=True, slots=True)
class Mark:
    """A word of a thing's state, such as who may see it.

    ``kind`` is neutral, accent, ok, warn or err; ``icon`` is of lucide.dev; ``about`` says more.
    """

    text: str
    kind: str = "neutral"
    icon: str = ""
    about: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """What an address leads to: a title, and the page of the pack that shows it.

    ``page`` is the key of a page, and ``target`` says what on it is wanted; without a page there is
    nothing to open. ``marks`` stand below the message in a chat about it.
    """

    title: str
    page: str = ""
    target: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()
