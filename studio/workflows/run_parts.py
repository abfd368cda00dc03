"""Run parts: tells which agents and tools a run began with, by digest (W-13)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import cast

from studio.agent.engine import Engine
from studio.domain.agents import OWN_TOOLS, Agent
from studio.domain.codec import encode
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.ledger import canonical_json, digest
from studio.domain.workflows import Workflow
from studio.tools import Tool


class RunParts:
    """The agents and the tools that are there now."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def of(self, workflow: Workflow, folder: Path) -> JsonObject:
        """The digests of the agents that steps name, those that these start, and their tools.

        Of tools only those that the person added. What is not there has none.
        """
        known = (await self._engine.agents(folder)).by_name
        names = [step.target for step in workflow.steps if step.kind == "agent"]
        agents: dict[str, Agent] = {}
        while names:
            name = names.pop()
            if name in known and name not in agents:
                agents[name] = agent = known[name]
                names += known if "*" in agent.agents else agent.agents
        wanted = {name for agent in agents.values() for name in agent.tools}
        every = {"*", OWN_TOOLS} & wanted
        tools = [
            tool
            for name, tool in self._engine.tools().items()
            if not tool.built_in and (every or name in wanted)
        ]
        found: JsonObject = {f"agent {name}": _digest(one) for name, one in agents.items()}
        return found | await asyncio.to_thread(_digests, tools)


def changes(before: JsonObject, now: JsonObject) -> list[str]:
    """What has changed of the parts that a run began with, in sentences."""
    gone = [f"The {name} is not there any more." for name in before if name not in now]
    new = [name for name, one in before.items() if name in now and now[name] != one]
    return gone + [
        f"The {name} has changed since. Steps that have not begun use it as it is now."
        for name in new
    ]


def _digest(agent: Agent) -> str:
    return digest(canonical_json(encode(cast("object", replace(agent, source="")))))


def _digests(tools: list[Tool]) -> JsonObject:
    return {f"tool {tool.spec.name}": digest(canonical_json(_told(tool))) for tool in tools}


def _told(tool: Tool) -> list[Json]:
    """What a model reads of a tool, and the file that defines it, if that is known."""
    try:
        text = Path(tool.origin).read_text("utf-8", "replace")
    except OSError:  # it is from a server
        text = ""
    return [tool.spec.name, tool.spec.description, tool.spec.schema, text]
