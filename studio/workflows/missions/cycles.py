"""Cycles: tell what follows when all steps of a mission's cycle are over (W-48 to W-50).

It is pure: the run and its workflow alone decide. So a run that was killed goes on in its cycle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from studio.domain.boards import BoardTask
from studio.domain.jsonvalue import Json
from studio.domain.ledger import canonical_json, digest
from studio.domain.run_events import (
    CheckResult,
    CycleEnded,
    CycleStarted,
    RunEvent,
    RunFinished,
    RunPaused,
)
from studio.domain.runs import Run
from studio.domain.workflows import Workflow

from .check_scripts import changed_scripts
from .check_steps import results

IDLE_CYCLES = 3
"""Cycles without a change after which a mission is paused (W-50)."""
CHANGED = "All checks pass, but these files changed, which they run: {files}. Do they count?"
MOST_NAMED = 5
"""Changed files that are named."""
STALLED = "Three cycles changed no check, no task and no draft."


class Cycles:
    """The cycles of one run, if it is a mission.

    ``tasks`` are those on the board of the run, and ``scripts`` what is in those of its checks, as
    both are when a cycle ends.
    """

    def __init__(self, workflow: Workflow, run: Run) -> None:
        self._workflow, self._run = workflow, run
        self.tasks: Sequence[BoardTask] = ()
        self.scripts: Mapping[str, bytes | None] = {}

    @property
    def mission(self) -> bool:
        return bool(self._workflow.done_when)

    @property
    def most(self) -> int:
        """How many there may be, 0 for any number."""
        return self._run.most_cycles or self._workflow.budget.cycles

    @property
    def until(self) -> str:
        return self._run.until or self._workflow.budget.until

    def ends_cycle(self, events: Sequence[RunEvent]) -> bool:
        """Whether these events would be the end of a cycle."""
        ended = bool(events) and isinstance(events[-1], RunFinished)
        return self.mission and ended and len(self._run.cycles) < self._run.cycle

    def before_end(self, events: Sequence[RunEvent]) -> Sequence[RunEvent]:
        """What happens instead of these events: no mission ends before its checks pass."""
        run, end = self._run, events[-1] if events else None
        if not (self.mission and isinstance(end, RunFinished)) or end.state == "stopped":
            return events
        if len(run.cycles) < run.cycle:
            found = results(self._workflow, run)
            standing = _standing(found, run, self.tasks)
            parts = run.started.parts if run.started is not None else {}
            changed = changed_scripts(parts, self.scripts)
            return [*events[:-1], CycleEnded(run.cycle, found, standing, changed)]
        if run.cycles[-1].passed and self._doubtful:
            files = ", ".join(run.cycles[-1].changed[:MOST_NAMED])
            return [*events[:-1], RunPaused(CHANGED.format(files=files), "mission")]
        if run.cycles[-1].passed:
            count = len(run.cycles[-1].checks)
            checks = "The check passes." if count == 1 else f"All {count} checks pass."
            return [*events[:-1], replace(end, state="done", reason=checks)]
        if reason := self._why_not_on():
            return [*events[:-1], RunPaused(reason, "mission")]
        steps = tuple(step.id for step in self._workflow.steps)
        return [*events[:-1], CycleStarted(run.cycle + 1, steps)]

    def closes(self) -> float:
        """When the time of the day comes that the mission works until; 0 for never."""
        if not self.mission or not self.until:
            return 0.0
        woken = datetime.fromtimestamp(self._run.woken)
        hour, minute = map(int, self.until.split(":"))
        found = woken.replace(hour=hour, minute=minute, second=0, microsecond=0)
        if found <= woken:
            found += timedelta(days=1)
        return found.timestamp()

    @property
    def closed(self) -> str:
        """Why a mission is paused whose time has come."""
        return f"It is {self.until}, until when this mission may work."

    @property
    def _doubtful(self) -> bool:
        """Whether checks ran scripts that changed, and the person has not said that they count."""
        run = self._run
        return bool(run.cycles[-1].changed) and run.woken_after < len(run.cycles)

    def _why_not_on(self) -> str:
        """Why no further cycle begins; empty if one does."""
        run, most = self._run, self.most
        if most and run.cycle >= most:
            number = f"{most:,}"
            if most == 1:
                return "Your limit of 1 cycle is reached."
            return f"Your limit of {number} cycles is reached."
        return STALLED if self._stalled() else ""

    def _stalled(self) -> bool:
        """Whether the last cycles changed nothing, since the person let the mission go on."""
        nothing = [replace(one, passed=False) for one in results(self._workflow, Run())]
        standings = [_standing(nothing, Run(), ())]
        standings += [one.standing for one in self._run.cycles]
        awake = len(self._run.cycles) - self._run.woken_after
        return awake >= IDLE_CYCLES and len(set(standings[-IDLE_CYCLES - 1 :])) == 1


def _standing(found: Sequence[CheckResult], run: Run, tasks: Sequence[BoardTask]) -> str:
    """A digest of what checks, tasks and drafts are."""
    changed: list[Json] = [
        [change.step, change.item, file.path, file.after]
        for change in run.changes.values()
        for file in change.files
        if file.before != file.after
    ]
    checks: list[Json] = [[one.step, one.passed] for one in found]
    told: list[Json] = [[one.text, one.state == "done"] for one in tasks]
    return digest(canonical_json([checks, changed, told]))
