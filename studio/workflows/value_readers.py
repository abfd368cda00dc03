"""Value readers: read the values of a workflow's keys from YAML, and describe them in JSON Schema.

A reader gets the node of a value and notes each problem at its place, so that all are told at
once (W-8). It raises ValueProblem where the value as a whole cannot be used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from studio.agent.agent_files.keys import read_rules
from studio.agent.agent_files.parser import MOST_PROBLEMS
from studio.agent.frontmatter import Entry, Frontmatter, Problem, ValueProblem, no_such
from studio.agent.yaml_text import YamlError, construct_yaml
from studio.domain.errors import NothingRead
from studio.domain.jsonvalue import Json, JsonObject
from studio.tools.workspace.glob_pattern import glob_matcher

from .expressions import ExpressionError, parse_expression, parse_template

Node: TypeAlias = Any
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")


@dataclass(frozen=True, slots=True)
class Places:
    """Where the values of a mapping stand, by key; ``span`` is the mapping's own."""

    span: tuple[int, int]
    keys: Mapping[str, Entry] = field(default_factory=dict[str, Entry])

    def value(self, key: str) -> tuple[int, int]:
        """Where a key's value stands; the key itself where the value is empty."""
        entry = self.keys.get(key)
        if entry is None:
            return self.span
        if entry.value_start == entry.value_end:
            return entry.start, entry.key_end
        return entry.value_start, entry.value_end


class Reading:
    """The problems that are found while one file is read, and the expressions in it."""

    def __init__(self, matter: Frontmatter) -> None:
        self.matter = matter
        self.problems: list[Problem] = []

    def note(self, found: ValueProblem, start: int, end: int, *, warning: bool = False) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(self.matter.problem(found, start, end, warning=warning))

    def expression_problem(self, error: ExpressionError, node: Node) -> tuple[ValueProblem, int]:
        """What is wrong with an expression in a scalar, and where: exact if it is written plainly.

        In quotes and blocks the offsets are others; then the place is where the value begins.
        """
        start, end = self.matter.span(node)
        plain = self.matter.text[start:end] == node.value
        return ValueProblem(error.words, error.values), start + (error.at if plain else 0)


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads a node; ``schema`` is the JSON Schema of what it takes."""

    read: Callable[[Reading, Node], Any]
    schema: JsonObject


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a mapping with their readers; ``required`` ones have to be there."""

    readers: Mapping[str, Reader]
    what: str
    """What has these keys, in words: “a step”."""
    required: Sequence[str] = ()

    @property
    def schema(self) -> JsonObject:
        found: JsonObject = {
            "type": "object",
            "properties": {name: reader.schema for name, reader in self.readers.items()},
            "additionalProperties": False,
        }
        if self.required:
            found["required"] = list(self.required)
        return found

    def read(self, reading: Reading, node: Node) -> tuple[dict[str, Any], Places]:
        """The values of the keys that are right; raises ValueProblem for what is no mapping."""
        if node.id != "mapping":
            words = "{what} has “key: value” lines"
            raise ValueProblem(words, {"what": self.what})
        values: dict[str, Any] = {}
        places: dict[str, Entry] = {}
        for entry in reading.matter.children(node):
            reader = self.readers.get(entry.key)
            if reader is None:
                words = "{what} has no key “{name}”"
                error = no_such(words.replace("{what}", self.what), entry.key, self.readers)
                reading.note(error, entry.start, entry.key_end)
                continue
            if entry.key in places:
                words = "“{name}” is there more than once, and the last one counts"
                twice = ValueProblem(words, {"name": entry.key})
                reading.note(twice, entry.start, entry.key_end, warning=True)
            places[entry.key] = entry
            values.pop(entry.key, None)
            if _is_null(entry.node):
                continue
            try:
                values[entry.key] = read_value(reading, reader, entry.node)
            except ValueProblem as error:
                reading.note(error, *Places((0, 0), {entry.key: entry}).value(entry.key))
        own = Places(reading.matter.span(node), places)
        for name in self.required:
            if name not in places:
                start, end = own.span
                first = reading.matter.text[start:end].partition("\n")[0]
                missing = ValueProblem("{what} needs “{name}”", {"what": self.what, "name": name})
                reading.note(missing, start, start + len(first.rstrip()))
        return values, own


def read_value(reading: Reading, reader: Reader, node: Node) -> Any:
    """Raises ValueProblem."""
    try:
        return reader.read(reading, node)
    except YamlError as error:
        raise ValueProblem("{reason}", {"reason": str(error)}) from error


def _is_null(node: Node) -> bool:
    return node.id == "scalar" and node.tag == "tag:yaml.org,2002:null"


# Single values


def _scalar(node: Node, what: str) -> Any:
    if node.id != "scalar":
        raise ValueProblem("this is {what}", {"what": what})
    return construct_yaml(node)


def _read_text(reading: Reading, node: Node) -> str:
    _scalar(node, "a text")
    return str(node.value)  # “yes”, 1.10 and dates are meant as they are written


TEXT = Reader(_read_text, {"type": "string"})


def one_of(*choices: str, schema: JsonObject | None = None) -> Reader:
    """A word of these."""

    def read(reading: Reading, node: Node) -> str:
        word = _read_text(reading, node).strip()
        if word not in choices:
            raise no_such("this cannot be “{name}”", word, choices)
        return word

    return Reader(read, schema or {"enum": list(choices)})


def _read_flag(reading: Reading, node: Node) -> bool:
    value = _scalar(node, "true or false")
    if not isinstance(value, bool):
        raise ValueProblem("this is true or false")
    return value


FLAG = Reader(_read_flag, {"type": "boolean"})


def number(most: float, *, whole: bool = False) -> Reader:
    """A number above 0 up to ``most``."""

    def read(reading: Reading, node: Node) -> float:
        value = _scalar(node, "a number")
        fits = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        if not fits or not 0 < value <= most:
            words = "this is a number above 0 up to {most}"
            if whole:
                words = "this is a whole number from 1 up to {most}"
            raise ValueProblem(words, {"most": f"{most:,.0f}"})
        return value

    bound: JsonObject = {"minimum": 1} if whole else {"exclusiveMinimum": 0}
    return Reader(read, {"type": "integer" if whole else "number", **bound, "maximum": most})


def _read_seconds(reading: Reading, node: Node) -> float:
    words = "this is a time such as 30s, 5m, 2h or 1d"
    value = _scalar(node, "a time")
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 10**7:
        return float(value)
    found = _DURATION.fullmatch(str(node.value).strip())
    seconds = float(found[1]) * _SECONDS[found[2]] if found else 0.0
    if not 0 < seconds <= 10**7:
        raise ValueProblem(words)
    return seconds


SECONDS = Reader(
    _read_seconds,
    {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string"}]},
)
"""A time, in seconds or as ``5m``."""


def _read_cron(reading: Reading, node: Node) -> str:
    from cronsim import CronSim, CronSimError

    text = " ".join(_read_text(reading, node).split())
    if len(text.split()) != 5:
        raise ValueProblem(
            "this is a time in cron’s five fields: minute, hour, day, month, weekday"
        )
    try:
        next(CronSim(text, datetime(2024, 1, 1)))
    except (CronSimError, ValueError, StopIteration) as error:
        raise ValueProblem(
            "cron cannot read this: {reason}", {"reason": str(error) or "there is no such day"}
        ) from error
    return text


CRON = Reader(_read_cron, {"type": "string"})


def _read_globs(reading: Reading, node: Node) -> tuple[str, ...]:
    """A glob pattern, or a list of them: a comma may be a part of one."""
    nodes = [node] if node.id == "scalar" else items(node, "glob patterns")
    found = tuple(_read_text(reading, one).strip() for one in nodes)
    for pattern in found:
        try:
            glob_matcher(pattern)
        except NothingRead as error:
            words = "this is no glob pattern: {reason}"
            raise ValueProblem(words, {"reason": str(error)}) from error
    if not found:
        raise ValueProblem("this is a list of {what}", {"what": "glob patterns"})
    return found


GLOBS = Reader(
    _read_globs,
    {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]},
)


def _read_zone(reading: Reading, node: Node) -> str:
    name = _read_text(reading, node).strip()
    try:
        ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError) as error:
        raise ValueProblem(
            "there is no time zone {name}; one is called as Europe/Berlin is", {"name": name}
        ) from error
    return name


ZONE = Reader(_read_zone, {"type": "string"})


# Expressions and texts with them


def _read_condition(reading: Reading, node: Node) -> str:
    """An expression; ``${{ }}`` around it may be there."""
    if node.id != "scalar":
        raise ValueProblem("this is an expression")
    text = str(node.value)
    try:
        bare = bare_expression(text)
        parse_expression(bare)
    except ExpressionError as error:
        found, at = reading.expression_problem(error, node)
        start, end = reading.matter.span(node)
        reading.note(found, min(at, max(start, end - 1)), end)
        return ""
    return bare


def bare_expression(text: str) -> str:
    """An expression without the ``${{ }}`` that may stand around the whole of it."""
    found = re.fullmatch(r"\s*\$\{\{((?:(?!\}\}).)*)\}\}\s*", text, re.S)
    return found[1].strip() if found else text.strip()


CONDITION = Reader(_read_condition, {"type": ["string", "boolean"]})


def _read_template(reading: Reading, node: Node) -> str:
    text = _read_text(reading, node)
    note_template(reading, text, node)
    return text


def note_template(reading: Reading, text: str, node: Node) -> None:
    """Note what is wrong with the expressions in a scalar's text."""
    try:
        parse_template(text)
    except ExpressionError as error:
        found, at = reading.expression_problem(error, node)
        start, end = reading.matter.span(node)
        reading.note(found, min(at, max(start, end - 1)), end)


TEMPLATE = Reader(_read_template, {"type": "string"})


# Lists and mappings


def items(node: Node, what: str) -> list[Node]:
    """The nodes of a list; raises ValueProblem."""
    if node.id != "sequence":
        raise ValueProblem("this is a list of {what}", {"what": what})
    return list(node.value)


def _read_names(reading: Reading, node: Node) -> tuple[str, ...]:
    return tuple(name for name, _, _ in names_of(reading, node))


def names_of(reading: Reading, node: Node) -> Iterator[tuple[str, int, int]]:
    """The names of a list, or of a text with commas between them, and their places."""
    if node.id == "scalar":
        start, end = reading.matter.span(node)
        plain = reading.matter.text[start:end] == node.value
        at = start
        for part in str(node.value).split(","):
            if name := part.strip():
                begin = at + len(part) - len(part.lstrip()) if plain else start
                yield name, begin, begin + len(name) if plain else end
            at += len(part) + 1
        return
    for one in items(node, "names"):
        if one.id != "scalar":
            raise ValueProblem("this is a list of names")
        yield str(one.value), *reading.matter.span(one)


NAMES = Reader(
    _read_names, {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
)


def _read_json(reading: Reading, node: Node) -> Json:
    value: Any = construct_yaml(node)
    return as_json(value)


def as_json(value: Any) -> Json:
    """A value of YAML as one of JSON: dates become texts. Raises ValueProblem."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueProblem("JSON has no such number")
        return value
    if isinstance(value, list):
        return [as_json(one) for one in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {str(key): as_json(one) for key, one in cast("dict[Any, Any]", value).items()}
    return str(value)


JSON = Reader(_read_json, {})


def _read_object(reading: Reading, node: Node) -> JsonObject:
    value = _read_json(reading, node)
    if not isinstance(value, dict):  # also a mapping that says it is a !!set
        raise ValueProblem("this has “key: value” lines")
    return value


OBJECT = Reader(_read_object, {"type": "object"})


def _read_json_schema(reading: Reading, node: Node) -> JsonObject:
    found = _read_object(reading, node)
    _check_schema(found)
    return found


_TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")


def _check_schema(schema: JsonObject) -> None:
    """Find the usual mistakes; to compile each schema would take long. Raises ValueProblem."""
    kinds = schema.get("type", [])
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if kind not in _TYPES:
            raise no_such("a JSON Schema has no type “{name}”", str(kind), _TYPES)
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        raise ValueProblem("the properties of a JSON Schema have “name: schema” lines")
    parts = [*properties.values(), *([schema["items"]] if "items" in schema else [])]
    for part in parts:
        if isinstance(part, dict):
            _check_schema(part)
        elif not isinstance(part, bool):
            raise ValueProblem("a JSON Schema in this one has no “key: value” lines")
    for key in ("required", "enum"):
        if not isinstance(schema.get(key, []), list):
            raise ValueProblem("“{name}” of a JSON Schema is a list", {"name": key})


JSON_SCHEMA = Reader(_read_json_schema, {"type": "object"})


def _read_permissions(reading: Reading, node: Node) -> Any:
    try:
        return read_rules(construct_yaml(node), "permissions")
    except ValueProblem:
        raise
    except ValueError as error:
        raise ValueProblem("{reason}", {"reason": str(error)}) from error


PERMISSIONS = Reader(
    _read_permissions,
    {
        "type": "object",
        "properties": {verdict: NAMES.schema for verdict in ("allow", "ask", "deny")},
        "additionalProperties": False,
    },
)


def nested(keys: Keys) -> Reader:
    """A mapping with known keys; its value is the dictionary of those that are right."""
    return Reader(lambda reading, node: keys.read(reading, node)[0], keys.schema)


def named(reader: Reader, what: str) -> Reader:
    """A mapping from any name to values of one kind."""

    def read(reading: Reading, node: Node) -> dict[str, Any]:
        if node.id != "mapping":
            raise ValueProblem(
                "this has a “name: value” line for each of its {what}", {"what": what}
            )
        found: dict[str, Any] = {}
        for entry in reading.matter.children(node):
            try:
                found[entry.key] = read_value(reading, reader, entry.node)
            except ValueProblem as error:
                reading.note(error, *Places((0, 0), {entry.key: entry}).value(entry.key))
        return found

    return Reader(read, {"type": "object", "additionalProperties": reader.schema})
