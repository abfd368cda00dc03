"""Tools as the loop sees them: what they are called and what they take."""

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


DraftAction: TypeAlias = Literal["write", "delete", "move"]
DraftStatus: TypeAlias = Literal[
    "waiting", "approved", "discarded", "superseded", "conflict", "undone"
]


@dataclass(frozen=True, slots=True)
class Draft:
    """A file change nobody has written yet (T-5).

    ``path`` is relative to the session's folder, with forward slashes.
    ``before`` is the file's text when the draft was made, None for a new file;
    ``base_digest`` the SHA-256 hex of the file's bytes then (empty for a new
    file), so that a file changed meanwhile is noticed and never overwritten.
    Line ends in ``before`` and ``after`` are those of the file. A draft that
    deletes has an empty ``after``; one that moves has the new path in ``target``.
    """

    id: str
    path: str
    before: str | None
    after: str
    base_digest: str
    encoding: str = "utf-8"
    status: DraftStatus = "waiting"
    action: DraftAction = "write"
    target: str = ""

    @property
    def place(self) -> str:
        """See ``place_of``."""
        return draft_label(self.path, self.target)

    @property
    def rewrites(self) -> bool:
        """Whether the text changes; a move may leave it as it is."""
        return self.after != (self.before or "")

    def counts(self) -> tuple[int, int]:
        """Lines added and removed, as a unified diff would count them."""
        from difflib import SequenceMatcher

        old = (self.before or "").splitlines()
        new = self.after.splitlines()
        added = removed = 0
        for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if tag != "equal":
                removed += i2 - i1
                added += j2 - j1
        return added, removed


def draft_label(path: str, target: str) -> str:
    """The file of a draft for people, and where it goes if it moves."""
    return f"{path} → {target}" if target else path
