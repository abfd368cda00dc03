"""One request and what became of it, kept for whoever asks."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from .view import SurfaceName
from .wire import Body


@dataclass(frozen=True, slots=True)
class Violation:
    """A request that broke a rule, and the provider's words about it.

    ``rule`` is a kind of rules, ``name`` the one rule of its surface's table.
    """

    rule: str
    message: str
    surface: SurfaceName
    path: str
    name: str = ""


@dataclass(slots=True, eq=False)
class Exchange:
    """One request and its answer. Headers and query are kept without keys.

    ``sent`` counts the bytes of the body written so far. The events tell: the
    answer reached a ``stall`` fault; it was sent to its end or broken off;
    the client closed the connection.
    """

    number: int
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    surface: SurfaceName
    json: Body = field(default_factory=dict[str, object])
    violation: Violation | None = None
    status: int = 0
    sent: int = 0
    stalled: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
