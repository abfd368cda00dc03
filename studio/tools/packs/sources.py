"""Sources of packs: addresses that a pack resolves, such as ``notes:topic/rivers`` (KZ-8).

An address begins with the pack's id and a colon. The window and the terminal show the title in its
place, and one that leads nowhere is struck through.
"""

from __future__ import annotations

import re

from studio.domain.records import dataclass

LONGEST = 1_000
"""Characters of an address."""
_ADDRESS = re.compile(r"([a-z0-9](?:[a-z0-9.-]{0,62}[a-z0-9])?):(?!//)[^\s<>\"]+")
_NOT_OURS = frozenset({"http", "https", "mailto", "file", "data", "javascript", "agent-studio"})


@dataclass(frozen=True, slots=True)
class Source:
    """What an address leads to: a title, and the page of the pack that shows it.

    ``page`` is the key of a page, and ``target`` says what on it is wanted; without a page there is
    nothing to open.
    """

    title: str
    page: str = ""
    target: tuple[str, ...] = ()


def pack_of(address: str) -> str:
    """The pack that may resolve an address; empty if it is none of a pack."""
    found = _ADDRESS.fullmatch(address) if len(address) <= LONGEST else None
    return found[1] if found and found[1] not in _NOT_OURS else ""
