"""Anthropic Messages against the strict simulator, recordings, and bare events."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.domain.errors import ProviderError
from studio.domain.messages import File, Image, Message, Text, ToolResult
from studio.domain.models import ModelInfo, Usage
from studio.domain.redaction import redact
from studio.providers.anthropic.adapter import AnthropicProvider
from studio.providers.anthropic.models import output_limit
from studio.providers.anthropic.stream import AnthropicAccumulator
from studio.providers.base import Reply
from studio.providers.errors import ErrorFactory, retry_after
from studio.providers.http import Http
from studio.providers.tool_arguments import REPAIR_LIMIT, parse_arguments
from studio.simulator import (
    Byte,
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
from support.provider_calls import (
    CONVERSATION,
    RECORDINGS,
    TWO_ITERATIONS,
    answer,
    drain,
    fails,
    request,
    result,
    stopped,
    thoughts,
    two_iterations,
    words,
)

PRESERVED = "sim-preserved-1"
"""The simulated model that binds thinking to everything before it."""


def provider(simulator: Simulator, http: Http, key: str = "sim-key") -> AnthropicProvider:
    return AnthropicProvider(key, simulator.url("anthropic"), http)


def fold(events: list[dict[str, Any]]) -> AnthropicAccumulator:
    accumulator = AnthropicAccumulator(lambda event: ProviderError("server", str(event)))
    for event in events:
        list(accumulator.feed(event))
    return accumulator


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any], stop: bool = True) -> Any:
    events = [{"type": "content_block_start", "index": index, "content_block": start}]
    events += [{"type": "content_block_delta", "index": index, "delta": d} for d in deltas]
    return [*events, *([{"type": "content_block_stop", "index": index}] if stop else [])]


def end(stop: str) -> Any:
    return [
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]


def call(index: int, raw: str, **more: Any) -> Any:
    start = {"type": "tool_use", "id": "t1", "name": "read_file", "input": {}}
    pieces = [
        {"type": "input_json_delta", "partial_json": raw[i : i + 3]} for i in range(0, len(raw), 3)
    ]
    return block(index, start, *pieces, **more)


SAID = block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hm. "})


@pytest.mark.parametrize("chunking", ["whole", "event", every(1), every(7), "adversarial"])
async def test_h8_two_iterations_have_their_calls_and_results(http: Http, chunking: Any) -> None:
    """PRE-1, H-8, H-3, H-4, H-6."""
    async with Simulator(TWO_ITERATIONS, chunking=chunking) as sim:
        await two_iterations(provider(sim, http), sim, model=PRESERVED)
        second: Any = sim.requests[1].json["messages"]
        assert [message["role"] for message in second] == ["user", "assistant", "user"]
        blocks = second[1]["content"]
        assert [b["type"] for b in blocks] == ["thinking", "text", *["tool_use"] * 3]
        assert blocks[0]["signature"]
        ids = [b["id"] for b in blocks if b["type"] == "tool_use"]
        assert [b["tool_use_id"] for b in second[2]["content"]] == ids
        assert "b\u00e4 😀.txt" in second[2]["content"][1]["content"][0]["text"]
        third: Any = sim.requests[2].json["messages"]
        assert third[:3] == second  # H-1: append-only
        assert [m["role"] for m in third[3:]] == ["assistant", "user", "user"]
        assert third[4]["content"][0]["is_error"] is True
        assert third[-1]["content"] == [{"type": "text", "text": "Answer now."}]


async def test_h1_the_request_is_frozen_and_carries_no_marks(http: Http) -> None:
    """H-1, H-9: nothing in the history changes from request to request."""
    turn = Turn(Think("Hm."), Say("Grüße."), usage=Tokens(1200, 1000, 50, 80, 40))
    async with Simulator([turn, Turn(Say("."))], strict="beyond") as sim:
        one = provider(sim, http)
        history = one.user_items([Text("Hi.")])
        stream = one.stream(request(history, model=PRESERVED))
        deltas = await drain(stream)
        reply = stream.reply()
        assert (words(deltas), thoughts(deltas)) == ("Grüße.", "Hm.")
        assert reply.usage == Usage(1200, 1000, 50, 80, 40)
        history += reply.items + one.user_items([Text("And?")])
        await answer(one, history, model=PRESERVED)
        assert sim.violations == []
        first, second = (exchange.json for exchange in sim.requests)
        assert second["messages"] == history[:-1]
        assert first["system"] == second["system"] == "Be brief."
        assert first["tools"] == second["tools"]
        assert second["cache_control"] == {"type": "ephemeral"}
        assert "cache_control" not in json.dumps(second["messages"])
        assert not {"temperature", "top_p", "top_k", "thinking"} & set(second)


@pytest.mark.parametrize("at", [-2, -4])
async def test_h5_stopped_in_text(http: Http, at: int) -> None:
    turn = Turn(Think("Hm."), Say("one two three four five six"), faults=[stall(at)])
    async with Simulator([turn, Turn(Say("Yes."))]) as sim:
        kept = await stopped(provider(sim, http), sim, lambda kept: kept.items, model=PRESERVED)
        content: Any = kept.items[0]["content"]
        assert [b["type"] for b in content] == ["thinking", "text"]
        assert content[1]["text"].startswith("one")


async def test_h5_stopped_in_thinking(http: Http) -> None:
    turn = Turn(Think("a long chain of thoughts"), faults=[stall(5)])
    async with Simulator([turn, Turn(Say("Yes."))]) as sim:
        assert (await stopped(provider(sim, http), sim, lambda _: True)).items == []


async def test_h5_stopped_in_a_call(http: Http) -> None:
    turn = Turn(
        Think("Hm."),
        Call("now"),
        Call("read_file", {"path": "b" * 200}),
        faults=[stall(-5)],
    )
    async with Simulator([turn, Turn(Say("Yes."))]) as sim:
        kept = await stopped(provider(sim, http), sim, lambda kept: kept.calls, model=PRESERVED)
        assert [(call.name, call.arguments) for call in kept.calls] == [("now", {})]


@pytest.mark.parametrize("kind", ["truncated", "empty", "null"])
async def test_h5_cut_off_at_the_output_limit_inside_a_call(http: Http, kind: Any) -> None:
    """H-5: a shortened input that looks whole is never run."""
    turn = Turn(
        Think("Hm."),
        Call("read_file", {"path": "a" * 90}),
        stop="max_tokens",
        faults=[tool_json(kind)],
    )
    async with Simulator([turn, Turn(Say("Yes."))]) as sim:
        one = provider(sim, http)
        history = one.user_items([Text("Write.")])
        reply = await answer(one, history)
        assert (reply.stop, reply.calls, reply.items) == ("max_tokens", [], [])
        history += one.user_items([Text("Go on.")])
        await answer(one, history)
        assert sim.violations == []


@pytest.mark.parametrize("kind", ["truncated", "double_encoded", "null"])
async def test_l6_broken_arguments_are_answered_not_run(http: Http, kind: Any) -> None:
    turn = Turn(Call("read_file", {"path": "a" * 90}), faults=[tool_json(kind)])
    async with Simulator([turn, Turn(Say("Yes."))]) as sim:
        one = provider(sim, http)
        history = one.user_items([Text("Write.")])
        reply = await answer(one, history)
        assert [call.arguments for call in reply.calls] == [None]
        assert reply.calls[0].raw
        history += one.result_items([result(reply.calls[0], "Send it again.", error=True)])
        await answer(one, history)
        assert sim.violations == []
        sent: Any = sim.requests[1].json["messages"][1]["content"][-1]
        assert sent["input"] == {"INVALID_JSON": reply.calls[0].raw}


async def test_l6_one_repair(http: Http) -> None:
    turn = Turn(Call("read_file", {"path": "a"}), faults=[tool_json("invalid")])
    async with Simulator([turn]) as sim:
        one = provider(sim, http)
        reply = await answer(one, one.user_items([Text("Write.")]))
        assert [call.arguments for call in reply.calls] == [{"path": "a"}]


async def test_h7_a_foreign_conversation_is_accepted(http: Http) -> None:
    async with Simulator([Turn(Say("Yes."))], strict="beyond") as sim:
        one = provider(sim, http)
        history = one.rebuild(CONVERSATION)
        assert one.open_calls(history) == []
        await answer(one, history, model=PRESERVED)
        assert sim.violations == []
        assert "Two files" not in json.dumps(history)
        assert [m["role"] for m in history[:3]] == ["user", "assistant", "user"]


def test_h7_a_history_begins_with_the_person() -> None:
    one = AnthropicProvider("k", "", Http())
    history = one.rebuild([Message("assistant", (Text("Hello."),))])
    assert [m["role"] for m in history] == ["user", "assistant"]
    assert one.rebuild([]) == one.user_items([]) == one.result_items([]) == []


def test_h2_pictures_files_and_results() -> None:
    one = AnthropicProvider("k", "", Http())
    [said] = one.user_items(
        [
            Text("  "),
            Image("image/png", b"\x89PNG"),
            Image("image/bmp", b"BM"),
            File("a.pdf", "application/pdf", b"%PDF"),
            File("n.txt", "text/plain", b"words"),
            File("x.bin", "application/octet-stream", b"\0"),
        ]
    )
    content: Any = said["content"]
    assert [b["type"] for b in content] == ["image", "text", "document", "text", "text"]
    assert content[0]["source"] == {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}
    assert content[2]["title"] == "a.pdf"
    assert "words" in content[3]["text"]
    picture = Image("image/png", b"\x89PNG")
    [results] = one.result_items(
        [
            ToolResult("a", "x", (Text("see"), picture)),
            ToolResult("b", "x", ()),
            ToolResult("c", "x", (picture,), is_error=True),
        ]
    )
    blocks: Any = results["content"]
    *blocks, words, behind = blocks  # H-7: an error takes no pictures; they are not lost
    assert words == {"type": "text", "text": "From x:"} and behind["type"] == "image"
    assert [b["tool_use_id"] for b in blocks] == ["a", "b", "c"]
    assert [[c["type"] for c in b["content"]] for b in blocks] == [
        ["text", "image"],
        ["text"],
        ["text"],
    ]
    assert [b.get("is_error") for b in blocks] == [None, None, True]


def test_unknown_blocks_and_fields_survive_verbatim() -> None:
    """H-1: what a later version of the API sends goes back as it came."""
    redacted = {"type": "redacted_thinking", "data": "abc=="}
    future = {"type": "hologram", "beam": {"x": [1, None]}, "text": "…"}
    reply = fold(
        [
            {"type": "message_start", "message": {"usage": {"input_tokens": 3}}},
            {"type": "ping"},
            {"type": "gizmo"},
            *block(0, redacted),
            *block(
                1,
                {"type": "thinking", "thinking": "", "signature": ""},
                {"type": "signature_delta", "signature": "s"},
            ),
            *block(2, future, {"type": "beam_delta", "phase": 2}),
            *block(3, {"type": "text", "text": ""}),
            *block(
                4,
                {"type": "text", "text": "", "citations": []},
                {"type": "citations_delta", "citation": {"a": 1}},
                {"type": "text_delta", "text": "x"},
            ),
            *block(
                5,
                {"type": "server_tool_use", "id": "s1", "name": "web", "input": {}},
                {"type": "input_json_delta", "partial_json": '{"q":1}'},
            ),
            *end("pause_turn"),
        ]
    ).reply()
    assert reply.stop == "pause"
    assert reply.calls == []
    assert reply.items[0]["content"] == [
        redacted,
        {"type": "thinking", "thinking": "", "signature": "s"},
        {**future, "phase": 2},
        {"type": "text", "text": "x", "citations": [{"a": 1}]},
        {"type": "server_tool_use", "id": "s1", "name": "web", "input": {"q": 1}},
    ]


def test_h5_what_an_early_end_keeps() -> None:
    server = {"type": "server_tool_use", "id": "s1", "name": "web", "input": {}}
    thinking = {"type": "thinking", "thinking": "a", "signature": "s"}
    unsigned = {"type": "thinking", "thinking": "a", "signature": ""}
    assert fold([*block(0, thinking), *block(1, unsigned, stop=False)]).interrupted().items == []
    assert fold([*block(0, server)]).interrupted().items == []
    kept = fold(
        [*SAID, *block(1, server), *call(2, '{"path":"a"}'), *block(3, thinking)]
    ).interrupted()
    content: Any = kept.items[0]["content"]
    assert [b["type"] for b in content] == ["text", "tool_use"]
    assert fold([*SAID, *call(1, '{"pa', stop=False)]).interrupted().calls == []
    halved = fold(
        [
            *block(
                0,
                {"type": "text", "text": ""},
                {"type": "text_delta", "text": "a\ud83d"},
                stop=False,
            )
        ]
    )
    json.dumps(halved.interrupted().items, ensure_ascii=False).encode()


def test_odd_streams_fold() -> None:
    reply = fold(
        [*call(0, '{"path":"a"}'), *call(1, '{"path":"b"}'), *end("tool_use"), *end("end_turn")]
    ).reply()
    assert [c.id for c in reply.calls] == ["t1", "t1_2"]  # H-4: one id each
    assert reply.stop == "tool_use"
    stray = {
        "type": "content_block_delta",
        "index": 9,
        "delta": {"type": "text_delta", "text": "?"},
    }
    assert fold([stray, *SAID, *end("end_turn")]).reply().items == [
        {"role": "assistant", "content": [{"type": "text", "text": "Hm. "}]}
    ]
    assert fold([*SAID, *end("later_invention")]).reply() == Reply(
        fold(SAID).interrupted().items, [], "other", Usage(output=5), "later_invention"
    )
    refusal = {
        "stop_reason": "refusal",
        "stop_details": {"category": "cyber", "explanation": "No."},
    }
    told = fold([{"type": "message_delta", "delta": refusal}, {"type": "message_stop"}]).reply()
    assert (told.stop, told.detail) == ("refusal", "cyber: No.")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
EVENT = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            [
                "message_start",
                "content_block_start",
                "content_block_delta",
                "content_block_stop",
                "message_delta",
                "x",
            ]
        )
    },
    optional={
        "index": JSON,
        "content_block": JSON
        | st.fixed_dictionaries(
            {"type": st.sampled_from(["text", "thinking", "tool_use"])},
            optional={"text": JSON, "id": JSON, "input": JSON},
        ),
        "delta": JSON
        | st.fixed_dictionaries(
            {
                "type": st.sampled_from(
                    ["text_delta", "input_json_delta", "signature_delta", "citations_delta"]
                )
            },
            optional={"text": JSON, "partial_json": JSON, "citation": JSON},
        ),
        "message": JSON,
        "usage": JSON | st.dictionaries(st.just("output_tokens"), JSON),
    },
)


@given(st.lists(EVENT, max_size=12))
def test_no_event_breaks_the_accumulator(events: list[dict[str, Any]]) -> None:
    accumulator = fold(events)
    for reply in (accumulator.interrupted(), accumulator.reply()):
        content: Any = [b for item in reply.items for b in item["content"]]  # type: ignore[union-attr]
        assert [c.id for c in reply.calls] == [
            b["id"] for b in content if b.get("type") == "tool_use"
        ]
        assert all(isinstance(b["input"], dict) for b in content if b.get("type") == "tool_use")


# Faults.


async def test_a_rejected_key(http: Http) -> None:
    async with Simulator([]) as sim:
        error = await fails(provider(sim, http, "bad-key-12345"))
        assert (error.fault, error.status, error.provider) == ("bad_key", 401, "anthropic")
        assert str(error) == "Anthropic rejected the API key."  # too short to tell a part of it
        error = await fails(provider(sim, http, "bad-key-1234567890-7Q4A"))
        assert str(error) == (
            "Anthropic rejected the API key. "
            f"The key ending in 7Q4A does not work at 127.0.0.1:{sim.port}."
        )
        with pytest.raises(ProviderError, match="rejected the API key"):
            await provider(sim, http, "bad-key-12345").models()
        assert (await fails(provider(sim, http, ""))).fault == "no_key"


@pytest.mark.parametrize("at", [html(200), html(404), html(403)])
async def test_a_web_page(http: Http, at: Any) -> None:
    async with Simulator([Turn(faults=[at])]) as sim:
        error = await fails(provider(sim, http))
        assert error.fault == "protocol"
        assert str(error) == (
            f"The server at 127.0.0.1:{sim.port} did not answer like Anthropic. Check the base URL."
        )


async def test_no_network(http: Http) -> None:
    error = await fails(AnthropicProvider("key", "http://127.0.0.1:9", http))
    where = "127.0.0.1:9"
    words = f"Can't reach Anthropic at {where}. Check the connection."
    assert (error.fault, str(error)) == ("network", words)
    with pytest.raises(ProviderError, match="Can't reach"):
        await AnthropicProvider("key", "http://127.0.0.1:9", http).models()
    assert (await fails(AnthropicProvider("key", "htp:/x", http))).fault == "protocol"


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        (400, "bad_request"), (402, "no_credit"), (403, "forbidden"), (413, "too_long"),
        (429, "rate_limited"), (500, "server"), (503, "server"), (504, "server"), (529, "overloaded"),
    ],
)  # fmt: skip
async def test_l12_statuses(http: Http, code: int, fault: str) -> None:
    async with Simulator([Turn(faults=[status(code, retry_after=7)])]) as sim:
        error = await fails(provider(sim, http))
        assert error.fault == fault
        assert error.retry_after == 7
        assert len(sim.requests) == 1  # no hidden retries


async def test_l12_an_unknown_model(http: Http) -> None:
    async with Simulator([]) as sim:
        error = await fails(provider(sim, http), model="missing-1")
        assert (error.fault, str(error)) == (
            "not_found",
            "Anthropic has no model called missing-1.",
        )


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (cut(-3), "network"), (cut(-3, reset=True), "network"), (eof(-1), "network"), (eof(0), "network"), (eof(Byte(700)), "network"),
        (garbage(3), "protocol"), (garbage(3, "utf8"), "protocol"),
        (error_event("overloaded", -2), "overloaded"), (error_event("rate_limit", 2), "rate_limited"),
    ],
)  # fmt: skip
async def test_l12_streams_that_break(http: Http, damage: Any, fault: str) -> None:
    turn = Turn(Say("one two three four"), faults=[damage])
    async with Simulator([turn, Turn(Say("Yes."))]) as sim:
        one = provider(sim, http)
        history = one.user_items([Text("Hi.")])
        stream = one.stream(request(history))
        with pytest.raises(ProviderError) as caught:
            await drain(stream)
        assert caught.value.fault == fault
        with pytest.raises(ProviderError):
            stream.reply()
        history += stream.interrupted().items + one.user_items([Text("Go on.")])
        assert (await answer(one, history)).stop == "end"
        assert sim.violations == []


async def test_p2_models(http: Http) -> None:
    async with Simulator([], page_size=3) as sim:
        models = await provider(sim, http).models()
        assert len(sim.requests) == 3
        by_id = {model.id: model for model in models}
        opus = by_id["claude-opus-5-5"]
        assert (opus.name, opus.context_window, opus.output_limit) == (
            "Claude Opus 5.5",
            1_000_000,
            128_000,
        )
        assert opus.reasoning is True


async def test_p2_an_endless_cursor_ends(http: Http) -> None:
    body = {
        "data": [{"type": "model", "id": "a"}, {"type": "other", "id": "b"}],
        "has_more": True,
        "last_id": "a",
    }

    async with Answers(json.dumps(body), "application/json") as server:
        models = await AnthropicProvider("k", server.url, http).models()
        assert [model.id for model in models] == ["a"]
        assert server.count == 2
    async with Answers("{}", "application/json") as server:
        with pytest.raises(ProviderError, match="did not answer like Anthropic"):
            await AnthropicProvider("k", server.url, http).models()


class Answers:
    """A server that answers every request with the same body."""

    def __init__(self, body: str, kind: str) -> None:
        data = body.encode()
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(data)}\r\nconnection: close\r\n\r\n"
        self._answer = head.encode() + data
        self.count = 0

    async def __aenter__(self) -> Answers:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.count += 1
        writer.write(self._answer)
        await writer.drain()
        writer.close()
        await writer.wait_closed()


# Recordings.


def recordings() -> list[Any]:
    found: list[Any] = []
    for path in sorted(RECORDINGS.glob("anthropic__messages__*.json")):
        for number, exchange in enumerate(json.loads(path.read_text("utf-8"))["exchanges"]):
            if "count_tokens" not in exchange["path"]:
                found.append(pytest.param(exchange, id=f"{path.stem.split('.')[-1]}-{number}"))
    return found or [pytest.param(None, id="absent")]


@pytest.mark.recordings
@pytest.mark.parametrize("exchange", recordings())
async def test_recorded_answers_fold(http: Http, exchange: Any) -> None:
    """H-1: what was recorded is stored block for block."""
    body = exchange["response_body"]
    kind = exchange["response_headers"]["content-type"]
    if exchange["status"] == 200 and "json" in kind:
        message = json.loads(body)
        events = [e for n, b in enumerate(message["content"]) for e in block(n, b)]
        reply = fold([*events, *end(message["stop_reason"])]).reply()
        assert reply.items == [{"role": "assistant", "content": message["content"]}]
        return
    raw = Raw("anthropic", body.encode(), kind, exchange["status"])
    async with Simulator([raw], strict=False, chunking=every(max(7, len(body) // 2000))) as sim:
        one = provider(sim, http)
        stream = one.stream(request(one.user_items([Text("Hi.")]), model="demo-x"))
        if exchange["status"] != 200:
            with pytest.raises(ProviderError) as caught:
                await drain(stream)
            assert caught.value.fault in ("bad_request", "not_found")
            return
        deltas = await drain(stream)
        events = [json.loads(line[5:]) for line in body.splitlines() if line.startswith("data:")]
        starts = [e["content_block"] for e in events if e["type"] == "content_block_start"]
        content: Any = stream.reply().items[0]["content"]
        starts = [
            b for n, b in enumerate(starts) if b["type"] != "text" or spoken(events, n).strip()
        ]
        assert [b["type"] for b in content] == [b["type"] for b in starts]
        text = "".join(b["text"] for b in content if b["type"] == "text")
        # Blocks of nothing but a space are shown, but would be rejected in a request.
        assert "".join(text.split()) == "".join(words(deltas).split())
        assert "".join(b["thinking"] for b in content if b["type"] == "thinking") == thoughts(
            deltas
        )
        for start, kept in zip(starts, content, strict=True):
            assert start.keys() <= kept.keys()
            if "tool_use" not in start["type"] and start["type"] not in ("text", "thinking"):
                assert kept == start
            if start["type"] == "thinking":
                assert kept["signature"] and kept["signature"] in body


def spoken(events: list[Any], index: int) -> str:
    deltas = [
        e["delta"] for e in events if e["type"] == "content_block_delta" and e["index"] == index
    ]
    return "".join(delta.get("text", "") for delta in deltas)


# The shared words.


def test_l6_arguments() -> None:
    assert parse_arguments("") == parse_arguments(" \n") == parse_arguments("{}") == {}
    for broken in ('{"a": [1,],}', "{'a': [1]}", '{"a": [1', '```json\n{"a": [1]}\n```'):
        assert parse_arguments(broken) == {"a": [1]}
    # What may have lost its end, or is no object, is for the model to send again.
    for hopeless in (
        '{"path":"a","text":"rm -rf /tm',
        "hello",
        "null",
        "[1]",
        '"{}"',
        '{"a":"\\ud800"}',
    ):
        assert parse_arguments(hopeless) is None
    assert parse_arguments('{"a": "' + "x" * REPAIR_LIMIT + '",}') is None
    assert parse_arguments("[" * 100_000) is None


@given(st.dictionaries(st.text(), JSON))
def test_l6_valid_arguments_are_never_touched(value: dict[str, Any]) -> None:
    assert parse_arguments(json.dumps(value)) == value


def test_keys_never_show() -> None:
    for text in (
        "Incorrect API key provided: sk-ab****cdef. See",
        "key AIzaSyD-abc123 is wrong",
        "https://x/y?key=my-secret&z=1",
        "Authorization: Bearer my-secret",
        "my-secret was refused",
    ):
        shown = redact(text, "my-secret")
        assert "[key]" in shown
        assert not any(part in shown for part in ("my-secret", "cdef", "abc123"))
    plain = "API key not valid. A task-oriented, risk-averse disk-usage."
    assert redact(plain, "") == plain
    errors = ErrorFactory("x", "X", "http://user:pw@host:1/v1", "my-secret")
    error = errors.from_response(400, {"error": {"message": "my-secret\n is bad"}}, {})
    assert str(error) == "X did not accept the request. [key] is bad"
    assert "my-secret" not in repr(errors)
    assert errors.host == "host:1"


def test_l12_waits() -> None:
    assert retry_after({"retry-after": "12"}) == 12
    assert retry_after({"retry-after": "0"}) == 0
    assert retry_after({"retry-after-ms": "1500"}) == 1.5
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0
    assert (retry_after({"retry-after": "Fri, 31 Dec 2100 23:59:59 GMT"}) or 0) > 1e6
    for nothing in ({}, {"retry-after": "soon"}, {"retry-after": "inf"}, {"retry-after-ms": "nan"}):
        assert retry_after(nothing) is None


def test_room_for_an_answer() -> None:
    assert output_limit(request([], model="claude-3-haiku-20240307")) == 4_096
    assert output_limit(request([], model="claude-new", output_limit=128_000)) == 128_000
    assert (
        output_limit(request([], output_limit=128_000, facts=ModelInfo("", context_window=200_000)))
        == 50_000
    )


def test_a_pause_without_a_server_tool_is_an_end() -> None:
    """H-5: only a paused server tool may be sent back as the last message."""
    accumulator = AnthropicAccumulator(fault=lambda *_: pytest.fail("no error here"))
    for event in (
        {"type": "message_start", "message": {"usage": {}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "So"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "pause_turn"}, "usage": {}},
        {"type": "message_stop"},
    ):
        list(accumulator.feed(event))
    assert accumulator.reply().stop == "end"
