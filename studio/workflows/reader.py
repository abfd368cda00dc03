"""Workflow reader: a workflow from the text of its file, frontmatter and sections of prompts.

``Keys`` are the tables of what may stand where; the JSON Schema of the format is made of them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from studio.agent.frontmatter import (
    Frontmatter,
    Problem,
    ProblemFound,
    ValueProblem,
    read_frontmatter,
)
from studio.agent.yaml_text import compose_plain_yaml
from studio.domain.agents import Caps
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.workflows import (
    NO_BUDGET,
    Budget,
    Busy,
    Concurrency,
    Desk,
    Effects,
    Input,
    InputType,
    Redo,
    Retry,
    Step,
    StepKind,
    Workflow,
    WorkflowTrigger,
)

from .value_readers import (
    CONDITION,
    CRON,
    FLAG,
    GLOBS,
    JSON,
    JSON_SCHEMA,
    NAMES,
    OBJECT,
    PERMISSIONS,
    SECONDS,
    TEMPLATE,
    TEXT,
    ZONE,
    Keys,
    Node,
    Places,
    Reader,
    Reading,
    items,
    named,
    nested,
    note_template,
    number,
    one_of,
    read_value,
)

LONGEST = 400_000
"""Characters of the frontmatter."""
MOST_STEPS = 1_000
MOST_TRIGGERS = 20
KINDS: tuple[StepKind, ...] = get_args(StepKind)
REASONS = ("error", "limit", "timeout", "invalid")
"""Why a step failed: an error of the provider or of a tool, a limit of the turn, its own
``timeout``, or an answer that does not fit ``outputs``."""
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}")
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

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(one for one in self.problems if not one.warning)


# The tables


def _read_id(reading: Reading, node: Node) -> str:
    name = TEXT.read(reading, node)
    if not _ID.fullmatch(name):
        raise ValueProblem("an id has letters, digits and _, and begins with a letter")
    return name


ID = Reader(_read_id, {"type": "string", "pattern": f"^{_ID.pattern}$"})
BUDGET = Keys(
    {
        "dollars": number(1e9),
        "tokens": number(10**12, whole=True),
        "minutes": number(100_000),
    },
    "a budget",
)
RETRY = Keys(
    {
        "max": number(100, whole=True),
        "wait": SECONDS,
        "backoff": number(100),
        "on": Reader(
            lambda reading, node: _read_reasons(reading, node),
            {"type": "array", "items": {"enum": list(REASONS)}},
        ),
    },
    "retry",
    required=["max"],
)
REDO = Keys(
    {"from": ID, "when": CONDITION, "max": number(100, whole=True)},
    "redo",
    required=["from", "when", "max"],
)


def _read_reasons(reading: Reading, node: Node) -> tuple[str, ...]:
    reason = one_of(*REASONS)
    nodes = [node] if node.id == "scalar" else items(node, "reasons")
    return tuple(read_value(reading, reason, one) for one in nodes)


def _read_list(reading: Reading, node: Node) -> tuple[Json, ...]:
    return tuple(cast("Json", JSON.read(reading, one)) for one in items(node, "values"))


LIST = Reader(_read_list, {"type": "array"})


def _read_for_each(reading: Reading, node: Node) -> str | tuple[Json, ...]:
    return CONDITION.read(reading, node) if node.id == "scalar" else _read_list(reading, node)


def _read_matrix(reading: Reading, node: Node) -> dict[str, Any]:
    if node.id != "mapping":
        raise ValueProblem("matrix has a “name: list” line for each of its names")
    return {
        entry.key: read_value(reading, LIST, entry.node) for entry in reading.matter.children(node)
    }


def _read_values(reading: Reading, node: Node) -> JsonObject:
    """Values whose texts may have expressions in them."""
    value = OBJECT.read(reading, node)
    ahead = [node]
    while ahead:
        match (one := ahead.pop()).id:
            case "scalar":
                note_template(reading, str(one.value), one)
            case "sequence":
                ahead += one.value
            case _:
                ahead += [part for _, part in one.value]
    return value


VALUES = Reader(_read_values, {"type": "object"})
STEP = Keys(
    {
        "id": ID,
        "title": TEXT,
        "agent": TEXT,
        "workflow": TEXT,
        "run": TEMPLATE,
        "approve": TEMPLATE,
        "ask": TEMPLATE,
        "set": VALUES,
        "check": CONDITION,
        "prompt": TEMPLATE,
        "form": JSON_SCHEMA,
        "inputs": VALUES,
        "needs": NAMES,
        "if": CONDITION,
        "for_each": Reader(_read_for_each, {"type": ["string", "array"]}),
        "matrix": Reader(
            _read_matrix, {"type": "object", "additionalProperties": {"type": "array"}}
        ),
        "max_parallel": number(100, whole=True),
        "fail_fast": FLAG,
        "retry": nested(RETRY),
        "timeout": SECONDS,
        "budget": nested(BUDGET),
        "model": TEXT,
        "permissions": PERMISSIONS,
        "desk": one_of(*get_args(Desk)),
        "outputs": JSON_SCHEMA,
        "redo": nested(REDO),
        "effects": one_of(*get_args(Effects)),
        "on_error": TEXT,
        "via": one_of("live", "batch"),
    },
    "a step",
    required=["id"],
)
INPUT = Keys(
    {
        "type": one_of(*get_args(InputType)),
        "description": TEXT,
        "required": FLAG,
        "default": JSON,
        "choices": NAMES,
    },
    "an input",
)


def _read_inputs(reading: Reading, node: Node) -> tuple[Input, ...]:
    found = named(nested(INPUT), "inputs").read(reading, node)
    read: list[Input] = []
    for entry in reading.matter.children(node):
        values = found.get(entry.key)
        if values is None:
            continue
        if not _ID.fullmatch(entry.key):
            words = "an input's name has letters, digits and _, and begins with a letter"
            reading.note(ValueProblem(words), entry.start, entry.key_end)
            continue
        one = Input(name=entry.key, **values)
        if (one.type == "enum") != bool(one.choices):
            words = "an input of the type enum has “choices”, and no other has them"
            reading.note(ValueProblem(words), entry.start, entry.key_end)
        read.append(one)
    return tuple(read)


CONCURRENCY = Keys({"group": TEMPLATE, "busy": one_of(*get_args(Busy))}, "concurrency", ["group"])
TRIGGER = Keys(
    {
        "schedule": CRON,
        "change": GLOBS,
        "zone": ZONE,
        "catch_up": one_of("one", "none"),
        "per_day": number(1_000, whole=True),
    },
    "a trigger",
)
_TRIGGER_SCHEMA: JsonObject = {
    **TRIGGER.schema,
    "oneOf": [{"required": ["schedule"]}, {"required": ["change"]}],
}


def _read_triggers(reading: Reading, node: Node) -> tuple[WorkflowTrigger, ...]:
    nodes = items(node, "triggers")
    found = [read_value(reading, nested(TRIGGER), one) for one in nodes]
    for one in nodes:
        keys = {entry.key for entry in reading.matter.children(one)} if one.id == "mapping" else ()
        if one.id == "mapping" and ("schedule" in keys) == ("change" in keys):
            words = "a trigger has either “schedule” or “change”"
            reading.note(ValueProblem(words), *reading.matter.span(one))
    if len(found) > MOST_TRIGGERS:
        raise ValueProblem("a workflow has at most {most} triggers", {"most": str(MOST_TRIGGERS)})
    return tuple(WorkflowTrigger(**one) for one in found if {"schedule", "change"} & {*one})


WORKFLOW = Keys(
    {
        "name": TEXT,
        "description": TEXT,
        "inputs": Reader(_read_inputs, {"type": "object", "additionalProperties": INPUT.schema}),
        "outputs": named(TEMPLATE, "outputs"),
        "budget": nested(BUDGET),
        "max_parallel": number(100, whole=True),
        "permissions": PERMISSIONS,
        "on_conflict": TEXT,
        "concurrency": nested(CONCURRENCY),
        "triggers": Reader(_read_triggers, {"type": "array", "items": _TRIGGER_SCHEMA}),
        "done_when": CONDITION,
        "steps": Reader(
            lambda reading, node: items(node, "steps"), {"type": "array", "items": STEP.schema}
        ),
    },
    "a workflow",
    required=["steps"],
)


def json_schema() -> JsonObject:
    """The JSON Schema of a workflow's frontmatter (W-10)."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "title": "Agent Studio workflow", **WORKFLOW.schema}


# The file


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
    return WorkflowText(matter, workflow, top, tuple(places), sections, tuple(problems))


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


def section_for(step_id: str, title: str, sections: tuple[Section, ...]) -> Section | None:
    """The first section whose heading is a step's id or title."""
    names = {step_id.casefold(), title.casefold()}
    return next((one for one in sections if one.heading.casefold() in names), None)


def _budget(values: Mapping[str, Any] | None) -> Budget:
    if not values:
        return NO_BUDGET
    caps = Caps(values.get("tokens", 0), values.get("dollars", 0.0))
    return Budget(caps, values.get("minutes", 0.0))


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
