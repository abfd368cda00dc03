"""Workflow keys: the tables of what may stand where in a workflow's file.

Each key has a reader of its value, and the JSON Schema of the format is made of the same tables.
"""

from __future__ import annotations

import re
from typing import Any, cast, get_args

from studio.agent.frontmatter import ValueProblem
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.workflows import Busy, Desk, Effects, Input, InputType, WorkflowTrigger

from .missions.check_keys import CHECKS, UNTIL
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

MOST_TRIGGERS = 20
REASONS = ("error", "limit", "timeout", "invalid")
"""Why a step failed: an error of the provider or of a tool, a limit of the turn, its own
``timeout``, or an answer that does not fit ``outputs``."""
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}")


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
WHOLE_BUDGET = Keys(
    {
        **BUDGET.readers,
        "hours": number(1_000),
        "cycles": number(10_000, whole=True),
        "until": UNTIL,
    },
    "a budget",
)
"""Of a workflow; ``cycles`` and ``until`` count for missions (W-49)."""
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
        "budget": nested(WHOLE_BUDGET),
        "max_parallel": number(100, whole=True),
        "permissions": PERMISSIONS,
        "on_conflict": TEXT,
        "concurrency": nested(CONCURRENCY),
        "triggers": Reader(_read_triggers, {"type": "array", "items": _TRIGGER_SCHEMA}),
        "done_when": CHECKS,
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
