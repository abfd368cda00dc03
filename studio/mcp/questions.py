"""Questions: what an MCP server asks the person during a call (M-19)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

from studio.domain.jsonvalue import JsonObject
from studio.domain.records import dataclass


@dataclass(frozen=True, slots=True)
class ServerQuestion:
    """A form, described by a flat JSON schema, or an address to open."""

    server: str
    message: str
    schema: JsonObject | None = None
    url: str = ""


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """``cancel``: the person put the question away without an answer."""

    action: Literal["accept", "decline", "cancel"]
    content: JsonObject | None = None


Ask: TypeAlias = Callable[[ServerQuestion], Awaitable[ServerAnswer]]
