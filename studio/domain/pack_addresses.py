"""Pack addresses: tells addresses of things of packs, such as ``notes:topic/rivers`` (KZ-8)."""

from __future__ import annotations

import re

LONGEST = 1_000
"""Characters of an address."""
_ADDRESS = re.compile(r"([a-z0-9](?:[a-z0-9.-]{0,62}[a-z0-9])?):(?!//)[^\s<>\"]+")
_LINK = re.compile(r"\]\(<?([^\s()<>]{1,1000})>?\)")
_NOT_OURS = frozenset({"http", "https", "mailto", "file", "data", "javascript", "agent-studio"})


def pack_of(address: str) -> str:
    """The pack that may resolve an address; empty if it is none of a pack."""
    found = _ADDRESS.fullmatch(address) if len(address) <= LONGEST else None
    return found[1] if found and found[1] not in _NOT_OURS else ""


def linked(text: str) -> list[str]:
    """The addresses that may be a pack's among those of the links in markdown."""
    return [one for one in _LINK.findall(text) if pack_of(one)] if "](" in text else []
