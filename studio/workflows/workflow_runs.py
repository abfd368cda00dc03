"""Workflow runs: finds workflows, begins their runs, and goes on with those that are stored."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from studio.agent.engine import Engine
from studio.agent.session.turn_options import ParentTurn
from studio.domain.agents import NO_CAPS, Caps
from studio.domain.errors import ConfigurationError, StudioError
from studio.domain.jsonvalue import Json
from studio.domain.run_events import (
    TAKEN_OVER,
    CapRaised,
    RunEvent,
    RunStarted,
    StepStarted,
    Trigger,
)
from studio.domain.runs import Run
from studio.domain.workflows import NO_BUDGET, Budget, Workflow
from studio.storage.runs import NewRun, RunInfo, RunInUse, RunStore

from .cap_offers import CapOffer, cap_offer
from .expressions import as_words
from .fork import ForkPlan, ForkRequest, plan_fork
from .kept_agents import RunParts, changes, kept_agents
from .missions.mission_files import mission_of, require_cap
from .open_run import OpenRun
from .plan import Plan
from .reader import read_workflow_text
from .run_files import RunFiles, group_of, read_text
from .runner import LOOK, Runner
from .step_sessions import StepSessions
from .step_work import YOU_STOPPED

PATIENCE = 20
"""How often it is looked whether another program has stopped a run."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run is begun. ``provider`` and ``model`` answer where a step names none.

    With a ``digest`` it begins only if that is the one of the file. ``subject`` is what it is
    about, ``called_by`` the session whose call ``call_id`` it is.
    """

    inputs: Mapping[str, Json]
    caps: Caps = NO_CAPS
    provider: str = ""
    model: str = ""
    permission_mode: str = ""
    trigger: Trigger = "manual"
    digest: str = ""
    subject: str = ""
    called_by: str = ""
    call_id: str = ""
    mission: str = ""
    """What has to be reached, where the file is a mission; empty for its own words."""
    more: Budget = NO_BUDGET
    """What the cycles of a mission may use beside ``caps``."""


class WorkflowRuns:
    """The runs of one program."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.database = engine.database
        self.store = RunStore(engine.database)
        self.files = RunFiles(engine, self.store)
        self.parts = RunParts(engine)
        self.locate, self.workflow_of = self.files.locate, self.files.workflow_of
        self.sessions = engine.store
        """Where the sessions of steps are stored."""

    async def start(
        self, path: Path, folder: Path, options: RunOptions, caller: ParentTurn | None = None
    ) -> Runner:
        """Begin a run of a workflow's file in a folder; ``carry_out`` does the rest.

        ``caller`` is the turn of an agent that begins it: the run may do no more.

        Raises ConfigurationError for a file with mistakes, and for inputs that do not fit.
        """
        text = await self.files.text(path, folder)
        return await self.start_text(text, path, folder, options, caller)

    async def start_text(
        self,
        text: str,
        path: Path,
        folder: Path,
        options: RunOptions,
        caller: ParentTurn | None = None,
    ) -> Runner:
        """Begin a run of a text, which counts as the one of the file ``path``; see ``start``."""
        workflow = await self.files.checked(text, path.stem, str(path), folder)
        if options.digest not in ("", workflow.digest):
            raise ConfigurationError(f"{path} was changed meanwhile.")
        inputs = await self.files.inputs(workflow, options.inputs, folder, options.trigger)
        plan = Plan(workflow)
        if plan.circle:
            raise ConfigurationError(f"These steps wait for each other: {', '.join(plan.circle)}.")
        require_cap(workflow, options.caps.within(workflow.budget.caps), options.more)
        started = RunStarted(
            *(uuid.uuid4().hex, workflow.name, workflow.digest, str(path), str(folder)),
            inputs=inputs,
            caps=options.caps.within(workflow.budget.caps),
            provider=options.provider,
            model=options.model,
            permission_mode=options.permission_mode,
            trigger=options.trigger,
            subject=options.subject,
            called_by=options.called_by,
            call_id=options.call_id,
            mission=(options.mission or mission_of(workflow)) if workflow.done_when else "",
        )
        parts = await self.parts.of(workflow, folder)
        started = replace(started, group=group_of(plan, started), parts=parts.digests)
        caps = options.more
        more = CapRaised(started.caps, "", caps.minutes, caps.cycles, caps.until)
        new = NewRun(started, text, parts.texts)
        return await self._begin(new, plan, () if caps == NO_BUDGET else (more,), caller)

    async def plan_fork(self, request: ForkRequest) -> ForkPlan:
        """What a fork of a run would link and run, to be shown before ``fork`` (W-30).

        Raises ConfigurationError where there is no such run, step or item, and for a file with
        mistakes.
        """
        run = await self.read(request.run_id)
        assert run.started is not None
        source, folder = Path(run.started.source), Path(run.started.folder)
        if not request.new_files:
            text = await self.store.text(run.started.digest)
            return plan_fork(run, self.files.read(text, run.started), text, request)
        text = await asyncio.to_thread(read_text, source)
        workflow = await self.files.checked(text, source.stem, str(source), folder)
        return plan_fork(run, workflow, text, request)

    async def fork(self, plan: ForkPlan) -> Runner:
        """Begin a fork as planned; ``carry_out`` does the rest. The run before never changes."""
        begun: list[str] = []
        try:
            (new, more), *below = await self._forked(plan, begun)
            return await self._begin(new, Plan(plan.workflow), more, below=below)
        except BaseException:  # no session stays whose run has not begun
            for session_id in begun:
                with suppress(StudioError):
                    await self._engine.sessions.delete(session_id)
            raise

    async def _forked(
        self, plan: ForkPlan, begun: list[str]
    ) -> list[tuple[NewRun, Sequence[RunEvent]]]:
        """The new run of a fork and those below it that go on, each with what follows at once.

        ``begun`` gets the ids of the sessions that go on in them.
        """
        parts = await self.parts.of(plan.workflow, Path(plan.started.folder))
        new = NewRun(replace(plan.started, parts=parts.digests), plan.text, parts.texts)
        sessions, starts = StepSessions(self._engine, plan.started), list[StepStarted]()
        below: list[tuple[NewRun, Sequence[RunEvent]]] = []
        for one in plan.half_done:
            if one.below is not None:
                below += await self._forked(one.below, begun)
                run_id = one.below.started.run_id
                starts.append(StepStarted(one.step, one.item, run_id=run_id))
                continue
            session = await sessions.create(plan.workflow.step(one.step), one.messages)
            begun.append(session.info.id)
            starts.append(StepStarted(one.step, one.item, session_id=session.info.id))
        return [(new, (*plan.events, *starts)), *below]

    async def retry(self, run_id: str) -> Runner:
        """Do the failed items of a run once more (W-54).

        In the run itself where their step is not over, else in a fork of it, which links what was
        done. Raises ConfigurationError for a run without failed items.
        """
        run = await self.read(run_id)
        failed = [step for step, tally in run.tallies.items() if tally.failed]
        if not failed:
            raise ConfigurationError("No item of this run failed.")
        if run.end is not None or run.step(failed[0]).over:
            return await self.fork(await self.plan_fork(ForkRequest(run_id, failed[0])))
        runner = await self.open(run_id)
        for step in failed:
            await runner.retry_failed(step)
        return runner

    async def _begin(
        self,
        new: NewRun,
        plan: Plan,
        more: Sequence[RunEvent] = (),
        caller: ParentTurn | None = None,
        below: Sequence[tuple[NewRun, Sequence[RunEvent]]] = (),
    ) -> Runner:
        run, now = Run(), time.time()
        run.apply(now, await self.store.create(new, now, more, below))
        for event in more:
            run.apply(now, event)
        return Runner(OpenRun(self._engine, self.store, plan, run, caller=caller))

    async def read(self, run_id: str) -> Run:
        """The state of a stored run; raises ConfigurationError if there is no such run."""
        run = Run(await self.store.events(run_id))
        if run.started is None:
            raise ConfigurationError(f"There is no run {run_id}.")
        return run

    async def delete(self, run_id: str) -> None:
        """Delete a run with all that belongs to it: its sessions, and what they recorded.

        Raises RunInUse while another program carries it out.
        """
        run = await self.read(run_id)
        await self.store.claim(run_id)
        for below in {made.run_id for one in run.steps.values() for made in one.tries} - {""}:
            await self.delete(below)
        await self._engine.sessions.delete_begun(run_id)
        await self.store.delete(run_id)

    async def open(self, run_id: str) -> Runner:
        """Go on with a stored run, by the file as it was when the run began (W-13).

        Raises RunInUse if another program carries it out, and ConfigurationError for the run of
        a step: without the run above, whose caps hold for it too, it does not go on (W-20).
        """
        started = (await self.read(run_id)).started
        if started is not None and started.parent:
            above = started.parent[:8]
            raise ConfigurationError(f"{run_id[:8]} is a step of the run {above}: use that one.")
        return Runner(OpenRun(self._engine, self.store, *await self.files.open(run_id)))

    async def stop(self, run_id: str) -> Run:
        """End a stored run with all that belongs to it, also one that another program carries out.

        That takes up to a second; raises RunInUse if the program does not answer.
        """
        try:
            runner = await self.open(run_id)
        except RunInUse:
            await self.store.want_stop(run_id, YOU_STOPPED)
            for _ in range(PATIENCE):
                if (run := await self.read(run_id)).end is not None:
                    return run
                await asyncio.sleep(LOOK)
            await self.store.want_stop(run_id, "")
            raise
        try:
            await runner.stop()
        finally:
            await self.close(runner)
        return runner.run

    async def close(self, runner: Runner) -> None:
        """Let other programs carry out a run, with those below it."""
        for run_id in runner.run_ids:
            await self.store.release(run_id)

    async def wish(self, run_id: str, event: RunEvent) -> None:
        """Have a run do what the person wants: here, or in the program that carries it out.

        ``event`` is one that says it. Raises ConfigurationError for a run that is over.
        """
        run = await self.read(run_id)
        if run.end is not None:
            raise ConfigurationError(f"The run {run_id[:8]} is {run.state} already.")
        try:
            runner = await self.open(run_id)
        except RunInUse:
            await self.store.wish(run_id, event)
            return
        try:
            await runner.grant(event)
        finally:
            await self.close(runner)

    async def take_over(self, run_id: str) -> str:
        """Pause a mission, and make a chat of its last session, which is returned by its id.

        What the mission changed waits there as drafts. Raises RunInUse while another program
        carries it out, and ConfigurationError where no session has begun.
        """
        runner = await self.open(run_id)
        try:
            await runner.pause(TAKEN_OVER)
            return await runner.as_chat()
        finally:
            await self.close(runner)

    async def cap_offer(self, run: Run) -> CapOffer | None:
        """What a run that is paused at a cap may be given more of; None where there is no such cap.

        Raises ConfigurationError where its workflow cannot be read.
        """
        return await cap_offer(self.files, self.store, run, await self.workflow_of(run))

    async def changes(self, run: Run) -> list[str]:
        """What has changed since a run began: its file, and its agents and tools (W-13)."""
        started = run.started
        if started is None:
            return []
        found: list[str] = []
        if started.source and not await self._is_same(started):
            found.append("The workflow’s file has changed since. The run goes on without that.")
        now = await self.parts.of(await self.workflow_of(run), Path(started.folder))
        kept = await kept_agents(self.store, started.parts)
        return found + changes(started.parts, now.digests, kept)

    async def _is_same(self, started: RunStarted) -> bool:
        """Whether a run's file is there, and as it was."""
        try:
            text = await self.files.text(Path(started.source), Path(started.folder))
        except ConfigurationError:
            return False
        found = read_workflow_text(text).workflow
        return found is not None and found.digest == started.digest

    async def find(self, start: str) -> RunInfo:
        """The one run whose id begins so; raises ConfigurationError if there is not one."""
        found = await self.store.list(2, start) if start else []
        if len(found) != 1:
            many = "more than one run" if found else "no run"
            raise ConfigurationError(f"There is {many} with an id that begins with {start}.")
        return found[0]


def answer_of_run(workflow: Workflow, run: Run) -> str:
    """The outputs of a run that is over; without outputs, what its last step said."""
    assert run.end is not None
    outputs = run.end.outputs
    if len(outputs) == 1:
        (value,) = outputs.values()
        return "" if value is None else as_words(value)
    if outputs:
        return json.dumps(outputs, ensure_ascii=False, indent=2)
    said = [run.step(step.id) for step in workflow.steps]
    return next((one.text for one in reversed(said) if one.state == "done" and one.text), "")
