"""The makers' own clients against the real server, the strict simulator behind it (S-1, S-2, S-3)."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from pydantic import BaseModel

from studio.simulator import (
    Call,
    RequestView,
    Script,
    Text,
    Think,
    Turn,
    Usage,
    error_event,
    stall,
    status,
)
from support.engine_home import KEY, PROTOCOLS
from support.running_server import MODEL, PROVIDER, RunningServer, running_server
from support.waiting import within

AGENT = "agent/Coder"
ALICE: list[Any] = [
    {"role": "user", "content": "My name is Alice"},
    {"role": "assistant", "content": "Hello Alice"},
    {"role": "user", "content": "What is my name?"},
]
ROME: list[Any] = [{"role": "user", "content": "Rome?"}]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
FUNCTION: Any = {
    "type": "function",
    "function": {"name": "weather", "description": "Tells the weather.", "parameters": SCHEMA},
}
TOOL: Any = {"name": "weather", "description": "Tells the weather.", "input_schema": SCHEMA}
THINKING: Any = {"type": "adaptive"}
GREETING = Turn(
    Think("They greet me."),
    Text("Hello there."),
    usage=Usage(inp=20, cache_read=8, out=9, reasoning=4),
)


class Person(BaseModel):
    name: str
    age: int


def told(server: RunningServer, which: int = -1) -> list[tuple[str, Any]]:
    """Who said what in a request that reached the provider."""
    messages = server.house.asked[which].json["messages"]
    return [(one["role"], one["content"]) for one in messages]


def forecast(request: RequestView) -> Turn:
    if request.results:
        return Turn(Text(f"It is {request.results[0].text} there."))
    assert "weather" in request.tool_names
    return Turn(Text("I look."), Call("weather", {"city": "Rome"}))


def reading() -> list[Turn]:
    """An agent that reads a file here, then calls the client's tool, then answers."""
    return [
        Turn(Text("I read it."), Call("read", {"path": "a.txt"})),
        Turn(Call("weather", {"city": "Rome"})),
        Turn(Text("Rome: sunny.")),
    ]


@contextlib.asynccontextmanager
async def chatting(
    home: Path, script: Script
) -> AsyncIterator[tuple[openai.AsyncOpenAI, RunningServer]]:
    async with (
        serving(home, script) as server,
        openai.AsyncOpenAI(
            api_key=server.token, base_url=f"{server.serving.address}/v1", max_retries=0
        ) as client,
    ):
        yield client, server


@contextlib.asynccontextmanager
async def messaging(
    home: Path, script: Script
) -> AsyncIterator[tuple[anthropic.AsyncAnthropic, RunningServer]]:
    async with (
        serving(home, script) as server,
        anthropic.AsyncAnthropic(
            api_key=server.token, base_url=server.serving.address, max_retries=0
        ) as client,
    ):
        yield client, server


@contextlib.asynccontextmanager
async def serving(home: Path, script: Script) -> AsyncIterator[RunningServer]:
    async with running_server(home, script) as server:
        (server.house.folder / "a.txt").write_text("Rome")
        values = server.house.engine.settings.values
        values.default_provider, values.default_model[PROVIDER] = PROVIDER, "sim-model"
        values.server_steps = True
        yield server
        assert not server.house.simulator.violations


# An answer, whole and streamed


async def test_chat_is_answered_whole_and_streamed(tmp_path: Path) -> None:
    """S-3: words, thoughts, usage, the reason of the end."""
    async with chatting(tmp_path, [GREETING, GREETING]) as (client, _):
        whole = await client.chat.completions.create(model=MODEL, messages=ROME)
        async with client.chat.completions.stream(
            model=MODEL, messages=ROME, stream_options={"include_usage": True}
        ) as stream:
            streamed = await stream.get_final_completion()
    for got in (whole, streamed):
        (choice,) = got.choices
        assert (choice.message.content, choice.finish_reason) == ("Hello there.", "stop")
        assert choice.message.to_dict()["reasoning_content"] == "They greet me."
        assert (got.model, got.id[:9]) == (MODEL, "chatcmpl-")
        assert got.usage
        assert got.usage.prompt_tokens_details and got.usage.completion_tokens_details
        assert (got.usage.prompt_tokens, got.usage.completion_tokens) == (20, 9)
        assert got.usage.prompt_tokens_details.cached_tokens == 8
        assert got.usage.completion_tokens_details.reasoning_tokens == 4


async def test_messages_are_answered_whole_and_streamed(tmp_path: Path) -> None:
    """S-3: words, thoughts for who expects them, usage, the reason of the end."""
    asked: Any = {"model": MODEL, "max_tokens": 500, "messages": ROME, "thinking": THINKING}
    async with messaging(tmp_path, [GREETING] * 3) as (client, _):
        whole = await client.messages.create(**asked)
        async with client.messages.stream(**asked) as stream:
            streamed = await stream.get_final_message()
        quiet = await client.messages.create(**{**asked, "thinking": {"type": "disabled"}})
    for got in (whole, streamed):
        thought, words = got.content
        assert thought.type == "thinking" and thought.thinking == "They greet me."
        assert words.type == "text" and words.text == "Hello there."
        assert (got.model, got.id[:4], got.stop_reason) == (MODEL, "msg_", "end_turn")
        assert (got.usage.input_tokens, got.usage.cache_read_input_tokens) == (12, 8)
        assert got.usage.output_tokens == 9
    assert [block.type for block in quiet.content] == ["text"]


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
async def test_messages_say_which_stop_text_ended_them(tmp_path: Path, provider: str) -> None:
    """S-3: where the provider says so, and where the answer is cut here."""
    asked: Any = {"model": f"{provider}/m", "max_tokens": 500, "messages": ROME}
    async with messaging(tmp_path, [Turn(Text("One, two, three."))] * 3) as (client, server):
        engine, simulator = server.house.engine, server.house.simulator
        engine.settings.values.base_urls[provider] = simulator.url(PROTOCOLS[provider])  # type: ignore[arg-type]
        engine.keychain.keep_for_session(provider, KEY)
        whole = await client.messages.create(**asked, stop_sequences=["four", "two"])
        async with client.messages.stream(**asked, stop_sequences=["two"]) as stream:
            streamed = await stream.get_final_message()
        for got in (whole, streamed):
            assert (got.stop_reason, got.stop_sequence) == ("stop_sequence", "two")
            assert got.content[0].text == "One, "
        other = await client.messages.create(**asked, stop_sequences=["four"])
        assert (other.stop_reason, other.stop_sequence) == ("end_turn", None)


# A conversation


async def test_alice_through_chat(tmp_path: Path) -> None:
    """S-1, S-2: the model sees all three, the client's instructions once."""
    system = [{"role": "system", "content": "Be kind."}]
    async with chatting(tmp_path, [Turn(Text("Alice."))]) as (client, server):
        await client.chat.completions.create(model=MODEL, messages=[*system, *ALICE])
        (role, instructions), *rest = told(server)
        assert role == "system"
        assert instructions.count("Be kind.") == 1
        assert rest == [(one["role"], one["content"]) for one in ALICE]


async def test_alice_through_messages(tmp_path: Path) -> None:
    """S-1, S-2: the model sees all three, the client's instructions once."""
    async with messaging(tmp_path, [Turn(Text("Alice."))]) as (client, server):
        await client.messages.create(model=MODEL, max_tokens=9, system="Be kind.", messages=ALICE)
        (role, instructions), *rest = told(server)
        assert role == "system"
        assert instructions.count("Be kind.") == 1
        assert rest == [(one["role"], one["content"]) for one in ALICE]
        assert server.house.asked[0].json.get("max_tokens") == 9


# Tools


@pytest.mark.parametrize("stream", [False, True])
async def test_a_tool_of_a_chat_client(tmp_path: Path, stream: bool) -> None:
    """S-1: the call is handed over, its result goes to the model under the call's id."""
    async with chatting(tmp_path, forecast) as (client, server):
        asked: Any = {"model": MODEL, "messages": ROME, "tools": [FUNCTION]}
        if stream:
            async with client.chat.completions.stream(**asked) as events:
                first: Any = await events.get_final_completion()
        else:
            first = await client.chat.completions.create(**asked)
        (choice,) = first.choices
        assert (choice.message.content, choice.finish_reason) == ("I look.", "tool_calls")
        (call,) = choice.message.tool_calls
        assert (call.function.name, json.loads(call.function.arguments)) == (
            "weather",
            {"city": "Rome"},
        )
        result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
        said = choice.message.to_dict(mode="json")
        asked["messages"] = [*ROME, said, result]
        second = await client.chat.completions.create(**asked)
        assert second.choices[0].message.content == "It is sunny there."
        assert [role for role, _ in told(server)][-3:] == ["user", "assistant", "tool"]
        assert len(server.house.asked) == 2


@pytest.mark.parametrize("stream", [False, True])
async def test_a_tool_of_a_messages_client(tmp_path: Path, stream: bool) -> None:
    """S-1: the call is handed over, its result goes to the model under the call's id."""
    async with messaging(tmp_path, forecast) as (client, server):
        asked: Any = {"model": MODEL, "max_tokens": 99, "messages": ROME, "tools": [TOOL]}
        if stream:
            async with client.messages.stream(**asked) as events:
                first: Any = await events.get_final_message()
        else:
            first = await client.messages.create(**asked)
        assert first.stop_reason == "tool_use"
        words, call = first.content
        assert (words.text, call.name, call.input) == ("I look.", "weather", {"city": "Rome"})
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}
        said = {"role": "assistant", "content": [block.to_dict() for block in first.content]}
        asked["messages"] = [*ROME, said, {"role": "user", "content": [result]}]
        second = await client.messages.create(**asked)
        assert second.content[0].text == "It is sunny there."
        assert second.stop_reason == "end_turn"
        assert [role for role, _ in told(server)][-3:] == ["user", "assistant", "tool"]
        assert len(server.house.asked) == 2


@pytest.mark.parametrize("stream", [False, True])
async def test_the_tool_runner_of_anthropics_library(tmp_path: Path, stream: bool) -> None:
    """It asks for a thread on the server first, hears that there is none, and sends the whole."""

    @anthropic.beta_async_tool
    async def weather(city: str) -> str:
        """Tells the weather."""
        return f"{city}: sunny"

    async with messaging(tmp_path, forecast) as (client, server):
        runner: Any = client.beta.messages.tool_runner(
            model=MODEL, max_tokens=500, messages=ROME, tools=[weather], stream=stream
        )
        message = await runner.until_done()
        assert message.content[0].text == "It is Rome: sunny there."
        assert [role for role, _ in told(server)] == ["user", "assistant", "tool"]


async def test_an_agents_tool_runs_here_and_the_chat_clients_goes_back(tmp_path: Path) -> None:
    """S-1: a step here is told beside the answer, and the model keeps what it read."""
    async with chatting(tmp_path, reading()) as (client, server):
        asked: Any = {"model": AGENT, "messages": ROME, "tools": [FUNCTION]}
        first = await client.chat.completions.create(**asked)
        (choice,) = first.choices
        assert (choice.message.content, choice.finish_reason) == ("I read it.", "tool_calls")
        assert "a.txt" in choice.message.to_dict()["reasoning_content"]
        (call,) = choice.message.tool_calls or ()
        result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
        asked["messages"] = [*ROME, choice.message.to_dict(mode="json"), result]
        second = await client.chat.completions.create(**asked)
        assert second.choices[0].message.content == "Rome: sunny."
        results = [content for role, content in told(server) if role == "tool"]
        assert "Rome" in str(results[0])
        assert results[1:] == ["sunny"]


async def test_an_agents_tool_runs_here_and_the_messages_clients_goes_back(tmp_path: Path) -> None:
    """S-1: a step here is told in thinking, and the model keeps what it read."""
    async with messaging(tmp_path, reading()) as (client, server):
        asked: Any = {
            "model": AGENT,
            "max_tokens": 99,
            "messages": ROME,
            "tools": [TOOL],
            "thinking": THINKING,
        }
        async with client.messages.stream(**asked) as events:
            first: Any = await events.get_final_message()
        words, step, call = first.content
        assert (words.type, step.type, call.type) == ("text", "thinking", "tool_use")
        assert "a.txt" in step.thinking
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}
        said = {"role": "assistant", "content": [block.to_dict() for block in first.content]}
        asked["messages"] = [*ROME, said, {"role": "user", "content": [result]}]
        second = await client.messages.create(**asked)
        assert second.content[0].text == "Rome: sunny."
        results = [content for role, content in told(server) if role == "tool"]
        assert "Rome" in str(results[0])
        assert results[1:] == ["sunny"]


# The form of the answer

TRIES = [Turn(Text("Alice is 31.")), Turn(Text('{"name": "Alice", "age": 31}'))]


def _has_agents(server: RunningServer) -> None:
    values = server.house.engine.settings.values
    values.default_provider, values.default_model[PROVIDER] = PROVIDER, "sim-model"


async def test_a_structured_chat_answer(tmp_path: Path) -> None:
    """What does not fit is tried again by an agent, and the client sees what does."""
    async with chatting(tmp_path, TRIES) as (client, server):
        _has_agents(server)
        got = await client.chat.completions.parse(
            model="agent/Coder", messages=ALICE, response_format=Person
        )
        assert got.choices[0].message.parsed == Person(name="Alice", age=31)
        assert len(server.house.asked) == 2


async def test_a_structured_messages_answer(tmp_path: Path) -> None:
    """What does not fit is tried again by an agent, and the client sees what does."""
    async with messaging(tmp_path, TRIES) as (client, server):
        _has_agents(server)
        got = await client.messages.parse(
            model="agent/Coder", max_tokens=99, messages=ALICE, output_format=Person
        )
        assert got.parsed_output == Person(name="Alice", age=31)
        assert len(server.house.asked) == 2


# Errors


async def test_errors_as_a_chat_client_sees_them(tmp_path: Path) -> None:
    """S-3, S-4: an unknown model, a wrong token, the provider's fault before and in the stream."""
    replies = [
        Turn(faults=[status(429)]),
        Turn(faults=[status(503)]),
        Turn(Text("One two three four five"), faults=[error_event()]),
    ]
    async with chatting(tmp_path, replies) as (client, server):
        create = client.chat.completions.create
        with pytest.raises(openai.NotFoundError) as unknown:
            await create(model="agent/Nobody", messages=ROME)
        assert (unknown.value.code, unknown.value.param) == ("model_not_found", "model")
        with pytest.raises(openai.AuthenticationError):
            await client.with_options(api_key="wrong").chat.completions.create(
                model=MODEL, messages=ROME
            )
        assert not server.house.asked
        with pytest.raises(openai.RateLimitError):
            await create(model=MODEL, messages=ROME)
        with pytest.raises(openai.InternalServerError) as overloaded:
            await create(model=MODEL, messages=ROME, stream=True)
        assert (overloaded.value.status_code, overloaded.value.type) == (503, "server_error")
        stream = await create(model=MODEL, messages=ROME, stream=True)
        with pytest.raises(openai.APIError) as broken:
            async for _ in stream:
                pass
        assert broken.value.code


async def test_errors_as_a_messages_client_sees_them(tmp_path: Path) -> None:
    """S-3, S-4: an unknown model, a wrong token, the provider's fault before and in the stream."""
    replies = [
        Turn(faults=[status(429)]),
        Turn(faults=[status(503)]),
        Turn(Text("One two three four five"), faults=[error_event()]),
    ]
    async with messaging(tmp_path, replies) as (client, server):
        asked: Any = {"model": MODEL, "max_tokens": 99, "messages": ROME}
        with pytest.raises(anthropic.NotFoundError) as unknown:
            await client.messages.create(**{**asked, "model": "agent/Nobody"})
        assert unknown.value.type == "not_found_error"
        with pytest.raises(anthropic.AuthenticationError) as stranger:
            await client.with_options(api_key="wrong").messages.create(**asked)
        assert stranger.value.type == "authentication_error"
        assert not server.house.asked
        with pytest.raises(anthropic.RateLimitError):
            await client.messages.create(**asked)
        with pytest.raises(anthropic.OverloadedError):
            await client.messages.create(**asked, stream=True)
        stream = await client.messages.create(**asked, stream=True)
        with pytest.raises(anthropic.APIStatusError) as broken:
            async for _ in stream:
                pass
        assert broken.value.type in ("overloaded_error", "api_error")


# Counting


async def test_tokens_are_counted(tmp_path: Path) -> None:
    async with messaging(tmp_path, []) as (client, server):
        short = await client.messages.count_tokens(model=MODEL, messages=ROME)
        longer = await client.messages.count_tokens(
            model=MODEL, messages=ALICE, system="Be kind.", tools=[TOOL]
        )
        assert 0 < short.input_tokens < longer.input_tokens
        with pytest.raises(anthropic.NotFoundError):
            await client.messages.count_tokens(model="agent/Nobody", messages=ROME)
        with pytest.raises(anthropic.BadRequestError):
            await client.messages.count_tokens(model=MODEL, messages=[])
        assert not server.house.asked


async def test_a_client_that_hangs_up_stops_the_turn(tmp_path: Path) -> None:
    reply = Turn(Text("One two three four five"), faults=[stall(at=4)])
    async with messaging(tmp_path, [reply]) as (client, server):
        async with client.messages.stream(model=MODEL, max_tokens=99, messages=ROME) as stream:
            async for _ in stream.text_stream:
                break
        async with within():
            await server.house.asked[0].gone.wait()
