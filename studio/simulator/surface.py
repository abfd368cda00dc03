"""The surface interface: reads requests of one API, checks them, and renders turns and errors.

The functions below it change the JSON inside the events of a rendered answer.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from .faults import Fault
from .http import Frame, HttpRequest, HttpResponse
from .json_read import Body, array, compact, obj, text
from .request_view import RequestView, SurfaceName
from .rules import RequestRefused
from .script import Call, Part, ServerTool, Text, Think, Turn, Usage
from .state import ServerState

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


class Surface(ABC):
    """One wire protocol: reads requests, checks them, renders turns, words errors."""

    name: SurfaceName

    @abstractmethod
    def view(self, request: HttpRequest, body: Body) -> RequestView:
        """The neutral form of a request."""

    @abstractmethod
    def check(self, view: RequestView, maker: ServerState) -> None:
        """Raises Refused for the first rule the request breaks."""

    @abstractmethod
    def render(self, turn: Turn, view: RequestView, maker: ServerState) -> HttpResponse:
        """The turn in this protocol."""

    @abstractmethod
    def failure(self, refused: RequestRefused) -> HttpResponse:
        """An error response in this provider's form."""

    @abstractmethod
    def error_frame(self, kind: str, variant: str) -> Frame:
        """An error inside a 200 stream."""

    @abstractmethod
    def unknown(self, kind: str) -> list[Frame]:
        """An event, a "block" or a "delta" of a kind that clients do not know yet."""

    def stranger(self) -> list[Frame]:
        """A piece of something that never began; none where everything comes whole."""
        return []

    def odd_stop(self, frames: Sequence[Frame]) -> list[Frame]:
        """The events with a reason to end that clients do not know yet."""
        return odd_stop(frames)

    def no_model(self, view: RequestView) -> RequestRefused:
        """The error for a model nobody has."""
        return RequestRefused("model", f"model: {view.model}", status=404)

    def count(self, tokens: int) -> Body:
        """The answer to a token count."""
        return {"input_tokens": tokens}

    def status(self, fault: Fault) -> HttpResponse:
        """The answer for a ``status`` fault."""
        refused = RequestRefused("fault", _WORDS.get(fault.code, "Error"), status=fault.code)
        if fault.variant:
            refused.code = fault.variant
        answer = self.failure(refused)
        if fault.retry_after is not None:
            answer.headers["retry-after"] = _seconds(fault.retry_after)
        answer.headers.update(fault.headers)
        return answer


_WORDS = {
    400: "Invalid request",
    401: "Invalid authentication",
    402: "Your credit balance is too low.",
    403: "Permission denied",
    404: "Not found",
    408: "Request timed out",
    409: "Conflict",
    413: "Request exceeds the maximum size",
    429: "This request would exceed your rate limit. Try again later.",
    500: "Internal server error",
    502: "Bad gateway",
    503: "The service is temporarily unavailable. Try again later.",
    504: "The request timed out",
    529: "Overloaded",
}


def _seconds(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def json_answer(body: Body, status: int = 200, **headers: str) -> HttpResponse:
    """A whole JSON body."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpResponse([Frame(compact(body).encode())], status=status, headers=names)


def words(text: str) -> list[str]:
    """Text in pieces of about a token: a word with the space before it."""
    return re.findall(r"\s*\S{1,12}|\s+\Z", text)


def fragments(json_text: str, size: int = 7) -> list[str]:
    """A JSON string in the small pieces in which arguments stream."""
    return [json_text[at : at + size] for at in range(0, len(json_text), size)]


def strings(value: Any) -> list[str]:
    """The strings in a list that say something; a string alone is a list of one."""
    return [one for one in ([value] if isinstance(value, str) else array(value)) if text(one)]


def whole(value: Any) -> int | None:
    """A whole number; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def tokens(text: str) -> int:
    """About how many tokens a text is."""
    return -(-len(text) // 4)


def raw_arguments(call: Call) -> str:
    """The JSON text of a call's arguments, damaged where the script says so."""
    return compact(call.arguments) if call.raw is None else call.raw


def usage_of(turn: Turn, view: RequestView) -> Usage:
    """The turn's usage, or an estimate from the lengths of what was sent and said."""
    if turn.usage is not None:
        return turn.usage
    read, written = view.cached
    sent = max(tokens(compact(view.body)), read + written)
    said = [_length(part) for part in turn.parts]
    thought = sum(_length(part) for part in turn.parts if isinstance(part, Think))
    return Usage(sent, read, written, out=max(1, sum(said)), reasoning=thought)


def _length(part: Part) -> int:
    match part:
        case Think(text) | Text(text):
            return tokens(text)
        case Call():
            return tokens(raw_arguments(part)) + 8
        case ServerTool():
            return 8
