"""Live steps: plans the run that does live what a replay found missing, and links the rest (W-28).

A step goes on after the last of its requests that has the same answer again, as if the program had
been killed there; so only the requests that are missing, and those behind them, are sent. A step
that is a workflow goes on in its own run, which is filled from its own record in the same way.

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
from .child_runs import outcome_of
from .fork import ForkPlan, ForkRequest, StepHalfDone, StepToRun, plan_fork
from .missions.check_steps import with_checks
from .plan import Plan
from .reader import read_workflow_text
from .replay import NOT_ENDED, ReplayReport
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
    """The fork that runs what a replay found missing, and links the rest.

    A step that has not run to its end runs in any fork; its items that are done do not.
    """
    again = (key for key, why in report.missing.items() if why != NOT_ENDED)
    return ForkRequest(run_id, also=tuple(again))


def half_done(plan: ForkPlan, report: ReplayReport, *, strange: bool = False) -> ForkPlan:
    """The plan with the steps that go on where the record ends, not at their beginning.

    What a step needs has to be as it was then. The conversation goes on before the first call that
    changed something: that is made in the person's folder. ``strange``: the record is a bundle's.
    """
    found: list[StepHalfDone] = []
    for (step, item), (session, answered) in report.answered.items():
        if not _goes_on(plan, step, item):
            continue
        events, answers = _before_change(session.events, answered)
        messages = with_distinct_calls(all_messages(Transcript(events).blocks))
        if answers and messages[-1].role == "user":
            found.append(StepHalfDone(step, item, answers, messages))
    to_run = {one.step.id: one for one in plan.to_run}
    for (step, item), (record, its) in report.below.items():
        if not _goes_on(plan, step, item):
            continue
        below = _plan_below(plan.started, step, record, its, strange=strange)
        if below is not None:
            found.append(StepHalfDone(step, item, below=below))
            to_run[step] = _costs(to_run[step], Run(record.events), below)
    return replace(plan, to_run=tuple(to_run.values()), half_done=tuple(found))


def _goes_on(plan: ForkPlan, step: str, item: str) -> bool:
    """Whether a step or item runs, and all that it needs is as it was."""
    runs = {one.step.id: one.items for one in plan.to_run}
    if step not in runs or Plan(plan.workflow).every[step] & runs.keys():
        return False
    return item in runs[step] if item else not runs[step]


def _plan_below(
    above: RunStarted, step: str, record: RecordedRun, report: ReplayReport, *, strange: bool
) -> ForkPlan | None:
    """The run of a step, by its own record; None for a mission, which runs as a whole."""
    run = Run(record.events)
    if strange:
        (at, _), *others = record.events
        run = Run([(at, started_in(record, Path(above.folder))), *others])
        miss_changes(record, report)
    assert run.started is not None
    found = read_workflow_text(record.workflow, run.started.name, run.started.source).workflow
    if found is None or found.done_when:
        return None
    request = fork_to_fill(run.id, report)
    plan = plan_fork(run, with_checks(found), record.workflow, request)
    caller = {"parent": above.run_id, "parent_step": step, "trigger": "manual"}
    plan = replace(plan, started=replace(plan.started, **caller))
    if strange:
        plan = _from_stranger(plan)
    return half_done(plan, report, strange=strange)


def _costs(one: StepToRun, run: Run, below: ForkPlan) -> StepToRun:
    """A step to run, of whose run only a part runs again."""
    whole = outcome_of(one.step, "", run)
    tokens = one.tokens - whole.tokens + below.tokens
    dollars = one.dollars - (whole.dollars or 0.0) + below.dollars
    return replace(one, tokens=max(tokens, 0), dollars=max(dollars, 0.0))


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
    group = group_of(Plan(plan.workflow), plan.started)
    plan = _from_stranger(replace(plan, started=replace(plan.started, group=group)))
    plan = half_done(plan, report, strange=True)
    for agent in set(_agents(plan)):
        await engine.agent(agent, folder)
    return plan


def _from_stranger(plan: ForkPlan) -> ForkPlan:
    """The fork of a bundle's run: what is linked counts as a stranger's."""
    strange = Exposed("untrusted", "bundle")
    events = tuple(
        replace(one, session_id="", exposed=(*one.exposed, strange))
        if isinstance(one, StepLinked)
        else one
        for one in plan.events
        if not isinstance(one, StepChanged)  # its paths and contents would be a stranger's
    )
    return replace(plan, events=events)


def _agents(plan: ForkPlan) -> Iterator[str]:
    """The agents that work in a fork, and in the runs below it that go on."""
    for one in plan.to_run:
        if one.step.kind == "agent":
            yield one.step.target
    for half in plan.half_done:
        if half.below is not None:
            yield from _agents(half.below)


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
