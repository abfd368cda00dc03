"""Changing the JSON inside the events of a rendered answer, whatever frames them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from .http import Frame
from .wire import Body, compact, obj

_OBJECT = re.compile(rb"\{.*\}", re.S)
_OPAQUE = ("arguments", "input", "args")
_INDEXES = ("index", "output_index")
_USAGES = ("usage", "usageMetadata")
_COUNTS = ("prompt_eval_count", "eval_count")
_STOPS = ("stop_reason", "finish_reason", "finishReason", "done_reason")


def rewritten(frame: Frame, change: Callable[[Body], Body]) -> Frame:
    """The event with another JSON object in it; one without an object stays."""
    found = _OBJECT.search(frame.data)
    if found is None:
        return frame
    body = compact(change(json.loads(found[0])), ascii_only=frame.data.isascii())
    data = frame.data[: found.start()] + body.encode() + frame.data[found.end() :]
    return replace(frame, data=data)


def body_of(frame: Frame) -> Body:
    """The JSON object in an event; empty if there is none."""
    found = _OBJECT.search(frame.data)
    return obj(json.loads(found[0])) if found else {}


def _mapped(value: Any, change: Callable[[str, Any], Any]) -> Any:
    """The value with every member changed, except inside what tools are called with."""
    if isinstance(value, list):
        return [_mapped(item, change) for item in _list(value)]
    if not isinstance(value, dict):
        return value
    return {
        key: item if key in _OPAQUE else change(key, _mapped(item, change))
        for key, item in obj(value).items()
    }


def _list(value: Any) -> list[Any]:
    return value


def gaps(frames: Sequence[Frame]) -> list[Frame]:
    """Every index but the first is three too high."""

    def change(key: str, value: Any) -> Any:
        shifted = key in _INDEXES and isinstance(value, int) and value > 0
        return value + 3 if shifted else value

    return [rewritten(frame, lambda body: _mapped(body, change)) for frame in frames]


def odd_stop(frames: Sequence[Frame]) -> list[Frame]:
    """The reply ends for a reason that nobody has heard of."""

    def change(key: str, value: Any) -> Any:
        if key in _STOPS and isinstance(value, str):
            return "SURPRISE" if value.isupper() else "surprise"
        return value

    return [rewritten(frame, lambda body: _mapped(body, change)) for frame in frames]


def odd_usage(frames: Sequence[Frame], kind: str) -> list[Frame]:
    """Token counts that are missing, zero, late or decreasing."""
    telling = [n for n, frame in enumerate(frames) if _tells(body_of(frame))]
    found = list(frames)
    for number in telling:
        last = number == telling[-1]
        if kind == "missing":
            found[number] = rewritten(found[number], _without)
        elif kind == "zero" or (kind == "late" and not last):
            found[number] = rewritten(found[number], lambda body: _times(body, 0))
        elif kind == "decreasing" and not last:
            found[number] = rewritten(found[number], lambda body: _times(body, 10))
    return found


def _tells(value: Any) -> bool:
    if isinstance(value, list):
        return any(_tells(item) for item in _list(value))
    if not isinstance(value, dict):
        return False
    return any(
        (key in _USAGES and bool(item)) or key in _COUNTS or (key not in _OPAQUE and _tells(item))
        for key, item in obj(value).items()
    )


def _without(value: Any) -> Any:
    if isinstance(value, list):
        return [_without(item) for item in _list(value)]
    if not isinstance(value, dict):
        return value
    return {
        key: item if key in _OPAQUE else _without(item)
        for key, item in obj(value).items()
        if key not in (*_USAGES, *_COUNTS)
    }


def _times(body: Body, factor: int) -> Body:
    def counts(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | dict | list):
            return value
        if isinstance(value, int):
            return value * factor
        if isinstance(value, list):
            return [counts(item) for item in _list(value)]
        return {key: counts(item) for key, item in obj(value).items()}

    def change(key: str, value: Any) -> Any:
        return counts(value) if key in (*_USAGES, *_COUNTS) else value

    return _mapped(body, change)


def reframed(frames: Sequence[Frame], kind: str, ping: Sequence[Frame]) -> list[Frame]:
    """The same events with other line ends, over more lines, or with others between them."""
    found: list[Frame] = []
    for frame in frames:
        data = frame.data
        if b"data: " not in data:
            between = b"\n" if data.endswith(b"}\n") else b""
            found.append(replace(frame, data=data + between))
            continue
        crlf = data.endswith(b"\r\n")
        end = b"\r\n" if crlf else b"\n"
        if kind == "multiline":
            data = data.replace(b"data: {", b"data: {" + end + b"data: ", 1)
        elif kind == "other_ends":
            data = data.replace(b"\r\n", b"\n") if crlf else data.replace(b"\n", b"\r\n")
        elif kind == "comments":
            data = b": still here" + end + end + data
        else:
            found += ping
        found.append(replace(frame, data=data))
    return found
