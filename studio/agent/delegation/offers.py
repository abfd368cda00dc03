"""Offers: tells whom an agent may start, and makes the tools with which it does (W-33, W-2)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from studio.agent.agent_files.finder import Agents
from studio.agent.prompts import DEFINED_ARGUMENTS, OFFERED_AGENTS
from studio.domain.agents import Agent, DefinedTool
from studio.domain.blocks import ToolBlock
from studio.domain.events import Event
from studio.domain.jsonvalue import JsonObject
from studio.domain.tools import CHILD_TOOLS, DELEGATE, ToolSpec
from studio.tools import Context, Tool
from studio.tools.sdk.context import Children
from studio.tools.sdk.definition import Run

ANYBODY = "*"


class Delegation(Protocol):
    """What sessions and their turns need of the children; ``children`` has it."""

    def of_call(self, session_id: str, call_id: str) -> Children:
        """What one call of a session may do with its children."""
        ...

    def news(self, session_id: str) -> Sequence[str]:
        """What the session's agent has not been told of ends in the background (W-38)."""
        ...

    async def late_results(self, session_id: str, calls: Iterable[ToolBlock]) -> Sequence[Event]:
        """What came of a session's calls that waited for others when the program ended (W-17)."""
        ...

    async def waiting(self, calls: Iterable[ToolBlock]) -> set[str]:
        """The calls whose children waited for the person when their turn was stopped (W-17)."""
        ...

    def running(self, session_id: str) -> Sequence[object]:
        """The children of a session that work."""
        ...

    def stop(self, session_id: str) -> None:
        """End the children of a session, and theirs."""
        ...


_PLACE = re.compile(r"\$\{\{\s*(?:inputs\.)?([A-Za-z_]\w*)\s*\}\}")
"""Where the text of a defined tool takes one of its arguments."""


def may_start(agent: Agent, agents: Agents) -> list[Agent]:
    """The agents that an agent may start, by their names.

    A folder's agents that the person does not trust start nobody, and nobody starts them (W-4).
    """
    if not agent.agents or not agent.trusted:
        return []
    return [
        one
        for name, one in sorted(agents.by_name.items())
        if one.trusted and one.model_invocable and (ANYBODY in agent.agents or name in agent.agents)
    ]


def described(agents: Sequence[Agent]) -> str:
    """The agents with what they are for, a line each."""
    return "\n".join(f"- {one.name}: {one.description or 'no description'}" for one in agents)


def with_children(
    tools: Mapping[str, Tool],
    agent: Agent,
    starts: Sequence[Agent],
    *,
    more: bool,
) -> tuple[Agent, dict[str, Tool]]:
    """An agent, and its tools with those that start children, also those that its file defines.

    They are left out where it may start nobody, or no ``more``.
    """
    if more and starts:
        told = OFFERED_AGENTS.format(agents=described(starts))
        spec = tools[DELEGATE].spec
        spec = replace(spec, description=f"{spec.description} {told}")
        found = {**tools, DELEGATE: replace(tools[DELEGATE], spec=spec)}
    else:
        found = {
            name: tool
            for name, tool in tools.items()
            if name not in CHILD_TOOLS or not tool.built_in  # the person may have one of the name
        }
    own = [one for one in agent.define if more and agent.trusted and usable(one, tools)]
    found |= {one.name: Tool(_spec_of(one), _use(one), agent.source, waits=True) for one in own}
    if own and ANYBODY not in agent.tools:
        agent = replace(agent, tools=(*agent.tools, *(one.name for one in own)))
    return agent, found


def usable(defined: DefinedTool, tools: Mapping[str, Tool]) -> bool:
    """Whether a defined tool can be offered: none has its name."""
    return defined.name not in tools


def _use(defined: DefinedTool) -> Run:
    """What runs a tool that an agent's file defines (W-2)."""

    async def run(context: Context, arguments: JsonObject) -> object:
        return await context.children.use(defined, arguments)

    return run


def _spec_of(defined: DefinedTool) -> ToolSpec:
    schema: JsonObject = {"type": "object", "properties": {}, **defined.parameters}
    words = defined.name.replace("_", " ")
    return ToolSpec(
        defined.name,
        defined.description or words,
        schema,
        effect="read",  # what its child does is asked about when it does it
        verb=words[:1].upper() + words[1:],
        done=words[:1].upper() + words[1:],
        icon="bot",
        time_limit=None,
        steady=False,
    )


def task_of(defined: DefinedTool, arguments: JsonObject) -> str:
    """What the child of a defined tool is to do: its text, with the arguments of the call."""
    used: set[str] = set()

    def fill(place: re.Match[str]) -> str:
        used.add(place[1])
        value = arguments.get(place[1], "")
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    text = _PLACE.sub(fill, defined.prompt or defined.description)
    rest = {name: value for name, value in arguments.items() if name not in used}
    if not rest:
        return text
    return DEFINED_ARGUMENTS.format(
        text=text, arguments=json.dumps(rest, ensure_ascii=False, indent=2)
    )
