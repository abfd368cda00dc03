"""Mission log: tells what a mission did, cycle by cycle, for the person to read (W-51)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Literal, TypeAlias

from studio.agent.usage_costs import format_dollars
from studio.domain.records import dataclass
from studio.domain.run_events import (
    CapRaised,
    CheckResult,
    CycleEnded,
    CycleStarted,
    RetryPlanned,
    RunEvent,
    RunFinished,
    RunPaused,
    RunResumed,
    RunSteered,
    StepAnswered,
    StepAsked,
    StepChanged,
    StepFinished,
)
from studio.domain.workflows import Workflow
from studio.tools.sdk.result import shorten

from .brief import check_words

EntryKind: TypeAlias = Literal[
    "work",
    "checks",
    "steered",
    "raised",
    "raised_below",
    "paused",
    "resumed",
    "asked",
    "waited",
    "ended",
]
LONGEST_WORDS = 600
"""Characters of what an agent said at the end of its work."""


@dataclass(frozen=True, slots=True)
class MissionLogEntry:
    """One thing that happened; ``at`` is seconds since the epoch, ``cycle`` when it did.

    ``title`` names the step, ``words`` are the agent's, the person's or a reason. ``files`` are
    those that a step changed from what they were at its begin; of checks the scripts that are not
    as they were when the mission began.
    """

    at: float
    cycle: int
    kind: EntryKind
    title: str = ""
    words: str = ""
    state: str = ""
    files: tuple[str, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    tokens: int = 0
    dollars: float = 0.0
    seconds: float = 0.0


class MissionLogWriter:
    """Writes the log of one mission: ``write`` is called with its events in their order."""

    def __init__(self, workflow: Workflow) -> None:
        self._steps = {step.id: step for step in workflow.steps}
        self._kept: dict[tuple[str, str], dict[str, str]] = {}
        """The files of each step's desk by their digests, as they were told last."""
        self._changed: dict[tuple[str, str], tuple[str, ...]] = {}
        self._cycle = 1

    def write(self, at: float, event: RunEvent) -> MissionLogEntry | None:
        """The entry of an event; None for one that the log leaves out."""
        here = MissionLogEntry(at, self._cycle, "work")
        match event:
            case CycleStarted():
                self._cycle = event.number
            case StepChanged():
                key, now = (event.step, event.item), {one.path: one.after for one in event.files}
                before, self._kept[key] = self._kept.get(key, {}), now
                names = (name for name, one in now.items() if before.get(name) != one)
                self._changed[key] = tuple(names)
            case StepFinished() if event.state != "skipped" and self._works(event.step):
                return replace(
                    here,
                    title=self._steps[event.step].label,
                    words=shorten(event.text.strip() or event.reason, LONGEST_WORDS),
                    state=event.state,
                    files=self._changed.pop((event.step, event.item), ()),
                    tokens=event.tokens,
                    dollars=event.dollars or 0.0,
                    seconds=event.seconds,
                )
            case CycleEnded():
                return replace(here, kind="checks", checks=event.checks, files=event.changed)
            case RunSteered():
                return replace(here, kind="steered", words=event.text)
            case CapRaised():
                kind = "raised_below" if event.run_id else "raised"
                return replace(here, kind=kind, words=caps_words(event))
            case RunPaused():
                return replace(here, kind="paused", words=event.reason)
            case RunResumed():
                return replace(here, kind="resumed")
            case StepAsked():
                return replace(here, kind="asked", words=event.question.text)
            case StepAnswered():
                return replace(here, kind="asked", state="answered")
            case RetryPlanned():
                return replace(here, kind="waited", title=self._steps[event.step].label)
            case RunFinished():
                return replace(here, kind="ended", words=event.reason, state=event.state)
            case _:
                pass
        return None

    def _works(self, step: str) -> bool:
        return step in self._steps and self._steps[step].proves is None


def entries(workflow: Workflow, events: Iterable[tuple[float, RunEvent]]) -> list[MissionLogEntry]:
    """What happened in a mission, in its order."""
    writer = MissionLogWriter(workflow)
    found = (writer.write(at, event) for at, event in events)
    return [one for one in found if one is not None]


def caps_words(event: CapRaised) -> str:
    found = [
        format_dollars(event.caps.dollars),
        f"{event.caps.tokens:,} tokens" if event.caps.tokens else "",
        f"{event.minutes:g} minutes" if event.minutes else "",
        f"{event.cycles} cycles" if event.cycles else "",
        f"until {event.until}" if event.until else "",
    ]
    return ", ".join(filter(None, found))


def mission_log_text(workflow: Workflow, mission: str, found: Iterable[MissionLogEntry]) -> str:
    """The log in markdown."""
    lines = [f"# {workflow.name}", "", mission, "", "Done when:"]
    lines += [f"- {check_words(step)}" for step in workflow.steps if step.proves is not None]
    cycle = 0
    for one in found:
        if one.cycle != cycle:
            cycle = one.cycle
            lines += ["", f"## Cycle {cycle}", ""]
        lines += _lines(one)
    return "\n".join([*lines, ""])


_WORDS = {
    "steered": "You said: {words}",
    "raised": "The limit is {words} now.",
    "raised_below": "The limit of a run below is {words} now.",
    "paused": "Paused. {words}",
    "resumed": "It goes on.",
    "asked": "It asks: {words}",
    "waited": "{title} waits for its provider, and tries again.",
}


def _lines(one: MissionLogEntry) -> Iterator[str]:
    at = datetime.fromtimestamp(one.at).strftime("%Y-%m-%d %H:%M:%S")
    match one.kind:
        case "work":
            used = [f"{one.seconds:.0f} s" if one.seconds else ""]
            used += [f"{one.tokens:,} tokens" if one.tokens else "", format_dollars(one.dollars)]
            how = "" if one.state == "done" else f" {one.state}"
            yield f"- {at} {one.title}{how} ({', '.join(filter(None, used)) or 'at once'})"
            if one.files:
                yield f"  changed {', '.join(one.files)}"
            yield from (f"  > {line}" for line in one.words.splitlines())
        case "checks":
            yield f"- {at} checks:"
            for check in one.checks:
                yield f"  {'✓' if check.passed else '×'} {check.title}"
                last = check.words.strip().splitlines()[-3:] if not check.passed else []
                yield from (f"    {line}" for line in last)
            if one.files:
                yield f"  ! changed, though checks run them: {', '.join(one.files)}"
        case "ended":
            yield f"- {at} {one.state}. {one.words}".rstrip()
        case "asked" if one.state:
            yield f"- {at} It was answered."
        case _:
            words = _WORDS[one.kind].format(words=one.words, title=one.title)
            yield f"- {at} {words}".rstrip()
