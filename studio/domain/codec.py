"""Codec: writes events and messages as JSON objects, and reads them back.

``{"event": "text_delta", "text": "…"}``: the name is the class's in snake
case, the rest its fields. A nested value carries its class's name as
``"type"`` where several classes fit; bytes travel as ``{"base64": "…"}``.
"""

from __future__ import annotations

import base64
import re
import types
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from .drafts import FileDraft
from .events import Event
from .jsonvalue import Json, JsonObject
from .permissions import Question

if TYPE_CHECKING:
    from .run_events import RunEvent


@cache
def event_name(kind: type[object]) -> str:
    """The stored name of an event class: ``tool_finished`` for ``ToolFinished``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


_LISTS: tuple[type[Any], ...] = (list, tuple)
_OBJECTS: tuple[type[Any], ...] = (dict,)
_PLAIN = frozenset((str, int, float, bool, type(None)))
_ONCE_SINGLE: dict[type[Any], str] = {Question: "always"}
"""Fields that hold a list now; earlier versions stored one value or null."""
_STORED_NAMES: dict[type[Any], str] = {FileDraft: "Draft"}
"""Classes that are stored under an older name; stored names never change."""
_EVENTS: dict[str, type[Any]] = {event_name(kind): kind for kind in get_args(Event)}


def encode_event(event: Event | RunEvent) -> JsonObject:
    """One event as a JSON object, ``event`` first."""
    return {"event": event_name(type(event)), **_fields(event)}


def decode_event(data: JsonObject) -> Event:
    """Read one event of a session; raises ValueError for an unknown or damaged one."""
    return cast("Event", _decode_one_of(_EVENTS, data))


def decode_run_event(data: JsonObject) -> RunEvent:
    """Read one event of a run; raises ValueError for an unknown or damaged one."""
    return cast("RunEvent", _decode_one_of(_run_events(), data))


@cache
def _run_events() -> dict[str, type[Any]]:
    from .run_events import RunEvent  # a chat needs none of its forty classes

    return {event_name(kind): kind for kind in get_args(RunEvent)}


def _decode_one_of(kinds: dict[str, type[Any]], data: JsonObject) -> Any:
    kind = kinds.get(str(data.get("event")))
    if kind is None:
        raise ValueError(f"unknown event {data.get('event')!r}")
    return _build(kind, data)


def encode(value: Any) -> Json:
    """A value of this package as JSON; nested classes are named by ``type``."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, _LISTS):
        return [item if type(item) in _PLAIN else _named(item) for item in value]
    if isinstance(value, _OBJECTS):
        return {key: item if type(item) in _PLAIN else encode(item) for key, item in value.items()}
    return _fields(value)


def _fields(value: object) -> JsonObject:
    """Those of a data class. What is plain comes first: no call for each of them."""
    found: JsonObject = {}
    for name in _names(type(value)):
        item = getattr(value, name)
        found[name] = item if type(item) in _PLAIN else _named(item)
    return found


def _named(value: Any) -> Json:
    if is_dataclass(value):
        return {"type": _stored_name(type(value)), **_fields(value)}
    return encode(value)


def _stored_name(kind: type[Any]) -> str:
    return _STORED_NAMES.get(kind, kind.__name__)


@cache
def _names(kind: type[object]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cast("Any", kind)))


@cache
def _hints(kind: type[object]) -> dict[str, Any]:
    return get_type_hints(kind)


def decode(hint: Any, data: Json) -> Any:
    """Turn ``data``, written by ``encode``, into a value of type ``hint``; raises ValueError."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        options = get_args(hint)
        if data is None and type(None) in options:
            return None
        if isinstance(data, dict) and "type" in data:
            for option in options:
                kind = cast("type[Any]", option)
                if is_dataclass(option) and _stored_name(kind) == data["type"]:
                    return _build(kind, data)
        for option in options:
            with suppress(ValueError):
                return decode(option, data)
        raise ValueError(f"{data!r:.80} is no {hint}")
    if origin is Literal:
        return _checked(data, data in get_args(hint), hint)
    if origin is tuple:
        item, *rest = get_args(hint)
        items = cast("list[Json]", _checked(data, isinstance(data, list), hint))
        if rest and rest[0] is not ...:
            return tuple(decode(kind, one) for kind, one in zip((item, *rest), items, strict=True))
        return tuple(decode(item, one) for one in items)
    if hint is bytes:
        return base64.b64decode(str(cast("JsonObject", data)["base64"]))
    if isinstance(hint, type) and is_dataclass(hint):
        return _build(hint, cast("JsonObject", data))
    if hint is float:
        return _checked(data, isinstance(data, float | int), hint)
    if hint is Any:
        return data
    return _checked(data, isinstance(data, cast("type", origin or hint)), hint)


def _checked(data: Json, fits: bool, hint: Any) -> Json:
    if not fits:
        raise ValueError(f"{data!r:.80} is no {hint}")
    return data


def _build(kind: type[Any], data: JsonObject) -> Any:
    hints = _hints(kind)
    try:
        if (name := _ONCE_SINGLE.get(kind)) and not isinstance(one := data.get(name), list):
            data = {**data, name: [] if one is None else [one]}
        return kind(
            **{name: decode(hints[name], data[name]) for name in _names(kind) if name in data}
        )
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"not a {kind.__name__}: {error}") from error
