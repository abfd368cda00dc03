"""What is asked of OpenAI and of compatible servers, and what they turn out not to take."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from studio.domain.errors import ProviderError
from studio.domain.messages import File, Image, Message, Text, ToolCall, ToolResult
from studio.domain.models import ModelInfo
from studio.providers.http import Http
from studio.providers.openai.adapter import OpenAIProvider
from studio.providers.openai_chat.adapter import CompatibleProvider
from studio.providers.openai_chat.errors import UnsupportedParameters, fault_of_error
from studio.providers.openai_chat.models import efforts_of, is_reasoning_model
from studio.simulator import Call, Raw, Simulator, Think, Turn
from studio.simulator import Text as Say
from support.provider_calls import answer, drain, fails, request, result

PDF = File("a.pdf", "application/pdf", b"%PDF")


def openai(simulator: Simulator, http: Http) -> OpenAIProvider:
    return OpenAIProvider("k", simulator.url("responses"), http)


def compatible(simulator: Simulator, http: Http) -> CompatibleProvider:
    return CompatibleProvider("k", simulator.url("chat"), http)


def refusal(api: Any, message: str, param: str | None = None) -> Raw:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": None}
    return Raw(api, json.dumps({"error": error}).encode(), "application/json", 400)


@pytest.mark.parametrize(
    ("model", "efforts"),
    [
        ("gpt-4.1", ""),
        ("gpt-5-chat-latest", ""),
        ("gpt-5.2-chat-latest", ""),
        ("gpt-5", "minimal low medium high"),
        ("gpt-5-mini-2025-08-07", "minimal low medium high"),
        ("gpt-5-pro", "high"),
        ("gpt-5-codex", "low medium high"),
        ("gpt-5.1", "none low medium high"),
        ("gpt-5.1-codex-mini", "low medium high"),
        ("gpt-5.1-codex-max", "low medium high xhigh"),
        ("gpt-5.2", "none low medium high xhigh"),
        ("gpt-5.2-pro", "medium high xhigh"),
        ("gpt-5.2-codex", "low medium high xhigh"),
        ("gpt-6.1-sol", "none low medium high xhigh"),
        ("o3", "low medium high"),
        ("o4-mini-2025-04-16", "low medium high"),
    ],
)
def test_reasoning_efforts_by_name(model: str, efforts: str) -> None:
    assert " ".join(efforts_of(model, None)) == efforts


def test_reasoning_facts_win_over_names() -> None:
    assert efforts_of("gpt-5", ModelInfo("gpt-5", efforts=("low",))) == ("low",)
    assert not is_reasoning_model("gpt-5", ModelInfo("gpt-5", efforts=()))
    assert not is_reasoning_model("gpt-5", ModelInfo("gpt-5", reasoning=False))
    assert is_reasoning_model("house-model", ModelInfo("house-model", reasoning=True))


async def test_reasoning_and_temperature_as_the_model_takes_them(http: Http) -> None:
    asked: list[tuple[str, Any, dict[str, Any]]] = [
        ("gpt-5.6", {"effort": "high"}, {"reasoning": {"summary": "auto", "effort": "high"}}),
        ("gpt-5.6", {"effort": "max"}, {"reasoning": {"summary": "auto", "effort": "xhigh"}}),
        ("gpt-5.6", {"temperature": 0.3}, {"reasoning": {"summary": "auto"}}),
        ("gpt-4o", {"effort": "high", "temperature": 0.3}, {"temperature": 0.3}),
        (
            "gpt-4o",
            {"temperature": 0.3, "facts": ModelInfo("gpt-4o", sampling=False)},
            {},
        ),
    ]
    async with Simulator([Turn(Say("Yes."))] * len(asked)) as sim:
        one = openai(sim, http)
        for model, more, _ in asked:
            await answer(one, one.user_items([Text("Hi.")]), model=model, **more)
        for exchange, (_, _, wanted) in zip(sim.requests, asked, strict=True):
            sent = {k: v for k, v in exchange.json.items() if k in ("reasoning", "temperature")}
            assert sent == wanted
            assert "include" not in exchange.json  # encrypted content comes by itself
        assert sim.violations == []


async def test_h9_a_session_has_its_key_for_the_cache(http: Http) -> None:
    async with Simulator([Turn(Say("Yes."))] * 2) as sim:
        one = openai(sim, http)
        for session in ("s" * 80, ""):
            await answer(one, one.user_items([Text("Hi.")]), session=session)
        keys = [exchange.json.get("prompt_cache_key") for exchange in sim.requests]
        assert keys == ["s" * 64, None]
    assert one.cache is not None
    assert CompatibleProvider("", "http://127.0.0.1/v1", http).cache is None


async def test_what_a_model_refuses_is_left_out_from_then_on(http: Http) -> None:
    script = [
        refusal("responses", "'high' is not supported with this model.", "reasoning.effort"),
        refusal("responses", "Unknown parameter: 'prompt_cache_key'."),
        Turn(Say("Yes.")),
        Turn(Say("Yes.")),
        Turn(Say("Yes.")),
    ]
    async with Simulator(script) as sim:
        one = openai(sim, http)
        for model in ("gpt-5.6", "gpt-5.6", "gpt-6"):
            history = one.user_items([Text("Hi.")])
            await answer(one, history, model=model, effort="high", session="s")
        sent = [
            ("effort" in exchange.json["reasoning"], "prompt_cache_key" in exchange.json)
            for exchange in sim.requests
        ]
        assert sent == [
            *((True, True), (False, True), (False, False)),
            (False, False),  # remembered
            (True, True),  # another model
        ]


async def test_another_bad_request_is_not_asked_again(http: Http) -> None:
    script = [refusal("responses", "Invalid 'input': something else.", "input")]
    async with Simulator(script) as sim:
        error = await fails(openai(sim, http), model="gpt-5.6", effort="high", session="s")
        assert (error.fault, len(sim.requests)) == ("bad_request", 1)


async def test_a_value_out_of_range_is_said(http: Http) -> None:
    words = "Invalid 'temperature': decimal above maximum value. Expected a value <= 2."
    async with Simulator([refusal("responses", words, "temperature")]) as sim:
        error = await fails(openai(sim, http), model="gpt-4o", temperature=3.0)
        assert (error.fault, len(sim.requests)) == ("bad_request", 1)


async def test_chat_what_a_server_refuses_is_left_out_from_then_on(http: Http) -> None:
    script = [
        refusal("chat", "Unrecognized request argument supplied: stream_options"),
        refusal("chat", "Unsupported parameter: 'reasoning_effort' is not supported."),
        refusal(
            "chat",
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            "max_tokens",
        ),
        Turn(Say("Yes.")),
        Turn(Say("Yes.")),
    ]
    async with Simulator(script) as sim:
        one = compatible(sim, http)
        for _ in range(2):
            history = one.user_items([Text("Hi.")])
            await answer(one, history, model="house-model", effort="low", output_limit=99)
        names = ("stream_options", "reasoning_effort", "max_tokens", "max_completion_tokens")
        sent = [[name for name in names if name in one.json] for one in sim.requests]
        assert sent == [
            ["stream_options", "reasoning_effort", "max_tokens"],
            ["reasoning_effort", "max_tokens"],
            ["max_tokens"],
            ["max_completion_tokens"],
            ["max_completion_tokens"],
        ]


async def test_chat_a_limit_that_is_too_large_is_no_refusal_of_limits(http: Http) -> None:
    words = "max_tokens is too large: 99. This model allows at most 50 completion tokens."
    async with Simulator([refusal("chat", words, "max_tokens")]) as sim:
        error = await fails(compatible(sim, http), output_limit=99)
        assert (error.fault, len(sim.requests)) == ("bad_request", 1)


@pytest.mark.parametrize(
    ("facts", "effort", "sent"),
    [
        (None, None, None),
        (None, "high", "high"),  # the person chose; the server may know it
        (ModelInfo("m", reasoning=True, efforts=("low", "medium")), "high", "medium"),
        (ModelInfo("m", reasoning=False), "high", None),
        (ModelInfo("m", efforts=()), "high", None),
    ],
)
async def test_chat_reasoning_only_where_it_is_taken(
    http: Http, facts: Any, effort: Any, sent: Any
) -> None:
    async with Simulator([Turn(Say("Yes."))]) as sim:
        one = compatible(sim, http)
        history = one.user_items([Text("Hi.")])
        await answer(one, history, model="house-model", facts=facts, effort=effort)
        assert sim.requests[0].json.get("reasoning_effort") == sent


def test_dialect_names_whole_parameters() -> None:
    one = UnsupportedParameters()
    words = "Unsupported parameter: use 'max_completion_tokens'"
    assert not one.learn("m", ["max_tokens"], words)
    assert one.learn("m", ["max_completion_tokens"], words)
    assert not one.learn("m", ["max_completion_tokens"], words)  # known already
    assert one.accepts("n", "max_completion_tokens")
    assert one.learn("m", ["reasoning.effort", "reasoning.summary"], "Not supported.", "reasoning")
    assert not one.accepts("m", "reasoning.summary")


@pytest.mark.parametrize("api", ["responses", "chat"])
async def test_h6_what_the_engine_says_may_follow_anything(http: Http, api: Any) -> None:
    turns = [Turn(Think("Hm."), Call("now")), Turn(Think("Hm."), Say("Yes.")), Turn(Say("Yes."))]
    async with Simulator(turns) as sim:
        one: Any = (openai if api == "responses" else compatible)(sim, http)
        history = one.user_items([Text("Hi.")]) + one.system_items("Today is Monday.")
        reply = await answer(one, history)
        history += one.result_items([result(call) for call in reply.calls]) + one.system_items(
            "Hurry."
        )
        await answer(one, history)
        history += one.system_items("Answer now.") + one.system_items("At once.")
        await answer(one, history)
        assert sim.violations == []
        roles = {item.get("role") for item in history if "Hurry." in str(item)}
        assert roles == {"developer" if api == "responses" else "user"}
    hosted = CompatibleProvider("k", "https://api.openai.com/v1", http)
    assert hosted.system_items("Hurry.") == [{"role": "developer", "content": "Hurry."}]


def test_l12_what_can_be_read() -> None:
    one = OpenAIProvider("k", "", Http())
    server = CompatibleProvider("", "http://127.0.0.1/v1", Http())
    picture = Image("image/png", b"\x89PNG")
    film = Image("image/gif", b"GIF89a....!\xff\x0bNETSCAPE2.0")
    assert one.media_problem(PDF) == ""
    assert "animated" in one.media_problem(film)
    assert "pictures" in one.media_problem(picture, ModelInfo("m", images=False))
    assert "PDF" in one.media_problem(PDF, ModelInfo("m", documents=False))
    assert server.media_problem(picture, ModelInfo("m")) == ""
    assert "pictures" in server.media_problem(picture, ModelInfo("m", images=False))
    assert "PDF" in server.media_problem(PDF)
    assert server.media_problem(PDF, ModelInfo("m", documents=True)) == ""
    assert CompatibleProvider("k", "https://api.openai.com/v1", Http()).media_problem(PDF) == ""


async def test_chat_a_model_that_cannot_see_is_sent_no_pictures(http: Http) -> None:
    async with Simulator([Turn(Say("Yes."))]) as sim:
        one = compatible(sim, http)
        history = one.user_items([Text("Look."), Image("image/png", b"\x89PNG")])
        await answer(one, history, facts=ModelInfo("demo-fast", images=False))
        assert "image_url" not in json.dumps(sim.requests[0].json)
        assert "image_url" in json.dumps(history)


@pytest.mark.parametrize("kind", ["responses", "chat"])
def test_h7_what_was_led_elsewhere_is_carried(kind: str) -> None:
    made: Any = {
        "responses": OpenAIProvider("k", "", Http()),
        "chat": CompatibleProvider("", "http://127.0.0.1/v1", Http()),
    }
    one = made[kind]
    picture = Image("image/png", b"\x89PNG")
    call = ToolCall("c", "look", None, '{"path": oops')
    history = one.rebuild(
        [
            Message("user", (Text("Hi."), Image("image/tiff", b"II"), PDF)),
            Message("assistant", (call,)),
            Message("user", (ToolResult("c", "look", (Text("A cat."), picture)),)),
        ]
    )
    told = json.dumps(history)
    assert "oops" in told
    assert "iVBORw==" in told
    assert "TIFF" in told
    assert "image/tiff" not in told
    assert ("application/pdf" in told) == (kind == "responses")
    assert one.history_problem(history) == ""


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        ({"code": "insufficient_quota"}, "no_credit"),
        ({"type": "insufficient_quota", "code": None}, "no_credit"),
        ({"code": "credit_balance_exhausted"}, "no_credit"),
        ({"code": "slow_down"}, "rate_limited"),
        ({"code": "rate_limit_exceeded", "type": "tokens"}, "rate_limited"),
        ({"code": "server_is_overloaded"}, "overloaded"),
        ({"code": "server_error"}, "server"),
        ({"code": "vector_store_timeout"}, "server"),
        ({"code": "invalid_prompt"}, "refused"),
        ({"code": "bio_policy"}, "refused"),
        ({"code": "image_too_large"}, "bad_request"),
        ({"code": "invalid_encrypted_content"}, "bad_history"),
        ({"message": "No tool output found for function call call_1."}, "bad_history"),
        ({"message": "maximum context length is 8192 tokens"}, "too_long"),
        ({"message": "Something."}, None),
    ],
)
def test_l12_what_errors_mean(error: Any, fault: Any) -> None:
    assert fault_of_error(error) == fault


@pytest.mark.parametrize(
    ("event", "fault"),
    [
        (
            {"type": "error", "code": "insufficient_quota", "message": "No.", "param": None},
            "no_credit",
        ),
        (
            {"type": "error", "error": {"type": "server_error", "code": "server_is_overloaded"}},
            "overloaded",
        ),
        (
            {"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded"}}},
            "rate_limited",
        ),
        ({"type": "response.failed", "response": {"error": {"code": "bio_policy"}}}, "refused"),
        ({"type": "response.failed", "response": {}}, "server"),
        ({"type": "error", "error": {"type": "invalid_request_error"}}, "bad_request"),
    ],
)
async def test_l12_errors_inside_a_stream(http: Http, event: Any, fault: str) -> None:
    data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
    async with Simulator([Raw("responses", data, "text/event-stream", 200)]) as sim:
        one = openai(sim, http)
        with pytest.raises(ProviderError) as caught:
            await drain(one.stream(request(one.user_items([Text("Hi.")]))))
        assert caught.value.fault == fault


async def test_p5_facts_as_servers_list_them(http: Http) -> None:
    listed = {
        "data": [
            {
                "id": "vendor/sees",
                "name": "Sees",
                "context_length": 200_000,
                "architecture": {"input_modalities": ["text", "image", "file"]},
                "supported_parameters": ["tools", "reasoning"],
                "top_provider": {"max_completion_tokens": 64_000},
            },
            {"id": "m", "capabilities": {"vision": False, "function_calling": True}},
            {"id": "plain", "max_model_len": 4096, "capabilities": ["completion"]},
        ]
    }

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = json.dumps(listed).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        sees, m, plain = await CompatibleProvider("", f"http://127.0.0.1:{port}", http).models()
    assert (sees.images, sees.documents, sees.tools, sees.reasoning) == (True, True, True, True)
    assert (sees.sampling, sees.output_limit, sees.title) == (False, 64_000, "Sees")
    assert (m.images, m.tools, m.sampling) == (False, True, None)
    assert plain == ModelInfo("plain", context_window=4096)
