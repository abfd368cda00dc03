"""Child runs: the runs of steps that are workflows themselves.

Each is a run of its own, stored together with the beginning of its step, and goes on where it was
after a restart.
"""

from __future__ import annotations

import uuid
from asyncio import to_thread
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from studio.agent.engine import Engine
from studio.domain.agents import Agent
from studio.domain.errors import ConfigurationError
from studio.domain.events import Exposed
from studio.domain.jsonvalue import Json
from studio.domain.run_events import Fault, RunStarted, StepFinished
from studio.domain.runs import Run
from studio.domain.workflows import NO_BUDGET, Step
from studio.storage.runs import NewRun, RunStore

from .expressions import as_words
from .kept_agents import RunParts
from .missions.mission_files import mission_of, require_cap
from .plan import Plan
from .run_files import RunFiles, group_of, read_text
from .step_work import seconds_of

MOST_DEEP = 8
"""Workflows in each other."""


class ChildRuns:
    """The runs below one run."""

    def __init__(self, engine: Engine, store: RunStore) -> None:
        self._files, self._parts = RunFiles(engine, store), RunParts(engine)

    async def planned(
        self,
        step: Step,
        inputs: Mapping[str, Json],
        above: Sequence[RunStarted],
        kept: Mapping[str, Agent],
    ) -> tuple[Plan, NewRun]:
        """The new run of a step; ``above`` are the runs that it is below, its parent first.

        Agents that its parent has ``kept`` it has like these.

        Raises ConfigurationError for a file that is missing, has mistakes or is one of theirs.
        """
        parent = above[0]
        folder = Path(parent.folder)
        path = await self._files.locate(step.target, folder)
        if str(path) in {one.source for one in above}:
            raise ConfigurationError(f"{path.name} would run itself: it is a step of its own.")
        if len(above) >= MOST_DEEP:
            raise ConfigurationError(f"Workflows may run each other {MOST_DEEP} deep at the most.")
        text = await to_thread(read_text, path)
        workflow = await self._files.checked(text, path.stem, str(path), folder)
        plan = Plan(workflow)
        if plan.circle:
            raise ConfigurationError(f"These steps wait for each other: {', '.join(plan.circle)}.")
        require_cap(workflow, workflow.budget.caps, NO_BUDGET)
        started = RunStarted(
            *(uuid.uuid4().hex, workflow.name, workflow.digest, str(path), parent.folder),
            inputs=await self._files.inputs(workflow, inputs, folder, parent.trigger),
            caps=workflow.budget.caps,
            provider=parent.provider,
            model=step.model or parent.model,
            permission_mode=parent.permission_mode,
            trigger="client" if parent.trigger == "client" else "manual",
            parent=parent.run_id,
            parent_step=step.id,
            subject=parent.subject,
            mission=mission_of(workflow),
        )
        group = group_of(plan, started)
        if group not in {one.group for one in above}:  # else they would wait for each other
            started = replace(started, group=group)
        parts = await self._parts.of(workflow, folder, kept)
        return plan, NewRun(replace(started, parts=parts.digests), text, parts.texts)

    async def open(self, run_id: str) -> tuple[Plan, Run]:
        """The run of a step that began before; raises StudioError."""
        return await self._files.open(run_id)


def outcome_of(step: Step, item: str, run: Run) -> StepFinished:
    """What came of a step whose run has its end."""
    assert run.end is not None
    faults: list[Fault] = [""]
    state = run.end.state
    if state == "stopped" and 0 < seconds_of(step) <= run.worked:
        state = "failed"
        faults = ["timeout"]
    elif state == "failed":
        faults = [one.last.fault for one in run.steps.values() if one.last and one.last.fault]
    exposed: dict[str, Exposed] = {}
    for one in run.steps.values():
        for found in one.last.exposed if one.last is not None else ():
            exposed.setdefault(found.exposure, found)
    values = list(run.end.outputs.values())
    return StepFinished(
        *(step.id, item, state, run.end.reason),
        text=as_words(values[0] if len(values) == 1 else run.end.outputs) if values else "",
        outputs=run.end.outputs,
        fault=faults[0] if faults else "error",
        tokens=run.tokens,
        dollars=run.dollars,
        seconds=run.changed - run.began,
        exposed=tuple(exposed.values()),
    )
