"""Fault injection: applies the ``faults`` of a turn to it and to its rendered answer.

Faults of the turn are applied before it is rendered, those of its events after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .endpoint import GONE, OPAQUE, Endpoint, body_of, mapped, rewritten
from .faults import Byte, Fault, Place
from .http import Frame, HttpResponse
from .json_read import Body, array, compact, obj
from .script import Call, Part, Turn


def damage(turn: Turn) -> Turn:
    """The turn with the last call's arguments, or all ids, damaged as its faults say."""
    for fault in turn.faults:
        if fault.kind == "tool_json":
            parts: list[Part] = list(turn.parts)
            for index in range(len(parts) - 1, -1, -1):
                part = parts[index]
                if isinstance(part, Call):
                    raw = _damaged(compact(part.arguments), fault.variant)
                    parts[index] = Call(part.name, part.arguments, part.id, raw)
                    break
            turn = turn.with_parts(*parts)
        elif fault.kind == "reorder" and fault.variant == "same_id":
            turn = turn.with_parts(
                *(
                    replace(part, id="call_same") if isinstance(part, Call) else part
                    for part in turn.parts
                )
            )
    return turn


def _damaged(raw: str, kind: str) -> str:
    match kind:
        case "truncated":
            return raw[: max(1, len(raw) * 2 // 3)]
        case "invalid":
            return raw[:-1] + ",}"
        case "empty":
            return ""
        case "null":
            return "null"
        case "double_encoded":
            return compact(raw)
        case _:  # huge
            return compact({"content": "x" * 5_000_000})


def page() -> HttpResponse:
    """A web page, as a captive portal or a broken proxy sends it."""
    body = (
        b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>Sign in</body></html>\n"
    )
    return HttpResponse([Frame(body)], content_type="text/html; charset=utf-8")


def spoil(answer: HttpResponse, faults: Sequence[Fault], endpoint: Endpoint) -> HttpResponse:
    """The answer with what goes wrong in its body."""
    for fault in faults:
        match fault.kind:
            case "cut":
                before = _before(answer.frames, fault.at)
                answer.frames, answer.ending = before, "reset" if fault.reset else "cut"
            case "eof":
                answer.frames = _before(answer.frames, fault.at)
            case "stall" if fault.seconds is not None:
                _pause(answer, fault.at, fault.seconds)
            case "stall":
                answer.ending = "silence" if fault.at == "headers" else "stall"
                answer.frames = _before(answer.frames, fault.at)
            case "drip":
                answer.rate = fault.rate
            case "type":
                answer.content_type = fault.variant
            case "framing":
                answer.frames = reframed(answer.frames, fault.variant, endpoint.unknown("event"))
            case "usage":
                answer.frames = odd_usage(answer.frames, fault.variant)
            case "reorder" if fault.variant == "gap":
                answer.frames = gaps(answer.frames)
            case "reorder" if fault.variant == "stranger":
                answer.frames[2:2] = endpoint.stranger()
            case "unknown" if fault.variant == "stop":
                answer.frames = endpoint.odd_stop(answer.frames)
            case "error_event":
                kind, _, variant = fault.variant.partition(":")
                before = _before(answer.frames, fault.at)
                answer.frames = [*before, endpoint.error_frame(kind, variant)]
            case "garbage":
                index = _index(answer.frames, fault.at)
                answer.frames[index] = Frame(_garbled(answer.frames[index].data, fault.variant))
            case "dup":
                index = _index(answer.frames, fault.at)
                answer.frames.insert(index, answer.frames[index])
            case "unknown":
                index = _index(answer.frames, fault.at)
                answer.frames[index:index] = endpoint.unknown(fault.variant)
            case _:
                pass
    return answer


def _pause(answer: HttpResponse, at: Place, seconds: float) -> None:
    """Nothing comes for a while at this place, then the rest."""
    if at == "headers":
        answer.pause = seconds
        return
    before = _before(answer.frames, at)
    offset = sum(len(frame.data) for frame in before)
    rest: list[Frame] = []
    start = 0
    for frame in answer.frames:
        if (end := start + len(frame.data)) > offset:
            rest.append(replace(frame, data=frame.data[max(0, offset - start) :]))
        start = end
    if rest:
        rest[0].pause = seconds
    answer.frames = [*before, *rest]


def _index(frames: Sequence[Frame], at: Place) -> int:
    if not isinstance(at, int):
        raise ValueError("this fault happens at an event")
    return max(0, min(len(frames) - 1, at if at >= 0 else len(frames) + at))


def _before(frames: Sequence[Frame], at: Place) -> list[Frame]:
    if at == "headers":
        return []
    if isinstance(at, int):
        return list(frames[:at])
    assert isinstance(at, Byte)
    kept: list[Frame] = []
    left = at.offset
    for frame in frames:
        kept.append(Frame(frame.data[:left], frame.tokens))
        left -= len(frame.data)
        if left <= 0:
            break
    return kept


def _garbled(data: bytes, kind: str) -> bytes:
    match kind:
        case "utf8":
            return data.replace(b'"', b'"\xff\xfe', 1)
        case "truncated":
            return data[: len(data) // 2] + (b"\r\n\r\n" if data.endswith(b"\r\n") else b"\n\n")
        case _:
            return data.replace(b"{", b"{{", 1)


_INDEXES = ("index", "output_index")
_USAGES = ("usage", "usageMetadata")
_COUNTS = ("prompt_eval_count", "eval_count")


def gaps(frames: Sequence[Frame]) -> list[Frame]:
    """Every index but the first is three too high."""

    def change(key: str, value: Any) -> Any:
        shifted = key in _INDEXES and isinstance(value, int) and value > 0
        return value + 3 if shifted else value

    return [rewritten(frame, lambda body: mapped(body, change)) for frame in frames]


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
        return any(_tells(item) for item in array(value))
    if not isinstance(value, dict):
        return False
    return any(
        (key in _USAGES and bool(item)) or key in _COUNTS or (key not in OPAQUE and _tells(item))
        for key, item in obj(value).items()
    )


def _without(body: Body) -> Body:
    return mapped(body, lambda key, item: GONE if key in (*_USAGES, *_COUNTS) else item)


def _times(body: Body, factor: int) -> Body:
    def counts(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | dict | list):
            return value
        if isinstance(value, int):
            return value * factor
        if isinstance(value, list):
            return [counts(item) for item in array(value)]
        return {key: counts(item) for key, item in obj(value).items()}

    def change(key: str, value: Any) -> Any:
        return counts(value) if key in (*_USAGES, *_COUNTS) else value

    return mapped(body, change)


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
