"""Trees of turns: counts the agents that began one another in a turn (W-34)."""

from __future__ import annotations

from studio.domain.records import dataclass

DEPTH = 2
"""Levels of children below an agent whose file says nothing of it."""
AT_A_TIME = 8
"""Children of one agent that work at a time, if its file says nothing of it."""
MOST = 32
"""Children in the whole tree of a turn."""
SHARE = 0.25
"""Of what its caller has left is the cap of a child that has none of its own (W-35)."""
DOLLARS = 1.0
"""The cap of a child where nobody above it has one."""


@dataclass(eq=False, slots=True)
class Tree:
    """The children of one turn and theirs, each counted once when it begins."""

    started: int = 0

    @property
    def full(self) -> bool:
        return self.started >= MOST
