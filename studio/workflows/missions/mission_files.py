"""Mission files: the text that a mission runs by, of a workflow's file or an agent's (W-47)."""

from __future__ import annotations

import json

from studio.domain.agents import Agent, Caps
from studio.domain.errors import ConfigurationError
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.workflows import Budget, Workflow

WORK = "work"
"""The one step of a mission that is an agent."""
MOST_CYCLES, MOST_HOURS = 10_000, 1_000.0


def text_of_agent(agent: Agent) -> str:
    """The workflow that an agent's file is, if it has ``done_when``; raises ConfigurationError."""
    if not agent.done_when:
        raise ConfigurationError(f"The agent {agent.name} has no done_when, so it is no mission.")
    budget = dict(agent.budget)
    if isinstance(until := budget.get("until"), int):  # YAML reads 22:30 as a number
        budget["until"] = f"{until // 60:02}:{until % 60:02}"
    step: JsonObject = {"id": WORK, "agent": agent.name, "title": agent.name}
    step["prompt"] = "Go on with the mission."
    values: dict[str, Json] = {
        "name": agent.name,
        "description": agent.mission or agent.description or agent.name,
        "budget": budget,
        "done_when": list(agent.done_when),
        "steps": [step],
    }
    lines = [f"{key}: {json.dumps(value)}" for key, value in values.items() if value]
    return "\n".join(["---", *lines, "---", ""])


def mission_of(workflow: Workflow) -> str:
    """What a workflow has to reach, as its sessions are told; empty if it is no mission."""
    return (workflow.description or workflow.name) if workflow.done_when else ""


def require_cap(workflow: Workflow, caps: Caps, more: Budget) -> None:
    """Raise ConfigurationError for a mission that nothing would end (W-49)."""
    whole = workflow.budget
    capped = (
        *(caps.dollars, caps.tokens, whole.minutes, whole.cycles, whole.until),
        *(more.minutes, more.cycles, more.until),
    )
    if workflow.done_when and not any(capped):
        raise ConfigurationError(
            f"{workflow.name} is a mission and has no cap. Give it a budget in its file, or one of "
            "--dollars, --tokens, --cycles, --hours and --until."
        )
