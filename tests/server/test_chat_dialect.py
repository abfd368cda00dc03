"""Chat Completions: requests read, answers told, streamed and whole (S-1, S-3)."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx2
import openai
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
from studio.server.dialects import DIALECTS
from studio.server.dialects.chat import ChatDialect
from support import dialect_cases, local_site
from support.dialect_cases import ABOUT, NUMBER, USED

PNG = b"\x89PNG\r\n\x1a\nrest"
PNG_URL = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
PDF_URL = f"data:application/pdf;base64,{base64.b64encode(b'%PDF-1.7').decode()}"
HELLO = [{"role": "user", "content": "Hello"}]
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Tells the weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        "strict": True,
    },
}
FULL: dict[str, Any] = {
    "model": "agent/Coder",
    "messages": [
        {"role": "system", "content": "You are a cook."},
        {"role": "developer", "content": [{"type": "text", "text": "In metric."}]},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": PNG_URL, "detail": "low"}},
                {"type": "file", "file": {"filename": "../a.pdf", "file_data": PDF_URL}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "Hm.",
            "tool_calls": [
                {
                    "id": "a",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city": "Rome"}'},
                },
                {
                    "id": "b",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city": '},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "b", "content": "Which city?"},
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "Sunny"}]},
        {"role": "system", "content": "Be brief now."},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "I will not."}]},
        {"role": "user", "content": "Why?"},
    ],
    "tools": [WEATHER],
    "tool_choice": {"type": "function", "function": {"name": "weather"}},
    "parallel_tool_calls": False,
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "dish", "schema": {"type": "object"}, "strict": True},
    },
    "stop": ["END", "STOP"],
    "max_completion_tokens": 500,
    "max_tokens": 100,
    "temperature": 0.5,
    "top_p": 0.9,
    "reasoning_effort": "low",
    "n": 1,
    "stream": True,
    "stream_options": {"include_usage": True},
    "user": "u-1",
    "seed": 7,
    "logprobs": False,
    "presence_penalty": 1,
    "something_new": {"a": [1]},
}


def asked(**body: Any) -> ApiRequest:
    return ChatDialect().read_request({"model": "agent/Coder", "messages": HELLO, **body})


def told(*messages: dict[str, Any]) -> tuple[Message, ...]:
    return asked(messages=list(messages)).messages


# Requests


def test_the_whole_conversation_arrives_in_order() -> None:
    """S-1: text, pictures, files, calls, their results, instructions in their place."""
    got = ChatDialect().read_request(FULL)
    assert got.instructions == "You are a cook.\n\nIn metric."
    assert got.messages == (
        Message(
            "user",
            (
                Text("What is this?"),
                Image("image/png", PNG),
                File("a.pdf", "application/pdf", b"%PDF-1.7"),
            ),
        ),
        Message(
            "assistant",
            (
                Reasoning("Hm."),
                ToolCall("a", "weather", {"city": "Rome"}),
                ToolCall("b", "weather", None, '{"city": '),
            ),
        ),
        Message(
            "user",
            (
                ToolResult("b", "weather", (Text("Which city?"),)),
                ToolResult("a", "weather", (Text("Sunny"),)),
            ),
        ),
        Message("user", (Text(INSTRUCTION_WRAPPER.format(text="Be brief now.")),)),
        Message("assistant", (Text("I will not."),)),
        Message("user", (Text("Why?"),)),
    )


def test_what_is_asked_of_the_model_arrives() -> None:
    got = ChatDialect().read_request(FULL)
    assert got.model == "agent/Coder"
    assert got.generation == Generation(
        output_limit=500,
        effort="low",
        temperature=0.5,
        top_p=0.9,
        stop=("END", "STOP"),
        choice="required",
        only="weather",
        schema={"type": "object"},
        parallel=False,
        seed=7,
        presence_penalty=1.0,
    )
    (tool,) = got.tools
    assert (tool.name, tool.description, tool.external) == ("weather", "Tells the weather.", True)
    assert tool.schema["properties"] == {"city": {"type": "string"}}
    assert (got.stream, got.user, got.previous) == (True, "u-1", "")


def test_a_name_told_two_messages_ago_is_there() -> None:
    """S-2: the model sees all three."""
    got = told(
        {"role": "user", "content": "My name is Alice"},
        {"role": "assistant", "content": "Hello Alice"},
        {"role": "user", "content": "What is my name?"},
    )
    assert [(one.role, one.text) for one in got] == [
        ("user", "My name is Alice"),
        ("assistant", "Hello Alice"),
        ("user", "What is my name?"),
    ]


def test_several_participants_stay_several() -> None:
    """S-1: who says something is part of the conversation."""
    picture = {"type": "image_url", "image_url": {"url": PNG_URL}}
    got = told(
        {"role": "user", "name": "Ada", "content": "Red"},
        {"role": "user", "name": "Bob\nSmith", "content": [picture]},
        {"role": "assistant", "name": "Cook", "content": "Which?"},
        {"role": "user", "name": "Ada", "content": [{"type": "text", "text": "Red"}, picture]},
        {"role": "user", "name": " ", "content": "Blue"},
        {"role": "user", "name": "Bob", "content": ""},
    )
    assert [one.blocks for one in got] == [
        (Text("Ada: Red"),),
        (Text("Bob Smith:"), Image("image/png", PNG)),
        (Text("Which?"),),
        (Text("Ada: Red"), Image("image/png", PNG)),
        (Text("Blue"),),
    ]


@pytest.mark.parametrize("order", ["crcr", "ccrr"])
def test_calls_of_the_old_form_are_answered_in_order(order: str) -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    answers = iter(("one", "two"))
    got = told(
        HELLO[0],
        *(
            call if one == "c" else {"role": "function", "name": "f", "content": next(answers)}
            for one in order
        ),
    )
    calls = [one for message in got for one in message.blocks if isinstance(one, ToolCall)]
    results = [one for message in got for one in message.blocks if isinstance(one, ToolResult)]
    assert [one.text for one in results] == ["one", "two"]
    assert [one.id for one in calls] == [one.call_id for one in results]
    assert len({one.id for one in calls}) == 2


def test_instructions_alone_are_what_is_said() -> None:
    got = asked(messages=[{"role": "system", "content": "Say something."}])
    assert got.instructions == ""
    assert got.messages == (
        Message("user", (Text(INSTRUCTION_WRAPPER.format(text="Say something.")),)),
    )


def test_what_says_nothing_is_left_out() -> None:
    got = told(HELLO[0], {"role": "assistant", "content": ""}, {"role": "user", "content": "Yes"})
    assert [one.text for one in got] == ["Hello", "Yes"]


def test_null_is_not_there() -> None:
    needed = {"model", "messages"}
    assert asked(**{name: None for name in FULL if name not in needed}) == asked()


@pytest.mark.parametrize(
    ("choice", "tools", "choice_is"),
    [
        ("auto", ("f", "g"), "auto"),
        ("none", ("f", "g"), "none"),
        ("required", ("f", "g"), "required"),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "required",
                    "tools": [{"type": "function", "function": {"name": "g"}}],
                },
            },
            ("g",),
            "required",
        ),
    ],
)
def test_tools_may_be_chosen_from(choice: Any, tools: Sequence[str], choice_is: str) -> None:
    offered = [{"type": "function", "function": {"name": name}} for name in ("f", "g")]
    got = asked(tools=offered, tool_choice=choice)
    assert (tuple(tool.name for tool in got.tools), got.generation.choice) == (tools, choice_is)
    assert got.tools[0] == ToolSpec(
        tools[0], "", {"type": "object", "properties": {}}, external=True
    )
    assert got.tools[0].schema == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("form", "schema"),
    [
        ({"type": "text"}, None),
        ({"type": "json_object"}, {}),
        (
            {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "array"}}},
            {"type": "array"},
        ),
    ],
)
def test_the_form_of_the_answer(form: Any, schema: Any) -> None:
    assert asked(response_format=form).generation.schema == schema


@pytest.mark.parametrize(
    ("wrong", "param"),
    [
        ({"model": None}, "model"),
        ({"model": 3}, "model"),
        ({"logprobs": True}, "logprobs"),
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"moderation": {"model": "omni"}}, "moderation"),
        ({"web_search_options": {}}, "web_search_options"),
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": "Hello"}, "messages"),
        ({"messages": [{"role": "user", "content": " "}]}, "messages"),
        ({"messages": [*HELLO, 7]}, "messages[1]"),
        ({"messages": [{"content": "x"}]}, "messages[0].role"),
        ({"messages": [{**HELLO[0], "name": 3}]}, "messages[0].name"),
        ({"messages": [{"role": "king", "content": "x"}]}, "messages[0].role"),
        ({"messages": [*HELLO, {"role": "user", "content": 3}]}, "messages[1].content"),
        ({"messages": [{"role": "user", "content": None}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [{}]}]}, "messages[0].content[0].type"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": 3}]}]},
            "messages[0].content[0].text",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]},
            "messages[0].content[0].type",
        ),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [
                            {"type": "image_url", "image_url": {"url": "http://10.0.0.1/a.png"}}
                        ],
                    }
                ]
            },
            "messages[0].content[0].image_url.url",
        ),
        (
            {
                "messages": [
                    {"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}
                ]
            },
            "messages[0].content[0].file.file_id",
        ),
        (
            {"messages": [*HELLO, {"role": "tool", "tool_call_id": "x", "content": "r"}]},
            "messages[1].tool_call_id",
        ),
        (
            {"messages": [*HELLO, {"role": "function", "name": "x", "content": "r"}]},
            "messages[1].name",
        ),
        (
            {
                "messages": [
                    *HELLO,
                    {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": ""}}]},
                ]
            },
            "messages[1].tool_calls[0].function.name",
        ),
        (
            {
                "messages": [
                    {
                        "role": "assistant",
                        "content": [{"type": "image_url", "image_url": {"url": PNG_URL}}],
                    }
                ]
            },
            "messages[0].content",
        ),
        ({"tools": [WEATHER, WEATHER]}, "tools[1].function.name"),
        ({"tools": [{"type": "custom", "custom": {"name": "x"}}]}, "tools[0].type"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0].function.name"),
        (
            {"tools": [{"type": "function", "function": {"name": "a", "parameters": []}}]},
            "tools[0].function.parameters",
        ),
        (
            {
                "tools": [
                    {"type": "function", "function": {"name": "a", "parameters": {"type": "null"}}}
                ]
            },
            "tools[0].function.parameters",
        ),
        ({"tool_choice": "required"}, "tool_choice"),
        (
            {"tool_choice": {"type": "function", "function": {"name": "x"}}},
            "tool_choice.function.name",
        ),
        ({"tool_choice": "always"}, "tool_choice"),
        ({"functions": [{"name": "f"}]}, "functions"),
        ({"n": 2}, "n"),
        ({"n": "1"}, "n"),
        ({"logprobs": True}, "logprobs"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"stop": ["a", "b", "c", "d", "e"]}, "stop"),
        ({"stop": ["a", 3]}, "stop[1]"),
        ({"stop": 3}, "stop"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_completion_tokens": 1.5}, "max_completion_tokens"),
        ({"temperature": 3}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"top_p": "1"}, "top_p"),
        ({"reasoning_effort": "much"}, "reasoning_effort"),
        ({"response_format": {"type": "xml"}}, "response_format.type"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "n"}}},
            "response_format.json_schema.schema",
        ),
        ({"stream": "yes"}, "stream"),
        ({"stream_options": True}, "stream_options"),
        ({"stream_options": {"include_usage": 1}}, "stream_options.include_usage"),
        ({"user": 3}, "user"),
    ],
)
def test_what_is_wrong_is_named(wrong: dict[str, Any], param: str) -> None:
    with pytest.raises(BadRequest) as caught:
        asked(**wrong)
    assert caught.value.param == param
    assert caught.value.status == 400
    assert str(caught.value)


def test_an_address_is_told_to_be_data() -> None:
    part = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    with pytest.raises(BadRequest, match="Send the data itself"):
        told({"role": "user", "content": [part]})


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"properties": value}
    return value


def test_a_schema_that_no_server_could_read_is_refused() -> None:
    with pytest.raises(BadRequest, match="nested too deeply"):
        asked(tools=[{"type": "function", "function": {"name": "f", "parameters": nested(300)}}])


# Any request


blobs = st.binary(min_size=1, max_size=8)
said = st.text(min_size=1, max_size=12).filter(lambda text: text.strip())


@st.composite
def conversations(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[Message]]:
    """Messages as a client sends them, and what they are."""
    sent: list[dict[str, Any]] = []
    meant: list[Message] = []
    for index in range(draw(st.integers(1, 5))):
        words = draw(st.lists(said, min_size=1, max_size=2))
        parts: list[Any] = [Text(text) for text in words]
        wire: list[Any] = [{"type": "text", "text": text} for text in words]
        if data := draw(st.none() | blobs):
            url = f"data:image/webp;base64,{base64.b64encode(data).decode()}"
            parts.append(Image("image/webp", data))
            wire.append({"type": "image_url", "image_url": {"url": url}})
        if data := draw(st.none() | blobs):
            url = f"data:text/plain;base64,{base64.b64encode(data).decode()}"
            parts.append(File("n.txt", "text/plain", data))
            wire.append({"type": "file", "file": {"filename": "n.txt", "file_data": url}})
        sent.append({"role": "user", "content": wire if len(wire) > 1 else words[0]})
        meant.append(Message("user", tuple(parts)))
        answer = draw(st.none() | said)
        given = draw(st.lists(dialect_cases.arguments, max_size=3))
        calls = [
            ToolCall(f"c{index}-{at}", draw(dialect_cases.names), one)
            for at, one in enumerate(given)
        ]
        if answer is None and not calls:
            continue
        reply: dict[str, Any] = {"role": "assistant", "content": answer}
        if calls:
            reply["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                }
                for call in calls
            ]
        sent.append(reply)
        blocks = [Text(answer)] if answer is not None else []
        meant.append(Message("assistant", (*blocks, *calls)))
        results = [(call, draw(said)) for call in draw(st.permutations(calls))]
        for call, text in results:
            sent.append({"role": "tool", "tool_call_id": call.id, "content": text})
        if results:
            answers = [ToolResult(call.id, call.name, (Text(text),)) for call, text in results]
            meant.append(Message("user", tuple(answers)))
    return sent, meant


@given(conversations())
def test_any_conversation_keeps_its_order_and_content(
    both: tuple[list[dict[str, Any]], list[Message]],
) -> None:
    """S-1."""
    sent, meant = both
    wire = json.loads(json.dumps(sent))
    assert list(told(*wire)) == meant


@given(st.dictionaries(st.sampled_from(sorted(FULL)), dialect_cases.json_values, max_size=12))
def test_any_json_is_read_or_refused(body: dict[str, Any]) -> None:
    with contextlib.suppress(BadRequest):
        asked(**body)


@given(dialect_cases.broken(FULL))
def test_a_request_that_is_nearly_right_is_read_or_refused(body: dict[str, Any]) -> None:
    try:
        got = ChatDialect().read_request(body)
    except BadRequest as wrong:
        assert f"{wrong}{wrong.param}".encode()  # no half of a character
    else:
        assert got.messages
        assert "\\ud83d" not in repr(got)
        assert isinstance(
            ChatDialect().response_writer(got, ABOUT, body).frames(Outcome("end")), bytes
        )


# Answers


def folded(events: Sequence[tuple[str, str]], with_usage: bool) -> dict[str, Any]:
    """What a client makes of the chunks."""
    assert events[-1] == ("", "[DONE]")
    chunks = [json.loads(data) for _, data in events[:-1]]
    usage = None
    if with_usage:
        last = chunks.pop()
        assert last["choices"] == []
        usage = last["usage"]
    message: dict[str, Any] = {"refusal": None}
    for chunk in chunks:
        assert chunk["object"] == "chat.completion.chunk"
        assert ("usage" in chunk) == with_usage
        (choice,) = chunk["choices"]
        finish = choice["finish_reason"]
        assert (finish is None) == (chunk is not chunks[-1])
        for name, more in choice["delta"].items():
            if name != "tool_calls":
                message[name] = (message.get(name) or "") + more
                continue
            (one,) = more
            calls = message.setdefault("tool_calls", [])
            if one["index"] == len(calls):
                calls.append({"id": one["id"], "type": one["type"], "function": one["function"]})
                assert one["function"]["arguments"] == ""
            else:
                calls[one["index"]]["function"]["arguments"] += one["function"]["arguments"]
    if not message["content"] and message.get("tool_calls"):
        message["content"] = None
    head = {name: chunks[0][name] for name in ("id", "created", "model")}
    assert all(chunk[name] == head[name] for chunk in chunks for name in head)
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}


@given(dialect_cases.answers(), st.booleans())
def test_the_chunks_come_to_what_the_whole_answer_is(
    parts: list[ResponsePart], with_usage: bool
) -> None:
    """S-3."""
    body = {"model": "m", "messages": HELLO, "stream_options": {"include_usage": with_usage}}
    spoken = dialect_cases.spoken(ChatDialect(), body)
    events = dialect_cases.frames(spoken, parts)
    whole = spoken.body()
    if not with_usage:
        whole = {**whole, "usage": None}
    assert folded(events, with_usage) == whole
    json.dumps(whole, ensure_ascii=False).encode()


def test_progress_is_a_line_of_the_thoughts_and_never_words() -> None:
    spoken = dialect_cases.spoken(ChatDialect(), {"model": "m", "messages": HELLO})
    parts = [
        ReasoningPart("Hm"),
        ProgressPart("Read a.txt"),
        ProgressPart("Read b.txt"),
        TextPart("Done."),
    ]
    for part in (*parts, Outcome("end")):
        spoken.frames(part)
    (choice,) = spoken.body()["choices"]  # type: ignore[misc]
    assert choice["message"]["content"] == "Done."
    assert choice["message"]["reasoning_content"] == "Hm\nRead a.txt\nRead b.txt\n"


def test_half_a_character_is_not_passed_on() -> None:
    spoken = dialect_cases.spoken(ChatDialect(), {"model": "m", "messages": HELLO})
    half = "No\ud83d"
    dialect_cases.frames(
        spoken, [TextPart(half), ReasoningPart(half), Outcome("refused", detail=half)]
    )
    (choice,) = spoken.body()["choices"]  # type: ignore[misc]
    message = choice["message"]
    shown = [message[name] for name in ("content", "reasoning_content", "refusal")]
    assert shown == ["No\ufffd"] * 3


# Clients nobody here wrote


@contextlib.asynccontextmanager
async def client(page: local_site.Handler) -> AsyncIterator[openai.AsyncOpenAI]:
    async with (
        local_site.site() as site,
        httpx2.AsyncClient(verify=False, trust_env=False) as http,
        openai.AsyncOpenAI(
            api_key="k", base_url=f"{site.url}/v1", max_retries=0, http_client=http
        ) as made,
    ):
        site.pages["/v1/chat/completions"] = page
        yield made


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


async def test_the_sdk_reads_a_whole_answer() -> None:
    """S-3."""
    async with client(dialect_cases.play(ChatDialect(), [*SAID, Outcome("end", USED)])) as openai:
        got = await openai.chat.completions.create(model="m", messages=HELLO)
    (choice,) = got.choices
    assert (got.id, got.model, got.created) == (f"chatcmpl-{NUMBER}", "agent/Coder", ABOUT.created)
    assert (choice.message.content, choice.finish_reason) == ("It is sunny.", "stop")
    assert choice.message.model_extra == {"reasoning_content": "Let me see."}
    assert got.usage is not None
    assert (got.usage.prompt_tokens, got.usage.completion_tokens) == (100, 30)
    assert got.usage.total_tokens == 130
    assert got.usage.prompt_tokens_details.cached_tokens == 40
    assert got.usage.completion_tokens_details.reasoning_tokens == 20


async def test_the_sdk_reads_a_stream() -> None:
    """S-3: chunks, thoughts, the usage, the end."""
    async with client(dialect_cases.play(ChatDialect(), [*SAID, Outcome("end", USED)])) as openai:
        stream = await openai.chat.completions.create(
            model="m", messages=HELLO, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert deltas[0].role == "assistant"
    assert "".join(delta.content or "" for delta in deltas) == "It is sunny."
    thoughts = [(delta.model_extra or {}).get("reasoning_content", "") for delta in deltas]
    assert "".join(thoughts) == "Let me see."
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 130
    assert all(chunk.usage is None for chunk in chunks[:-1])


@pytest.mark.parametrize("stream", [False, True])
async def test_the_sdk_reads_calls(stream: bool) -> None:
    async with client(dialect_cases.play(ChatDialect(), CALLED)) as openai:
        asked = {"model": "m", "messages": HELLO, "tools": [WEATHER]}
        if stream:
            async with openai.chat.completions.stream(**asked) as events:
                names = [one.name async for one in events if one.type.endswith("arguments.done")]
                got = await events.get_final_completion()
            assert names == ["weather", "weather"]
        else:
            got = await openai.chat.completions.create(**asked)
    (choice,) = got.choices
    assert (choice.message.content, choice.finish_reason) == ("I look.", "tool_calls")
    calls = [
        (one.id, one.function.name, one.function.arguments) for one in choice.message.tool_calls
    ]
    assert calls == [("c1", "weather", '{"city": "Rome"}'), ("c2", "weather", "{}")]


class Dish(BaseModel):
    name: str
    minutes: int


async def test_the_sdk_reads_a_structured_answer() -> None:
    parts = [TextPart('{"name": "Soup", '), TextPart('"minutes": 20}'), Outcome("end")]
    async with client(dialect_cases.play(ChatDialect(), parts)) as openai:
        got = await openai.chat.completions.parse(model="m", messages=HELLO, response_format=Dish)
    assert got.choices[0].message.parsed == Dish(name="Soup", minutes=20)


@pytest.mark.parametrize(
    ("stop", "finish"),
    [("length", "length"), ("limit", "length"), ("refused", "content_filter"), ("end", "stop")],
)
async def test_the_sdk_reads_why_it_ended(stop: Any, finish: str) -> None:
    async with client(
        dialect_cases.play(ChatDialect(), [TextPart("So"), Outcome(stop, detail="No.")])
    ) as openai:
        got = await openai.chat.completions.create(model="m", messages=HELLO)
    assert got.choices[0].finish_reason == finish
    assert got.choices[0].message.refusal == ("No." if stop == "refused" else None)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (403, openai.PermissionDeniedError),
        (404, openai.NotFoundError),
        (429, openai.RateLimitError),
        (503, openai.InternalServerError),
    ],
)
async def test_the_sdk_raises_an_error_before_the_stream(
    status: int, error: type[openai.APIStatusError]
) -> None:
    """S-3: errors in OpenAI's shape."""
    page = dialect_cases.refuse(
        ChatDialect(), "No such thing.", status=status, code="gone", param="model"
    )
    async with client(page) as made:
        with pytest.raises(error, match="No such thing") as caught:
            await made.chat.completions.create(model="m", messages=HELLO, stream=True)
    assert (caught.value.code, caught.value.param) == ("gone", "model")
    assert caught.value.type


async def test_the_sdk_raises_what_the_request_has_wrong() -> None:
    async with client(dialect_cases.play(ChatDialect(), [Outcome("end")])) as made:
        with pytest.raises(openai.BadRequestError) as caught:
            await made.chat.completions.create(model="m", messages=HELLO, n=2)
    assert caught.value.param == "n"


async def test_the_sdk_raises_an_error_in_the_stream() -> None:
    parts = [
        TextPart("It is "),
        Outcome("error", detail="The provider is overloaded.", status=503, code="overloaded"),
    ]
    heard: list[str] = []
    async with client(dialect_cases.play(ChatDialect(), parts)) as made:
        stream = await made.chat.completions.create(model="m", messages=HELLO, stream=True)
        with pytest.raises(openai.APIError, match="The provider is overloaded") as caught:
            async for chunk in stream:
                heard.append(chunk.choices[0].delta.content or "")
    assert "".join(heard) == "It is "
    assert (caught.value.code, caught.value.type) == ("overloaded", "server_error")


def test_an_error_ends_the_stream_for_clients_that_wait_for_done() -> None:
    spoken = dialect_cases.spoken(ChatDialect(), {"model": "m", "messages": HELLO, "stream": True})
    events = dialect_cases.frames(
        spoken, [TextPart("So"), Outcome("error", detail="No.", status=500)]
    )
    assert json.loads(events[-2][1])["error"]["message"] == "No."
    assert events[-1] == ("", "[DONE]")


@given(dialect_cases.answers(), st.sampled_from(sorted(DIALECTS)))
def test_s3_an_answer_in_one_piece_is_what_the_streamed_one_comes_to(
    parts: list[ResponsePart], name: str
) -> None:
    dialect = DIALECTS[name]
    body: dict[str, Any] = {
        "model": "agent/Coder",
        "messages": HELLO,
        "input": "Hi",
        "max_tokens": 9,
    }
    streamed, whole = dialect_cases.spoken(dialect, body), dialect_cases.spoken(dialect, body)
    for part in parts:
        streamed.frames(part)
        whole.take(part)
    times = ("created_at", "completed_at")
    assert {k: v for k, v in whole.body().items() if k not in times} == {
        k: v for k, v in streamed.body().items() if k not in times
    }
