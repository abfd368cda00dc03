"""The endpoint interface: reads requests of one API, checks them, and renders turns and errors.

The functions below it change the JSON inside the events of a rendered answer.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from .faults import Fault
from .http import Frame, HttpRequest, HttpResponse
from .json_read import Body, arguments, array, compact, obj, objs, text
from .request_checks import Check, RequestRefused
from .request_view import ApiName, Called, Offered, RequestView
from .script import Call, Part, ServerTool, Text, Think, Turn, Usage
from .state import ServerState

_OBJECT = re.compile(rb"\{.*\}", re.S)
GONE = object()
OPAQUE = ("arguments", "input", "args")
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


def mapped(value: Any, change: Callable[[str, Any], Any]) -> Any:
    """The value with every member changed, except inside what tools are called with.

    A member that is changed to ``GONE`` is left out.
    """
    if isinstance(value, list):
        return [mapped(item, change) for item in array(value)]
    if not isinstance(value, dict):
        return value
    found = {
        key: item if key in OPAQUE else change(key, mapped(item, change))
        for key, item in obj(value).items()
    }
    return {key: item for key, item in found.items() if item is not GONE}


class Endpoint(ABC):
    """One wire protocol: reads requests, checks them, renders turns, words errors."""

    name: ApiName
    rules: Sequence[Check]
    """What the API refuses, in the order in which it is found."""
    house: Sequence[Check]
    """What is refused in the strictest mode only."""
    too_long: str
    """The words for a request that is too long, with places for ``size`` and ``window``."""

    @abstractmethod
    def view(self, request: HttpRequest, body: Body) -> RequestView:
        """The neutral form of a request."""

    def check(self, view: RequestView, state: ServerState) -> None:
        """Raises RequestRefused for the first rule broken; house rules hold under "beyond" only."""
        for rule in (*self.rules, *(self.house if state.beyond else ())):
            name = f"{self.name}.{rule.__name__}"
            if name in state.without:
                continue
            try:
                rule(view, state)
            except RequestRefused as refused:
                if refused.rule == "echo" and state.sessions.foreign(view):
                    continue
                refused.name = name
                raise

    @abstractmethod
    def render(self, turn: Turn, view: RequestView, state: ServerState) -> HttpResponse:
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

        def change(key: str, value: Any) -> Any:
            if key in _STOPS and isinstance(value, str):
                return "SURPRISE" if value.isupper() else "surprise"
            return value

        return [rewritten(frame, lambda body: mapped(body, change)) for frame in frames]

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


def event(kind: str, tokens: float = 0.0, **fields: Any) -> Frame:
    """A server-sent event that says its kind twice, as Anthropic's and those of Responses do."""
    data = compact({"type": kind, **fields})
    return Frame(f"event: {kind}\ndata: {data}\n\n".encode(), tokens)


def json_line(body: Body, tokens: float = 0.0) -> Frame:
    """A line of JSON, as Ollama streams them."""
    return Frame((compact(body) + "\n").encode(), tokens)


def words(text: str) -> list[str]:
    """Text in pieces of about a token: a word with the space before it, a long one in parts."""
    return re.findall(r"\s*\S{1,100}|\s+\Z", text)


def fragments(json_text: str, size: int = 7) -> list[str]:
    """A JSON string in the small pieces in which arguments stream."""
    return [json_text[at : at + size] for at in range(0, len(json_text), size)]


def strings(value: Any) -> list[str]:
    """The strings in a list that say something; a string alone is a list of one."""
    return [one for one in ([value] if isinstance(value, str) else array(value)) if text(one)]


def whole(value: Any) -> int | None:
    """A whole number; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def offered(tools: Iterable[Body], schema: str) -> list[Offered]:
    """The tools of a request; ``schema`` is the field that describes what they take."""
    return [
        Offered(text(tool.get("name")), text(tool.get("description")), obj(tool.get(schema)))
        for tool in tools
    ]


def offered_functions(tools: Iterable[Body]) -> list[Offered]:
    """The tools of a request that describes each one inside ``function``."""
    return offered((one for tool in tools if (one := obj(tool.get("function")))), "parameters")


def called_functions(message: Body) -> list[Called]:
    """The calls of a message that holds each one inside ``function``."""
    calls = objs(message.get("tool_calls"))
    functions = [(text(call.get("id")), obj(call.get("function"))) for call in calls]
    return [
        Called(id_, text(function.get("name")), arguments(function.get("arguments")))
        for id_, function in functions
    ]


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


def cut_at_stop_or_limit(turn: Turn, view: RequestView) -> Turn:
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
