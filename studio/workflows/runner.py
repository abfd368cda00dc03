"""Workflow runner: carries out one run, step by step, as its plan says.

Everything that happens is an event: it is applied to the fold at once, and on the disk before
anything acts on it. So a run that was killed goes on from its events (W-15).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from studio.agent.budget import Amount, Budget
from studio.agent.delegation.board import told_tasks
from studio.agent.engine import Engine
from studio.agent.session.event_channel import EventEnvelope
from studio.agent.session.session import Session
from studio.agent.session.turn_options import ParentTurn
from studio.domain.agents import Caps
from studio.domain.aio import BackgroundTasks
from studio.domain.boards import BoardTask
from studio.domain.errors import ConfigurationError, StudioError
from studio.domain.events import Exposed, TurnComplete
from studio.domain.jsonvalue import Json
from studio.domain.permissions import Rule
from studio.domain.run_events import (
    MERGE,
    UNSURE,
    BreakpointCleared,
    BreakpointReached,
    BreakpointSet,
    CapRaised,
    CapReached,
    ResultEdited,
    RunEvent,
    RunFinished,
    RunPaused,
    RunQuestion,
    RunQueued,
    RunResumed,
    RunStarted,
    RunSteered,
    StepAnswered,
    StepAsked,
    StepEdited,
    StepFinished,
    StepHeld,
    StepReleased,
    StepResumed,
    StepsRedone,
    StepStarted,
)
from studio.domain.runs import Run, StepRun
from studio.domain.sessions import Caller
from studio.domain.workflows import Step
from studio.storage.connection import Unwritable
from studio.storage.run_items import ItemStore
from studio.storage.runs import NewRun, RunStore
from studio.tools import ToolFailed

from .breakpoints import begin_or_stop, stop_after
from .child_runs import ChildRuns, outcome_of
from .desk import Desks
from .expressions import ExpressionError, as_words, parse_expression
from .file_reads import FileReads
from .fork import edited_workflow
from .instant_steps import approved, result_or_question
from .items.item_work import ItemWork
from .items.shift import ItemParts
from .kept_agents import RunParts, kept_agents
from .missions.brief import brief, last_notes, left_of
from .missions.check_steps import look_at_file
from .missions.cycles import Cycles
from .plan import INSTANT, Plan, Start
from .run_accounts import RunAccounts, RunTime, out_of_time
from .run_files import RunFiles
from .run_questions import ASKS, Key, QuestionsBelow, session_question
from .step_sessions import StepSessions
from .step_tasks import StepTasks
from .step_work import (
    Held,
    Interrupted,
    Outcome,
    StepWork,
    Unsure,
    Waiting,
    failed_start,
    seconds_of,
)
from .unsure_actions import REPEATED, told_about, unsure_actions, unsure_question

Listener: TypeAlias = Callable[[float, RunEvent], None]
LOOK = 0.5
"""Seconds after which a run looks again at what other programs do."""
YOU_STOPPED = "You stopped it."
YOU_SAID = "You said that it happened."


class Runner:
    """Carries out one run. Its methods are called on the event loop.

    ``run`` is the state as it is now; ``subscribe`` tells each event when it is stored.
    """

    def __init__(
        self,
        engine: Engine,
        store: RunStore,
        plan: Plan,
        run: Run,
        above: tuple[Runner, Step] | None = None,
        caller: ParentTurn | None = None,
    ) -> None:
        """``above`` is the run that this one is a step of, with the step.

        ``caller`` is the turn whose call this run is, if an agent began it.
        """
        assert run.started is not None, "a run begins with its first event"
        self.run = run
        self.plan = plan
        self.attended = True
        """Whether a person is there to answer. Else ``carry_out`` ends when all waits for one."""
        self.yes = False
        """Whether the person has said yes to the items after a sample before it was asked."""
        self._engine = engine
        self._store = store
        caller = above[0]._work.caller if above else caller
        self._sessions = StepSessions(engine, run.started)
        self._work = StepWork(engine, plan.workflow, run.started, self._sessions, caller)
        called = caller.budget.accounts if caller is not None and above is None else ()
        self._accounts = RunAccounts(run, (above[0]._accounts, above[1]) if above else None, called)
        self._desks = Desks(engine, plan, run, self._work, self._accounts.upward, self._record)
        self._reads = FileReads(
            engine,
            run.started.folder,
            plan.workflow.permissions,
            for_client=run.started.trigger == "client",
            subject=run.started.subject,
        )
        plan.values.reads = self._reads.functions
        self._many = ItemWork(
            ItemParts(
                *(engine, ItemStore(engine.database), self._sessions, self._work),
                *(self._accounts, self._reads, self._record),
            )
        )
        """The items of steps that have too many for events."""
        self._above = above
        self._cycles = Cycles(plan.workflow, run)
        seconds = seconds_of(above[1]) if above else 0.0
        self._time = RunTime(run, plan.workflow.budget.minutes, seconds)
        self._work.above = self._rules
        self._work.paused = lambda step: self.run.paused is not None or step in self.run.held
        self._child_runs = ChildRuns(RunFiles(engine, store), RunParts(engine))
        self._children: dict[str, Runner] = {}
        """Those of the runs below that are open here, by their ids."""
        self._questions_below = QuestionsBelow()
        self._tasks = StepTasks()
        self._fresh: set[Key] = set()
        """What has begun here, and is not worked on yet."""
        self._recording = BackgroundTasks()
        self._listeners: list[Listener] = []
        self._closing = False

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` with the time of each event and the event; returns what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def carry_out(self) -> Run:
        """Run until the run has its end, is paused, or nothing but a person can move it on.

        Raises StudioError where its events cannot be stored. If it is cancelled, the run stays as
        it is and goes on when it is carried out again.
        """
        self._closing = False
        if self.run.started is not None:
            self._sessions.kept = await kept_agents(self._store, self.run.started.parts)
        self._engine.telemetry.run_began(self.run)
        unsubscribe = self._engine.sessions.events.subscribe(self._heard)
        watching = asyncio.create_task(self._watch_for_stop())
        try:
            await self._wait_for_group()
            await self._book_used()
            for one, question in tuple(self.run.questions):
                if self.agrees_with(StepAsked(one.step, one.item, question)):
                    await self.answer(question.id, question.choices[0])
            while self.run.end is None and not await self._move_on():
                pass
            if self.run.end is not None and self._above is None:
                with suppress(StudioError):  # the next run does it
                    await self._desks.tidy(self._store)
        finally:
            self._closing = True
            watching.cancel()
            try:
                await self._tasks.end(self._tasks)
                await self._recording.settled()
                if self.run.started is not None and self.run.started.group:
                    await self._store.leave_group(self.run.id)
            finally:
                unsubscribe()
                self._engine.telemetry.run_left(self.run)
        return self.run

    def leave_to_person(self) -> None:
        """Nobody is there to answer any more: ``carry_out`` ends when all waits for the person."""
        self.attended = False
        for child in self._busy_children():
            child.leave_to_person()
        self._tasks.note_change()

    async def hold(self, step: str) -> None:
        """Pause one step: its reply under way ends, and nothing of it begins until ``release``."""
        if self.run.end is None and step not in self.run.held:
            await self._record(StepHeld(step))
            for child in self._busy_children(step):
                await child.pause()

    async def release(self, step: str) -> None:
        """Let a step go on that was paused."""
        if step in self.run.held:
            await self._record(StepReleased(step))
            if self.run.paused is None:
                for child in self._busy_children(step):
                    await child.resume()

    async def pause(self, reason: str = "") -> None:
        """Let replies under way end, and begin nothing more until ``resume``."""
        if self.run.end is None and self.run.paused is None:
            await self._record(RunPaused(reason))
            for child in self._busy_children():
                await child.pause(reason)

    async def resume(self, *, one: bool = False) -> None:
        """Let a paused run go on; with ``one`` it stops again before the step after the next.

        Where nothing but paused steps is left, these go on.
        """
        if self.run.paused is not None:
            await self._record(RunResumed(one))
            for child in self._busy_children():
                await child.resume()
        if self.run.state == "paused":
            for step in tuple(self.run.held):
                await self.release(step)

    async def grant(self, wish: RunEvent) -> None:
        """Do what the person wants of the run at another door."""
        match wish:
            case RunPaused():
                await self.pause(wish.reason)
            case RunResumed():
                await self.resume()
            case RunSteered():
                await self.steer(wish.text)
            case CapRaised():
                await self.raise_cap(wish.caps, wish.step, wish.minutes, wish.cycles, wish.until)
            case _:
                pass

    async def debug(
        self, event: BreakpointSet | BreakpointCleared | StepEdited | ResultEdited
    ) -> None:
        """Set or clear a breakpoint, or change a step or what came of it, in this run (W-65).

        Raises ConfigurationError for a condition that is no expression.
        """
        if isinstance(event, BreakpointSet) and event.when:
            try:
                parse_expression(event.when)
            except ExpressionError as error:
                raise ConfigurationError(f"“{event.when}” is no condition: {error}.") from error
        if self.run.end is None:
            await self._record(event)
            if isinstance(event, StepEdited):
                self.plan = Plan(
                    edited_workflow(self.plan.workflow, [event]), self.plan.values.reads
                )

    async def raise_cap(
        self, caps: Caps, step: str = "", minutes: float = 0.0, cycles: int = 0, until: str = ""
    ) -> None:
        """Let the run, or one of its steps, use this much in all.

        What is 0 or empty stays as it is, but for ``caps``.
        """
        await self._record(CapRaised(caps, step, minutes, cycles, until))
        self._accounts.follow_caps()
        for one in self.run.busy:
            if one.step == step and one.run_id:
                child = await self._child(self.plan.workflow.step(step), one.run_id)
                await child.raise_cap(caps, minutes=minutes)
        if minutes and not step:
            await self._raise_minutes_below(minutes)

    async def _raise_minutes_below(self, minutes: float) -> None:
        """Let the runs below that have a limit of their own work as long, if theirs is less."""
        for one in tuple(self.run.busy):
            if one.run_id:
                child = await self._child(self.plan.workflow.step(one.step), one.run_id)
                if 0 < child._time.minutes < minutes:
                    await child._record(CapRaised(child.run.caps[""], "", minutes))
                await child._raise_minutes_below(minutes)

    async def retry_failed(self, step: str) -> int:
        """Let the failed items of a step be worked on again, while it is not over (W-54).

        Returns how many these are.
        """
        return await self._many.retry_failed(self.run, step)

    async def stop(self, reason: str = YOU_STOPPED) -> None:
        """End the run with all that belongs to it (W-19)."""
        if self.run.end is not None:
            return
        if self.run.paused is None:
            await self._record(RunPaused(reason))  # nothing begins meanwhile
        await self._stop_steps([(one.step, one.item) for one in self.run.busy], reason)
        left = [
            StepFinished(step.id, "", "stopped" if begun else "skipped", reason)
            for step in self.plan.workflow.steps
            if not self.run.step(step.id).over
            for begun in [step.id in self.run.items or bool(self.run.step(step.id).tries)]
        ]
        await self._record(*left)
        await self._desks.offer()
        await self._record(RunFinished("stopped", reason))

    async def answer(self, question_id: str, answer: Json, by: str = "") -> None:
        """Answer a question of the run; raises ConfigurationError if there is none like it.

        See ``RunQuestion`` for what each kind takes.
        """
        found = next((one for one in self.run.questions if one[1].id == question_id), None)
        if found is None:
            raise ConfigurationError("This question is answered already, or was never asked.")
        one, question = found
        if not await self._waits_for_answer(one, question):
            raise ConfigurationError("This is asked again when the run goes on.")
        answered = StepAnswered(one.step, one.item, question_id, answer, by)
        if question.kind == "conflict":
            await self._record(answered)
            return
        step = self.plan.workflow.step(one.step)
        if answer == "run":  # it is the whole run's from now on
            await self._record(answered)
            if self._above is None:
                await self._allow(question.rules)
                for covered in self._many.questions.covered(self.run.allowed):
                    if covered.id != question.id:
                        self._sessions.answer(covered, "run", by)
        if step.kind == "workflow":
            child = await self._child(step, one.run_id)
            await child.answer(question_id, answer, by)
            return
        match question.kind:
            case "permission" | "reply":
                self._sessions.answer(question, answer, by)
            case "approve":
                finish = approved(one.step, one.item, bool(answer))
                await self._record(answered, *await self._finished(finish))
            case "ask":
                finish = StepFinished(*(one.step, one.item), text=as_words(answer), outputs=answer)
                await self._record(answered, *await self._finished(finish))
            case "sample" if answer not in question.choices:
                raise ConfigurationError(f"Answer with one of {', '.join(question.choices)}.")
            case "unsure" | "sample":
                await self._record(answered)

    def agrees_with(self, event: RunEvent) -> bool:
        """Whether an event asks for a yes that the person has given."""
        return self.yes and isinstance(event, StepAsked) and event.question.kind == "sample"

    async def _waits_for_answer(self, one: StepRun, question: RunQuestion) -> bool:
        """Whether a question may be answered: those of sessions end with their program."""
        if question.kind not in ("permission", "reply"):
            return True
        step = self.plan.workflow.step(one.step)
        if step.kind == "workflow":
            child = await self._child(step, one.run_id)
            asked = [found for found in child.run.questions if found[1].id == question.id]
            return bool(asked) and await child._waits_for_answer(*asked[0])
        return self._sessions.asks(question)

    # The loop

    async def _wait_for_group(self) -> None:
        """Wait until the runs of the group that were there before are over (W-6).

        One that did something already waits, whatever the file says.
        """
        started, concurrency = self.run.started, self.plan.workflow.concurrency
        if started is None or not started.group or concurrency is None:
            return
        await self._store.join_group(self.run.id, started.group)
        begun = not all(one.linked for one in self.run.steps.values())
        busy = "queue" if begun else concurrency.busy
        while self.run.end is None and self.run.paused is None:
            self._tasks.begin_look()
            ahead = await self._store.ahead_in_group(self.run.id)
            if not ahead:
                return
            names = ", ".join(name for _, name in ahead)
            if busy == "skip":
                verb = "is" if len(ahead) == 1 else "are"
                await self.stop(f"It was left out, because {names} {verb} not over.")
                return
            for run_id, _ in ahead if busy == "cancel" else ():
                number = f"run {started.number}"
                await self._store.want_stop(run_id, f"{started.name}, {number}, took its place.")
            if (reason := f"It waits for {names}.") != self.run.queued:
                await self._record(RunQueued(reason))
                self._tasks.begin_look()
            await self._tasks.change(LOOK)

    async def _watch_for_stop(self) -> None:
        """Stop if another program wants that."""
        while self._above is None or (self.run.started is not None and self.run.started.group):
            await asyncio.sleep(LOOK)
            try:
                reason = await self._store.stop_wanted(self.run.id)
            except StudioError:  # whatever the run does next says so
                continue
            if reason:
                self._recording.start(self.stop(reason))
                return
            for wish in await self._store.take_wishes(self.run.id):
                await self.grant(wish)

    async def _out_of_time(self) -> bool:
        """Pause the run if it has worked as long as it may; end it where its step may no more."""
        now = time.time()
        if self._time.step_over(now):
            await self.stop(f"It was stopped after {self._time.of_step:g} s.")
            return True
        if self.run.paused is not None:
            return False
        if 0 < self._cycles.closes() <= now:
            await self.pause(self._cycles.closed)
            return True
        if not self._time.over(now):
            return False
        reason = out_of_time(self._time.minutes)
        reached = [CapReached("minutes", one.step, one.item, reason) for one in self.run.busy]
        await self._record(*reached[:1])
        await self.pause(reason)
        return True

    async def _move_on(self) -> bool:
        """Do what can be done now and wait for more; True where only a person moves it on."""
        self._tasks.begin_look()
        if await self._out_of_time():
            return False
        await self._many.load_results(self.plan, self.run)
        decision = await self._reads.having(lambda: self.plan.next(self.run, time.time()))
        if decision.stops:
            failed = "Another step failed." if not decision.stops[0][1] else "Another item failed."
            await self._stop_steps(decision.stops, failed)
            return False
        if self._cycles.ends_cycle(decision.events):
            self._cycles.tasks = await self._board_tasks()
        if events := self._desks.before_end(self._cycles.before_end(decision.events)):
            await self._record(*events)
            return False
        if decision.queues:
            await self._record(*[await self._found_items(step) for step in decision.queues])
            return False
        if decision.starts:
            match begin_or_stop(self.plan, self.run, decision.starts):
                case BreakpointReached() as reached:
                    await self._record(reached)
                case starts:
                    await self._start(starts)
            return False
        if self.run.paused is None and await self._go_on():
            return False
        if self.run.paused is not None and not self._tasks:
            return True
        if not self.attended and not decision.due and self._waits():
            return True
        now = time.time()
        waits = [max(decision.due - now, 0.0)] if decision.due else []
        if (left := self._time.left(now)) is not None:
            waits.append(left)
        if self.run.paused is None and (closes := self._cycles.closes()):
            waits.append(max(closes - now, 0.0))
        await self._tasks.change(min(waits, default=None))
        return False

    async def _found_items(self, step: Step) -> RunEvent:
        try:
            return await self._many.queue(self.plan, self.run, step)
        except ExpressionError as error:
            return StepFinished(step.id, "", "failed", str(error), fault="invalid")
        except Unwritable:
            raise
        except StudioError as error:
            return failed_start(step, "", error)

    def _waits(self) -> bool:
        """Whether all that has begun waits for the person."""
        kinds = {step.id: step.kind for step in self.plan.workflow.steps}
        below = {key for key in self._tasks if kinds.get(key[0]) == "workflow"}
        busy = [one for one in self.run.busy if (one.step, one.item) in self._tasks]
        waits = (one.state != "running" and self._many.waits(one.step) for one in busy)
        return not below and all(waits)

    async def _start(self, starts: Iterable[Start]) -> None:
        """Begin tries: the sessions first, then one write that says so, then the work."""
        events: list[RunEvent] = []
        below: list[tuple[Step, Plan, NewRun]] = []
        for start in starts:
            step, session, run_id = start.step, None, ""
            if step.kind not in INSTANT:
                try:
                    if step.kind == "workflow":
                        plan, new = await self._planned_below(step, start.item)
                        below.append((step, plan, new))
                        run_id = new.started.run_id
                    elif step.id not in self.run.tallies:  # else each item has its own, or none
                        session = await self._sessions.begin(step, start.item)
                except (StudioError, ExpressionError) as error:
                    events += await self._finished(failed_start(step, start.item, error))
                    continue
                self._fresh.add(start.key)
            round = self.run.round_of(step.id)
            session_id = session.info.id if session is not None else ""
            begun = StepStarted(step.id, start.item, round, start.attempt, session_id, run_id)
            events.append(begun)
        runs = await self._record(*events, below=[new for *_, new in below])
        for (step, plan, _), started in zip(below, runs, strict=True):
            run = Run([(time.time(), started)])
            above = self, step
            self._children[run.id] = Runner(self._engine, self._store, plan, run, above)

    async def _go_on(self) -> bool:
        """Begin the work of running steps that nobody works on; whether there were some."""
        found, resumed = False, list[RunEvent]()
        begun: list[tuple[Step, StepRun]] = []
        for one in tuple(self.run.busy):
            key, kind = (one.step, one.item), one.question.kind if one.question else ""
            if one.step == MERGE:
                if not (one.item or key in self._tasks or one.state != "running"):
                    self._tasks.start(key, self._meet())
                    found = True
                continue
            if one.step in self.run.held:
                continue
            step = self.plan.workflow.step(one.step)
            asks_here = kind in ("permission", "reply") or step.kind == "workflow"
            if key in self._tasks or (one.state != "running" and not asks_here):
                continue
            if key in self._questions_below and not self.attended:
                continue  # it has been looked at, and waits
            if step.kind in INSTANT:
                await self._record(*await self._instant(step, one.item))
                found = True
                continue
            if key not in self._fresh:  # it began in a program that has ended, or was paused
                resumed.append(StepResumed(*key))
            begun.append((step, one))
        if resumed:
            await self._record(*resumed)
        for step, one in begun:
            key = one.step, one.item
            self._fresh.discard(key)
            self._tasks.start(key, self._do(step, one))
        return bool(found or begun)

    async def _record(
        self, *events: RunEvent, below: Sequence[NewRun] = ()
    ) -> Sequence[RunStarted]:
        """Apply events, and return when they are stored; then they are told.

        The runs ``below`` that they begin are stored with them.
        """
        events = tuple(await self._desks.with_changes(events))
        now = time.time()
        over: list[str] = []
        for event in events:
            self.run.apply(now, event)
            if isinstance(event, StepFinished):
                over += self._let_go(event.step, event.item)
        if (reached := stop_after(self.plan, self.run, events)) is not None:
            self.run.apply(now, reached)
            events = (*events, reached)
        runs = await self._store.append(self.run, now, events, below)
        await self._desks.put_away(events)
        for run_id in over:
            await self._store.release(run_id)
        if any(isinstance(event, StepFinished) for event in events):
            self._reads.forget()
        for event in events:
            for listener in tuple(self._listeners):
                listener(now, event)
        self._tasks.note_change()
        return runs

    # Steps

    async def _finished(self, finish: StepFinished) -> list[RunEvent]:
        return await self._reads.having(lambda: self.plan.finished(self.run, finish, time.time()))

    async def _do(self, step: Step, one: StepRun) -> None:
        """Work on a step until it ends, or cannot go on."""
        key = one.step, one.item
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
        match outcome:
            case StepFinished():
                await self._end(outcome)
            case Held():
                self._tasks.leave(key)
                reached = CapReached(outcome.cap, *key, outcome.reason)
                more = () if self.run.paused is not None else (RunPaused(outcome.reason),)
                await self._record(reached, *more)
            case Waiting():
                self._tasks.leave(key)
                held = step.id in self.run.held  # that is why its run is paused
                if outcome.paused is not None and self.run.paused is None and not held:
                    await self._record(RunPaused(outcome.paused))
            case RunQuestion():
                self._tasks.leave(key)
                asked = StepAsked(*key, outcome)
                events: list[RunEvent] = [asked]
                if self.agrees_with(asked):
                    events.append(StepAnswered(*key, outcome.id, outcome.choices[0]))
                await self._record(*events)
            case Unsure():
                self._tasks.leave(key)
                await self._record(StepAsked(*key, outcome.question))
            case Interrupted():
                tokens, dollars = await self._work.spent(one.session_id)
                stopped = StepFinished(*key, "stopped", YOU_STOPPED, tokens=tokens, dollars=dollars)
                await self._record(*await self._finished(stopped))

    async def _meet(self) -> None:
        """Merge what the steps of the run changed."""
        outcome = await self._desks.meet()
        if isinstance(outcome, RunQuestion):
            self._tasks.leave((MERGE, ""))
            outcome = StepAsked(MERGE, "", outcome)
        if not self._closing:
            await self._record(outcome)

    async def _end(self, finish: StepFinished) -> None:
        """Record the end of a try. Where it sends the run back, work on the old state is ended."""
        events = await self._finished(finish)
        redone = next((event for event in events if isinstance(event, StepsRedone)), None)
        if redone is not None:
            again = [
                (one.step, one.item)
                for one in self.run.busy
                if one.step in redone.steps and (one.step, one.item) != (finish.step, finish.item)
            ]
            await self._tasks.end(again)
            stopped = [await self._stopped(key, "It is done again.") for key in again]
            events[-1:] = [*stopped, redone]
        await self._record(*events)

    async def _outcome(self, step: Step, one: StepRun) -> Outcome | RunQuestion:
        """Do a try, or go on with it."""
        if step.kind == "workflow":
            return await self._run_below(step, one)
        if step.id in self.run.tallies:
            return await self._many.carry_out(self.plan, self.run, step, self._exposed(step))
        session = await self._session(step, one)
        work = partial(self._work_of, step, one, session)
        return await self._desks.working(step, one.item, session.info.id, work)

    async def _work_of(self, step: Step, one: StepRun, session: Session) -> Outcome:
        key, exposed = (one.step, one.item), self._exposed(step)
        budget = Budget(self._accounts.of(step))
        values = self.plan.values
        answer, calls = "", unsure_actions(session, self._engine.tools())
        if calls and step.effects == "repeatable":
            await self._record(StepResumed(*key, REPEATED))
            answer = "again"
        elif calls:
            question = unsure_question(session.info.id, calls, self._path(step, one.item))
            answer = as_words(self.run.answers.get(question.id, ""))
            if answer not in UNSURE:
                return Unsure(question)
            if answer == "stop":
                return StepFinished(*key, "stopped", YOU_STOPPED)
        if step.kind == "run":
            if answer == "happened":
                return StepFinished(*key, reason=YOU_SAID, outputs={"exit_code": None})
            line = await self._reads.having(lambda: values.command(self.run, step, one.item))
            return await self._work.command(
                *(step, one.item, session, line, budget, exposed), again=answer == "again"
            )
        if not session.transcript.blocks:
            said = await self._reads.having(lambda: values.prompt(self.run, step, one.item))
            if step.proves is None and (told := await self._brief()):
                said = f"{told}\n\n{said}"
            if sent_back := values.sent_back(self.run, step, one.item):
                said = f"{said}\n\n{sent_back}"
            return await self._work.run(step, one.item, session, said, budget, exposed)
        before = await self._engine.store.events(session.info.id)
        if (ended := await self._work.ended(step, one.item, session, before)) is not None:
            return ended
        told = told_about(calls, answer) if calls else ""
        return await self._work.run(step, one.item, session, told, budget, exposed, before)

    # Missions

    async def steer(self, text: str) -> None:
        """Say something to who works on a mission, now and in each cycle that follows (W-51)."""
        if self.run.end is None:
            await self._record(RunSteered(text))
            for one in self.run.busy:
                step = self.plan.workflow.step(one.step) if one.step != MERGE else None
                if step is not None and step.kind == "agent" and step.proves is None:
                    self._sessions.steer((one.step, one.item), text)
            for child in self._busy_children():
                await child.steer(text)

    async def as_chat(self) -> str:
        """Make a chat of the session that a paused mission worked in last; returns its id.

        What the mission changed waits there as drafts too. Raises ConfigurationError.
        """
        await self._tasks.settled()
        steps = [step.id for step in self.plan.workflow.steps if step.proves is None]
        tries = [one for one in self.run.steps.values() if one.step in steps and one.session_id]
        last = max(tries, key=lambda one: one.tries[-1].began, default=None)
        if last is None or self.run.started is None:
            raise ConfigurationError("No agent has worked on this mission yet.")
        session = await self._engine.sessions.branch(last.session_id)
        started = self.run.started
        await session.change(title=f"{started.name}, cycle {self.run.cycle}")
        await self._desks.hand_over(session)
        return session.info.id

    async def _brief(self) -> str:
        """What a session of the present cycle is told before its prompt (W-47).

        Empty where neither the run nor one above is a mission.
        """
        started = self.run.started
        if not self._cycles.mission:
            return await self._above[0]._brief() if self._above else ""
        assert started is not None
        cycles = self._cycles
        left = left_of(self.run, cycles.most, self._time.minutes, cycles.until)
        place, folder = self._engine.services.notes, Path(started.folder)
        notes = await asyncio.to_thread(last_notes, place, folder, self.run)
        tasks = told_tasks(await self._board_tasks())
        return brief(self.plan.workflow, self.run, left, tasks, notes)

    async def _board_tasks(self) -> Sequence[BoardTask]:
        """The tasks that agents of the run, or of what began it, keep on their board (W-40)."""
        boards = self._engine.services.boards
        return await boards.tasks(await boards.root_of(Caller("run", self.run.id)))

    # Runs below

    @property
    def run_ids(self) -> list[str]:
        """This run and those below it that are open here."""
        below = [run_id for child in self._children.values() for run_id in child.run_ids]
        return [self.run.id, *below]

    def _upward(self) -> list[RunStarted]:
        """The beginnings of this run and those that it is below."""
        assert self.run.started is not None
        return [self.run.started, *(self._above[0]._upward() if self._above else ())]

    def _rules(self) -> list[Rule]:
        """What the runs above forbid, and what the person allowed for the whole run."""
        if self._above is None:
            return [*self.run.allowed]
        parent, step = self._above
        return [*parent._work.rules(step)]

    async def _allow(self, rules: Iterable[Rule]) -> None:
        """Let all that works now in the run use these rules."""
        await self._sessions.allow(rules)
        for child in self._children.values():
            await child._allow(rules)

    def _busy_children(self, step: str = "") -> list[Runner]:
        """The open runs of steps that are under way and not held, or of one of them."""
        live = self._children
        of = [one for one in self.run.busy if one.run_id in live]
        return [
            live[one.run_id]
            for one in of
            if (one.step == step if step else one.step not in self.run.held)
        ]

    async def _planned_below(self, step: Step, item: str) -> tuple[Plan, NewRun]:
        """The new run of a step, which is not stored yet."""
        values = self.plan.values
        names = values.names(self.run, step, item)
        inputs = await self._reads.having(lambda: values.fill_all(dict(step.inputs), names))
        assert isinstance(inputs, dict)
        return await self._child_runs.planned(step, inputs, self._upward(), self._sessions.kept)

    async def _child(self, step: Step, run_id: str) -> Runner:
        """The run of a step that began before; raises StudioError."""
        if run_id not in self._children:
            plan, run = await self._child_runs.open(run_id)
            self._children[run_id] = Runner(self._engine, self._store, plan, run, (self, step))
        return self._children[run_id]

    async def _run_below(self, step: Step, one: StepRun) -> Outcome:
        """Carry out the run of a step, or go on with it."""
        key = one.step, one.item
        child = await self._child(step, one.run_id)
        child.attended = self.attended
        unsubscribe = child.subscribe(lambda at, event: self._show_question(key, child))
        try:
            if not any(question.session_id for _, question in child.run.questions):
                self._show_question(key, child)  # else its sessions ask again
            await child.resume()
            run = await child.carry_out()
        finally:
            unsubscribe()
        await self._recording.settled()
        if run.end is None:
            return Waiting(run.paused)
        return outcome_of(step, one.item, run)

    def _let_go(self, step: str, item: str) -> list[str]:
        """Keep neither the session nor the run of a try that is over; the run, if it has one."""
        self._sessions.let_go((step, item))
        run_id = self.run.step(step, item).run_id
        return [run_id] if self._children.pop(run_id, None) is not None else []

    def _show_question(self, key: Key, child: Runner) -> None:
        """Ask the first question of a run below as this one's, with the way to it (W-22)."""
        path = partial(self._path, self.plan.workflow.step(key[0]), key[1])
        if (event := self._questions_below.follow(key, child.run, path)) is not None:
            self._note(event)

    async def _session(self, step: Step, one: StepRun) -> Session:
        """The session of a try; a new one where it was not stored any more."""
        key = one.step, one.item
        session = await self._sessions.open(key, one.session_id)
        if session is None:  # killed before its first message was on the disk
            session = await self._sessions.begin(step, one.item)
            attempt = one.last.attempt if one.last is not None else 1
            round = self.run.round_of(step.id)
            await self._record(StepStarted(*key, round, attempt, session.info.id))
        return session

    def _path(self, step: Step, item: str, *more: str) -> tuple[str, ...]:
        """Who asks: the run, the step with its item, and an agent (W-22)."""
        label = step.label
        if item:
            many = step.id in self.run.tallies
            value = self._many.named((step.id, item)) if many else self.run.items[step.id][item]
            label += f" {as_words(value)[:40]}"
        return (self.plan.workflow.name, label, *more)

    async def _instant(self, step: Step, item: str) -> list[RunEvent]:
        """What comes of a step that takes no time: its end, or a question."""

        def compute() -> StepFinished | StepAsked:
            values, path = self.plan.values, self._path(step, item)
            return result_or_question(values, step, item, values.names(self.run, step, item), path)

        try:
            if step.proves is not None and step.proves.kind == "file":
                content = await self._desks.content(step, step.target)
                done = await asyncio.to_thread(look_at_file, step, content)
            else:
                done = await self._reads.having(compute)
        except (ExpressionError, ToolFailed) as error:
            done = StepFinished(step.id, item, "failed", str(error), fault="invalid")
        if isinstance(done, StepAsked):
            return [done]
        return await self._finished(replace(done, exposed=tuple(self._exposed(step))))

    def _exposed(self, step: Step) -> list[Exposed]:
        """What a step is exposed to by the words of the steps before it (T-9)."""
        found = dict(self._reads.exposed)
        before = {*self.plan.every[step.id], self.run.sent_back.get(step.id)}
        if self._cycles.mission:  # it is told notes, and what the cycles before it found
            before = {one.id for one in self.plan.workflow.steps}
            found.setdefault("private", Exposed("private", "note list"))
        for one in self.run.steps.values():
            if one.step in before and one.last is not None:
                for exposed in one.last.exposed:
                    found.setdefault(exposed.exposure, exposed)
        return list(found.values())

    # Ends

    async def _stop_steps(self, keys: Iterable[Key], reason: str) -> None:
        """End running steps, and record that."""
        keys = tuple(keys)
        await self._tasks.end(keys)
        ends = [await self._stopped(key, reason) for key in keys if not self.run.step(*key).over]
        await self._record(*ends)

    async def _stopped(self, key: Key, reason: str) -> StepFinished:
        tokens, dollars = 0, 0.0
        self._questions_below.forget(key)
        if run_id := self.run.step(*key).run_id:
            child = await self._child(self.plan.workflow.step(key[0]), run_id)
            await child.stop(reason)
            tokens, dollars = child.run.tokens, child.run.dollars
        elif session_id := self.run.step(*key).session_id:
            tokens, dollars = await self._work.spent(session_id)
        elif key[0] in self.run.counting:
            await self._many.cancel_batches(self.run, self.plan.workflow.step(key[0]))
            await self._many.recount(self.run)
            tokens, dollars = self.run.tallies[key[0]].tokens, self.run.tallies[key[0]].dollars
        return StepFinished(*key, "stopped", reason, tokens=tokens, dollars=dollars)

    # Money

    async def _book_used(self) -> Amount:
        """Book what the run, its steps and all runs below used; what the run used.

        Requests of tries that go on are in their sessions.
        """
        spent: list[tuple[str, Amount]] = []
        await self._many.recount(self.run)
        for one in self.run.busy:
            if one.run_id:
                child = await self._child(self.plan.workflow.step(one.step), one.run_id)
                spent.append((one.step, await child._book_used()))
            elif one.session_id:
                tokens, dollars = await self._work.spent(one.session_id)
                spent.append((one.step, Amount(tokens, dollars or 0.0)))
        return self._accounts.book(self.plan.workflow.steps, spent)

    # Questions of sessions

    def _heard(self, envelope: EventEnvelope) -> None:
        """Record that a step's session asks the person, or was answered."""
        key = self._sessions.key_of(envelope.session_id)
        if key is None or self._closing or not isinstance(envelope.event, (*ASKS, TurnComplete)):
            return
        many = key[0] in self.run.tallies
        if ((key[0], "") if many else key) not in self._tasks:
            return
        step = self.plan.workflow.step(key[0])
        path = self._path(step, key[1], *([envelope.agent] if step.kind == "agent" else []))
        event = session_question(key, envelope.session_id, envelope.event, path)
        if many and isinstance(envelope.event, TurnComplete):
            event = self._many.questions.left_open(key, envelope.session_id)
        if event is None:
            return
        known = self.run.answers
        self._note(
            *(
                one
                for one in (self._many.note_question(key, event) if many else [event])
                if not (isinstance(one, StepAnswered) and one.question_id in known)
            )
        )

    def _note(self, *events: RunEvent) -> None:
        async def note() -> None:
            try:
                await self._record(*events)
            except StudioError as error:
                self._tasks.fail(error)

        self._recording.start(note())
