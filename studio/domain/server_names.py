"""Server names: how the names of a server's tools begin, in requests and in rules (M-9, M-13)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

STUDIO = "agent-studio"
"""What the studio calls itself where it is a server."""
ABOVE = "org.agent-studio/above"
"""The key in a call's ``_meta`` by which it is told how many studios are above it (M-25)."""
SERVER_SIGN = "__"
"""Between a server and its tool in the name of a tool."""
LONGEST_PREFIX = 40
_WRONG = re.compile(r"[^A-Za-z0-9_-]")
_MARKED = re.compile(r"_[0-9a-f]{6}$")


def server_prefix(server: str, names: Iterable[str] = ()) -> str:
    """What stands before ``SERVER_SIGN`` in the names of a server's tools; no two servers share it.

    A name that providers would not take, that holds the sign, is long, or looks like one with a
    mark, is cleaned and gets six digits of its hash as a mark. ``names`` are those that the
    server's tools have: one from before there were marks stays without.
    """
    before = _unmarked(server)
    if any(name.startswith(f"{before}{SERVER_SIGN}") for name in names):
        return before
    plain = re.sub("__+", "_", before).strip("_")
    if plain == server and len(plain) <= LONGEST_PREFIX and not _MARKED.search(plain):
        return plain
    mark = hashlib.sha256(server.encode("utf-8", "replace")).hexdigest()[:6]
    return f"{plain[: LONGEST_PREFIX - 7].rstrip('_')}_{mark}"


def is_pattern_of(pattern: str, server: str) -> bool:
    """Whether ``server__*`` or ``server__text*`` is about the tools of this server."""
    prefixes = (server_prefix(server), _unmarked(server))
    return any(pattern.startswith(f"{prefix}{SERVER_SIGN}") for prefix in prefixes)


def _unmarked(server: str) -> str:
    name = _WRONG.sub("_", server)
    return name if name[:1].isascii() and name[:1].isalpha() else f"s{name}"
