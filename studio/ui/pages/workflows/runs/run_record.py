"""Run record: a run as it is shown, made of its events."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from studio.agent.permission.invisible_characters import escape_line
from studio.domain.agents import Agent
from studio.domain.items import ItemTally
from studio.domain.run_events import (
    ItemsCounted,
    RunEvent,
    RunQuestion,
    StepAsked,
    StepState,
)
from studio.domain.runs import Run, StepRun
from studio.domain.workflows import Step, Workflow
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import clock, day_of, dollars, number, plain, short_count
from studio.ui.graph.nodes import NodeState
from studio.ui.inspector.fact_list import Fact
from studio.ui.translation import locale, tr, tr_later, tr_plural
from studio.workflows.fork import edited_workflow
from studio.workflows.plan import Plan

from .lanes import Lanes
from .ledger_rows import LedgerRows
from .log_rows import LogRow, LogWriter
from .sample_words import SampleWords, samples_asked, waits_for_yes

RUN_STATES: Mapping[str, tuple[str, str, str]] = {
    "running": (tr_later("Running"), "spinner", "accent_text"),
    "paused": (tr_later("Paused"), "pause", "text2"),
    "needs_you": (tr_later("Needs you"), "shield-question-mark", "warn"),
    "unsure": (tr_later("This may have happened"), "triangle-alert", "warn"),
    "done": (tr_later("Done"), "check", "ok"),
    "failed": (tr_later("Failed"), "circle-alert", "err"),
    "stopped": (tr_later("Stopped"), "square", "text2"),
}
"""Words, icon and colour of each state of a run."""
TRIGGERS: Mapping[str, str] = {
    "manual": tr_later("by you"),
    "schedule": tr_later("by its schedule"),
    "change": tr_later("by a change of files"),
    "fork": tr_later("by you, from a step of another run"),
    "client": tr_later("by another program, through the server"),
}
"""What began a run."""


def when(at: float) -> str:
    """“14:02” for today, else “24 Nov, 14:02”."""
    from PySide6.QtCore import QTime

    local = time.localtime(at)
    clock_time = locale().toString(QTime(local.tm_hour, local.tm_min), "HH:mm")
    if time.strftime("%F", local) == time.strftime("%F"):
        return clock_time
    return tr("{day}, {time}").format(day=day_of(at), time=clock_time)


AGAIN = {
    "rate_limited": tr_later("limit of the provider"),
    "overloaded": tr_later("overloaded"),
    "network": tr_later("connection lost"),
    "expired": tr_later("expired in a batch"),
    "invalid": tr_later("answer not valid"),
}
OTHER = tr_later("other failures")


class RunRecord:
    """The workflow of a run as it was, its events, and what is shown of them."""

    def __init__(self, workflow: Workflow, agents: Mapping[str, Agent]) -> None:
        self.workflow, self.agents = workflow, agents
        self.run = Run()
        self.count = 0
        """How many events it has."""
        self.samples: dict[str, RunQuestion] = {}
        """What was asked after the sample of a step's items."""
        self.paces: dict[str, list[tuple[float, int]]] = {}
        """When how many items of a step were worked on at a time."""
        self.lanes = Lanes(workflow, agents)
        self.log: list[LogRow] = []
        self.ledger = LedgerRows(workflow)
        self._writer = LogWriter(workflow)

    def apply(self, events: Iterable[tuple[float, RunEvent]]) -> None:
        """Add what happened since."""
        for at, event in events:
            self.count += 1
            self.run.apply(at, event)
            self.lanes.apply(at, event)
            if isinstance(event, ItemsCounted) and event.tally.at_a_time:
                self.paces.setdefault(event.step, []).append((at, event.tally.at_a_time))
            elif isinstance(event, StepAsked) and event.question.kind == "sample":
                self.samples[event.step] = event.question
            if self.is_mission:
                self.ledger.add(at, event)
            row = self._writer.write(at, event, self.run)
            if row is not None:
                self.log.append(row)

    @property
    def is_mission(self) -> bool:
        return bool(self.workflow.done_when)

    @property
    def title(self) -> str:
        assert self.run.started is not None
        words = tr("{name}, run {number}")
        return words.format(name=self.run.started.name, number=self.run.started.number)

    @property
    def inputs(self) -> str:
        """The values of the inputs, in a line."""
        assert self.run.started is not None
        values = (value for value in self.run.started.inputs.values() if value not in (None, ""))
        return ", ".join(value if isinstance(value, str) else str(value) for value in values)

    @property
    def seconds(self) -> float:
        """How long the run has taken."""
        over = self.run.end is not None or self.run.paused is not None
        return (self.run.changed if over else time.time()) - self.run.began

    @property
    def minutes(self) -> float:
        """Those that the run may work in all; 0 for any time."""
        return self.run.minutes or self.workflow.budget.minutes

    def can_hold(self, id: str) -> bool:
        """Whether a step can be paused alone, or go on."""
        return self.step(id) is not None and self.run.end is None and not self.run.step(id).over

    def step(self, id: str) -> Step | None:
        return next((step for step in self.workflow.steps if step.id == id), None)

    def item_name(self, step: str, item: str) -> str:
        """“item 3: Retry-After”; empty for a step as a whole."""
        if not item:
            return ""
        words, value = self.lanes.item_name((step, item)), self.run.items.get(step, {}).get(item)
        return f"{words}: {value}" if isinstance(value, str) else words

    def prompt(self, step: Step, item: str) -> str:
        """What a step's agent is told, as far as that can be known without the run's program.

        Raises ExpressionError, and NotRead for what is read in the folder.
        """
        plan = Plan(edited_workflow(self.workflow, self.run.edits.values()))
        return plan.values.prompt(self.run, plan.workflow.step(step.id), item)

    # Facts

    def state_facts(self) -> list[Fact]:
        run = self.run
        words, icon, ink = RUN_STATES[run.state]
        asks = len(list(run.questions))
        title = tr("Waits for your yes") if waits_for_yes(run) else tr(words)
        if asks and run.state in ("running", "paused"):
            need = tr_plural("{count} needs you", "{count} need you", asks)
            title = tr("{state}, {more}").format(state=title, more=need)
        over = sum(run.step(step.id).over for step in self.workflow.steps)
        assert run.started is not None
        began = tr("{time}, {trigger}").format(
            time=when(run.began), trigger=tr(TRIGGERS[run.started.trigger])
        )
        steps = tr("{done} of {all}").format(done=over, all=len(self.workflow.steps))
        return [
            Fact(title, clock(self.seconds), "title", icon, ink),
            Fact(tr("Steps"), steps),
            Fact(tr("Started"), began),
            *self._item_facts(),
        ]

    def _item_facts(self) -> list[Fact]:
        """How far the steps with many items are, and what was tried again (W-54, W-56)."""
        rows = list[Fact]()
        for step, tally in self.run.tallies.items():
            words = tr("{used} of {whole}")
            words = words.format(used=number(tally.over), whole=number(tally.count))
            rows.append(Fact(tr("Items"), words))
            rows.append(Fact(tr("From"), escape_line(self.run.sources.get(step, ""), 40)))
            if model := self._model_of(step):
                rows.append(Fact(tr("Model"), escape_line(model, 40)))
            if (asked := self.samples.get(step)) is not None:
                rows.append(Fact(tr("Sample"), SampleWords(asked).passed))
            if tally.failed:
                rows.append(Fact(tr("Failed"), number(tally.failed)))
            if tally.skipped:
                rows.append(Fact(tr("Left out"), number(tally.skipped)))
            if tally.at_a_time and self.run.end is None:
                rows.append(Fact(tr("At a time"), number(tally.at_a_time)))
            if tally.found:
                rows.append(Fact(tr("Limit found at"), number(tally.found)))
            rows += [
                Fact(tr("Tried again: {why}").format(why=tr(AGAIN.get(why, OTHER))), number(count))
                for why, count in tally.tried_again.items()
            ]
        return rows

    def _model_of(self, id: str) -> str:
        """The model that answers the items of a step."""
        step = self.step(id)
        agent = self.agents.get(step.target) if step is not None else None
        started = self.run.started.model if self.run.started is not None else ""
        return (step.model if step is not None else "") or (agent.model if agent else "") or started

    def budget_facts(self) -> list[Fact]:
        run = self.run
        caps = run.caps.get("", self.workflow.budget.caps)
        of = tr("of {whole}")
        money, tokens = dollars(run.dollars), short_count(run.tokens)
        rows = [Fact(tr("Budget"), "", "heading")]
        if caps.dollars:
            share, whole = run.dollars / caps.dollars, of.format(whole=dollars(caps.dollars))
            rows.append(Fact(tr("Money"), money, share=share, of=whole))
        else:
            rows.append(Fact(tr("Money"), money))
        if caps.tokens:
            whole = of.format(whole=short_count(caps.tokens))
            rows.append(Fact(tr("Tokens"), tokens, share=run.tokens / caps.tokens, of=whole))
        else:
            rows.append(Fact(tr("Tokens"), number(run.tokens)))
        for question in samples_asked(run).values():
            if expected := SampleWords(question).expected:
                rows.append(Fact(tr("Expected"), dollars(run.dollars + expected)))
        if self.minutes:
            worked = run.worked if run.end is not None else run.worked_until(time.time())
            whole = of.format(whole=tr("{number} min").format(number=plain(self.minutes)))
            rows.append(Fact(tr("Time"), clock(worked), share=worked / 60 / self.minutes, of=whole))
        return rows

    def agent_facts(self) -> list[Fact]:
        """The agents in the order of their steps, each with what it used."""
        used: dict[str, list[StepRun]] = {}
        counting: dict[str, list[ItemTally]] = {}
        for step in self.workflow.steps:
            if step.kind == "agent":
                parts = [one for (id, _), one in self.run.steps.items() if id == step.id]
                used.setdefault(step.target, []).extend(parts)
                if step.id in self.run.counting:  # its items are in no try yet
                    counting.setdefault(step.target, []).append(self.run.tallies[step.id])
        rows = [Fact(tr("Agents"), tr("Estimate"), "heading")] if used else []
        for name, parts in used.items():
            agent = self.agents.get(name)
            icon, hue = (agent.icon, agent.hue) if agent else ("sparkle", "slate")
            whole = [*parts, *counting.get(name, ())]
            tokens, cost = sum(one.tokens for one in whole), sum(one.dollars for one in whole)
            rows.append(
                Fact(
                    *(name, dollars(cost), "row", icon, "text2", hue, short_count(tokens)),
                    state=_state_of(parts),
                )
            )
        return rows

    def step_facts(self, id: str, item: str) -> list[Fact]:
        """Tokens, cost and neighbours of a step, and its tries if there was more than one."""
        one, step = self.run.step(id, item), self.step(id)
        if step is None:
            return []
        parts = [part for (name, _), part in self.run.steps.items() if name == id]
        whole = parts if not item else [one]
        tokens = sum(part.tokens for part in whole)
        cost = sum(part.dollars for part in whole)
        rows: list[Fact] = []
        if tokens or step.kind == "agent":
            rows += [Fact(tr("Tokens"), number(tokens)), Fact(tr("Cost"), dollars(cost))]
        labels = {other.id: other.label for other in self.workflow.steps}
        needs = [labels[name] for name in self.needs.get(id, ())]
        then = [labels[other] for other, names in self.needs.items() if id in names]
        if needs:
            rows.append(Fact(tr("Waits for"), ", ".join(needs)))
        if then:
            rows.append(Fact(tr("Then"), ", ".join(then)))
        if len(one.tries) > 1:
            rows.append(Fact(tr("Tries"), str(len(one.tries)), "heading"))
            for count, attempt in enumerate(one.tries, 1):
                took = clock(attempt.ended - attempt.began) if attempt.ended else ""
                words = tr_engine(attempt.reason) or tr("Try {number}").format(number=count)
                rows.append(Fact(words, took, "note", state=attempt.state))
        return rows

    @property
    def needs(self) -> Mapping[str, tuple[str, ...]]:
        from studio.workflows.graph import direct_needs

        return direct_needs(self.workflow)


def _state_of(parts: list[StepRun]) -> NodeState:
    """The most pressing state of several steps."""
    states: set[StepState] = {one.state for one in parts}
    pressing: tuple[StepState, ...] = ("needs_you", "unsure", "running", "failed", "stopped")
    for state in pressing:
        if state in states:
            return state
    return "done" if "done" in states else "queued" if "queued" in states else "waiting"
