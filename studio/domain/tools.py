"""Tool specifications: describe to a model what tools are called and what they take."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .jsonvalue import JsonObject

Effect: TypeAlias = Literal["read", "fetch", "draft", "act"]
"""What a tool does to the world: only reads the folder; only reads from outside
of it, which is asked about first (T-7); only makes drafts a person approves
(T-5); or acts, which is asked about too."""

Exposure: TypeAlias = Literal["private", "untrusted"]
"""What a session may have met: files that are nobody else's business, or words
of strangers, which may be orders in disguise."""

SKIPPED_FOLDERS = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        ".venv",
        "node_modules",
        "__pycache__",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".tox",
    }
)
"""Folders that listing and searching step over; reading a path in them works."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool, as described to a model.

    ``schema`` is the JSON schema of its arguments, an object. ``target`` names
    the argument shown in a tool row and matched by permission rules
    (``path``, ``command``). ``verb`` and ``done`` are the words of the row:
    "Reading", "Read". ``time_limit`` is in seconds; None waits as long as the
    turn does. ``alone`` forbids running beside other calls (L-3). ``untrusted``
    says that its results are words of strangers (a page, a foreign server),
    ``sends`` that its arguments can carry something out of this computer.
    ``steady``: asked the same again in one turn it says the same, until
    something is written (L-9). ``hosted``: the provider runs it itself, its
    adapter declares it in its own words, and no call of it comes here.
    ``external``: whoever asked for the turn runs it; a turn ends with such
    calls open, and the next one brings their results.
    """

    name: str
    description: str
    schema: JsonObject = field(hash=False)
    effect: Effect = "act"
    target: str = ""
    verb: str = ""
    done: str = ""
    icon: str = "wrench"
    alone: bool = False
    time_limit: float | None = 60.0
    untrusted: bool = False
    sends: bool = False
    steady: bool = True
    hosted: bool = False
    external: bool = False
