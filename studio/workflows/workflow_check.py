"""Workflow check: all problems in the text of a workflow's file, with their places (W-8)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice

from studio.agent.agent_files.parser import MOST_PROBLEMS
from studio.agent.frontmatter import Frontmatter, Problem, ValueProblem, no_such
from studio.domain.agents import OWN_TOOLS
from studio.domain.jsonvalue import JsonObject
from studio.domain.permissions import Rule
from studio.domain.workflows import Step, Workflow

from .expressions import ExpressionError, Reference, parse_expression, parse_template
from .graph import Use, all_needs, direct_needs, find_circle, uses_of, uses_of_whole
from .missions.check_keys import is_capped
from .reader import Section, WorkflowText, section_for
from .value_readers import Places, Reading, names_of

RESULTS = ("outputs", "text", "state", "cost")
"""What an expression knows of a step."""
RUN = ("id", "number", "folder", "started")
"""What it knows of the run."""
ON_ERROR = ("stop", "skip", "continue")
ON_CONFLICT = ("ask", "stop")


@dataclass(frozen=True, slots=True)
class KnownNames:
    """What a workflow may name. Of an empty collection nothing is said."""

    agents: Collection[str] = ()
    models: Collection[str] = ()
    tools: Collection[str] = ()


def check_workflow(found: WorkflowText, known: KnownNames) -> WorkflowText:
    """Find all that is wrong, in the order of the places, and give the steps all their needs."""
    matter, workflow = found.frontmatter, found.workflow
    if matter is None or workflow is None:
        return found
    check = _Check(matter, workflow, found, known)
    more = islice(check.problems(), MOST_PROBLEMS)
    problems = sorted((*found.problems, *more), key=lambda one: one.start)
    steps = tuple(replace(step, needs=check.needs[step.id]) for step in workflow.steps)
    return replace(found, workflow=replace(workflow, steps=steps), problems=tuple(problems))


class _Check:
    def __init__(
        self, matter: Frontmatter, workflow: Workflow, found: WorkflowText, known: KnownNames
    ) -> None:
        self.matter, self.workflow, self.found, self.known = matter, workflow, found, known
        self.needs = direct_needs(workflow)
        self.every = all_needs(self.needs)
        self.steps = {step.id: step for step in workflow.steps}
        self.inputs = [one.name for one in workflow.inputs]

    def problems(self) -> Iterator[Problem]:
        ids: set[str] = set()
        for step, places in zip(self.workflow.steps, self.found.places, strict=True):
            if step.id in ids:
                error = ValueProblem("another step has the id {name} too", {"name": step.id})
                yield self._at(error, places.value("id"))
            ids.add(step.id)
            yield from self._names(step, places)
            yield from self._keys(step, places)
            yield from self._prompt(step, places)
            for use in uses_of(step):
                for reference in use.expression.references:
                    yield from self._reference(step, places, use, reference)
        yield from self._circle()
        yield from self._never()
        yield from self._budget()
        yield from self._file()

    # What is named

    def _names(self, step: Step, places: Places) -> Iterator[Problem]:
        known = self.known
        if step.kind == "agent" and known.agents and step.target not in known.agents:
            error = no_such("there is no agent {name}", step.target, known.agents)
            yield self._at(error, places.value("agent"))
        if step.model and known.models and step.model not in known.models:
            error = no_such("there is no model {name}", step.model, known.models)
            yield self._at(error, places.value("model"))
        yield from self._rules(step.permissions, places)
        if "needs" in places.keys and step.needs:
            for name, start, end in names_of(Reading(self.matter), places.keys["needs"].node):
                if name == step.id:
                    yield self._at(ValueProblem("a step cannot need itself"), (start, end))
                elif name not in self.steps:
                    yield self._at(self._no_step(name), (start, end))

    def _rules(self, rules: tuple[Rule, ...], places: Places) -> Iterator[Problem]:
        for rule in rules if self.known.tools else ():
            if rule.tool not in ("*", OWN_TOOLS, *self.known.tools):
                words = "a rule is about {name}, and there is no such tool"
                error = no_such(words, rule.tool, self.known.tools)
                yield self._at(error, places.value("permissions"), warning=True)

    def _no_step(self, name: str) -> ValueProblem:
        return no_such("there is no step {name}", name, list(self.steps))

    # Keys that belong together

    def _keys(self, step: Step, places: Places) -> Iterator[Problem]:
        only = {
            "prompt": ("agent",),
            "form": ("ask",),
            "inputs": ("workflow",),
            "model": ("agent", "workflow"),
            "via": ("agent",),
            "effects": ("agent", "workflow", "run"),
        }
        for key, kinds in only.items():
            if key in places.keys and step.kind not in kinds:
                words = "“{name}” changes nothing in a step of the kind {kind}"
                error = ValueProblem(words, {"name": key, "kind": step.kind})
                entry = places.keys[key]
                yield self._at(error, (entry.start, entry.key_end), warning=True)
        if step.on_error not in ON_ERROR and step.on_error not in self.steps:
            known = [*ON_ERROR, *self.steps]
            error = no_such(
                "on_error is a step or one of the words, not “{name}”", step.on_error, known
            )
            yield self._at(error, places.value("on_error"))
        if step.redo is not None:
            start = step.redo.start
            if start not in self.steps:
                yield self._at(self._no_step(start), places.value("redo"))
            elif start != step.id and start not in self.every[step.id]:
                words = "redo goes back to {name}, which this step does not need"
                yield self._at(ValueProblem(words, {"name": start}), places.value("redo"))

    def _prompt(self, step: Step, places: Places) -> Iterator[Problem]:
        if step.kind != "agent":
            return
        if not step.prompt:
            words = (
                "the step {name} has no “prompt”, and no section “## {name}” is below the dashes"
            )
            yield self._at(ValueProblem(words, {"name": step.id}), places.value("id"))
        elif (section := self._section(step)) is not None:
            try:
                parse_template(step.prompt)
            except ExpressionError as error:
                at = self.matter.text.index(section.text, section.end) + error.at
                problem = ValueProblem(error.words, error.values)
                yield self._at(problem, (at, min(at + 1, len(self.matter.text))))

    def _section(self, step: Step) -> Section | None:
        """The section that is the step's prompt, if it is not written in the step."""
        found = section_for(step.id, step.title, self.found.sections)
        return found if found is not None and found.text == step.prompt else None

    # Expressions

    def _reference(
        self, step: Step | None, places: Places, use: Use, reference: Reference
    ) -> Iterator[Problem]:
        """Of a step's expression; of one of the file if there is no step."""
        found = self._wrong_reference(step, use, reference)
        if found is None:
            return
        error, warning = found
        yield self._at(error, self._place(step, places, use, reference), warning=warning)

    def _wrong_reference(
        self, step: Step | None, use: Use, reference: Reference
    ) -> tuple[ValueProblem, bool] | None:
        match reference.path:
            case ("inputs", str(name), *_) if name not in self.inputs:
                if not self.inputs:
                    words = "there is no input {name}: the workflow has none"
                    return ValueProblem(words, {"name": name}), False
                return no_such("there is no input {name}", name, self.inputs), False
            case ("steps", str(name), *rest):
                return self._wrong_step(step, name, rest)
            case ("item" | "key" as name, *_) if not (step and (step.for_each or step.matrix)):
                words = "“{name}” is there in a step with for_each or matrix"
                return ValueProblem(words, {"name": name}), False
            case ("outputs", *rest):
                if step is None or use.key != "redo.when":
                    words = "“outputs” is there in redo; elsewhere write steps.ID.outputs"
                    return ValueProblem(words), False
                return wrong_output(step, rest)
            case ("run", str(name), *_) if name not in RUN:
                return no_such("there is no run.{name}", name, RUN), False
            case _:
                return None

    def _wrong_step(
        self, step: Step | None, name: str, rest: list[str | int]
    ) -> tuple[ValueProblem, bool] | None:
        if name not in self.steps:
            return self._no_step(name), False
        if step is not None and name == step.id:
            return ValueProblem("a step does not know its own result"), False
        if rest and rest[0] not in RESULTS:
            words = "a step has no “{name}”"
            return no_such(words, str(rest[0]), RESULTS), False
        if rest and rest[0] == "outputs":
            other = self.steps[name]
            if not other.for_each and not other.matrix:
                wrong = wrong_output(other, rest[1:])
                if wrong is not None:
                    return wrong
        if step is None:
            return None
        known = {*step.needs, *chain(*(self.every.get(need, ()) for need in step.needs))}
        if name not in known:
            words = "{name} is not among the step's “needs”; it is needed through this"
            return ValueProblem(words, {"name": name}), True
        return None

    def _place(
        self, step: Step | None, places: Places, use: Use, reference: Reference
    ) -> tuple[int, int]:
        """Where a reference stands in the text, or the value that it is in."""
        written = use.expression.text[reference.start : reference.end]
        section = self._section(step) if step and use.key == "prompt" else None
        if section is not None:
            start = self.matter.text.index(section.text, section.end)
            end = start + len(section.text)
        else:
            start, end = places.value(use.key.partition(".")[0])
        at = self.matter.text.find(written, start, end)
        return (at, at + len(written)) if at >= 0 else (start, end)

    # The whole

    def _circle(self) -> Iterator[Problem]:
        circle = find_circle(self.needs)
        if circle:
            way = " → ".join((*circle, circle[0]))
            error = ValueProblem("these steps wait for each other: {way}", {"way": way})
            yield self._at(error, self._places(circle[0]).value("id"))

    def _never(self) -> Iterator[Problem]:
        """Steps whose condition is never true, and those that need them."""
        never: set[str] = set()
        for step, places in zip(self.workflow.steps, self.found.places, strict=True):
            if step.condition and _is_never(step.condition):
                never.add(step.id)
                words = "the step {name} can never run: its condition is always false"
                yield self._at(
                    ValueProblem(words, {"name": step.id}), places.value("if"), warning=True
                )
        for step, places in zip(self.workflow.steps, self.found.places, strict=True):
            behind = sorted(never & self.every[step.id])
            if behind and step.id not in never:
                words = "the step {name} can never run: it needs {other}, which never does"
                error = ValueProblem(words, {"name": step.id, "other": behind[0]})
                yield self._at(error, places.value("id"), warning=True)

    def _budget(self) -> Iterator[Problem]:
        whole = self.workflow.budget
        units: Mapping[str, tuple[float, float]] = {
            "dollars": (
                whole.caps.dollars,
                sum(step.budget.caps.dollars for step in self.workflow.steps),
            ),
            "tokens": (
                whole.caps.tokens,
                sum(step.budget.caps.tokens for step in self.workflow.steps),
            ),
        }
        for unit, (most, together) in units.items():
            if most and together > most:
                words = "the steps may use {together} {unit} together, the run {most}"
                values = {"together": f"{together:,g}", "unit": unit, "most": f"{most:,g}"}
                error = ValueProblem(words, values)
                yield self._at(error, self.found.top.value("budget"), warning=True)

    def _file(self) -> Iterator[Problem]:
        if not self.workflow.steps and not self.found.errors:
            yield self._at(ValueProblem("a workflow has at least one step"), self._steps_place())
        yield from self._sections()
        yield from self._rules(self.workflow.permissions, self.found.top)
        merger, known = self.workflow.on_conflict, self.known.agents
        if known and merger not in (*ON_CONFLICT, *known):
            words = "on_conflict is an agent or one of the words, not “{name}”"
            error = no_such(words, merger, [*ON_CONFLICT, *known])
            yield self._at(error, self.found.top.value("on_conflict"))
        yield from self._mission()
        for use in uses_of_whole(self.workflow):
            for reference in use.expression.references:
                yield from self._reference(None, self.found.top, use, reference)

    def _mission(self) -> Iterator[Problem]:
        """What a mission needs, and what only a mission has (W-49)."""
        whole, top = self.workflow.budget, self.found.top
        if not self.workflow.done_when:
            if whole.cycles or whole.until:
                words = "“cycles” and “until” count in a workflow with done_when"
                yield self._at(ValueProblem(words), top.value("budget"), warning=True)
            return
        if not is_capped(whole) and not self.found.errors:
            words = "a mission begins only with a budget, such as dollars, cycles or until"
            yield self._at(ValueProblem(words), self._key_place("done_when"), warning=True)
        for check in self.workflow.done_when:
            if (
                check.kind == "grader"
                and self.known.agents
                and check.target not in self.known.agents
            ):
                error = no_such("there is no agent {name}", check.target, self.known.agents)
                yield self._at(error, top.value("done_when"))

    def _sections(self) -> Iterator[Problem]:
        """Sections that are no step's, have none in them, and stand in none."""
        names = {word.casefold() for step in self.workflow.steps for word in (step.id, step.title)}
        named = [one for one in self.found.sections if one.heading.casefold() in names]
        inside = 0
        for section in self.found.sections:
            if section.heading.casefold() in names:
                inside = max(inside, section.stop)
            elif section.start >= inside and not any(
                section.start < one.start < section.stop for one in named
            ):
                words = "no step has the id or the title “{name}”"
                error = no_such(words, section.heading, list(self.steps))
                yield self._at(error, (section.start, section.end), warning=True)

    def _steps_place(self) -> tuple[int, int]:
        return self._key_place("steps")

    def _key_place(self, key: str) -> tuple[int, int]:
        entry = self.found.top.keys.get(key)
        return (entry.start, entry.key_end) if entry else self.found.top.span

    def _places(self, step_id: str) -> Places:
        pairs = zip(self.workflow.steps, self.found.places, strict=True)
        return next(places for step, places in pairs if step.id == step_id)

    def _at(self, error: ValueProblem, place: tuple[int, int], *, warning: bool = False) -> Problem:
        return self.matter.problem(error, *place, warning=warning)


def wrong_output(step: Step, path: list[str | int]) -> tuple[ValueProblem, bool] | None:
    """What is wrong with a path into a step's outputs, by their declared schema."""
    schema: JsonObject | None = step.outputs
    for key in path:
        if not isinstance(schema, dict):
            return None
        properties = schema.get("properties")
        if isinstance(key, int):
            items = schema.get("items")
            schema = items if isinstance(items, dict) else None
        elif isinstance(properties, dict):
            if key not in properties:
                if schema.get("additionalProperties") not in (None, False):
                    return None
                words = "the outputs of " + "{step} have no “{name}”".replace("{step}", step.id)
                return no_such(words, key, list(properties)), False
            part = properties[key]
            schema = part if isinstance(part, dict) else None
        else:
            return None
    return None


def _is_never(condition: str) -> bool:
    try:
        expression = parse_expression(condition)
        return not expression.references and not expression.evaluate({})
    except ExpressionError:
        return False
