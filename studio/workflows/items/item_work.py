"""Item work: the items of the steps of one run, from where they are found to their results."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
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
from studio.domain.runs import Run
from studio.domain.workflows import Step
from studio.workflows.cluster.coordinator import coordinator_of
from studio.workflows.expressions import ExpressionError
from studio.workflows.plan import Plan
from studio.workflows.run_questions import Key, QuestionsOfItems
from studio.workflows.step_work import Outcome

from .answerer import ItemAnswerer, answers_itself
from .batches import BatchWork
from .shift import ItemParts, Shift
from .sources import read_call, read_items


class ItemWork:
    """The items of the steps of one run."""

    def __init__(self, parts: ItemParts) -> None:
        self._parts = parts
        self.store, self.record = parts.store, parts.record
        self._shifts: dict[str, Shift] = {}
        """What is worked on now, by step."""
        self.questions = QuestionsOfItems()

    async def queue(self, plan: Plan, run: Run, step: Step) -> RunEvent:
        """Find the items of a step: few become events, many rows of the table.

        Raises ExpressionError and StudioError.
        """
        values, source = await self._values(plan, run, step)
        first = await asyncio.to_thread(lambda: list(islice(values, MANY + 1)))
        if len(first) <= MANY and (step.via == "live" or not first):
            return ItemsFound(step.id, tuple(value for value, _ in first))
        answerer = await self._answerer(run, step)
        before = plan.values.names(run, step)
        base = answerer.base(
            *(before["inputs"], _without_cost(before["steps"]), run.round_of(step.id)),
            *_place(run, answerer),
        )
        queue = await self.store.fill(run.id, step.id, base, chain(first, values))
        return ItemsQueued(step.id, queue.count, queue.linked, source)

    async def carry_out(
        self, plan: Plan, run: Run, step: Step, exposed: Sequence[Exposed]
    ) -> Outcome | RunQuestion:
        """Work on what is left; the outcome says why no more is worked on."""
        queue = await self.store.queue(run.id, step.id)
        if queue is None:
            raise ConfigurationError("The items of this step are not stored any more.")
        shift = Shift(self._parts, plan, run, step, queue)
        self._shifts[step.id] = shift
        try:
            before = await shift.begin(await self._answerer(run, step), exposed)
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

    def note_question(self, key: Key, event: StepAsked | StepAnswered) -> list[RunEvent]:
        """An item asks the person, or was answered; what changes in what its step asks (W-22)."""
        if (shift := self._shifts.get(key[0])) is not None:
            shift.note_question(key[1], asks=isinstance(event, StepAsked))
        return self.questions.follow(event)

    def named(self, key: Key) -> Json:
        """The value of an item that is worked on."""
        shift = self._shifts.get(key[0])
        return shift.value_of(key[1]) if shift is not None else ""

    def waits(self, step: str) -> bool:
        """Whether only the person moves the items of a step on."""
        shift = self._shifts.get(step)
        return shift is None or shift.waits

    async def retry_failed(self, run: Run, step: str) -> int:
        """Let failed items of a step that is not over be worked on again; returns how many."""
        queue = await self.store.queue(run.id, step)
        if queue is None:
            return 0
        if (shift := self._shifts.get(step)) is not None:
            return await shift.retry_failed()
        count = await self.store.retry_failed(queue)
        await self.record(ItemsCounted(step, await self.store.tally(queue)))
        return count

    async def recount(self, run: Run) -> None:
        """Count what the items of steps that are not over have used until now."""
        for step in run.counting:
            if (queue := await self.store.queue(run.id, step)) is not None:
                await self.record(ItemsCounted(step, await self.store.tally(queue)))

    async def cancel_batches(self, run: Run, step: Step) -> None:
        """Have the provider work no more on what was sent: the step is stopped."""
        queue = await self.store.queue(run.id, step.id)
        jobs = await self.store.jobs(queue) if queue is not None else []
        batches = (await self._answerer(run, step)).batches if jobs else None
        for job in jobs:
            with suppress(ProviderError):  # it is over within a day
                if batches is not None and job.remote:
                    await batches.cancel(job.remote)
            await self.store.end_job(job.key)

    async def load_results(self, plan: Plan, run: Run) -> None:
        """Bring the results of items to the expressions that read them."""
        listed = plan.values.listed
        for step in [*listed]:
            if step not in run.tallies:
                del listed[step]
        for step in run.tallies:
            wanted = bool(plan.workflow.outputs) or any(
                step in needs and not run.step(one).over for one, needs in plan.every.items()
            )
            if not wanted or step in listed or not run.step(step).over:
                continue
            if (queue := await self.store.queue(run.id, step)) is not None:
                listed[step] = await self.store.result_lists(queue)

    async def _values(
        self, plan: Plan, run: Run, step: Step
    ) -> tuple[Iterator[tuple[Json, str]], str]:
        """The items as they are read, and where they are from."""
        values = plan.values
        if (call := read_call(step)) is None or step.matrix:
            found = await self._parts.reads.having(lambda: values.items(run, step))
            words = step.for_each if isinstance(step.for_each, str) else "the workflow’s file"
            return iter([(one, "") for one in found]), words
        name, argument = call
        names = values.names(run, step)
        where = await self._parts.reads.having(lambda: argument.evaluate(names, values.reads))
        if not isinstance(where, str):
            raise ExpressionError("{name}() takes a text", 0, {"name": name})
        return read_items(await self._parts.reads.workspace(name, where), name, where), where

    async def _answerer(self, run: Run, step: Step) -> ItemAnswerer:
        assert run.started is not None
        engine = self._parts.engine
        choice = await self._parts.sessions.choose(step)
        agent = await self._parts.sessions.agent(choice.agent)
        cluster = coordinator_of(engine.services) if answers_itself(agent) else None
        if cluster is not None and step.via == "live":
            provider = await cluster.provider(engine.services.providers, choice.provider)
        else:
            provider = await engine.provider(choice.provider)
        answerer = ItemAnswerer(engine, step, agent, provider)
        await answerer.begin(choice.model, run.started.subject)
        return answerer


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
