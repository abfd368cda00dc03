"""Gemini's generateContent against the strict simulator, recordings, and bare chunks."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.domain.errors import ProviderError
from studio.domain.messages import File, Image, Message, Text, ToolCall, ToolResult
from studio.domain.models import Usage
from studio.providers.gemini.adapter import GeminiProvider
from studio.providers.gemini.stream import OURS, GeminiAccumulator, calls_of, server_id
from studio.providers.http import Http
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
from support.waiting import HANG

SIGNED = "sim-gemini-3"
PLAIN = "sim-gemini-25"
"""The simulated model that signs nothing and gives no ids."""


def provider(simulator: Simulator, http: Http, key: str = "sim-key") -> GeminiProvider:
    return GeminiProvider(key, simulator.url("gemini"), http)


def fold(*events: dict[str, Any]) -> GeminiAccumulator:
    accumulator = GeminiAccumulator([], lambda event: ProviderError("server", str(event)))
    for event in events:
        list(accumulator.feed(event))
    return accumulator


def chunk(*parts: Any, finish: str = "", **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {})], **more}


@pytest.mark.parametrize("model", [SIGNED, "sim-gemini-3-mixed", PLAIN])
@pytest.mark.parametrize("chunking", ["whole", "event", every(1), every(7), "adversarial"])
async def test_h8_two_iterations_have_their_calls_and_results(
    http: Http, chunking: Any, model: str
) -> None:
    """PRE-1, H-8, H-3, H-4, H-6: matched by id where one was given, by order where not."""
    async with Simulator(TWO_ITERATIONS, chunking=chunking) as sim:
        await two_iterations(provider(sim, http), sim, model=model)
        second: Any = sim.requests[1].json["contents"]
        assert [content["role"] for content in second] == ["user", "model", "user"]
        calls = [p["functionCall"] for p in second[1]["parts"] if "functionCall" in p]
        answers = [p["functionResponse"] for p in second[2]["parts"]]
        assert [c["name"] for c in calls] == ["read_file", "read_file", "now"]
        assert [a["name"] for a in answers] == ["read_file", "read_file", "now"]
        assert [a.get("id") for a in answers] == [c.get("id") for c in calls]
        assert "b\u00e4 😀.txt" in answers[1]["response"]["output"]
        if model == PLAIN:
            assert not any("id" in one for one in calls + answers)
            assert OURS not in json.dumps(second)
        third: Any = sim.requests[2].json["contents"]
        assert third[:3] == second  # H-1: append-only
        assert [c["role"] for c in third[3:]] == ["model", "user", "user"]
        assert third[4]["parts"][0]["functionResponse"]["response"] == {"error": "no such file"}
        assert third[-1]["parts"] == [{"text": "Answer now."}]


async def test_h1_parts_go_back_as_they_came(http: Http) -> None:
    turn = Turn(Think("Hm."), Say("Grüße aus Graz."), usage=Tokens(1200, 1000, 0, 80, 40))
    async with Simulator([turn, Turn(Say("."))], strict="beyond") as sim:
        one = provider(sim, http)
        history = one.user_items([Text("Hi.")])
        stream = one.stream(request(history, model=SIGNED, output_limit=99))
        deltas = await drain(stream)
        reply = stream.reply()
        assert (words(deltas), thoughts(deltas)) == ("Grüße aus Graz.", "Hm.")
        assert reply.usage == Usage(1200, 1000, 0, 80, 40)
        parts: Any = reply.items[0]["parts"]
        assert len(parts) == 5  # one thought, three pieces of text, an empty text that is signed
        assert parts[-1]["text"] == "" and parts[-1]["thoughtSignature"]
        history += reply.items + one.user_items([Text("And?")])
        await answer(one, history, model=SIGNED)
        assert sim.violations == []
        first, second = (exchange.json for exchange in sim.requests)
        assert second["contents"] == history[:-1]
        assert first["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
        assert first["generationConfig"] == {
            "maxOutputTokens": 99,
            "thinkingConfig": {"includeThoughts": True},
        }
        functions: Any = first["tools"]
        assert functions[0]["functionDeclarations"][0]["parametersJsonSchema"]["required"] == [
            "path"
        ]


async def test_h5_stopped_in_text(http: Http) -> None:
    turn = Turn(Say("one two three four five six"), faults=[stall(-3)])
    async with Simulator([turn, Turn(Say("Yes."))]) as sim:
        kept = await stopped(provider(sim, http), sim, lambda kept: kept.items, model=SIGNED)
        parts: Any = kept.items[0]["parts"]
        assert parts[0] == {"text": "one"}


@pytest.mark.parametrize("model", [SIGNED, PLAIN])
async def test_h5_stopped_between_calls(http: Http, model: str) -> None:
    turn = Turn(Think("Hm."), Call("now"), Call("read_file", {"path": "b"}), faults=[stall(2)])
    async with Simulator([turn, Turn(Say("Yes."))]) as sim:
        kept = await stopped(provider(sim, http), sim, lambda kept: kept.calls, model=model)
        assert [(call.name, call.arguments) for call in kept.calls] == [("now", {})]


async def test_h5_stopped_in_thinking(http: Http) -> None:
    turn = Turn(Think("a long chain of thoughts"), faults=[stall(2)])
    async with Simulator([turn, Turn(Say("Yes."))]) as sim:
        assert (await stopped(provider(sim, http), sim, lambda _: True)).items == []


@pytest.mark.parametrize("stop", ["max_tokens", "safety", "malformed_function_call"])
async def test_h5_other_ends(http: Http, stop: Any) -> None:
    ends = {
        "max_tokens": "max_tokens",
        "safety": "content_filter",
        "malformed_function_call": "other",
    }
    turn = Turn(Say("Well,"), Call("now"), stop=stop)
    async with Simulator([turn, Turn(Say("Yes."))]) as sim:
        one = provider(sim, http)
        history = one.user_items([Text("Hi.")])
        reply = await answer(one, history, model=SIGNED)
        assert (reply.stop, len(reply.calls)) == (ends[stop], 1)
        history += one.result_items([result(reply.calls[0], "not run", error=True)])
        await answer(one, history, model=SIGNED)
        assert sim.violations == []


async def test_h5_an_empty_answer_stores_nothing(http: Http) -> None:
    async with Simulator([Turn(stop="empty"), Turn(stop="safety"), Turn(Say("."))]) as sim:
        one = provider(sim, http)
        history = one.user_items([Text("Hi.")])
        reply = await answer(one, history, model=PLAIN)
        assert (reply.stop, reply.items) == ("end", [])
        blocked = await answer(one, history, model=PLAIN)
        assert (blocked.stop, blocked.items, blocked.detail) == ("refusal", [], "SAFETY")
        history += one.user_items([Text("And now?")])
        await answer(one, history, model=PLAIN)
        assert sim.violations == []


@pytest.mark.parametrize("model", [SIGNED, PLAIN])
async def test_h7_a_foreign_conversation_is_accepted(http: Http, model: str) -> None:
    async with Simulator([Turn(Say("Yes."))], strict="beyond") as sim:
        one = provider(sim, http)
        history = one.rebuild(CONVERSATION)
        assert one.open_calls(history) == []
        await answer(one, history, model=model)
        assert sim.violations == []
        assert "Two files" not in json.dumps(history)
        assert '"id"' not in json.dumps(history)


async def test_h7_in_the_middle_of_a_turn(http: Http) -> None:
    """A turn that another model began goes on: its calls carry the documented stand-in."""
    async with Simulator([Turn(Say("Yes."))]) as sim:
        one = provider(sim, http)
        history = one.rebuild(
            [
                Message("user", (Text("Look."),)),
                Message("assistant", (ToolCall("toolu_1", "now", None, "{broken"),)),
                Message("user", (ToolResult("toolu_1", "now", (Text("12:00"),)),)),
            ]
        )
        assert (await answer(one, history, model=SIGNED)).stop == "end"
        assert sim.violations == []


def test_h7_a_history_begins_with_the_person() -> None:
    one = GeminiProvider("k", "", Http())
    history = one.rebuild([Message("assistant", (Text("Hello."),))])
    assert [content["role"] for content in history] == ["user", "model"]
    assert one.rebuild([]) == one.user_items([]) == one.result_items([]) == []


def test_h2_pictures_files_and_results() -> None:
    one = GeminiProvider("k", "", Http())
    picture = Image("image/png", b"\x89PNG")
    data = {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}
    [said] = one.user_items(
        [
            Text(" "),
            picture,
            File("a.pdf", "application/pdf", b"%PDF"),
            File("n.txt", "text/plain", b"words"),
        ]
    )
    parts: Any = said["parts"]
    assert parts[0] == data
    assert parts[1]["inlineData"]["mimeType"] == "application/pdf"
    assert "words" in parts[2]["text"]
    [results] = one.result_items(
        [ToolResult("x", "shot", (Text("see"), picture)), ToolResult(f"{OURS}1-1", "now", ())]
    )
    assert results["parts"] == [
        {"functionResponse": {"name": "shot", "response": {"output": "see"}, "id": "x"}},
        {"functionResponse": {"name": "now", "response": {"output": ""}}},
        {"text": "(Returned by shot:)"},
        data,
    ]


def test_h4_every_call_has_its_own_id() -> None:
    one = GeminiProvider("k", "", Http())
    twice = {"functionCall": {"name": "now", "id": "a"}}
    bare = {"functionCall": {"name": "now", "args": {}}}
    reply = fold(chunk(twice, bare), chunk(twice, bare, finish="STOP")).reply()
    assert reply.stop == "tool_use"
    assert len({call.id for call in reply.calls}) == 4
    assert [server_id(call.id) for call in reply.calls] == ["a", None, "a", None]
    assert calls_of(reply.items[0], []) == reply.calls  # the same again after a restart
    assert calls_of(reply.items[0], one.user_items([Text("x")])) != reply.calls
    answers = one.result_items([result(call) for call in reply.calls])
    history = [*reply.items, *answers]
    assert one.open_calls(history) == []
    parts: Any = answers[0]["parts"]
    assert [part["functionResponse"].get("id") for part in parts] == ["a", None, "a", None]
    parts.pop()
    assert one.open_calls(history) == reply.calls[3:]
    assert one.open_calls(one.user_items([Text("x")])) == []


def test_unknown_parts_survive_verbatim() -> None:
    """H-1: parts are neither merged nor moved nor cleaned."""
    kept: list[Any] = [
        {"executableCode": {"code": "1"}, "thoughtSignature": "s_-"},
        {"text": "", "thoughtSignature": "s+/"},
        {"hologram": {"x": None}},
        {"text": "a"},
        {"text": "b", "novel": 1},
    ]
    empty: list[Any] = [{}, {"text": ""}, {"text": "", "thought": True}, {"text": None}]
    reply = fold(chunk(*kept[:2], *empty), chunk(*kept[2:]), chunk(finish="LATER")).reply()
    assert reply.items == [{"role": "model", "parts": kept}]
    assert (reply.stop, reply.detail) == ("other", "LATER")


def test_usage_is_the_last_one() -> None:
    early = {"promptTokenCount": 55}
    late = {
        "promptTokenCount": 257,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 2,
        "cachedContentTokenCount": 9,
    }
    reply = fold(
        chunk({"text": "a"}, usageMetadata=early), chunk(finish="STOP", usageMetadata=late)
    ).reply()
    assert reply.usage == Usage(input=257, cache_read=9, output=5, reasoning=2)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
PART = JSON | st.dictionaries(
    st.sampled_from(["text", "thought", "thoughtSignature", "functionCall", "x"]), JSON
)


@given(st.lists(st.lists(PART, max_size=4), max_size=4), JSON, JSON)
def test_no_chunk_breaks_the_accumulator(
    chunks: list[list[Any]], usage: Any, feedback: Any
) -> None:
    events = [chunk(*parts, usageMetadata=usage, promptFeedback=feedback) for parts in chunks]
    accumulator = fold(*events, {"candidates": usage})
    for reply in (accumulator.reply(), accumulator.interrupted()):
        calls = [c for item in reply.items for c in calls_of(item, [])]
        assert calls == reply.calls
        assert len({c.id for c in calls}) == len(calls)


# Faults.


async def test_a_rejected_key(http: Http) -> None:
    async with Simulator([]) as sim:
        error = await fails(provider(sim, http, "bad-key-12345"))
        assert (error.fault, error.status, error.provider) == ("bad_key", 400, "gemini")
        assert str(error) == "Gemini rejected the API key."
        with pytest.raises(ProviderError, match="rejected the API key"):
            await provider(sim, http, "bad-key-12345").models()
        assert (await fails(provider(sim, http, ""))).fault == "no_key"


@pytest.mark.parametrize("code", [200, 404])
async def test_a_web_page(http: Http, code: int) -> None:
    async with Simulator([Turn(faults=[html(code)])]) as sim:
        error = await fails(provider(sim, http))
        assert error.fault == "protocol"
        assert str(error) == (
            f"The server at 127.0.0.1:{sim.port} did not answer like Gemini. Check the base URL."
        )


async def test_no_network(http: Http) -> None:
    error = await fails(GeminiProvider("key", "http://127.0.0.1:9", http))
    where = "127.0.0.1:9"
    words = f"Can't reach Gemini at {where}. Check the connection."
    assert (error.fault, str(error)) == ("network", words)
    with pytest.raises(ProviderError, match="Can't reach"):
        await GeminiProvider("key", "http://127.0.0.1:9", http).models()
    assert (await fails(GeminiProvider("key", "htp:/x", http))).fault == "protocol"


@pytest.mark.parametrize(
    ("code", "fault"),
    [(400, "bad_request"), (403, "forbidden"), (429, "rate_limited"), (500, "server"), (503, "overloaded"), (504, "server")],
)  # fmt: skip
async def test_l12_statuses(http: Http, code: int, fault: str) -> None:
    async with Simulator([Turn(faults=[status(code, retry_after=7.5)])]) as sim:
        error = await fails(provider(sim, http))
        assert (error.fault, error.status, error.retry_after) == (fault, code, 7.5)
        assert len(sim.requests) == 1  # no hidden retries


async def test_l12_an_unknown_model(http: Http) -> None:
    async with Simulator([]) as sim:
        error = await fails(provider(sim, http), model="missing-1")
        assert (error.fault, str(error)) == ("not_found", "Gemini has no model called missing-1.")


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (cut(-3), "network"), (cut(-3, reset=True), "network"), (eof(-1), "network"), (eof(0), "network"),
        (garbage(2), "protocol"), (garbage(2, "truncated"), "protocol"),
        (eof(Byte(300)), "network"), (cut(Byte(300)), "network"),
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


async def test_l11_a_stream_that_is_let_go_hangs_up(http: Http) -> None:
    async with Simulator([Turn(Say("one two three"), faults=[stall(2)])]) as sim:
        one = provider(sim, http)
        stream = one.stream(request(one.user_items([Text("Hi.")])))
        deltas = stream.__aiter__()
        await deltas.__anext__()
        await stream.aclose()
        await asyncio.wait_for(sim.wait_disconnect(0), HANG)
        await stream.aclose()


async def test_p2_models(http: Http) -> None:
    async with Simulator([], page_size=5) as sim:
        models = await provider(sim, http).models()
        assert len(sim.requests) == 3
        by_id = {model.id: model for model in models}
        pro = by_id["gemini-3-pro-preview"]
        assert (pro.name, pro.context_window, pro.output_limit) == (
            "Gemini 3 Pro Preview",
            1_048_576,
            65_536,
        )
        assert pro.reasoning is True
        assert not {"gemini-embedding-001", "imagen-4.0-generate-001", "aqa"} & set(by_id)


async def test_p2_an_endless_cursor_ends(http: Http) -> None:
    page = {
        "models": [{"name": "models/a", "supportedGenerationMethods": ["generateContent"]}],
        "nextPageToken": "x",
    }
    raw = json.dumps(page).encode()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.append(1)
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n" + raw
        )
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    asked: list[int] = []
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        models = await GeminiProvider("k", f"http://127.0.0.1:{port}", http).models()
    assert [model.id for model in models] == ["a"]
    assert len(asked) == 2


# Recordings.


def recordings() -> list[Any]:
    found: list[Any] = []
    for path in sorted(RECORDINGS.glob("google__*.json")):
        for number, exchange in enumerate(json.loads(path.read_text("utf-8"))["exchanges"]):
            if "enerateContent" in exchange["path"] or exchange["path"].endswith("/models"):
                name = f"{path.stem.partition('test_')[2]}-{number}"
                found.append(pytest.param(exchange, id=name))
    return found or [pytest.param(None, id="absent")]


def parts_of(events: list[Any]) -> list[Any]:
    contents = [c.get("content", {}) for e in events for c in e.get("candidates", [])]
    return [part for content in contents for part in content.get("parts", [])]


@pytest.mark.recordings
@pytest.mark.parametrize("exchange", recordings())
async def test_recorded_answers_fold(http: Http, exchange: Any) -> None:
    """H-1: what was recorded is stored part for part."""
    body, kind = exchange["response_body"], exchange["response_headers"]["content-type"]
    if exchange["path"].endswith("/models"):
        listed = [
            m
            for m in json.loads(body)["models"]
            if "generateContent" in m["supportedGenerationMethods"]
        ]
        page = json.dumps({**json.loads(body), "nextPageToken": ""}).encode()
        head = (
            f"HTTP/1.1 200 OK\r\ncontent-length: {len(page)}\r\nconnection: close\r\n\r\n".encode()
        )

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head + page)
            await writer.drain()
            writer.close()
            await writer.wait_closed()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            models = await GeminiProvider("k", f"http://127.0.0.1:{port}", http).models()
        assert [f"models/{model.id}" for model in models] == [m["name"] for m in listed]
        return
    if "stream" not in exchange["path"] and exchange["status"] == 200:
        body = f"data: {json.dumps(json.loads(body))}\r\n\r\n"
    elif body.lstrip().startswith("["):  # recorded without alt=sse, which we always ask for
        body = "".join(f"data: {json.dumps(event)}\r\n\r\n" for event in json.loads(body))
    raw = Raw("gemini", body.encode(), kind, exchange["status"])
    async with Simulator([raw], strict=False, chunking=every(max(7, len(body) // 2000))) as sim:
        one = provider(sim, http)
        stream = one.stream(request(one.user_items([Text("Hi.")]), model="gemini-x"))
        if exchange["status"] != 200:
            with pytest.raises(ProviderError) as caught:
                await drain(stream)
            assert caught.value.fault == "not_found"
            return
        deltas = await drain(stream)
    events = [json.loads(line[5:]) for line in body.splitlines() if line.startswith("data:")]
    reply = stream.reply()
    parts: Any = reply.items[0]["parts"] if reply.items else []
    assert parts == [p for p in parts_of(events) if p.get("text") != "" or "thoughtSignature" in p]
    assert len(reply.calls) == sum("functionCall" in part for part in parts)
    assert (reply.stop == "tool_use") == bool(reply.calls)
    assert words(deltas) == "".join(p.get("text", "") for p in parts if not p.get("thought"))
    assert thoughts(deltas) == "".join(p.get("text", "") for p in parts if p.get("thought"))
