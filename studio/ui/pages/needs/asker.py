"""Asker: who asks the person, as a tree with what is known of each (W-22)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from studio.domain.agents import Agent
from studio.domain.run_events import RunQuestion
from studio.domain.runs import StepRun
from studio.ui.formatting import clock
from studio.ui.graph.nodes import NodeState
from studio.ui.inspector.fact_list import Fact
from studio.ui.pages.workflows.workflow_graph import node_of
from studio.ui.theme import joined
from studio.ui.translation import tr, tr_plural

from .waiting import Known, Waiting

ITEM = 2
"""Where in a path the item stands, after the run and the step."""


def going_on(known: Known) -> str:
    """“3 of 7 steps go on”; empty where none does."""
    count = len({one.step for one in known.run.steps.values() if one.state == "running"})
    if not (count and known.steps):
        return ""
    all_ = len(known.steps)
    return tr_plural(
        "{count} of {all} steps goes on", "{count} of {all} steps go on", count, all=all_
    )


def who_asks(row: Waiting, known: Known | None, agents: Mapping[str, Agent]) -> list[Fact]:
    """The way from the run or the chat down to who asks; ``agents`` are those of the person."""
    if known is not None:
        agents = {**agents, **known.agents}
    path, item = row.path, ""
    if row.item and len(path) > ITEM + 1:  # it stands beside who works on it
        path, item = (*path[:ITEM], *path[ITEM + 1 :]), _item(row, known)
    last = len(path) - 1
    facts = [Fact(tr("Who asks"), style="label")]
    for depth, name in enumerate(path):
        about, state = _about(known, row, depth) if depth < last else ("", "needs_you")
        about = item if depth == ITEM else about
        age = clock(max(0.0, time.time() - row.since)) if depth == last else ""
        icon, hue = _tile(row, path, known, agents, depth)
        facts.append(Fact(name, age, "tree", icon, hue=hue, state=state, depth=depth, about=about))
    return facts


def _tile(
    row: Waiting,
    path: Sequence[str],
    known: Known | None,
    agents: Mapping[str, Agent],
    depth: int,
) -> tuple[str, str]:
    """The icon and the hue of one of those on the way."""
    if depth and (agent := agents.get(path[depth])) is not None:
        return agent.icon, agent.hue
    if not depth:
        return ("workflow" if row.run_id else "message-square"), "slate"
    if depth == 1 and known is not None:
        for one, asked in known.run.questions:
            if asked.id == row.question.id and one.step in known.steps:
                node = node_of(known.steps[one.step], agents)
                return node.icon, node.hue
    return ("bot" if depth == len(path) - 1 else "workflow"), "slate"


def _item(row: Waiting, known: Known | None) -> str:
    """“item 7, Retry-After”; its words alone where its number is not known."""
    step = next((one for one, asked in _questions(known) if asked.id == row.question.id), None)
    keys = [*known.run.items.get(step.step, ())] if known is not None and step is not None else []
    if step is None or step.item not in keys:
        return row.path[ITEM]
    number = tr("item {number}").format(number=keys.index(step.item) + 1)
    return joined((number, row.path[ITEM]))


def _questions(known: Known | None) -> Iterable[tuple[StepRun, RunQuestion]]:
    return known.run.questions if known is not None else ()


def _about(known: Known | None, row: Waiting, depth: int) -> tuple[str, NodeState]:
    """What is known of who stands above who asks: the run, or its step with items."""
    if known is None or known.run.started is None:
        return "", ""
    run, started = known.run, known.run.started
    if not depth:
        words = tr("run {number}").format(number=started.number)
        given = [str(value) for value in started.inputs.values() if value not in (None, "")]
        return ", ".join([words, *given])[:60], "running"
    step = next((one for one, asked in run.questions if asked.id == row.question.id), None)
    if depth > 1 or step is None or step.step not in run.items:
        return "", ""
    keys = run.items[step.step]
    over = sum(run.step(step.step, key).over for key in keys)
    return tr("{done} of {all} items").format(done=over, all=len(keys)), "running"
