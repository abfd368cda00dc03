"""What the tools of a turn need: rights, a place to work in, a meter of risk (T-6, T-7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from studio.agent.changes.draft_store import DraftStore, TurnDrafts
from studio.agent.changes.undo import Undo
from studio.agent.limits import WorkClock
from studio.agent.loop.tool_runner import ToolRunner
from studio.agent.permission.approval import Approvals
from studio.agent.permission.content_filter import ContentFilter
from studio.agent.permission.exfiltration_guard import ExfiltrationGuard
from studio.agent.permission.path_scope import unreadable
from studio.agent.permission.policy import Policy
from studio.domain.agents import Limits
from studio.domain.blocks import ToolBlock
from studio.domain.events import Event
from studio.domain.jsonvalue import JsonObject
from studio.domain.permissions import Answer, Rule
from studio.domain.sessions import SessionInfo
from studio.domain.tools import ToolSpec
from studio.domain.transcript import Transcript
from studio.processes.sandbox import HidingSandbox, Sandbox
from studio.tools import Tool, Workspace
from studio.tools.workspace.notes import Notes

from .agent_setup import AgentSetup, Services
from .session_rules import SessionRules


class Chat(Protocol):
    """What equipping reads of a session."""

    info: SessionInfo
    transcript: Transcript
    drafts: DraftStore
    files: Undo
    rules: SessionRules


@dataclass(frozen=True, slots=True)
class ToolAccess:
    """Of one turn. The policy grows by what the person allows, the risk by what is met."""

    policy: Policy
    offered: list[ToolSpec]
    workspace: Workspace
    sandbox: Sandbox
    risk: ExfiltrationGuard
    spill: Path
    """Where results are kept that are too long for the model."""

    @property
    def acts(self) -> bool:
        """Whether one of the tools may change files without a draft."""
        return any(spec.effect == "act" for spec in self.offered)


class ToolAccessBuilder:
    """Equips the turns of one session."""

    def __init__(self, chat: Chat, surroundings: Services) -> None:
        self._chat = chat
        self._around = surroundings
        self._incoming = ContentFilter(chat.transcript)

    async def equipment(
        self, ground: AgentSetup, rules: Sequence[Rule], within: Policy | None = None
    ) -> ToolAccess:
        """``rules`` are the turn's own; ``within`` is what it may do at most, in its folder
        or, of the turn that began it, in that one's.

        Raises ConfigurationError.
        """
        agent = ground.agent
        self._incoming.kinds, workspace = ground.masks, ground.workspace
        policy = Policy(
            self._chat.info.permission_mode,
            {
                **ground.layers.rules,
                "agent": agent.permissions,
                "session": self._chat.rules.known,
                "turn": rules,
            },
            workspace=workspace,
            role=agent.role,
            tools=agent.tools,
        )
        if within is not None:
            policy = policy.within(within.at(workspace))
        self._chat.rules.count_in(policy)
        workspace = workspace.hiding(policy.hides)
        sandbox = await self._around.sandbox()
        if sandbox.kind != "none":
            sandbox = HidingSandbox(sandbox, lambda: unreadable(policy.unreadable(), workspace))
        risk = ExfiltrationGuard(
            self._chat.transcript,
            contained=sandbox.kind != "none",
            trusted=ground.layers.trust == "trusted",
        )
        offered = [spec for spec in ground.offered if spec.external or policy.offers(spec)]
        spill = self._around.spill(self._chat.info.id)
        return ToolAccess(policy, offered, workspace, sandbox, risk, spill)

    def execution(
        self,
        equipment: ToolAccess,
        ground: AgentSetup,
        limits: Limits,
        emit: Callable[[Event], None],
        clock: WorkClock,
        most: int | None,
    ) -> ToolRunner:
        """What runs a turn's calls with this equipment, ``most`` of them."""
        info, risk, workspace = self._chat.info, equipment.risk, equipment.workspace
        gate = Approvals(
            agent=ground.agent.name,
            policy=equipment.policy,
            workspace=workspace,
            remember=self._remember,
            emit=emit,
            clock=clock,
            sandbox=equipment.sandbox,
            objection=risk.objection,
            earlier=lambda: self._earlier(ground.tools),
        )
        return ToolRunner(
            session_id=info.id,
            agent=ground.agent.name,
            tools=ground.tools,
            offered=equipment.offered,
            gate=gate,
            risk=risk,
            workspace=workspace,
            drafts=TurnDrafts(self._chat.drafts, workspace, emit),
            environment=self._around.environment,
            sandbox=equipment.sandbox,
            web=self._around.web,
            notes=Notes(
                self._around.notes, Path(info.folder), lambda: risk.exposed.get("untrusted", "")
            ),
            incoming=self._incoming,
            spill=equipment.spill,
            parallel=limits.parallel_tools,
            emit=emit,
            deed=self._chat.files.acting,
            most=most,
        )

    def _earlier(self, tools: Mapping[str, Tool]) -> list[tuple[ToolSpec, JsonObject]]:
        """The calls of this chat that came to an end."""
        blocks = self._chat.transcript.blocks
        calls = (block for block in blocks if isinstance(block, ToolBlock) and block.finished)
        return [(tools[c.name].spec, c.arguments) for c in calls if c.name in tools]

    async def _remember(self, rule: Rule, answer: Answer) -> None:
        if answer == "session":
            await self._chat.rules.add(rule)
        else:
            folder = Path(self._chat.info.folder) if answer == "folder" else None
            await self._around.rules.add(rule, folder)
