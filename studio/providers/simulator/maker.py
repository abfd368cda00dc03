"""Ids and signatures for what the simulator says."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from .sessions import Sessions
from .signing import Signer


@dataclass(slots=True)
class ServerState:
    """What rendering and checking need besides turn and request."""

    chance: random.Random
    signer: Signer
    beyond: bool = False
    """Whether house rules hold too."""
    without: frozenset[str] = frozenset()
    """Names of rules that do not hold."""
    sessions: Sessions = field(default_factory=Sessions)
    replies: int = 0
    stored: set[str] = field(default_factory=set[str])
    """Ids of Responses items whose response was to be stored."""

    def id(self, prefix: str, length: int = 24) -> str:
        alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"
        return prefix + "".join(self.chance.choices(alphabet, k=length))

    def hex(self, length: int = 24) -> str:
        return "".join(self.chance.choices("0123456789abcdef", k=length))
