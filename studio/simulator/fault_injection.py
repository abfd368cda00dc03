"""Fault injection: cuts a turn where the request says, and damages it where its faults say.

Faults of the turn are applied before it is rendered, those of its events after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .faults import Byte, Fault, Place
from .http import Frame, HttpResponse
from .json_read import compact
from .request_view import RequestView
from .script import Call, Part, Text, Turn
from .surface import Surface, gaps, odd_usage, reframed, tokens


def ended(turn: Turn, view: RequestView) -> Turn:
    """The turn up to the first stop text in what it says, or to the reply's limit.

    Only words count for the limit: a script's calls come whole or as its faults say.
    """
    room = view.limit
    kept: list[Part] = []
    for part in turn.parts:
        if not isinstance(part, Text):
            kept.append(part)
            continue
        said = part.text
        ends = [(at + len(stop), at, stop) for stop in view.stops if (at := said.find(stop)) >= 0]
        _, at, stop = min(ends, default=(0, len(said), ""))
        said = said[:at]
        full = room is not None and tokens(said) > room
        if room is not None:
            said = said[: 4 * room]
            room -= tokens(said)
        kept += [replace(part, text=said)] if said or not part.text else []
        if full:
            return turn.with_parts(*kept, stop="max_tokens")
        if stop:
            return turn.with_parts(*kept, stop="end", stopped=stop)
    return turn


def damage(turn: Turn) -> Turn:
    """The turn with its last call's arguments as its ``tool_json`` fault wants them."""
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


def spoil(answer: HttpResponse, faults: Sequence[Fault], surface: Surface) -> HttpResponse:
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
                answer.frames = reframed(answer.frames, fault.variant, surface.unknown("event"))
            case "usage":
                answer.frames = odd_usage(answer.frames, fault.variant)
            case "reorder" if fault.variant == "gap":
                answer.frames = gaps(answer.frames)
            case "reorder" if fault.variant == "stranger":
                answer.frames[2:2] = surface.stranger()
            case "unknown" if fault.variant == "stop":
                answer.frames = surface.odd_stop(answer.frames)
            case "error_event":
                kind, _, variant = fault.variant.partition(":")
                before = _before(answer.frames, fault.at)
                answer.frames = [*before, surface.error_frame(kind, variant)]
            case "garbage":
                index = _index(answer.frames, fault.at)
                answer.frames[index] = Frame(_garbled(answer.frames[index].data, fault.variant))
            case "dup":
                index = _index(answer.frames, fault.at)
                answer.frames.insert(index, answer.frames[index])
            case "unknown":
                index = _index(answer.frames, fault.at)
                answer.frames[index:index] = surface.unknown(fault.variant)
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
