"""Call identity: makes the name and id of a call ones that may go back to a provider.

A model may write any name, and a server any id. Stored as they came, they would be refused with
every request from then on.
"""

from __future__ import annotations

import re

from studio.domain.jsonvalue import repair_surrogates

_ODD = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64
_LONGEST_ID = 4_000
"""Characters; some servers put a signature of the call into its id."""


def plain_name(name: str) -> str:
    """The name as every API takes it. A tool that is on offer always has such a name."""
    return _ODD.sub("_", name[:_LONGEST_NAME]) or "tool"


def plain_id(identifier: str) -> str:
    """The id, or an empty text for one that is too long or cannot be shown."""
    fits = len(identifier) <= _LONGEST_ID and not re.search(r"\s", identifier)
    identifier = repair_surrogates(identifier) if fits else ""
    return identifier if identifier.isprintable() else ""
