"""What is known of a chosen step or item of a run. Free of Qt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from studio.domain.run_events import MERGE
from studio.domain.workflows import Step
from studio.ui.engine_texts import tr_engine
from studio.ui.graph.nodes import NodeState
from studio.ui.pages.workflows.run_graph import MERGE_NODE, merge_step
from studio.ui.pages.workflows.workflow_graph import node_of
from studio.workflows.expressions import ExpressionError, NotRead

from .run_record import RunRecord

if TYPE_CHECKING:
    from studio.ui.inspector.fact_list import Fact


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One item of a step that runs for each of several."""

    key: str
    words: str
    state: NodeState
    about: str = ""


@dataclass(frozen=True, slots=True)
class StepFacts:
    """What the tab shows. ``item`` is empty for the step as a whole.

    ``held`` says where the run is stopped at this step. ``prompt`` is what its agent is told,
    ``text`` what came of it. ``editable`` is whether that can be changed now.
    """

    step: str
    item: str = ""
    title: str = ""
    icon: str = "workflow"
    hue: str = "slate"
    state: NodeState = ""
    about: str = ""
    facts: Sequence[Fact] = ()
    items: Sequence[ItemRow] = ()
    prompt: str = ""
    text: str = ""
    held: str = ""
    session_id: str = ""
    editable: bool = False
    can_run_again: bool = False
    template: str = ""
    """The prompt as the file has it; empty where it cannot be changed."""
    can_hold: bool = False
    """Whether it can be paused alone, or go on; ``paused`` is whether it is."""
    paused: bool = False
    run_id: str = ""
    """Its own run, of a step that is a workflow."""


def facts_of(
    record: RunRecord, id: str, item: str, prompt: Callable[[Step, str], str]
) -> StepFacts:
    """What is shown of a node of the graph. ``prompt`` says what a step's agent is told."""
    if id == MERGE_NODE:
        return _merge_facts(record)
    step = record.step(id)
    if step is None:
        return StepFacts("")
    run, node = record.run, node_of(step, record.agents)
    one = run.step(id, item)
    stopped = run.stopped
    here = stopped is not None and stopped.step == id and stopped.item == item
    name = record.item_name(id, item)
    items = [
        ItemRow(key, record.item_name(id, key), run.step(id, key).state)
        for key in run.items.get(id, {})
    ]
    asked = one.question is not None and one.state == "running"
    return StepFacts(
        *(id, item, f"{step.label}, {name}" if name else step.label, node.icon, node.hue),
        "needs_you" if asked else one.state,
        tr_engine(one.reason or one.in_turns),
        record.step_facts(id, item),
        items,
        _prompt_of(record, step, item, prompt),
        one.text,
        tr_engine(stopped.reason).rstrip(".") if here and stopped is not None else "",
        one.session_id,
        run.paused is not None and one.state == "done" and not items,
        run.end is not None,
        step.prompt if step.kind == "agent" and (here or run.end is not None) else "",
        record.can_hold(id),
        id in run.held,
        one.run_id,
    )


def facts_inside(record: RunRecord, id: str, path: str, item: str) -> StepFacts:
    """What is shown of a step with this path inside of another one: only that can be changed."""
    facts = facts_of(record, id, item, record.prompt)
    return replace(
        facts, step=path, editable=False, can_run_again=False, template="", can_hold=False
    )


def _merge_facts(record: RunRecord) -> StepFacts:
    one = record.run.step(MERGE)
    state = "needs_you" if one.question is not None else one.state
    return StepFacts(
        *(MERGE_NODE, "", merge_step().label, "git-branch", "slate", state),
        about=tr_engine(one.reason or one.text),
    )


def _prompt_of(record: RunRecord, step: Step, item: str, prompt: Callable[[Step, str], str]) -> str:
    """What the step's agent is told; as the file has it, where that cannot be known yet."""
    if step.kind != "agent":
        return ""
    if step.id in record.run.items and not item:
        return step.prompt
    try:
        return prompt(step, item)
    except (ExpressionError, NotRead, KeyError):
        return step.prompt
