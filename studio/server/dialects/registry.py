"""The registry of dialects lists every API that the server speaks."""

from __future__ import annotations

from collections.abc import Mapping

from .base import Dialect
from .chat import ChatDialect
from .messages import MessagesDialect
from .responses import ResponsesDialect

DIALECTS: Mapping[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        ChatDialect(),
        ResponsesDialect(),
        MessagesDialect(),
    )
}
"""By name. The first one answers on paths that belong to none, unless a header says otherwise."""


def dialect_of(path: str, headers: Mapping[str, str]) -> Dialect:
    """Return the dialect of a path, or else the one that the client seems to speak."""
    first, *_ = dialects = list(DIALECTS.values())
    for dialect in dialects:
        if path == dialect.path or path.startswith(f"{dialect.path}/"):
            return dialect
    return next((one for one in dialects if one.header and one.header in headers), first)
