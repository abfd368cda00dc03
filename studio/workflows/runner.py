"""Workflow runner: carries out one run, step by step, as its plan says.

What is to be done next follows from the plan and the state of the run alone. So a run that was
killed goes on from its events (W-15).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from studio.domain.errors import StudioError
from studio.domain.run_events import (
    MERGE,
    BreakpointReached,
    CapReached,
    RunEvent,
    RunPaused,
    RunQuestion,
    RunQueued,
    StepAnswered,
    StepAsked,
    StepFinished,
    StepResumed,
    StepsRedone,
    StepStarted,
)
from studio.domain.runs import Run, StepKey, StepRun
from studio.domain.workflows import Step
from studio.storage.connection import Unwritable
from studio.storage.runs import NewRun

from .breakpoints import begin_or_stop
from .child_runs import outcome_of
from .expressions import ExpressionError
from .kept_agents import kept_agents
from .open_run import OpenRun
from .plan import INSTANT, Plan, Start
from .run_accounts import out_of_time
from .step_work import (
    YOU_STOPPED,
    Held,
    Interrupted,
    Outcome,
    Waiting,
    failed_start,
)

LOOK = 0.5
"""Seconds after which a run looks again at what other programs do."""


class Runner:
    """Carries out an open run. Its methods are called on the event loop.

    What the person does to the run, the open run does: it can be done without carrying it out.
    """

    def __init__(self, of: OpenRun) -> None:
        self._of, self.run, self.plan = of, of.run, of.plan
        self.attended = True
        """Whether a person is there to answer. Else ``carry_out`` ends when all waits for one."""
        self.yes = False
        """Whether the person has said yes to the items after a sample before it was asked."""
        self.subscribe = of.subscribe
        self.pause, self.resume, self.stop = of.pause, of.resume, of.stop
        self.hold, self.release, self.answer, self.steer = of.hold, of.release, of.answer, of.steer
        self.leave_out = of.leave_out
        self.raise_cap, self.retry_failed = of.raise_cap, of.items.retry_failed
        self.grant, self.debug, self.as_chat = of.grant, of.debug, of.as_chat
        self._below: dict[StepKey, Runner] = {}
        """Those of steps that are runs, while they are carried out."""
        self._closing = False

    @property
    def run_ids(self) -> list[str]:
        """This run and those below it that are open here."""
        return self._of.run_ids

    async def carry_out(self) -> Run:
        """Run until the run has its end, is paused, or nothing but a person can move it on.

        Raises StudioError where its events cannot be stored. If it is cancelled, the run stays as
        it is and goes on when it is carried out again.
        """
        of, self._closing = self._of, False
        of.sessions.kept = await kept_agents(of.store, of.started.parts)
        of.engine.telemetry.run_began(self.run)
        unsubscribe = of.engine.sessions.events.subscribe(of.questions.hear)
        watching = asyncio.create_task(self._watch_for_wishes())
        try:
            await self._wait_for_group()
            await of.book_used()
            for one, question in tuple(self.run.questions):
                if self.agrees_with(StepAsked(*one.key, question)):
                    await self.answer(question.id, question.choices[0])
            while self.run.end is None and not await self._move_on():
                pass
            if self.run.end is not None and of.above is None:
                with suppress(StudioError):  # the next run does it
                    await of.desks.tidy(of.store)
        finally:
            self._closing = True
            unsubscribe()
            watching.cancel()
            try:
                await of.tasks.end(of.tasks)
                await of.recorder.settled()  # a pause ends the loop before it is stored
                if of.started.group:
                    await of.store.leave_group(self.run.id)
            finally:
                of.engine.telemetry.run_left(self.run)
        return self.run

    def leave_to_person(self) -> None:
        """Nobody is there to answer any more: ``carry_out`` ends when all waits for the person."""
        self.attended = False
        for child in self._below.values():
            child.leave_to_person()
        self._of.tasks.note_change()

    def agrees_with(self, event: RunEvent) -> bool:
        """Whether an event asks for a yes that the person has given."""
        return self.yes and isinstance(event, StepAsked) and event.question.kind == "sample"

    # Before and beside the steps

    async def _wait_for_group(self) -> None:
        """Wait until the runs of the group that were there before are over (W-6).

        One that did something already waits, whatever the file says.
        """
        of, started, concurrency = self._of, self._of.started, self.plan.workflow.concurrency
        if not started.group or concurrency is None:
            return
        await of.store.join_group(self.run.id, started.group)
        begun = not all(one.linked for one in self.run.steps.values())
        busy = "queue" if begun else concurrency.busy
        while self.run.end is None and self.run.paused is None:
            of.tasks.begin_look()
            ahead = await of.store.ahead_in_group(self.run.id)
            if not ahead:
                return
            names = ", ".join(name for _, name in ahead)
            if busy == "skip":
                verb = "is" if len(ahead) == 1 else "are"
                await self.stop(f"It was left out, because {names} {verb} not over.")
                return
            for run_id, _ in ahead if busy == "cancel" else ():
                number = f"run {started.number}"
                await of.store.want_stop(run_id, f"{started.name}, {number}, took its place.")
            if (reason := f"It waits for {names}.") != self.run.queued:
                await of.record(RunQueued(reason))
                of.tasks.begin_look()
            await of.tasks.change(LOOK)

    async def _watch_for_wishes(self) -> None:
        """Do what the person wants of the run in other programs, and stop if they want that."""
        of = self._of
        while of.above is None or of.started.group:
            await asyncio.sleep(LOOK)
            try:
                reason = await of.store.stop_wanted(self.run.id)
            except StudioError:  # whatever the run does next says so
                continue
            if reason:
                of.recorder.background.start(self.stop(reason))
                return
            for wish in await of.store.take_wishes(self.run.id):
                await self.grant(wish)

    # The loop

    async def _move_on(self) -> bool:
        """Do what can be done now and wait for more; True where only a person moves it on."""
        of = self._of
        of.tasks.begin_look()
        if await self._out_of_time() or await of.leave_items_out():
            return False
        await of.items.load_results()
        decision = await of.reads.having(lambda: self.plan.next(self.run, time.time()))
        if decision.stops:
            failed = "Another step failed." if not decision.stops[0][1] else "Another item failed."
            await of.record(*await of.stopped(decision.stops, failed))
            return False
        if of.cycles.ends_cycle(decision.events):
            of.cycles.tasks = await of.brief.tasks()
            of.cycles.scripts = await of.desks.scripts()
        if events := of.desks.before_end(of.cycles.before_end(decision.events)):
            await of.record(*events)
            return False
        if decision.queues:
            await of.record(*[await self._found_items(step) for step in decision.queues])
            return False
        if decision.starts:
            match begin_or_stop(self.plan, self.run, decision.starts):
                case BreakpointReached() as reached:
                    await of.record(reached)
                case starts:
                    await self._start(starts)
            return False
        if self.run.paused is None and await self._go_on():
            return False
        if self.run.paused is not None and not of.tasks:
            return True
        if not self.attended and not decision.due and self._waits():
            return True
        now = time.time()
        waits = [max(decision.due - now, 0.0)] if decision.due else []
        if (left := of.time.left(now)) is not None:
            waits.append(left)
        if self.run.paused is None and (closes := of.cycles.closes()):
            waits.append(max(closes - now, 0.0))
        await of.tasks.change(min(waits, default=None))
        return False

    async def _out_of_time(self) -> bool:
        """Pause the run if it has worked as long as it may; end it where its step may no more."""
        of, now = self._of, time.time()
        if of.time.step_over(now):
            await self.stop(f"It was stopped after {of.time.of_step:g} s.")
            return True
        if self.run.paused is not None:
            return False
        if 0 < of.cycles.closes() <= now:
            await self.pause(of.cycles.closed, "mission")
            return True
        if not of.time.over(now):
            return False
        reason = out_of_time(of.time.minutes)
        reached = [CapReached("minutes", *one.key, reason) for one in self.run.busy]
        await of.record(*reached[:1])
        await self.pause(reason, "minutes")
        return True

    async def _found_items(self, step: Step) -> RunEvent:
        try:
            return await self._of.items.queue(step)
        except ExpressionError as error:
            return StepFinished(step.id, "", "failed", str(error), fault="invalid")
        except Unwritable:
            raise
        except StudioError as error:
            return failed_start(step, "", error)

    def _waits(self) -> bool:
        """Whether all that has begun waits for the person."""
        of, kinds = self._of, {step.id: step.kind for step in self.plan.workflow.steps}
        below = any(kinds.get(step) == "workflow" for step, _ in of.tasks)
        busy = [one for one in self.run.busy if one.key in of.tasks]
        waits = (one.state != "running" and of.items.waits(one.step) for one in busy)
        return not below and all(waits)

    async def _start(self, starts: Sequence[Start]) -> None:
        """Begin tries: the sessions first, side by side, then one write that says so."""
        of, events = self._of, list[RunEvent]()
        below: list[tuple[Step, Plan, NewRun]] = []
        made = await asyncio.gather(*map(self._prepared, starts), return_exceptions=True)
        for start, found in zip(starts, made, strict=True):
            step, session_id, run_id = start.step, "", ""
            if isinstance(found, StudioError | ExpressionError):
                events += await of.tries.finished(failed_start(step, start.item, found))
                continue
            if isinstance(found, BaseException):
                raise found
            if isinstance(found, str):
                session_id = found
            else:
                below.append((step, *found))
                run_id = found[1].started.run_id
            if step.kind not in INSTANT:
                of.fresh.add(start.key)
            round = self.run.round_of(step.id)
            events.append(StepStarted(*start.key, round, start.attempt, session_id, run_id))
        runs = await of.record(*events, below=[new for *_, new in below])
        for (step, plan, _), started in zip(below, runs, strict=True):
            of.begin_below(step, plan, Run([(time.time(), started)]))

    async def _prepared(self, start: Start) -> str | tuple[Plan, NewRun]:
        """The id of the new session of a try, empty where it needs none, or its new run.

        Raises StudioError and ExpressionError.
        """
        of, step = self._of, start.step
        if step.kind == "workflow":
            return await of.planned_below(step, start.item)
        if step.kind in INSTANT or step.id in self.run.tallies:  # each item has its own, or none
            return ""
        return (await of.sessions.begin(step, start.item)).info.id

    async def _go_on(self) -> bool:
        """Begin the work of running steps that nobody works on; whether there were some."""
        of, found, resumed = self._of, False, list[RunEvent]()
        begun: list[tuple[Step, StepRun]] = []
        for one in tuple(self.run.busy):
            if one.step == MERGE:
                if not (one.item or one.key in of.tasks or one.state != "running"):
                    of.tasks.start(one.key, self._meet())
                    found = True
                continue
            if one.step in self.run.held:
                continue
            step = self.plan.workflow.step(one.step)
            kind = one.question.kind if one.question else ""
            asks_here = kind in ("permission", "reply") or step.kind == "workflow"
            if one.key in of.tasks or (one.state != "running" and not asks_here):
                continue
            if of.questions.from_below(one.key) and not self.attended:
                continue  # it has been looked at, and waits
            if step.kind in INSTANT:
                await of.record(*await of.tries.instant(step, one.item))
                found = True
                continue
            if one.key not in of.fresh:  # it began in a program that has ended, or was paused
                resumed.append(StepResumed(*one.key))
            begun.append((step, one))
        if resumed:
            await of.record(*resumed)
        for step, one in begun:
            of.fresh.discard(one.key)
            of.tasks.start(one.key, self._work_on(step, one))
        return bool(found or begun)

    # Work on a step

    async def _work_on(self, step: Step, one: StepRun) -> None:
        """Work on a step until it ends, or cannot go on."""
        of, key = self._of, one.key
        try:
            outcome = await self._outcome(step, one)
        except ExpressionError as error:
            outcome = StepFinished(*key, "failed", str(error), fault="invalid")
        except Unwritable:  # what it did is not stored: it goes on when it can be
            raise
        except StudioError as error:
            outcome = failed_start(step, one.item, error)
        if self._closing:
            return
        if not isinstance(outcome, StepFinished | Interrupted):
            of.tasks.leave(key)
        match outcome:
            case StepFinished():
                await self._end(outcome)
            case Held():
                reached = self._reached(
                    step, CapReached(outcome.cap, *key, outcome.reason, outcome.limit, outcome.unit)
                )
                more = (
                    () if self.run.paused is not None else (RunPaused(outcome.reason, outcome.cap),)
                )
                await of.record(reached, *more)
            case Waiting():
                held = step.id in self.run.held  # that is why its run is paused
                if outcome.paused is not None and self.run.paused is None and not held:
                    paused: list[RunEvent] = [RunPaused(outcome.paused, outcome.cap)]
                    if (below := outcome.reached) is not None and not below.own:
                        reached = replace(below, step=step.id, item=one.item)
                        paused.insert(0, self._reached(step, reached))
                    await of.record(*paused)
            case RunQuestion():
                asked = StepAsked(*key, outcome)
                events: list[RunEvent] = [asked]
                if self.agrees_with(asked):
                    events.append(StepAnswered(*key, outcome.id, outcome.choices[0]))
                await of.record(*events)
            case Interrupted():
                tokens, dollars = await of.work.spent(one.session_id)
                stopped = StepFinished(*key, "stopped", YOU_STOPPED, tokens=tokens, dollars=dollars)
                await of.record(*await of.tries.finished(stopped))

    def _reached(self, step: Step, reached: CapReached) -> CapReached:
        """The event that a cap was reached, with whose it is."""
        return replace(reached, own=self._of.accounts.has(step, reached))

    async def _outcome(self, step: Step, one: StepRun) -> Outcome:
        """Do a try, or go on with it."""
        of = self._of
        if step.kind == "workflow":
            return await self._run_below(step, one)
        if step.id in self.run.tallies:
            return await of.items.carry_out(step, of.tries.exposed(step))
        return await of.tries.carry_out(step, one)

    async def _run_below(self, step: Step, one: StepRun) -> Outcome:
        """Carry out the run of a step, or go on with it."""
        of = self._of
        below = self._below[one.key] = Runner(await of.child(one))
        below.attended = self.attended
        unsubscribe = below.subscribe(lambda at, event: of.questions.follow(one.key, below.run))
        try:
            if not any(question.session_id for _, question in below.run.questions):
                of.questions.follow(one.key, below.run)  # else its sessions ask again
            await below.resume()
            run = await below.carry_out()
        finally:
            unsubscribe()
            del self._below[one.key]
        await of.recorder.background.settled()
        if run.end is None:
            return Waiting(run.paused, run.paused_at, run.reached)
        return outcome_of(step, one.item, run)

    async def _meet(self) -> None:
        """Merge what the steps of the run changed."""
        outcome = await self._of.desks.meet()
        if isinstance(outcome, RunQuestion):
            self._of.tasks.leave((MERGE, ""))
            outcome = StepAsked(MERGE, "", outcome)
        if not self._closing:
            await self._of.record(outcome)

    async def _end(self, finish: StepFinished) -> None:
        """Record the end of a try. Where it sends the run back, work on the old state is ended."""
        events = await self._of.tries.finished(finish)
        redone = next((event for event in events if isinstance(event, StepsRedone)), None)
        if redone is not None:
            busy = [one.key for one in self.run.busy if one.step in redone.steps]
            again = [key for key in busy if key != (finish.step, finish.item)]
            stopped = await self._of.stopped(again, "It is done again.")
            events[-1:] = [*stopped, redone]
        await self._of.record(*events)
