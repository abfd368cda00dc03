"""Rows of a run's event log, in the person's language. Free of Qt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

from studio.agent.permission.invisible_characters import escape_line
from studio.domain.jsonvalue import Json
from studio.domain.run_events import (
    MERGE,
    BreakpointCleared,
    BreakpointReached,
    BreakpointSet,
    CapRaised,
    CapReached,
    CycleEnded,
    CycleStarted,
    ItemsFound,
    ItemsQueued,
    ResultEdited,
    RetryPlanned,
    RunEvent,
    RunFinished,
    RunPaused,
    RunQueued,
    RunResumed,
    RunStarted,
    RunSteered,
    StepAnswered,
    StepAsked,
    StepFinished,
    StepHeld,
    StepInTurns,
    StepLinked,
    StepReleased,
    StepResumed,
    StepsRedone,
    StepStarted,
)
from studio.domain.runs import Run, item_keys
from studio.domain.workflows import Workflow
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import caps_words, clock, dollars, duration, whole_seconds
from studio.ui.theme import joined
from studio.ui.translation import tr, tr_later, tr_plural

LogKind: TypeAlias = Literal["run", "step", "question", "problem"]


@dataclass(frozen=True, slots=True)
class LogRow:
    """One line; ``at`` is seconds since the run began. ``icon`` has the colour ``ink``."""

    at: float
    kind: LogKind
    icon: str
    ink: str
    text: str
    right: str = ""
    step: str = ""
    item: str = ""

    @property
    def spoken(self) -> str:
        return joined((clock(self.at), self.step, self.text, self.right))


class _Row(Protocol):
    def __call__(
        self, kind: LogKind, icon: str, ink: str, text: str, reason: str = "", right: str = ""
    ) -> LogRow: ...


_ENDS: Mapping[str, tuple[str, str, str]] = {
    "done": (tr_later("{what} finished"), "check", "ok"),
    "failed": (tr_later("{what} failed"), "x", "err"),
    "skipped": (tr_later("{what} was left out"), "minus", "text3"),
    "stopped": (tr_later("{what} was stopped"), "square", "text2"),
}
_OVER: Mapping[str, tuple[str, str, str]] = {
    "done": (tr_later("The run is done"), "check", "ok"),
    "failed": (tr_later("The run failed"), "x", "err"),
    "stopped": (tr_later("The run was stopped"), "square", "text2"),
}
_ANSWERS: Mapping[str, str] = {
    "once": tr_later("Allow once"),
    "session": tr_later("For this step"),
    "run": tr_later("For this run"),
    "deny": tr_later("Deny"),
    "happened": tr_later("It happened"),
    "again": tr_later("Run again"),
    "stop": tr_later("Stop"),
}


class LogWriter:
    """Writes the rows of one run: ``write`` is called with its events in their order."""

    def __init__(self, workflow: Workflow) -> None:
        self._labels = {step.id: step.label for step in workflow.steps}
        self._labels[MERGE] = tr("Merge")
        self._redo = {step.id: step.redo.most for step in workflow.steps if step.redo}
        self._items: dict[str, dict[str, int]] = {}
        self._asked: dict[str, float] = {}
        self._began = 0.0

    def write(self, at: float, event: RunEvent, run: Run) -> LogRow | None:
        """The row of an event, which ``run`` has applied; None for one that nobody looks for."""
        self._began = self._began or at
        now = at - self._began

        def row(
            kind: LogKind, icon: str, ink: str, text: str, reason: str = "", right: str = ""
        ) -> LogRow:
            step, item = getattr(event, "step", ""), getattr(event, "item", "")
            said = ": ".join(part for part in (text, tr_engine(reason).rstrip(".")) if part)
            return LogRow(now, kind, icon, ink, escape_line(said, 400), right, step, item)

        match event:
            case RunStarted():
                return row("run", "play", "text2", tr("The run began"))
            case ItemsFound():
                self._items[event.step] = {
                    key: number for number, key in enumerate(item_keys(event.items), 1)
                }
                count = tr_plural("{count} item", "{count} items", len(event.items))
                return row("step", "layers", "text2", f"{self._what(event.step)}, {count}")
            case ItemsQueued():
                count = tr_plural("{count} item", "{count} items", event.count)
                return row("step", "layers", "text2", f"{self._what(event.step)}, {count}")
            case RunQueued():
                return row("run", "hourglass", "text2", tr("The run is queued"), event.reason)
            case StepHeld():
                words = tr("You paused {what}").format(what=self._what(event.step))
                return row("step", "pause", "text2", words)
            case StepReleased():
                words = tr("You let {what} go on").format(what=self._what(event.step))
                return row("step", "play", "text2", words)
            case StepInTurns():
                words = tr("{what} takes turns with others in the folder")
                words = words.format(what=self._what(event.step, event.item))
                return row("step", "hourglass", "warn", words, event.reason)
            case StepStarted():
                return self._started(event, run, row)
            case StepResumed():
                words = tr("{what} went on").format(what=self._what(event.step, event.item))
                return row("step", "play", "text2", words, event.reason)
            case StepAsked():
                self._asked[event.question.id] = at
                words = tr("{what} asks").format(what=self._what(event.step, event.item))
                unsure = event.question.kind == "unsure"
                icon = "triangle-alert" if unsure else "shield-question-mark"
                return row("question", icon, "warn", words, event.question.text)
            case StepAnswered():
                whole = tr("Answered for the run, {what}")
                words = whole if event.whole else tr("Answered, {what}")
                words = words.format(what=self._what(event.step, event.item))
                waited = at - self._asked.get(event.question_id, at)
                right = tr("waited {time}").format(time=duration(waited))
                return row("question", "hand", "text2", words, _answer(event.answer), right)
            case StepFinished() | StepLinked():
                return self._finished(event, row)
            case RetryPlanned():
                words = tr("{what} is tried again").format(what=self._what(event.step, event.item))
                waits = tr("waits {time}").format(time=whole_seconds(max(0.0, event.due - at)))
                return row("problem", "rotate-ccw", "warn", words, right=waits)
            case StepsRedone():
                number, most = run.redone.get(event.by, 0) + 1, self._redo.get(event.by, 0) + 1
                words = tr("Started again from {step}, try {number} of {most}").format(
                    step=self._what(event.start), number=number, most=most
                )
                return LogRow(now, "step", "rotate-ccw", "warn", words, step=event.start)
            case CapReached():
                return row("problem", "wallet", "warn", tr("A limit is reached"), event.reason)
            case CapRaised() if event.run_id:  # its step is one of another workflow
                words = tr("The limit of a run below is raised")
                raised = row("run", "wallet", "text2", words, caps_words(event))
                return replace(raised, step="")
            case CapRaised():
                return row("run", "wallet", "text2", tr("The limit is raised"), caps_words(event))
            case CycleEnded():
                good = sum(one.passed for one in event.checks)
                words = tr("Cycle {number} ended").format(number=event.number)
                right = tr("{passed} of {all} checks pass")
                right = right.format(passed=good, all=len(event.checks))
                whole = good == len(event.checks)
                icon, ink = ("check", "ok") if whole else ("rotate-ccw", "warn")
                return row("run", icon, ink, words, right=right)
            case CycleStarted():
                words = tr("Cycle {number} began").format(number=event.number)
                return row("run", "play", "text2", words)
            case RunSteered():
                return row("question", "hand", "text2", tr("You said"), event.text)
            case RunPaused():
                return row("run", "pause", "text2", tr("The run is paused"), event.reason)
            case RunResumed():
                return row("run", "play", "text2", tr("The run goes on"))
            case RunFinished():
                words, icon, ink = _OVER[event.state]
                kind = "problem" if event.state == "failed" else "run"
                return row(kind, icon, ink, tr(words), event.reason)
            case BreakpointReached():
                return row("run", "octagon-pause", "text1", tr_engine(event.reason).rstrip("."))
            case BreakpointSet() | BreakpointCleared():
                words = breakpoint_words(self._what(event.step), event.moment)
                state = tr("Breakpoint") if isinstance(event, BreakpointSet) else tr("Cleared")
                return row("run", "octagon-pause", "text3", f"{state}: {words}")
            case ResultEdited():
                words = tr("You changed what came of {what}")
                words = words.format(what=self._what(event.step, event.item))
                return row("step", "pencil", "text2", words)
            case _:
                return None

    def _what(self, step: str, item: str = "") -> str:
        """“Research, item 3”."""
        label = self._labels.get(step, step)
        number = self._items.get(step, {}).get(item)
        return tr("{step}, item {number}").format(step=label, number=number) if number else label

    def _started(self, event: StepStarted, run: Run, row: _Row) -> LogRow:
        what = self._what(event.step, event.item)
        if event.attempt > 1:
            words = tr("{what} started, try {number}").format(what=what, number=event.attempt)
        elif event.round > 1:
            words = tr("{what} started, round {number}").format(what=what, number=event.round)
        else:
            words = tr("{what} started").format(what=what)
        return row("step", "play", "text2", words)

    def _finished(self, event: StepFinished | StepLinked, row: _Row) -> LogRow:
        words, icon, ink = _ENDS[event.state]
        if isinstance(event, StepLinked):
            words, icon = tr_later("{what} is as in the run before"), "link"
        parts = [duration(event.seconds)] if event.seconds >= 0.05 else []
        if event.dollars:
            parts.append(dollars(event.dollars))
        kind = "problem" if event.state == "failed" else "step"
        what = tr(words).format(what=self._what(event.step, event.item))
        return row(kind, icon, ink, what, event.reason, "  ".join(parts))


def breakpoint_words(label: str, moment: str, when: str = "") -> str:
    """“Before review”, “After test, when not passed”."""
    template = tr("Before {step}") if moment == "before" else tr("After {step}")
    words = template.format(step=label)
    return tr("{stop}, when {condition}").format(stop=words, condition=when) if when else words


def _answer(answer: Json) -> str:
    match answer:
        case True:
            return tr("Approve")
        case False:
            return tr("Deny")
        case str():
            return tr(_ANSWERS[answer]) if answer in _ANSWERS else answer
        case _:
            return ""


# Filters


def found_rows(rows: Sequence[LogRow], kinds: Iterable[LogKind], words: str) -> list[int]:
    """The places of the rows of these kinds with all of these words.

    ``step:test`` finds rows of that step, ``is:problem`` those of a kind.
    """
    wanted = frozenset(kinds)
    tests: list[tuple[str, str]] = []
    for word in words.casefold().split():
        found = re.fullmatch(r"(step|is):(.*)", word)
        tests.append((found[1], found[2]) if found else ("", word))
    return [
        at
        for at, row in enumerate(rows)
        if (not wanted or row.kind in wanted) and all(_fits(row, *test) for test in tests)
    ]


def _fits(row: LogRow, name: str, value: str) -> bool:
    match name:
        case "step":
            return row.step.casefold().startswith(value)
        case "is":
            return row.kind.startswith(value)
        case _:
            return value in f"{row.step} {row.text} {row.right}".casefold()
