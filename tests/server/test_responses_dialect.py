"""The Responses dialect: requests read, answers told, streamed and whole (S-1, S-3)."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import APIError, AsyncOpenAI, NotFoundError
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter

from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import File, Image, Message, Text, ToolCall, ToolResult
from studio.domain.models import Generation, Usage
from studio.domain.tools import ToolSpec
from studio.server.contract import (
    BadRequest,
    Outcome,
    ProgressPart,
    ReasoningPart,
    ResponseInfo,
    ResponsePart,
    TextPart,
    ToolCallPart,
)
from studio.server.dialects.responses import (
    ResponsesDialect,
    ResponsesResponse,
    deleted_response,
    echoed_settings,
    stored_response,
)
from support.local_site import SiteRequest as Heard
from support.local_site import answer, site

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\nrest").decode()
PDF = base64.b64encode(b"%PDF-1.7 rest").decode()
LOGPROBS = "message.output_text.logprobs"
ABOUT = ResponseInfo("0123456789abcdef0123456789abcdef", "agent/Coder", 1_800_000_000)
WEATHER: JsonObject = {
    "type": "function",
    "name": "weather",
    "description": "Tells the weather.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    "strict": False,
}
PATCH: JsonObject = {
    "type": "custom",
    "name": "patch",
    "description": "Changes files.",
    "format": {"type": "grammar", "syntax": "lark", "definition": 'start: "x"+'},
}


def asked(**body: Any):
    return ResponsesDialect().read_request({"model": "agent/Coder", "input": "Hello", **body})


def wrong(**body: Any) -> BadRequest:
    with pytest.raises(BadRequest) as caught:
        asked(**body)
    assert caught.value.status == 400
    return caught.value


# Requests


def test_a_text_is_the_words_of_the_user() -> None:
    got = asked()
    assert (got.model, got.messages) == ("agent/Coder", (Message("user", (Text("Hello"),)),))
    assert not got.stream
    assert got.generation == Generation()


def test_the_whole_conversation_arrives_in_order() -> None:
    """S-1: text, pictures, files, calls and their outputs."""
    got = asked(
        instructions="Be brief.",
        input=[
            {"role": "system", "content": "You are a cook."},
            {"role": "developer", "content": [{"type": "input_text", "text": "In metric."}]},
            {
                "type": "message",
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "What is this?"},
                    {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
                    {"type": "input_file", "filename": "../a.pdf", "file_data": PDF},
                ],
            },
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
            },
            {
                "type": "function_call",
                "call_id": "c1",
                "name": "weather",
                "arguments": '{"city":"Rome"}',
            },
            {"type": "function_call", "call_id": "c2", "name": "weather", "arguments": "{oh"},
            {"type": "function_call_output", "call_id": "c1", "output": "Sunny"},
            {
                "type": "function_call_output",
                "call_id": "c2",
                "output": [
                    {"type": "input_text", "text": "See:"},
                    {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
                ],
            },
            {"role": "system", "content": "Now in {French}."},
            {"role": "user", "content": "And now?"},
        ],
    )
    picture = Image("image/png", base64.b64decode(PNG))
    assert got.instructions == "Be brief.\n\nYou are a cook.\n\nIn metric."
    assert got.messages == (
        Message(
            "user",
            (
                Text("What is this?"),
                picture,
                File("a.pdf", "application/pdf", base64.b64decode(PDF)),
            ),
        ),
        Message(
            "assistant",
            (
                Text("I look."),
                ToolCall("c1", "weather", {"city": "Rome"}),
                ToolCall("c2", "weather", None, "{oh"),
            ),
        ),
        Message(
            "user",
            (
                ToolResult("c1", "weather", (Text("Sunny"),)),
                ToolResult("c2", "weather", (Text("See:"), picture)),
            ),
        ),
        Message("user", (Text('<instructions from="client">\nNow in {French}.\n</instructions>'),)),
        Message("user", (Text("And now?"),)),
    )


def test_calls_one_after_the_other_stay_apart() -> None:
    """Two replies with a call each are not one reply with two."""
    items: list[JsonObject] = [{"role": "user", "content": "Go"}]
    for call in ("c1", "c2"):
        items.append(
            {"type": "function_call", "call_id": call, "name": "weather", "arguments": "{}"}
        )
        items.append({"type": "function_call_output", "call_id": call, "output": ""})
    roles = [message.role for message in asked(input=items).messages]
    assert roles == ["user", "assistant", "user", "assistant", "user"]


def test_an_output_goes_on_from_an_earlier_answer() -> None:
    item = {"type": "function_call_output", "call_id": "c9", "output": "42"}
    got = asked(input=[item], previous_response_id="resp_1")
    assert got.previous == "resp_1"
    assert got.messages == (Message("user", (ToolResult("c9", "", (Text("42"),)),)),)
    assert wrong(input=[item]).param == "input[0].call_id"


def test_a_system_message_after_an_earlier_answer_stands_in_its_place() -> None:
    said = [{"role": "system", "content": "Shout."}, {"role": "user", "content": "Hi"}]
    got = asked(input=said, previous_response_id="resp_1")
    assert got.instructions == ""
    assert "Shout." in got.messages[0].text


def test_what_is_asked_of_the_answer() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    got = asked(
        tools=[WEATHER, {"type": "function", "name": "now"}],
        tool_choice={"type": "function", "name": "now"},
        text={"format": {"type": "json_schema", "name": "x", "schema": schema, "strict": True}},
        max_output_tokens=100,
        temperature=0.5,
        top_p=1,
        reasoning={"effort": "high", "summary": "auto"},
        store=False,
        stream=True,
        user="u1",
        metadata={"a": "b"},
        parallel_tool_calls=False,
        max_tool_calls=3,
        truncation="auto",
        include=["reasoning.encrypted_content"],
        something_new={"from": "tomorrow"},
    )
    assert got.tools == (
        ToolSpec(
            "weather",
            "Tells the weather.",
            {"type": "object", "properties": {"city": {"type": "string"}}},
            external=True,
        ),
        ToolSpec("now", "", {"type": "object", "properties": {}}, external=True),
    )
    assert got.tools[0].schema == WEATHER["parameters"]
    assert got.generation == Generation(
        100,
        "high",
        0.5,
        1.0,
        choice="required",
        only="now",
        schema=schema,
        parallel=False,
        calls=3,
    )
    assert (got.stream, got.user) == (True, "u1")
    assert asked(text={"format": {"type": "json_object"}}).generation.schema == {}
    assert asked(text={"format": {"type": "text"}}).generation.schema is None
    assert asked(tool_choice="none").generation.choice == "none"
    assert asked(safety_identifier="s", user="u").user == "s"
    absent = asked(temperature=None, tools=None, text=None, metadata=None, store=None)
    assert absent == asked()


def test_tools_that_are_not_allowed_are_not_offered() -> None:
    named = {"type": "function", "name": "weather"}
    choice = {"type": "allowed_tools", "mode": "required", "tools": [named]}
    got = asked(tools=[WEATHER, {**WEATHER, "name": "other"}], tool_choice=choice)
    assert [tool.name for tool in got.tools] == ["weather"]
    assert got.generation.choice == "required"


def test_tools_among_the_items_are_offered_too() -> None:
    """Codex has them there for models that it knows."""
    space: JsonObject = {"type": "namespace", "name": "functions", "tools": [PATCH, WEATHER]}
    item: JsonObject = {"type": "additional_tools", "role": "developer", "tools": [space]}
    got = asked(input=[item, {"role": "user", "content": "Go"}], tools=[{"type": "web_search"}])
    assert [tool.name for tool in got.tools] == ["functions__patch", "functions__weather"]
    assert 'start: "x"+' in got.tools[0].description
    assert len(got.messages) == 1


def message(*parts: JsonObject, role: str = "user") -> list[JsonObject]:
    return [{"role": role, "content": list(parts)}]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"model": None}, "model"),
        ({"model": 4}, "model"),
        ({"input": None}, "input"),
        ({"input": ""}, "input"),
        ({"input": []}, "input"),
        ({"input": 7}, "input"),
        ({"input": ["a"]}, "input[0]"),
        ({"input": [{"role": "robot", "content": "a"}]}, "input[0].role"),
        ({"input": [{"type": "message", "content": "a"}]}, "input[0].role"),
        ({"input": [{"role": "user"}]}, "input[0].content"),
        ({"input": [{"role": "user", "content": 3}]}, "input[0].content"),
        ({"input": message({"text": "a"})}, "input[0].content[0].type"),
        ({"input": message({"type": "input_text", "text": 3})}, "input[0].content[0].text"),
        ({"input": message({"type": "input_audio"})}, "input[0].content[0].type"),
        ({"input": message({"type": "input_image"})}, "input[0].content[0].image_url"),
        (
            {"input": message({"type": "input_image", "file_id": "file-1"})},
            "input[0].content[0].file_id",
        ),
        (
            {"input": message({"type": "input_image", "image_url": "http://a/b.png"})},
            "input[0].content[0].image_url",
        ),
        (
            {"input": message({"type": "input_image", "image_url": "data:text/html,<b>"})},
            "input[0].content[0].image_url",
        ),
        (
            {"input": message({"type": "input_image", "image_url": "data:image/png;base64,?"})},
            "input[0].content[0].image_url",
        ),
        (
            {
                "input": message(
                    {"type": "input_image", "image_url": f"data:image/png;base64,!{PNG}"}
                )
            },
            "input[0].content[0].image_url",
        ),
        (
            {"input": message({"type": "input_image", "image_url": "data:image/png;base64,"})},
            "input[0].content[0].image_url",
        ),
        (
            {"input": message({"type": "input_file", "file_url": "file:///etc/passwd"})},
            "input[0].content[0].file_url",
        ),
        (
            {"input": message({"type": "input_file", "file_data": "file:///etc/passwd"})},
            "input[0].content[0].file_data",
        ),
        (
            {
                "input": message(
                    {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
                    role="system",
                )
            },
            "input[0].content",
        ),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "input[0].id"),
        ({"input": [{"id": "msg_1"}]}, "input[0].id"),
        ({"input": [{"type": "web_search_call", "id": "ws_1"}]}, "input[0].type"),
        ({"input": [{"type": "function_call", "name": "a"}]}, "input[0].call_id"),
        ({"previous_response_id": 1}, "previous_response_id"),
        ({"tools": {}}, "tools"),
        ({"tools": [{"type": "mind_reading"}]}, "tools[0].type"),
        ({"tools": [{"type": "custom"}]}, "tools[0].name"),
        ({"tools": [{**PATCH, "format": {"type": "grammar"}}]}, "tools[0].format.syntax"),
        ({"tools": [{"type": "namespace", "tools": [WEATHER]}]}, "tools[0].name"),
        ({"tools": [{"type": "function"}]}, "tools[0].name"),
        ({"tools": [{"type": "function", "name": "a b"}]}, "tools[0].name"),
        ({"tools": [{"type": "function", "name": "ok\n"}]}, "tools[0].name"),
        ({"tools": [WEATHER, WEATHER]}, "tools[1].name"),
        ({"tools": [{**WEATHER, "parameters": []}]}, "tools[0].parameters"),
        ({"tools": [{**WEATHER, "parameters": {"type": "array"}}]}, "tools[0].parameters"),
        ({"tool_choice": "sometimes"}, "tool_choice"),
        ({"tool_choice": {"type": "function", "name": "a"}}, "tool_choice.name"),
        ({"tool_choice": {"type": "web_search"}}, "tool_choice.type"),
        ({"text": {"format": {"type": "xml"}}}, "text.format.type"),
        ({"text": {"format": {"type": "json_schema", "name": "a"}}}, "text.format.schema"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"max_output_tokens": True}, "max_output_tokens"),
        ({"temperature": 3}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"temperature": "1"}, "temperature"),
        ({"top_p": -1}, "top_p"),
        ({"reasoning": {"effort": "heroic"}}, "reasoning.effort"),
        ({"reasoning": "high"}, "reasoning"),
        ({"store": "yes"}, "store"),
        ({"stream": 1}, "stream"),
        ({"user": {}}, "user"),
        ({"metadata": {"a": 1}}, "metadata.a"),
        ({"include": [1]}, "include[0]"),
        ({"truncation": "middle"}, "truncation"),
        ({"background": True}, "background"),
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"include": ["reasoning.encrypted_content", LOGPROBS]}, "include[1]"),
        ({"moderation": {"model": "omni"}}, "moderation"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"prompt": {"id": "pmpt_1"}}, "prompt"),
    ],
)
def test_what_is_wrong_is_named(body: dict[str, Any], param: str) -> None:
    error = wrong(**body)
    assert error.param == param
    assert str(error)
    assert error.code


DICTIONARIES = st.dictionaries(
    st.sampled_from(["name", "description", "parameters", "strict", "type"]),
    st.none() | st.text(max_size=3) | st.booleans() | st.just({"type": "object"}),
    max_size=2,
)
NAMES = "type role content name call_id output text image_url file_data format schema arguments"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(NAMES.split()),
            inner | st.sampled_from(["function", "message", "user", "input_text", "json_schema"]),
            max_size=5,
        )
    ),
    max_leaves=12,
)
HALF = st.sampled_from(["Hi \ud800", {"a": "\udfff"}, [{"role": "user", "content": "x \ud83d"}]])
FIELDS = "instructions text reasoning metadata temperature top_p max_output_tokens user truncation"
BODY = st.fixed_dictionaries(
    {"model": st.just("m"), "input": st.text(min_size=1) | JSON | HALF},
    optional={name: JSON | HALF for name in FIELDS.split()}
    | {
        "tools": st.lists(st.builds(lambda more: {**WEATHER, **more}, DICTIONARIES), max_size=2),
        "tool_choice": st.sampled_from(["auto", "none", "required"]) | JSON,
        "stream": st.booleans(),
    },
)


@given(BODY)
def test_no_body_is_worse_than_a_bad_request(body: JsonObject) -> None:
    """What can be read can also be repeated, in JSON that everybody reads."""
    try:
        got = ResponsesDialect().read_request(body)
    except BadRequest as error:
        told = ResponsesDialect().error_body(str(error), status=400, param=error.param)
    else:
        spoken = ResponsesDialect().response_writer(got, ABOUT, body)
        spoken.frames(Outcome("end"))
        told = spoken.body()
        for message in got.messages:
            message.text.encode()
    json.dumps(told, allow_nan=False, ensure_ascii=False).encode()


# Answers

PARTS = st.lists(
    st.one_of(
        st.builds(TextPart, st.text(max_size=8)),
        st.builds(ReasoningPart, st.text(max_size=8)),
        st.builds(ProgressPart, st.text(max_size=8)),
        st.builds(
            lambda number, arguments, raw: ToolCallPart(
                ToolCall(f"call_{number}", "weather", arguments, "" if arguments else raw)
            ),
            st.integers(0, 9),
            st.none() | st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3)),
            st.text(max_size=4),
        ),
    ),
    max_size=12,
)
OUTCOMES = st.builds(
    Outcome,
    st.sampled_from(["end", "calls", "length", "refused", "limit", "error"]),
    st.builds(Usage, *[st.integers(0, 10**6)] * 5),
    st.text(max_size=8),
    st.sampled_from([400, 429, 500]),
    st.sampled_from(["", "rate_limit_exceeded"]),
)
BODIES = st.sampled_from(
    [
        {},
        {"tools": [WEATHER], "tool_choice": "required", "metadata": {"a": "b"}, "temperature": 0},
        {"text": {"format": {"type": "json_schema", "name": "x", "schema": {}, "strict": True}}},
        {"tools": [{"type": "function", "name": "now"}], "reasoning": {"effort": "low"}},
        {"instructions": "Be brief \ud800", "previous_response_id": "resp_1", "store": False},
    ]
)


def spoken(body: JsonObject, parts: Sequence[ResponsePart]) -> tuple[bytes, JsonObject]:
    """What went out, and the whole."""
    made = ResponsesResponse(echoed_settings(body), ABOUT, clock=lambda: 1_800_000_007.9)
    return b"".join([made.frames(part) for part in parts]), made.body()


def events_of(stream: bytes) -> list[dict[str, Any]]:
    """The events between the first and ``[DONE]``, held to the format on the way."""
    blocks = stream.decode("ascii").split("\n\n")
    assert blocks[-2:] == ["data: [DONE]", ""]
    events: list[dict[str, Any]] = []
    for number, block in enumerate(blocks[:-2]):
        name, data = block.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        assert event["sequence_number"] == number
        events.append(event)
    return events


class Fold:
    """A client that believes nothing but the small events."""

    def __init__(self, first: dict[str, Any]) -> None:
        assert first["type"] == "response.created"
        self.response = first["response"]
        assert self.response["output"] == []
        self.closed: set[int] = set()

    def item(self, event: dict[str, Any]) -> dict[str, Any]:
        index = event["output_index"]
        assert index not in self.closed
        item = self.response["output"][index]
        assert event.get("item_id", item["id"]) == item["id"]
        return item

    def take(self, event: dict[str, Any]) -> None:
        match event["type"].removeprefix("response."):
            case "in_progress":
                assert event["response"] == self.response
            case "output_item.added":
                # One item at a time: the one before is done.
                assert len(self.closed) == len(self.response["output"]) == event["output_index"]
                assert event["item"]["status"] == "in_progress"
                self.response["output"].append(event["item"])
            case "content_part.added" | "reasoning_summary_part.added":
                parts = self.parts(event)
                assert len(parts) == self.at(event)
                parts.append(event["part"])
            case "output_text.delta" | "reasoning_summary_text.delta":
                self.part(event)["text"] += event["delta"]
            case "refusal.delta":
                self.part(event)["refusal"] += event["delta"]
            case "output_text.done" | "reasoning_summary_text.done":
                assert self.part(event)["text"] == event["text"]
            case "refusal.done":
                assert self.part(event)["refusal"] == event["refusal"]
            case "content_part.done" | "reasoning_summary_part.done":
                assert self.part(event) == event["part"]
            case "function_call_arguments.delta":
                self.item(event)["arguments"] += event["delta"]
            case "function_call_arguments.done":
                assert self.item(event)["arguments"] == event["arguments"]
            case "output_item.done":
                item = self.item(event)
                item["status"] = event["item"]["status"]
                assert item["status"] in ("completed", "incomplete")
                assert item == event["item"]
                self.closed.add(event["output_index"])
            case other:
                raise AssertionError(other)

    def at(self, event: dict[str, Any]) -> int:
        return event["content_index" if "content_index" in event else "summary_index"]

    def parts(self, event: dict[str, Any]) -> list[dict[str, Any]]:
        item = self.item(event)
        return item["summary" if item["type"] == "reasoning" else "content"]

    def part(self, event: dict[str, Any]) -> dict[str, Any]:
        parts = self.parts(event)
        assert self.at(event) == len(parts) - 1
        return parts[-1]


LAST = {"end": "completed", "calls": "completed", "error": "failed"}


@given(BODIES, PARTS, OUTCOMES)
def test_the_events_come_to_the_whole_answer(
    body: JsonObject, parts: list[ResponsePart], outcome: Outcome
) -> None:
    """S-3: who folds the events of any answer has what the answer in one piece is."""
    stream, whole = spoken(body, [*parts, outcome])
    first, *middle, last = events_of(stream)
    fold = Fold(first)
    if outcome.stop == "error":
        error = middle.pop()
        assert error["type"] == "error"
        assert error["message"] == error["error"]["message"] == outcome.detail
    for event in middle:
        fold.take(event)
    status = LAST.get(outcome.stop, "incomplete")
    assert last["type"] == f"response.{status}"
    assert last["response"] == whole
    assert last["response"]["status"] == status
    assert fold.closed == set(range(len(whole["output"])))
    ended = ("status", "completed_at", "incomplete_details", "error", "usage")
    assert whole == {**fold.response, **{name: whole[name] for name in ended}}
    assert whole["completed_at"] == (1_800_000_007 if status == "completed" else None)


@given(BODIES, PARTS, OUTCOMES.filter(lambda outcome: outcome.stop != "error"))
def test_bodies_and_events_have_the_types_of_the_sdk(
    body: JsonObject, parts: list[ResponsePart], outcome: Outcome
) -> None:
    """S-3: every field that OpenAI's library knows has the type it expects, strictly read."""
    stream, whole = spoken(body, [*parts, outcome])
    response = Response.model_validate(whole)
    assert response.output_text == "".join(p.text for p in parts if isinstance(p, TextPart))
    adapter: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
    for event in events_of(stream):
        adapter.validate_python(event)


REQUIRED = """id object created_at completed_at status incomplete_details model
previous_response_id instructions output error tools tool_choice truncation parallel_tool_calls
text top_p presence_penalty frequency_penalty top_logprobs temperature reasoning usage
max_output_tokens max_tool_calls store background service_tier metadata safety_identifier
prompt_cache_key"""


def test_no_field_of_the_specification_is_left_out() -> None:
    """Open Responses requires each of these, of a whole answer and of the first event's."""
    stream, whole = spoken({}, [TextPart("Hi"), Outcome("end")])
    for response in (whole, events_of(stream)[0]["response"]):
        assert not set(REQUIRED.split()) - response.keys()


def test_usage_is_counted_as_the_api_counts() -> None:
    _, whole = spoken({}, [Outcome("end", Usage(100, 60, 10, 50, 20))])
    assert whole["usage"] == {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
        "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 20},
        "total_tokens": 150,
    }


def test_progress_is_never_among_the_words() -> None:
    parts = [
        ReasoningPart("Hm"),
        ReasoningPart("m."),
        ProgressPart("Read a.py"),
        ProgressPart("Read b.py"),
    ]
    _, whole = spoken({}, [*parts, TextPart("Done."), Outcome("end")])
    thought, said = whole["output"]
    texts = [part["text"] for part in thought["summary"]]
    assert texts == ["Hmm.", "Read a.py", "Read b.py"]
    assert [part["text"] for part in said["content"]] == ["Done."]


def test_a_cut_answer_says_so() -> None:
    _, whole = spoken({}, [TextPart("Once upon"), Outcome("length")])
    assert whole["incomplete_details"] == {"reason": "max_output_tokens"}
    assert whole["output"][-1]["status"] == "incomplete"
    _, refused = spoken({}, [TextPart("Well"), Outcome("refused", detail="I cannot.")])
    assert refused["incomplete_details"] == {"reason": "content_filter"}
    assert refused["output"][-1]["content"][-1] == {"type": "refusal", "refusal": "I cannot."}


def test_an_answer_of_before_is_the_object_that_it_was() -> None:
    made = ResponsesDialect().response_writer(asked(), ABOUT, {})
    for part in ANSWER:
        made.frames(part)
    again = stored_response(ANSWER, ABOUT, 5.0)
    assert again == {**made.body(), "completed_at": 5}
    assert Response.model_validate(again).output_text == "It is sunny."
    assert (
        stored_response(ANSWER[:2], ABOUT, 5.0, {"instructions": "Brief."})["status"]
        == "in_progress"
    )
    assert deleted_response("12") == {"id": "resp_12", "object": "response", "deleted": True}


def test_a_long_answer_in_small_pieces_takes_its_time_only() -> None:
    """A megabyte letter by letter: quadratic work would take minutes."""
    made = ResponsesResponse(echoed_settings({}), ABOUT)
    for _ in range(100_000):
        made.frames(TextPart("0123456789"))
    made.frames(Outcome("end"))
    assert len(Response.model_validate(made.body()).output_text) == 1_000_000


def test_a_long_conversation_is_read_in_proportion() -> None:
    items = [{"role": "assistant", "content": "a"}] * 100_000
    assert len(asked(input=[*items, {"role": "user", "content": "b"}]).messages) == 2


def test_halves_of_characters_never_leave() -> None:
    """A provider may cut its stream in the middle of one, and a client may send any JSON."""
    call = ToolCallPart(ToolCall("c1", "weather", None, "{\ud83d"))
    said = [TextPart("a\ud83d"), ReasoningPart("\udfff"), call, Outcome("refused", detail="\ud800")]
    body: JsonObject = {
        "instructions": "\ud800",
        "tools": [
            {**WEATHER, "parameters": {"type": "object", "title": "\ud800", "x": float("nan")}}
        ],
    }
    stream, whole = spoken(body, said)
    for told in (whole, *events_of(stream)):
        json.dumps(told, allow_nan=False, ensure_ascii=False).encode()


def test_an_error_has_the_shape_of_openai() -> None:
    assert ResponsesDialect().error_body("No such model.", status=404, code="model_not_found") == {
        "error": {
            "message": "No such model.",
            "type": "invalid_request_error",
            "param": None,
            "code": "model_not_found",
        }
    }


# The real library


@contextlib.asynccontextmanager
async def client_of(
    *scripts: Sequence[ResponsePart],
) -> AsyncIterator[tuple[AsyncOpenAI, list[Any]]]:
    """OpenAI's client before a server that speaks these answers, one after the other."""
    waiting, heard = iter(scripts), list[Any]()
    dialect = ResponsesDialect()

    async def serve(request: Heard, writer: asyncio.StreamWriter) -> None:
        body = json.loads(request.body)
        heard.append(body)
        got = dialect.read_request(body)
        spoken = dialect.response_writer(got, ABOUT, body)
        if got.stream:
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n")
            writer.write(b"Content-Type: text/event-stream\r\n\r\n")
        for part in next(waiting):
            frames = spoken.frames(part)
            if got.stream:
                writer.write(frames)
                await writer.drain()
        if not got.stream:
            whole = json.dumps(spoken.body()).encode()
            await answer(whole, "application/json", connection="close")(request, writer)

    async with site() as pages:
        pages.pages["/v1/responses"] = serve
        error = dialect.error_body("No such answer.", status=404, code="not_found")
        pages.page("/v1/responses/resp_0", json.dumps(error), "application/json", 404)
        async with AsyncOpenAI(api_key="sk", base_url=f"{pages.url}/v1", max_retries=0) as client:
            yield client, heard


ANSWER: list[ResponsePart] = [
    ReasoningPart("Let me see."),
    TextPart("It is "),
    TextPart("sunny."),
    Outcome("end", Usage(10, 0, 0, 5, 2)),
]
CALLING: list[ResponsePart] = [
    TextPart("I look."),
    ToolCallPart(ToolCall("call_1", "weather", {"city": "Rome"})),
    Outcome("calls"),
]


async def test_the_sdk_reads_a_whole_answer() -> None:
    async with client_of(ANSWER) as (client, _):
        got = await client.responses.create(model="agent/Coder", input="Weather?")
    assert got.output_text == "It is sunny."
    assert got.status == "completed"
    assert got.usage and got.usage.output_tokens_details.reasoning_tokens == 2
    thought = got.output[0]
    assert thought.type == "reasoning" and thought.summary[0].text == "Let me see."


async def test_the_sdk_reads_a_stream() -> None:
    async with client_of(ANSWER) as (client, _):
        stream = await client.responses.create(model="m", input="Weather?", stream=True)
        events = [event async for event in stream]
    assert [event.delta for event in events if event.type == "response.output_text.delta"] == [
        "It is ",
        "sunny.",
    ]
    assert events[-1].type == "response.completed"
    assert events[-1].response.output_text == "It is sunny."


async def test_the_sdk_folds_a_stream_with_a_call_and_sends_what_it_got() -> None:
    async with client_of(CALLING, ANSWER) as (client, heard):
        asked: list[Any] = [{"role": "user", "content": "Weather in Rome?"}]
        async with client.responses.stream(model="m", input=asked, tools=[WEATHER]) as stream:
            first = await stream.get_final_response()
        said, call = first.output
        assert said.type == "message"
        assert call.type == "function_call" and json.loads(call.arguments) == {"city": "Rome"}
        output = {"type": "function_call_output", "call_id": call.call_id, "output": "Sunny"}
        again = [*asked, *(item.to_dict() for item in first.output), output]
        second = await client.responses.create(model="m", input=again, tools=[WEATHER])
        assert second.output_text == "It is sunny."
        got = ResponsesDialect().read_request(heard[-1])
    assert [(m.role, [type(b).__name__ for b in m.blocks]) for m in got.messages] == [
        ("user", ["Text"]),
        ("assistant", ["Text", "ToolCall"]),
        ("user", ["ToolResult"]),
    ]


class Weather(BaseModel):
    city: str
    degrees: int


async def test_the_sdk_parses_structured_output() -> None:
    script: list[ResponsePart] = [
        ReasoningPart("Hm."),
        TextPart('{"city":"Rome",'),
        TextPart('"degrees":31}'),
    ]
    script.append(Outcome("end"))
    async with client_of(script, script) as (client, heard):
        whole = await client.responses.parse(model="m", input="Weather?", text_format=Weather)
        assert whole.output_parsed == Weather(city="Rome", degrees=31)
        async with client.responses.stream(
            model="m", input="Weather?", text_format=Weather
        ) as stream:
            streamed = await stream.get_final_response()
        assert streamed.output_parsed == whole.output_parsed
    got = ResponsesDialect().read_request(heard[0])
    assert got.generation.schema == heard[0]["text"]["format"]["schema"]


async def test_the_sdk_raises_what_ended_a_stream() -> None:
    broken: list[ResponsePart] = [
        TextPart("It"),
        Outcome("error", detail="Too many requests.", status=429, code="rate_limit_exceeded"),
    ]
    async with client_of(broken) as (client, _):
        stream = await client.responses.create(model="m", input="Weather?", stream=True)
        with pytest.raises(APIError, match="Too many requests") as caught:
            async for _ in stream:
                pass
        assert caught.value.code == "rate_limit_exceeded"


async def test_the_sdk_raises_an_error_of_its_own_kind() -> None:
    async with client_of() as (client, _):
        with pytest.raises(NotFoundError) as caught:
            await client.responses.retrieve("resp_0")
    assert caught.value.code == "not_found"
