"""Agents: describe a model with instructions, tools and limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .models import Effort
from .permissions import Rule

Mode: TypeAlias = Literal["inline", "background"]
PermissionMode: TypeAlias = Literal["ask", "auto", "plan"]
"""``ask``: drafts wait for approval and commands are asked about. ``auto``: drafts
are written at once, commands are still asked about. ``plan``: the model is
offered only tools that read."""

HUES = ("blue", "green", "plum", "rust", "teal", "ochre", "rose", "slate")


@dataclass(frozen=True, slots=True)
class Limits:
    """Ends of a turn: steps, and seconds of wall time without the person's waits (L-1, L-11).

    ``parallel_tools`` is how many calls of one reply run at a time (L-3).
    """

    steps: int
    seconds: float
    parallel_tools: int = 5


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that may be used (L-14): tokens sent and answered, US dollars. 0 is no cap."""

    tokens: int = 0
    dollars: float = 0.0

    def within(self, other: Caps) -> Caps:
        """The smaller of each."""
        tokens = min(filter(None, (self.tokens, other.tokens)), default=0)
        return Caps(tokens, min(filter(None, (self.dollars, other.dollars)), default=0.0))


NO_CAPS = Caps()

Role: TypeAlias = Literal["all", "edits", "notes", "reads"]
"""What an agent may use at most (T-6): every tool; all that reads, drafts of
files and notes; all that reads, and notes; only what reads."""


@dataclass(frozen=True, slots=True)
class Agent:
    """What an agent's markdown file says; ``prompt`` is the body.

    ``provider`` and ``model`` are empty where the person's choice decides.
    ``tools`` lists names, ``("*",)`` for all of them. ``source`` is the file.
    ``effort`` and ``temperature`` are None where the model's own default holds,
    ``steps`` and ``seconds`` 0 where the mode's limits do, ``parallel_tools``
    where the person's setting does. ``caps`` are of one turn. ``mask`` names kinds
    of personal data that the model does not get (T-9).
    """

    name: str
    description: str = ""
    prompt: str = ""
    provider: str = ""
    model: str = ""
    tools: tuple[str, ...] = ("*",)
    mode: Mode = "background"
    permissions: tuple[Rule, ...] = ()
    effort: Effort | None = None
    temperature: float | None = None
    steps: int = 0
    seconds: float = 0.0
    parallel_tools: int = 0
    caps: Caps = NO_CAPS
    role: Role = "all"
    mask: tuple[str, ...] = ()
    icon: str = "sparkle"
    hue: str = "slate"
    source: str = ""

    @property
    def bare(self) -> bool:
        """Nothing of its own comes between the person and the model."""
        return not self.prompt and not self.tools
