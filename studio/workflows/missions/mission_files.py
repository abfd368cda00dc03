"""Mission files: the text that a mission runs by, of a workflow's file or an agent's (W-47)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

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
    if "until" in budget:
        budget["until"] = _until(agent)
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


def _until(agent: Agent) -> Json:
    until = agent.budget.get("until")
    if isinstance(until, int):  # YAML reads 22:30 as a number
        return f"{until // 60:02}:{until % 60:02}"
    return until


def budget_of(agent: Agent) -> Budget:
    """What its file lets a mission of an agent use; 0 where that is no number."""

    def number(key: str) -> float:
        value = agent.budget.get(key)
        return float(value) if isinstance(value, int | float) else 0.0

    caps = Caps(int(number("tokens")), number("dollars"))
    minutes = number("minutes") + number("hours") * 60
    return Budget(caps, minutes, int(number("cycles")), str(_until(agent) or ""))


def check_names(agent: Agent) -> list[str]:
    """What the checks of an agent's file are called, or look at."""
    keys = ("title", "run", "file", "check", "grader")
    return [str(next(filter(None, map(one.get, keys)), "")) for one in agent.done_when]


def with_mission(agent: Agent, mission: str, checks: Sequence[JsonObject], budget: Budget) -> Agent:
    """An agent as the person gives it a mission: more checks, and these limits alone."""
    values: dict[str, Json] = {
        "dollars": budget.caps.dollars,
        "tokens": budget.caps.tokens,
        "minutes": budget.minutes,
        "cycles": budget.cycles,
        "until": budget.until,
    }
    given = {key: value for key, value in values.items() if value}
    done_when = (*agent.done_when, *checks)
    return replace(agent, mission=mission, done_when=done_when, budget=given)


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
