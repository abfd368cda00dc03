"""OpenAI Responses through the SDK: the strict simulator, recordings, event lists."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.domain.errors import ProviderError
from studio.domain.messages import File, Image, Text, ToolResult
from studio.domain.models import Usage
from studio.providers.http import Http
from studio.providers.openai.adapter import OpenAIProvider
from studio.providers.openai.models import chat_models
from studio.providers.openai.stream import ResponsesAccumulator, said
from studio.simulator import (
    Call,
    Raw,
    Simulator,
    Think,
    Turn,
    cut,
    dup,
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


def provider(simulator: Simulator, http: Http, key: str = "sim-key") -> OpenAIProvider:
    return OpenAIProvider(key, simulator.url("responses"), http)


@pytest.mark.parametrize("chunking", ["whole", "event", every(7), "adversarial"])
@pytest.mark.parametrize("model", ["demo-thinker", "gpt-5.6"])
async def test_h8_two_iterations_have_their_calls_and_results(
    http: Http, chunking: Any, model: str
) -> None:
    """PRE-1, H-8, H-3, H-4, H-6."""
    async with Simulator(TWO_ITERATIONS, strict="beyond", chunking=chunking) as sim:
        await two_iterations(provider(sim, http), sim, model=model)
        second: Any = sim.requests[1].json
        assert second["store"] is False
        assert second["instructions"] == "Be brief."
        calls = [item["call_id"] for item in second["input"] if item.get("type") == "function_call"]
        outputs = [item for item in second["input"] if item.get("type") == "function_call_output"]
        assert [item["call_id"] for item in outputs] == calls
        assert len(set(calls)) == 3
        assert "b\u00e4 😀.txt" in outputs[1]["output"]
        third: Any = sim.requests[2].json
        assert third["input"][: len(second["input"])] == second["input"]  # H-1: append-only


async def test_h1_items_go_back_as_they_came(http: Http) -> None:
    turn = Turn(
        Think("Hm."),
        Say("Grüße."),
        usage=Tokens(inp=1200, cache_read=1000, cache_write=3, out=80, reasoning=40),
    )
    async with Simulator([turn, Turn(Say("."))]) as sim:
        one = provider(sim, http)
        history = one.user_items([Text("Hi.")])
        stream = one.stream(request(history, model="gpt-5.6"))
        deltas = await drain(stream)
        reply = stream.reply()
        assert (words(deltas), thoughts(deltas)) == ("Grüße.", "Hm.")
        assert reply.usage == Usage(1200, 1000, 3, 80, 40)
        assert [item["type"] for item in reply.items] == ["reasoning", "message"]
        assert reply.items[0]["encrypted_content"]
        assert str(reply.items[1]["id"]).startswith("msg_")
        history += reply.items + one.user_items([Text("And?")])
        await answer(one, history)
        sent: Any = sim.requests[1].json["input"]
        assert sent[1:3] == reply.items
        assert sim.violations == []


async def test_h5_stopped_in_text_after_reasoning(http: Http) -> None:
    """The reasoning goes with the item it belongs to; the words stay."""
    turn = Turn(Think("Hm."), Say("one two three four five six"), faults=[stall(-6)])
    async with Simulator([turn, Turn(Say("Yes."))]) as sim:
        kept = await stopped(provider(sim, http), sim, lambda kept: kept.items)
        assert [item.get("role") for item in kept.items] == ["assistant"]
        assert str(kept.items[0]["content"]).startswith("one")
        assert "id" not in kept.items[0]


async def test_h5_stopped_in_a_call(http: Http) -> None:
    turn = Turn(
        Think("Hm."),
        Call("read_file", {"path": "a.txt"}),
        Call("read_file", {"path": "b" * 200}),
        faults=[stall(-5)],
    )
    async with Simulator([turn, Turn(Say("Yes."))]) as sim:
        kept = await stopped(provider(sim, http), sim, lambda kept: len(kept.calls) == 1)
        assert [call.arguments for call in kept.calls] == [{"path": "a.txt"}]
        assert [item["type"] for item in kept.items] == ["reasoning", "function_call"]


@pytest.mark.parametrize("thinks", [True, False])
async def test_h5_cut_off_at_the_output_limit_inside_a_call(http: Http, thinks: bool) -> None:
    parts = [Think("Hm.")] if thinks else [Say("Writing.")]
    turn = Turn(
        *parts,
        Call("read_file", {"path": "a" * 90}),
        stop="max_tokens",
        faults=[tool_json("truncated")],
    )
    async with Simulator([turn, Turn(Say("Yes."))]) as sim:
        one = provider(sim, http)
        history = one.user_items([Text("Write.")])
        reply = await answer(one, history)
        assert (reply.stop, reply.calls) == ("max_tokens", [])
        assert len(reply.items) == (0 if thinks else 1)
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
        calls = [item["call_id"] for item in history if item.get("type") == "function_call"]
        outputs = [item for item in history if item.get("type") == "function_call_output"]
        assert [item["call_id"] for item in outputs] == calls
        assert len(set(map(str, calls))) == 3
        assert outputs[1]["output"] == "Error: B"


async def test_a_terminal_event_twice(http: Http) -> None:
    async with Simulator([Turn(Say("Yes."), faults=[dup()])]) as sim:
        one = provider(sim, http)
        history = one.user_items([Text("Hi.")])
        await answer(one, history)
        assert len(history) == 2


@pytest.mark.parametrize("stop", ["refusal", "content_filter"])
async def test_unusual_ends(http: Http, stop: Any) -> None:
    async with Simulator([Turn(Say("No."), stop=stop), Turn(Say("Yes."))]) as sim:
        one = provider(sim, http)
        history = one.user_items([Text("Hi.")])
        assert (await answer(one, history)).stop == stop
        history += one.user_items([Text("And?")])
        await answer(one, history)
        assert sim.violations == []


def test_pictures_and_files() -> None:
    one = OpenAIProvider("k", "", Http())
    picture = Image("image/png", b"\x89PNG")
    [output] = one.result_items([ToolResult("1", "look", (Text("A cat."), picture))])
    assert [part["type"] for part in output["output"]] == ["input_text", "input_image"]  # type: ignore[union-attr,index,call-overload]  # JSON
    [said] = one.user_items([Text("a"), picture, File("x.pdf", "application/pdf", b"%PDF")])
    types = [part["type"] for part in said["content"]]  # type: ignore[union-attr,index,call-overload]  # JSON
    assert types == ["input_text", "input_image", "input_file"]


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (status(401), "bad_key"),
        (status(403), "forbidden"),
        (status(429, retry_after=7), "rate_limited"),
        (status(429, variant="insufficient_quota"), "no_credit"),
        (status(500), "server"),
        (status(503), "overloaded"),
        (html(), "protocol"),
        (error_event("overloaded", 2), "overloaded"),
        (error_event("rate_limit", 2), "rate_limited"),
        (error_event("server", 2), "server"),
        (error_event("server", 2, variant="failed"), "server"),
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
        assert (error.fault, error.provider) == (kind, "openai")
        assert error.retry_after == (7 if fault.retry_after else None)
        assert len(sim.requests) == 1  # no hidden retries


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


async def test_an_account_that_may_not_see_summaries(http: Http) -> None:
    body = (
        b'{"error":{"message":"Your organization must be verified to generate reasoning '
        b'summaries.","type":"invalid_request_error","param":"reasoning.summary",'
        b'"code":"unsupported_value"}}'
    )
    refusal = Raw("responses", body, "application/json", 400)
    async with Simulator([refusal, Turn(Say("Yes.")), Turn(Say("Yes."))]) as sim:
        one = provider(sim, http)
        for _ in range(2):
            await answer(one, one.user_items([Text("Hi.")]), model="gpt-5.6")
        asked = ["reasoning" in exchange.json for exchange in sim.requests]
        assert asked == [True, False, False]


async def test_p2_models(http: Http) -> None:
    async with Simulator([]) as sim:
        models = [model.id for model in await provider(sim, http).models()]
        assert "gpt-5.6" in models
        assert "o4-mini" in models
        for word in (
            "embedding",
            "whisper",
            "tts",
            "image",
            "audio",
            "moderation",
            "search",
            "ft:",
        ):
            assert not [model for model in models if word in model]
        with pytest.raises(ProviderError) as caught:
            await provider(sim, http, "bad").models()
        assert caught.value.fault == "bad_key"


def test_p2_only_models_that_chat() -> None:
    now = datetime(2026, 11, 21, tzinfo=UTC).timestamp()
    chat = ["gpt-6.1-sol", "gpt-5-mini-2025-08-07", "chatgpt-4o-latest", "o3", "gpt-6-luna"]
    other = [
        *(
            "text-embedding-3-small",
            "gpt-realtime-2",
            "gpt-audio-mini",
            "gpt-image-2",
            "o3-deep-research",
        ),
        *(
            "gpt-4o-transcribe",
            "gpt-3.5-turbo-instruct",
            "ft:gpt-4o:me::1",
            "gpt-live-1",
            "davinci-002",
        ),
        *(
            "gpt-4o-mini-tts",
            "omni-moderation-latest",
            "computer-use-preview",
            "sora-2",
            "whisper-1",
        ),
        "gpt-5-search-api",
    ]
    listed: list[object] = [{"id": id, "created": number} for number, id in enumerate(chat)]
    listed += [{"id": id, "created": 1} for id in other]
    listed += [{"id": "gpt-4-old", "shutdown_date": "2026-01-01"}, {"id": None}, "x"]
    listed += [{"id": "gpt-5-late", "shutdown_date": "2027-01-01", "created": -1}]
    assert [model.id for model in chat_models(listed, now)] == [*reversed(chat), "gpt-5-late"]


RECORDED = [
    ("openai__responses__test_openai_responses.test_responses_basic_streaming", 0, [], "end"),
    (
        "openai__responses__test_openai_responses.test_responses_tool_use_streaming",
        0,
        None,
        "tool_use",
    ),
    ("openai__responses__test_openai_responses.test_responses_tool_use_streaming", 1, [], "end"),
    (
        "openai__responses__test_openai_responses.test_openai_responses_phase",
        0,
        ["get_capital"],
        "tool_use",
    ),
    ("openai__responses__test_openai_responses.test_openai_responses_phase", 1, [], "end"),
    ("openai__responses__test_openai_responses.test_openai_responses_moderation", 0, [], "end"),
    (
        "openai__responses__test_openai_responses.test_openai_responses_model_web_search",
        0,
        [],
        "end",
    ),
    ("openai__responses__test_tool_search.test_openai_native", 0, None, None),
    ("openai__responses__test_tool_search.test_openai_native", 1, None, None),
]


@pytest.mark.recordings
@pytest.mark.parametrize(("file", "index", "calls", "stop"), RECORDED)
async def test_recorded_answers(
    http: Http, file: str, index: int, calls: list[str] | None, stop: str | None
) -> None:
    exchange = recorded(file)[index]
    body = exchange["response_body"].encode()
    async with Simulator([Raw("responses", body)], strict=False, chunking=every(997)) as sim:
        one = provider(sim, http)
        stream = one.stream(request(one.user_items([Text("Hi.")])))
        deltas = await drain(stream)
        reply = stream.reply()
        names = [call.name for call in reply.calls]
        assert stop is None or reply.stop == stop
        assert calls is None or names == calls
        assert [name for _, name in started(deltas)] == names
        assert reply.usage.total > 0


@pytest.mark.recordings
async def test_h1_recorded_echo_is_what_was_received(http: Http) -> None:
    """The client of the recording sent these items back and they were accepted."""
    first, second = recorded("openai__responses__test_openai_responses.test_openai_responses_phase")
    body = first["response_body"].encode()
    async with Simulator([Raw("responses", body)], strict=False) as sim:
        one = provider(sim, http)
        reply = await answer(one, one.user_items([Text("Hi.")]))
    accepted = {item.get("id"): item for item in second["request_json"]["input"]}
    for item in reply.items:
        echo = accepted[item["id"]]
        for name in ("encrypted_content", "phase", "call_id", "arguments"):
            assert item.get(name) == echo.get(name)


@pytest.mark.recordings
async def test_recorded_refusal(http: Http) -> None:
    exchange = recorded(
        "openai__responses__test_openai_responses.test_openai_responses_model_http_error"
    )[0]
    raw = Raw("responses", exchange["response_body"].encode(), "application/json", 400)
    async with Simulator([raw], strict=False) as sim:
        error = await fails(provider(sim, http))
        assert (error.fault, error.status) == ("bad_request", 400)
        assert "temperature" in str(error)


def heard(kind: str, number: int = 0, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "sequence_number": number, **fields}


def spoken(text: str, **fields: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text}]
    return {"type": "message", "role": "assistant", "content": content, **fields}


ONE, TWO = spoken("One.", id="msg_1"), spoken("Two.", id="msg_2")
COMPLETED = heard("completed", response={"status": "completed", "output": []})
ODD_STREAMS: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "words of an item that never began": (
        [
            heard("output_text.delta", output_index=9, delta="Hello."),
            heard("output_item.done", output_index=0, item=ONE),
        ],
        ["One.", "Hello."],
    ),
    "words of an item that never ended": (
        [
            heard("output_item.added", output_index=0, item=spoken("", id="msg_1")),
            heard("output_text.delta", output_index=0, delta="Hello."),
            heard("output_item.added", output_index=1, item=TWO),
            heard("output_item.done", output_index=1, item=TWO),
        ],
        ["Hello.", "Two."],
    ),
    "words that their item does not have": (
        [
            heard("output_text.delta", output_index=0, delta="Hello."),
            heard("output_item.done", output_index=0, item=spoken("")),
        ],
        ["Hello."],
    ),
    "words of an item that is no message": (
        [
            heard("output_text.delta", output_index=0, delta="Hello."),
            heard("output_item.done", output_index=0, item={"type": "odd", "id": "o_1"}),
        ],
        ["Hello."],
    ),
    "words that only the item has": (
        [
            heard("output_text.delta", output_index=0, delta="On"),
            heard("output_item.done", output_index=0, item=ONE),
        ],
        ["One."],
    ),
    "a piece that came twice": (
        [
            heard("output_item.added", 1, output_index=0, item=spoken("", id="msg_1")),
            *[heard("output_text.delta", 2, output_index=0, delta="On"), heard("odd")] * 2,
            heard("output_text.delta", 3, output_index=0, delta="e."),
            heard("output_item.done", 4, output_index=0, item=ONE),
        ],
        ["One."],
    ),
    "the same piece from a server that does not count": (
        [*[heard("output_text.delta", output_index=0, delta="ha")] * 2],
        ["haha"],
    ),
    "no places": (
        [
            heard("output_item.added", item=spoken("", id="msg_1")),
            heard("output_text.delta", item_id="msg_1", delta="One."),
            heard("output_item.done", item=ONE),
            heard("output_item.added", item=spoken("", id="msg_2")),
            heard("output_text.delta", item_id="msg_2", delta="Two."),
            heard("output_item.done", item=TWO),
        ],
        ["One.", "Two."],
    ),
    "places of items alone": (
        [
            heard("output_item.added", output_index=3, item=spoken("", id="msg_1")),
            heard("output_text.delta", item_id="msg_1", delta="One."),
            heard("output_text.delta", delta=" More."),
            heard("output_item.done", output_index=3, item=spoken("One. More.", id="msg_1")),
        ],
        ["One. More."],
    ),
}


@pytest.mark.parametrize("case", ODD_STREAMS)
@pytest.mark.parametrize("ends", [True, False])
def test_h1_what_is_shown_is_kept(case: str, ends: bool) -> None:
    """H-1: the transcript shows each word once, and the next request has it."""
    events, expected = ODD_STREAMS[case]
    folded = ResponsesAccumulator(lambda error: ProviderError("server", str(error)))
    deltas = [delta for event in events for delta in folded.feed(event)]
    if ends:
        deltas += folded.feed(COMPLETED)
    items = (folded.reply() if ends else folded.interrupted()).items
    messages = [item for item in items if item.get("type") == "message"]
    kept = [said(item) or item["content"] for item in messages]
    assert kept == expected
    assert sorted("".join(one.text for one in deltas)) == sorted("".join(expected))


def events() -> list[dict[str, Any]]:
    reasoning = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "x"}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
    text = {**message, "content": [{"type": "output_text", "text": "I'll look"}]}
    calls = [
        {
            "id": f"fc_{n}",
            "type": "function_call",
            "call_id": f"c{n}",
            "name": "now",
            "arguments": "{}",
        }
        for n in (1, 2)
    ]
    second = {**reasoning, "id": "rs_2"}

    def item(
        place: int, began: dict[str, Any], *deltas: dict[str, Any], done: dict[str, Any]
    ) -> Any:
        yield {"type": "response.output_item.added", "output_index": place, "item": began}
        yield from ({**delta, "output_index": place} for delta in deltas)
        yield {"type": "response.output_item.done", "output_index": place, "item": done}

    delta = {"type": "response.output_text.delta", "delta": "I'll "}
    return [
        {"type": "response.created", "response": {}},
        *item(
            0,
            reasoning,
            {"type": "response.reasoning_summary_text.delta", "delta": "Hm"},
            done=reasoning,
        ),
        *item(1, message, delta, {**delta, "delta": "look"}, done=text),
        *item(2, second, done=second),
        *item(
            3,
            calls[0],
            {"type": "response.function_call_arguments.delta", "delta": "{}"},
            done=calls[0],
        ),
        *item(4, calls[1], done=calls[1]),
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    ]


@given(st.data())
def test_h5_interrupted_anywhere_is_valid(data: Any) -> None:
    folded = ResponsesAccumulator(lambda error: ProviderError("server", str(error)))
    stream = events()
    for event in stream[: data.draw(st.integers(0, len(stream)))]:
        list(folded.feed(event))
    kept = folded.interrupted()
    for item, following in zip(kept.items, [*kept.items, None][1:], strict=True):
        if item.get("type") == "reasoning":
            assert following is not None
            assert following.get("id") in ("msg_1", "fc_1")
    assert [call.id for call in kept.calls] == [
        item["call_id"] for item in kept.items if item.get("type") == "function_call"
    ]
