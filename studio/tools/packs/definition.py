"""Pack definition: describes what the Python of a pack brings besides its tools (KZ-2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from studio.domain.persons import Person
from studio.domain.records import dataclass

from .home import Home
from .kinds import DraftKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """What a pack brings besides its tools: one object of a module in its folder ``tools``.

    ``services`` are classes that are made once, with the pack's home as their one argument, in a
    thread; their ``close`` is called when the program ends. ``person`` says who works here.
    ``kinds`` are its kinds of drafts.
    """

    services: Sequence[Callable[[Home], Any]] = ()
    person: Callable[[Home], Person] | None = None
    kinds: Sequence[DraftKind] = ()
