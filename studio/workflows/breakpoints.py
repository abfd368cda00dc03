"""Workflow breakpoints: where a run stops for the person (W-65)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from studio.domain.jsonvalue import Json
from studio.domain.run_events import (
    BreakpointReached,
    Moment,
    RetryPlanned,
    RunEvent,
    RunFinished,
    StepFinished,
)
from studio.domain.runs import Run
from studio.domain.workflows import Step

from .expressions import ExpressionError, NotRead
from .plan import Plan, Start


def begin_or_stop(plan: Plan, run: Run, starts: list[Start]) -> list[Start] | BreakpointReached:
    """Those of the tries that begin now, or where the run stops instead.

    What it has stopped before begins first; in a run that goes on step by step nothing else does.
    """
    if passed := [one for one in starts if _passed(run, one)]:
        return passed
    for start in starts:
        if (start.step.id, "before") not in run.breakpoints:
            continue
        if _stops(plan, run, start.step, "before", plan.values.names(run, start.step, start.item)):
            return _reached(start)
    if run.may_begin is None:
        return starts
    return starts[: run.may_begin] or _reached(starts[0])


def stop_after(plan: Plan, run: Run, events: Sequence[RunEvent]) -> BreakpointReached | None:
    """Where the run stops after these events, which it has applied."""
    again = {one.step for one in events if isinstance(one, RetryPlanned)}
    if any(isinstance(one, RunFinished) for one in events) or run.stopped is not None:
        return None
    for event in events:
        if not isinstance(event, StepFinished) or event.item or event.step in again:
            continue
        if event.state == "skipped" or (event.step, "after") not in run.breakpoints:
            continue
        step = plan.workflow.step(event.step)
        names = plan.values.names(run, step) | {"outputs": event.outputs}
        if _stops(plan, run, step, "after", names):
            reason = f"Stopped after {step.label}."
            return BreakpointReached(step.id, "", "after", reason)
    return None


def _passed(run: Run, start: Start) -> bool:
    return (start.step.id, start.item, run.round_of(start.step.id)) in run.passed


def _reached(start: Start) -> BreakpointReached:
    reason = f"Stopped before {start.step.label}."
    return BreakpointReached(start.step.id, start.item, "before", reason)


def _stops(plan: Plan, run: Run, step: Step, moment: Moment, names: Mapping[str, Json]) -> bool:
    """Whether there is a breakpoint whose condition holds, or cannot be computed."""
    when = run.breakpoints.get((step.id, moment))
    if when is None:
        return False
    try:
        return not when or bool(plan.values.compute(when, names))
    except (ExpressionError, NotRead):
        return True
