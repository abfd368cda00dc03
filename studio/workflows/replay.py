"""Replay: does a recorded run again without keys and network, and compares (W-28).

Along the record, event by event: what the person did, what tools returned, ids and times are taken
from it. What the program did is done again and has to come to the same. Equal are two logs if

- each prompt of a step, and each decision of the plan, is the same;
- each request that the adapter makes of the history is the same, in whatever order its JSON names
  things;
- the recorded bytes of the answer, read again by the adapter, give the same words, thoughts, calls,
  tokens and items of the history;
- each step's text and outputs follow from that, those of a workflow from its own run.

A replay can go on past the steps whose record differs or is gone, and tell them all, so that they
are run live (``live_steps``); and it can have the folder read again (``live_reads``).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from studio.agent.chat_files import secret_texts
from studio.agent.engine import Engine
from studio.agent.loop.structured_output import parse_answer
from studio.agent.permission.content_filter import parse_kinds
from studio.domain.errors import ConfigurationError
from studio.domain.events import TurnStarted
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.messages import Text
from studio.domain.run_events import (
    MERGE,
    ItemsFound,
    RetryPlanned,
    RunEvent,
    RunFinished,
    RunStarted,
    StepFinished,
    StepLinked,
    StepsRedone,
    StepStarted,
)
from studio.domain.runs import Run
from studio.domain.workflows import Step, Workflow
from studio.providers.registry import KEY_TITLES

from .bundle import (
    RecordedEpoch,
    RecordedExchange,
    RecordedRun,
    RecordedSession,
    write_bundle,
)
from .child_runs import outcome_of
from .expressions import ExpressionError, NotRead, as_words
from .fork import edited_workflow
from .live_reads import LiveReads
from .missions.check_steps import with_checks
from .missions.cycles import Cycles
from .plan import Plan
from .reader import read_workflow_text
from .session_replay import Differs, SessionReplay, require_same, why_taken
from .step_work import answer_of
from .workflow_runs import WorkflowRuns

NO_RECORD = "Nothing of its exchanges is recorded."
NOT_ENDED = "It has not run to its end."
_FROM_FOLDER = "it computes with files or many items, and that is taken from the record."
_MASKED = re.compile(r"\[([a-z][a-z ]{0,29}) \d{1,6}\]")


@dataclass(frozen=True, slots=True)
class ReplayDifference:
    """Where a replay came to something else: ``what`` in words, ``lines`` of a unified diff."""

    step: str
    item: str
    what: str
    lines: tuple[str, ...] = ()


@dataclass(slots=True)
class ReplayReport:
    """What a replay came to. ``taken`` says what was taken from the record as it is, and why."""

    requests: int = 0
    steps: int = 0
    taken: list[str] = field(default_factory=list[str])
    difference: ReplayDifference | None = None
    missing: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """The steps and items to run live, each with the reason, where a replay is to be filled."""
    answered: dict[tuple[str, str], tuple[RecordedSession, int]] = field(
        default_factory=dict[tuple[str, str], tuple[RecordedSession, int]]
    )
    """Of these the sessions whose first requests, so many, have the same answers again."""
    below: dict[tuple[str, str], tuple[RecordedRun, ReplayReport]] = field(
        default_factory=dict[tuple[str, str], "tuple[RecordedRun, ReplayReport]"]
    )
    """What the runs of steps and items came to, where a replay is to be filled."""
    reads: int = 0
    """How many calls read the folder again."""


def report_json(report: ReplayReport) -> JsonObject:
    """A report as JSON; ``missing`` is a list of steps and items with reasons.

    ``answered`` says there how many of its requests have their answer in the record, ``below``
    what is missing in its own run.
    """
    found = asdict(replace(report, missing={}, answered={}, below={}))
    del found["answered"], found["below"]
    return {**found, "missing": _missing_json(report)}


def _missing_json(report: ReplayReport) -> list[Json]:
    missing: list[Json] = []
    for (step, item), why in report.missing.items():
        _, answered = report.answered.get((step, item), (None, 0))
        one: JsonObject = {"step": step, "item": item, "why": why, "answered": answered}
        if (step, item) in report.below:
            one["below"] = _missing_json(report.below[step, item][1])
        missing.append(one)
    return missing


async def read_record(engine: Engine, run_id: str) -> RecordedRun:
    """A stored run as it was recorded; raises ConfigurationError or StorageError."""
    runs = WorkflowRuns(engine)
    run = await runs.read(run_id)
    assert run.started is not None
    events = await runs.store.events(run_id)
    begun = [event for _, event in events if isinstance(event, StepStarted)]
    sessions = [await _read_session(engine, one.session_id) for one in begun if one.session_id]
    below = [await read_record(engine, one.run_id) for one in begun if one.run_id]
    text = await runs.store.text(run.started.digest)
    found = tuple(one for one in sessions if one is not None)
    return RecordedRun(text, tuple(events), found, tuple(below))


async def _read_session(engine: Engine, session_id: str) -> RecordedSession | None:
    info = await engine.store.get(session_id)
    if info is None:
        return None
    events = await engine.store.events(session_id)
    epochs: list[RecordedEpoch] = []
    places: dict[str, tuple[int, int]] = {}
    for known in await engine.store.epochs(session_id):
        stored = await engine.store.native(session_id, known.number)
        if stored is not None:
            for number, digest in enumerate(stored.chain):
                places[digest] = (len(epochs), number)
            epochs.append(RecordedEpoch(stored.system, tuple(stored.tools), tuple(stored.items)))
    exchanges = [
        RecordedExchange(*places.get(one.chain, (-1, 0)), one.setting, one.exchange)
        for one in await engine.services.exchanges.of(session_id)
    ]
    return RecordedSession(
        *(session_id, info.provider, info.model, tuple(events)),
        tuple(epochs),
        tuple(exchanges),
    )


async def export_run(engine: Engine, run_id: str) -> bytes:
    """The bundle of a stored run, without the person's keys and what they and agents mask (W-29).

    Raises ConfigurationError or StorageError.
    """
    record = await read_record(engine, run_id)
    started = next(one for _, one in record.events if isinstance(one, RunStarted))
    for name in KEY_TITLES:
        await engine.keychain.get(name)
    secrets = await secret_texts(engine)
    agents = await engine.agents(Path(started.folder))
    masks = [
        *engine.settings.values.mask,
        *(one for a in agents.by_name.values() for one in a.mask),
    ]

    def write() -> bytes:
        return write_bundle(record, secrets, parse_kinds(dict.fromkeys(masks)))

    return await asyncio.to_thread(write)


async def replay(
    record: RecordedRun, *, fill: bool = False, reads: LiveReads | None = None
) -> ReplayReport:
    """Replay a run with those below it; needs neither keys nor network.

    With ``fill`` it goes on past steps that differ or have no record, and reports them as
    ``missing``. With ``reads`` the folder is read again.

    Raises ConfigurationError for a record of which nothing can be done again.
    """
    try:
        return await _Replay(record, fill, reads).run()
    except (LookupError, ValueError, TypeError, ArithmeticError) as error:
        raise ConfigurationError(f"What is recorded of this run is damaged: {error}.") from error


class _Replay:
    def __init__(self, record: RecordedRun, fill: bool, reads: LiveReads | None) -> None:
        self._record = record
        self._fill, self._reads = fill, reads
        self._skipped: set[str] = set()
        """Steps behind one that is to run live: they run live too."""
        self._changed = False
        """Whether an agent changed something, so that the folder is not what it was."""
        self._sessions = {one.id: one for one in record.sessions}
        runs = [(one, Run(one.events)) for one in record.below]
        self._below = {run.id: (one, run) for one, run in runs if run.id}
        self._report = ReplayReport()
        whole = Run(record.events)
        if whole.started is None:
            raise ConfigurationError("This run has no beginning.")
        found = read_workflow_text(record.workflow, whole.started.name).workflow
        if found is None:
            raise ConfigurationError("The workflow of this run cannot be read.")
        self._workflow: Workflow = edited_workflow(with_checks(found), whole.edits.values())
        self._plan = Plan(self._workflow, {"files": _not_recorded, "rows": _not_recorded})
        self._steps: dict[str, Step] = {step.id: step for step in self._workflow.steps}

    async def run(self) -> ReplayReport:
        run, events, report = Run(), self._record.events, self._report
        whole = self._workflow
        for number, (at, event) in enumerate(events):
            step, item = getattr(event, "step", ""), getattr(event, "item", "")
            try:
                if step not in self._skipped and (step or not report.missing):
                    await self._event(run, at, event, [one for _, one in events[number + 1 :]])
            except Differs as differs:
                if not self._fill or step not in self._steps:
                    found = ReplayDifference(step, item, differs.what, differs.lines)
                    report.difference = found
                    break
                self._miss(step, item, differs.what)
            except NotRead:
                label = self._steps[step].label if step in self._steps else whole.name
                report.taken.append(f"{label}: {_FROM_FOLDER}")
            run.apply(at, event)
        if self._fill and run.end is not None and run.end.state == "stopped":
            for step in self._plan.workflow.steps:
                if run.step(step.id).state not in ("done", "failed", "skipped"):
                    self._miss(step.id, "", NOT_ENDED)
        return report

    def _miss(self, step: str, item: str, why: str) -> None:
        """Leave a step to be run live, with all that is behind it."""
        self._report.missing[step, item] = why
        self._skipped.update(self._plan.behind(step))
        if item:  # its other items can have their record
            self._skipped.discard(step)

    async def _event(self, run: Run, at: float, event: RunEvent, rest: Sequence[RunEvent]) -> None:
        match event:
            case ItemsFound() if not _is_linked(rest, event.step):
                self._decided(run, at, event)
            case StepStarted() | StepFinished() if event.step == MERGE:
                pass  # where changes meet: what becomes of them is no step's word
            case StepStarted():
                self._report.below.pop((event.step, event.item), None)
                self._prompt(run, event)
            case StepFinished(state="skipped") if event.item:
                pass  # the person left it out
            case StepFinished(state="skipped"):
                if run.state not in ("paused", "stopped"):
                    self._decided(run, at, event)
            case StepFinished():
                await self._finished(run, at, event, rest)
            case RunFinished(state="done" | "failed"):
                self._decided(run, at, event)
            case _:
                pass

    def _require_known(self, run: Run, step: str) -> None:
        """Raises NotRead where a step, or the end, computes with items that have no record."""
        before = self._plan.every[step] if step else frozenset(self._steps)
        for name in before & run.tallies.keys():
            raise NotRead("items", name)

    def _decided(self, run: Run, at: float, event: RunEvent) -> None:
        self._require_known(run, getattr(event, "step", ""))
        decision = self._plan.next(run, at)
        if isinstance(event, ItemsFound) and event.step in {step.id for step in decision.queues}:
            raise NotRead("items", event.step)
        decided = Cycles(self._workflow, run).before_end(decision.events)
        if event not in decided:
            same = [str(one) for one in decided if type(one) is type(event)]
            raise Differs(
                "The plan decided something else.", _lines(str(event)), _lines("\n".join(same))
            )

    def _prompt(self, run: Run, event: StepStarted) -> None:
        step, session = self._steps[event.step], self._sessions.get(event.session_id)
        if event.run_id in self._below:
            self._inputs(run, step, event)
        if step.kind != "agent" or session is None:
            return
        self._require_known(run, step.id)
        said = next((one.said for one in session.events if isinstance(one, TurnStarted)), ())
        recorded = "".join(part.text for part in said if isinstance(part, Text))
        try:
            prompt = self._plan.values.prompt(run, step, event.item)
        except ExpressionError as error:
            prompt = str(error)
        if self._workflow.done_when and step.proves is None:  # notes and limits go before it
            recorded = recorded[-len(prompt) :]
        if said and _unmasked(prompt) != _unmasked(recorded):
            raise Differs("The prompt differs.", recorded, prompt)

    def _inputs(self, run: Run, step: Step, event: StepStarted) -> None:
        """Compare what the run of a step began with; texts may have become numbers there."""
        started = self._below[event.run_id][1].started
        assert started is not None
        self._require_known(run, step.id)
        names = self._plan.values.names(run, step, event.item)
        try:
            given = self._plan.values.fill_all(dict(step.inputs), names)
        except ExpressionError as error:
            raise Differs(str(error)) from error
        now = {name: as_words(one) for name, one in cast("JsonObject", given).items()}
        recorded = {name: as_words(started.inputs.get(name)) for name in now}
        require_same("What the workflow is given", cast("Json", recorded), cast("Json", now))

    async def _finished(
        self, run: Run, at: float, event: StepFinished, rest: Sequence[RunEvent]
    ) -> None:
        step, one = self._steps[event.step], run.step(event.step, event.item)
        if event.item or step.id not in run.items:
            if one.run_id in self._below:
                await self._run_below(step, one.run_id, event)
            else:
                await self._work(run, step, one.session_id, event)
        if event.state == "stopped":
            return
        follow = self._plan.finished(run, event, at)
        recorded = [event, *rest[: len(follow) - 1]]
        kinds = (RetryPlanned, StepsRedone)
        if [_plain(x) for x in follow] != [_plain(x) for x in recorded] or (
            len(follow) == 1 and rest and isinstance(rest[0], kinds) and _by(rest[0]) == step.id
        ):
            raise Differs(
                "What follows from the end of the step differs.",
                _lines("\n".join(map(str, recorded))),
                _lines("\n".join(map(str, follow))),
            )

    async def _run_below(self, step: Step, run_id: str, event: StepFinished) -> None:
        """Replay the run of a step, and compare what came of it."""
        record, run = self._below[run_id]
        below = _Replay(record, self._fill, self._reads)
        below._changed = self._changed
        found = await below.run()
        self._changed = below._changed
        report = self._report
        report.steps += 1 + found.steps
        report.requests += found.requests
        report.reads += found.reads
        report.taken += [f"{step.label}, {one}" for one in found.taken]
        if self._fill and found.difference is None and run.end is not None:
            report.below[step.id, event.item] = record, found
        for (name, item), why in found.missing.items():
            raise Differs(f"{f'{name}, {item}' if item else name}: {why}")
        if (differs := found.difference) is not None:
            place = ", ".join(filter(None, (differs.step, differs.item)))
            what = f"{place}: {differs.what}" if place else differs.what
            raise Differs(what, lines=differs.lines)
        if run.end is not None:
            came = outcome_of(step, event.item, run)
            require_same("The text", event.text, came.text)
            require_same("The outputs", event.outputs, came.outputs)
            require_same("The end", event.state, came.state)

    async def _work(self, run: Run, step: Step, session_id: str, event: StepFinished) -> None:
        self._report.steps += 1
        values = self._plan.values
        if step.kind in ("set", "check"):
            self._require_known(run, step.id)
        names = values.names(run, step, event.item)
        if step.kind == "set" and event.state == "done":
            require_same("The values", event.outputs, values.fill_all(dict(step.inputs), names))
        elif step.proves is not None and step.proves.kind == "file":
            self._report.taken.append(f"{step.label}: what came of it is taken from the record.")
        elif step.kind == "check" and event.outputs is not None:
            passed = bool(values.compute(step.target, names))
            require_same("The check", event.outputs, {"passed": passed})
        elif step.kind != "agent":
            self._report.taken.append(f"{step.label}: what came of it is taken from the record.")
        elif session := self._sessions.get(session_id):
            await self._read_again(step, session)
            await self._session(step, event.item, session)
            if event.state == "done":
                text = answer_of(session.events, one_reply=step.outputs is not None)
                require_same("The text", event.text, text)
                if step.outputs is not None:
                    require_same("The outputs", event.outputs, parse_answer(text, step.outputs))
        elif session_id and self._fill:
            raise Differs(NO_RECORD)
        elif step.id in run.tallies:
            self._report.taken.append(
                f"{step.label}: what came of its items is taken from the record."
            )

    async def _read_again(self, step: Step, session: RecordedSession) -> None:
        """Do the reading calls of a session again, up to the first change of the run."""
        if self._reads is None or self._changed:
            return
        calls, self._changed = self._reads.before_changes(session.events)
        for made in await self._reads.again(step.target, session, calls):
            self._report.reads += 1
            if _unmasked(made.now) != _unmasked(made.recorded):
                what = f"What {made.name} gives differs: {made.target}".rstrip(": ")
                raise Differs(f"{what}.", made.recorded, made.now)

    async def _session(self, step: Step, item: str, session: RecordedSession) -> None:
        """Make each request of a session again, and read the answers again."""
        taken = why_taken(session)
        if not session.exchanges and not taken:
            if self._fill:
                raise Differs(NO_RECORD)
            taken = "nothing of its exchanges is recorded; its result is taken from the record."
        if taken:
            self._report.taken.append(f"{step.label}: {taken}")
            return
        replayed = SessionReplay(session)
        try:
            await replayed.run()
        except Differs:
            if replayed.answered:
                self._report.answered[step.id, item] = session, replayed.answered
            raise
        finally:
            self._report.requests += replayed.requests
            await replayed.close()


def _not_recorded(path: Any) -> list[Json]:
    """In place of ``files`` and ``rows``, whose results no record has."""
    raise NotRead("files", str(path))


def _is_linked(rest: Sequence[RunEvent], step: str) -> bool:
    return bool(rest) and isinstance(rest[0], StepLinked) and rest[0].step == step


def _plain(event: RunEvent) -> object:
    """An event without its time."""
    return (event.step, event.item) if isinstance(event, RetryPlanned) else event


def _by(event: RunEvent) -> str:
    if isinstance(event, StepsRedone):
        return event.by
    return event.step if isinstance(event, RetryPlanned) else ""


def _lines(text: str) -> str:
    return text.replace(", ", ",\n")


def _unmasked(text: str) -> str:
    """A text without the numbers of masked values: each session counts them anew."""
    return _MASKED.sub(r"[\1]", text).strip()
