"""Steps of a conversation with a provider, as the loop takes them; used by provider tests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from studio.domain.errors import ProviderError
from studio.domain.events import CallStarted, Delta, ReasoningDelta, TextDelta
from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import (
    File,
    Image,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from studio.domain.tools import ToolSpec
from studio.providers.base import Provider, Reply, ReplyStream, Request
from studio.simulator import Call, Simulator, Think, Turn
from studio.simulator import Text as Say
from studio.simulator import Usage as Tokens
from support.waiting import HANG

READ = ToolSpec(
    "read_file",
    "Read a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
NOW = ToolSpec("now", "The time.", {"type": "object", "properties": {}})

RECORDINGS = Path(__file__).parents[3] / "shared" / "recordings"


def request(
    history: Sequence[JsonObject],
    model: str = "demo-fast",
    system: str = "Be brief.",
    tools: Sequence[ToolSpec] = (READ, NOW),
    **more: Any,
) -> Request:
    return Request(model=model, history=list(history), system=system, tools=tools, **more)


async def drain(stream: ReplyStream) -> list[Delta]:
    return [delta async for delta in stream]


async def answer(provider: Provider, history: list[JsonObject], **more: Any) -> Reply:
    """One request; the reply is appended to the history."""
    stream = provider.stream(request(history, **more))
    await drain(stream)
    reply = stream.reply()
    history += reply.items
    return reply


async def fails(provider: Provider, **more: Any) -> ProviderError:
    """One request that fails with a ProviderError."""
    with pytest.raises(ProviderError) as caught:
        await drain(provider.stream(request(provider.user_items([Text("Hi.")]), **more)))
    return caught.value


def result(call: ToolCall, text: str = "", *, error: bool = False) -> ToolResult:
    words = text or f"result of {call.name} {json.dumps(call.arguments, ensure_ascii=False)}"
    return ToolResult(call.id, call.name, (Text(words),), error)


def words(deltas: Sequence[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


def thoughts(deltas: Sequence[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))


def started(deltas: Sequence[Delta]) -> list[tuple[str, str]]:
    return [(d.call_id, d.name) for d in deltas if isinstance(d, CallStarted)]


def recorded(start: str) -> list[dict[str, Any]]:
    """The exchanges of a recording; fails, and says so, where the recordings are not here."""
    files = sorted(RECORDINGS.glob(f"{start}*.json"))
    if not files:
        pytest.fail(f"The recorded exchanges are not here: {RECORDINGS}/{start}*.json")
    return json.loads(files[0].read_text(encoding="utf-8"))["exchanges"]


CONVERSATION = [
    Message("user", (Text("What is in a.txt and b.txt?"), Image("image/png", b"\x89PNG"))),
    Message(
        "assistant",
        (
            Reasoning("Two files."),
            Text("I'll look."),
            ToolCall("toolu_1", "read_file", {"path": "a.txt"}),
            ToolCall("toolu_1", "read_file", {"path": "b.txt"}),
        ),
    ),
    # Results out of order, one of them with a picture, one foreign.
    Message(
        "user",
        (
            ToolResult("toolu_1", "read_file", (Text("A"), Image("image/png", b"\x89PNG"))),
            ToolResult("nobody", "read_file", (Text("?"),)),
            ToolResult("toolu_1", "read_file", (Text("B"),), is_error=True),
        ),
    ),
    Message("assistant", (ToolCall("toolu_1", "now", {}),)),  # cut off: no result
    Message("user", (Text("Go on."), File("n.txt", "text/plain", "früh".encode()))),
    Message("assistant", (Reasoning("Only thoughts."),)),
    Message("user", (Text("Well?"),)),
]
"""A conversation led elsewhere, with everything that can be wrong with one."""

TWO_CALLS = Turn(
    Think("Both, and the time."),
    Say("I'll look."),
    Call("read_file", {"path": "a.txt"}),
    Call("read_file", {"path": "b\u00e4 😀.txt"}),
    Call("now"),
    usage=Tokens(inp=1200, cache_read=1000, out=80, reasoning=40),
)
"""The same function twice, and one without arguments."""


async def two_iterations(provider: Provider, simulator: Simulator, **more: Any) -> list[JsonObject]:
    """H-8 and H-4: two steps with calls, then an answer; every result under its own call."""
    history = provider.user_items([Text("What is in a.txt and b.txt?")])
    stream = provider.stream(request(history, **more))
    deltas = await drain(stream)
    reply = stream.reply()
    history += reply.items
    assert reply.stop == "tool_use"
    assert [(call.name, call.arguments) for call in reply.calls] == [
        ("read_file", {"path": "a.txt"}),
        ("read_file", {"path": "b\u00e4 😀.txt"}),
        ("now", {}),
    ]
    assert len({call.id for call in reply.calls}) == 3
    assert started(deltas) == [(call.id, call.name) for call in reply.calls]
    assert words(deltas) == "I'll look."
    assert provider.open_calls(history) == reply.calls  # H-5: a crash between call and result
    history += provider.result_items([result(call) for call in reply.calls])
    assert provider.open_calls(history) == []

    second = await answer(provider, history, **more)
    assert [call.arguments for call in second.calls] == [{"path": "c.txt"}]
    # H-3: only the last reply's call is open, the older results stay where they are.
    assert provider.open_calls(history) == second.calls
    history += provider.result_items([result(second.calls[0], "no such file", error=True)])
    history += provider.system_items("Answer now.")

    third = await answer(provider, history, **more)
    assert third.stop == "end"
    assert third.calls == []
    assert simulator.violations == []
    return history


TWO_ITERATIONS = [TWO_CALLS, Turn(Call("read_file", {"path": "c.txt"})), Turn(Say("Done."))]


async def stopped(
    provider: Provider, simulator: Simulator, until: Callable[[Reply], object], **more: Any
) -> Reply:
    """H-5, L-11: a request that hangs is stopped; what is kept is accepted by the next.

    Stops once ``until`` holds for what would be kept.
    """
    history = provider.user_items([Text("Read.")])
    stream = provider.stream(request(history, **more))
    reached = asyncio.Event()

    async def read() -> None:
        async for _ in stream:
            if until(stream.interrupted()):
                reached.set()

    task = asyncio.create_task(read())
    await asyncio.wait_for(reached.wait(), HANG)
    # Ollama is asked about the model first.
    asked = next(one for one in simulator.requests if one.path != "/api/show")
    await asyncio.wait_for(asked.stalled.wait(), HANG)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await stream.aclose()
    await asyncio.wait_for(simulator.wait_disconnect(asked.number), HANG)
    with pytest.raises(ProviderError):
        stream.reply()
    kept = stream.interrupted()
    history += kept.items
    assert provider.open_calls(history) == kept.calls
    history += provider.result_items([result(call, "cancelled", error=True) for call in kept.calls])
    history += provider.user_items([Text("Go on.")])
    assert (await answer(provider, history, **more)).stop == "end"
    assert simulator.violations == []
    return kept
