"""What came together from a provider is told together, whatever its protocol."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from studio.domain.errors import ProviderError
from studio.domain.events import CallStarted, ReasoningDelta, TextDelta
from studio.domain.jsonvalue import JsonObject
from studio.providers.openai_chat.stream import ChatAccumulator
from studio.providers.sse import sse_batches
from studio.providers.stream_driver import StreamDriver
from support.call_count import calls_while
from support.provider_calls import drain

END: JsonObject = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def said(words: str, kind: str = "content") -> JsonObject:
    return {"choices": [{"index": 0, "delta": {kind: words}}]}


def called(name: str) -> JsonObject:
    call: JsonObject = {"index": 0, "id": "c1", "function": {"name": name, "arguments": "{}"}}
    return {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}


def stream_of(*chunks: list[JsonObject]) -> StreamDriver[JsonObject]:
    """A stream whose events come in these pieces."""

    lines = ["".join(f"data: {json.dumps(one)}\n\n" for one in events) for events in chunks]

    async def bytes_of() -> AsyncIterator[bytes]:
        for line in (*lines, "data: [DONE]\n\n"):
            yield line.encode()

    async def open(_: AsyncExitStack) -> AsyncIterator[list[JsonObject]]:
        return sse_batches(bytes_of())

    def fault(error: object) -> ProviderError:
        return ProviderError("server", str(error))

    return StreamDriver("openai-compatible", open, ChatAccumulator([], fault), fault)


async def test_l2_text_that_came_together_is_one_piece() -> None:
    stream = stream_of(
        [said("Let me", "reasoning"), said(" see.", "reasoning"), said("It"), said(" is")],
        [said(" red"), said("."), called("look"), said(" And"), said(" more.")],
        [END],
    )
    assert await drain(stream) == [
        ReasoningDelta("Let me see."),
        TextDelta("It is"),
        TextDelta(" red."),
        CallStarted("c1", "look"),
        TextDelta(" And more."),
    ]
    assert stream.reply().items[0]["content"] == "It is red. And more."


async def test_l12_what_came_before_a_fault_is_told() -> None:
    stream = stream_of([said("It"), said(" is"), {"error": {"message": "overloaded"}}, said("no")])
    told: list[object] = []
    with pytest.raises(ProviderError, match="overloaded"):
        async for delta in stream:
            told.append(delta)
    assert told == [TextDelta("It is")]
    assert stream.interrupted().items[0]["content"] == "It is"


async def test_l2_a_token_that_comes_with_others_takes_few_calls() -> None:
    """Nine, which read its event; 14 before, and those of each layer above the driver."""
    count = 500
    many = stream_of([said(f" {n}") for n in range(count)], [END])
    _, calls = await calls_while(drain(many))
    assert calls / count < 11
