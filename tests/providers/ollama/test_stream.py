"""Ollama's own API against the strict simulator, and lines as Ollama writes them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.domain.errors import ProviderError
from studio.domain.messages import File, Image, Text, ToolResult
from studio.domain.models import ModelInfo, Usage
from studio.providers.http import Http
from studio.providers.ollama.adapter import OllamaAccumulator, OllamaProvider, server_address
from studio.simulator import (
    Call,
    Raw,
    Simulator,
    Think,
    Turn,
    cut,
    eof,
    error_event,
    every,
    garbage,
    html,
    stall,
    status,
)
from studio.simulator import Text as Say
from studio.simulator import Usage as Tokens
from support.provider_calls import (
    CONVERSATION,
    TWO_ITERATIONS,
    answer,
    drain,
    fails,
    request,
    stopped,
    thoughts,
    two_iterations,
    words,
)


def chats(simulator: Simulator) -> list[Any]:
    """The bodies of the chat requests, in order."""
    return [one.json for one in simulator.requests if one.path == "/api/chat"]


def provider(simulator: Simulator, http: Http, key: str = "") -> OllamaProvider:
    return OllamaProvider(key, simulator.url("ollama"), http)


@pytest.mark.parametrize("chunking", ["whole", "event", every(1), every(7), "adversarial"])
async def test_h8_two_iterations_have_their_calls_and_results(http: Http, chunking: Any) -> None:
    """H-8, H-3, H-4, H-6."""
    async with Simulator(TWO_ITERATIONS, strict="beyond", chunking=chunking) as sim:
        await two_iterations(provider(sim, http), sim)
        asked = chats(sim)
        second: Any = asked[1]["messages"]
        roles = [message["role"] for message in second]
        assert roles == ["system", "user", "assistant", "tool", "tool", "tool"]
        calls = second[2]["tool_calls"]
        assert [call["function"]["name"] for call in calls] == ["read_file", "read_file", "now"]
        assert [message["tool_name"] for message in second[3:]] == ["read_file", "read_file", "now"]
        assert [message["tool_call_id"] for message in second[3:]] == [call["id"] for call in calls]
        assert "b\u00e4 😀.txt" in second[4]["content"]
        third: Any = asked[2]["messages"]
        assert third[:6] == second  # H-1: append-only


async def test_h1_thinking_and_usage_survive(http: Http) -> None:
    turn = Turn(Think("Hm."), Say("Grüße."), usage=Tokens(inp=1200, out=80))
    async with Simulator([turn, Turn(Say("."))]) as sim:
        one = provider(sim, http)
        history = one.user_items([Text("Hi.")])
        stream = one.stream(request(history))
        deltas = await drain(stream)
        reply = stream.reply()
        assert (words(deltas), thoughts(deltas)) == ("Grüße.", "Hm.")
        assert reply.usage == Usage(input=1200, output=80)
        assert reply.items == [{"role": "assistant", "content": "Grüße.", "thinking": "Hm."}]


async def test_p1_the_context_size_is_real(http: Http) -> None:
    async with Simulator([Turn(Say("Yes."))] * 4) as sim:
        one = provider(sim, http)
        for model, known in (
            ("demo-fast", None),
            ("demo-fast", 4096),
            ("demo-fast", 1_000_000),
            ("unheard-of", None),
        ):
            await answer(
                one,
                one.user_items([Text("Hi.")]),
                model=model,
                facts=ModelInfo("", context_window=known),
                output_limit=99,
            )
        sizes = [body["options"] for body in chats(sim)]
        assert sizes == [{"num_ctx": size, "num_predict": 99} for size in (8192, 4096, 8192, 8192)]
        # What is longer is to be refused, not shortened in silence.
        assert [(body["truncate"], body["shift"]) for body in chats(sim)] == [(False, False)] * 4
        # Asked once, where there is an answer.
        assert [one.path for one in sim.requests].count("/api/show") == 2


async def test_h5_stopped_in_text(http: Http) -> None:
    turn = Turn(Say("one two three four five six"), faults=[stall(-2)])
    async with Simulator([turn, Turn(Say("Yes."))], strict="beyond") as sim:
        kept = await stopped(provider(sim, http), sim, lambda kept: kept.items)
        assert str(kept.items[0]["content"]).startswith("one")


async def test_h5_stopped_after_a_call(http: Http) -> None:
    turn = Turn(
        Call("read_file", {"path": "a"}), Call("read_file", {"path": "b"}), faults=[stall(-1)]
    )
    async with Simulator([turn, Turn(Say("Yes."))], strict="beyond") as sim:
        kept = await stopped(provider(sim, http), sim, lambda kept: len(kept.calls) == 2)
        assert [call.arguments for call in kept.calls] == [{"path": "a"}, {"path": "b"}]


async def test_the_output_limit(http: Http) -> None:
    async with Simulator([Turn(Say("one two"), stop="max_tokens")]) as sim:
        one = provider(sim, http)
        assert (await answer(one, one.user_items([Text("Hi.")]))).stop == "max_tokens"


async def test_h7_a_conversation_led_elsewhere_is_accepted(http: Http) -> None:
    async with Simulator([Turn(Say("Yes."))], strict="beyond") as sim:
        one = provider(sim, http)
        history = one.rebuild(CONVERSATION)
        assert one.open_calls(history) == []
        await answer(one, history)
        assert sim.violations == []
        tools = [message for message in history if message["role"] == "tool"]
        assert [message["content"] for message in tools[:2]] == ["A", "Error: B"]
        assert tools[0]["images"] == ["iVBORw=="]


def test_what_a_person_says() -> None:
    one = OllamaProvider("", "", Http())
    [message] = one.user_items(
        [Text("a"), Image("image/png", b"\x89PNG"), File("x.pdf", "application/pdf", b"%")]
    )
    assert message["images"] == ["iVBORw=="]
    assert "x.pdf" in str(message["content"])
    [tool] = one.result_items([ToolResult("1", "look", ())])
    assert tool == {
        "role": "tool",
        "tool_name": "look",
        "tool_call_id": "1",
        "content": "(no output)",
    }


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (status(401), "no_key"),
        (status(429, retry_after=7), "rate_limited"),
        (status(500), "server"),
        (status(503), "overloaded"),
        (html(), "protocol"),
        (error_event("server", 2), "server"),
        (garbage(2), "protocol"),
        (cut(2), "network"),
        (cut(2, reset=True), "network"),
        (eof(2), "network"),
        (cut("headers"), "network"),
    ],
)
async def test_l12_faults_are_named(http: Http, fault: Any, kind: str) -> None:
    async with Simulator([Turn(Say("one two three four"), faults=[fault])]) as sim:
        error = await fails(provider(sim, http))
        assert (error.fault, error.provider) == (kind, "ollama")
        assert error.retry_after == (7 if fault.retry_after else None)


async def test_unknown_model_other_server_no_server(http: Http) -> None:
    async with Simulator([Turn(Say("Yes."))]) as sim:
        missing = await fails(provider(sim, http), model="missing-model")
        assert missing.fault == "not_found"
        assert "missing-model" in str(missing)
        wrong = Raw("ollama", b'{"object": "chat.completion"}\n')
    async with Simulator([wrong], strict=False) as sim:
        one = provider(sim, http)
        assert (await fails(one)).fault == "protocol"
    assert (await fails(one)).fault == "network"
    with pytest.raises(ProviderError) as caught:
        await one.models()
    assert caught.value.fault == "network"


async def test_p2_models(http: Http) -> None:
    async with Simulator([]) as sim:
        models = await provider(sim, http).models()
        assert models
        assert not [model.id for model in models if "embed" in model.id]


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8000", "http://127.0.0.1:8000"),
        (":8000", "http://127.0.0.1:8000"),
        ("box", "http://box:11434"),
        ("box:8000/", "http://box:8000"),
        ("http://box:8000/v1", "http://box:8000"),
        ("https://ollama.com/api/", "https://ollama.com"),
        ("https://host/ollama", "https://host/ollama"),
        ("[::1]:8000", "http://[::1]:8000"),
        ("::1", "http://[::1]:11434"),
        (' "box:1" ', "http://box:1"),
    ],
)
def test_addresses(given: str, url: str) -> None:
    assert server_address(given) == url
    assert server_address(url) == url


def fold(*lines: Any, history: Any = (), window: int = 8192) -> OllamaAccumulator:
    folded = OllamaAccumulator(history, window, lambda error: ProviderError("server", str(error)))
    for line in lines:
        list(folded.feed(line))
    return folded


def said(done: bool = False, **message: Any) -> dict[str, Any]:
    return {"message": {"role": "assistant", **message}, "done": done}


def call(name: str, arguments: Any, **more: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}, **more}


def test_h4_ids_where_ollama_gives_none() -> None:
    lines = [
        said(content="", tool_calls=[call("now", {}), call("now", {}, id="a")]),
        said(content="", tool_calls=[call("now", '{"a": 1,}'), call("now", "{oops", id="a")]),
        {"done": True, "done_reason": "stop", "message": {"role": "assistant", "content": ""}},
    ]
    first, again = fold(*lines).reply(), fold(*lines).reply()
    assert [one.id for one in first.calls] == [one.id for one in again.calls]
    assert len({one.id for one in first.calls}) == 4
    assert [one.arguments for one in first.calls] == [{}, {}, {"a": 1}, None]
    assert first.stop == "tool_use"
    sent: Any = first.items[0]["tool_calls"]
    assert all(isinstance(one["function"]["arguments"], dict) for one in sent)
    later = fold(*lines, history=[{"role": "user", "content": "x"}, *first.items]).reply()
    assert not {one.id for one in later.calls} & {one.id for one in first.calls}


def test_the_context_is_full() -> None:
    last = {"done": True, "done_reason": "length", "prompt_eval_count": 8000, "eval_count": 192}
    assert fold(said(content="a"), last).reply().stop == "context_full"
    assert fold(said(content="a"), last, window=16_000).reply().stop == "max_tokens"


def test_an_error_in_the_middle() -> None:
    with pytest.raises(ProviderError, match="out of memory"):
        fold(said(content="a"), {"error": "out of memory"})


@given(st.integers(0, 5))
def test_h5_interrupted_anywhere_is_valid(count: int) -> None:
    lines = [
        said(thinking="Hm"),
        said(content="I'll "),
        said(content="look"),
        said(content="", tool_calls=[call("now", {})]),
        {"done": True},
    ]
    kept = fold(*lines[:count]).interrupted()
    for message in kept.items:
        assert message["content"] or message["tool_calls"]
    assert len(kept.calls) == (1 if count > 3 else 0)
