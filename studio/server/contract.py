"""What a request asks and what answers it, whatever dialect it is spoken in.

A dialect (``chat``, ``responses``, ``messages``) is pure translation between an
API's JSON and these values; who answers is none of its business. One request::

    asked = dialect.asked(body)              # or BadRequest
    spoken = dialect.speak(asked, about)     # one object for each answer
    async for part in answer: ...            # Words, Thoughts, Step, Call, then one Outcome
        yield spoken.frames(part)            # streamed: bytes of server-sent events
    spoken.body()                            # whole: what the same parts come to
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncGenerator, Callable, Sequence
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
    tools travel in ``user`` messages. ``instructions`` are the client's system
    and developer words that come before all others, joined by blank lines; a
    later one stands in its place, as words of the client (``instructed``).
    ``tools`` are the client's own, ``external``. ``previous`` is the answer that
    this one goes on from, and ``messages`` then only what is new. Without ``stored``
    the answer cannot be asked for later. ``big``: it is so much that what looks at
    all of it does so in a thread.
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
    big: bool = False


INSTRUCTION_WRAPPER = '<instructions from="client">\n{text}\n</instructions>'
"""A system message in the middle of a conversation, in its place."""


@dataclass(frozen=True, slots=True)
class ResponseInfo:
    """What an answer says of itself. ``created`` is in seconds since the epoch.

    ``number`` is the ``TurnRef.number`` of where it is made, or ``sealed``; each
    dialect puts its own prefix before it (``chatcmpl-``, ``resp_``, ``msg_``).
    """

    number: str
    model: str
    created: int


@dataclass(frozen=True, slots=True)
class TextPart:
    """More of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """More of what the model thinks."""

    text: str


@dataclass(frozen=True, slots=True)
class ProgressPart:
    """A line about what the agent does here, where the person lets it be shown: a tool's step."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    """The model calls one of the client's tools."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of an answer, exactly one, and the last part.

    ``error`` is a fault that ended it (then ``status`` and ``code`` say which,
    see ``faults``), ``retry_after`` the seconds that its cause asks to wait;
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


DialectName: TypeAlias = Literal["chat", "responses", "messages"]


@dataclass(frozen=True, slots=True)
class TurnRef:
    """Where an answer is made: a session, and the turn in it."""

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


class Answers(Protocol):
    """Who answers (``answering``). Closing a stream of parts stops its turn.

    Before its first part it may raise BadRequest or StudioError; after that an
    error is an ``Outcome``. ``begun`` hears where the answer is made, at the
    latest before the first part. ``door`` is the dialect's name (``chat``,
    ``responses``, ``messages``).
    """

    def answer(
        self, asked: ApiRequest, door: DialectName, begun: Callable[[TurnRef], None]
    ) -> AsyncGenerator[ResponsePart, None]:
        """Answer a request."""
        ...

    def again(
        self,
        asked: ApiRequest,
        door: DialectName,
        place: TurnRef,
        since: float,
        begun: Callable[[TurnRef], None],
    ) -> AsyncGenerator[ResponsePart, None]:
        """The answer to a request that was made before, at the time ``since``, and is repeated.

        A finished turn's is read from its transcript, and no tool runs again. A
        turn that was cut short is gone on with, in a turn of its own after it
        (``begun`` hears of that), and what was done before is kept. Where its
        session is gone, BadRequest if a tool has run, else it is answered anew.
        """
        ...


class ResponseWriter(Protocol):
    """One answer in one dialect; takes every part, streamed or not."""

    def frames(self, part: ResponsePart) -> bytes:
        """What goes out for a part, server-sent events; with the first one the beginning too."""
        ...

    def body(self) -> JsonObject:
        """The whole answer, once the ``Outcome`` was taken (not one with ``error``)."""
        ...


class Dialect(Protocol):
    """One API's shape of requests, answers and errors."""

    def asked(self, body: JsonObject) -> ApiRequest:
        """Read a request; raises BadRequest that names the field."""
        ...

    def speak(self, asked: ApiRequest, about: ResponseInfo, body: JsonObject) -> ResponseWriter:
        """``body`` is the request again, for what only the dialect cares about."""
        ...

    def error(self, message: str, *, status: int, code: str = "", param: str = "") -> JsonObject:
        """The body of an error in this API's shape."""
        ...


def sse_event(data: JsonObject, name: str = "") -> bytes:
    """One server-sent event.

    In ASCII: some clients take the line separators of Unicode for the end of a
    line, and half of a character, cut in two by a provider, breaks nothing.
    """
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


def join_texts(texts: Sequence[str]) -> str:
    """Instructions that came in several messages, in order."""
    return "\n\n".join(text for text in texts if text.strip())
