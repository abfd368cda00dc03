"""An agent: a model with instructions and tools."""

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
    """Ends of a turn: steps, and seconds of wall time without the person's waits (L-1, L-11)."""

    steps: int
    seconds: float
    parallel_tools: int = 5


LIMITS: dict[Mode, Limits] = {
    "inline": Limits(steps=5, seconds=30.0),
    "background": Limits(steps=20, seconds=180.0),
}


@dataclass(frozen=True, slots=True)
class Agent:
    """What an agent's markdown file says; ``prompt`` is the body.

    ``provider`` and ``model`` are empty where the person's choice decides.
    ``tools`` lists names, ``("*",)`` for all of them. ``source`` is the file.
    ``effort`` and ``temperature`` are None where the model's own default holds.
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
    icon: str = "sparkle"
    hue: str = "slate"
    source: str = ""
