"""Makes the graph of a run: the steps of its workflow, each with its state. Free of Qt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from studio.agent.permission.invisible_characters import escape_line
from studio.domain.agents import Agent
from studio.domain.runs import Run
from studio.domain.workflows import Step, Workflow
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import clock
from studio.ui.graph.nodes import STATES, Graph, GraphNode, WayBack
from studio.ui.translation import tr
from studio.workflows.graph import direct_needs

from .workflow_graph import node_of


def graph_of_run(workflow: Workflow, run: Run, agents: Mapping[str, Agent]) -> Graph:
    """The steps as they are in a run."""
    needs = direct_needs(workflow)
    ways: list[WayBack] = []
    for step in workflow.steps:
        if step.redo is not None:
            now, most = run.redone.get(step.id, 0) + 1, step.redo.most + 1
            label = tr("try {number} of {most}").format(number=now, most=most)
            ways.append(WayBack(step.id, step.redo.start, label))
    return Graph(
        tuple(_node(step, run, agents) for step in workflow.steps),
        tuple((need, step.id) for step in workflow.steps for need in needs[step.id]),
        tuple(ways),
    )


def _node(step: Step, run: Run, agents: Mapping[str, Agent]) -> GraphNode:
    one = run.step(step.id)
    node, last = node_of(step, agents), one.last
    items = node.items
    if items is not None:
        keys = run.items.get(step.id, {})
        items = (sum(run.step(step.id, key).over for key in keys), len(keys))
    asked = any(found.step == step.id for found, _ in run.questions)
    state = "needs_you" if asked and one.state == "running" else one.state
    words = next((line for line in one.text.splitlines() if line.strip()), "")
    stops = _stops(run, step)
    about = tr_engine(one.reason) or words or _items(run, step) or tr(STATES[state][0])
    if stops and state in ("", "waiting", "queued"):
        about = stops
    runs = state == "running" and run.end is None and last is not None
    return replace(
        node,
        state=state,
        about=escape_line(about, 200),
        aside=clock(last.ended - last.began) if last is not None and last.ended else "",
        items=items,
        since=last.began if runs and last is not None else 0.0,
        stops=stops,
    )


def _stops(run: Run, step: Step) -> str:
    """Where the run stops at a step; empty if it does not."""
    stopped = run.stopped
    if stopped is not None and stopped.step == step.id:
        return tr("Stopped before this step") if stopped.moment == "before" else tr("Stopped here")
    if (step.id, "before") in run.breakpoints:
        return tr("Stops before this step")
    return tr("Stops after this step") if (step.id, "after") in run.breakpoints else ""


def _items(run: Run, step: Step) -> str:
    """“3 at a time, 1 tried again” for a step that runs for several items."""
    keys = run.items.get(step.id)
    if not keys:
        return ""
    parts: list[str] = []
    if step.max_parallel:
        parts.append(tr("{count} at a time").format(count=step.max_parallel))
    again = sum(len(run.step(step.id, key).tries) > 1 for key in keys)
    if again:
        parts.append(tr("{count} tried again").format(count=again))
    return ", ".join(parts)
