"""Pack definition: describes what the Python of a pack brings besides its tools (KZ-2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from studio.domain.persons import Person
from studio.domain.records import dataclass

from .home import Home
from .kinds import DraftKind
from .policy import RequestPolicy
from .settings import settings_schema
from .sources import Source
from .verbs import Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """What a pack brings besides its tools: one object of a module in its folder ``tools``.

    ``services`` are classes that are made once, with the pack's home as their one argument, in a
    thread; their ``close`` is called when the program ends. ``person`` says who works here.
    ``kinds`` are its kinds of drafts, ``policy`` says which providers may see what.

    ``source`` says in a thread what an address of the pack leads to, None if to nothing (KZ-8).
    ``settings`` is a dataclass. ``verbs`` are for the terminal (KZ-9); a function that returns them
    is called when the terminal asks, so that it can import what they alone need. Pages and lines of
    the palette stand in the manifest.
    """

    services: Sequence[Callable[[Home], Any]] = ()
    person: Callable[[Home], Person] | None = None
    kinds: Sequence[DraftKind] = ()
    policy: RequestPolicy | None = None
    roles: Mapping[str, Sequence[str]] | None = None
    """The tools of the pack that each role may use, ``*`` for all; a role that is not named may
    use none. An agent gets of these what its own role allows (KZ-6). Verbs go by them too."""
    closed: Callable[[str, Home], Sequence[Path]] | None = None
    """The folders that file tools and commands of a chat about a subject, empty for none, neither
    read nor change; said in a thread. No rule of the person opens them."""
    sealed: Callable[[Home], Iterable[Path]] | None = None
    """The files that are encrypted with ``Records.file_key`` now; said in a thread. Where there
    are some, the records get no new key unasked."""
    source: Callable[[str, Home], Source | None] | None = None
    settings: type[Any] | None = None
    verbs: Sequence[Verb] | Callable[[], Sequence[Verb]] = ()

    def __post_init__(self) -> None:
        """Raises TypeError or ValueError for what cannot be used."""
        if self.settings is not None:
            settings_schema(self.settings)
        if not callable(self.verbs):
            self.all_verbs()

    def all_verbs(self) -> Sequence[Verb]:
        """Blocks; raises ValueError, and whatever the pack's own function does."""
        verbs = self.verbs() if callable(self.verbs) else self.verbs
        names = [one.name for one in verbs]
        if twice := next((one for one in names if names.count(one) > 1), ""):
            raise ValueError(f"Two verbs are called {twice}.")
        return verbs
