"""Naming: gives a server's tools names that every provider takes (M-9)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable
from pathlib import Path

from studio.domain.server_names import SERVER_SIGN, server_prefix

from .entries import ServerEntry

LONGEST = 64
"""Characters of a name."""
WORDS = 4_096
"""Characters of a description and of a server's instructions."""
_WRONG = re.compile(r"[^A-Za-z0-9_-]")
_CUT = " […]"


def tool_names(
    server: str, tools: Iterable[str], known: Collection[str] = (), taken: Collection[str] = ()
) -> dict[str, str]:
    """Names that a model uses, in the order of ``tools``, each with the server's own name.

    ``known`` are those that other tools of this server have, ``taken`` all that are in use. Where
    a plain name is too long or in use, six digits of a hash of the server's and the tool's name
    end it, so that it is the same each time.
    """
    found: dict[str, str] = {}
    used = {*known, *taken}
    prefix = f"{server_prefix(server, known)}{SERVER_SIGN}"
    for tool in dict.fromkeys(tools):
        plain = name = prefix + _WRONG.sub("_", tool)
        if name in used or len(name) > LONGEST:
            digest = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "replace")).hexdigest()
            for more in range(6, len(digest) + 1):
                name = f"{plain[: LONGEST - 1 - more]}_{digest[:more]}"
                if name not in used:
                    break
        used.add(name)
        found[name] = tool
    return found


def shortened(text: str) -> str:
    """Words of a server, of bounded length."""
    text = text.strip()
    return text if len(text) <= WORDS else text[: WORDS - len(_CUT)] + _CUT


def pool_name(entry: ServerEntry) -> str:
    """What the pool calls a server: those of two folders may have one name."""
    if not entry.place:
        return entry.name
    whose = f"{entry.place}\0{entry.chat}" if entry.chat else entry.place
    mark = hashlib.sha256(whose.encode("utf-8", "replace")).hexdigest()[:6]
    return f"{entry.name} ({Path(entry.place).name} {mark})"
