"""Workflow plan: tells from a workflow and the state of its run what happens next.

It is pure: it neither waits nor runs anything. What it decides by itself comes as events, so that
a run that is read again from its events goes on as it would have (W-14, W-15).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from studio.domain.items import MANY
from studio.domain.run_events import (
    MERGE,
    ItemsFound,
    RetryPlanned,
    RunEvent,
    RunFinished,
    StepFinished,
    StepQueued,
    StepsRedone,
)
from studio.domain.runs import Run, StepRun
from studio.domain.workflows import Step, Workflow

from .expressions import ExpressionError, Reads
from .graph import all_needs, direct_needs, find_circle
from .items.sources import read_call
from .missions.check_steps import why_not_looked
from .step_values import StepValues

PARALLEL = 8
"""Steps and items that run at a time where the workflow says nothing."""
PROVIDER_WAIT, LONGEST_WAIT = 30.0, 900.0
"""Seconds after which a mission tries a provider again, which grow with each try."""
INSTANT = ("set", "check", "approve", "ask")
"""Steps that take no time of the computer, and so no place."""


@dataclass(frozen=True, slots=True)
class Start:
    """A step, or one of its items, that may start now. ``attempt`` counts in its round."""

    step: Step
    item: str = ""
    attempt: int = 1

    @property
    def key(self) -> tuple[str, str]:
        return self.step.id, self.item


@dataclass(slots=True)
class Decision:
    """What happens next: ``events`` first; where there are none, ``starts`` may start.

    ``stops`` are running steps and items that have to end, because the run ends or another item
    failed. ``queues`` are steps whose items have to be found first: they may be many. ``due`` is
    when the next try is, in seconds since the epoch, 0 for none.
    """

    events: list[RunEvent] = field(default_factory=list[RunEvent])
    starts: list[Start] = field(default_factory=list[Start])
    stops: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    queues: list[Step] = field(default_factory=list[Step])
    due: float = 0.0


class Plan:
    """The plan of one workflow. ``reads`` are the functions of expressions that read files."""

    def __init__(self, workflow: Workflow, reads: Mapping[str, Reads] | None = None) -> None:
        self.follow(workflow, reads)

    def follow(self, workflow: Workflow, reads: Mapping[str, Reads] | None) -> None:
        """Go by this workflow from now on: the person may change the file of a run (W-65)."""
        self.workflow = workflow
        self.needs = direct_needs(workflow)
        self.every = all_needs(self.needs)
        self.values = StepValues(workflow, self.every, reads)
        self._steps = {step.id: step for step in workflow.steps}
        self._mission = bool(workflow.done_when)
        self._handles: dict[str, tuple[str, ...]] = {}
        """The steps whose failure a step is for (``on_error``)."""
        for step in workflow.steps:
            if step.on_error in self._steps:
                handled = self._handles.get(step.on_error, ())
                self._handles[step.on_error] = (*handled, step.id)
        waits = {id: (*needs, *self._handles.get(id, ())) for id, needs in self.needs.items()}
        self._waits = {id: frozenset(names) for id, names in waits.items()}
        """What has to be over before each step may begin or is left out."""
        self.circle = find_circle(waits)
        """Steps that wait for each other, so that the run would never end; or none."""
        self._after = all_needs(waits)

    def next(self, run: Run, now: float) -> Decision:
        """What happens next at this time, in seconds since the epoch."""
        decision = Decision()
        if run.end is not None or run.paused is not None:
            return decision
        if failed := self._failure(run):
            self._wind_up(run, failed, decision)
        else:
            places = _Places(self.workflow, run)
            over = {id for (id, item), one in run.steps.items() if not item and one.over}
            for step in self.workflow.steps:
                if step.id not in over and self._waits[step.id] <= over:
                    self._step(run, step, now, places, decision)
        if decision.events:
            decision.starts.clear()
        elif all(run.step(step.id).over for step in self.workflow.steps):
            decision.events.append(self._end(run, failed))
        return decision

    def finished(self, run: Run, finish: StepFinished, now: float) -> list[RunEvent]:
        """The end of a try with what follows from it: another try, or a way back to a step.

        ``run`` has the try, and not its end.
        """
        step, last = self._steps[finish.step], run.step(finish.step, finish.item).last
        retry, away = step.retry, finish.fault == "provider"
        if away and self._mission and finish.state == "failed":  # that costs no cycle (W-49)
            tried = min(last.attempt if last is not None else 1, 10)
            wait = min(PROVIDER_WAIT * 2 ** (tried - 1), LONGEST_WAIT)
            return [finish, RetryPlanned(finish.step, finish.item, now + wait)]
        if (
            retry is not None
            and finish.state == "failed"
            and ("error" if away else finish.fault) in retry.on
            and last is not None
            and last.attempt <= retry.most
        ):
            wait = retry.wait * retry.backoff ** (last.attempt - 1)
            return [finish, RetryPlanned(finish.step, finish.item, now + wait)]
        redo, whole = step.redo, not finish.item
        judged = finish.state == "done" or (step.kind == "check" and finish.state == "failed")
        if (
            redo is None
            or not whole
            or not judged
            or not self.values.goes_back(run, step, finish.outputs)
        ):
            return [finish]
        if run.redone.get(step.id, 0) >= redo.most:
            times = "once" if redo.most == 1 else f"{redo.most} times"
            reason = f"It went back to {redo.start} {times}, and “{redo.when}” still holds."
            return [replace(finish, state="failed", fault="limit", reason=reason)]
        return [finish, StepsRedone(redo.start, step.id, self.behind(redo.start))]

    def behind(self, start: str) -> tuple[str, ...]:
        """A step and all that need it, in the order of the file."""
        found = (one.id for one in self.workflow.steps if start in self._after[one.id])
        return tuple(dict.fromkeys((start, *found)))

    # One step

    def _step(self, run: Run, step: Step, now: float, places: _Places, decision: Decision) -> None:
        whole = run.step(step.id)
        if step.id in run.items:
            self._items(run, step, now, places, decision)
            return
        if whole.state == "waiting":
            skip = self._why_not(run, step)
            if skip is None:
                return
            if skip:
                decision.events.append(StepFinished(step.id, "", "skipped", skip))
                return
            try:
                if step.condition and not self.values.compute(
                    step.condition, self.values.names(run, step)
                ):
                    reason = f"“{step.condition}” is not true."
                    decision.events.append(StepFinished(step.id, "", "skipped", reason))
                    return
                if (step.for_each or step.matrix) and step.id not in run.tallies:
                    self._find_items(run, step, decision)
                    return
            except ExpressionError as error:
                decision.events.append(_failed(step.id, str(error)))
                return
        self._start(run, step, "", now, places, decision)

    def _find_items(self, run: Run, step: Step, decision: Decision) -> None:
        """Find the items of a step, or leave that to the runner; raises ExpressionError."""
        if step.kind == "agent" and (step.via == "batch" or read_call(step) is not None):
            decision.queues.append(step)
            return
        items = self.values.items(run, step)
        if step.kind == "agent" and len(items) > MANY:
            decision.queues.append(step)
        else:
            decision.events.append(ItemsFound(step.id, items))

    def _why_not(self, run: Run, step: Step) -> str | None:
        """Why a step is left out; empty if it may start, None if it has to wait."""
        handles = self._handles.get(step.id, ())
        for name in dict.fromkeys((*handles, *self.needs[step.id])):
            if not run.step(name).over:
                return None
        if handles and not any(run.step(name).state == "failed" for name in handles):
            return f"Nothing failed in {' and '.join(handles)}."
        if step.proves is not None:  # checks are looked at, whatever became of the cycle
            return why_not_looked(self.workflow, run, step)
        for name in self.needs[step.id]:
            other = self._steps[name]
            state = run.step(name).state
            goes_on = state == "failed" and (other.on_error == "continue" or name in handles)
            if state != "done" and not goes_on:
                return f"It needs {other.label}, which {_WORDS[state]}."
        return ""

    def _start(
        self, run: Run, step: Step, item: str, now: float, places: _Places, decision: Decision
    ) -> None:
        """Start a step or an item if it waits for nothing but a place, and there is one."""
        one = run.step(step.id, item)
        if one.state not in ("waiting", "queued") or step.id in run.held:
            return
        if one.due > now:
            decision.due = min(filter(None, (decision.due, one.due)))
            return
        if places.take(step):
            last, round = one.last, run.round_of(step.id)
            again = last is not None and last.round == round
            decision.starts.append(Start(step, item, last.attempt + 1 if again and last else 1))
        elif one.state == "waiting" and not item:
            decision.events.append(StepQueued(step.id))

    def _items(self, run: Run, step: Step, now: float, places: _Places, decision: Decision) -> None:
        keys = run.items[step.id]
        parts = [run.step(step.id, key) for key in keys]
        failed = [one for one in parts if one.state == "failed"]
        if failed and step.fail_fast:
            busy = [(one.step, one.item) for one in run.busy]
            decision.stops += [key for key in busy if key[0] == step.id]
            if decision.stops:
                return
        elif not all(one.over for one in parts):
            for key in keys:
                self._start(run, step, key, now, places, decision)
            return
        finish = StepFinished(step.id)
        if failed:
            reason = f"{len(failed)} of {len(keys)} items failed: {failed[0].reason}"
            fault = failed[0].last.fault if failed[0].last is not None else "error"
            finish = replace(finish, state="failed", reason=reason, fault=fault)
        elif stopped := [one for one in parts if one.state == "stopped"]:
            finish = replace(finish, state="stopped", reason=stopped[0].reason)
        decision.events += self.finished(run, finish, now)

    # The end

    def _failure(self, run: Run) -> StepRun | None:
        """The first failed step that stops the run; none stops a mission, whose checks do."""
        for step in () if self._mission else self.workflow.steps:
            if step.on_error == "stop" and (one := run.step(step.id)).state == "failed":
                return one
        return None

    def _wind_up(self, run: Run, failed: StepRun, decision: Decision) -> None:
        """Leave out what has not started, and end what runs."""
        reason = f"The run stopped at {self._steps[failed.step].label}."
        keys = ((one.step, one.item) for one in run.busy)
        decision.stops += [key for key in keys if key != (MERGE, "")]  # what was done is kept
        busy = {step for step, _ in decision.stops}
        for step in self.workflow.steps:
            one = run.step(step.id)
            if step.id not in busy and not one.over:
                begun = step.id in run.items or one.due > 0
                state = "stopped" if begun else "skipped"
                decision.events.append(StepFinished(step.id, "", state, reason))

    def _end(self, run: Run, failed: StepRun | None) -> RunFinished:
        if failed is not None:
            reason = f"{self._steps[failed.step].label}: {failed.reason}"
            return RunFinished("failed", reason, self.values.outputs(run))
        found = [run.step(step.id) for step in self.workflow.steps]
        if stopped := [one for one in found if one.state == "stopped"]:
            label = self._steps[stopped[0].step].label
            return RunFinished("stopped", f"{label}: {stopped[0].reason}", self.values.outputs(run))
        passed_over = [self._steps[one.step].label for one in found if one.state == "failed"]
        reason = f"Failed, and passed over: {', '.join(passed_over)}." if passed_over else ""
        return RunFinished("done", reason, self.values.outputs(run))


_WORDS = {"failed": "failed", "skipped": "was left out", "stopped": "was stopped"}


class _Places:
    """The places for steps and items that are still free."""

    def __init__(self, workflow: Workflow, run: Run) -> None:
        self._free = workflow.max_parallel or PARALLEL
        self._of_step = {step.id: step.max_parallel for step in workflow.steps if step.max_parallel}
        kinds = {step.id: step.kind for step in workflow.steps}
        for one in run.busy:
            if one.state == "running" and kinds.get(one.step) not in INSTANT:
                self._count(one.step)

    def take(self, step: Step) -> bool:
        """Take a place for a step or an item of it, if there is one."""
        if step.kind in INSTANT:
            return True
        if self._free <= 0 or self._of_step.get(step.id, 1) <= 0:
            return False
        self._count(step.id)
        return True

    def _count(self, step: str) -> None:
        self._free -= 1
        if step in self._of_step:
            self._of_step[step] -= 1


def _failed(step: str, reason: str) -> StepFinished:
    return StepFinished(step, "", "failed", reason, fault="invalid")
