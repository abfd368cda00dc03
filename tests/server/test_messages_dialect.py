"""Anthropic's Messages: requests read, answers told, streamed and whole (S-1, S-3)."""

from __future__ import annotations

import base64
import contextlib
import json
import struct
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import anthropic
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from studio.domain.messages import File, Image, Message, Reasoning, Text, ToolCall, ToolResult
from studio.domain.models import Generation
from studio.domain.tools import ToolSpec
from studio.server.contract import (
    INSTRUCTION_WRAPPER,
    ApiRequest,
    BadRequest,
    Outcome,
    ProgressPart,
    ReasoningPart,
    ResponsePart,
    TextPart,
    ToolCallPart,
)
from studio.server.dialects.messages import MessagesDialect
from studio.server.token_count import estimate_tokens as tokens
from support import dialect_cases, local_site
from support.dialect_cases import ABOUT, NUMBER, USED

PNG = b"\x89PNG\r\n\x1a\nrest"
PDF = b"%PDF-1.7"
HELLO = [{"role": "user", "content": "Hello"}]
ALOUD = {"type": "adaptive"}
WEATHER = {
    "name": "weather",
    "description": "Tells the weather.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}


def base64_source(media_type: str, data: bytes) -> dict[str, Any]:
    encoded = base64.b64encode(data).decode()
    return {"type": "base64", "media_type": media_type, "data": encoded}


PICTURE = {"type": "image", "source": base64_source("image/png", PNG)}
FULL: dict[str, Any] = {
    "model": "agent/Coder",
    "max_tokens": 500,
    "system": [
        {"type": "text", "text": "You are a cook.", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "In metric."},
    ],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?", "cache_control": {"type": "ephemeral"}},
                PICTURE,
                {
                    "type": "document",
                    "source": base64_source("application/pdf", PDF),
                    "title": "a.pdf",
                },
                {
                    "type": "document",
                    "source": {"type": "text", "media_type": "text/plain", "data": "words"},
                },
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": ""},
                {"type": "redacted_thinking", "data": "xyz"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "a", "name": "weather", "input": {"city": "Rome"}},
                {"type": "tool_use", "id": "b", "name": "weather", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "b",
                    "content": [{"type": "text", "text": "Which?"}, PICTURE],
                    "is_error": True,
                },
                {"type": "tool_result", "tool_use_id": "a", "content": "Sunny"},
                {"type": "text", "text": "So?"},
            ],
        },
        {"role": "system", "content": "Be brief now."},
        {"role": "assistant", "content": "Sunny."},
        {"role": "user", "content": "Why?"},
    ],
    "tools": [WEATHER],
    "tool_choice": {"type": "tool", "name": "weather", "disable_parallel_tool_use": True},
    "thinking": {"type": "enabled", "budget_tokens": 2_000},
    "output_config": {
        "effort": "high",
        "format": {"type": "json_schema", "schema": {"type": "object"}},
    },
    "stop_sequences": ["END"],
    "temperature": 0.5,
    "top_p": 0.9,
    "top_k": 5,
    "stream": True,
    "metadata": {"user_id": "u-1"},
    "something_new": {"a": [1]},
}


def asked(**body: Any) -> ApiRequest:
    return MessagesDialect().read_request(
        {"model": "m", "max_tokens": 10, "messages": HELLO, **body}
    )


def told(*messages: dict[str, Any]) -> tuple[Message, ...]:
    return asked(messages=list(messages)).messages


# Requests


def test_the_whole_conversation_arrives_in_order() -> None:
    """S-1: text, pictures, documents, calls, their results, instructions in their place."""
    got = MessagesDialect().read_request(FULL)
    assert got.instructions == "You are a cook.\n\nIn metric."
    assert got.messages == (
        Message(
            "user",
            (
                Text("What is this?"),
                Image("image/png", PNG),
                File("a.pdf", "application/pdf", PDF),
                File("document", "text/plain", b"words"),
            ),
        ),
        Message(
            "assistant",
            (
                Reasoning("Hm."),
                Text("I look."),
                ToolCall("a", "weather", {"city": "Rome"}),
                ToolCall("b", "weather", {}),
            ),
        ),
        Message(
            "user",
            (
                ToolResult(
                    "b", "weather", (Text("Which?"), Image("image/png", PNG)), is_error=True
                ),
                ToolResult("a", "weather", (Text("Sunny"),)),
                Text("So?"),
            ),
        ),
        Message("user", (Text(INSTRUCTION_WRAPPER.format(text="Be brief now.")),)),
        Message("assistant", (Text("Sunny."),)),
        Message("user", (Text("Why?"),)),
    )


def test_what_is_asked_of_the_model_arrives() -> None:
    got = MessagesDialect().read_request(FULL)
    assert got.generation == Generation(
        output_limit=500,
        effort="high",
        temperature=0.5,
        top_p=0.9,
        stop=("END",),
        choice="required",
        only="weather",
        schema={"type": "object"},
        parallel=False,
    )
    assert got.tools == (
        ToolSpec("weather", "Tells the weather.", WEATHER["input_schema"], external=True),
    )
    assert got.tools[0].schema == WEATHER["input_schema"]
    assert (got.model, got.stream, got.user) == ("agent/Coder", True, "u-1")


@pytest.mark.parametrize(
    ("thinking", "effort"),
    [
        (None, None),
        ({"type": "adaptive"}, None),
        ({"type": "disabled"}, "none"),
        ({"type": "enabled", "budget_tokens": 1_024}, "low"),
        ({"type": "enabled", "budget_tokens": 10_000}, "medium"),
        ({"type": "enabled", "budget_tokens": 32_000}, "high"),
    ],
)
def test_a_budget_for_thinking_is_an_effort(thinking: Any, effort: Any) -> None:
    assert asked(thinking=thinking).generation.effort == effort


def test_the_form_of_the_answer_under_its_older_name() -> None:
    form = {"type": "json_schema", "schema": {"type": "array"}}
    assert asked(output_format=form).generation.schema == {"type": "array"}
    newer = {"format": {**form, "schema": {"type": "object"}}}
    both = asked(output_format=form, output_config=newer)
    assert both.generation.schema == {"type": "object"}


@pytest.mark.parametrize(
    ("choice", "means"), [("auto", "auto"), ("any", "required"), ("none", "none")]
)
def test_tools_may_be_chosen_from(choice: str, means: str) -> None:
    got = asked(tools=[WEATHER], tool_choice={"type": choice}).generation
    assert (got.choice, got.only) == (means, "")


def test_a_system_message_at_the_beginning_is_an_instruction() -> None:
    got = asked(system="One.", messages=[{"role": "system", "content": "Two."}, *HELLO])
    assert got.instructions == "One.\n\nTwo."
    assert got.messages == (Message("user", (Text("Hello"),)),)


def test_a_call_that_could_not_be_read_comes_back_as_one() -> None:
    call = {"type": "tool_use", "id": "a", "name": "f", "input": {"INVALID_JSON": "{oh"}}
    got = told({"role": "assistant", "content": [call]}, *HELLO)
    assert got[0].blocks == (ToolCall("a", "f", None, "{oh"),)


def of_user(*blocks: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [*blocks]}]}


def test_what_is_said_of_a_document_comes_before_it() -> None:
    """S-1: ``title`` and ``context``, in a tool's result too."""
    source = {"type": "text", "media_type": "text/plain", "data": "Eggs"}
    note = {"type": "document", "source": source, "context": " From 1920.\n"}
    menu = {**note, "title": "Menu", "citations": {"enabled": True}}
    got = asked(**of_user(note, menu, {**menu, "context": " "}, {**menu, "context": None}))
    assert got.messages[0].blocks == (
        Text("About “document”: From 1920."),
        File("document", "text/plain", b"Eggs"),
        Text("About “Menu”: From 1920."),
        *(File("Menu", "text/plain", b"Eggs"),) * 3,
    )
    call = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": [menu]}
    got = told(*HELLO, {"role": "assistant", "content": [call]}, of_user(result)["messages"][0])
    shown = [one.text for one in got[-1].blocks if isinstance(one, ToolResult)]
    assert [text.startswith("About “Menu”: From 1920.") for text in shown] == [True]
    assert "Eggs" in shown[0]


URL = {"type": "url", "url": "http://10.0.0.1/a"}


@pytest.mark.parametrize(
    ("wrong", "param"),
    [
        ({"model": None}, "model"),
        ({"mcp_servers": [{"type": "url", "url": "https://a.b", "name": "a"}]}, "mcp_servers"),
        ({"container": {"skills": []}}, "container"),
        ({"max_tokens": None}, "max_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": "5"}, "max_tokens"),
        ({"messages": []}, "messages"),
        ({"messages": {}}, "messages"),
        ({"messages": [{"role": "user", "content": ""}]}, "messages"),
        ({"messages": [*HELLO, {"role": "assistant", "content": "I"}]}, "messages"),
        ({"messages": [*HELLO, 7]}, "messages[1]"),
        ({"messages": [{"content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": {}}]}, "messages[0].content"),
        (of_user({"text": "x"}), "messages[0].content[0].type"),
        (of_user({"type": "text", "text": 3}), "messages[0].content[0].text"),
        (of_user({"type": "tool_use"}), "messages[0].content[0].type"),
        (of_user({"type": "image"}), "messages[0].content[0].source"),
        (of_user({"type": "image", "source": {}}), "messages[0].content[0].source.type"),
        (of_user({"type": "image", "source": URL}), "messages[0].content[0].source.type"),
        (of_user({"type": "document", "source": URL}), "messages[0].content[0].source.type"),
        (of_user({"type": "document", "context": 3}), "messages[0].content[0].context"),
        (
            of_user({"type": "document", "source": {"type": "file", "file_id": "f"}}),
            "messages[0].content[0].source.type",
        ),
        (
            of_user({"type": "image", "source": base64_source("text/html", b"x")}),
            "messages[0].content[0].source.media_type",
        ),
        (
            of_user(
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": "§"},
                }
            ),
            "messages[0].content[0].source.data",
        ),
        (
            of_user({"type": "tool_result", "tool_use_id": "x", "content": "r"}),
            "messages[0].content[0].tool_use_id",
        ),
        (
            {"messages": [{"role": "assistant", "content": [PICTURE]}]},
            "messages[0].content[0].type",
        ),
        (
            {
                "messages": [
                    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "input": {}}]}
                ]
            },
            "messages[0].content[0].name",
        ),
        ({"system": 3}, "system"),
        ({"system": [PICTURE]}, "system[0].type"),
        ({"tools": [WEATHER, WEATHER]}, "tools[1].name"),
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "tools[0].type"),
        ({"tools": [{"name": "a", "input_schema": "x"}]}, "tools[0].input_schema"),
        ({"tool_choice": {"type": "any"}}, "tool_choice"),
        ({"tool_choice": {"type": "tool", "name": "x"}}, "tool_choice.name"),
        ({"tool_choice": "auto"}, "tool_choice"),
        ({"tool_choice": {}}, "tool_choice.type"),
        ({"stop_sequences": "END"}, "stop_sequences"),
        ({"stop_sequences": [3]}, "stop_sequences[0]"),
        ({"temperature": 1.5}, "temperature"),
        ({"top_p": -1}, "top_p"),
        ({"thinking": "yes"}, "thinking"),
        ({"thinking": {"type": "much"}}, "thinking.type"),
        ({"thinking": "much", "output_config": {"effort": "low"}}, "thinking"),
        ({"thinking": {"type": "enabled", "budget_tokens": "many"}}, "thinking.budget_tokens"),
        ({"output_config": {"effort": "much"}}, "output_config.effort"),
        ({"output_config": {"format": {"type": "xml"}}}, "output_config.format.type"),
        ({"output_config": {"format": {"type": "json_schema"}}}, "output_config.format.schema"),
        ({"stream": 1}, "stream"),
        ({"metadata": []}, "metadata"),
        ({"metadata": {"user_id": 3}}, "metadata.user_id"),
    ],
)
def test_what_is_wrong_is_named(wrong: dict[str, Any], param: str) -> None:
    with pytest.raises(BadRequest) as caught:
        asked(**wrong)
    assert caught.value.param == param
    assert caught.value.status == 400
    assert str(caught.value)


def test_an_address_is_told_to_be_data() -> None:
    with pytest.raises(BadRequest, match="Send the data itself"):
        asked(**of_user({"type": "image", "source": URL}))


# Any request


blobs = st.binary(min_size=1, max_size=8)
said = st.text(min_size=1, max_size=12).filter(lambda text: text.strip())


@st.composite
def conversations(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[Message]]:
    """Messages as a client sends them, and what they are."""
    sent: list[dict[str, Any]] = []
    meant: list[Message] = []
    open_: list[ToolCall] = []
    for index in range(draw(st.integers(1, 5))):
        blocks: list[Any] = []
        wire: list[Any] = []
        for call in draw(st.permutations(open_)):
            text, is_error = draw(said), draw(st.booleans())
            blocks.append(ToolResult(call.id, call.name, (Text(text),), is_error))
            result = {"type": "tool_result", "tool_use_id": call.id, "content": text}
            wire.append({**result, "is_error": is_error})
        for text in draw(st.lists(said, min_size=1, max_size=2)):
            blocks.append(Text(text))
            wire.append({"type": "text", "text": text})
        if data := draw(st.none() | blobs):
            blocks.append(Image("image/webp", data))
            wire.append({"type": "image", "source": base64_source("image/webp", data)})
        sent.append({"role": "user", "content": wire})
        meant.append(Message("user", tuple(blocks)))
        words = draw(said)
        given = draw(st.lists(dialect_cases.arguments, max_size=3))
        open_ = [
            ToolCall(f"c{index}-{at}", draw(dialect_cases.names), one)
            for at, one in enumerate(given)
        ]
        calls = [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
            for call in open_
        ]
        sent.append({"role": "assistant", "content": [{"type": "text", "text": words}, *calls]})
        meant.append(Message("assistant", (Text(words), *open_)))
    return [*sent, *HELLO], [*meant, Message("user", (Text("Hello"),))]


@given(conversations())
def test_any_conversation_keeps_its_order_and_content(
    both: tuple[list[dict[str, Any]], list[Message]],
) -> None:
    """S-1."""
    sent, meant = both
    assert list(told(*json.loads(json.dumps(sent)))) == meant


@given(st.dictionaries(st.sampled_from(sorted(FULL)), dialect_cases.json_values, max_size=12))
def test_any_json_is_read_or_refused(body: dict[str, Any]) -> None:
    with contextlib.suppress(BadRequest):
        asked(**body)


@given(dialect_cases.broken(FULL))
def test_a_request_that_is_nearly_right_is_read_or_refused(body: dict[str, Any]) -> None:
    try:
        got = MessagesDialect().read_request(body)
    except BadRequest as wrong:
        assert f"{wrong}{wrong.param}".encode()  # no half of a character
    else:
        assert got.messages
        assert "\\ud83d" not in repr(got)
        assert tokens(got) > 0
        assert isinstance(
            MessagesDialect().response_writer(got, ABOUT, body).frames(Outcome("end")), bytes
        )


# Answers


def folded(events: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """What a client makes of the events."""
    message: dict[str, Any] = {}
    inputs: dict[int, str] = {}
    open_: int | None = None
    kinds: list[str] = []
    for name, data in events:
        event = json.loads(data)
        assert event["type"] == name
        kinds.append(name)
        match name:
            case "message_start":
                message = event["message"]
                assert message["content"] == []
            case "content_block_start":
                assert open_ is None
                open_ = event["index"]
                assert open_ == len(message["content"])
                message["content"].append(event["content_block"])
            case "content_block_delta":
                assert event["index"] == open_
                block, delta = message["content"][open_], event["delta"]
                match delta["type"]:
                    case "text_delta":
                        block["text"] += delta["text"]
                    case "thinking_delta":
                        block["thinking"] += delta["thinking"]
                    case "input_json_delta":
                        inputs[open_] = inputs.get(open_, "") + delta["partial_json"]
                    case kind:
                        raise AssertionError(kind)
            case "content_block_stop":
                assert event["index"] == open_
                if open_ in inputs:
                    message["content"][open_]["input"] = json.loads(inputs[open_])
                open_ = None
            case "message_delta":
                message |= event["delta"]
                message["usage"] = event["usage"]
            case "message_stop":
                assert open_ is None
            case "ping":
                pass
            case _:
                raise AssertionError(name)
    assert kinds[0] == "message_start"
    assert kinds[-2:] == ["message_delta", "message_stop"]
    return message


@given(dialect_cases.answers(), st.sampled_from([None, ALOUD, {"type": "disabled"}]))
def test_the_events_come_to_what_the_whole_answer_is(
    parts: list[ResponsePart], thinking: Any
) -> None:
    """S-3."""
    spoken = dialect_cases.spoken(
        MessagesDialect(), {"model": "m", "max_tokens": 5, "messages": HELLO, "thinking": thinking}
    )
    events = dialect_cases.frames(spoken, parts)
    whole: dict[str, Any] = spoken.body()
    assert folded(events) == whole
    json.dumps(whole, ensure_ascii=False).encode()
    kinds = [block["type"] for block in whole["content"]]
    assert thinking == ALOUD or "thinking" not in kinds
    assert all(one != next_ or one == "tool_use" for one, next_ in pairwise(kinds))


@pytest.mark.parametrize(
    ("thinking", "shown"),
    [
        (None, False),
        ({"type": "disabled"}, False),
        ({"type": "adaptive", "display": "omitted"}, False),
        ({"type": "adaptive"}, True),
        ({"type": "enabled", "budget_tokens": 2_000}, True),
    ],
)
def test_thoughts_and_progress_are_for_clients_that_expect_them(thinking: Any, shown: bool) -> None:
    spoken = dialect_cases.spoken(
        MessagesDialect(), {"model": "m", "max_tokens": 5, "messages": HELLO, "thinking": thinking}
    )
    parts = [ReasoningPart("Hm"), ProgressPart("Read a.txt"), TextPart("Done."), Outcome("end")]
    dialect_cases.frames(spoken, parts)
    content: Any = spoken.body()["content"]
    words = {"type": "text", "text": "Done."}
    thought = {"type": "thinking", "thinking": "Hm\nRead a.txt\n", "signature": ""}
    assert content == ([thought, words] if shown else [words])


# Clients nobody here wrote


@contextlib.asynccontextmanager
async def client(page: local_site.Handler) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with (
        local_site.site() as site,
        httpx2.AsyncClient(verify=False, trust_env=False) as http,
        anthropic.AsyncAnthropic(
            api_key="k", base_url=site.url, max_retries=0, http_client=http
        ) as made,
    ):
        site.pages["/v1/messages"] = page
        yield made


CREATE: dict[str, Any] = {"model": "m", "max_tokens": 100, "messages": HELLO}
SAID: list[ResponsePart] = [
    ReasoningPart("Let me "),
    ReasoningPart("see."),
    TextPart("It is "),
    TextPart("sunny."),
]
CALLED: list[ResponsePart] = [
    TextPart("I look."),
    ToolCallPart(ToolCall("c1", "weather", {"city": "Rome"})),
    ToolCallPart(ToolCall("c2", "weather", {})),
    Outcome("calls", USED),
]


@pytest.mark.parametrize("stream", [False, True])
async def test_the_sdk_reads_an_answer(stream: bool) -> None:
    """S-3: words, thoughts, the usage, the end."""
    async with client(dialect_cases.play(MessagesDialect(), [*SAID, Outcome("end", USED)])) as made:
        if stream:
            async with made.messages.stream(**CREATE, thinking=ALOUD) as events:
                heard = [text async for text in events.text_stream]
                got = await events.get_final_message()
            assert heard == ["It is ", "sunny."]
        else:
            got = await made.messages.create(**CREATE, thinking=ALOUD)
    assert (got.id, got.model, got.role) == (f"msg_{NUMBER}", "agent/Coder", "assistant")
    thought, words = got.content
    assert (thought.type, thought.thinking, thought.signature) == ("thinking", "Let me see.", "")
    assert (words.type, words.text) == ("text", "It is sunny.")
    assert got.stop_reason == "end_turn"
    usage = got.usage
    assert (usage.input_tokens, usage.output_tokens) == (50, 30)
    assert (usage.cache_read_input_tokens, usage.cache_creation_input_tokens) == (40, 10)
    assert usage.output_tokens_details.thinking_tokens == 20


@pytest.mark.parametrize("stream", [False, True])
async def test_the_sdk_reads_calls_and_sends_them_back(stream: bool) -> None:
    async with client(dialect_cases.play(MessagesDialect(), CALLED)) as made:
        if stream:
            async with made.messages.stream(**CREATE, tools=[WEATHER]) as events:
                got = await events.get_final_message()
        else:
            got = await made.messages.create(**CREATE, tools=[WEATHER])
    assert got.stop_reason == "tool_use"
    words, *calls = got.content
    assert words.text == "I look."
    assert [(one.type, one.id, one.name, one.input) for one in calls] == [
        ("tool_use", "c1", "weather", {"city": "Rome"}),
        ("tool_use", "c2", "weather", {}),
    ]
    results = [{"type": "tool_result", "tool_use_id": one.id, "content": "r"} for one in calls]
    back = told(
        *HELLO,
        {"role": "assistant", "content": [one.to_dict() for one in got.content]},
        {"role": "user", "content": results},
    )
    assert back[1].blocks == (Text("I look."), *(one.call for one in CALLED[1:3]))


class Dish(BaseModel):
    name: str
    minutes: int


async def test_the_sdk_reads_a_structured_answer() -> None:
    parts = [TextPart('{"name": "Soup", '), TextPart('"minutes": 20}'), Outcome("end")]
    async with client(dialect_cases.play(MessagesDialect(), parts)) as made:
        got = await made.messages.parse(**CREATE, output_format=Dish)
    assert got.parsed_output == Dish(name="Soup", minutes=20)


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ("length", "max_tokens"),
        ("limit", "max_tokens"),
        ("refused", "refusal"),
        ("end", "end_turn"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_the_sdk_reads_why_it_ended(stop: Any, reason: str, stream: bool) -> None:
    parts = [TextPart("So"), Outcome(stop, detail="No.")]
    async with client(dialect_cases.play(MessagesDialect(), parts)) as made:
        if stream:
            async with made.messages.stream(**CREATE) as events:
                got = await events.get_final_message()
        else:
            got = await made.messages.create(**CREATE)
    assert got.stop_reason == reason
    explained = got.stop_details.explanation if got.stop_details else None
    assert explained == ("No." if stop == "refused" else None)


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (400, anthropic.BadRequestError, "invalid_request_error"),
        (401, anthropic.AuthenticationError, "authentication_error"),
        (403, anthropic.PermissionDeniedError, "permission_error"),
        (404, anthropic.NotFoundError, "not_found_error"),
        (413, anthropic.RequestTooLargeError, "request_too_large"),
        (429, anthropic.RateLimitError, "rate_limit_error"),
        (500, anthropic.InternalServerError, "api_error"),
        (502, anthropic.InternalServerError, "api_error"),
        (503, anthropic.ServiceUnavailableError, "overloaded_error"),
        (529, anthropic.OverloadedError, "overloaded_error"),
    ],
)
async def test_the_sdk_raises_an_error_before_the_stream(
    status: int, error: type[anthropic.APIStatusError], kind: str
) -> None:
    """S-3: errors in the dialect's own shape."""
    page = dialect_cases.refuse(
        MessagesDialect(), "No such thing.", status=status, code="gone", param="model"
    )
    async with client(page) as made:
        with pytest.raises(error, match="No such thing") as caught:
            await made.messages.create(**CREATE, stream=True)
    assert caught.value.body == {
        "type": "error",
        "error": {"type": kind, "message": "No such thing."},
    }


async def test_the_sdk_raises_what_the_request_has_wrong() -> None:
    async with client(dialect_cases.play(MessagesDialect(), [Outcome("end")])) as made:
        with pytest.raises(anthropic.BadRequestError, match="messages"):
            await made.messages.create(**{**CREATE, "messages": []})


async def test_the_sdk_raises_an_error_in_the_stream() -> None:
    parts = [
        TextPart("It is "),
        Outcome("error", detail="The provider is overloaded.", status=503, code="overloaded"),
    ]
    heard: list[str] = []
    async with client(dialect_cases.play(MessagesDialect(), parts)) as made:
        with pytest.raises(anthropic.APIStatusError, match="The provider is overloaded") as caught:
            async with made.messages.stream(**CREATE) as events:
                async for text in events.text_stream:
                    heard.append(text)
    assert heard == ["It is "]
    assert caught.value.type == "overloaded_error"


# How long a request is


def test_every_part_of_a_request_counts() -> None:
    hello = tokens(asked())
    assert 1 <= hello <= 10
    assert tokens(asked(system="You are a cook. " * 20)) - hello == 80
    assert tokens(asked(tools=[WEATHER])) > hello + 10
    picture = PNG[:8] + b"\0\0\0\rIHDR" + struct.pack(">II", 750, 400) + bytes(20)
    image = {"type": "image", "source": base64_source("image/png", picture)}
    assert tokens(asked(**of_user({"type": "text", "text": "Hello"}, image))) - hello == 400
    page = {"type": "document", "source": base64_source("application/pdf", PDF + b"\n" * 60)}
    assert tokens(asked(**of_user({"type": "text", "text": "Hello"}, page))) - hello == 2_000
    exchange = MessagesDialect().read_request(FULL)
    without = replace(exchange, messages=exchange.messages[:2])
    assert hello < tokens(without) < tokens(exchange)


def test_the_estimate_is_near_what_is_usual() -> None:
    """Four letters to a token, about: a page of English is some 600."""
    page = "The quick brown fox jumps over the lazy dog. " * 53
    assert 400 <= tokens(asked(messages=[{"role": "user", "content": page}])) <= 800
