"""Every fault against every provider of our own: a defined end, and the next request is taken.

L-6, H-5: whatever goes wrong on the wire, a reply or a ``ProviderError`` comes
of it, and what is kept of it is a history that the provider accepts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from studio.domain.errors import ProviderError
from studio.domain.messages import Text
from studio.providers.anthropic.adapter import AnthropicProvider
from studio.providers.base import Provider
from studio.providers.gemini.adapter import GeminiProvider
from studio.providers.http import Http
from studio.providers.ollama.adapter import OllamaProvider
from studio.providers.openai.adapter import OpenAIProvider
from studio.providers.openai_chat.adapter import CompatibleProvider
from studio.simulator import (
    ApiName,
    Byte,
    Call,
    Fault,
    Simulator,
    Think,
    Turn,
    content_type,
    cut,
    drip,
    dup,
    eof,
    error_event,
    every,
    framing,
    garbage,
    html,
    reorder,
    stall,
    status,
    tool_json,
    unknown,
    usage_odd,
)
from studio.simulator import Text as Say
from support.provider_calls import READ, drain, request, result

FAULTS: dict[str, Fault] = {
    **{f"status {code}": status(code) for code in (408, 409, 413, 429, 500, 503, 529)},
    "html": html(),
    **{f"cut at {at}": cut(at) for at in (0, 1, 4, 9, -1, Byte(77))},
    "reset": cut(5, reset=True),
    **{f"end at {at}": eof(at) for at in (0, 1, 4, 9, -1, Byte(400))},
    **{f"error at {at}": error_event(at=at) for at in (0, 3, 8, -1)},
    **{f"garbage {kind}": garbage(4, kind) for kind in ("json", "utf8", "truncated")},
    **{
        f"arguments {kind}": tool_json(kind)
        for kind in ("truncated", "invalid", "empty", "null", "double_encoded")
    },
    "dup": dup(-1),
    **{f"unknown {kind}": unknown(4, kind) for kind in ("event", "block", "delta", "stop")},
    **{f"order {kind}": reorder(kind) for kind in ("gap", "stranger", "same_id")},
    **{f"usage {kind}": usage_odd(kind) for kind in ("missing", "zero", "late", "decreasing")},
    "content type": content_type(),
    **{
        f"framing {kind}": framing(kind)
        for kind in ("multiline", "comments", "pings", "other_ends")
    },
    "stall": stall(4, 1),
    "drip": drip(10_000),
}
HARMLESS = ("usage", "framing", "stall", "drip", "unknown event", "unknown delta")
"""Faults that a reply survives whole."""
MODELS: dict[ApiName, str] = {
    "anthropic": "sim-preserved-1",
    "responses": "gpt-5.6",
    "chat": "demo-tools",
    "gemini": "sim-gemini-3",
    "ollama": "demo-thinker",
}


@pytest.fixture
async def http() -> AsyncIterator[Http]:
    http = Http()
    yield http
    await http.aclose()


def provider(api: ApiName, sim: Simulator, http: Http) -> Provider:
    made: dict[ApiName, Any] = {
        "anthropic": AnthropicProvider,
        "responses": OpenAIProvider,
        "chat": CompatibleProvider,
        "gemini": GeminiProvider,
        "ollama": OllamaProvider,
    }
    return made[api]("k", sim.url(api), http)


async def no_sleep(seconds: float) -> None:
    await asyncio.sleep(0)


@pytest.mark.parametrize("api", MODELS)
@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_leaves_a_history_that_goes_on(http: Http, api: ApiName, name: str) -> None:
    first = Turn(
        Think("Two files, I think."),
        Say("I'll read both – «ναι»."),
        Call("read_file", {"path": "a.txt"}),
        Call("read_file", {"path": "b.txt"}),
        stop="max_tokens" if name == "arguments truncated" else None,
        faults=[FAULTS[name]],
    )
    script = [first, Turn(Say("Done."))]
    async with Simulator(script, sleep=no_sleep, chunking=every(50)) as sim:
        one, model = provider(api, sim, http), MODELS[api]
        history = one.user_items([Text("What is in them?")])
        stream = one.stream(request(history, model=model, tools=(READ,)))
        try:
            await drain(stream)
            reply = stream.reply()
        except ProviderError:
            assert not name.startswith(HARMLESS)
            reply = stream.interrupted()
        await stream.aclose()
        history += reply.items
        assert [call.id for call in one.open_calls(history)] == [call.id for call in reply.calls]
        history += one.result_items([result(call, "no", error=True) for call in reply.calls])
        history += one.user_items([Text("Go on.")])
        assert one.history_problem(history) == ""
        stream = one.stream(request(history, model=model, tools=(READ,)))
        await drain(stream)
        assert stream.reply().stop == "end"
        assert [violation.message for violation in sim.violations] == []
        if name.startswith(HARMLESS):
            assert len(reply.calls) == 2
