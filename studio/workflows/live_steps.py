"""Live steps: plans the run that does live what a replay found missing, and links the rest (W-28).

A step goes on after the last of its requests that has the same answer again, as if the program had
been killed there; so only the requests that are missing, and those behind them, are sent.

Of a bundle that run is a new one in a folder of the person's. What steps did to their folder is in
no bundle, so those that changed something run too. Its words count as a stranger's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeGuard

from studio.agent.engine import Engine
from studio.domain.blocks import ToolBlock, TranscriptBlock, all_messages
from studio.domain.errors import ConfigurationError
from studio.domain.events import Event, Exposed, StepEnded, StepStarted, ToolQueued
from studio.domain.messages import with_distinct_calls
from studio.domain.run_events import RunStarted, StepChanged, StepLinked
from studio.domain.runs import Run
from studio.domain.transcript import Transcript

from .bundle import RecordedRun
from .fork import ForkPlan, ForkRequest, StepHalfDone, plan_fork
from .plan import Plan
from .replay import ReplayReport
from .run_files import group_of
from .workflow_runs import WorkflowRuns

CHANGED = "What it did to its folder is in no bundle."


def started_in(record: RecordedRun, folder: Path) -> RunStarted:
    """How a bundle's run begins in a folder of the person's; raises ConfigurationError.

    Nothing that its file says of rights, or of where it was, counts there.
    """
    started = Run(record.events).started
    if started is None:
        raise ConfigurationError("This run has no beginning.")
    return replace(
        started,
        folder=str(folder),
        source="",
        permission_mode="",
        trigger="manual",
        parent="",
        parent_step="",
        group="",
        subject="",
        called_by="",
        call_id="",
    )


def fork_to_fill(run_id: str, report: ReplayReport) -> ForkRequest:
    """The fork that runs what a replay found missing, and links the rest."""
    return ForkRequest(run_id, also=tuple(report.missing))


def half_done(plan: ForkPlan, report: ReplayReport) -> ForkPlan:
    """The plan with the steps that go on where the record ends, not at their beginning.

    What a step needs has to be as it was then. The conversation goes on before the first call that
    changed something: that is made in the person's folder.
    """
    runs = {one.step.id: one for one in plan.to_run}
    every = Plan(plan.workflow).every
    found: list[StepHalfDone] = []
    for (step, item), (session, answered) in report.answered.items():
        one = runs.get(step)
        if (
            one is None
            or every[step] & runs.keys()
            or (item not in one.items if item else one.items)
        ):
            continue
        events, answers = _before_change(session.events, answered)
        messages = with_distinct_calls(all_messages(Transcript(events).blocks))
        if answers and messages[-1].role == "user":
            found.append(StepHalfDone(step, item, answers, messages))
    return replace(plan, half_done=tuple(found))


def _before_change(events: Sequence[Event], answered: int) -> tuple[Sequence[Event], int]:
    """The events up to the request after these, and how many answers are in them."""
    changing = {one.call_id for one in Transcript(events).blocks if _changes(one)}
    end = answers = ended = 0
    for at, event in enumerate(events):
        if isinstance(event, StepStarted) and ended <= answered:
            end, answers = at, ended
        elif isinstance(event, StepEnded) and not event.beside:
            ended += 1
        elif isinstance(event, ToolQueued) and event.call_id in changing:
            break
    return events[:end], answers


def _changes(block: TranscriptBlock) -> TypeGuard[ToolBlock]:
    """Whether a call may have changed something."""
    return isinstance(block, ToolBlock) and block.started and block.effect in ("draft", "act")


def miss_changes(record: RecordedRun, report: ReplayReport) -> None:
    """Have the steps of a bundle run live that changed something."""
    for step, item in _changed(record):
        report.missing.setdefault((step, item), CHANGED)


async def plan_of_bundle(
    engine: Engine, record: RecordedRun, report: ReplayReport, folder: Path
) -> ForkPlan:
    """The run that fills a bundle, in a folder.

    Raises ConfigurationError also where an agent that it needs is not there.
    """
    started = started_in(record, folder)
    (at, _), *others = record.events
    run = Run([(at, started), *others])
    if run.end is None:
        raise ConfigurationError("This run was not over when it was exported. Export it again.")
    workflow = WorkflowRuns(engine).files.read(record.workflow, started)
    plan = plan_fork(run, workflow, record.workflow, fork_to_fill(run.id, report))
    for one in plan.to_run:
        if one.step.kind == "agent":
            await engine.agent(one.step.target, folder)
    strange = Exposed("untrusted", "bundle")
    events = tuple(
        replace(one, session_id="", exposed=(*one.exposed, strange))
        if isinstance(one, StepLinked)
        else one
        for one in plan.events
        if not isinstance(one, StepChanged)  # its paths and contents would be a stranger's
    )
    group = group_of(Plan(plan.workflow), plan.started)
    plan = replace(plan, started=replace(plan.started, group=group), events=events)
    return half_done(plan, report)


def _changed(record: RecordedRun) -> Iterator[tuple[str, str]]:
    """The steps and items that changed something, or whose run did."""
    sessions = {one.id: one for one in record.sessions}
    below = {Run(one.events).id: one for one in record.below}
    own = Run(record.events)
    yield from (key for key, one in own.changes.items() if one.files)
    for (step, item), one in own.steps.items():
        for made in one.tries:
            session, run = sessions.get(made.session_id), below.get(made.run_id)
            blocks = Transcript(session.events).blocks if session is not None else ()
            acted = any(map(_changes, blocks))
            if step and (acted or (run is not None and any(_changed(run)))):
                yield step, item
                break
