"""Turn options: how one turn differs from others, and what it inherits from the turn above it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace

from studio.agent.budget import Budget
from studio.agent.delegation.tree import Tree
from studio.agent.loop.bench import Bench
from studio.agent.loop.turn_context import Guard
from studio.agent.permission.approval import Approvals
from studio.agent.permission.content_filter import AnyKind
from studio.agent.permission.exfiltration_guard import ExfiltrationGuard
from studio.agent.permission.policy import Policy
from studio.agent.permission.rules import SessionRules
from studio.domain.agents import NO_CAPS, Caps, Limits, Mode
from studio.domain.events import Event
from studio.domain.messages import ToolCall, ToolResult
from studio.domain.models import DEFAULT_GENERATION, Generation
from studio.domain.permissions import Rule
from studio.domain.records import dataclass
from studio.domain.tools import ToolSpec


@dataclass(frozen=True, slots=True)
class ParentTurn:
    """What a turn inherits from the turn, or the step of a workflow, that begins it.

    It uses the same budget, may never do more (T-6), and is exposed to what the
    parent has read. ``record`` records in the parent what the turn itself reads. Without a
    ``policy`` nothing but its own rules limits it.

    The rest is of a turn whose call ``call_id`` begins this one. Questions reach the person
    through its ``approvals``; changes are made on its ``bench``, there as those of ``bench_call``;
    ``rules`` are the chat's, ``masks`` what is kept from its model. ``depth`` is how many levels
    may be below, None for what the agent's file says. ``agent`` begins it, with at most
    ``children`` at a time.
    """

    budget: Budget
    policy: Policy | None
    guard: ExfiltrationGuard
    record: Callable[[Event], None]
    approvals: Approvals | None = None
    bench: Bench | None = None
    bench_call: str = ""
    call_id: str = ""
    rules: SessionRules | None = None
    masks: Sequence[AnyKind] = ()
    tree: Tree = field(default_factory=Tree)
    depth: int | None = None
    agent: str = ""
    children: int = 0
    guards: Sequence[Guard] = ()
    """Those of the turn that this begins, and of none below it."""
    resumable: bool = False
    """Whether its work goes on in a later turn, and with it that of the children it waits for."""

    def for_call(self, call_id: str, depth: int) -> ParentTurn:
        """What one call hands on to an agent whose file allows ``depth`` levels, 0 for any."""
        left = (self.depth or 0) - 1
        return replace(
            self,
            call_id=call_id,
            bench_call=self.bench_call or call_id,
            depth=min(left, depth) if depth else left,
        )

    @property
    def may_start(self) -> bool:
        """Whether the turn that this begins may begin others."""
        return not self.tree.full and self.depth != 0


@dataclass(frozen=True, slots=True)
class TurnOptions:
    """The options of one turn; the agent's file and the settings decide the rest.

    ``rules`` are added to the agent's and the session's. ``parent`` is the turn that
    begins this one, ``within`` the most that this turn may do. ``tools`` and
    ``results`` are the client's, see ``Session.turn``.
    """

    rules: Sequence[Rule] = ()
    mode: Mode | None = None
    limits: Limits | None = None
    parent: ParentTurn | None = None
    within: Policy | None = None
    tools: Sequence[ToolSpec] = ()
    results: Sequence[ToolResult] = ()
    generation: Generation = DEFAULT_GENERATION
    caps: Caps = NO_CAPS
    agent: str = ""
    """Who answers this turn in place of the session's agent."""
    least: Mode = "inline"
    """The mode of a turn that would have a shorter one."""
    call: ToolCall | None = None
    """The one call of a turn without a model; ``limits`` are its limits."""
    resumable: bool = False
    """Whether the work goes on in a later turn if this one is stopped: see ``Session.turn``."""
    opening: Sequence[ToolCall] = ()
    """Calls of the agent with which the turn begins, before the model is asked."""
    escalated: bool = False
    """Whether the turn before got stuck, so that the next tier takes over."""

    @property
    def bounded(self) -> bool:
        """Whether the turn has limits of its own, so that no other tier may take it over."""
        return self.limits is not None or self.caps != NO_CAPS

    @property
    def ceiling(self) -> Policy | None:
        """The most that the turn may do; None if nothing limits it."""
        above = self.parent.policy if self.parent is not None else None
        if above is None or self.within is None:
            return self.within or above
        return self.within.within(above)
