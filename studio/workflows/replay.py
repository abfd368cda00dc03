"""Replay: does a recorded run again without keys and network, and compares (W-28).

Along the record, event by event: what the person did, what tools returned, ids and times are taken
from it. What the program did is done again and has to come to the same. Equal are two logs if

- each prompt of a step, and each decision of the plan, is the same;
- each request that the adapter makes of the history is the same, in whatever order its JSON names
  things;
- the recorded bytes of the answer, read again by the adapter, give the same words, thoughts, calls,
  tokens and items of the history;
- each step's text and outputs follow from that.

A replay can go on past the steps whose record differs or is gone, and tell them all, so that a fork
runs them live; and it can have the folder read again (``live_reads``).
"""

from __future__ import annotations

import asyncio
import difflib
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from studio.agent.chat_files import secret_texts
from studio.agent.engine import Engine
from studio.agent.loop.structured_output import parse_answer
from studio.agent.permission.content_filter import parse_kinds
from studio.domain.codec import decode
from studio.domain.errors import ConfigurationError, ProviderError
from studio.domain.events import (
    CallStarted,
    Event,
    ReasoningDelta,
    RetryScheduled,
    StepEnded,
    Summarised,
    TextDelta,
    TurnStarted,
)
from studio.domain.exchanges import STOPPED, Exchange, in_order
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.messages import Text
from studio.domain.models import Effort, ModelInfo
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
from studio.domain.tools import ToolSpec
from studio.domain.workflows import Step, Workflow
from studio.providers.base import Provider, Reply, Request
from studio.providers.registry import KEY_TITLES, PROVIDERS
from studio.providers.replaying import ReplayHttp

from .bundle import (
    RecordedEpoch,
    RecordedExchange,
    RecordedRun,
    RecordedSession,
    write_bundle,
)
from .expressions import ExpressionError
from .fork import ForkRequest, edited_workflow
from .live_reads import LiveReads
from .missions.check_steps import with_checks
from .missions.cycles import Cycles
from .plan import Plan
from .reader import read_workflow_text
from .step_work import answer_of
from .workflow_runs import WorkflowRuns

_ADDRESS = "https://replay.invalid/v1"
NO_RECORD = "Nothing of its exchanges is recorded."
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
    reads: int = 0
    """How many calls read the folder again."""


def report_json(report: ReplayReport) -> JsonObject:
    """A report as JSON; ``missing`` is a list of steps and items with reasons."""
    missing: list[Json] = [
        {"step": step, "item": item, "why": why} for (step, item), why in report.missing.items()
    ]
    return {**asdict(replace(report, missing={})), "missing": missing}


class _Differs(Exception):
    def __init__(self, what: str, before: str = "", after: str = "") -> None:
        super().__init__(what)
        lines = difflib.unified_diff(
            before.splitlines(), after.splitlines(), "recorded", "now", lineterm="", n=2
        )
        self.what, self.lines = what, tuple(lines)


async def read_record(engine: Engine, run_id: str) -> RecordedRun:
    """A stored run as it was recorded; raises ConfigurationError or StorageError."""
    runs = WorkflowRuns(engine)
    run = await runs.read(run_id)
    assert run.started is not None
    events = await runs.store.events(run_id)
    sessions = [
        await _read_session(engine, event.session_id)
        for _, event in events
        if isinstance(event, StepStarted) and event.session_id
    ]
    text = await runs.store.text(run.started.digest)
    return RecordedRun(text, tuple(events), tuple(one for one in sessions if one is not None))


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
    """Replay a run; needs neither keys nor network.

    With ``fill`` it goes on past steps that differ or have no record, and reports them as
    ``missing``. With ``reads`` the folder is read again.

    Raises ConfigurationError for a record of which nothing can be done again.
    """
    try:
        return await _Replay(record, fill, reads).run()
    except (LookupError, ValueError, TypeError, ArithmeticError) as error:
        raise ConfigurationError(f"What is recorded of this run is damaged: {error}.") from error


def fork_to_fill(run_id: str, report: ReplayReport) -> ForkRequest:
    """The fork that runs what a replay found missing, and links the rest."""
    return ForkRequest(run_id, also=tuple(report.missing))


class _Replay:
    def __init__(self, record: RecordedRun, fill: bool, reads: LiveReads | None) -> None:
        self._record = record
        self._fill, self._reads = fill, reads
        self._skipped: set[str] = set()
        """Steps behind one that is to run live: they run live too."""
        self._changed = False
        """Whether an agent changed something, so that the folder is not what it was."""
        self._sessions = {one.id: one for one in record.sessions}
        self._report = ReplayReport()
        whole = Run(record.events)
        if whole.started is None:
            raise ConfigurationError("This run has no beginning.")
        found = read_workflow_text(record.workflow, whole.started.name).workflow
        if found is None:
            raise ConfigurationError("The workflow of this run cannot be read.")
        self._workflow: Workflow = edited_workflow(with_checks(found), whole.edits.values())
        self._plan = Plan(self._workflow)
        self._steps: dict[str, Step] = {step.id: step for step in self._workflow.steps}

    async def run(self) -> ReplayReport:
        run, events, report = Run(), self._record.events, self._report
        for number, (at, event) in enumerate(events):
            step, item = getattr(event, "step", ""), getattr(event, "item", "")
            try:
                if step not in self._skipped and (step or not report.missing):
                    await self._event(run, at, event, [one for _, one in events[number + 1 :]])
            except _Differs as differs:
                if not self._fill or step not in self._steps:
                    found = ReplayDifference(step, item, differs.what, differs.lines)
                    report.difference = found
                    break
                self._miss(step, item, differs.what)
            run.apply(at, event)
        if self._fill and run.end is not None and run.end.state == "stopped":
            for step in self._plan.workflow.steps:
                if run.step(step.id).state not in ("done", "failed", "skipped"):
                    self._miss(step.id, "", "It has not run to its end.")
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
                self._prompt(run, event)
            case StepFinished(state="skipped"):
                if run.state not in ("paused", "stopped"):
                    self._decided(run, at, event)
            case StepFinished():
                await self._finished(run, at, event, rest)
            case RunFinished(state="done" | "failed"):
                self._decided(run, at, event)
            case _:
                pass

    def _decided(self, run: Run, at: float, event: RunEvent) -> None:
        decided = Cycles(self._workflow, run).before_end(self._plan.next(run, at).events)
        if event not in decided:
            same = [str(one) for one in decided if type(one) is type(event)]
            raise _Differs(
                "The plan decided something else.", _lines(str(event)), _lines("\n".join(same))
            )

    def _prompt(self, run: Run, event: StepStarted) -> None:
        step, session = self._steps[event.step], self._sessions.get(event.session_id)
        if step.kind != "agent" or session is None:
            return
        said = next((one.said for one in session.events if isinstance(one, TurnStarted)), ())
        recorded = "".join(part.text for part in said if isinstance(part, Text))
        try:
            prompt = self._plan.values.prompt(run, step, event.item)
        except ExpressionError as error:
            prompt = str(error)
        if self._workflow.done_when and step.proves is None:  # notes and limits go before it
            recorded = recorded[-len(prompt) :]
        if said and _unmasked(prompt) != _unmasked(recorded):
            raise _Differs("The prompt differs.", recorded, prompt)

    async def _finished(
        self, run: Run, at: float, event: StepFinished, rest: Sequence[RunEvent]
    ) -> None:
        step, one = self._steps[event.step], run.step(event.step, event.item)
        if event.item or step.id not in run.items:
            await self._work(run, step, one.session_id, event)
        if event.state == "stopped":
            return
        follow = self._plan.finished(run, event, at)
        recorded = [event, *rest[: len(follow) - 1]]
        kinds = (RetryPlanned, StepsRedone)
        if [_plain(x) for x in follow] != [_plain(x) for x in recorded] or (
            len(follow) == 1 and rest and isinstance(rest[0], kinds) and _by(rest[0]) == step.id
        ):
            raise _Differs(
                "What follows from the end of the step differs.",
                _lines("\n".join(map(str, recorded))),
                _lines("\n".join(map(str, follow))),
            )

    async def _work(self, run: Run, step: Step, session_id: str, event: StepFinished) -> None:
        self._report.steps += 1
        names = self._plan.values.names(run, step, event.item)
        if step.kind == "set" and event.state == "done":
            _same("The values", event.outputs, self._plan.values.fill_all(dict(step.inputs), names))
        elif step.proves is not None and step.proves.kind == "file":
            self._report.taken.append(f"{step.label}: what came of it is taken from the record.")
        elif step.kind == "check" and event.outputs is not None:
            passed = bool(self._plan.values.compute(step.target, names))
            _same("The check", event.outputs, {"passed": passed})
        elif step.kind != "agent":
            self._report.taken.append(f"{step.label}: what came of it is taken from the record.")
        elif session := self._sessions.get(session_id):
            await self._read_again(step, session)
            await self._session(step, session)
            if event.state == "done":
                text = answer_of(session.events, one_reply=step.outputs is not None)
                _same("The text", event.text, text)
                if step.outputs is not None:
                    _same("The outputs", event.outputs, parse_answer(text, step.outputs))
        elif session_id and self._fill:
            raise _Differs(NO_RECORD)

    async def _read_again(self, step: Step, session: RecordedSession) -> None:
        """Do the reading calls of a session again, up to the first change of the run."""
        if self._reads is None or self._changed:
            return
        calls, self._changed = self._reads.before_changes(session.events)
        for made in await self._reads.again(step.target, session, calls):
            self._report.reads += 1
            if _unmasked(made.now) != _unmasked(made.recorded):
                what = f"What {made.name} gives differs: {made.target}".rstrip(": ")
                raise _Differs(f"{what}.", made.recorded, made.now)

    async def _session(self, step: Step, session: RecordedSession) -> None:
        """Make each request of a session again, and read the answers again."""
        taken = _why_taken(session)
        if not session.exchanges and not taken:
            if self._fill:
                raise _Differs(NO_RECORD)
            taken = "nothing of its exchanges is recorded; its result is taken from the record."
        if taken:
            self._report.taken.append(f"{step.label}: {taken}")
            return
        replayed = _SessionReplay(session)
        try:
            await replayed.run()
        finally:
            self._report.requests += replayed.requests
            await replayed.close()


def _is_linked(rest: Sequence[RunEvent], step: str) -> bool:
    return bool(rest) and isinstance(rest[0], StepLinked) and rest[0].step == step


def _why_taken(session: RecordedSession) -> str:
    """Why the answers of a session cannot be read again; empty if they can."""
    if any(isinstance(one, Summarised) for one in session.events):
        return "its conversation was summed up; its result is taken from the record."
    if session.provider not in PROVIDERS or session.provider == "builtin":
        return f"{session.provider} is not asked over HTTP; its result is taken from the record."
    return ""


class _SessionReplay:
    """The requests of one session, one after the other."""

    def __init__(self, session: RecordedSession) -> None:
        self.requests = 0
        self._session = session
        self._left: list[RecordedExchange] = []
        self._given: RecordedExchange | None = None
        self._difference: _Differs | None = None
        self._http = ReplayHttp(self._answer)
        self._provider = _provider(session.provider, self._http)
        self._said: list[Event] = []
        self._whole = True
        """Whether each answer came to its end, so that the log can be compared."""

    async def close(self) -> None:
        await self._http.aclose()

    async def run(self) -> None:
        for group in _groups(self._session.exchanges):
            first = group[0]
            if first.epoch < 0:
                self._whole = False
                continue
            epoch = self._session.epochs[first.epoch]
            self._left = list(group)
            while any(_is_reply(one.exchange) for one in self._left):
                before = len(self._left)
                await self._request(epoch, first)
                if len(self._left) == before:
                    raise _Differs("A request that is in the record is not made.")
        if self._whole:
            _same("The log", _log(self._session.events), _log(self._said))

    async def _request(self, epoch: RecordedEpoch, first: RecordedExchange) -> None:
        request = _rebuilt(self._session, epoch, first)
        stream, reply = self._provider.stream(request), None
        try:
            async with aclosing(stream):
                async for delta in stream:
                    self._said.append(delta)
                reply = stream.reply()
        except ProviderError as error:
            if self._difference is not None:
                raise self._difference from None
            if self._given is not None and self._given.exchange.end == STOPPED:
                self._whole = False
            elif self._given is None or not self._given.withheld:
                self._said.append(RetryScheduled(0, 0, 0.0, error.fault, ""))
        if self._given is None or self._given.withheld:
            self._whole = False
            return
        if reply is not None:
            self._compare(reply, epoch, first)

    def _compare(self, reply: Reply, epoch: RecordedEpoch, first: RecordedExchange) -> None:
        stored = list(epoch.items[first.items : first.items + len(reply.items)])
        if stored or self._given is None or self._given.exchange.end != STOPPED:
            _same("What was read of the answer", cast("Json", stored), cast("Json", reply.items))
        self._said.append(StepEnded(0, reply.stop, reply.usage, 0.0))

    def _answer(self, sent: Exchange) -> Exchange | None:
        if _is_reply(sent):
            self.requests += 1
        for place, one in enumerate(self._left):
            if _matches(one.exchange, sent):
                self._given = self._left.pop(place)
                return self._given.exchange
        if not _is_reply(sent):  # facts about the model that were known before
            known = (one.exchange for one in self._session.exchanges)
            return next((one for one in known if _matches(one, sent)), None)
        expected = next((one.exchange for one in self._left if _is_reply(one.exchange)), None)
        what = "A request differs." if expected else "A request is not in the record."
        before = _pretty(expected.request) if expected is not None else ""
        self._difference = _Differs(what, before, _pretty(sent.request))
        return None


def _groups(exchanges: Sequence[RecordedExchange]) -> Iterator[list[RecordedExchange]]:
    """Exchanges that were made of the same history, one after the other: tries of one request."""
    group: list[RecordedExchange] = []
    for one in exchanges:
        if group and (one.epoch, one.items) != (group[0].epoch, group[0].items):
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def _is_reply(exchange: Exchange) -> bool:
    return exchange.method == "POST" and not exchange.path.endswith("/api/show")


def _matches(recorded: Exchange, sent: Exchange) -> bool:
    """Whether they are the same request, wherever the address that it went to begins."""
    ends = recorded.path.split("/")[-1] == sent.path.split("/")[-1]
    same = recorded.method == sent.method and ends
    return same and in_order(recorded.request) == in_order(sent.request)


def _rebuilt(session: RecordedSession, epoch: RecordedEpoch, first: RecordedExchange) -> Request:
    """The request as it was made, of the recorded history."""
    tools = cast("tuple[ToolSpec, ...]", decode(tuple[ToolSpec, ...], list(epoch.tools)))
    setting: dict[str, Any] = {**first.setting}
    facts = setting.pop("facts", None)
    stop = tuple(cast("list[str]", setting.pop("stop", ())))
    effort = cast("Effort | None", setting.pop("effort", None))
    model = str(setting.pop("model", session.model))
    return Request(
        model,
        list(epoch.items[: first.items]),
        epoch.system,
        tools,
        facts=cast("ModelInfo | None", decode(ModelInfo, facts) if facts is not None else None),
        stop=stop,
        effort=effort,
        session=session.id,
        **setting,
    )


def _provider(name: str, http: ReplayHttp) -> Provider:
    if name == "simulator":
        from studio.providers.demo.adapter import DemoProvider

        return DemoProvider(_ADDRESS, http)
    descriptor = PROVIDERS[name]
    return descriptor.load()("replay", _ADDRESS if descriptor.address_needed else "", http)


def _log(events: Sequence[Event]) -> str:
    """What the model said in a session, in lines that can be compared."""
    lines: list[str] = []
    last: type[Event] | None = None
    for event in events:
        match event:
            case TextDelta() | ReasoningDelta():
                if last is not type(event):
                    lines.append(f"{type(event).__name__}: ")
                lines[-1] += event.text
            case CallStarted():
                lines.append(f"call {event.call_id} {event.name}")
            case StepEnded() if not event.beside:
                lines.append(f"ended {event.stop} {event.usage}")
            case RetryScheduled():
                lines.append(f"failed {event.fault}")
            case _:
                continue
        last = type(event)
    return "\n".join(line for line in lines if not line.endswith("Delta: "))


def _same(what: str, recorded: Json, now: Json) -> None:
    if recorded != now:
        before, after = (
            one if isinstance(one, str) else json.dumps(one, indent=1, ensure_ascii=False)
            for one in (recorded, now)
        )
        raise _Differs(f"{what} differs.", before, after)


def _pretty(body: bytes) -> str:
    try:
        return json.dumps(json.loads(body), indent=1, sort_keys=True, ensure_ascii=False)
    except (ValueError, RecursionError):
        return body.decode("utf-8", "replace")


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
