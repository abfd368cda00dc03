"""Structured output: fits a JSON schema to the part of the language that an API supports.

The copy of a schema that is sent may be stricter: what fits the copy fits the
schema too. It may lack a limit that an API does not know (a ``minimum``), because
every answer is checked against the schema itself afterwards. A schema whose copy
would mean something else is not sent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

from studio.domain.jsonvalue import Json, JsonObject, is_clean_json
from studio.domain.ledger import canonical_json

from .base import Request

_WITHIN = ("items", "anyOf", "allOf")
_NAMED = ("properties", "$defs", "definitions")
_MEANS_NOTHING = frozenset({"title", "description", "default", "examples", "$schema", "$id"})
_LIMITS = frozenset(
    {
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "pattern", "format", "minItems", "maxItems", "uniqueItems"),
        *("minProperties", "maxProperties"),
    }
)
_PLAIN = frozenset({"type", "enum", "const", "$ref", "required", "additionalProperties"})
_KNOWN = _PLAIN.union(_WITHIN, _NAMED)

# https://platform.claude.com/docs/en/build-with-claude/structured-outputs, and what the
# SDK's ``transform_schema`` leaves.
_FORMATS = frozenset(
    {
        *("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6"),
        "uuid",
    }
)
# https://developers.openai.com/api/docs/guides/structured-outputs: limits are known there,
# but not every one to every model, so that a schema with one is better not strict.
_STRICT = _KNOWN - {"allOf"} | _MEANS_NOTHING - {"default", "examples"}

_ABOUT = re.compile(
    r"schema|response_?format|output_?(?:config|format)|text\.format|mime.?type|structured"
    r"|grammar|json.(?:object|mode)|guided",
    re.IGNORECASE,
)


def sendable_schema(request: Request) -> JsonObject | None:
    """The schema of the answer; None where there is none, or none that could be sent."""
    schema = request.schema
    return schema if schema is not None and is_clean_json(schema) else None


def is_format_refusal(words: str) -> bool:
    """Whether a refusal may be one of the schema or of structured answers at all."""
    return _ABOUT.search(words) is not None


def is_schema_refusal(words: str) -> bool:
    """Whether a refusal is of this schema alone: another might be taken."""
    return "invalid schema" in words.lower()


def is_strict(schema: JsonObject) -> bool:
    """Whether OpenAI's strict mode takes a schema as it is.

    Every object names all its properties, requires them all and allows no other.
    """
    return _is_a(schema, "object") and "anyOf" not in schema and _is_strict(schema)


def _is_strict(schema: Json) -> bool:
    if not isinstance(schema, dict) or not schema.keys() <= _STRICT:
        return False
    if not schema.keys() & {"type", "anyOf", "$ref"}:
        return False
    if _is_a(schema, "object"):
        properties, required = schema.get("properties"), schema.get("required")
        if not isinstance(properties, dict) or not isinstance(required, list):
            return False
        if schema.get("additionalProperties") is not False:
            return False
        if set(properties) != {str(name) for name in required}:
            return False
    return _is_local(schema) and all(_is_strict(inner) for inner in _inner(schema))


def closed_schema(schema: JsonObject) -> JsonObject | None:
    """The copy of a schema that Anthropic takes; None where there is none.

    Objects allow nothing but what they name, which the API demands; limits it
    does not know are left out. There is no such copy of a schema that refers to
    itself or outside, or wants an object of any properties.
    """
    try:
        return None if _refers_to_itself(schema) else _closed(schema)
    except (_NotTaken, RecursionError):  # references may lead on for long
        return None


class _NotTaken(Exception):
    pass


def _closed(schema: Json) -> JsonObject:
    if not isinstance(schema, dict) or not _is_local(schema):
        raise _NotTaken
    if not schema.keys() <= _KNOWN | _LIMITS | _MEANS_NOTHING:
        raise _NotTaken
    if not schema.keys() & {"type", "enum", "const", "anyOf", "allOf", "$ref"}:
        raise _NotTaken
    copy: JsonObject = {}
    for key, value in schema.items():
        if key in _NAMED and isinstance(value, dict):
            copy[key] = {name: _closed(inner) for name, inner in value.items()}
        elif key in _WITHIN:
            several = isinstance(value, list)
            copy[key] = [_closed(one) for one in value] if several else _closed(value)
        elif key in _LIMITS:
            known = key == "format" and value in _FORMATS
            if known or (key == "minItems" and value in (0, 1)):
                copy[key] = value
        elif key in _PLAIN or key in ("title", "description"):
            copy[key] = value
    if _is_a(schema, "object"):
        if not isinstance(schema.get("properties"), dict):
            raise _NotTaken
        if schema.get("additionalProperties") not in (None, False):
            raise _NotTaken  # the wish for more than what is named is one of its own
        copy["additionalProperties"] = False
    return copy


def _is_a(schema: JsonObject, kind: str) -> bool:
    found = schema.get("type")
    return found == kind or (isinstance(found, list) and kind in found)


def _is_local(schema: JsonObject) -> bool:
    reference = schema.get("$ref", "#")
    return isinstance(reference, str) and reference.startswith("#")


def _inner(schema: JsonObject) -> list[Json]:
    found: list[Json] = []
    for key in _WITHIN:
        value = schema.get(key)
        if value is not None:
            found += value if isinstance(value, list) else [value]
    for key in _NAMED:
        value = schema.get(key)
        if isinstance(value, dict):
            found += value.values()
    return found


def _refers_to_itself(schema: JsonObject) -> bool:
    """Whether following references never ends; a reference to nowhere does not count."""

    def target(reference: str) -> Json:
        place: Json = schema
        for name in reference.removeprefix("#").strip("/").split("/"):
            if name:
                name = name.replace("~1", "/").replace("~0", "~")
                place = place.get(name) if isinstance(place, dict) else None
        return place

    finished: set[str] = set()

    def walk(place: Json, open_: frozenset[str]) -> bool:
        if not isinstance(place, dict):
            return False
        reference = place.get("$ref")
        if isinstance(reference, str) and reference not in finished:
            if reference in open_ or walk(target(reference), open_ | {reference}):
                return True
            finished.add(reference)
        values = (inner for inner in _inner(cast("JsonObject", place)))
        return any(walk(inner, open_) for inner in values)

    return walk(schema, frozenset({"#"}))


def text_format(request: Request, said: Sequence[JsonObject]) -> JsonObject:
    """``text.format`` for Responses; empty for any form, or where no form would be taken.

    A schema has to be an object's. Any JSON object may be asked for only where
    ``said``, the messages, mention JSON.
    """
    schema = sendable_schema(request)
    if schema == {} and _mention_json(said):
        return {"type": "json_object"}
    if not schema or not _is_a(schema, "object"):
        return {}
    return {"type": "json_schema", "name": "answer", "schema": schema, "strict": is_strict(schema)}


def response_format(request: Request, said: Sequence[JsonObject]) -> JsonObject:
    """``response_format`` for Chat Completions: the same, a schema one level deeper."""
    form = text_format(request, said)
    if form.get("type") != "json_schema":
        return form
    inner: JsonObject = {key: form[key] for key in ("name", "schema", "strict")}
    return {"type": "json_schema", "json_schema": inner}


def _mention_json(messages: Sequence[JsonObject]) -> bool:
    """Whether a message says "json": OpenAI demands that of a request for any JSON object."""
    return any("json" in canonical_json(item).lower() for item in reversed(messages))
