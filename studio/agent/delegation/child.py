"""Child: runs one agent for a call of another, and tells what it does meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import field, replace

from studio.agent.services import Services
from studio.agent.session.session import Session
from studio.agent.session.turn_options import ParentTurn
from studio.agent.usage_costs import UsageTotal, total
from studio.domain.agents import Agent, Caps, longer
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    ChildWorks,
    Event,
    MessageQueued,
    StepEnded,
    ToolStarted,
    TurnComplete,
)
from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Said
from studio.domain.models import Generation
from studio.domain.records import dataclass
from studio.tools import Result

from .child_desk import bring_back, lay_desk
from .report import answer_of, report

WAITS = "Waits for you"
SHOWN = 120
"""Characters of what a child does that are shown."""


@dataclass(eq=False, slots=True)
class Child:
    """One child of a session, for the call ``call_id``; ``result`` is there once it has ended."""

    session: Session
    agent: Agent
    task: str
    call_id: str
    caps: Caps
    schema: JsonObject | None = None
    background: bool = False
    works: bool = True
    end: TurnComplete | None = None
    result: Result | None = None
    told: bool = False
    """Whether its caller knows that it has ended."""
    given: bool = False
    """Whether its caller has its answer."""
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once it has its desk, or works without one."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def id(self) -> str:
        return self.session.info.id[:6]

    @property
    def name(self) -> str:
        return f"{self.agent.name} (child {self.id})"


class ChildRun:
    """Runs turns of a child. ``tell`` gets each news of it, while somebody listens."""

    def __init__(
        self, services: Services, child: Child, parent: ParentTurn, tell: Callable[[Event], None]
    ) -> None:
        self.wants_desk = False
        """Whether the child is to work on a copy of the folder, if it may write (W-24)."""
        self._services = services
        self._child = child
        self._parent = parent
        self._tell = tell
        self._doing = self._target = ""

    async def run(self, said: Sequence[Said] | MessageQueued) -> Result:
        """Run a turn, and those for what the child is told meanwhile; its result.

        With nothing said its last turn goes on. Being cancelled ends the child.
        """
        child, session = self._child, self._child.session
        child.works, child.end, child.result = True, None, None
        child.ended.clear()
        self._show()
        try:
            if session.info.caller is not None:  # the disk names it before it can act (W-16)
                await self._services.store.flush(session.info.caller.id)
            desk = await lay_desk(self._services, child.agent, session) if self.wants_desk else None
            child.begun.set()
            events = await self._turn(said)
            while (more := session.queue.next) is not None and child.end is not None:
                if child.end.reason != "done":
                    break
                events = await self._turn(more)
            drafts, left = list[str](), list[str]()
            if desk is not None:
                drafts, left = await bring_back(self._services, session, desk)
            used = await self.used()
            child.result = await report(
                child.name,
                answer_of(events, one_reply=child.schema is not None),
                child.end or TurnComplete("cancelled"),
                session.transcript.blocks,
                used,
                self._services.spill(session.info.caller.id if session.info.caller else ""),
                schema=child.schema,
                apart=child.background,
                more=drafts,
                left=left,
            )
            return child.result
        finally:
            child.end = child.end or TurnComplete("cancelled")
            child.works = False
            self._show()
            child.ended.set()

    async def used(self) -> UsageTotal:
        """What the child and those that it started have used."""
        spent = await self._services.usage_costs.of_tree(self._child.session.info.id)
        return total(spent.values())

    async def _turn(self, said: Sequence[Said] | MessageQueued) -> list[Event]:
        child, events = self._child, list[Event]()
        mode = longer(child.agent.mode, "background")
        limits = self._services.limits(child.agent, mode)
        turn = child.session.turn(
            said,
            limits=replace(limits, extensible=False),
            parent=self._parent,
            caps=child.caps,
            generation=Generation(schema=child.schema),
            least="background",
            resumable=self._parent.resumable and not child.background,
        )
        async with aclosing(turn) as envelopes:
            async for envelope in envelopes:
                events.append(envelope.event)
                self._heard(envelope.event)
        return events

    def _heard(self, event: Event) -> None:
        match event:
            case ToolStarted():
                tool = self._child.session.transcript.tool(event.call_id)
                if tool is not None:
                    self._doing, self._target = tool.verb, " ".join(tool.target.split())[:SHOWN]
                    self._show()
            case AwaitingPermission() | AwaitingReply():
                self._doing, self._target = WAITS, ""
                self._show()
            case StepEnded() if not event.beside:
                self._show()
            case TurnComplete():
                self._child.end = event
            case _:
                pass

    def _show(self) -> None:
        """Tell what the child does now, and what it has used."""
        self._tell(self.news)

    @property
    def news(self) -> ChildWorks:
        """What the child does now, or how it ended."""
        child = self._child
        used = self._services.budgets.used(child.session.info.id)
        end = child.end
        return ChildWorks(
            child.call_id,
            child.session.info.id,
            child.agent.name,
            child.agent.icon,
            child.agent.hue,
            child.session.info.model,
            "" if end is not None else self._doing,
            "" if end is not None else self._target,
            end.reason if end is not None else "",
            used.tokens,
            used.dollars,
            child.background,
        )
