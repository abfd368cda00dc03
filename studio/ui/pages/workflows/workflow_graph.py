"""Makes the graph of a workflow's text, and finds its steps in the text. Free of Qt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from studio.agent.frontmatter import Problem
from studio.agent.permission.invisible_characters import escape_line
from studio.domain.agents import Agent
from studio.domain.workflows import Step, StepKind
from studio.ui.graph.nodes import Graph, GraphNode, WayBack
from studio.ui.pages.files.problem_texts import problem_words
from studio.ui.translation import tr, tr_plural
from studio.workflows.reader import WorkflowText, section_for

ICONS: Mapping[StepKind, str] = {
    "agent": "sparkle",
    "workflow": "workflow",
    "run": "terminal",
    "approve": "hand",
    "ask": "message-circle-question",
    "set": "equal",
    "check": "circle-check",
}
GATES: tuple[StepKind, ...] = ("approve", "ask")
"""Kinds of steps that wait for the person."""
Span = tuple[int, int]


def graph_of(found: WorkflowText, agents: Mapping[str, Agent]) -> Graph:
    """The graph of a text as it is written; empty while it has no steps that can be read."""
    nodes: dict[str, GraphNode] = {}
    edges: dict[tuple[str, str], None] = {}
    ways: dict[str, WayBack] = {}
    for step, places in steps_of(found):
        if step.id in nodes:  # two steps of one name are a mistake of the second
            continue
        errors = _errors(found, places)
        node = node_of(step, agents, wrong=len(errors))
        if errors:
            node = replace(node, about=escape_line(problem_words(errors[0]), 200))
        nodes[step.id] = node
        edges |= dict.fromkeys((need, step.id) for need in step.needs)
        if step.redo is not None:
            most = step.redo.most
            label = tr_plural("at most {count} time", "at most {count} times", most)
            ways[step.id] = WayBack(step.id, step.redo.start, label)
    for one in found.broken:
        if one.id not in nodes:
            wrong = _errors(found, one.span)
            about = escape_line(problem_words(wrong[0]), 200) if wrong else ""
            title = _with_mistakes(escape_line(one.id, 60), len(wrong) or 1)
            mark = len(wrong) or 1
            nodes[one.id] = GraphNode(one.id, title, about=about, gate=True, wrong=mark)
            edges |= dict.fromkeys((need, one.id) for need in one.needs)
    return Graph(tuple(nodes.values()), tuple(edges), tuple(ways.values()))


def _errors(found: WorkflowText, span: Span) -> list[Problem]:
    """The mistakes in a part of the text."""
    start, end = span
    return [one for one in found.errors if start <= one.start < max(end, start + 1)]


def _with_mistakes(name: str, count: int) -> str:
    mistakes = tr_plural("{count} mistake", "{count} mistakes", count)
    return f"{name}, {mistakes}"


def node_of(step: Step, agents: Mapping[str, Agent], wrong: int = 0) -> GraphNode:
    """A step that does not run."""
    icon, hue, aside = ICONS[step.kind], "slate", ""
    if step.kind == "agent":
        aside = escape_line(step.target, 60)
        if (agent := agents.get(step.target)) is not None:
            icon, hue = agent.icon, agent.hue
    gate = step.kind in GATES
    title = _line(step.target) if gate else ""
    if wrong and gate:
        title = _with_mistakes(step.label, wrong)
    return GraphNode(
        step.id,
        escape_line(title or step.label, 80),
        icon,
        hue,
        about=_about(step),
        aside=aside,
        gate=gate,
        items=(0, 0) if step.for_each or step.matrix else None,
        wrong=wrong,
    )


def _about(step: Step) -> str:
    """What stands below the title of a step that does not run."""
    if step.for_each or step.matrix:
        if step.max_parallel:
            return tr("For each item, {count} at a time").format(count=step.max_parallel)
        return tr("For each item")
    if step.condition:
        return tr("If {condition}").format(condition=_line(step.condition))
    return _line(step.prompt if step.kind in ("agent", *GATES) else step.target)


def _line(text: str) -> str:
    """The first line that says something."""
    lines = (line.strip() for line in text.splitlines())
    return escape_line(next((line for line in lines if line), ""), 120)


# Places in the text


def steps_of(found: WorkflowText) -> Iterator[tuple[Step, Span]]:
    """The steps with their places in the frontmatter."""
    if found.workflow is not None:
        for step, places in zip(found.workflow.steps, found.places, strict=True):
            yield step, places.span


def place_of(found: WorkflowText, id: str) -> Span | None:
    """Where a step stands, also one that cannot be read; None if it is not there."""
    known = [(step.id, span) for step, span in steps_of(found)]
    known += [(one.id, one.span) for one in found.broken]
    return next((span for name, span in known if name == id), None)


def step_at(found: WorkflowText, at: int) -> str:
    """The step that a place of the text belongs to, also by its section; empty for none."""
    for one in found.broken:
        if one.span[0] <= at <= one.span[1]:
            return one.id
    for step, (start, end) in steps_of(found):
        if start <= at <= end:
            return step.id
        section = section_for(step.id, step.title, found.sections)
        if section is not None and section.start <= at < section.stop:
            return step.id
    return ""
