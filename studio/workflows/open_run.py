"""Open run: a run with those below it, as this program has it, and what the person does to it.

It can be paused, told, answered and stopped whether or not it is carried out meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import cast

from studio.agent.budget import Amount
from studio.agent.engine import Engine
from studio.agent.session.turn_options import ParentTurn
from studio.domain.agents import Caps
from studio.domain.errors import ConfigurationError
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.permissions import Rule
from studio.domain.run_events import (
    MERGE,
    BreakpointCleared,
    BreakpointSet,
    CapRaised,
    PausedAt,
    ResultEdited,
    RunEvent,
    RunFinished,
    RunPaused,
    RunQuestion,
    RunResumed,
    RunStarted,
    RunSteered,
    StepAnswered,
    StepEdited,
    StepFinished,
    StepHeld,
    StepReleased,
)
from studio.domain.runs import Run, StepKey, StepRun
from studio.domain.workflows import Step
from studio.storage.run_items import ItemStore
from studio.storage.runs import NewRun, RunStore

from .child_runs import ChildRuns
from .desk import Desks
from .expressions import ExpressionError, as_words, parse_expression
from .file_reads import FileReads
from .fork import edited_workflow
from .items.item_work import ItemWork
from .items.shift import ItemParts
from .laid_desks import LaidDesks
from .missions.brief import MissionBrief
from .missions.cycles import Cycles
from .plan import Plan
from .run_accounts import RunAccounts, RunTime
from .run_questions import FOR_RUN, RunQuestions, is_covered
from .run_recorder import RunRecorder
from .step_sessions import StepSessions
from .step_tasks import StepTasks
from .step_tries import StepTries, approved
from .step_work import LEFT_OUT, YOU_STOPPED, StepWork, seconds_of


class OpenRun:
    """A run that this program has claimed. ``above`` is what it is a step of, with the step.

    ``run`` is the state as it is now; ``recorder`` tells each event when it is stored.
    """

    def __init__(
        self,
        engine: Engine,
        store: RunStore,
        plan: Plan,
        run: Run,
        above: tuple[OpenRun, Step] | None = None,
        caller: ParentTurn | None = None,
    ) -> None:
        """``caller`` is the turn whose call this run is, if an agent began it."""
        assert run.started is not None, "a run begins with its first event"
        self.engine, self.store, self.above = engine, store, above
        self.plan, self.run, self.started = plan, run, run.started
        workflow = plan.workflow
        self.sessions = StepSessions(engine, self.started)
        self.work = StepWork(
            *(engine, workflow, run, self.sessions),
            (above[0].work, above[1]) if above else None,
            caller,
        )
        self.accounts = RunAccounts(
            run,
            (above[0].accounts, above[1]) if above else None,
            caller.budget.accounts if caller is not None else (),
        )
        self.time = RunTime(run, workflow.budget.minutes, seconds_of(above[1]) if above else 0.0)
        self.cycles = Cycles(workflow, run)
        told = above[0].brief if above else None
        self.brief = MissionBrief(engine.services, workflow, run, self.cycles, self.time, told)
        self.reads = FileReads(
            *(engine, self.started.folder, workflow.permissions),
            for_client=self.started.trigger == "client",
            subject=self.started.subject,
        )
        plan.values.reads = self.reads.functions
        self.tasks = StepTasks()
        self.fresh: set[StepKey] = set()
        """What has begun here, and is not worked on yet."""
        self._left_out: set[StepKey] = set()
        """The items that the person leaves out, and that are still worked on."""
        self.children: dict[str, OpenRun] = {}
        """Those of the runs below that are open here, by their ids."""
        self._child_runs = ChildRuns(engine, store)
        laid = LaidDesks(engine, workflow, run)
        self.recorder = RunRecorder(
            *(store, plan, run, self.sessions, laid, self.reads, self.tasks, self.children)
        )
        self.record, self.subscribe = self.recorder.record, self.recorder.subscribe
        self.desks = Desks(engine, self.recorder, self.work, self.accounts, laid)
        parts = (self.work, self.accounts, self.reads)
        self.items = ItemWork(ItemParts(engine, ItemStore(engine.database), *parts, self.recorder))
        self.top: Run = above[0].top if above else run
        """The run that the person began."""
        self.questions = RunQuestions(
            self.recorder, self.sessions, self.items, self.tasks, self.top
        )
        self.tries = StepTries(
            engine, self.recorder, *parts, self.desks, self.questions, self.brief
        )

    # What the person does

    async def hold(self, step: str) -> None:
        """Pause one step: its reply under way ends, and nothing of it begins until ``release``."""
        if self.run.end is None and step not in self.run.held:
            await self.record(StepHeld(step))
            for child in self._busy_children(step):
                await child.pause()

    async def release(self, step: str) -> None:
        """Let a step go on that was paused."""
        if step in self.run.held:
            await self.record(StepReleased(step))
            if self.run.paused is None:
                for child in self._busy_children(step):
                    await child.resume()

    async def pause(self, reason: str = "", cap: PausedAt = "") -> None:
        """Let replies under way end, and begin nothing more until ``resume``.

        ``cap`` is the one that was reached, if that is why.
        """
        if self.run.end is None and self.run.paused is None:
            await self.record(RunPaused(reason, cap))
            for child in self._busy_children():
                await child.pause(reason, cap)

    async def resume(self, *, one: bool = False) -> None:
        """Let a paused run go on; with ``one`` it stops again before the step after the next.

        Where nothing but paused steps is left, these go on.
        """
        if self.run.paused is not None:
            await self.record(RunResumed(one))
            for child in self._busy_children():
                await child.resume()
        if self.run.state == "paused":
            for step in tuple(self.run.held):
                await self.release(step)

    async def grant(self, wish: RunEvent) -> None:
        """Do what the person wants of the run at another door."""
        match wish:
            case RunPaused():
                await self.pause(wish.reason, wish.cap)
            case RunResumed():
                await self.resume()
            case RunSteered():
                await self.steer(wish.text)
            case CapRaised() if wish.run_id:
                await self._raise_below(wish)
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
            await self.record(event)
            if isinstance(event, StepEdited):
                edited = edited_workflow(self.plan.workflow, [event])
                self.plan.follow(edited, self.reads.functions)

    async def raise_cap(
        self, caps: Caps, step: str = "", minutes: float = 0.0, cycles: int = 0, until: str = ""
    ) -> None:
        """Let the run, or one of its steps, use this much in all.

        What is 0 or empty stays as it is, but for ``caps``.
        """
        await self.record(CapRaised(caps, step, minutes, cycles, until))
        self.accounts.follow_caps()
        if minutes and not step:
            await self._raise_minutes_below(minutes)

    async def _raise_below(self, wish: CapRaised) -> None:
        """Raise a cap of the run below that ``wish`` names; nothing where it is over by now.

        The runs on the way to it are told: each of them is paused at that cap.
        """
        way = await self._way_to(wish.run_id)
        for above in way[:-1]:
            await above.record(wish)
        for found in way[-1:]:
            await found.raise_cap(wish.caps, wish.step, wish.minutes, wish.cycles, wish.until)

    async def _way_to(self, run_id: str) -> list[OpenRun]:
        """The runs from this one down to the one of this id, which is under way; else none."""
        if run_id == self.run.id:
            return [self]
        for one in tuple(self.run.busy):
            if one.run_id and (way := await (await self.child(one))._way_to(run_id)):
                return [self, *way]
        return []

    async def _raise_minutes_below(self, minutes: float) -> None:
        """Let the runs below that have a limit of their own work as long, if theirs is less."""
        for one in tuple(self.run.busy):
            if one.run_id:
                child = await self.child(one)
                if 0 < child.time.minutes < minutes:
                    await child.record(CapRaised(child.run.caps[""], "", minutes))
                await child._raise_minutes_below(minutes)

    async def steer(self, text: str) -> None:
        """Say something to who works on a mission, now and in each cycle that follows (W-51)."""
        if self.run.end is None:
            await self.record(RunSteered(text))
            for one in self.run.busy:
                step = self.plan.workflow.step(one.step) if one.step != MERGE else None
                if step is not None and step.kind == "agent" and step.proves is None:
                    self.sessions.steer(one.key, text)
            for child in self._busy_children():
                await child.steer(text)

    async def as_chat(self) -> str:
        """Make a chat of the session that a paused mission worked in last; returns its id.

        What the mission changed waits there as drafts too. Raises ConfigurationError.
        """
        await self.tasks.settled()
        steps = [step.id for step in self.plan.workflow.steps if step.proves is None]
        tries = [one for one in self.run.steps.values() if one.step in steps and one.session_id]
        last = max(tries, key=lambda one: one.tries[-1].began, default=None)
        if last is None:
            raise ConfigurationError("No agent has worked on this mission yet.")
        session = await self.engine.sessions.branch(last.session_id)
        await session.change(title=f"{self.started.name}, cycle {self.run.cycle}")
        await self.desks.hand_over(session)
        return session.info.id

    async def stop(self, reason: str = YOU_STOPPED) -> None:
        """End the run with all that belongs to it (W-19)."""
        if self.run.end is not None:
            return
        if self.run.paused is None:
            await self.record(RunPaused(reason))  # nothing begins meanwhile
        await self.record(*await self.stopped([one.key for one in self.run.busy], reason))
        left = [
            StepFinished(step.id, "", "stopped" if begun else "skipped", reason)
            for step in self.plan.workflow.steps
            if not self.run.step(step.id).over
            for begun in [step.id in self.run.items or bool(self.run.step(step.id).tries)]
        ]
        await self.record(*left)
        await self.desks.offer()
        await self.record(RunFinished("stopped", reason))

    async def stopped(self, keys: Sequence[StepKey], reason: str) -> list[StepFinished]:
        """End the work on running steps; returns their ends, which are not recorded yet."""
        await self.tasks.end(keys)
        return [await self._stopped(key, reason) for key in keys if not self.run.step(*key).over]

    async def _stopped(self, key: StepKey, reason: str) -> StepFinished:
        tokens, dollars = 0, 0.0
        self.questions.forget(key)
        one = self.run.step(*key)
        if one.run_id:
            child = await self.child(one)
            await child.stop(reason)
            tokens, dollars = child.run.tokens, child.run.dollars
        elif one.session_id:
            tokens, dollars = await self.work.spent(one.session_id)
        elif one.step in self.run.counting:
            await self.items.cancel_batches(self.plan.workflow.step(one.step))
            await self.items.recount()
            tally = self.run.tallies[one.step]
            tokens, dollars = tally.tokens, tally.dollars
        return StepFinished(*key, "stopped", reason, tokens=tokens, dollars=dollars)

    # Questions

    async def answer(
        self, question_id: str, answer: Json, by: str = "", *, whole: bool = False
    ) -> None:
        """Answer a question of the run; raises ConfigurationError if there is none like it.

        See ``RunQuestion`` for what each kind takes. ``whole``: the answer to an agent's question
        is that of all who ask the same in this run, now or later.
        """
        found = next((one for one in self.run.questions if one[1].id == question_id), None)
        if found is None:
            raise ConfigurationError("This question is answered already, or was never asked.")
        one, question = found
        if not await self._waits_for_answer(one, question):
            raise ConfigurationError("This is asked again when the run goes on.")
        whole = whole and question.reply_to is not None
        answered = StepAnswered(*one.key, question_id, answer, by, whole)
        if question.kind == "conflict":
            await self.record(answered)
            return
        if answer == "run":  # it is the whole run's from now on
            await self.record(answered)
            if self.above is None:
                await self._allow(question.rules)
                for other in self._others_who_ask(question):
                    if is_covered(other, self.run.allowed):
                        self.sessions.answer(other, "run", by)
        elif whole:
            await self.record(answered)
            self._reply_alike(question, answer)
        if self.plan.workflow.step(one.step).kind == "workflow":
            child = await self.child(one)
            await child.answer(question_id, answer, by)
            return
        match question.kind:
            case "permission" | "reply":
                self.sessions.answer(question, answer, by)
            case "approve":
                finish = approved(one.key, bool(answer))
                await self.record(answered, *await self.tries.finished(finish))
            case "ask":
                finish = StepFinished(*one.key, text=as_words(answer), outputs=answer)
                await self.record(answered, *await self.tries.finished(finish))
            case "sample" if answer not in question.choices:
                raise ConfigurationError(f"Answer with one of {', '.join(question.choices)}.")
            case "unsure" | "sample":
                await self.record(answered)
            case "paused":
                pass  # no step asks it

    async def leave_out(self, question_id: str) -> None:
        """Leave out the item of a step that asks this; the others go on (W-22).

        Raises ConfigurationError if no item asks it.
        """
        found = next((pair for pair in self.run.questions if pair[1].id == question_id), None)
        if found is None or not self.run.is_of_item(*found):
            raise ConfigurationError("No item of a step asks this any more.")
        if not found[0].item:
            await self.items.leave_out(*found)
            return
        self._left_out.add(found[0].key)
        if self.run.paused is not None:  # else who carries the run out does it before it goes on
            await self.leave_items_out()
        self.tasks.note_change()

    async def leave_items_out(self) -> bool:
        """Leave out the items that the person has chosen; whether there were any."""
        keys, self._left_out = tuple(self._left_out), set[StepKey]()
        if keys:
            ends = await self.stopped(keys, LEFT_OUT)
            await self.record(*(replace(end, state="skipped") for end in ends))
        return bool(keys)

    async def _waits_for_answer(self, one: StepRun, question: RunQuestion) -> bool:
        """Whether a question may be answered: those of sessions end with their program."""
        if question.kind not in ("permission", "reply"):
            return True
        if self.plan.workflow.step(one.step).kind == "workflow":
            child = await self.child(one)
            asked = [found for found in child.run.questions if found[1].id == question.id]
            return bool(asked) and await child._waits_for_answer(*asked[0])
        return self.sessions.asks(question)

    async def _allow(self, rules: Iterable[Rule]) -> None:
        """Let all that works now in the run use these rules."""
        await self.sessions.allow(rules)
        for child in tuple(self.children.values()):
            await child._allow(rules)

    def _others_who_ask(self, question: RunQuestion) -> list[RunQuestion]:
        """What is asked now beside this question, also by items whose question is not shown."""
        asked = {one.id: one for one in self.items.questions.open}
        asked |= {one.id: one for _, one in self.run.questions}
        return [one for one in asked.values() if one.id != question.id]

    def _reply_alike(self, question: RunQuestion, answer: Json) -> None:
        """Give an answer to all others who ask the same now, here and in the runs below."""
        for one in self._others_who_ask(question):
            if one.reply_to == question.reply_to:
                self.sessions.answer(one, answer, FOR_RUN)
        for child in self.children.values():
            child._reply_alike(question, answer)

    # The runs below

    @property
    def run_ids(self) -> list[str]:
        """This run and those below it that are open here."""
        below = [run_id for child in self.children.values() for run_id in child.run_ids]
        return [self.run.id, *below]

    async def planned_below(self, step: Step, item: str) -> tuple[Plan, NewRun]:
        """The new run of a step, which is not stored yet; raises StudioError."""
        values = self.plan.values
        names = values.names(self.run, step, item)
        inputs = await self.reads.having(lambda: values.fill_all(dict(step.inputs), names))
        return await self._child_runs.planned(
            step, cast("JsonObject", inputs), self._upward(), self.sessions.kept
        )

    def _upward(self) -> list[RunStarted]:
        """The beginnings of this run and those that it is below."""
        return [self.started, *(self.above[0]._upward() if self.above else ())]

    def begin_below(self, step: Step, plan: Plan, run: Run) -> None:
        """Have the run of a step open that has just begun."""
        self.children[run.id] = OpenRun(self.engine, self.store, plan, run, (self, step))

    async def child(self, one: StepRun) -> OpenRun:
        """The run of a step, which may have begun before; raises StudioError."""
        if one.run_id not in self.children:
            step = self.plan.workflow.step(one.step)
            self.begin_below(step, *await self._child_runs.open(one.run_id))
        return self.children[one.run_id]

    def _busy_children(self, step: str = "") -> list[OpenRun]:
        """The open runs of steps that are under way and not held, or of one of them."""
        live = self.children
        of = [one for one in self.run.busy if one.run_id in live]
        return [
            live[one.run_id]
            for one in of
            if (one.step == step if step else one.step not in self.run.held)
        ]

    # What was used

    async def book_used(self) -> Amount:
        """Book what the run, its steps and all runs below used; what the run used.

        Requests of tries that go on are in their sessions.
        """
        spent: list[tuple[str, Amount]] = []
        await self.items.recount()
        for one in self.run.busy:
            if one.run_id:
                spent.append((one.step, await (await self.child(one)).book_used()))
            elif one.session_id:
                tokens, dollars = await self.work.spent(one.session_id)
                spent.append((one.step, Amount(tokens, dollars or 0.0)))
        return self.accounts.book(self.plan.workflow.steps, spent)
