"""The driver of a workflow's run: carries it out, prints its steps and asks the person."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager

from studio.agent.usage_costs import format_dollars
from studio.domain.aio import settled
from studio.domain.codec import encode_event
from studio.domain.errors import ConfigurationError
from studio.domain.items import ItemTally
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.run_events import (
    MERGE,
    CapReached,
    CycleEnded,
    CycleStarted,
    ItemsCounted,
    ItemsFound,
    ItemsQueued,
    RetryPlanned,
    RunEvent,
    RunFinished,
    RunPaused,
    RunQuestion,
    RunQueued,
    RunSteered,
    StepAsked,
    StepChanged,
    StepFinished,
    StepHeld,
    StepInTurns,
    StepReleased,
    StepResumed,
    StepsRedone,
    StepStarted,
)
from studio.domain.runs import Run, StepRun
from studio.domain.workflows import Step, Workflow
from studio.workflows.cap_offers import CapOffer
from studio.workflows.compare import RunComparison, StepSide
from studio.workflows.expressions import as_words
from studio.workflows.fork import ForkPlan
from studio.workflows.items.estimate import duration
from studio.workflows.replay import ReplayReport
from studio.workflows.runner import Runner
from studio.workflows.workflow_runs import WorkflowRuns, answer_of_run

from .console import Console, on_signals
from .event_printer import one_line
from .exit_codes import CANCELLED, DENIED, DONE, LIMIT, PROVIDER, UNSURE, USAGE
from .questions import ask_form

INTERRUPTED = "You interrupted it."
_MARKS = {"done": "✓", "failed": "×", "skipped": "–", "stopped": "–"}
_WORDS = {"done": "", "failed": " failed", "skipped": " was left out", "stopped": " was stopped"}


SKIP: JsonObject = {"skip": True}
"""What a person says who wants the item that asks left out; it is this object alone."""


class WorkflowDriver:
    """Carries out a run at a terminal, or where nobody is there to ask."""

    def __init__(
        self, runner: Runner, console: Console, *, as_json: bool = False, quiet: bool = False
    ) -> None:
        """``quiet``: no answer goes to standard output, as the run is a part of something."""
        self._runner = runner
        self._console = console
        self._json = as_json
        self._quiet = quiet
        self._workflow: Workflow = runner.plan.workflow
        self._steps: dict[str, Step] = {step.id: step for step in self._workflow.steps}
        self._asked: asyncio.Queue[tuple[StepRun, RunQuestion]] = asyncio.Queue()
        self._work: asyncio.Task[Run] | None = None
        self._interrupted = False
        runner.attended = console.interactive and not as_json

    def interrupt(self) -> None:
        """Leave the run as it is, so that it can go on later."""
        self._interrupted = True
        if self._work is not None:
            self._work.cancel()

    async def carry_out(self, on_interrupt: AbstractContextManager[None]) -> int:
        """Carry the run out as far as it goes; returns the exit code."""
        runner = self._runner
        unsubscribe = runner.subscribe(self._event)
        asking = asyncio.create_task(self._ask_all())
        asking.add_done_callback(self._asked_no_more)
        for one in runner.run.questions if runner.attended else ():
            if not one[1].session_id:  # else its session asks again
                self._asked.put_nowait(one)
        try:
            with on_interrupt:
                await self._run()
        finally:
            unsubscribe()
            asking.cancel()
            await asyncio.wait([asking])
        if not asking.cancelled() and (error := asking.exception()) is not None:
            if runner.run.end is None:
                self._end()
            raise error
        return self._end()

    def _asked_no_more(self, asking: asyncio.Task[None]) -> None:
        """Leave the run as it is where a question failed: it would wait for its answer for ever."""
        failed = not asking.cancelled() and asking.exception() is not None
        if failed and self._work is not None:
            self._work.cancel()

    async def _run(self) -> None:
        runner = self._runner
        self._work = work = asyncio.ensure_future(runner.carry_out())
        try:
            await settled(work)
        except asyncio.CancelledError:
            if not self._interrupted:
                raise
        if work.cancelled() and self._interrupted:
            await runner.pause(INTERRUPTED)
        elif work.cancelled():
            return  # nobody can be asked any more
        else:
            work.result()

    def _end(self) -> int:
        """Print what came of the run; returns the exit code."""
        run, console = self._runner.run, self._console
        if run.end is None:
            for one, question in run.questions:
                console.say(f"? {self._path(one, question)}: {question.text}")
                if question.kind == "sample":  # what the answer rests on (W-55)
                    console.say(*(f"    {line}" for line in question.detail.split("\n")))
            kind = "mission" if run.started and run.started.mission else "workflow"
            console.say(f"To go on: agent-studio {kind} resume {run.id[:8]}")
            if self._interrupted:
                return CANCELLED
            if run.paused is not None:
                return LIMIT
            return UNSURE if run.state == "unsure" else DENIED
        if not (self._json or self._quiet) and (answer := answer_of_run(self._workflow, run)):
            console.write(f"{answer}\n")
        return exit_code_of_run(run, self._steps)

    # Events

    def _event(self, at: float, event: RunEvent) -> None:
        asks = self._runner.attended and not self._runner.agrees_with(event)
        if isinstance(event, StepAsked) and asks:
            one = self._runner.run.step(event.step, event.item)
            self._asked.put_nowait((one, event.question))
        if self._json:
            self._console.write_json({"at": at, **encode_event(event)})
        elif line := self._line(event):
            self._console.say(line)

    def _line(self, event: RunEvent) -> str:
        match event:
            case StepStarted() if event.step != MERGE:
                step = self._steps[event.step]
                if step.kind in ("agent", "run", "workflow"):
                    again = f", try {event.attempt}" if event.attempt > 1 else ""
                    again += f", round {event.round}" if event.round > 1 else ""
                    what = one_line(step.target)
                    return f"· {self._label(event.step, event.item)}: {what}{again}"
                return ""
            case StepResumed() if event.reason:
                return f"! {self._label(event.step, event.item)}: {event.reason}"
            case ItemsFound():
                return f"· {self._label(event.step)}: {len(event.items)} items"
            case ItemsQueued():
                linked = f", {event.linked:,} of them done before" if event.linked else ""
                return f"· {self._label(event.step)}: {event.count:,} items{linked}"
            case ItemsCounted():
                return f"· {self._label(event.step)}: {describe_tally(event.tally)}"
            case StepFinished():
                reason = f": {one_line(event.reason)}" if event.reason else ""
                seconds = f", {event.seconds:.1f} s" if event.seconds else ""
                dollars = f", {cost}" if (cost := format_dollars(event.dollars or 0.0)) else ""
                label = self._label(event.step, event.item)
                what = f"{_MARKS[event.state]} {label}{_WORDS[event.state]}"
                return f"{what}{reason}{seconds}{dollars}"
            case StepInTurns():
                return f"· {self._label(event.step, event.item)} takes turns: {event.reason}"
            case StepChanged() if event.left:
                left = one_line(", ".join(event.left))
                return f"! {self._label(event.step, event.item)}: not kept: {left}"
            case RetryPlanned():
                return f"· {self._label(event.step, event.item)} is tried again"
            case StepsRedone():
                return f"· {self._label(event.by)} goes back to {self._label(event.start)}"
            case CapReached():
                return f"! {self._label(event.step, event.item)}: {event.reason}"
            case CycleEnded():
                checks = (f"{'✓' if one.passed else '×'} {one.title}" for one in event.checks)
                changed = f"; changed scripts: {', '.join(event.changed)}" if event.changed else ""
                return f"· Cycle {event.number}: {one_line(', '.join(checks))}{one_line(changed)}"
            case CycleStarted():
                return f"· Cycle {event.number} begins"
            case RunSteered():
                return f"· You said: {one_line(event.text)}"
            case RunQueued():
                return f"· {event.reason}"
            case StepHeld():
                return f"· {self._label(event.step)} is paused"
            case StepReleased():
                return f"· {self._label(event.step)} goes on"
            case RunPaused():
                return f"Paused. {event.reason}".rstrip()
            case RunFinished():
                total = format_dollars(self._runner.run.dollars)
                cost = f", {total}" if total else ""
                reason = f": {one_line(event.reason)}" if event.reason else ""
                return f"{self._workflow.name} is {event.state}{reason}{cost}"
            case _:
                return ""

    def _path(self, one: StepRun, question: RunQuestion) -> str:
        """Who asks: the run, its steps, the agent."""
        path = question.path or (self._workflow.name, self._label(one.step, one.item))
        return ", ".join(map(one_line, path))

    def _label(self, step: str, item: str = "") -> str:
        label = one_line(self._steps[step].label) if step != MERGE else "Merge"
        if not item or step == MERGE:
            return label
        value = self._runner.run.items.get(step, {}).get(item)
        return f"{label}, {one_line(as_words(value))[:40]}"

    # Questions

    async def _ask_all(self) -> None:
        """Ask one question after the other, those that are still open."""
        while True:
            one, question = await self._asked.get()
            if one.question is not None and one.question.id == question.id:
                answer = await self._ask(one, question)
                try:
                    if answer is SKIP:
                        await self._runner.leave_out(question.id)
                    else:
                        await self._runner.answer(question.id, answer)
                except ConfigurationError as error:  # somebody else answered, or it is out of date
                    self._console.say(str(error))

    async def _ask(self, one: StepRun, question: RunQuestion) -> Json:
        self._console.say("", f"{self._path(one, question)}: {question.text}")
        if question.server is not None:
            return (await ask_form(self._console, question.server)).told
        if question.detail:
            self._console.say(*(f"    {line}" for line in question.detail.split("\n")))
        match question.kind:
            case "approve":
                return await self._console.choice("[y]es, [n]o: ", "yes", "no") == "y"
            case "permission":
                lasting = "for this [r]un, " if question.rules else ""
                words = ["yes", "no", *(["run"] if question.rules else [])]
                skips = self._runner.run.is_of_item(one, question)
                skip = "[s]kip the item, " if skips else ""
                words += ["skip"] if skips else []
                prompt = f"Allow? [y]es once, {lasting}{skip}[n]o: "
                word = await self._console.choice(prompt, *words)
                return {"y": "once", "r": "run", "s": SKIP}.get(word, "deny")
            case "sample":
                return await self._after_sample(question)
            case "unsure":
                prompt = "It [h]appened, run it [a]gain, [s]top: "
                word = await self._console.choice(prompt, "happened", "again", "stop")
                return {"h": "happened", "a": "again"}.get(word, "stop")
            case _:
                return await self._words(question)

    async def _after_sample(self, question: RunQuestion) -> Json:
        """Ask whether the other items are to be worked on (W-55)."""
        batch = "as a [b]atch, " if "batch" in question.choices else ""
        words = [word for word in ("all", "batch", "keep") if word in question.choices]
        prompt = f"Run [a]ll of them, {batch}[k]eep only the sample: "
        word = await self._console.choice(prompt, *words)
        return {"a": "all", "b": "batch"}.get(word, "keep")

    async def _words(self, question: RunQuestion) -> Json:
        for number, choice in enumerate(question.choices, 1):
            self._console.say(f"  {number}. {choice}")
        while (line := await self._console.line("Answer: ")) is not None:
            if text := line.strip():
                if text.isdecimal() and 1 <= int(text) <= len(question.choices):
                    return question.choices[int(text) - 1]
                return text
        return ""


async def drive_run(
    console: Console,
    runs: WorkflowRuns,
    runner: Runner,
    *,
    as_json: bool = False,
    quiet: bool = False,
) -> int:
    """Carry out a run at a terminal, until Ctrl-C, SIGTERM or a closed terminal; the exit code."""
    started = runner.run.started
    assert started is not None
    if not as_json:
        console.say(f"{started.name}, run {started.number} ({runner.run.id[:8]})")
    driver = WorkflowDriver(runner, console, as_json=as_json, quiet=quiet)
    try:
        names = "SIGINT", "SIGTERM", "SIGHUP"
        code = await driver.carry_out(on_signals({name: driver.interrupt for name in names}))
        offer = await runs.cap_offer(runner.run) if runner.run.paused_at else None
        if offer is not None and not started.mission:
            whose = limit_place(runner.run, offer)
            command = f"agent-studio workflow resume {runner.run.id[:8]} --raise"
            console.say(f"To raise the limit of {whose} to {offer.words}: {command}")
        return code
    finally:
        await runs.close(runner)


def limit_place(run: Run, offer: CapOffer) -> str:
    """The run, and the steps down to the one whose limit it is."""
    name = run.started.name if run.started is not None else run.id[:8]
    return " › ".join(one_line(part) for part in (name, *offer.way))


def describe_run(workflow: Workflow, run: Run, *, live: bool) -> list[str]:
    """A run and its steps, in lines."""
    started = run.started
    assert started is not None
    state = run.state.replace("_", " ")
    if run.state == "running" and not live:
        state = "interrupted"
    reason = f": {run.reason}" if run.reason else ""
    cost = f", {found}" if (found := format_dollars(run.dollars)) else ""
    lines = [f"{started.name}, run {started.number} ({run.id}): {state}{reason}{cost}"]
    for step in workflow.steps:
        one = run.step(step.id)
        tries = f", try {len(one.tries)}" if len(one.tries) > 1 else ""
        reason = f": {one_line(one.reason)}" if one.reason else ""
        lines.append(f"  {one.state.replace('_', ' '):<10} {one_line(step.label)}{tries}{reason}")
        keys = run.items.get(step.id, {})
        if keys:
            over = sum(run.step(step.id, key).over for key in keys)
            lines[-1] += f" ({over} of {len(keys)} items)"
        if (tally := run.tallies.get(step.id)) is not None:
            lines[-1] += f" ({describe_tally(tally)})"
        if one.text:
            lines.append(f"             {one_line(one.text)}")
    return lines


def describe_tally(tally: ItemTally) -> str:
    """How far the items of a step are, in one line."""
    parts = [f"{tally.over:,} of {tally.count:,} done"]
    if tally.failed:
        parts.append(f"{tally.failed:,} failed")
    if tally.skipped:
        parts.append(f"{tally.skipped:,} left out")
    if tally.sent:
        parts.append(f"{tally.sent:,} in batches")
    if tally.left and (cost := format_dollars(tally.dollars_left)):
        parts.append(f"about {cost} to go")
    if tally.left and tally.seconds_left:
        parts.append(f"{duration(tally.seconds_left)} to go")
    if tally.at_a_time:
        parts.append(f"{tally.at_a_time} at a time")
    return ", ".join(parts)


def describe_fork(plan: ForkPlan) -> list[str]:
    """What a fork would run and what that cost last, and what it takes over, in lines."""
    lines = [f"{plan.started.name}, from run {plan.started.forked_from[:8]}. To run:"]
    lines += _to_run(plan, "  ")
    names = dict.fromkeys(one.step for one in plan.linked if not one.item)
    if names:
        labels = {step.id: one_line(step.label) for step in plan.workflow.steps}
        lines.append(f"Taken over: {', '.join(labels[name] for name in names)}")
    if cost := _cost(plan.tokens, plan.dollars):
        lines.append(f"In all it used {cost} last.")
    return lines


def _to_run(plan: ForkPlan, indent: str) -> list[str]:
    """The steps that a fork runs, those of runs below that go on under their own."""
    lines: list[str] = []
    for one in plan.to_run:
        items = f", {len(one.items)} of its items" if one.items else ""
        cost = _cost(one.tokens, one.dollars)
        halves = [half for half in plan.half_done if half.step == one.step.id]
        known = [half.answers for half in halves if half.below is None]
        answers = "1 answer" if sum(known) == 1 else f"{sum(known)} answers"
        after = f", after {answers} of the record" if known else ""
        last = f", last {cost}" if cost else ""
        lines.append(f"{indent}{one_line(one.step.label)}{items}{after}{last}")
        for half in halves:
            if half.below is not None:
                lines += _to_run(half.below, f"{indent}  ")
    return lines


def _cost(tokens: int, dollars: float) -> str:
    return ", ".join(
        filter(None, [f"{tokens:,} tokens" if tokens else "", format_dollars(dollars)])
    )


def describe_comparison(found: RunComparison) -> list[str]:
    """Two runs side by side, in lines; the first difference is marked."""
    lines: list[str] = []
    for sign, side in (("-", found.first), ("+", found.second)):
        cost = _cost(side.tokens, side.dollars)
        what = f"{side.name}, run {side.number} ({side.id[:8]}): {side.state}, {side.seconds:.1f} s"
        lines.append(f"{sign} {what}{f', {cost}' if cost else ''}")

    def mark(where: object) -> str:
        return "  <- first difference" if where == found.first_difference else ""

    if found.inputs:
        lines.append(f"inputs{mark('inputs')}")
        for name, (before, after) in found.inputs.items():
            lines += [f"  - {name}: {one_line(before)}", f"  + {name}: {one_line(after)}"]
    if found.files:
        lines += [f"files{mark('files')}", *(f"  {line}" for line in found.files)]
    for step in found.steps:
        name = f"{step.step}, {step.item}" if step.item else step.step
        same = "" if step.differs else ": the same"
        lines.append(f"{name}{same}{mark((step.step, step.item))}")
        for sign, side in (("-", step.first), ("+", step.second)):
            lines += [f"  {sign} {line}" for line in _side_lines(side, step.differs)]
    if found.first_difference is None:
        lines.append("Both came to the same.")
    return lines


def _side_lines(side: StepSide | None, differs: Sequence[str]) -> list[str]:
    if side is None:
        return ["is not there"]
    linked = f", from run {side.linked[:8]}" if side.linked else ""
    cost = _cost(side.tokens, side.dollars)
    lines = [f"{side.state}, {side.seconds:.1f} s{f', {cost}' if cost else ''}{linked}"]
    if "state" in differs and side.reason:
        lines.append(one_line(side.reason))
    if "instructions" in differs:
        lines.append(f"instructions: {one_line(side.instructions)[:200]}")
    if "tools" in differs:
        lines += [f"called {one_line(one)}" for one in side.tools]
    if "drafts" in differs:
        lines += [f"draft {one_line(name)}" for name in side.drafts]
    if "text" in differs:
        lines += side.text.splitlines()
    elif "outputs" in differs:
        lines.append(as_words(side.outputs))
    return lines


def describe_replay(report: ReplayReport) -> list[str]:
    """What a replay came to, in lines."""
    lines = [f"From the record: {one_line(one)}" for one in report.taken]
    for (step, item), why in report.missing.items():
        lines.append(f"To run live: {f'{step}, {item}' if item else step}: {why}")
    if (found := report.difference) is None:
        read = "1 call" if report.reads == 1 else f"{report.reads} calls"
        lines += [f"The folder was read again: {read}."] if report.reads else []
        if report.missing:
            return lines
        steps = "1 step" if report.steps == 1 else f"{report.steps} steps"
        requests = "1 request" if report.requests == 1 else f"{report.requests} requests"
        return [*lines, f"The same: {steps}, {requests}."]
    where = f"{found.step}, {found.item}" if found.item else found.step or "the run"
    return [*lines, f"{where}: {found.what}", *(f"  {line}" for line in found.lines)]


def exit_code_of_run(run: Run, steps: dict[str, Step]) -> int:
    """The exit code of a run that is over: that of ``run`` for what went wrong first."""
    assert run.end is not None
    if run.end.state == "done":
        return DONE
    if run.end.state == "stopped":
        return CANCELLED
    for step in steps.values():
        one = run.step(step.id)
        if one.state != "failed" or one.last is None or step.on_error != "stop":
            continue
        if one.last.fault in ("limit", "timeout"):
            return LIMIT
        return PROVIDER if step.kind == "agent" else USAGE
    return USAGE
