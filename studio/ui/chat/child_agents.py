"""Agents of a chat: who works for it, as a tree of facts and as a graph (W-39, W-62)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from studio.ui.formatting import clock, dollars, short_count
from studio.ui.translation import tr

from .model.chat_model import ChatModel
from .model.open_chat import Change

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.agent.delegation.session_tree import Member
    from studio.agent.engine import Engine
    from studio.agent.session.session import Session
    from studio.ui.graph.nodes import Graph, GraphNode, NodeState
    from studio.ui.inspector.fact_list import Fact

STATES: dict[str, NodeState] = {
    "idle": "waiting",
    "running": "running",
    "waiting": "needs_you",
    "done": "done",
    "cancelled": "stopped",
    "error": "failed",
    "stalled": "failed",
    "refused": "failed",
}
"""States of sessions as those of nodes; whatever else ended a turn stopped it."""
SOON, LATER = 150, 2_000
"""Milliseconds until the agents are read again after news of them, and while some work."""
Icons = Callable[[str], tuple[str, str]]
"""Icon and hue of an agent by its name."""


class ChatAgents(QObject):
    """Keeps up who works for the chat on screen; reads nothing where nobody does."""

    changed = Signal()

    def __init__(self, model: ChatModel, parent: QObject) -> None:
        super().__init__(parent)
        self._model = model
        self.members: Sequence[Member] = ()
        """The chat's own agent first; empty where it has started no other."""
        self._timer = QTimer(self, singleShot=True, interval=SOON)
        self._timer.timeout.connect(self._read)
        model.subscribe(self._heard, "chat", "event")

    def _heard(self, change: Change) -> None:
        from studio.agent.delegation.session_tree import WORKFLOW
        from studio.domain.events import (
            ChildWorks,
            StepEnded,
            ToolFinished,
            TurnComplete,
            TurnStarted,
        )

        if change.part == "chat":
            self._show(())
            if self._started():
                self._read()
            return
        news = isinstance(change.event, ChildWorks)
        if isinstance(change.event, ToolFinished):
            news = WORKFLOW in change.event.sources
        if self.members:
            news = news or isinstance(change.event, StepEnded | TurnComplete | TurnStarted)
        if news and not 0 <= self._timer.remainingTime() <= SOON:
            self._timer.start(SOON)

    def _started(self) -> bool:
        from studio.agent.delegation.session_tree import WORKFLOW
        from studio.domain.blocks import ToolBlock

        session = self._model.session
        blocks = session.transcript.blocks if session is not None else ()
        calls = (block for block in blocks if isinstance(block, ToolBlock))
        return any(one.child is not None or WORKFLOW in one.sources for one in calls)

    def _read(self) -> None:
        session, engine = self._model.session, self._model.engine
        if session is not None and engine is not None:
            self._model.run(self._read_members(session, engine))

    async def _read_members(self, session: Session, engine: Engine) -> None:
        from studio.agent.delegation.session_tree import session_tree

        found = await session_tree(engine.store, engine.usage_costs, session.info)
        if session is self._model.session:
            self._show(found if len(found) > 1 else ())

    def _show(self, members: Sequence[Member]) -> None:
        if list(members) != list(self.members):
            self.members = members
            self.changed.emit()
        if any(one.depth and one.info.state in ("running", "waiting") for one in members):
            self._timer.start(LATER)  # those in the background say nothing between two turns


def facts_of(members: Sequence[Member], icon_of: Icons) -> list[Fact]:
    """Who works for a chat, with tokens and cost; empty where it has nobody."""
    from studio.ui.inspector.fact_list import Fact

    if not members:
        return []
    facts = [Fact(tr("Agents"), style="heading")]
    for one in members:
        icon, hue = icon_of(one.info.agent)
        cost = dollars(one.used.cost) if one.used.cost else "–"
        tokens = short_count(one.used.usage.total)
        state = STATES.get(one.info.state, "stopped")
        facts.append(
            Fact(
                one.info.agent, cost, icon=icon, hue=hue, middle=tokens, state=state,
                depth=one.depth,
            )
        )  # fmt: skip
    return facts


def graph_of(members: Sequence[Member], icon_of: Icons) -> Graph:
    """Who works for a chat and for whom; ids are those of sessions."""
    from studio.ui.graph.nodes import Graph

    return Graph(
        tuple(_node(one, icon_of) for one in members),
        tuple((one.caller, one.info.id) for one in members if one.caller),
    )


def _node(member: Member, icon_of: Icons) -> GraphNode:
    from studio.ui.graph.nodes import GraphNode

    info = member.info
    icon, hue = icon_of(info.agent)
    state = STATES.get(info.state, "stopped")
    runs = state == "running"
    return GraphNode(
        info.id,
        info.agent,
        icon,
        hue,
        about=info.title,
        aside="" if runs or not member.depth else clock(info.updated - info.created),
        state=state,
        since=info.created if runs and member.depth else 0.0,
    )
