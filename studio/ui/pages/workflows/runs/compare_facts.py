"""Compare facts: two runs side by side in words, the first difference marked (W-31). Free of Qt."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from studio.agent.permission.invisible_characters import escape_line
from studio.domain.agents import Agent
from studio.domain.jsonvalue import Json
from studio.domain.run_events import MERGE
from studio.domain.runs import Run
from studio.domain.workflows import Workflow
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import clock, dollars, number, short_count
from studio.ui.graph.nodes import NodeState
from studio.ui.pages.workflows.run_graph import merge_step
from studio.ui.pages.workflows.workflow_graph import node_of
from studio.ui.theme import joined
from studio.ui.translation import tr, tr_later, tr_plural
from studio.workflows.agent_lines import AgentFile, where
from studio.workflows.compare import FILES, INPUTS, RunComparison, StepComparison, StepSide

from .run_record import RUN_STATES

PARTS: Mapping[str, str] = {
    "state": tr_later("State"),
    "instructions": tr_later("Instructions"),
    "text": tr_later("Answer"),
    "outputs": tr_later("Outputs"),
    "tools": tr_later("Tools"),
    "drafts": tr_later("Drafts"),
}
"""What is compared of a step, in the order in which it is shown."""
NO_FILES: Mapping[str, AgentFile] = {}
SHOWN = 4
"""Letters of a digest."""
SMALLEST = 0.005
"""Dollars from which a difference of cost is told."""


@dataclass(frozen=True, slots=True)
class CompareRow:
    """One line at the left: a step, an item, the inputs or the files of the runs.

    ``first`` and ``second`` are the states in either run, empty where it is not there.
    """

    key: str | tuple[str, str]
    title: str
    about: str
    icon: str
    hue: str
    differs: bool
    is_first: bool = False
    cost: str = ""
    time: str = ""
    first: NodeState = ""
    second: NodeState = ""
    indent: bool = False

    @property
    def spoken(self) -> str:
        first = tr("First difference") if self.is_first else ""
        return joined((self.title, first, self.about, self.cost, self.time))


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of both runs, with what that means."""

    name: str
    first: str
    second: str
    about: str = ""
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A text of a step in both runs."""

    name: str
    first: str
    second: str
    path: str = ""
    calls: tuple[Sequence[str], Sequence[str]] | None = None
    """The calls of both runs, where it is about these."""
    took: tuple[Sequence[float], Sequence[float]] = ((), ())
    """The seconds of each."""
    about: str = ""
    """Where it stands."""


def measures(found: RunComparison) -> list[Measure]:
    """The runs as a whole, from left to right."""
    one, two = found.first, found.second
    spent, took = two.dollars - one.dollars, two.seconds - one.seconds
    share = (two.tokens - one.tokens) / one.tokens if one.tokens else 0.0
    same, differ = tr("the same"), tr("changed")
    return [
        Measure(tr("Result"), tr(RUN_STATES[one.state][0]), tr(RUN_STATES[two.state][0])),
        Measure(tr("Cost"), dollars(one.dollars), dollars(two.dollars), _cost(spent)),
        Measure(tr("Time"), clock(one.seconds), clock(two.seconds), _time(took)),
        Measure(
            tr("Tokens"),
            short_count(one.tokens),
            short_count(two.tokens),
            f"{share:+.0%}" if abs(share) >= 0.005 else "",
        ),
        Measure(
            tr("Inputs"),
            escape_line(", ".join(one.inputs), 80) or "–",
            escape_line(", ".join(two.inputs), 80) or "–",
            differ if found.inputs else same,
            bool(found.inputs),
        ),
        _files(found),
    ]


def _files(found: RunComparison) -> Measure:
    """The beginnings of the digests of all files, and which of these changed."""
    one, two = found.first, found.second
    changed = [
        tr("the file") if name == "workflow" else name.partition(" ")[2] or name
        for name in dict.fromkeys((*one.parts, *two.parts))
        if one.parts.get(name) != two.parts.get(name)
    ]
    about = tr("changed") if found.files else tr("the same")
    if changed:
        about = tr("{names} changed").format(names=", ".join(changed))
    digests = (one.digest[:SHOWN], two.digest[:SHOWN])
    return Measure(tr("Files"), *digests, escape_line(about, 80), bool(changed or found.files))


def rows_of(
    found: RunComparison, workflow: Workflow, agents: Mapping[str, Agent], run: Run
) -> list[CompareRow]:
    """What differs beside the steps, then the steps in the order in which they began.

    ``run`` is the one that names the items.
    """
    rows: list[CompareRow] = []
    first = found.first_difference
    if found.inputs:
        names = escape_line(", ".join(found.inputs), 200)
        rows.append(
            CompareRow(INPUTS, tr("Inputs"), names, "equal", "slate", True, first == INPUTS)
        )
    if found.files:
        lines = sum(line[:1] in "+-" for line in found.files[2:])
        about = tr_plural("{count} line differs", "{count} lines differ", lines)
        rows.append(
            CompareRow(FILES, tr("File"), about, "file-text", "slate", True, first == FILES)
        )
    steps = {step.id: step for step in workflow.steps} | {MERGE: merge_step()}
    for one in found.steps:
        step = steps.get(one.step)
        node = node_of(step, agents) if step is not None else None
        here, there = one.first, one.second
        both = here is not None and there is not None
        rows.append(
            CompareRow(
                (one.step, one.item),
                escape_line(_item(run, one) if one.item else one.step or merge_step().label, 80),
                _about(one),
                "git-branch"
                if one.step == MERGE
                else node.icon
                if node is not None
                else "workflow",
                node.hue if node is not None else "slate",
                bool(one.differs),
                first == (one.step, one.item),
                _cost(there.dollars - here.dollars) if both and here and there else "",
                _time(there.seconds - here.seconds) if both and here and there else "",
                here.state if here is not None else "",
                there.state if there is not None else "",
                bool(one.item),
            )
        )
    return rows


def _item(run: Run, one: StepComparison) -> str:
    """“item 3: Retry-After”."""
    items = run.items.get(one.step, {})
    if one.item not in items:
        return one.item
    words = tr("item {number}").format(number=[*items].index(one.item) + 1)
    value = items[one.item]
    return f"{words}: {value}" if isinstance(value, str) else words


def parts_of(
    found: RunComparison,
    key: str | tuple[str, str],
    files: Mapping[str, AgentFile] = NO_FILES,
    *,
    all_parts: bool,
) -> list[Part]:
    """The texts that are shown of a row; equal ones only where all are wanted."""
    if key == INPUTS:
        return [Part(name, first, second) for name, (first, second) in found.inputs.items()]
    if key == FILES:
        return [_of_patch(found.files)]
    one = next(one for one in found.steps if (one.step, one.item) == key)
    parts: list[Part] = []
    for name, words in PARTS.items():
        first, second = _text(one.first, name), _text(one.second, name)
        if (first or second) and (all_parts or first != second):
            path = "x.yaml" if name == "outputs" else ""
            sides = [side.tools if side is not None else () for side in (one.first, one.second)]
            calls = (sides[0], sides[1]) if name == "tools" else None
            took = [
                side.call_seconds if side is not None else () for side in (one.first, one.second)
            ]
            about = _from(files, one.step, first, second) if name == "instructions" else ""
            parts.append(Part(tr(words), first, second, path, calls, (took[0], took[1]), about))
    return parts


def _from(files: Mapping[str, AgentFile], step: str, first: str, second: str) -> str:
    """“from agents/coder.md, line 14”."""
    path, line = where(files, step, first, second)
    words = tr("from {path}, line {number}")
    return words.format(path=escape_line(path, 80), number=number(line)) if line else ""


def _of_patch(lines: Sequence[str]) -> Part:
    """Both sides of the lines of a unified diff."""
    sides: tuple[list[str], list[str]] = ([], [])
    for line in lines[2:]:
        if line.startswith("@@"):
            continue
        if line[:1] != "+":
            sides[0].append(line[1:])
        if line[:1] != "-":
            sides[1].append(line[1:])
    return Part(tr("File"), "\n".join(sides[0]), "\n".join(sides[1]), "x.yaml")


def _text(side: StepSide | None, name: str) -> str:
    if side is None:
        return ""
    match name:
        case "state":
            return joined((tr(_STATE_WORDS[side.state]), tr_engine(side.reason)))
        case "outputs":
            if side.outputs is None:
                return ""
            return as_yaml(side.outputs)
        case "tools":
            return "\n".join(side.tools)
        case "drafts":
            return "\n".join(f"{path}:\n{text}" for path, text in side.drafts.items())
        case _:
            return str(getattr(side, name))


def as_yaml(outputs: Json) -> str:
    """A line for each output, as a workflow's file would have it."""
    if not isinstance(outputs, dict):
        return json.dumps(outputs, ensure_ascii=False, indent=1)
    return "\n".join(f"{k}: {json.dumps(v, ensure_ascii=False)}" for k, v in outputs.items())


_STATE_WORDS: Mapping[str, str] = {
    "waiting": tr_later("waiting"),
    "queued": tr_later("queued"),
    "running": tr_later("running"),
    "needs_you": tr_later("needs you"),
    "done": tr_later("done"),
    "failed": tr_later("failed"),
    "skipped": tr_later("skipped"),
    "stopped": tr_later("stopped"),
    "unsure": tr_later("may have happened"),
}


def _about(one: StepComparison) -> str:
    if one.second is None:
        return tr("Only in A")
    if one.first is None:
        return tr("Only in B")
    if one.differs:
        return joined(tr(PARTS[name]) for name in PARTS if name in one.differs)
    return tr("The same, from the record") if one.second.linked else tr("The same")


def _cost(by: float) -> str:
    if abs(by) < SMALLEST:
        return ""
    return f"{'+' if by > 0 else '−'}{dollars(abs(by))}"


def _time(by: float) -> str:
    return f"{'+' if by > 0 else '−'}{clock(abs(by))}" if abs(by) >= 1 else ""
