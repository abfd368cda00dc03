"""Chat Completions against the strict simulator, recordings, and odd servers."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.domain.errors import ProviderError
from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import File, Image, Text, ToolResult
from studio.domain.models import Usage
from studio.providers.http import Http
from studio.providers.openai_chat.adapter import CompatibleProvider
from studio.providers.openai_chat.stream import ChatAccumulator
from studio.providers.sse import DONE, sse_batches
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
    tool_json,
)
from studio.simulator import Text as Say
from studio.simulator import Usage as Tokens
from support.cpu_cost import grows_linearly
from support.provider_calls import (
    CONVERSATION,
    TWO_ITERATIONS,
    answer,
    drain,
    fails,
    recorded,
    request,
    result,
    started,
    stopped,
    thoughts,
    two_iterations,
    words,
)


def provider(simulator: Simulator, http: Http, key: str = "sim-key") -> CompatibleProvider:
    return CompatibleProvider(key, simulator.url("chat"), http)


@pytest.mark.parametrize("chunking", ["whole", "event", every(1), every(7), "adversarial"])
async def test_h8_two_iterations_have_their_calls_and_results(http: Http, chunking: Any) -> None:
    """H-8, H-3, H-4, H-6."""
    async with Simulator(TWO_ITERATIONS, strict="beyond", chunking=chunking) as sim:
        await two_iterations(provider(sim, http), sim)
        second: Any = sim.requests[1].json["messages"]
        roles = [message["role"] for message in second]
        assert roles == ["system", "user", "assistant", "tool", "tool", "tool"]
        ids = [call["id"] for call in second[2]["tool_calls"]]
        assert [message["tool_call_id"] for message in second[3:]] == ids
        assert "b\u00e4 😀.txt" in second[4]["content"]
        third: Any = sim.requests[2].json["messages"]
        assert third[:6] == second  # H-1: append-only
        assert [message["role"] for message in third[6:]] == ["assistant", "tool", "user"]
        assert third[-1]["content"] == "Answer now."


async def test_h1_reasoning_and_usage_survive(http: Http) -> None:
    turn = Turn(
        Think("Hm."),
        Say("Grüße."),
        usage=Tokens(inp=1200, cache_read=1000, out=80, reasoning=40),
    )
    async with Simulator([turn, Turn(Say("."))]) as sim:
        one = provider(sim, http)
        history = one.user_items([Text("Hi.")])
        stream = one.stream(request(history))
        deltas = await drain(stream)
        reply = stream.reply()
        assert words(deltas) == "Grüße."
        assert thoughts(deltas) == "Hm."
        assert reply.usage == Usage(input=1200, cache_read=1000, output=80, reasoning=40)
        history += reply.items + one.user_items([Text("And?")])
        await answer(one, history)
        sent: Any = sim.requests[1].json["messages"][2]
        assert sent == reply.items[0]
        assert "Hm." in (sent.get("reasoning_content"), sent.get("reasoning"))


async def test_h5_stopped_in_text(http: Http) -> None:
    turn = Turn(Say("one two three four five six"), faults=[stall(-3)])
    async with Simulator([turn, Turn(Say("Yes."))]) as sim:
        kept = await stopped(provider(sim, http), sim, lambda kept: kept.items)
        assert str(kept.items[0]["content"]).startswith("one")


async def test_h5_stopped_in_a_call(http: Http) -> None:
    turn = Turn(
        Call("read_file", {"path": "a.txt"}),
        Call("read_file", {"path": "b" * 200}),
        faults=[stall(-5)],
    )
    async with Simulator([turn, Turn(Say("Yes."))]) as sim:
        kept = await stopped(provider(sim, http), sim, lambda kept: len(kept.calls) == 1)
        assert [call.arguments for call in kept.calls] == [{"path": "a.txt"}]


async def test_h5_cut_off_at_the_output_limit_inside_a_call(http: Http) -> None:
    turn = Turn(
        Say("Writing."),
        Call("read_file", {"path": "a" * 90}),
        stop="max_tokens",
        faults=[tool_json("truncated")],
    )
    async with Simulator([turn, Turn(Say("Yes."))]) as sim:
        one = provider(sim, http)
        history = one.user_items([Text("Write.")])
        reply = await answer(one, history)
        assert (reply.stop, reply.calls) == ("max_tokens", [])
        assert history[-1] == {"role": "assistant", "content": "Writing."}
        history += one.user_items([Text("Go on.")])
        await answer(one, history)
        assert sim.violations == []


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [("truncated", None), ("invalid", {"path": "aaaaaaaaa"}), ("empty", {})],
)
async def test_l6_odd_arguments(http: Http, kind: Any, arguments: Any) -> None:
    turn = Turn(Call("read_file", {"path": "aaaaaaaaa"}), faults=[tool_json(kind)])
    async with Simulator([turn, Turn(Say("Yes."))]) as sim:
        one = provider(sim, http)
        history = one.user_items([Text("Read.")])
        reply = await answer(one, history)
        assert reply.stop == "tool_use"
        assert reply.calls[0].arguments == arguments
        history += one.result_items([result(reply.calls[0], "again, in JSON", error=True)])
        await answer(one, history)
        assert sim.violations == []


async def test_h7_a_conversation_led_elsewhere_is_accepted(http: Http) -> None:
    async with Simulator([Turn(Say("Yes."))], strict="beyond") as sim:
        one = provider(sim, http)
        history = one.rebuild(CONVERSATION)
        assert one.open_calls(history) == []
        await answer(one, history)
        assert sim.violations == []
        roles = [message["role"] for message in history]
        assert roles == [
            *("user", "assistant", "tool", "tool", "user"),
            *("assistant", "tool", "user", "assistant"),
        ]
        tools = [message for message in history if message["role"] == "tool"]
        assert [message["content"] for message in tools[:2]] == ["A", "Error: B"]
        assert len({str(message["tool_call_id"]) for message in tools}) == 3
        assert "früh" in str(history[-2]["content"])


def test_pictures_of_results_follow_the_tool_messages() -> None:
    one = CompatibleProvider("", "http://127.0.0.1/v1", Http())
    picture = Image("image/png", b"\x89PNG")
    messages = one.result_items(
        [
            ToolResult("1", "look", (picture,)),
            ToolResult("2", "look", (Text("words"),)),
        ]
    )
    assert [message["role"] for message in messages] == ["tool", "tool", "user"]
    assert messages[0]["content"] == "(no output)"
    assert "data:image/png;base64,iVBORw==" in str(messages[2]["content"])


def test_what_a_person_says() -> None:
    one = CompatibleProvider("", "http://127.0.0.1/v1", Http())
    assert one.user_items([Text("a"), Text("b")]) == [{"role": "user", "content": "a\n\nb"}]
    [message] = one.user_items([Text("a"), File("x.pdf", "application/pdf", b"%PDF")])
    assert [part["type"] for part in message["content"]] == ["text", "file"]  # type: ignore[index,union-attr,call-overload]  # JSON


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (status(401), "bad_key"),
        (status(403), "forbidden"),
        (status(429, retry_after=7), "rate_limited"),
        (status(429, variant="insufficient_quota"), "no_credit"),
        (status(500), "server"),
        (status(503), "overloaded"),
        (status(413), "too_long"),
        (html(), "protocol"),
        (error_event("overloaded", 2), "overloaded"),
        (error_event("rate_limit", 2), "rate_limited"),
        (error_event("server", 2), "server"),
        (garbage(2), "protocol"),
        (garbage(2, "utf8"), "protocol"),
        (cut(2), "network"),
        (cut(2, reset=True), "network"),
        (eof(2), "network"),
        (cut("headers"), "network"),
    ],
)
async def test_l12_faults_are_named(http: Http, fault: Any, kind: str) -> None:
    async with Simulator([Turn(Say("one two three four"), faults=[fault])]) as sim:
        error = await fails(provider(sim, http))
        assert (error.fault, error.provider) == (kind, "openai-compatible")
        assert error.retry_after == (7 if fault.retry_after else None)


async def test_wrong_key_unknown_model_and_no_server(http: Http) -> None:
    async with Simulator([Turn(Say("Yes."))]) as sim:
        error = await fails(provider(sim, http, "bad-secret-key-123456"))
        assert error.fault == "bad_key"
        assert "secret" not in str(error)
        assert (await fails(provider(sim, http, ""))).fault == "no_key"
        missing = await fails(provider(sim, http), model="missing-model")
        assert missing.fault == "not_found"
        assert "missing-model" in str(missing)
        one = provider(sim, http)
    assert (await fails(one)).fault == "network"
    with pytest.raises(ProviderError) as caught:
        await one.models()
    assert caught.value.fault == "network"
    nonsense = CompatibleProvider("k", "not a url", http)
    assert (await fails(nonsense)).fault == "protocol"


async def test_p2_models(http: Http) -> None:
    async with Simulator([]) as sim:
        assert "demo-fast" in [model.id for model in await provider(sim, http).models()]
        with pytest.raises(ProviderError) as caught:
            await provider(sim, http, "bad").models()
        assert caught.value.fault == "bad_key"


# Recordings: real servers of several makes.

RECORDED = [
    ("openai__chat__test_tools.test_tool_use_basic", 0, ["multiply"], "tool_use"),
    ("openai__chat__test_tools.test_tool_use_basic", 1, [], "end"),
    (
        "openai__chat__test_tools_streaming.test_tools_streaming_variant_b",
        0,
        ["llm_version"],
        "tool_use",
    ),
    ("openai__chat__test_tools_streaming.test_tools_streaming_variant_b", 1, [], "end"),
    (
        "openai__chat__test_tools_streaming.test_tools_streaming_variant_d",
        0,
        ["llm_version"],
        "tool_use",
    ),
    ("openai__chat__test_tools_streaming.test_tools_streaming_variant_d", 1, [], "end"),
    ("openai__chat__test_dbos", 0, None, "tool_use"),
    ("openai__chat__test_dbos", 1, None, "tool_use"),
    ("groq__chat__", 1, ["get_something_by_name"], "tool_use"),
    ("groq__chat__", 2, [], "end"),
    ("ollama__chat__", 0, [], "end"),  # one whole body, though a stream was asked for
    ("ollama__chat__", 1, ["final_result"], "tool_use"),
    ("openrouter__chat__test_openrouter.test_openrouter_stream_error", 0, [], "max_tokens"),
]


@pytest.mark.recordings
@pytest.mark.parametrize(("file", "index", "calls", "stop"), RECORDED)
async def test_recorded_answers(
    http: Http, file: str, index: int, calls: list[str] | None, stop: str
) -> None:
    body = recorded(file)[index]["response_body"].encode()
    async with Simulator([Raw("chat", body)], strict=False, chunking=every(61)) as sim:
        one = provider(sim, http)
        stream = one.stream(request(one.user_items([Text("Hi.")])))
        deltas = await drain(stream)
        reply = stream.reply()
        names = [call.name for call in reply.calls]
        assert reply.stop == stop
        assert calls is None or names == calls
        assert [name for _, name in started(deltas)] == names
        assert all(call.arguments is not None for call in reply.calls)
        assert reply.usage.total > 0
        assert (words(deltas) != "") == bool(reply.items and reply.items[0]["content"])


@pytest.mark.recordings
async def test_recorded_error_in_a_stream(http: Http) -> None:
    body = recorded("groq__chat__")[0]["response_body"].encode()
    async with Simulator([Raw("chat", body)], strict=False) as sim:
        error = await fails(provider(sim, http))
        assert error.fault == "bad_request"
        assert "Tool call validation failed" in str(error)


# The accumulator, from lists of chunks.


def fold(*chunks: Any, history: Any = ()) -> ChatAccumulator:
    folded = ChatAccumulator(history, lambda error: ProviderError("server", str(error)))
    for chunk in chunks:
        list(folded.feed(chunk))
    return folded


def piece(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call(index: int | None, name: str | None, arguments: Any, id: str | None = None) -> Any:
    body: dict[str, Any] = {"function": {"name": name, "arguments": arguments}, "id": id}
    return body if index is None else {"index": index, **body}


def test_h4_one_index_for_all_parallel_calls() -> None:
    reply = fold(
        piece(tool_calls=[call(0, "now", "{}", "a")]),
        piece(tool_calls=[call(0, "now", "{}", "b")]),
        piece("stop"),
        DONE,
    ).reply()
    assert [(one.id, one.name) for one in reply.calls] == [("a", "now"), ("b", "now")]
    assert reply.stop == "tool_use"


def test_ids_are_made_up_where_missing_or_used_before() -> None:
    history = [
        {"role": "assistant", "tool_calls": [{"id": "0", "function": {"name": "now"}}]},
        {"role": "tool", "tool_call_id": "0", "content": "."},
    ]
    pieces = [
        piece(tool_calls=[call(0, "now", None, "0"), call(1, "now", None)]),
        piece(tool_calls=[call(2, "now", {"a": 1}, "0")]),
        piece("tool_calls"),
    ]
    first, again = fold(*pieces, history=history), fold(*pieces, history=history)
    ids = [one.id for one in first.reply().calls]
    assert len({"0", "", *ids}) == 5
    assert ids == [one.id for one in again.reply().calls]
    assert first.reply().calls[2].arguments == {"a": 1}
    sent: Any = first.reply().items[0]["tool_calls"]
    assert [one["id"] for one in sent] == ids
    assert sent[0]["function"]["arguments"] == "{}"


def test_h1_vendor_fields_go_back() -> None:
    signed = {"google": {"thought_signature": "c2ln"}}
    reply = fold(
        piece(
            reasoning="We ",
            reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "We "}],
        ),
        piece(
            reasoning="look.",
            reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "look."}],
        ),
        piece(reasoning_details=[{"type": "reasoning.text", "index": 0, "signature": "s"}]),
        piece(reasoning_details=[{"type": "reasoning.encrypted", "index": 1, "data": "e"}]),
        piece(tool_calls=[{**call(0, "now", "{}", "a"), "extra_content": signed}]),
        piece("tool_calls"),
    ).reply()
    message: Any = reply.items[0]
    assert message["content"] is None
    assert message["reasoning"] == "We look."
    assert message["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "We look.", "signature": "s"},
        {"type": "reasoning.encrypted", "index": 1, "data": "e"},
    ]
    assert message["tool_calls"][0]["extra_content"] == signed


def test_reasoning_in_many_pieces_costs_what_it_weighs() -> None:
    def pieces(number: int) -> list[JsonObject]:
        detail = {"type": "reasoning.text", "index": 0, "text": "four" * 200}
        return [piece(reasoning_details=[detail])] * number

    def work(chunks: list[JsonObject]) -> None:
        [message] = fold(*chunks, piece(content="Yes.")).reply().items
        assert len(message["reasoning_details"][0]["text"]) == 800 * len(chunks)

    assert grows_linearly(pieces, work, 8_000)


def test_arguments_of_five_megabytes() -> None:
    reply = fold(
        piece(tool_calls=[call(0, "write", '{"content": "', "a")]),
        *[piece(tool_calls=[call(0, None, "x" * 50_000)])] * 100,
        piece("tool_calls", tool_calls=[call(0, None, '"}')]),
    ).reply()
    assert reply.calls[0].arguments == {"content": "x" * 5_000_000}


def test_halves_of_a_letter_are_joined() -> None:
    folded = fold(piece(content="a\ud83d"), piece(content="\ude00b\udc00"), piece("stop"))
    assert folded.reply().items == [{"role": "assistant", "content": "a😀b�"}]


def test_a_refusal() -> None:
    reply = fold(piece(refusal="No."), piece("stop")).reply()
    assert reply.stop == "refusal"
    assert reply.items[0]["refusal"] == "No."


@given(st.data())
def test_h5_interrupted_anywhere_is_valid(data: Any) -> None:
    pieces = [
        piece(role="assistant", content=None),
        piece(reasoning_content="Hm"),
        piece(content="I'll "),
        piece(content="look"),
        piece(tool_calls=[call(0, "read_file", "", "a")]),
        piece(tool_calls=[call(0, None, '{"path"')]),
        piece(tool_calls=[call(0, None, ':"x"}')]),
        piece(tool_calls=[call(1, "now", "", "b")]),
        piece(tool_calls=[call(1, None, "{}")]),
        piece("tool_calls"),
    ]
    kept = fold(*pieces[: data.draw(st.integers(0, len(pieces)))]).interrupted()
    for message in kept.items:
        calls: Any = message.get("tool_calls", [])
        assert message["content"] or calls
        assert [one["id"] for one in calls] == [one.id for one in kept.calls]
    assert all(one.arguments is not None for one in kept.calls)


async def _chunks(data: bytes, cuts: list[int]) -> AsyncIterator[bytes]:
    edges = [0, *sorted(cuts), len(data)]
    for start, end in itertools.pairwise(edges):
        yield data[start:end]


@given(st.lists(st.integers(0, 120), max_size=8))
def test_events_are_the_same_wherever_the_bytes_are_cut(cuts: list[int]) -> None:
    data = (
        b": comment\r\n\r\nevent: x\r\nid: 7\r\n"
        + 'data: {"a": "ü\u2028\x85"}\r\n\r\n'.encode()
        + b'data: {"b":\ndata: 1}\n\ndata:[1]'.replace(
            b"[1]", b'{"c": 2}\n\ndata: [DONE]\n\ndata: {"d'
        )
    )

    async def read() -> list[Any]:
        cut = [min(at, len(data)) for at in cuts]
        return [event async for events in sse_batches(_chunks(data, cut)) for event in events]

    assert asyncio.run(read()) == [{"a": "ü\u2028\x85"}, {"b": 1}, {"c": 2}, DONE]


async def test_a_template_that_wants_roles_to_alternate_gets_them(http: Http) -> None:
    """H-6: what the engine adds joins the person's words where a template demands it."""
    words = b'{"error":{"code":500,"message":"Conversation roles must alternate user/assistant/"}}'
    refusal = Raw("chat", words, "application/json", 500)
    async with Simulator([refusal, Turn(Say("Yes.")), Turn(Say("No."))]) as simulator:
        provider = CompatibleProvider("k", simulator.url("chat"), http)
        history = provider.user_items(
            [Text("What is it?"), Image("image/png", b"\x89PNG\r\n\x1a\n....")]
        )
        history += provider.system_items("Today is Sunday.") + provider.user_items(
            [Text("Answer.")]
        )
        before = [dict(item) for item in history]
        await answer(provider, history, tools=())
        roles = [[m["role"] for m in one.json["messages"]] for one in simulator.requests]
        assert roles == [["system", "user", "user", "user"], ["system", "user"]]
        content = simulator.requests[1].json["messages"][1]["content"]
        texts = [part["text"] for part in content if part["type"] == "text"]
        assert texts == ["What is it?", "Today is Sunday.", "Answer."]
        assert history[:-1] == before
        history += provider.user_items([Text("Really?")])
        await answer(provider, history, tools=())
        assert len(simulator.requests) == 3 and not simulator.violations
