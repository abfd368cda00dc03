"""Makes the graph of a run: the steps of its workflow, each with its state. Free of Qt."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from studio.agent.permission.invisible_characters import escape_line
from studio.domain.agents import Agent
from studio.domain.run_events import MERGE
from studio.domain.runs import Run
from studio.domain.workflows import Step, Workflow
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import clock
from studio.ui.graph.nodes import STATES, Graph, GraphNode, WayBack
from studio.ui.translation import tr
from studio.workflows.graph import direct_needs

from .workflow_graph import node_of

MERGE_NODE = "(merge)"
"""The node of the merge before a run's end; no step has such a name."""


def graph_of_run(workflow: Workflow, run: Run, agents: Mapping[str, Agent]) -> Graph:
    """The steps as they are in a run, and the merge of what they changed, if there is one."""
    needs = direct_needs(workflow)
    nodes = [_node(step, run, agents) for step in workflow.steps]
    edges = [(need, step.id) for step in workflow.steps for need in needs[step.id]]
    if (MERGE, "") in run.steps:
        needed = {need for need, _ in edges}
        edges += [(step.id, MERGE_NODE) for step in workflow.steps if step.id not in needed]
        nodes.append(_node(merge_step(), run, agents))
    ways: list[WayBack] = []
    for step in workflow.steps:
        if step.redo is not None:
            now, most = run.redone.get(step.id, 0) + 1, step.redo.most + 1
            label = tr("try {number} of {most}").format(number=now, most=most)
            ways.append(WayBack(step.id, step.redo.start, label))
    return Graph(tuple(nodes), tuple(edges), tuple(ways))


def merge_step() -> Step:
    """What stands for the merge of what the steps changed."""
    return Step(MERGE_NODE, "set", title=tr("Merge"))


def run_id_of(id: str) -> str:
    """What a run calls the step of a node."""
    return MERGE if id == MERGE_NODE else id


def _node(step: Step, run: Run, agents: Mapping[str, Agent]) -> GraphNode:
    id = run_id_of(step.id)
    one = run.step(id)
    node, last = node_of(step, agents), one.last
    if step.id == MERGE_NODE:
        node = replace(node, icon="git-branch")
    items = node.items
    if items is not None:
        keys = run.items.get(step.id, {})
        items = (sum(run.step(step.id, key).over for key in keys), len(keys))
        if (tally := run.tallies.get(step.id)) is not None:
            items = tally.over, tally.count
    asked = any(found.step == id for found, _ in run.questions)
    state = "needs_you" if asked and one.state == "running" else one.state
    words = next((line for line in one.text.splitlines() if line.strip()), "")
    stops = _stops(run, step)
    about = tr_engine(one.reason) or words or _items(run, step) or tr(STATES[state][0])
    if one.in_turns and state == "running":
        about = tr("takes turns")
    if step.id in run.held and not one.over:
        about = tr("You paused this step")
    elif stops and state in ("", "waiting", "queued"):
        about = stops
    runs = state == "running" and run.end is None and last is not None
    took = 0.0
    if last is not None and last.ended:
        took = last.ended - last.began
    elif last is not None and asked and step.kind in ("agent", "run") and run.end is None:
        took = time.time() - one.asked
    return replace(
        node,
        state=state,
        about=escape_line(about, 200),
        aside=clock(took) if took else "",
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
