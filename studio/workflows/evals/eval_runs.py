"""Eval runs: runs evals, and finds those that ran (W-58).

What an earlier eval was paid for is never lost: before one begins, the record takes over what the
runs of a broken off one came to.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias, cast

from studio.agent.engine import Engine
from studio.domain.agents import NO_CAPS, Caps
from studio.domain.codec import decode, encode
from studio.domain.errors import ConfigurationError
from studio.domain.evals import Cell, Eval, EvalReport
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.ledger import canonical_json, digest
from studio.domain.messages import Message, Text
from studio.domain.records import dataclass
from studio.domain.runs import Run
from studio.domain.sessions import Origin
from studio.domain.workflows import Step, Workflow
from studio.storage.evals import EvalRow, EvalStore
from studio.storage.run_items import ItemStore
from studio.workflows.items.results import all_rows
from studio.workflows.runner import Runner
from studio.workflows.workflow_runs import RunOptions, WorkflowRuns

from .cells import (
    CELL,
    JUDGED,
    Asked,
    Try,
    Worker,
    answer_steps,
    asked,
    cell,
    chosen_cells,
    step_of,
    tries,
    verdict,
    words_of,
    workflow_text,
)
from .cost_estimate import CostEstimate, Judging, costs_before, estimate_cost, judgings
from .eval_file import read_eval
from .graders import JUDGES

Drive: TypeAlias = Callable[[Runner], Awaitable[object]]
"""Carries a run out, for as long as it goes by itself or somebody answers."""
REPORTS = 20
"""Evals of a file among which the last one with a report is looked for."""
LOOKED_AT = 5
"""Earlier evals of a file whose runs may have something for the record."""


@dataclass(frozen=True, slots=True)
class EvalOptions:
    """How an eval is run. ``provider`` and ``model`` answer where a variant names none.

    ``fresh``: the record does not count. ``cells``: these alone are asked, whatever the record has
    of them, and so are verdicts of their cases that it has not; see ``chosen_cells``.
    """

    caps: Caps
    provider: str = ""
    model: str = ""
    fresh: bool = False
    cells: frozenset[tuple[str, str]] = frozenset()


class EvalRuns:
    """The evals of one program."""

    def __init__(self, engine: Engine, runs: WorkflowRuns) -> None:
        self._engine, self._runs = engine, runs
        self.store = EvalStore(engine.database)
        self._items = ItemStore(engine.database)

    async def run(
        self, one: Eval, path: Path, folder: Path, options: EvalOptions, drive: Drive
    ) -> tuple[EvalRow, EvalReport]:
        """Run an eval; only what the record does not have is asked.

        Raises ConfigurationError where no cap limits it, and for what cannot be run.
        """
        caps = options.caps.within(one.budget.caps)
        if not (caps.dollars or caps.tokens):
            raise ConfigurationError(
                f"{one.name} has no cap. Give it a budget in its file, or --dollars or --tokens."
            )
        await self._take_over(str(path))
        work = _EvalWork(self._engine, self._runs, one, path, folder, replace(options, caps=caps))
        every = await work.prepare()
        id = uuid.uuid4().hex
        await self.store.begin(id, one.name, str(path), str(folder))
        report: EvalReport | None = None
        runs: list[str] = []

        async def carry_out(runner: Runner) -> Run:
            runs.append(runner.run.id)
            await self.store.note_runs(id, runs)
            await drive(runner)
            await self._keep(runner.run)
            return runner.run

        try:
            report = await work.carry_out(id, self.store, every, carry_out)
        finally:
            made = None if report is None else cast("JsonObject", encode(cast("object", report)))
            state = "unfinished" if report is None or report.reason else "done"
            await self.store.end(id, state, made)
        assert report is not None
        return (await self.store.list(1, start=id))[0], report

    async def estimate(
        self, one: Eval, path: Path, folder: Path, options: EvalOptions, report: EvalReport | None
    ) -> CostEstimate:
        """What an eval will cost that is run now; raises ConfigurationError if it cannot be run.

        ``report`` is of an earlier one.
        """
        work = _EvalWork(self._engine, self._runs, one, path, folder, options)
        every = await work.prepare()
        record = await self.store.recorded(each.key for each in every)
        asked = Counter(each.variant.id for each in every if work.wants(each, record))
        costs = costs_before(every, record, report, work.models)
        judging = await work.judging(self.store, every, record, costs, report)
        return estimate_cost(len(every), asked, costs, judging)

    async def run_cell(
        self, report: EvalReport, name: str, path: Path, folder: Path, drive: Drive
    ) -> tuple[EvalRow, EvalReport]:
        """Ask a cell, ``CASE:VARIANT``, again as the file is now, by those who answered it before.

        Raises ConfigurationError as ``run`` does.
        """
        one = await asyncio.to_thread(read_eval, path)
        known = {each.id for each in report.eval.variants}
        kept = tuple(each for each in one.variants if each.id in known)
        one = replace(one, variants=kept, repeats=report.eval.repeats)
        cells = chosen_cells(one, [name])
        options = EvalOptions(NO_CAPS, report.provider, report.model, cells=cells)
        return await self.run(one, path, folder, options, drive)

    async def chat(self, row: EvalRow, report: EvalReport, cell: Cell, origin: Origin) -> str:
        """The id of the chat in which a try was answered.

        Where there is none, as for agents without tools, a new one that goes on from the answer.
        Raises StudioError.
        """
        sessions = self._engine.sessions
        if cell.session_id and await self._engine.store.get(cell.session_id) is not None:
            return cell.session_id
        if not cell.answered:
            raise ConfigurationError("This cell has no answer yet.")
        case = next(one for one in report.eval.cases if one.id == cell.case)
        variant = next(one for one in report.eval.variants if one.id == cell.variant)
        said = Message("user", (Text(words_of(variant, case)),))
        provider, _, model = report.models[variant.id].partition("/")
        session = await sessions.create(
            folder=row.folder,
            agent=variant.agent,
            provider=provider,
            model=model,
            title=f"{row.name}: {case.label}",
            model_chosen=True,
            origin=origin,
            told=(said, Message("assistant", (Text(cell.text),))),
        )
        self._engine.questions.notifier.notify_soon()  # windows of other programs list it
        return session.info.id

    async def find(self, start: str) -> EvalRow:
        """The one eval whose id begins so; raises ConfigurationError if there is not one."""
        found = await self.store.list(2, start=start) if start else []
        if len(found) != 1:
            many = "more than one eval" if found else "no eval"
            raise ConfigurationError(f"There is {many} with an id that begins with {start}.")
        return found[0]

    async def report(self, row: EvalRow) -> EvalReport:
        """What an eval came to; raises ConfigurationError if that is not known."""
        found = await self.store.report(row.id)
        if found is None:
            raise ConfigurationError(
                f"The eval {row.id[:8]} was broken off. Run it again: what is done is not lost."
            )
        return decode(EvalReport, found)

    async def last_report(self, path: Path) -> EvalReport | None:
        """What the last eval of a file came to that was not broken off, of the last twenty."""
        for row in await self.store.list(REPORTS, source=str(path)):
            if (found := await self.store.report(row.id)) is not None:
                return decode(EvalReport, found)
        return None

    async def _take_over(self, source: str) -> None:
        """Take over what runs of unfinished evals of a file came to, and end these."""
        for row in await self.store.list(LOOKED_AT, source=source):
            for run_id in row.runs if row.state != "done" else ():
                found = await self._runs.store.list(1, run_id)
                if not found:
                    continue
                if found[0].live:
                    raise ConfigurationError("This eval is running in another program.")
                await self._keep(run := await self._runs.read(run_id))
                if run.end is None:
                    await self._runs.stop(run_id)
            if row.state == "running":
                await self.store.end(row.id, "unfinished", await self.store.report(row.id))

    async def _keep(self, run: Run) -> None:
        """Put the results of a run into the record."""
        assert run.started is not None
        found: dict[str, JsonObject] = {}
        for step in run.started.inputs:
            queue = await self._items.queue(run.id, step)
            if queue is not None:
                async for row in all_rows(self._items, queue):
                    used = (row.tokens, row.dollars, row.seconds, row.session_id)
                    _note(found, row.value, row.state, row.fault, row.reason, row.text,
                          row.outputs, used)  # fmt: skip
                continue
            for key, value in run.items.get(step, {}).items():
                each = run.step(step, key)
                if (last := each.last) is not None:
                    used = (each.tokens, last.dollars, last.seconds, last.session_id)
                    _note(found, value, each.state, last.fault, each.reason, each.text,
                          each.outputs, used)  # fmt: skip
        if found:
            await self.store.record(found)


def _note(
    found: dict[str, JsonObject],
    value: Json,
    state: str,
    fault: str,
    reason: str,
    text: str,
    outputs: Json,
    used: tuple[int, float | None, float, str],
) -> None:
    """Note what came of an item, if it says something about its cell.

    An error of the provider or a missing permission says nothing.
    """
    if not isinstance(value, dict) or not isinstance(key := value.get(CELL), str):
        return
    made = outputs if isinstance(outputs, dict) else {}
    failed = state == "failed" and fault in ("limit", "timeout", "invalid")
    ended = state == "done" or (failed and JUDGED not in value)
    if not (ended or isinstance(made.get("exit_code"), int)):
        return
    tokens, dollars, seconds, session = used
    found[key] = {
        "text": text,
        "reason": reason if state == "failed" else "",
        **made,
        "tokens": tokens,
        "dollars": dollars,
        "seconds": seconds,
        "session": session,
    }


class _EvalWork:
    """One eval while it runs."""

    def __init__(
        self,
        engine: Engine,
        runs: WorkflowRuns,
        one: Eval,
        path: Path,
        folder: Path,
        options: EvalOptions,
    ) -> None:
        self._engine, self._runs = engine, runs
        self._eval, self._path, self._folder = one, path, folder
        self._options = options
        self._used = Caps()
        self._ended = True
        self._workers: dict[str, Worker] = {}
        self._judges: dict[str, Worker] = {}

    @property
    def models(self) -> dict[str, str]:
        """The provider and model of each variant."""
        return {name: f"{one.provider}/{one.model}" for name, one in self._workers.items()}

    @property
    def judges(self) -> dict[str, str]:
        """The provider and model of each agent that judges."""
        return {name: f"{one.provider}/{one.model}" for name, one in self._judges.items()}

    async def prepare(self) -> list[Try]:
        """Who answers and judges, and all cells; raises ConfigurationError."""
        for variant in self._eval.variants:
            self._workers[variant.id] = await self._worker(variant.agent, variant.model)
        for case in self._eval.cases:
            for grader in case.graders:
                name = str(grader.target)
                if grader.kind in JUDGES and name not in self._judges:
                    self._judges[name] = await self._worker(name, "")
        return await asyncio.to_thread(tries, self._eval, self._workers, str(self._folder))

    async def carry_out(
        self,
        id: str,
        store: EvalStore,
        every: Sequence[Try],
        carry_out: Callable[[Runner], Awaitable[Run]],
    ) -> EvalReport:
        keys = [one.key for one in every]
        before = await store.recorded(keys)
        chosen = [one for one in every if self.wants(one, before)]
        wanted: dict[str, list[Json]] = {}
        for one in chosen:
            item: JsonObject = {"case": one.case.id, CELL: one.key, "words": one.words}
            wanted.setdefault(one.variant.id, []).append(item)
        steps = {id: one for id, one in answer_steps(self._eval).items() if id in wanted}
        await self._ask(id, steps, wanted, "plan", carry_out)
        answers = await store.recorded(keys)
        fresh = {one.key for one in chosen if answers.get(one.key) != before.get(one.key)}
        cells, open_ = await asyncio.to_thread(self._cells, every, answers)
        # Commands first: they cost nothing.
        for kinds, mode in ((("command",), ""), (JUDGES, "plan")):
            found = [(every[at], one) for at, _, one in open_ if one.grader.kind in kinds]
            known = await store.recorded(one.key for _, one in found)
            wanting = [one for its, one in found if self.wants(its, known, one.key)]
            await self._verdicts(id, wanting, mode, carry_out)
        told = await store.recorded(one.key for _, _, one in open_)
        for at, place, one in open_:
            if one.key in told:
                grades = list(cells[at].grades)
                grades[place] = verdict(one, told[one.key])
                cells[at] = replace(cells[at], grades=tuple(grades))
        marked = tuple(replace(one, fresh=one.answered and one.key in fresh) for one in cells)
        why = self._why(marked, len(chosen) - len(fresh))
        asked_for = self._options.provider, self._options.model
        return EvalReport(
            self._eval, self.models, marked, self._used.dollars, why, *asked_for, self.judges
        )

    def _cells(
        self, every: Sequence[Try], answers: Mapping[str, JsonObject]
    ) -> tuple[list[Cell], list[tuple[int, int, Asked]]]:
        """The cells of these answers, and the verdicts that they need from runs.

        Each verdict comes with the place of its cell and that of its grader. Blocks.
        """
        baseline, rivals = self._baseline(every)
        cells = [cell(one, answers, baseline) for one in every]
        wanted = [
            (at, place, verdict_)
            for at, (one, its) in enumerate(zip(every, cells, strict=True))
            if its.answered
            for place, verdict_ in asked(
                one, its, answers, rivals[one.case.id, one.number], self._judges
            )
        ]
        return cells, wanted

    def _baseline(self, every: Sequence[Try]) -> tuple[str, dict[tuple[str, int], str]]:
        """The variant that others are compared with, and its keys by case and number."""
        baseline = self._eval.variants[0].id
        its = [one for one in every if one.variant.id == baseline]
        return baseline, {(one.case.id, one.number): one.key for one in its}

    async def judging(
        self,
        store: EvalStore,
        every: Sequence[Try],
        record: Mapping[str, JsonObject],
        costs: Mapping[str, Sequence[float | None]],
        report: EvalReport | None,
    ) -> list[Judging]:
        """The verdicts that agents are asked for if all answers that are asked for pass before."""
        cells, told = await asyncio.to_thread(self._cells, every, record)
        judged = [(every[at], one) for at, _, one in told if one.grader.kind in JUDGES]
        known = await store.recorded(one.key for _, one in judged)
        renewed = {one.key for one in every if self.wants(one, record)}
        baseline, rivals = self._baseline(every)
        wanted: Counter[str] = Counter()
        before: dict[str, list[float | None]] = {}
        for one, its in zip(every, cells, strict=True):
            own, rival = one.key in renewed, rivals[one.case.id, one.number]
            for place, grader in enumerate(one.case.graders):
                if grader.kind == "pairwise" and one.variant.id != baseline:
                    open_ = own or (its.answered and its.grades[place].passed is None)
                    asked_anew = open_ and (rival in renewed or (own and rival in record))
                else:
                    asked_anew = own and grader.kind == "grader"
                if asked_anew:
                    wanted[str(grader.target)] += 1
        for one, its in judged:
            judge = str(its.grader.target)
            if its.key in known:
                cost = cast("float | None", known[its.key].get("dollars"))
                before.setdefault(judge, []).append(cost)
            pair = its.grader.kind == "pairwise"
            of = {one.key, rivals[one.case.id, one.number]} if pair else {one.key}
            if not of & renewed and self.wants(one, known, its.key):
                wanted[judge] += 1
        return judgings(wanted, before, report, self.judges, costs, self.models)

    def wants(self, one: Try, record: Container[str], verdict: str = "") -> bool:
        """Whether a try is asked, or an agent or a command for a verdict about it."""
        cells = self._options.cells
        if one.place in cells or (self._options.fresh and not cells):
            return True
        reached = not cells or (verdict and one.case.id in {case for case, _ in cells})
        return bool(reached) and (verdict or one.key) not in record

    def _why(self, cells: Sequence[Cell], silent: int) -> str:
        """Why an eval is unfinished; empty if it is not. ``silent`` cells gave no new answer."""
        if left := sum(not one.graded for one in cells):
            return f"{left:,} of {len(cells):,} cells have no result."
        return f"{silent:,} of {len(cells):,} cells gave no new answer." if silent else ""

    async def _verdicts(
        self,
        id: str,
        wanted: Sequence[Asked],
        mode: str,
        carry_out: Callable[[Runner], Awaitable[Run]],
    ) -> None:
        steps: dict[str, JsonObject] = {}
        items: dict[str, list[Json]] = {}
        names: dict[str, str] = {}
        for one in wanted:
            step = step_of(one.grader)
            name = names.setdefault(canonical_json(step), f"verdict_{len(names) + 1}")
            steps[name] = step
            items.setdefault(name, []).append(one.item)
        await self._ask(id, steps, items, mode, carry_out)

    async def _ask(
        self,
        id: str,
        steps: Mapping[str, JsonObject],
        items: Mapping[str, list[Json]],
        mode: str,
        carry_out: Callable[[Runner], Awaitable[Run]],
    ) -> None:
        """Have a run do these steps, within what is left of the caps."""
        caps, used = self._options.caps, self._used
        spent = (caps.dollars and used.dollars >= caps.dollars) or (
            caps.tokens and used.tokens >= caps.tokens
        )
        if not steps or spent or not self._ended:
            return
        left = Caps(
            caps.tokens - used.tokens if caps.tokens else 0,
            caps.dollars - used.dollars if caps.dollars else 0.0,
        )
        wanted = RunOptions(
            {"eval": id, **{name: items[name] for name in steps}},
            left,
            self._options.provider,
            self._options.model,
            mode,
        )
        text = workflow_text(self._eval.name, steps)
        runner = await self._runs.start_text(text, self._path, self._folder, wanted)
        run = await carry_out(runner)
        self._ended = run.end is not None and run.end.state == "done"
        self._used = Caps(used.tokens + run.tokens, used.dollars + run.dollars)

    async def _worker(self, name: str, model: str) -> Worker:
        choice = await self._engine.choose(
            agent=name,
            provider="" if model else self._options.provider,
            model=model or self._options.model,
            folder=self._folder,
        )
        flow = Workflow(name, (Step("work", "agent", name),))
        parts = (await self._runs.parts.of(flow, self._folder)).digests
        key = digest(canonical_json(dict(sorted(parts.items()))))
        return Worker(name, choice.provider, choice.model, key)
