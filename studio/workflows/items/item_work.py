"""Item work: the items of the steps of one run, from where they are found to their results."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice

from studio.domain.errors import ConfigurationError, ProviderError
from studio.domain.events import Exposed
from studio.domain.items import MANY
from studio.domain.jsonvalue import Json
from studio.domain.run_events import (
    ItemsCounted,
    ItemsFound,
    ItemsQueued,
    RunEvent,
    RunQuestion,
    StepAnswered,
    StepAsked,
)
from studio.domain.runs import Run, StepKey, StepRun
from studio.domain.workflows import Step
from studio.workflows.cluster.coordinator import coordinator_of
from studio.workflows.expressions import ExpressionError
from studio.workflows.step_work import Outcome

from .answerer import ItemAnswerer, answers_itself
from .batches import BatchWork
from .shift import ItemParts, Shift, left_out
from .sources import read_call, read_items


class ItemWork:
    """The items of the steps of one run."""

    def __init__(self, parts: ItemParts) -> None:
        self._parts = parts
        self._store, self._recorder = parts.store, parts.recorder
        self._plan, self._run = parts.recorder.plan, parts.recorder.run
        self._shifts: dict[str, Shift] = {}
        """What is worked on now, by step."""
        self.questions = QuestionsOfItems()
        self._leaving = asyncio.Lock()

    async def queue(self, step: Step) -> RunEvent:
        """Find the items of a step: few become events, many rows of the table.

        Raises ExpressionError and StudioError.
        """
        values, source = await self._values(step)
        first = await asyncio.to_thread(lambda: list(islice(values, MANY + 1)))
        if len(first) <= MANY and (step.via == "live" or not first):
            return ItemsFound(step.id, tuple(value for value, _ in first))
        answerer = await self._answerer(step)
        before = self._plan.values.names(self._run, step)
        base = answerer.base(
            *(before["inputs"], _without_cost(before["steps"]), self._run.round_of(step.id)),
            *_place(self._run, answerer),
        )
        queue = await self._store.fill(self._run.id, step.id, base, chain(first, values))
        return ItemsQueued(step.id, queue.count, queue.linked, source)

    async def carry_out(self, step: Step, exposed: Sequence[Exposed]) -> Outcome:
        """Work on what is left; the outcome says why no more is worked on."""
        queue = await self._store.queue(self._run.id, step.id)
        if queue is None:
            raise ConfigurationError("The items of this step are not stored any more.")
        shift = Shift(self._parts, step, queue)
        self._shifts[step.id] = shift
        try:
            before = await shift.begin(await self._answerer(step), exposed)
            if before is not None:
                return before
            if shift.in_batches:
                await BatchWork(shift).carry_out()
            else:
                await shift.work_on(None)
            return shift.stopped or await shift.finished()
        finally:
            del self._shifts[step.id]
            self.questions.forget(step.id)

    def note_question(self, key: StepKey, event: StepAsked | StepAnswered) -> list[RunEvent]:
        """An item asks the person, or was answered; what changes in what its step asks (W-22)."""
        if (shift := self._shifts.get(key[0])) is not None:
            shift.note_question(key[1], asks=isinstance(event, StepAsked))
        return self.questions.follow(event)

    async def leave_out(self, one: StepRun, question: RunQuestion) -> None:
        """Leave out the item that asks this; raises ConfigurationError if none does any more."""
        sessions, shift = self._parts.work.sessions, self._shifts.get(one.step)
        key = sessions.key_of(question.session_id) if sessions.asks(question) else None
        if shift is not None and key is not None:
            shift.left_out.add(key[1])
            sessions.stop(question)
            return
        async with self._leaving:
            if all(asked.id != question.id for _, asked in self._run.questions):
                return  # a second click
            queue = await self._store.queue(self._run.id, one.step)
            found = queue and await self._store.of_session(queue, question.session_id)
            if shift is not None or queue is None or found is None:
                raise ConfigurationError("This is asked again when the run goes on.")
            used = await self._parts.work.spent(question.session_id)
            await self._store.record(queue, [left_out(found, *used)])
            counted = ItemsCounted(one.step, await self._store.tally(queue))
            await self._recorder.record(StepAnswered(*one.key, question.id, None), counted)

    def named(self, key: StepKey) -> Json:
        """The value of an item that is worked on."""
        shift = self._shifts.get(key[0])
        return shift.value_of(key[1]) if shift is not None else ""

    def waits(self, step: str) -> bool:
        """Whether only the person moves the items of a step on."""
        shift = self._shifts.get(step)
        return shift is None or shift.waits

    async def retry_failed(self, step: str) -> int:
        """Let failed items of a step that is not over be worked on again; returns how many."""
        queue = await self._store.queue(self._run.id, step)
        if queue is None:
            return 0
        if (shift := self._shifts.get(step)) is not None:
            return await shift.retry_failed()
        count = await self._store.retry_failed(queue)
        await self._recorder.record(ItemsCounted(step, await self._store.tally(queue)))
        return count

    async def recount(self) -> None:
        """Count what the items of steps that are not over have used until now."""
        for step in self._run.counting:
            if (queue := await self._store.queue(self._run.id, step)) is not None:
                await self._recorder.record(ItemsCounted(step, await self._store.tally(queue)))

    async def cancel_batches(self, step: Step) -> None:
        """Have the provider work no more on what was sent: the step is stopped."""
        queue = await self._store.queue(self._run.id, step.id)
        jobs = await self._store.jobs(queue) if queue is not None else []
        batches = (await self._answerer(step)).batches if jobs else None
        for job in jobs:
            with suppress(ProviderError):  # it is over within a day
                if batches is not None and job.remote:
                    await batches.cancel(job.remote)
            await self._store.end_job(job.key)

    async def load_results(self) -> None:
        """Bring the results of items to the expressions that read them."""
        plan, run, listed = self._plan, self._run, self._plan.values.listed
        for step in [*listed]:
            if step not in run.tallies:
                del listed[step]
        for step in run.tallies:
            wanted = bool(plan.workflow.outputs) or any(
                step in needs and not run.step(one).over for one, needs in plan.every.items()
            )
            if not wanted or step in listed or not run.step(step).over:
                continue
            if (queue := await self._store.queue(run.id, step)) is not None:
                listed[step] = await self._store.result_lists(queue)

    async def _values(self, step: Step) -> tuple[Iterator[tuple[Json, str]], str]:
        """The items as they are read, and where they are from."""
        values = self._plan.values
        if (call := read_call(step)) is None or step.matrix:
            found = await self._parts.reads.having(lambda: values.items(self._run, step))
            words = step.for_each if isinstance(step.for_each, str) else "the workflow’s file"
            return iter([(one, "") for one in found]), words
        name, argument = call
        names = values.names(self._run, step)
        where = await self._parts.reads.having(lambda: argument.evaluate(names, values.reads))
        if not isinstance(where, str):
            raise ExpressionError("{name}() takes a text", 0, {"name": name})
        return read_items(await self._parts.reads.workspace(name, where), name, where), where

    async def _answerer(self, step: Step) -> ItemAnswerer:
        assert self._run.started is not None
        engine = self._parts.engine
        choice = await self._parts.work.sessions.choose(step)
        agent = await self._parts.work.sessions.agent(choice.agent)
        cluster = coordinator_of(engine.services) if answers_itself(agent) else None
        if cluster is not None and step.via == "live":
            provider = await cluster.provider(engine.services.providers, choice.provider)
        else:
            provider = await engine.provider(choice.provider)
        answerer = ItemAnswerer(engine, step, agent, provider)
        await answerer.begin(choice.model, self._run.started.subject)
        return answerer


class QuestionsOfItems:
    """What the items of steps ask that have too many for events: of each step the first is shown.

    It is the step's question; when it is answered, the next one is.
    """

    def __init__(self) -> None:
        self._asked: dict[str, list[RunQuestion]] = {}

    def follow(self, event: StepAsked | StepAnswered) -> list[RunEvent]:
        """What changes in what a step asks, when one of its items asks or was answered."""
        asked = self._asked.setdefault(event.step, [])
        shown = asked[0].id if asked else ""
        if isinstance(event, StepAsked):
            asked.append(event.question)
            return [] if shown else [StepAsked(event.step, "", event.question)]
        asked[:] = [one for one in asked if one.id != event.question_id]
        if event.question_id != shown:
            return []
        answered = replace(event, item="")
        return [answered, *(StepAsked(event.step, "", one) for one in asked[:1])]

    @property
    def open(self) -> list[RunQuestion]:
        """All that items ask now."""
        return [one for step in self._asked.values() for one in step]

    def left_open(self, key: StepKey, session_id: str) -> StepAnswered | None:
        """The turn of an item has ended: its question, if one is open, takes no answer any more."""
        asked = self._asked.get(key[0], ())
        ids = [one.id for one in asked if one.session_id == session_id]
        return StepAnswered(*key, ids[0], None) if ids else None

    def forget(self, step: str) -> None:
        """The work on a step has ended: what its items asked they ask again, if it goes on."""
        self._asked.pop(step, None)


def _place(run: Run, answerer: ItemAnswerer) -> list[Json]:
    """What else items depend on: what they are about, which says who may see their results, and
    the folder that tools look at."""
    if answers_itself(answerer.agent) and not answerer.subject:
        return []
    return [answerer.subject, run.started.folder if run.started is not None else ""]


def _without_cost(steps: Json) -> Json:
    """Results of steps without what they cost, which says nothing about what they are."""
    assert isinstance(steps, dict)
    return {
        id: {name: one[name] for name in ("outputs", "text")} if isinstance(one, dict) else None
        for id, one in steps.items()
    }
