"""What every surface of the simulator does, and what they share."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from studio.providers.simulator.faults import Fault
from studio.providers.simulator.http import HttpResponse, Frame, HttpRequest
from studio.providers.simulator.maker import ServerState
from studio.providers.simulator.refused import RequestRefused
from studio.providers.simulator.rewriting import odd_stop
from studio.providers.simulator.script import Call, Part, ServerTool, Text, Think, Turn, Usage
from studio.providers.simulator.view import RequestView, SurfaceName
from studio.providers.simulator.wire import Body, array, compact, text


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
