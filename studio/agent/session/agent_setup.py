"""The agent setup: loads the agent of a turn with its provider, tools, rules and instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from studio.agent.context.token_count import tool_tokens
from studio.agent.models.family import model_family
from studio.agent.permission.content_filter import AnyKind
from studio.agent.permission.policy import Policy
from studio.agent.permission.rules import RuleLayers
from studio.agent.servers.tool_search import search_tools, too_many
from studio.agent.services import FolderReading, Services
from studio.agent.skills import unlisted
from studio.domain.agents import Agent
from studio.domain.errors import ConfigurationError, ProviderError
from studio.domain.extensions import Extension
from studio.domain.hooks import NO_HOOKS, Hooks
from studio.domain.models import ModelInfo
from studio.domain.permissions import Layer, Rule
from studio.domain.records import dataclass
from studio.domain.sessions import SessionInfo
from studio.domain.tools import APPLY_PATCH, CHILD_TOOLS, EDIT, FIND_TOOLS, SKILL, ToolSpec
from studio.providers.base import Provider, Request
from studio.providers.registry import EMBEDDED
from studio.tools import Tool, Workspace

from .system_prompt import SystemPrompt, instructions

SEARCH = "web_search"
SMALL_WINDOW = 8_192
"""Tokens of the largest window in which tools are described briefly, and instructions are brief."""
TOOLS_SHARE = 0.25
"""Share of a small window that tools may take, so that there is room for the work."""
FIRST_TOOLS = ("read", "search", EDIT, "write", "run", "list", "glob")
"""The tools that most work needs, in the order in which a small window keeps them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSetup:
    """What the tools of a turn need to know of its agent, its folder and its model."""

    agent: Agent
    tools: dict[str, Tool]
    offered: list[ToolSpec]
    layers: RuleLayers
    masks: list[AnyKind]
    workspace: Workspace
    window: int | None = None
    """Tokens that the model reads at once, None if nobody knows."""
    numbered: bool = False
    """Whether lines of files are numbered for the model."""
    served: Sequence[ToolSpec] = ()
    """The tools of servers, of which a history can call those that it names (M-16)."""
    hooks: Hooks = NO_HOOKS


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSetup(ToolSetup):
    """An agent with everything that a turn needs from it."""

    provider: Provider
    model: str
    facts: ModelInfo
    prompt: SystemPrompt
    notices: tuple[str, ...]
    """What the person has to know of the folder's rules and the agent."""
    skills: tuple[Extension, ...] = ()
    """Those that the agent may open by itself."""


async def load_call_setup(info: SessionInfo, services: Services, tool: str) -> ToolSetup:
    """What a turn of one call needs: no agent's file, no provider. Raises ConfigurationError."""
    found = await services.load_agent(info, Agent(info.agent, tools=(tool,)))
    if tool not in found.tools:
        raise ConfigurationError(f"There is no tool {tool}.")
    spec = found.tools[tool].spec
    return ToolSetup(
        agent=found.agent,
        tools=found.tools,
        offered=[] if spec.server else [spec],
        served=[spec] if spec.server else [],
        layers=found.layers,
        masks=found.masks,
        workspace=found.workspace,
        hooks=found.hooks,
        numbered=_numbered(info, services),
    )


async def load_agent_setup(
    info: SessionInfo,
    services: Services,
    given: Mapping[Layer, Sequence[Rule]] | None = None,
    ceiling: Policy | None = None,
    external: Sequence[ToolSpec] = (),
    *,
    delegates: bool = True,
    just_read: FolderReading | None = None,
) -> AgentSetup:
    """Load the agent of a session; raises ConfigurationError or ProviderError if a part is missing.

    ``given`` are the rules of the session and the turn, ``ceiling`` is the most that the
    turn may do: a tool that the provider runs is not offered if one of them restricts
    it. ``external`` are tools of the client; they replace tools of the same name. Unless it
    ``delegates``, it starts no other agents. ``just_read`` is what the message
    found in the folder, if it was read a moment ago.
    """
    found = await services.load_agent(info, delegates=delegates, just_read=just_read)
    agent, tools, layers = found.agent, found.tools, found.layers
    provider = await services.provider(info.provider)
    if not info.model:
        raise ConfigurationError("No model is chosen. Choose one below the message.")
    rules: dict[Layer, Sequence[Rule]] = {**layers.rules, "agent": agent.permissions}
    policy = Policy(info.permission_mode, rules, role=agent.role, tools=agent.tools)
    whole = Policy(info.permission_mode, {**rules, **(given or {})}, role=agent.role)
    whole = whole if ceiling is None else whole.within(ceiling)
    search = services.web.choices().web_search
    family = model_family(info.model)
    left_out = {EDIT, APPLY_PATCH} - {family.edit_tool}
    left_out |= {SEARCH} if search == "off" else set()
    facts = services.model(info.provider, info.model)
    window = await _window(info, facts, provider)
    usable = [
        tool
        for tool in tools.values()
        if policy.offers(tool.spec) and tool.spec.name not in left_out
    ]
    served = [tool.spec for tool in usable if tool.spec.server]
    deferred = too_many(served, window)
    left = unlisted(found.skills, window) if SKILL in tools else ()
    finding = search_tools(served, left, told=not deferred)
    tools = {**tools, **finding}
    if finding and "*" not in agent.tools:
        agent = replace(agent, tools=(*agent.tools, *finding))
    own_tools = [tool for tool in usable if not tool.spec.server]
    described, notice = _described(own_tools, agent, info.model, window)
    described += [] if deferred else served
    told = finding if deferred else {FIND_TOOLS} & finding.keys() if left else ()
    described += [finding[name].spec for name in told]
    own = [_hosted(spec, provider, info.model, search) for spec in described]
    theirs = {spec.name for spec in external}
    offered = [
        spec
        for spec in own
        if spec.name not in theirs and (not spec.hosted or whole.allows_hosted(spec))
    ]
    offered += external
    brief = info.provider in EMBEDDED or (window is not None and window <= SMALL_WINDOW)
    prompt = SystemPrompt(
        info.permission_mode,
        instructions(agent, info.instructions, family, brief=brief),
        instructions(agent, info.instructions, family, brief=not brief),
        frozenset(spec.name for spec in (*offered, *served)) | finding.keys(),
    )
    return AgentSetup(
        agent=agent,
        provider=provider,
        model=info.model,
        facts=facts,
        tools=tools,
        offered=offered,
        served=served,
        layers=layers,
        prompt=prompt,
        masks=found.masks,
        workspace=found.workspace,
        notices=(*layers.notices, *found.hooks.notices, *filter(None, [found.notice, notice])),
        window=window,
        skills=found.skills,
        hooks=found.hooks,
        numbered=_numbered(info, services),
    )


def _numbered(info: SessionInfo, services: Services) -> bool:
    if services.settings.values.line_numbers != "model":
        return services.settings.values.line_numbers == "always"
    # The models that run in the program repeat what they read.
    return model_family(info.model).numbers and info.provider not in EMBEDDED


async def _window(info: SessionInfo, facts: ModelInfo, provider: Provider) -> int | None:
    """The model's window in tokens, None if nobody knows it."""
    with suppress(ProviderError):  # the turn's request says what is wrong
        return await provider.context_window(Request(info.model, (), facts=facts, session=info.id))
    return facts.context_window


def _described(
    tools: Sequence[Tool], agent: Agent, model: str, window: int | None
) -> tuple[list[ToolSpec], str]:
    """What the model is told of the tools, and what the person is told of that.

    In a small window spare parameters are left out, and so are tools for which there is no
    room: those that the agent's file names first come first, then ``FIRST_TOOLS``. The person is
    not told of those that start other agents.
    """
    if window is None or window > SMALL_WINDOW:
        return [tool.told for tool in tools], ""
    names = dict.fromkeys((*agent.tools, *FIRST_TOOLS))
    order = {name: number for number, name in enumerate(names)}
    order |= {APPLY_PATCH: order[EDIT]} if EDIT in order else {}
    left, without = TOOLS_SHARE * window, set[str]()
    for tool in sorted(tools, key=lambda one: order.get(one.spec.name, len(order))):
        if (tokens := tool_tokens(tool.brief)) <= left:
            left -= tokens
        else:
            without.add(tool.spec.name)
    leading = {one.spec.name for one in tools if one.built_in} & {*CHILD_TOOLS}
    if without & leading:  # one without the others is of no use, and nobody misses them there
        without |= leading
    missing = ", ".join(sorted(without - leading))
    notice = f"{model} reads only {window:,} tokens, so it works without: {missing}."
    described = [tool.brief for tool in tools if tool.spec.name not in without]
    return described, notice if missing else ""


def _hosted(spec: ToolSpec, provider: Provider, model: str, search: str) -> ToolSpec:
    """The spec, run by the provider if it is the web search and the person wants that."""
    wanted = spec.name == SEARCH and search == "provider"
    return replace(spec, hosted=True) if wanted and provider.runs_tool(SEARCH, model) else spec
