"""Scripts: describe the simulator's answers as turns that every API can render.

A script is a list of turns (one for each request, in order), a function from
``RequestView`` to a turn, or a ``Table`` of conditions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from .faults import Fault
from .json_read import Body, obj, objs, text
from .request_view import ApiName, RequestView

Stop: TypeAlias = Literal[
    "end",
    "tool_use",
    "max_tokens",
    "refusal",
    "pause_turn",
    "context_exceeded",
    "content_filter",
    "safety",
    "malformed_function_call",
    "empty",
]


@dataclass(frozen=True, slots=True)
class Think:
    """What the model thinks; signed or encrypted where the API does that.

    ``redacted`` thoughts travel sealed, and are nothing where there is no seal.
    """

    text: str
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """What the model says. ``phase`` None: commentary beside calls, else the final answer."""

    text: str
    phase: Literal["commentary", "final_answer"] | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. ``id`` empty lets the simulator choose; ``raw`` replaces the JSON sent."""

    name: str
    arguments: Body = field(default_factory=dict[str, object], hash=False)
    id: str = ""
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """One page that a search of the provider's own found."""

    title: str
    url: str


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool that the provider runs itself, a web search above all.

    Each API shows it in its way: a use and its result, a search call,
    metadata, annotations; Ollama has none.
    """

    name: str = "web_search"
    query: str = ""
    found: tuple[Found, ...] = ()


Part: TypeAlias = Think | Text | Call | ServerTool


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens: ``inp`` counts everything sent, cached included; ``out`` includes ``reasoning``.

    ``cost`` in US dollars is told by Chat Completions only, as OpenRouter does.
    """

    inp: int = 0
    cache_read: int = 0
    cache_write: int = 0
    out: int = 0
    reasoning: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds before the first token, then tokens a second."""

    ttft: float = 0.3
    tokens_per_s: float = 60.0


Expect: TypeAlias = Callable[[RequestView], bool]


@dataclass(frozen=True, slots=True, init=False)
class Turn:
    """One reply. ``stop`` None means tool_use after calls and end otherwise.

    ``stopped`` is the stop text that ended it, if one did. ``expect`` are conditions
    on the request; one that fails is a violation and the reply is an error.
    """

    parts: tuple[Part, ...]
    stop: Stop
    stopped: str
    usage: Usage | None
    faults: tuple[Fault, ...]
    pace: Pace | None
    expect: tuple[Expect, ...]

    def __init__(
        self,
        *parts: Part,
        stop: Stop | None = None,
        stopped: str = "",
        usage: Usage | None = None,
        faults: Sequence[Fault] = (),
        pace: Pace | None = None,
        expect: Sequence[Expect] | Expect = (),
    ) -> None:
        calls = any(isinstance(part, Call) for part in parts)
        put = object.__setattr__
        put(self, "parts", parts)
        put(self, "stop", stop or ("tool_use" if calls else "end"))
        put(self, "stopped", stopped)
        put(self, "usage", usage)
        put(self, "faults", tuple(faults))
        put(self, "pace", pace)
        put(self, "expect", (expect,) if callable(expect) else tuple(expect))

    def with_parts(self, *parts: Part, stop: Stop | None = None, stopped: str = "") -> Turn:
        """The same turn with other content; its stop stays if no other is given."""
        return Turn(
            *parts,
            stop=stop or self.stop,
            stopped=stopped or self.stopped,
            usage=self.usage,
            faults=self.faults,
            pace=self.pace,
            expect=self.expect,
        )


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes to send as they are."""

    api: ApiName
    data: bytes
    content_type: str = "text/event-stream; charset=utf-8"
    status: int = 200
    faults: tuple[Fault, ...] = ()
    pace: Pace | None = None
    expect: tuple[Expect, ...] = ()


class Replay(Raw):
    """A recorded exchange: its bytes as they came.

    Nothing is signed anew, and in a session with a replay no echo is checked.
    """

    __slots__ = ()

    def __init__(
        self,
        path: str | Path,
        exchange: int = 0,
        *,
        faults: Sequence[Fault] = (),
        pace: Pace | None = None,
        expect: Sequence[Expect] = (),
    ) -> None:
        """Reads one exchange of a recording's file. OSError, or ValueError for another format."""
        recording = obj(json.loads(Path(path).read_text(encoding="utf-8")))
        api = text(recording.get("api"))
        if api not in _APIS:
            raise ValueError(f"nothing here replays the API {api!r}")
        row = objs(recording.get("exchanges"))[exchange]
        headers = {name.lower(): value for name, value in obj(row.get("response_headers")).items()}
        super().__init__(
            _APIS[api],
            text(row.get("response_body")).encode(),
            text(headers.get("content-type")) or "application/json",
            int(row.get("status", 200)),
            tuple(faults),
            pace,
            tuple(expect),
        )


_APIS: dict[str, ApiName] = {
    "messages": "anthropic",
    "responses": "responses",
    "chat": "chat",
    "generateContent": "gemini",
}
Reply: TypeAlias = Turn | Raw


@dataclass(frozen=True, slots=True)
class When:
    """A condition; what is None does not matter.

    ``says`` and ``result`` are regular expressions, searched in the person's
    last words and in any of the newest results.
    """

    api: ApiName | None = None
    model: str | None = None
    says: str | None = None
    nth: int | None = None
    result: str | None = None

    def __call__(self, request: RequestView) -> bool:
        results = request.results
        return (
            (self.api is None or self.api == request.api)
            and (self.model is None or self.model == request.model)
            and (self.says is None or re.search(self.says, request.last_user) is not None)
            and (self.nth is None or self.nth == request.nth)
            and (
                self.result is None
                or any(re.search(self.result, item.text) is not None for item in results)
            )
        )


@dataclass(frozen=True, slots=True)
class Table:
    """The first row whose condition holds answers."""

    rows: tuple[tuple[Callable[[RequestView], bool], Reply], ...]

    def __call__(self, request: RequestView) -> Reply:
        for when, reply in self.rows:
            if when(request):
                return reply
        raise LookupError("no row of the script's table fits this request")


Script: TypeAlias = Sequence[Reply] | Callable[[RequestView], Reply]


class Player:
    """Walks through a script; a turn that still has to fail keeps its place."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._failures: dict[int, int] = {}
        self.nth = 0

    def reply(self, request: RequestView) -> Reply:
        """What the script answers; LookupError when it has nothing to say."""
        if callable(self._script):
            return self._script(request)
        if self.nth >= len(self._script):
            raise LookupError(f"the script has only {len(self._script)} turns")
        return self._script[self.nth]

    def failing(self, reply: Reply) -> Fault | None:
        """The fault that replaces this reply now, counted; None lets it through."""
        for fault in reply.faults:
            if not fault.replaces:
                continue
            done = self._failures.get(id(fault), 0)
            if fault.times is None:
                self.nth += 1
                return fault
            if done < fault.times:
                self._failures[id(fault)] = done + 1
                return fault
        return None
