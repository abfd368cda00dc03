"""Workflow reader: a workflow from the text of its file, frontmatter and sections of prompts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from studio.agent.frontmatter import (
    Frontmatter,
    Problem,
    ProblemFound,
    ValueProblem,
    read_frontmatter,
)
from studio.agent.yaml_text import compose_plain_yaml
from studio.domain.agents import Caps
from studio.domain.workflows import (
    NO_BUDGET,
    Budget,
    Concurrency,
    Redo,
    Retry,
    Step,
    StepKind,
    Workflow,
)

from .value_readers import Places, Reading
from .workflow_keys import STEP, WORKFLOW

LONGEST = 400_000
"""Characters of the frontmatter."""
MOST_STEPS = 1_000
KINDS: tuple[StepKind, ...] = get_args(StepKind)
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*)$", re.M)
_CLOSING = re.compile(r"(?:^|(?<=[ \t]))#+$")
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)", re.M)


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the body below a heading; ``start`` and ``end`` are those of the heading.

    ``stop`` is where the part ends.
    """

    heading: str
    text: str
    start: int
    end: int
    stop: int


@dataclass(frozen=True, slots=True)
class BrokenStep:
    """A step of which it cannot be read what it does; ``span`` is where it stands."""

    id: str
    needs: tuple[str, ...]
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class WorkflowText:
    """What the text of a workflow's file says, as far as it can be read.

    ``workflow`` is None if it has no frontmatter that can be read. ``places`` has where the
    parts of each step stand, by the order of the steps, ``top`` those of the file's own keys.
    """

    frontmatter: Frontmatter | None = None
    workflow: Workflow | None = None
    top: Places = field(default_factory=lambda: Places((0, 0)))
    places: tuple[Places, ...] = ()
    sections: tuple[Section, ...] = ()
    problems: tuple[Problem, ...] = ()
    broken: tuple[BrokenStep, ...] = ()

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(one for one in self.problems if not one.warning)


def read_workflow_text(text: str, name: str = "", source: str = "") -> WorkflowText:
    """Read all that can be read, and find all that is wrong in the text by itself.

    ``name`` is that of the file, for a workflow that has none of its own. What names other
    files, agents and steps is looked at by ``check_workflow``.
    """
    opening = "a workflow file begins with a line of three dashes"
    try:
        matter = read_frontmatter(text, opening, LONGEST, compose_plain_yaml)
    except ProblemFound as error:
        return WorkflowText(problems=(error.problem,))
    reading = Reading(matter)
    if matter.root is None:
        nothing = ValueProblem("a workflow has “steps”")
        reading.note(nothing, matter.start, matter.end)
        return WorkflowText(matter, problems=tuple(reading.problems))
    values, top = WORKFLOW.read(reading, matter.root)
    sections = tuple(_sections(text, matter.body))
    steps: list[Step] = []
    places: list[Places] = []
    broken: list[BrokenStep] = []
    nodes = values.pop("steps", [])
    if len(nodes) > MOST_STEPS:
        many = ValueProblem("a workflow has at most {most} steps", {"most": f"{MOST_STEPS:,}"})
        reading.note(many, *matter.span(nodes[MOST_STEPS]))
    for node in nodes[:MOST_STEPS]:
        try:
            found, own = STEP.read(reading, node)
        except ValueProblem as error:
            reading.note(error, *reading.matter.span(node))
            continue
        if (step := _step(reading, found, own, sections)) is not None:
            steps.append(step)
            places.append(own)
        elif "id" in found:
            broken.append(BrokenStep(str(found["id"]), tuple(found.get("needs", ())), own.span))
    workflow = Workflow(
        name=values.pop("name", "") or name,
        steps=tuple(steps),
        budget=_budget(values.pop("budget", None)),
        concurrency=_concurrency(values.pop("concurrency", None)),
        source=source,
        digest=digest_of(text),
        **values,
    )
    problems = sorted(reading.problems, key=lambda one: one.start)
    return WorkflowText(
        *(matter, workflow, top, tuple(places), sections, tuple(problems)), tuple(broken)
    )


def digest_of(text: str) -> str:
    """What tells a workflow's text from every other one."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _step(
    reading: Reading, values: dict[str, Any], own: Places, sections: tuple[Section, ...]
) -> Step | None:
    """A step from its values; None after a problem that leaves nothing to work with."""
    if "id" not in values:
        return None
    kinds: list[StepKind] = [kind for kind in KINDS if kind in own.keys]
    if len(kinds) != 1:
        known = ", ".join(KINDS)
        words = "a step has one of {known}, and no second one"
        at = own.keys[kinds[1]] if kinds else own.keys["id"]
        if kinds or not _mistyped(reading, own):
            reading.note(ValueProblem(words, {"known": known}), at.start, at.key_end)
        if not kinds:
            return None
    kind = kinds[0]
    target = values.pop(kind, "")
    for other in kinds[1:]:
        values.pop(other, None)
    if not target and target != {}:
        if not any(one.start <= own.keys[kind].value_start <= one.end for one in reading.problems):
            entry = own.keys[kind]
            words = "“{name}” of this step is empty"
            reading.note(ValueProblem(words, {"name": kind}), entry.start, entry.key_end)
        return None
    if kind == "set":
        values["inputs"], target = target or {}, ""
    retry, redo = values.pop("retry", None), values.pop("redo", None)
    step_id = values.pop("id")
    prompt = values.pop("prompt", "")
    title = values.pop("title", "")
    if not prompt and kind == "agent" and (part := section_for(step_id, title, sections)):
        prompt = part.text
    return Step(
        id=step_id,
        kind=kind,
        target=str(target),
        title=title,
        prompt=prompt,
        condition=values.pop("if", ""),
        budget=_budget(values.pop("budget", None)),
        retry=_retry(retry) if retry and "max" in retry else None,
        redo=_redo(redo) if redo and len(redo) == 3 else None,
        **{**values, "timeout": values.get("timeout", 0.0)},
    )


def _mistyped(reading: Reading, own: Places) -> bool:
    """Whether a mistake was told of that, put right, says what the step does."""
    start, end = own.span
    return any(start <= one.start < end and one.fix in KINDS for one in reading.problems)


def section_for(step_id: str, title: str, sections: tuple[Section, ...]) -> Section | None:
    """The first section whose heading is a step's id or title."""
    names = {step_id.casefold(), title.casefold()}
    return next((one for one in sections if one.heading.casefold() in names), None)


def _budget(values: Mapping[str, Any] | None) -> Budget:
    if not values:
        return NO_BUDGET
    caps = Caps(values.get("tokens", 0), values.get("dollars", 0.0))
    spans: tuple[float, float] = (values.get("minutes", 0.0), values.get("hours", 0.0) * 60)
    minutes: float = min((one for one in spans if one), default=0.0)
    return Budget(caps, minutes, values.get("cycles", 0), values.get("until", ""))


def _retry(values: Mapping[str, Any]) -> Retry:
    names = {"max": "most"}
    return Retry(**{names.get(key, key): value for key, value in values.items()})


def _redo(values: Mapping[str, Any]) -> Redo:
    return Redo(values["from"], values["when"], values["max"])


def _concurrency(values: Mapping[str, Any] | None) -> Concurrency | None:
    return Concurrency(**values) if values and "group" in values else None


def _sections(text: str, body: int) -> list[Section]:
    """The sections of the body, down to the next heading of the same or a higher level.

    What stands in a block of code is no heading.
    """
    headings: list[re.Match[str]] = []
    fence = ""
    at = body
    for line in text[body:].splitlines(keepends=True):
        found = _FENCE.match(line)
        if found and not fence:
            fence = found[1]
        elif found and found[1].startswith(fence) and not line[found.end() :].strip("`~ \t\r\n"):
            fence = ""
        elif not fence and (heading := _HEADING.match(text, at, at + len(line.rstrip("\r\n")))):
            headings.append(heading)
        at += len(line)
    found_sections: list[Section] = []
    for index, heading in enumerate(headings):
        level = len(heading[1])
        later = (headings[at] for at in range(index + 1, len(headings)))
        stop = next((one.start() for one in later if len(one[1]) <= level), len(text))
        words = _CLOSING.sub("", heading[2].strip()).rstrip()
        content = text[heading.end() : stop].strip()
        found_sections.append(Section(words, content, heading.start(), heading.end(), stop))
    return found_sections
