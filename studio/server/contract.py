"""The contract between the dialects and the responder: requests, response parts, errors.

A dialect is pure translation between an API's JSON and these values. One request::

    request = dialect.read_request(body)                     # or BadRequest
    writer = dialect.response_writer(request, info, body)    # one for each response
    async for part in parts: ...            # text, reasoning, progress, calls, then one Outcome
        yield writer.frames(part)           # streamed: bytes of server-sent events
        writer.take(part)                   # whole
    writer.body()                           # what the parts came to
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Message, ToolCall
from studio.domain.models import Generation, Usage
from studio.domain.tools import ToolSpec


class BadRequest(Exception):
    """The client's request cannot be answered; the words are for its developer.

    ``param`` names the field (``messages[3].content``), ``code`` is the
    ecosystem's word where there is one (``model_not_found``).
    """

    def __init__(self, message: str, *, status: int = 400, param: str = "", code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.param = param
        self.code = code


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """One request.

    ``messages`` is the whole conversation in the client's order; results of
    tools are in ``user`` messages. ``instructions`` are the client's system
    and developer messages that come before all others, joined by blank lines; a
    later one stays in its place, wrapped (``INSTRUCTION_WRAPPER``).
    ``tools`` are the client's own, ``external``. ``previous`` is the response that
    this request continues, and ``messages`` then only what is new. One in the
    ``background`` goes on when its client leaves. Without ``stored``
    the response cannot be fetched later. A ``big`` request is processed in a thread.
    """

    model: str
    messages: tuple[Message, ...]
    instructions: str = ""
    tools: tuple[ToolSpec, ...] = ()
    generation: Generation = field(default_factory=Generation)
    stream: bool = False
    previous: str = ""
    user: str = ""
    stored: bool = True
    background: bool = False
    big: bool = False


WORKFLOW = "workflow/"
"""What stands before a workflow's name where a model's is meant."""
INSTRUCTION_WRAPPER = '<instructions from="client">\n{text}\n</instructions>'
"""A system message in the middle of a conversation, in its place."""


@dataclass(frozen=True, slots=True)
class ResponseInfo:
    """What a response says of itself. ``created`` is in seconds since the epoch.

    ``number`` is the ``TurnRef.number`` of its turn, or ``sealed``; each
    dialect puts its own prefix before it (``chatcmpl-``, ``resp_``, ``msg_``).
    """

    number: str
    model: str
    created: int


@dataclass(frozen=True, slots=True)
class TextPart:
    """More text of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """More text of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class ProgressPart:
    """A line about a step of the agent's tools, where the settings let it be shown."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    """The model calls one of the client's tools."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of an answer, exactly one, and the last part.

    ``error`` is a fault that ended it (then ``status`` and ``code`` say which,
    see ``errors``), ``retry_after`` the seconds that its cause asks to wait;
    ``limit`` is one of our own limits, in words that are part of the answer already.
    ``stopped_at`` is the client's stop text that it came to, where that is known.
    """

    stop: Literal["end", "calls", "length", "refused", "limit", "error"]
    usage: Usage = field(default_factory=Usage)
    detail: str = ""
    status: int = 500
    code: str = ""
    retry_after: float | None = None
    stopped_at: str = ""


ResponsePart: TypeAlias = TextPart | ReasoningPart | ProgressPart | ToolCallPart | Outcome


@dataclass(frozen=True, slots=True)
class TurnRef:
    """The turn that makes a response, and its session."""

    session_id: str
    turn_id: str

    @property
    def number(self) -> str:
        """64 hex digits, by which a client continues an answer (``ApiRequest.previous``)."""
        return f"{self.session_id}{self.turn_id}"

    @property
    def sealed(self) -> str:
        """As many digits that lead nowhere; always the same for this place."""
        return hashlib.sha256(self.number.encode()).hexdigest()


class ResponseWriter(Protocol):
    """Writes one response in one dialect: all its parts are streamed, or all taken."""

    def take(self, part: ResponsePart) -> None:
        """Take a part of a response that goes out in one piece."""
        ...

    def frames(self, part: ResponsePart) -> bytes:
        """Return the server-sent events of a part; the first one's come after the beginning."""
        ...

    def body(self) -> JsonObject:
        """Return the whole response, once the ``Outcome`` was taken (not one with ``error``)."""
        ...


SINCE = 1_767_225_600
"""2026-01-01, for models whose time of creation is unknown: APIs require one."""


@dataclass(frozen=True, slots=True)
class ListedModel:
    """One name that a client can send as ``model``. ``created`` is in seconds since the epoch."""

    id: str
    title: str
    owner: str
    created: int = SINCE


_COMPACT = json.JSONEncoder(separators=(",", ":"))
"""``json.dumps`` makes a new one for each text."""


def sse_event(data: JsonObject, name: str = "") -> bytes:
    """One server-sent event.

    In ASCII: some clients take the line separators of Unicode for the end of a
    line, and half of a character, cut in two by a provider, breaks nothing.
    """
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {_COMPACT.encode(data)}\n\n".encode()


def join_texts(texts: Sequence[str]) -> str:
    """Instructions that came in several messages, in order."""
    return "\n\n".join(text for text in texts if text.strip())
