"""Faults: what can go wrong on the wire, as values that a turn carries.

``fault_injection`` applies them.

A place in a stream, ``at``, is an event's index (negative counts from the
end), ``Byte(n)``, or "headers" for before anything was sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Byte:
    """A place in a stream counted in bytes of the body."""

    offset: int


Place: TypeAlias = int | Byte | Literal["headers"]
ToolJson: TypeAlias = Literal["truncated", "invalid", "empty", "null", "double_encoded", "huge"]
ErrorKind: TypeAlias = Literal["overloaded", "rate_limit", "server", "invalid_request", "timeout"]


@dataclass(frozen=True, slots=True, eq=False)
class Fault:
    """One thing that goes wrong; made by the functions below."""

    kind: Literal[
        "status",
        "html",
        "cut",
        "eof",
        "stall",
        "error_event",
        "garbage",
        "tool_json",
        "dup",
        "unknown",
        "drip",
        "reorder",
        "usage",
        "type",
        "framing",
    ]
    at: Place = 0
    times: int | None = None
    code: int = 0
    retry_after: float | str | None = None
    variant: str = ""
    reset: bool = False
    seconds: float | None = None
    rate: float = 0.0
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def replaces(self) -> bool:
        """Whether the whole reply falls away."""
        return self.kind in ("status", "html")


def status(
    code: int,
    *,
    times: int | None = None,
    retry_after: float | str | None = None,
    retry_after_ms: float | None = None,
    should_retry: bool | None = None,
    variant: str = "",
) -> Fault:
    """An HTTP error with this provider's body.

    With ``times`` it happens that often and then the turn is answered; without,
    it is the turn's answer. ``retry_after`` is in seconds, or the text of the
    header (a date); Gemini tells it in the body. ``retry_after_ms`` and
    ``should_retry`` are headers of their own. ``variant`` is OpenAI's code:
    "insufficient_quota" is a 429 that no retry helps.
    """
    headers: dict[str, str] = {}
    if retry_after_ms is not None:
        headers["retry-after-ms"] = f"{retry_after_ms:g}"
    if should_retry is not None:
        headers["x-should-retry"] = str(should_retry).lower()
    return Fault(
        "status",
        code=code,
        times=times,
        retry_after=retry_after,
        variant=variant,
        headers=tuple(headers.items()),
    )


def html(code: int = 200, *, times: int | None = None) -> Fault:
    """A web page where JSON was expected."""
    return Fault("html", code=code, times=times)


def cut(at: Place = -1, *, reset: bool = False) -> Fault:
    """The connection breaks: closed without the last HTTP chunk, or reset."""
    return Fault("cut", at=at, reset=reset)


def eof(at: Place = -1) -> Fault:
    """A clean end of the body before its last event."""
    return Fault("eof", at=at)


def stall(at: Place = 0, seconds: float | None = None) -> Fault:
    """Nothing comes for so many seconds, or until the client hangs up.

    At "headers" nothing comes at all, at 0 nothing of the body, and at a
    ``Byte`` it stops within an event. The simulator's ``sleep`` waits.
    """
    return Fault("stall", at=at, seconds=seconds)


def drip(bytes_per_second: float) -> Fault:
    """The body comes slowly; the simulator's ``sleep`` waits between the pieces."""
    return Fault("drip", rate=bytes_per_second)


def error_event(kind: ErrorKind = "overloaded", at: Place = -1, *, variant: str = "") -> Fault:
    """An error inside the 200 stream, in this provider's form; the stream then ends.

    ``variant`` "failed" gives OpenAI Responses' other form.
    """
    return Fault("error_event", at=at, variant=f"{kind}:{variant}")


def garbage(at: Place = -1, kind: Literal["json", "utf8", "truncated"] = "json") -> Fault:
    """An event that cannot be read, in place of the one at ``at``; the stream goes on."""
    return Fault("garbage", at=at, variant=kind)


def tool_json(kind: ToolJson = "truncated") -> Fault:
    """The last call's arguments are damaged; the turn's own ``stop`` says how it ends."""
    return Fault("tool_json", variant=kind)


def dup(at: Place = -1) -> Fault:
    """The event at ``at`` comes twice."""
    return Fault("dup", at=at)


def unknown(at: Place = 1, kind: Literal["event", "block", "delta", "stop"] = "event") -> Fault:
    """Before the event at ``at`` comes one of a kind nobody has heard of.

    Or a block (an item, a part), or a piece of one; "stop" is a reason to end
    that is not documented, wherever the reply tells its reason.
    """
    return Fault("unknown", at=at, variant=kind)


def reorder(kind: Literal["gap", "stranger", "same_id"] = "gap") -> Fault:
    """Indexes with a gap, a piece of a block that never began, or one id for all calls."""
    return Fault("reorder", variant=kind)


def usage_odd(kind: Literal["missing", "zero", "late", "decreasing"] = "missing") -> Fault:
    """No token counts, counts of zero, counts in the last place only, or falling counts."""
    return Fault("usage", variant=kind)


def content_type(name: str = "text/plain") -> Fault:
    """The right body under a wrong name."""
    return Fault("type", variant=name)


def framing(kind: Literal["multiline", "comments", "pings", "other_ends"] = "multiline") -> Fault:
    """The same events in another dress, which every reader has to take.

    JSON over several ``data:`` lines, comments between the events, pings and
    unknown events between them, or the other line ends. Lines of JSON have
    empty lines between them instead.
    """
    return Fault("framing", variant=kind)
