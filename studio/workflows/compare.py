"""Compare: tells what differs between two runs, and where they differ first (W-31)."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from studio.domain.events import DraftCreated, DraftResolved, Event, ToolFinished, ToolQueued
from studio.domain.jsonvalue import Json
from studio.domain.ledger import canonical_json, digest
from studio.domain.run_events import MERGE, StepState
from studio.domain.runs import Run
from studio.storage.sessions.store import SessionStore

from .expressions import as_words
from .workflow_runs import WorkflowRuns

INPUTS, FILES = "inputs", "files"
"""Where runs can differ beside their steps."""


@dataclass(frozen=True, slots=True)
class RunSide:
    """One of two runs as a whole. ``seconds`` is from its beginning to its last event."""

    id: str
    name: str
    number: int
    state: str
    forked_from: str
    tokens: int
    dollars: float
    seconds: float
    inputs: tuple[str, ...] = ()
    parts: Mapping[str, str] = field(default_factory=dict[str, str])
    """The digests of its files, by name: the workflow's, and of the agents and tools."""

    @property
    def digest(self) -> str:
        """Of all its files."""
        return digest(canonical_json(dict(self.parts)))


@dataclass(frozen=True, slots=True)
class StepSide:
    """A step, or an item of it, in one run.

    ``instructions`` are its agent's as they were sent. ``tools`` has a line for each call, with
    what it was about, ``call_seconds`` how long each took; ``drafts`` the files that it proposed to
    change with their new text, by name. ``tokens``, ``dollars`` and ``seconds`` are those of all
    tries, also of linked ones; ``session_id`` is the chat of the last one.
    """

    state: StepState
    reason: str
    text: str
    outputs: Json
    instructions: str
    tools: tuple[str, ...]
    drafts: Mapping[str, str]
    tries: int
    tokens: int
    dollars: float
    seconds: float
    linked: str = ""
    session_id: str = ""
    call_seconds: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class StepComparison:
    """A step, or an item of it, in two runs; None where one does not have it.

    ``differs`` names what is not the same: fields of ``StepSide``, without cost and time, which
    are never quite the same; or ``there`` where one run does not have it.
    """

    step: str
    item: str
    first: StepSide | None
    second: StepSide | None
    differs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs side by side. ``steps`` are in the order in which they began.

    ``inputs`` are those that differ, by name, with both values in words. ``files`` are the lines
    of a unified diff of the workflows' texts, and of what was edited for one run.
    ``first_difference`` is ``INPUTS``, ``FILES``, or the step and the item that differ first;
    None for equal runs.
    """

    first: RunSide
    second: RunSide
    inputs: Mapping[str, tuple[str, str]]
    files: tuple[str, ...]
    steps: tuple[StepComparison, ...]
    first_difference: str | tuple[str, str] | None = None


COMPARED = ("state", "text", "outputs", "instructions", "tools", "drafts")


async def compare_runs(runs: WorkflowRuns, first: str, second: str) -> RunComparison:
    """Compare two stored runs by their ids; raises ConfigurationError for one that is not there."""
    one, two = await runs.read(first), await runs.read(second)
    before, after = await _texts(runs, one), await _texts(runs, two)
    inputs = _inputs(one, two)
    files = tuple(difflib.unified_diff(before, after, first[:8], second[:8], lineterm="", n=1))
    steps: list[StepComparison] = []
    for step, item in _order(one, two):
        here = await _side(runs.sessions, one, step, item)
        there = await _side(runs.sessions, two, step, item)
        steps.append(StepComparison(step, item, here, there, _differs(here, there)))
    different: list[str | tuple[str, str]] = [INPUTS] if inputs else []
    different += [FILES] if files else []
    different += [(step.step, step.item) for step in steps if step.differs]
    first_difference = different[0] if different else None
    return RunComparison(_whole(one), _whole(two), inputs, files, tuple(steps), first_difference)


def _whole(run: Run) -> RunSide:
    assert run.started is not None
    return RunSide(
        *(run.id, run.started.name, run.started.number, run.state, run.started.forked_from),
        *(run.tokens, run.dollars, run.changed - run.began),
        tuple(as_words(value) for value in run.started.inputs.values()),
        {"workflow": run.started.digest, **{k: str(v) for k, v in run.started.parts.items()}},
    )


async def _texts(runs: WorkflowRuns, run: Run) -> list[str]:
    """The workflow of a run, and below it what was edited for the run."""
    assert run.started is not None
    lines = (await runs.store.text(run.started.digest)).splitlines()
    for edit in run.edits.values():
        named = {"prompt": edit.prompt, "agent": edit.agent, "model": edit.model}
        for name, value in named.items():
            if value is not None:
                lines.append(f"[edited for this run] {edit.step}, {name}:")
                lines += value.splitlines()
    return lines


def _inputs(one: Run, two: Run) -> dict[str, tuple[str, str]]:
    assert one.started is not None and two.started is not None
    found: dict[str, tuple[str, str]] = {}
    first, second = one.started.inputs, two.started.inputs
    for name in dict.fromkeys((*first, *second)):
        if name not in first or name not in second or first[name] != second[name]:
            found[name] = (_words(first, name), _words(second, name))
    return found


def _words(values: Mapping[str, Json], name: str) -> str:
    return as_words(values[name]) if name in values else ""


def _order(one: Run, two: Run) -> list[tuple[str, str]]:
    """Steps in the order in which they began, each with its items below it; the merge is last."""
    began: dict[tuple[str, str], float] = {}
    for run in (two, one):  # the first one decides
        for (step, item), found in run.steps.items():
            times = [tried.began for tried in found.tries]
            if not item:
                times += [
                    tried.began
                    for key in run.items.get(step, ())
                    for tried in run.step(step, key).tries
                ]
            began[step, item] = min(times, default=run.changed) - run.began
    first: dict[str, float] = {}
    for (step, _), at in began.items():
        first[step] = min(at, first.get(step, at))
    steps = list(first)

    def place(key: tuple[str, str]) -> tuple[bool, float, int, bool, float]:
        step, item = key
        return step == MERGE, first[step], steps.index(step), bool(item), began[key]

    return sorted(began, key=place)


async def _side(sessions: SessionStore, run: Run, step: str, item: str) -> StepSide | None:
    one = run.steps.get((step, item))
    if one is None:
        return None
    events: list[Event] = []
    instructions = ""
    for tried in one.tries:
        if tried.session_id:
            events += await sessions.events(tried.session_id)
            native = await sessions.native(tried.session_id)
            instructions = native.system if native is not None else ""
    return StepSide(
        *(one.state, one.reason, one.text, one.outputs, instructions),
        tools=_tools(events),
        drafts=_drafts(events),
        tries=len(one.tries),
        tokens=sum(tried.tokens for tried in one.tries),
        dollars=sum(tried.dollars or 0.0 for tried in one.tries),
        seconds=sum(tried.seconds for tried in one.tries),
        linked=one.linked,
        session_id=one.session_id,
        call_seconds=_call_seconds(events),
    )


def _tools(events: Iterable[Event]) -> tuple[str, ...]:
    lines: dict[str, str] = {}
    for event in events:
        match event:
            case ToolQueued():
                lines[event.call_id] = f"{event.name} {event.target}".rstrip()
            case ToolFinished() if event.is_error and event.call_id in lines:
                lines[event.call_id] += " (failed)"
            case _:
                pass
    return tuple(lines.values())


def _call_seconds(events: Iterable[Event]) -> tuple[float, ...]:
    took: dict[str, float] = {}
    for event in events:
        match event:
            case ToolQueued():
                took.setdefault(event.call_id, 0.0)
            case ToolFinished() if event.call_id in took:
                took[event.call_id] = event.seconds
            case _:
                pass
    return tuple(took.values())


def _drafts(events: Sequence[Event]) -> dict[str, str]:
    """The new text of each file that was proposed last, by its name."""
    gone = {
        event.draft_id
        for event in events
        if isinstance(event, DraftResolved) and event.status in ("superseded", "discarded")
    }
    found: dict[str, str] = {}
    for event in events:
        if isinstance(event, DraftCreated) and event.draft.id not in gone:
            described = event.draft.describe()
            found[described.label] = described.after
    return found


def _differs(first: StepSide | None, second: StepSide | None) -> tuple[str, ...]:
    if first is None or second is None:
        return ("there",)
    return tuple(name for name in COMPARED if getattr(first, name) != getattr(second, name))
