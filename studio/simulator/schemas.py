"""JSON schemas of answers: read their parts and check OpenAI's strict mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .json_read import Body, array, obj

LIMITS = (
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
)
_NOT_STRICT = ("allOf", "oneOf", "not", "if", "patternProperties", "propertyNames", "default")


def parts(schema: Any) -> Iterator[Body]:
    """A schema and every schema in it."""
    if not isinstance(schema, dict):
        return
    one = obj(schema)
    yield one
    for key in ("items", "anyOf", "allOf", "oneOf"):
        within: list[Any] = (
            [one.get(key)] if isinstance(one.get(key), dict) else array(one.get(key))
        )
        for inner in within:
            yield from parts(inner)
    for key in ("properties", "$defs", "definitions"):
        for inner in obj(one.get(key)).values():
            yield from parts(inner)


def has_type(schema: Body, kind: str) -> bool:
    """Whether this type is one of the schema's own."""
    found = schema.get("type")
    return kind == found or kind in array(found)


def not_strict(schema: Any) -> str:
    """Why strict mode does not take a schema; empty if it does."""
    for part in parts(schema):
        for key in part:
            if key in _NOT_STRICT:
                return f"'{key}' is not permitted."
        if not has_type(part, "object"):
            continue
        if part.get("additionalProperties") is not False:
            return "'additionalProperties' is required to be supplied and to be false."
        properties, required = obj(part.get("properties")), array(part.get("required"))
        missing = [name for name in properties if name not in required]
        if missing or "required" not in part:
            return (
                "'required' is required to be supplied and to be an array including every key in "
                f"properties. Missing '{(missing or ['?'])[0]}'."
            )
    return ""
