"""Extensions: skills and commands, which people write in markdown files for agents (K-4, K-7).

Prompts of servers are called like commands.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

from .records import dataclass

BYTES_PER_TOKEN = 4
"""An estimate for prose."""
Kind: TypeAlias = Literal["skill", "command", "prompt"]
"""``prompt``: one of an MCP server, which is asked for its text (M-21)."""
Place: TypeAlias = Literal["folder", "own", "pack"]
"""Where a file is from: the folder that the chat is about, the person's own, or a pack."""
Value: TypeAlias = str | int | float | bytes | None
"""What a column of a pack's records holds."""
PACK_PAGE = "pack:"
"""Begins the keys of pages that packs bring."""


@dataclass(frozen=True, slots=True)
class PackPlace:
    """Where a pack has its files of one kind; ``name`` is the pack's name for people (X-1)."""

    pack: str
    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class Extension:
    """A skill, a command or a prompt; ``body`` is what stands below its frontmatter.

    ``folder`` is where a skill has its other files. ``for_model``: agents may open it by
    themselves. ``for_person``: the person can call it by hand, with what ``hint`` names. ``wishes``
    are the tools that its file would like to use without a question, which it may not (K-6).
    ``pack`` is the name of the pack that brings it. Of a prompt the ``path`` is its server.
    """

    kind: Kind
    name: str
    description: str
    body: str
    path: str
    folder: str
    place: Place
    for_model: bool = True
    for_person: bool = True
    hint: str = ""
    wishes: tuple[str, ...] = ()
    pack: str = ""

    @property
    def line(self) -> str:
        """Its line in the list that agents get."""
        return f"- {self.name}: {self.description}"

    @property
    def tokens(self) -> int:
        """About what that line takes."""
        return -(-len(self.line.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a file. ``left_out``: it cannot be used, or another has its name.

    That other one is ``shadowed_by``.
    """

    path: str
    words: str
    left_out: bool = False
    shadowed_by: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.words}"


@dataclass(frozen=True, slots=True)
class Extensions:
    """All that can be used in a folder, skills first, and what is wrong with the files."""

    found: tuple[Extension, ...] = ()
    findings: tuple[Finding, ...] = ()

    def get(self, name: str) -> Extension | None:
        return next((one for one in self.found if one.name == name), None)

    @property
    def skills(self) -> tuple[Extension, ...]:
        return tuple(one for one in self.found if one.kind == "skill")

    @property
    def without_prompts(self) -> Extensions:
        """What is in files."""
        return replace(self, found=tuple(one for one in self.found if one.kind != "prompt"))

    @property
    def by_hand(self) -> tuple[Extension, ...]:
        return tuple(one for one in self.found if one.for_person)

    def for_agent(self, names: Iterable[str]) -> tuple[Extension, ...]:
        """The skills that an agent may open by itself; ``*`` among the names means all."""
        wanted = set(names)
        return tuple(
            one for one in self.skills if one.for_model and ("*" in wanted or one.name in wanted)
        )


NO_EXTENSIONS = Extensions()
