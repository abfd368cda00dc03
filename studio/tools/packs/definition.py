"""Pack definition: describes what the Python of a pack brings besides its tools (KZ-2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from studio.domain.persons import Person
from studio.domain.records import dataclass

from .home import Home
from .kinds import DraftKind
from .policy import RequestPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """What a pack brings besides its tools: one object of a module in its folder ``tools``.

    ``services`` are classes that are made once, with the pack's home as their one argument, in a
    thread; their ``close`` is called when the program ends. ``person`` says who works here.
    ``kinds`` are its kinds of drafts, ``policy`` says which providers may see what.
    """

    services: Sequence[Callable[[Home], Any]] = ()
    person: Callable[[Home], Person] | None = None
    kinds: Sequence[DraftKind] = ()
    policy: RequestPolicy | None = None
    roles: Mapping[str, Sequence[str]] | None = None
    """The tools of the pack that each role may use, ``*`` for all; a role that is not named may
    use none. An agent gets of these what its own role allows (KZ-6)."""
