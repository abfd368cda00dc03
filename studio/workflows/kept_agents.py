"""Kept agents: those that a run began with, its tools, and the scripts of its checks (W-13).

Of agents the run keeps the text, and goes on with them as they were. Tools and scripts are
programs, of which only a change is told.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from studio.agent.engine import Engine
from studio.domain.agents import NO_AGENTS, OWN_TOOLS, Agent
from studio.domain.codec import decode, encode
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.ledger import canonical_json, digest
from studio.domain.workflows import Workflow
from studio.storage.runs import RunStore
from studio.tools import Tool

from .missions.check_scripts import SCRIPT, script_digests

AGENT = "agent "
"""Before the name of an agent among the parts."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The digests of parts by their names, and the texts of the agents among them."""

    digests: JsonObject
    texts: tuple[str, ...]


class RunParts:
    """The agents and the tools that are there now."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def of(
        self, workflow: Workflow, folder: Path, kept: Mapping[str, Agent] = NO_AGENTS
    ) -> Parts:
        """The agents that steps name, those that these start, their tools, and scripts of checks.

        Of tools only those that the person added. What is not there is no part. Agents that are
        ``kept`` by a run above are so in place of their files.
        """
        known = (await self._engine.agents(folder, kept=kept)).by_name
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
        texts = {
            name: canonical_json(encode(cast("object", replace(one, source=""))))
            for name, one in agents.items()
        }
        found: JsonObject = {f"{AGENT}{name}": digest(text) for name, text in texts.items()}
        found |= await asyncio.to_thread(_digests, tools)
        found |= await asyncio.to_thread(script_digests, workflow, folder)
        return Parts(found, tuple(texts.values()))


async def kept_agents(store: RunStore, digests: JsonObject) -> dict[str, Agent]:
    """The agents that a run keeps, by their names.

    Of runs of an earlier program none, and none that this program cannot read.
    """
    wanted = {
        name.removeprefix(AGENT): str(one)
        for name, one in digests.items()
        if name.startswith(AGENT)
    }
    texts = await store.kept(list(wanted.values()))
    found: dict[str, Agent] = {}
    for name, one in wanted.items():
        with suppress(KeyError, ValueError, TypeError):
            found[name] = decode(Agent, json.loads(texts[one]))
    return found


def changes(before: JsonObject, now: JsonObject, kept: Collection[str]) -> list[str]:
    """What has changed of the parts that a run began with, in sentences.

    ``kept`` are the names of the agents that the run keeps.
    """
    told: list[tuple[bool, str]] = []
    for name, one in before.items():
        if now.get(name, "") == one:
            continue
        if name.startswith(SCRIPT):
            told.append((True, f"The {name} has changed since. It counts once you say so."))
            continue
        is_kept = name.startswith(AGENT) and name.removeprefix(AGENT) in kept
        if name not in now:
            more = " The run goes on with it as it was." if is_kept else ""
            told.append((False, f"The {name} is not there any more.{more}"))
        elif is_kept:
            told.append((True, f"The {name} has changed since. The run goes on with it as it was."))
        else:
            words = f"The {name} has changed since. Steps that have not begun use it as it is now."
            told.append((True, words))
    return [text for _, text in sorted(told, key=lambda one: one[0])]


def _digests(tools: list[Tool]) -> JsonObject:
    return {f"tool {tool.spec.name}": digest(canonical_json(_told(tool))) for tool in tools}


def _told(tool: Tool) -> list[Json]:
    """What a model reads of a tool, and the file that defines it, if that is known."""
    try:
        text = Path(tool.origin).read_text("utf-8", "replace")
    except OSError:  # it is from a server
        text = ""
    return [tool.spec.name, tool.spec.description, tool.spec.schema, text]
