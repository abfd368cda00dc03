"""Check keys: read ``done_when`` of a workflow's file, the checks of a mission (W-52)."""

from __future__ import annotations

from typing import Any, cast, get_args

from studio.agent.frontmatter import ValueProblem
from studio.domain.jsonvalue import JsonObject
from studio.domain.workflows import Budget, Check, CheckKind
from studio.workflows.value_readers import (
    CONDITION,
    JSON_SCHEMA,
    SECONDS,
    TEXT,
    Keys,
    Node,
    Reader,
    Reading,
    items,
    read_value,
)

MOST_CHECKS = 50
KINDS: tuple[CheckKind, ...] = get_args(CheckKind)
_ONLY = {
    "exit_code": "run",
    "timeout": "run",
    "schema": "file",
    "prompt": "grader",
}
"""The kind of check that each of these keys belongs to."""


def _read_code(reading: Reading, node: Node) -> int:
    text = TEXT.read(reading, node)
    if not text.isdecimal() or int(text) > 255:
        raise ValueProblem("this is an exit code, a whole number up to 255")
    return int(text)


CHECK = Keys(
    {
        "title": TEXT,
        "run": TEXT,
        "exit_code": Reader(_read_code, {"type": "integer", "minimum": 0, "maximum": 255}),
        "timeout": SECONDS,
        "file": TEXT,
        "schema": JSON_SCHEMA,
        "check": CONDITION,
        "grader": TEXT,
        "prompt": TEXT,
    },
    "a check",
)


def _read_checks(reading: Reading, node: Node) -> tuple[Check, ...]:
    if node.id == "scalar":
        return (Check("check", read_value(reading, CONDITION, node)),)
    nodes = items(node, "checks")
    if len(nodes) > MOST_CHECKS:
        raise ValueProblem("a mission has at most {most} checks", {"most": str(MOST_CHECKS)})
    found: list[Check] = []
    for one in nodes:
        try:
            values, own = CHECK.read(reading, one)
            found += _check(values)
        except ValueProblem as error:
            reading.note(error, *reading.matter.span(one))
            continue
        for key, kind in _ONLY.items():
            if key in own.keys and kind not in own.keys:
                words = "“{name}” changes nothing in a check without “{kind}”"
                entry = own.keys[key]
                problem = ValueProblem(words, {"name": key, "kind": kind})
                reading.note(problem, entry.start, entry.key_end, warning=True)
    if not found:
        raise ValueProblem("done_when has at least one check")
    if all(one.kind == "grader" for one in found):
        raise ValueProblem("a grader is never the only check: add a command, a file or a check")
    return tuple(found)


def _check(values: dict[str, Any]) -> list[Check]:
    """The check of these values; none where a problem of its kind is noted already."""
    kinds: list[CheckKind] = [kind for kind in KINDS if kind in values]
    if len(kinds) != 1:
        known = ", ".join(KINDS)
        raise ValueProblem("a check has one of {known}, and no second one", {"known": known})
    kind = kinds[0]
    return [
        Check(
            kind,
            str(values[kind]).strip(),
            values.get("title", ""),
            values.get("exit_code", 0),
            cast("JsonObject | None", values.get("schema")),
            values.get("prompt", ""),
            values.get("timeout", 0.0),
        )
    ]


CHECKS = Reader(
    _read_checks, {"anyOf": [{"type": "string"}, {"type": "array", "items": CHECK.schema}]}
)


def _read_until(reading: Reading, node: Node) -> str:
    if not (time := time_of_day(TEXT.read(reading, node))):
        raise ValueProblem("this is a time of the day such as 06:00")
    return time


def time_of_day(text: str) -> str:
    """A time of the day with two digits for the hour, empty if the text is none."""
    hours, _, minutes = text.strip().partition(":")
    known = hours.isdecimal() and len(minutes) == 2 and minutes.isdecimal()
    if not known or int(hours) > 23 or int(minutes) > 59:
        return ""
    return f"{int(hours):02}:{minutes}"


UNTIL = Reader(_read_until, {"type": "string", "pattern": "^[0-9]{1,2}:[0-9]{2}$"})
"""A time of the day. YAML reads 06:00 as a number, so the text counts as it is written."""


def is_capped(budget: Budget) -> bool:
    """Whether something ends a mission that never succeeds (W-49)."""
    caps = budget.caps
    return bool(caps.dollars or caps.tokens or budget.minutes or budget.cycles or budget.until)
