"""What a turn stands on: the agent, its provider, its tools, how things stand."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Protocol

from studio.agent.changes.folder_tracker import FolderTracker
from studio.agent.limits import Budget, RequestRate
from studio.agent.permission.content_filter import AnyKind
from studio.agent.permission.policy import Policy
from studio.agent.permission.rules import RuleLayers, StandingRules, Trust
from studio.agent.retry_policy import RetryPolicy
from studio.domain.agents import Agent, Limits, Mode
from studio.domain.errors import ConfigurationError, FolderGone
from studio.domain.models import ModelInfo
from studio.domain.permissions import Layer, Rule
from studio.domain.sessions import SessionInfo
from studio.domain.tools import ToolSpec
from studio.processes.sandbox import Sandbox
from studio.providers.base import Provider
from studio.tools import DraftTargets, Tool, Workspace
from studio.tools.web import Web

from .model_router import ModelRouter
from .system_prompt import SystemPrompt

SEARCH = "web_search"
CLIENT = (
    "The client that you answer adds these instructions:\n\n"
    '<instructions from="client">\n{text}\n</instructions>'
)


@dataclass(frozen=True, slots=True)
class LoadedAgent:
    """What the disk holds of a turn's ground: files as they are now."""

    agent: Agent
    tools: dict[str, Tool]
    masks: list[AnyKind]
    """What the model does not get from outside (T-9)."""
    workspace: Workspace


class Services(Protocol):
    """What a session needs of the rest of the house for one turn."""

    async def load_agent(self, session: SessionInfo, trust: Trust) -> LoadedAgent: ...
    def workspace(self, session: SessionInfo) -> Workspace: ...
    async def agent(self, name: str, folder: Path, trust: Trust | None = None) -> Agent: ...
    async def provider(self, name: str) -> Provider: ...
    def model(self, provider: str, model: str) -> ModelInfo: ...
    def limits(self, agent: Agent, mode: Mode) -> Limits: ...
    async def budget(
        self, session: SessionInfo, agent: Agent, parent: Budget | None, *, new: bool = False
    ) -> Budget: ...
    def environment(self) -> dict[str, str]: ...
    async def sandbox(self) -> Sandbox: ...
    @property
    def web(self) -> Web: ...
    @property
    def notes(self) -> Path: ...
    @property
    def summarise(self) -> bool: ...
    def spill(self, session_id: str) -> Path: ...
    @property
    def folders(self) -> FolderTracker: ...
    def draft_targets(self, workspace: Workspace) -> DraftTargets: ...
    def today(self) -> date: ...
    @property
    def rules(self) -> StandingRules: ...
    @property
    def rate(self) -> RequestRate: ...
    @property
    def routing(self) -> ModelRouter: ...
    @property
    def patience(self) -> RetryPolicy: ...


@dataclass(frozen=True, slots=True)
class AgentSetup:
    """What a turn stands on."""

    agent: Agent
    provider: Provider
    model: str
    tools: dict[str, Tool]
    offered: list[ToolSpec]
    layers: RuleLayers
    standing: SystemPrompt
    masks: list[AnyKind]
    workspace: Workspace


async def load_agent_setup(
    info: SessionInfo,
    around: Services,
    given: Mapping[Layer, Sequence[Rule]] | None = None,
    ceiling: Policy | None = None,
    external: Sequence[ToolSpec] = (),
) -> AgentSetup:
    """Raises ConfigurationError or ProviderError for whatever is missing.

    ``given`` are rules of the session and the turn, ``ceiling`` is what it may
    do at most: a provider's own tool is not even declared where they speak
    against it. ``external`` are tools of the one who asks; one takes the place
    of a tool here that has its name.
    """
    folder = Path(info.folder)
    layers = await around.rules.layers(folder)
    if layers.gone:
        raise FolderGone(f"The folder {info.folder} is not there any more. Choose another folder.")
    found = await around.load_agent(info, layers.trust)
    agent, tools = found.agent, found.tools
    provider = await around.provider(info.provider)
    if not info.model:
        raise ConfigurationError("No model is chosen. Choose one below the message.")
    rules: dict[Layer, Sequence[Rule]] = {**layers.rules, "agent": agent.permissions}
    policy = Policy(info.permission_mode, rules, role=agent.role, tools=agent.tools)
    whole = Policy(info.permission_mode, {**rules, **(given or {})}, role=agent.role)
    whole = whole if ceiling is None else whole.within(ceiling)
    search = around.web.choices().web_search
    own = [
        _of_provider(tool.spec, provider, info.model, search)
        for tool in tools.values()
        if policy.offers(tool.spec) and not (tool.spec.name == SEARCH and search == "off")
    ]
    theirs = {spec.name for spec in external}
    offered = [
        spec
        for spec in own
        if spec.name not in theirs and (not spec.hosted or whole.hands_over(spec))
    ]
    offered += external
    standing = SystemPrompt(
        None if agent.bare else around.today(),
        info.permission_mode,
        _instructions(agent, folder, info.instructions),
        frozenset(spec.name for spec in offered),
    )
    return AgentSetup(
        agent,
        provider,
        info.model,
        tools,
        offered,
        layers,
        standing,
        found.masks,
        found.workspace,
    )


def _of_provider(spec: ToolSpec, provider: Provider, model: str, search: str) -> ToolSpec:
    """The search of the provider in the place of ours, where the person wants that."""
    wanted = spec.name == SEARCH and search == "provider"
    return replace(spec, hosted=True) if wanted and provider.runs_tool(SEARCH, model) else spec


def _instructions(agent: Agent, folder: Path, client: str) -> str:
    """The agent's own, and a client's after them (S-1)."""
    if agent.bare:
        return client
    system = {"darwin": "macOS", "win32": "Windows"}.get(sys.platform, platform.system())
    own = (
        f"{agent.prompt}\n\n"
        f"You work in the folder {folder} on {system}. Paths are relative to it. "
        "Files you write or edit become drafts that the person approves; "
        "reading a file shows your draft of it."
    )
    return f"{own}\n\n{CLIENT.format(text=client)}" if client else own
