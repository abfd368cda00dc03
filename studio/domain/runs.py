"""Runs of workflows: folds the events of a run into the state of its steps.

The fold does not know the workflow: a step without events is not in it, and waits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import TypeAlias, assert_never

from .agents import Caps
from .events import Exposed
from .items import ItemTally
from .jsonvalue import Json
from .ledger import canonical_json
from .permissions import Rule
from .records import dataclass
from .run_events import (
    OVER,
    BreakpointCleared,
    BreakpointReached,
    BreakpointSet,
    CapRaised,
    CapReached,
    CheckResult,
    CycleEnded,
    CycleStarted,
    Fault,
    ItemsCounted,
    ItemsFound,
    ItemsQueued,
    Moment,
    PausedAt,
    ResultEdited,
    RetryPlanned,
    RunDrafted,
    RunEvent,
    RunFinished,
    RunPaused,
    RunQuestion,
    RunQueued,
    RunResumed,
    RunStarted,
    RunState,
    RunSteered,
    StepAnswered,
    StepAsked,
    StepChanged,
    StepEdited,
    StepFinished,
    StepHeld,
    StepInTurns,
    StepLinked,
    StepQueued,
    StepReleased,
    StepResumed,
    StepsRedone,
    StepStarted,
    StepState,
)

StepKey: TypeAlias = tuple[str, str]
"""A step and its item; the item is empty for a step as a whole."""


@dataclass(slots=True)
class Try:
    """One try of a step or an item. Times are seconds since the epoch; ``ended`` is 0 before.

    ``linked`` is the run that it was made in and counts in, empty for this one.
    """

    round: int
    attempt: int
    session_id: str = ""
    began: float = 0.0
    ended: float = 0.0
    state: StepState = "running"
    reason: str = ""
    text: str = ""
    outputs: Json = None
    fault: Fault = ""
    tokens: int = 0
    dollars: float | None = 0.0
    seconds: float = 0.0
    exposed: tuple[Exposed, ...] = ()
    linked: str = ""
    run_id: str = ""


@dataclass(slots=True)
class StepRun:
    """A step of a run, or one item of it, as it is now.

    ``question`` is the one that waits for the person, ``due`` when its next try begins, 0 if
    none is planned. ``in_turns`` says why it takes turns with others in the folder, if it does.
    ``asked`` is when the last question was asked.
    """

    step: str
    item: str = ""
    state: StepState = "waiting"
    reason: str = ""
    tries: list[Try] = field(default_factory=list[Try])
    question: RunQuestion | None = None
    due: float = 0.0
    in_turns: str = ""
    asked: float = 0.0

    @property
    def key(self) -> StepKey:
        return self.step, self.item

    @property
    def last(self) -> Try | None:
        """The try that runs, or ran last."""
        return self.tries[-1] if self.tries else None

    @property
    def over(self) -> bool:
        return self.state in OVER

    @property
    def session_id(self) -> str:
        """The session of the last try; empty where it has none."""
        return self.tries[-1].session_id if self.tries else ""

    @property
    def run_id(self) -> str:
        """The run of the last try's workflow; empty where it has none."""
        return self.tries[-1].run_id if self.tries else ""

    @property
    def text(self) -> str:
        return self.tries[-1].text if self.tries else ""

    @property
    def outputs(self) -> Json:
        return self.tries[-1].outputs if self.tries else None

    @property
    def tokens(self) -> int:
        """Of all tries of this run."""
        return sum(one.tokens for one in self.tries if not one.linked)

    @property
    def dollars(self) -> float:
        """Of all tries of this run, as far as prices are known."""
        return sum(one.dollars or 0.0 for one in self.tries if not one.linked)

    @property
    def linked(self) -> str:
        """The run that its result is from; empty where it has its own, or none."""
        return self.tries[-1].linked if self.tries else ""


@dataclass(frozen=True, slots=True)
class Cycle:
    """A cycle of a mission that is over. Times are seconds since the epoch."""

    number: int
    began: float
    ended: float
    checks: tuple[CheckResult, ...]
    standing: str = ""
    changed: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return all(one.passed for one in self.checks)


def item_keys(items: Iterable[Json]) -> list[str]:
    """A key for each item, the same for the same value: the beginning of its digest.

    Equal items are told apart by their order.
    """
    keys: dict[str, None] = {}
    for value in items:
        text = canonical_json(value)
        first = key = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
        count = 1
        while key in keys:
            count += 1
            key = f"{first}-{count}"
        keys[key] = None
    return list(keys)


class Run:
    """The state of a run, from its events and their times in seconds since the epoch."""

    def __init__(self, events: Iterable[tuple[float, RunEvent]] = ()) -> None:
        self.started: RunStarted | None = None
        self.began = self.changed = 0.0
        self.steps: dict[tuple[str, str], StepRun] = {}
        """Steps and items by id and key; the key of a step as a whole is empty."""
        self._unseen: dict[tuple[str, str], StepRun] = {}
        """Those that were asked for and that nothing was said of."""
        self.items: dict[str, dict[str, Json]] = {}
        """The items of steps that have some, by key, in order."""
        self.tallies: dict[str, ItemTally] = {}
        """How far steps are whose items are in the table, by step; see ``ItemsQueued``."""
        self.sources: dict[str, str] = {}
        """Where the items of these steps are from, in words."""
        self.rounds: dict[str, int] = {}
        """The present round of steps that were gone back to."""
        self.redone: dict[str, int] = {}
        """How often each step sent the run back."""
        self.sent_back: dict[str, str] = {}
        """The step that last sent the run back to a step, by that one."""
        self.edits: dict[str, StepEdited] = {}
        """What the person changed of steps; see ``studio.workflows.fork``."""
        self.caps: dict[str, Caps] = {}
        """Caps that the person raised, by step; that of the run under an empty name."""
        self.changes: dict[tuple[str, str], StepChanged] = {}
        """What each step, or item of one, changed on its desk."""
        self.drafts = ""
        """The session in which all that waits as drafts; empty before the first gate or the end."""
        self.drafted: dict[str, str] = {}
        """The files that drafts were made of, each by the digest of what the draft makes it."""
        self.answers: dict[str, Json] = {}
        self.allowed: tuple[Rule, ...] = ()
        """What the person allowed for the whole run."""
        self.replies: dict[tuple[str, tuple[str, ...]], Json] = {}
        """What the person answered for the whole run, see ``RunQuestion.reply_to``."""
        self.held: set[str] = set()
        """Steps that the person paused."""
        self.minutes = 0.0
        """Those that the person raised the cap to, 0 for the file's."""
        self.cycles: list[Cycle] = []
        """Those of a mission that are over."""
        self.cycle = 1
        """The number of the present cycle of a mission, or of the last one."""
        self._cycle_began = 0.0
        self.most_cycles, self.until = 0, ""
        """What the person raised these caps to; 0 and empty for the file's."""
        self.steered: list[tuple[int, str]] = []
        """What the person said to a mission, each with the cycle in which they did."""
        self.woken = 0.0
        """When the person began the run, or let it go on last."""
        self.woken_after = 0
        """How many cycles were over then."""
        self.worked = 0.0
        """Seconds in which a step was running, until the last event."""
        self._running: set[tuple[str, str]] = set()
        self.queued = ""
        """What the run waits for, if it waits for others of its group."""
        self.paused: str | None = None
        """Why nothing begins; None if the run is not paused."""
        self.paused_at: PausedAt = ""
        """The cap that the run is paused at, its own or that of a run below or above.

        Until it is raised: the person knows of it then.
        """
        self.reached: CapReached | None = None
        """The cap that a step of the run has reached, until it is raised or the run goes on."""
        self.end: RunFinished | None = None
        self.breakpoints: dict[tuple[str, Moment], str] = {}
        """The conditions of breakpoints; empty for those that always stop."""
        self.stopped: BreakpointReached | None = None
        """The breakpoint that the run is stopped at."""
        self.passed: set[tuple[str, str, int]] = set()
        """Steps, items and rounds that the run has stopped before, and may begin now."""
        self.may_begin: int | None = None
        """How many other tries may begin until the run stops; None if it goes on."""
        for at, event in events:
            self.apply(at, event)

    @property
    def id(self) -> str:
        return self.started.run_id if self.started is not None else ""

    @property
    def state(self) -> RunState:
        if self.end is not None:
            return self.end.state
        if self.paused is not None:
            return "paused"
        if self.held and all(one.over or one.step in self.held for one in self.steps.values()):
            return "paused"
        states = {one.state for one in self.steps.values()}
        if "running" in states or "queued" in states:
            return "running"
        if "unsure" in states:
            return "unsure"
        return "needs_you" if "needs_you" in states else "running"

    @property
    def reason(self) -> str:
        return self.end.reason if self.end is not None else self.paused or self.queued

    @property
    def tokens(self) -> int:
        """Of all tries that are over, and of many items until now."""
        items = sum(self.tallies[step].tokens for step in self.counting)
        tries = (one for step in self.steps.values() for one in step.tries)
        return sum(one.tokens for one in tries if not one.linked) + items

    @property
    def dollars(self) -> float:
        items = sum(self.tallies[step].dollars for step in self.counting)
        tries = (one for step in self.steps.values() for one in step.tries)
        return sum(one.dollars or 0.0 for one in tries if not one.linked) + items

    @property
    def counting(self) -> list[str]:
        """Steps with many items whose try is not over: its end counts them all."""
        tries = {step: self.step(step).last for step in self.tallies}
        return [step for step, last in tries.items() if last is not None and not last.ended]

    @property
    def questions(self) -> Iterator[tuple[StepRun, RunQuestion]]:
        """What waits for the person, in the order of the steps' first events."""
        for one in self.steps.values():
            if one.question is not None:
                yield one, one.question

    def is_of_item(self, one: StepRun, question: RunQuestion) -> bool:
        """Whether an item asks a question of a step, so that it can be left out."""
        return bool(one.item) or (one.step in self.tallies and bool(question.session_id))

    @property
    def busy(self) -> Iterator[StepRun]:
        """The steps and items that run, or wait for the person: no step that has items."""
        for (step, item), one in self.steps.items():
            if one.state in ("running", "needs_you", "unsure") and (item or step not in self.items):
                yield one

    def step(self, step: str, item: str = "") -> StepRun:
        """A step or an item as it is now; one that waits if nothing was said of it."""
        key = step, item
        found = self.steps.get(key) or self._unseen.get(key)
        if found is None:
            found = self._unseen[key] = StepRun(step, item)
        return found

    def round_of(self, step: str) -> int:
        return self.rounds.get(step, 1)

    def apply(self, at: float, event: RunEvent) -> None:
        """Apply an event that happened at this time."""
        if isinstance(event, RunQueued) or (isinstance(event, RunResumed) and self.paused is None):
            self._running.clear()  # nobody worked on them: the program had ended
        elif not isinstance(event, StepResumed):
            self.worked = self.worked_until(at)
        self.changed, self.queued = at, ""
        self._apply(at, event)
        if isinstance(event, StepsRedone):
            self._running = {key for key in self._running if self.steps[key].state == "running"}
        elif isinstance(event, StepStarted | StepAsked | StepAnswered | StepFinished | StepResumed):
            key = event.step, event.item
            if self.steps[key].state == "running":
                self._running.add(key)
            else:
                self._running.discard(key)

    @property
    def works(self) -> bool:
        """Whether a step is running: neither the run nor the step is paused."""
        return self.paused is None and any(step not in self.held for step, _ in self._running)

    def worked_until(self, at: float) -> float:
        """Seconds in which a step was running, without pauses and waiting for the person."""
        return self.worked + max(at - self.changed, 0.0) if self.works else self.worked

    def _apply(self, at: float, event: RunEvent) -> None:
        match event:
            case RunStarted():
                self.started, self.began = event, at
                self._cycle_began = self.woken = at
                self.caps[""] = event.caps
            case StepEdited():
                self._edit(event)
            case StepLinked():
                self._link(at, event)
            case ItemsFound():
                self.items[event.step] = dict(zip(item_keys(event.items), event.items, strict=True))
                self._of(event.step).state = "running"
            case ItemsQueued():
                known = ItemTally(event.count, event.linked, linked=event.linked)
                self.tallies[event.step], self.sources[event.step] = known, event.source
            case ItemsCounted():
                self.tallies[event.step] = event.tally
            case RunQueued():
                self.queued = event.reason
            case StepQueued():
                self._of(event.step, event.item).state = "queued"
            case StepStarted():
                one = self._of(event.step, event.item)
                one.state, one.reason, one.question, one.due = "running", "", None, 0.0
                last = one.last
                if last is None or last.state != "running" or last.round != event.round:
                    last = Try(event.round, event.attempt, began=at)
                    one.tries.append(last)  # else it begins again, killed before it was stored
                last.session_id, last.run_id = event.session_id, event.run_id
                if self.may_begin and (event.step, event.item, event.round) not in self.passed:
                    self.may_begin -= 1
            case StepHeld():
                self.held.add(event.step)
            case StepReleased():
                self.held.discard(event.step)
            case StepResumed():
                one = self._of(event.step, event.item)
                one.state, one.reason, one.question = "running", event.reason, None
            case StepAsked():
                one = self._of(event.step, event.item)
                one.state = "unsure" if event.question.kind == "unsure" else "needs_you"
                one.question, one.reason, one.asked = event.question, event.question.text, at
            case StepAnswered():
                self.answers[event.question_id] = event.answer
                one = self._of(event.step, event.item)
                if event.answer == "run" and (asked := one.question) is not None:
                    self.allowed += tuple(rule for rule in asked.rules if rule not in self.allowed)
                if event.whole and (asked := one.question) is not None and asked.reply_to:
                    self.replies[asked.reply_to] = event.answer
                one.state, one.reason, one.question = "running", "", None
            case StepFinished():
                self._finish(at, event)
            case StepChanged():
                self.changes[event.step, event.item] = event
            case StepInTurns():
                self._of(event.step, event.item).in_turns = event.reason
            case RunDrafted():
                self.drafts = event.session_id
                self.drafted |= {file.path: file.after for file in event.files}
            case RetryPlanned():
                one = self._of(event.step, event.item)
                one.state, one.due = "queued", event.due
            case StepsRedone():
                self._redo(event)
            case CapReached():
                if self.paused is None or self.reached is None:  # it is paused at the first
                    self.reached = event
                self._of(event.step, event.item).reason = event.reason
            case CapRaised() if event.run_id:  # of a run below, which has it in its own events
                self.paused_at, self.reached = "", None
            case CapRaised():
                self.paused_at, self.reached = "", None
                self.caps[event.step] = event.caps
                self.minutes = event.minutes or self.minutes
                self.most_cycles = event.cycles or self.most_cycles
                self.until = event.until or self.until
            case CycleEnded():
                found = event.checks, event.standing, event.changed
                self.cycles.append(Cycle(event.number, self._cycle_began, at, *found))
            case CycleStarted():
                self._next_cycle(at, event)
            case RunSteered():
                self.steered.append((self.cycle, event.text))
            case RunPaused():
                self.paused, self.paused_at = event.reason, event.cap
            case RunResumed():
                self.paused_at, self.reached = "", None
                if self.paused is not None:
                    before = self.stopped is not None and self.stopped.moment == "before"
                    self.may_begin = (0 if before else 1) if event.one else None
                    self.paused = self.stopped = None
                    self.woken, self.woken_after = at, len(self.cycles)
            case RunFinished():
                self.end, self.paused, self.stopped = event, None, None
                self.paused_at, self.reached = "", None
            case BreakpointSet():
                self.breakpoints[event.step, event.moment] = event.when
            case BreakpointCleared():
                self.breakpoints.pop((event.step, event.moment), None)
            case BreakpointReached():
                self.paused, self.stopped = event.reason, event
                if event.moment == "before":
                    self.passed.add((event.step, event.item, self.round_of(event.step)))
            case ResultEdited():
                if (last := self._of(event.step, event.item).last) is not None:
                    last.text, last.outputs = event.text, event.outputs
            case _:
                assert_never(event)

    def _of(self, step: str, item: str = "") -> StepRun:
        return self.steps.setdefault((step, item), StepRun(step, item))

    def _finish(self, at: float, event: StepFinished) -> None:
        one = self._of(event.step, event.item)
        began = one.last is not None and not one.last.ended
        last = one.tries[-1] if began else Try(self.round_of(event.step), 1, began=at)
        if not began and event.state != "skipped":
            one.tries.append(last)
        last.ended, last.state, last.reason = at, event.state, event.reason
        last.text, last.outputs, last.fault = event.text, event.outputs, event.fault
        last.tokens, last.dollars, last.seconds = event.tokens, event.dollars, event.seconds
        last.exposed = event.exposed
        one.state, one.reason, one.question, one.due = event.state, event.reason, None, 0.0

    def _edit(self, event: StepEdited) -> None:
        known = self.edits.get(event.step, StepEdited(event.step))
        self.edits[event.step] = StepEdited(
            event.step,
            known.prompt if event.prompt is None else event.prompt,
            known.agent if event.agent is None else event.agent,
            known.model if event.model is None else event.model,
        )

    def _link(self, at: float, event: StepLinked) -> None:
        one = self._of(event.step, event.item)
        one.state, one.reason, one.question, one.due = event.state, event.reason, None, 0.0
        one.tries.append(
            Try(
                *(self.round_of(event.step), 1, event.session_id, at, at),
                *(event.state, event.reason, event.text, event.outputs, event.fault),
                *(event.tokens, event.dollars, event.seconds, event.exposed, event.run_id),
            )
        )

    def _redo(self, event: StepsRedone) -> None:
        self.redone[event.by] = self.redone.get(event.by, 0) + 1
        self._again(set(event.steps))
        self.sent_back[event.start] = event.by

    def _next_cycle(self, at: float, event: CycleStarted) -> None:
        self.cycle, self._cycle_began = event.number, at
        self.redone.clear()
        self._again(set(event.steps))

    def _again(self, steps: set[str]) -> None:
        """Let steps wait once more."""
        for step in steps:
            self.sent_back.pop(step, None)  # that was about a result of an earlier round
            self.rounds[step] = self.round_of(step) + 1
            self.items.pop(step, None)
            self.tallies.pop(step, None)
        for one in self.steps.values():
            if one.step in steps:
                one.state, one.reason, one.question, one.due = "waiting", "", None, 0.0
