"""Type hints as JSON schema, and JSON values as what the hints promise."""

from __future__ import annotations

import collections.abc
import dataclasses
import types
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

from studio.domain.jsonvalue import Json, JsonObject

_PLAIN: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
_LISTS = (list, tuple, set, frozenset, collections.abc.Sequence, collections.abc.Iterable)
_MAPS = (dict, collections.abc.Mapping)


def schema_of(hint: Any, *, optional: bool = False) -> JsonObject:
    """The JSON schema of a hint; TypeError for one that JSON has no form for.

    ``optional`` says that the value has a default: ``X | None`` is then plain
    ``X``, because leaving it out says None, and small models do better so.
    """
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if hint is Any or hint is object:
        return {}
    origin: Any = get_origin(hint)
    arguments = get_args(hint)
    if origin is Literal:
        return _literal(arguments)
    if origin in (Union, types.UnionType):
        kinds = [kind for kind in arguments if kind is not type(None)]
        if len(kinds) < len(arguments) and not optional:
            kinds.append(type(None))
        if len(kinds) == 1:
            return schema_of(kinds[0])
        return {"anyOf": [schema_of(kind) for kind in kinds]}
    if (origin or hint) in _LISTS:
        if not arguments:
            return {"type": "array", "items": {}}
        if (origin is tuple and len(arguments) != 2) or (
            origin is tuple and arguments[1] is not ...
        ):
            raise TypeError(f"{hint} has no JSON schema; use list[...] or tuple[X, ...].")
        return {"type": "array", "items": schema_of(arguments[0])}
    if (origin or hint) in _MAPS:
        if len(arguments) == 2 and arguments[1] is not Any:
            return {"type": "object", "additionalProperties": schema_of(arguments[1])}
        return {"type": "object"}
    if dataclasses.is_dataclass(hint) or is_typeddict(hint):
        return _record(hint)
    raise TypeError(f"{hint!r} has no JSON schema.")


def _literal(values: tuple[Any, ...]) -> JsonObject:
    kinds = {_PLAIN.get(type(value), "") for value in values}
    schema: JsonObject = {"enum": list(values)}
    if len(kinds) == 1 and "" not in kinds:
        schema = {"type": kinds.pop(), **schema}
    return schema


def _record(hint: Any) -> JsonObject:
    hints = get_type_hints(hint)
    if is_typeddict(hint):
        required = [name for name in hints if name in hint.__required_keys__]
    else:
        required = [
            field.name
            for field in dataclasses.fields(hint)
            if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        ]
    schema: JsonObject = {
        "type": "object",
        "properties": {
            name: schema_of(kind, optional=name not in required) for name, kind in hints.items()
        },
        "additionalProperties": False,
    }
    if required:
        schema["required"] = list[Json](required)
    return schema


def build(hint: Any, value: Any) -> Any:
    """A checked JSON value as the hint's type: dataclasses, tuples and sets are made."""
    if value is None:
        return None
    origin: Any = get_origin(hint) or hint
    arguments = get_args(hint)
    if origin in (Union, types.UnionType):
        fitting = [kind for kind in arguments if kind is not type(None)]
        return build(fitting[0], value) if len(fitting) == 1 else value
    if isinstance(value, list):
        item = arguments[0] if arguments else Any
        items = [build(item, one) for one in cast("list[Any]", value)]
        return cast("Any", origin)(items) if origin in (tuple, set, frozenset) else items
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            hints = get_type_hints(hint)
            return hint(**{name: build(hints[name], one) for name, one in fields.items()})
        return fields
    if hint is float and isinstance(value, int):
        return float(value)
    return value
