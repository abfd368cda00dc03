"""Argument check: validates a call's arguments against the tool's schema (L-5).

Small models send ``"5"`` for 5 and ``null`` for what they leave out. A value that can mean
only one thing is corrected; every other violation is reported, field by field.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, cast

from studio.domain.errors import ToolFailed
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.tools import ToolSpec

_WHOLE = re.compile(r"\s*[+-]?\d{1,18}\s*")
_KINDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_SHOWN = 60
PATIENCE = 2.0
"""Seconds that checking against a foreign schema may take."""


def check(spec: ToolSpec, arguments: JsonObject) -> JsonObject:
    """The arguments, corrected and with the schema's defaults; ToolFailed says what is wrong."""
    schema = spec.schema
    properties = cast("dict[str, JsonObject]", schema.get("properties") or {})
    required = cast("list[str]", schema.get("required") or [])
    wrong: list[str] = []
    good: JsonObject = {}
    for name, value in arguments.items():
        known = properties.get(name)
        if known is None:
            if schema.get("additionalProperties") is False:
                wrong.append(_unknown(name, list(properties)))
            else:
                good[name] = value
        elif not (value is None and name not in required and not _takes_null(known)):
            good[name] = coerce(known, value)
    for name in required:
        if name not in arguments:
            expected = _expected(properties.get(name, {}))
            wrong.append(f"“{name}” is missing ({expected})")
    for name, known in properties.items():
        if name not in good and name not in required and "default" in known:
            good[name] = known["default"]
    if not wrong:
        wrong = violations(schema, good)
    if wrong:
        raise ToolFailed(f"Wrong arguments for {spec.name}: {'; '.join(wrong)}.")
    return good


def _unknown(name: str, known: list[str]) -> str:
    if not known:
        return f"“{name}” is unknown, it takes no arguments"
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean “{close[0]}”" if close else f"it takes {', '.join(known)}"
    return f"“{name}” is unknown, {hint}"


def _takes_null(schema: JsonObject) -> bool:
    options = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(options, list):
        return any(_takes_null(cast("JsonObject", option)) for option in options)
    kind = schema.get("type")
    return kind in (None, "null") or (isinstance(kind, list) and "null" in kind)


def coerce(schema: JsonObject, value: Json) -> Json:
    """The value as the schema wants it if it can mean only one thing, else as it is."""
    kind = _one_kind(schema)
    match kind, value:
        case "integer", str() if _WHOLE.fullmatch(value):
            return int(value)
        case "integer", float() if value.is_integer():
            return int(value)
        case "number", str():
            return _number(value)
        case "boolean", str() if value.strip().lower() in ("true", "false"):
            return value.strip().lower() == "true"
        case "string", bool():
            return value
        case "string", int() | float():
            return json.dumps(value)
        case "array" | "object", str():
            value = _parsed(value, list if kind == "array" else dict)
        case _:
            pass
    if isinstance(value, list):
        items = schema.get("items")
        if isinstance(items, dict):
            return [coerce(items, item) for item in value]
    elif isinstance(value, dict):
        properties = cast("dict[str, JsonObject]", schema.get("properties") or {})
        return {
            name: coerce(properties[name], item) if name in properties else item
            for name, item in value.items()
        }
    elif kind == "array" and isinstance(value, str):
        items = schema.get("items")
        if isinstance(items, dict) and items.get("type") == "string":
            return [value]
    return value


def _one_kind(schema: JsonObject) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        rest = [one for one in kind if one != "null"]
        kind = rest[0] if len(rest) == 1 else None
    return kind if isinstance(kind, str) else ""


def _number(text: str) -> Json:
    if _WHOLE.fullmatch(text):
        return int(text)
    try:
        number = float(text)
    except ValueError:
        return text
    return number if number - number == 0 else text  # not for nan and inf


def _parsed(text: str, wanted: type) -> Json:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return cast("Json", value) if isinstance(value, wanted) else text


def violations(schema: JsonObject, value: Json, *, foreign: bool = False) -> list[str]:
    """Where a value violates a schema, in words; empty for a schema that is not valid.

    A ``foreign`` schema may be made to take for ever: one with patterns counts as not valid,
    and so does one that takes longer than ``PATIENCE``.
    """
    from fastjsonschema import JsonSchemaValueException, JsonSchemaValuesException

    validate = _compiled(json.dumps(schema, sort_keys=True))
    if validate is None or (foreign and not _without_patterns(validate)):
        return []
    try:
        with _in_time() if foreign else nullcontext():
            validate(value)
    except JsonSchemaValuesException as error:
        return [_violation(one) for one in error.errors[:5]]
    except JsonSchemaValueException as error:
        return [_violation(error)]
    except (Exception, _TooLong):  # it refers to itself, or divides by zero
        return []
    return []


class _TooLong(BaseException):
    """Not an Exception: the compiled code of a schema may catch those and go on."""


@contextmanager
def _in_time() -> Generator[None]:
    """Raises _TooLong in this thread once ``PATIENCE`` is over.

    References in a schema may be nested so that the time grows exponentially.
    """
    end = time.monotonic() + PATIENCE

    def look(frame: object, event: str, argument: object) -> None:
        if time.monotonic() > end:
            raise _TooLong

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(before)


def _without_patterns(validate: Callable[[Any], Any]) -> bool:
    """Whether no pattern was compiled, wherever in the schema it is."""
    names = cast("dict[str, Any]", getattr(validate, "__globals__", {}))
    return names.get("REGEX_PATTERNS") == {}


def is_schema(schema: JsonObject) -> bool:
    """Whether values can be checked against it."""
    return _compiled(json.dumps(schema, sort_keys=True)) is not None


class _NoLoading(dict[str, Any]):
    """Handlers of references by URL scheme: each refuses, so a schema never loads anything."""

    def __contains__(self, scheme: object) -> bool:
        return True

    def __missing__(self, scheme: str) -> Any:
        raise ValueError(f"a schema may not load from {scheme or 'elsewhere'}")


@lru_cache(maxsize=256)
def _compiled(schema: str) -> Callable[[Any], Any] | None:
    """The check of a schema; None if it cannot be compiled, and then the tool must check."""
    from fastjsonschema import compile as compile_schema

    try:
        return cast(
            "Callable[[Any], Any]",
            compile_schema(
                json.loads(schema),
                handlers=_NoLoading(),
                use_default=False,
                use_formats=False,
                fast_fail=False,
            ),
        )
    except Exception:  # schemas of other people's servers are often no schemas
        return None


def _violation(error: Any) -> str:
    name = re.sub(r"^data\.?", "", str(error.name or "")) or "arguments"
    definition = cast("JsonObject", error.definition or {})
    if error.rule in ("type", "enum", "const", "anyOf", "oneOf", "required"):
        if error.rule == "required":
            missing = [
                f"“{name}.{key}”"
                for key in cast("list[str]", definition.get("required") or [])
                if key not in error.value
            ]
            return f"{', '.join(missing)} is missing"
        return f"“{name}” must be {_expected(definition)}, not {_shown(error.value)}"
    return str(error.message).replace("data.", "")


def _expected(schema: JsonObject) -> str:
    options = schema.get("enum")
    if isinstance(options, list):
        return "one of " + ", ".join(json.dumps(option, ensure_ascii=False) for option in options)
    several = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(several, list):
        return " or ".join(_expected(cast("JsonObject", option)) for option in several)
    kind = schema.get("type")
    if isinstance(kind, list):
        return " or ".join(_KINDS.get(str(one), str(one)) for one in kind)
    return _KINDS.get(str(kind), "a value")


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
