"""Live reads: does the reading calls of a recorded session again in its folder (W-28).

Only calls that change nothing, and whose results change with the folder alone, are made again; each
runs as every call of an agent does, with the rights that the agent has today.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from studio.agent.engine import Engine
from studio.agent.session.session import Session
from studio.domain.blocks import ToolBlock
from studio.domain.errors import ConfigurationError
from studio.domain.events import AwaitingPermission, Event
from studio.domain.messages import ToolCall
from studio.domain.permissions import Rule
from studio.domain.run_events import RunStarted
from studio.domain.transcript import Transcript

from .bundle import RecordedSession


@dataclass(frozen=True, slots=True)
class ReadAgain:
    """A call with its result in the record, and what it gives now."""

    name: str
    target: str
    recorded: str
    now: str


class LiveReads:
    """Reads the folder of a stored run again."""

    def __init__(self, engine: Engine, started: RunStarted) -> None:
        if not Path(started.folder).is_dir():
            raise ConfigurationError(f"The folder of this run is gone: {started.folder}.")
        self._engine = engine
        self._started = started

    def before_changes(self, events: Sequence[Event]) -> tuple[list[ToolBlock], bool]:
        """The reading calls of a session up to its first change, and whether it made one."""
        found: list[ToolBlock] = []
        for block in Transcript(events).blocks:
            if not isinstance(block, ToolBlock) or not block.started:
                continue
            if block.effect in ("draft", "act"):
                return found, True
            if block.state in ("done", "error") and self._reads(block):
                found.append(block)
        return found, False

    def _reads(self, block: ToolBlock) -> bool:
        tool = self._engine.services.toolbox.tools.get(block.name)
        return block.effect == "read" and tool is not None and tool.spec.steady

    async def again(
        self, agent: str, recorded: RecordedSession, calls: Sequence[ToolBlock]
    ) -> list[ReadAgain]:
        """Make these calls again; those that the agent may not make today are left out."""
        if not calls:
            return []
        engine = self._engine
        found = await engine.agent(agent, Path(self._started.folder))
        rules = [rule for rule in found.permissions if rule.verdict != "allow"]
        session = await engine.sessions.create(
            folder=self._started.folder,
            agent=agent,
            provider=recorded.provider,
            model=recorded.model,
            title=self._started.name,
            held=True,
            subject=self._started.subject,
        )
        try:
            return [
                made for one in calls if (made := await _again(session, one, rules)) is not None
            ]
        finally:
            await engine.sessions.delete(session.info.id)


async def _again(session: Session, block: ToolBlock, rules: Sequence[Rule]) -> ReadAgain | None:
    call = ToolCall(block.call_id, block.name, block.arguments)
    async with aclosing(session.turn((), rules=rules, call=call)) as envelopes:
        async for envelope in envelopes:
            if isinstance(envelope.event, AwaitingPermission):
                session.answer_permission(envelope.event.question.id, "deny")
    made = session.transcript.tool(block.call_id)
    if made is None or made.state not in ("done", "error"):
        return None
    return ReadAgain(block.name, block.target, block.output, made.output)
