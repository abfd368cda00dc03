"""What the tests of the server's dialects share: parts, JSON, and a server that plays frames."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from studio.domain.messages import ToolCall
from studio.domain.models import Usage
from studio.server.contract import (
    BadRequest,
    Outcome,
    ProgressPart,
    ReasoningPart,
    ResponseInfo,
    ResponsePart,
    ResponseWriter,
    TextPart,
    ToolCallPart,
)
from studio.server.dialects.base import Dialect
from support import local_site

NUMBER = "0123456789abcdef0123456789abcdef"
ABOUT = ResponseInfo(NUMBER, "agent/Coder", 1_800_000_000)
USED = Usage(input=100, cache_read=40, cache_write=10, output=30, reasoning=20)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("\ud83d"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
arguments = st.dictionaries(
    st.text(max_size=8), st.none() | st.booleans() | st.integers() | st.text(), max_size=3
)
# Line ends of every kind, what ends a frame, a half of a character.
texts = st.text(max_size=20) | st.sampled_from(
    ["", " ", "\n\n", "\r", "\u2028", "\x85", "data: [DONE]\n\n", "\ud83d", "a\ude00b"]
)
names = st.from_regex(r"[A-Za-z0-9_-]{1,20}", fullmatch=True)


@st.composite
def answers(draw: st.DrawFn) -> list[ResponsePart]:
    """Any parts of one answer; ids of calls are their own."""
    count = draw(st.integers(0, 8))
    parts: list[ResponsePart] = []
    for index in range(count):
        match draw(st.sampled_from(["words", "thoughts", "progress", "call"])):
            case "words":
                parts.append(TextPart(draw(texts)))
            case "thoughts":
                parts.append(ReasoningPart(draw(texts)))
            case "progress":
                parts.append(ProgressPart(draw(texts)))
            case _:
                given = draw(arguments | st.none())
                raw = "{oh" if given is None else ""
                parts.append(ToolCallPart(ToolCall(f"call_{index}", draw(names), given, raw)))
    stop = draw(st.sampled_from(["end", "calls", "length", "refused", "limit"]))
    usage = Usage(*(draw(st.integers(0, 10**6)) for _ in range(5)))
    return [*parts, Outcome(stop, usage, draw(texts))]


def spoken(dialect: Dialect, body: dict[str, Any]) -> ResponseWriter:
    return dialect.response_writer(dialect.read_request(body), ABOUT, body)


def frames(spoken: ResponseWriter, parts: Sequence[ResponsePart]) -> list[tuple[str, str]]:
    """Name and data of each event, as a plain reader of server-sent events sees them.

    It takes for the end of a line whatever Python does, as several clients do.
    """
    stream = b"".join(spoken.frames(part) for part in parts).decode()
    found: list[tuple[str, str]] = []
    name, data = "", []
    for line in stream.splitlines():
        if line.startswith("event: "):
            name = line[7:]
        elif line.startswith("data: "):
            data.append(line[6:])
        else:
            assert line == "", f"not a line of an event: {line!r}"
            found.append((name, "\n".join(data)))
            name, data = "", []
    assert not data, "the last event has no end"
    return found


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of everything within a JSON value, itself first."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [at, *(place for key, one in inner for place in places(one, (*at, key)))]


@st.composite
def broken(draw: st.DrawFn, whole: dict[str, Any]) -> dict[str, Any]:
    """A request in which up to three things are something else, or gone."""
    body = copy.deepcopy(whole)
    for _ in range(draw(st.integers(1, 3))):
        *path, last = draw(st.sampled_from(places(body)[1:] or [("model",)]))
        holder: Any = body
        for key in path:
            holder = holder[key]
        if draw(st.booleans()):
            holder[last] = draw(json_values)
        elif isinstance(holder, dict):
            holder.pop(last, None)
        else:
            del holder[last]
    return body


def play(dialect: Dialect, parts: Sequence[ResponsePart]) -> local_site.Handler:
    """A page that reads a request and answers with these parts, whole or streamed."""

    async def write(asked: local_site.SiteRequest, writer: asyncio.StreamWriter) -> None:
        body = json.loads(asked.body)
        try:
            request = dialect.read_request(body)
        except BadRequest as wrong:
            found = {"status": wrong.status, "code": wrong.code, "param": wrong.param}
            await refuse(dialect, str(wrong), **found)(asked, writer)
            return
        spoken = dialect.response_writer(request, ABOUT, body)
        if not request.stream:
            for part in parts:
                spoken.frames(part)
            whole = json.dumps(spoken.body()).encode()
            await local_site.answer(whole, "application/json")(asked, writer)
            return
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        for part in parts:
            writer.write(spoken.frames(part))
            await writer.drain()

    return write


def refuse(dialect: Dialect, message: str, *, status: int, **more: str) -> local_site.Handler:
    data = json.dumps(dialect.error_body(message, status=status, **more)).encode()
    return local_site.answer(data, "application/json", status)
