"""Agent lines: finds where the instructions of a step stand in the file of its agent (W-31).

A run keeps neither path nor line of an agent. It is told from the file as it is now, and only where
the agent is still the one that the run began with.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from studio.agent.engine import Engine
from studio.agent.folder_files import read_agent_file
from studio.domain.runs import Run

from .kept_agents import AGENT
from .workflow_runs import WorkflowRuns


@dataclass(frozen=True, slots=True)
class AgentFile:
    """The file of a step's agent: its path, its text, and the instructions in it."""

    path: Path
    text: str
    instructions: str


async def agent_files(runs: WorkflowRuns, engine: Engine, run: Run) -> dict[str, AgentFile]:
    """The files of the agents of a run's steps, by step, without those that changed since."""
    assert run.started is not None
    flow, folder = await runs.workflow_of(run), Path(run.started.folder)
    now = (await runs.parts.of(flow, folder)).digests
    agents = (await engine.agents(folder)).by_name
    found: dict[str, AgentFile] = {}
    for step in flow.steps:
        name = f"{AGENT}{step.target}"
        edit = run.edits.get(step.id)
        same = name in now and now[name] == run.started.parts.get(name)
        if step.kind != "agent" or not same or (edit is not None and edit.agent is not None):
            continue
        agent = agents[step.target]
        path = Path(agent.source)
        with suppress(OSError, ValueError):
            text = (await asyncio.to_thread(read_agent_file, path)).decode("utf-8-sig")
            found[step.id] = AgentFile(path, text.replace("\r\n", "\n"), agent.prompt)
    return found


def line_of(file: AgentFile, wanted: str, other: str) -> int:
    """The line of the file at which ``wanted`` begins to differ from ``other``.

    0 if it is not there, or more than once.

    Both are instructions as they were sent. Where they are the same it is the file's first line
    of these.
    """
    theirs = other.splitlines()
    first = next(
        (
            line
            for at, line in enumerate(wanted.splitlines())
            if line.strip() and (at >= len(theirs) or theirs[at] != line)
        ),
        "" if wanted != other else file.instructions.strip().partition("\n")[0],
    )
    at = file.text.rfind(file.instructions.strip())
    if not first or at < 0:
        return 0
    before = file.text[:at].count("\n")
    lines = file.text[at:].split("\n")
    return before + lines.index(first) + 1 if lines.count(first) == 1 else 0


def where(files: Mapping[str, AgentFile], step: str, first: str, second: str) -> tuple[str, int]:
    """“agents/coder.md” and the line at which a step's instructions differ; empty if unknown."""
    if (file := files.get(step)) is None:
        return "", 0
    line = line_of(file, second, first) or line_of(file, first, second)
    return ("/".join(file.path.parts[-2:]), line) if line else ("", 0)
