"""OpenAI's own client against the real server, the strict simulator behind it (S-1, S-2, S-3)."""

from __future__ import annotations

import base64
import contextlib
import json
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from openai import (
    APIError,
    APIStatusError,
    AsyncOpenAI,
    BadRequestError,
    ConflictError,
    NotFoundError,
    RateLimitError,
)
from openai.lib.responses_tool_runner import AsyncRegisteredFunction, AsyncResponsesToolRunner
from openai.types.responses import Response
from pydantic import BaseModel

from studio.agent.prompts import NO_MORE_CALLS
from studio.server.http_server import HttpServer
from studio.simulator import (
    Call,
    RequestView,
    Said,
    Text,
    Think,
    Turn,
    Usage,
    error_event,
    stall,
    status,
)
from support.engine_home import EngineHome, engine_home, say
from support.sample_files import picture
from support.waiting import within

MODEL = "openai/sim-model"
WEATHER: Any = {
    "type": "function",
    "name": "weather",
    "description": "Tells the weather.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
    "strict": False,
}


@contextlib.asynccontextmanager
async def served(home: Path, script: Any) -> AsyncIterator[tuple[AsyncOpenAI, EngineHome]]:
    """A client, and what is behind the server it talks to."""
    async with engine_home(home, "openai", script) as made:
        serving = HttpServer(made.engine, host="127.0.0.1", port=0, folder=made.folder)
        await serving.start()
        try:
            async with AsyncOpenAI(
                api_key=await serving.token.get(),
                base_url=f"{serving.address}/v1",
                max_retries=0,
            ) as client:
                yield client, made
        finally:
            await serving.stop()
        assert not made.simulator.violations


def alice(request: RequestView) -> Turn:
    """Answers from what it was told, and says so if it was not told."""
    told = [item.text for item in request.items if isinstance(item, Said) and item.role == "user"]
    knows = any("My name is Alice" in text for text in told)
    if "What is my name" not in request.last_user:
        return Turn(Text("Hello Alice."))
    return Turn(Text("Alice." if knows else "I do not know."))


async def test_an_answer_in_one_piece(tmp_path: Path) -> None:
    reply = Turn(
        Think("They greet me."),
        Text("Hello."),
        usage=Usage(inp=20, cache_read=8, out=9, reasoning=4),
    )
    async with served(tmp_path, [reply]) as (client, made):
        got = await client.responses.create(
            model=MODEL, input="Hi", instructions="Be kind.", metadata={"a": "b"}
        )
        assert got.output_text == "Hello."
        assert (got.status, got.model, got.instructions) == ("completed", MODEL, "Be kind.")
        assert got.metadata == {"a": "b"}
        assert [item.type for item in got.output] == ["reasoning", "message"]
        assert got.usage
        assert got.usage.input_tokens == 20
        assert got.usage.input_tokens_details.cached_tokens == 8
        assert got.usage.output_tokens_details.reasoning_tokens == 4
        Response.model_validate(got.to_dict())
        sent = made.asked[0].json
        assert "Be kind." in str(sent["instructions"])
        assert "Hi" in str(sent["input"])


async def test_a_stream_comes_to_what_the_whole_is(tmp_path: Path) -> None:
    """S-3"""
    reply = Turn(Think("Hm."), Text("One, two, three."))
    async with (
        served(tmp_path, [reply]) as (client, _),
        client.responses.stream(model=MODEL, input="Count") as stream,
    ):
        events = [event async for event in stream]
        final = await stream.get_final_response()
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(deltas) == final.output_text == "One, two, three."
    Response.model_validate(final.to_dict())


async def test_alice_is_known_from_the_conversation(tmp_path: Path) -> None:
    """S-2: the model sees all three messages, in order."""
    said: Any = [
        {"role": "user", "content": "My name is Alice"},
        {"role": "assistant", "content": "Hello Alice"},
        {"role": "user", "content": "What is my name?"},
    ]
    async with served(tmp_path, alice) as (client, made):
        got = await client.responses.create(model=MODEL, input=said)
        assert got.output_text == "Alice."
        sent = json.dumps(made.asked[0].json["input"])
        at = [sent.index(text) for text in ("My name is Alice", "Hello Alice", "What is my name?")]
        assert at == sorted(at)


async def test_alice_is_known_from_an_earlier_answer(tmp_path: Path) -> None:
    """S-2: only what is new is sent, the rest is gone on from by its id."""
    async with served(tmp_path, alice) as (client, _):
        first = await client.responses.create(model=MODEL, input="My name is Alice")
        second = await client.responses.create(
            model=MODEL, input="What is my name?", previous_response_id=first.id
        )
        assert second.output_text == "Alice."
        assert second.previous_response_id == first.id
        assert second.id != first.id
        # An answer can be gone on from more than once.
        again = await client.responses.create(
            model=MODEL, input="Say it: What is my name?", previous_response_id=first.id
        )
        assert again.output_text == "Alice."


def forecast(request: RequestView) -> Turn:
    if request.results:
        return Turn(Text(f"It is {request.results[0].text} there."))
    assert "weather" in request.tool_names
    return Turn(Text("I look."), Call("weather", {"city": "Rome"}))


async def test_a_tool_of_the_client_and_back_by_id(tmp_path: Path) -> None:
    """S-1: the call is handed over, its output goes to the model, under the call's id."""
    async with served(tmp_path, forecast) as (client, made):
        first = await client.responses.create(model=MODEL, input="Rome?", tools=[WEATHER])
        assert first.status == "completed"
        said, call = first.output
        assert said.type == "message"
        assert call.type == "function_call"
        assert (call.name, json.loads(call.arguments)) == ("weather", {"city": "Rome"})
        second = await client.responses.create(
            model=MODEL,
            input=[{"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}],
            previous_response_id=first.id,
            tools=[WEATHER],
        )
        assert second.output_text == "It is sunny there."
        assert len(made.asked) == 2


async def test_a_tool_of_the_client_streamed_and_sent_whole(tmp_path: Path) -> None:
    """S-1: clients that keep the conversation themselves send back every item they got."""
    async with served(tmp_path, forecast) as (client, _):
        items: list[Any] = [{"role": "user", "content": "Rome?"}]
        async with client.responses.stream(model=MODEL, input=items, tools=[WEATHER]) as stream:
            first = await stream.get_final_response()
        call = first.output[-1]
        assert call.type == "function_call"
        items += [item.to_dict() for item in first.output]
        items.append({"type": "function_call_output", "call_id": call.call_id, "output": "raining"})
        second = await client.responses.create(
            model=MODEL, input=items, tools=[WEATHER], store=False
        )
        assert second.output_text == "It is raining there."


@pytest.mark.parametrize("steps", [False, True])
async def test_items_of_an_answer_are_named_in_place_of_sent(tmp_path: Path, steps: bool) -> None:
    """S-2: Vercel's library names words and calls by their ids; the conversation goes on."""
    replies = [
        Turn(Think("Hm."), Text("I read it."), Call("read", {"path": "a.txt"})),
        Turn(Text("Now the weather."), Call("weather", {"city": "Rome"})),
        Turn(Text("Sunny.")),
    ]
    async with served(tmp_path, replies) as (client, made):
        (made.folder / "a.txt").write_text("Rome")
        _has_agents(made)
        made.engine.settings.values.server_steps = steps
        asked: Any = {"role": "user", "content": "Weather of the city in a.txt?"}
        first = await client.responses.create(model="agent/Coder", input=[asked], tools=[WEATHER])
        call = first.output[-1]
        assert call.type == "function_call"
        names: list[Any] = [{"type": "item_reference", "id": one.id} for one in first.output]
        assert all(len(name["id"]) <= 64 for name in names)
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "sun"}
        second = await client.responses.create(
            model="agent/Coder",
            input=[asked, *names, names[-1], result],  # one is named twice
            tools=[WEATHER],
        )
        assert second.output_text == "Sunny."
        assert len(await made.engine.sessions.list()) == 1
        # Another program could name what it was never sent.
        with pytest.raises(BadRequestError) as unknown:
            other = str(first.output[0].id)[:-3] + "A_0"
            await client.responses.create(
                model=MODEL, input=[{"type": "item_reference", "id": other.replace("rs_", "msg_")}]
            )
        assert unknown.value.code == "item_not_found"


async def test_custom_tools_and_namespaces_come_back_as_the_client_calls_them(
    tmp_path: Path,
) -> None:
    """S-1: Codex's tools take text or stand in a namespace; models get functions."""
    patch: Any = {"type": "custom", "name": "patch", "description": "Changes files."}
    tools: Any = [
        patch,
        {"type": "web_search"},
        {"type": "namespace", "name": "mcp__sky__", "description": "Sky.", "tools": [WEATHER]},
        {"type": "namespace", "name": "crm", "description": "Customers.", "tools": [patch]},
    ]
    calls = [
        Call("patch", {"input": "x\nx"}),
        Call("mcp__sky__weather", {"city": "Rome"}),
        Call("crm__patch", {"input": "y"}),
    ]
    replies = [Turn(*calls), Turn(Text("Done.")), Turn(Text("Again."))]
    async with served(tmp_path, replies) as (client, made):
        asked: Any = {"role": "user", "content": "Go"}
        async with client.responses.stream(model=MODEL, input=[asked], tools=tools) as stream:
            events = [event async for event in stream]
            first = await stream.get_final_response()
        offered: Any = made.asked[0].json["tools"]
        assert [tool["name"] for tool in offered] == ["patch", "mcp__sky__weather", "crm__patch"]
        free, inner, spaced = first.output
        assert free.type == spaced.type == "custom_tool_call"
        assert (free.name, free.input, free.namespace) == ("patch", "x\nx", None)
        assert inner.type == "function_call"
        assert (inner.name, inner.namespace) == ("weather", "mcp__sky__")
        assert (spaced.name, spaced.input, spaced.namespace) == ("patch", "y", "crm")
        typed = [one.delta for one in events if one.type == "response.custom_tool_call_input.delta"]
        assert typed == ["x\nx", "y"]
        back: list[Any] = [item.to_dict() for item in first.output]
        for item in [*back]:
            kind = f"{item['type']}_output"
            back.append({"type": kind, "call_id": item["call_id"], "output": "ok"})
        second = await client.responses.create(model=MODEL, input=[asked, *back], tools=tools)
        assert second.output_text == "Done."
        assert [tool.type for tool in second.tools] == ["custom", "namespace", "namespace"]
        assert len(await made.engine.sessions.list()) == 1
        back[:3] = [{"type": "item_reference", "id": item["id"]} for item in back[:3]]
        third = await client.responses.create(model=MODEL, input=[asked, *back], tools=tools)
        assert third.output_text == "Again."
        sent: Any = made.asked[2].json["input"]
        told = [(one["name"], json.loads(one["arguments"])) for one in sent if "arguments" in one]
        assert told == [(call.name, call.arguments) for call in calls]


async def test_what_an_agent_does_here_is_told_beside_the_answer(tmp_path: Path) -> None:
    """Its own tools run here; a step is a part of a reasoning summary, never of the words."""
    replies = [
        Turn(Text("I read it."), Call("read", {"path": "a.txt"})),
        Turn(Call("weather", {"city": "Rome"})),
        Turn(Text("Rome: sunny.")),
    ]
    async with served(tmp_path, replies) as (client, made):
        (made.folder / "a.txt").write_text("Rome")
        _has_agents(made)
        made.engine.settings.values.server_steps = True
        asked = "Weather of the city in a.txt?"
        async with client.responses.stream(
            model="agent/Coder", input=asked, tools=[WEATHER]
        ) as stream:
            first = await stream.get_final_response()
        said, step, call = first.output
        assert said.type == "message"
        assert step.type == "reasoning"
        assert "a.txt" in step.summary[0].text
        assert call.type == "function_call"
        assert "a.txt" not in first.output_text
        said_so: list[Any] = [item.to_dict() for item in first.output]
        output: Any = {
            "type": "function_call_output",
            "call_id": call.call_id,
            "output": "sunny",
        }
        second = await client.responses.create(
            model="agent/Coder",
            input=[{"role": "user", "content": asked}, *said_so, output],
            tools=[WEATHER],
        )
        assert second.output_text == "Rome: sunny."
        # It went on in the session of the first: the model still has what it read.
        assert "Rome" in json.dumps(made.asked[-1].json["input"])


async def test_an_agent_makes_no_more_calls_than_the_client_wants(tmp_path: Path) -> None:
    """``max_tool_calls`` counts the calls made here; one beyond it is told so, and none is made."""
    paths = ("one", "two", "three", "four")
    replies = [
        Turn(*(Call("write", {"path": path, "content": "x"}) for path in paths[:3])),
        Turn(Call("write", {"path": paths[3], "content": "x"}), Call("weather", {"city": "Rome"})),
    ]
    async with served(tmp_path, replies) as (client, made):
        values = made.engine.settings.values
        values.default_provider, values.default_model["openai"] = "openai", "sim-model"
        values.server_rules = {"allow": ["write"]}
        answer = await client.responses.create(
            model="agent/Coder", input="Go", tools=[WEATHER], max_tool_calls=2
        )
        assert [one.type for one in answer.output] == ["function_call"]
        assert answer.max_tool_calls == 2
        assert sorted(one.name for one in made.folder.iterdir()) == ["one", "two"]
        told = [one["output"] for one in made.asked[-1].json["input"] if "output" in one]
        assert [NO_MORE_CALLS in str(one) for one in told] == [False, False, True]


async def test_a_picture_arrives(tmp_path: Path) -> None:
    """S-1"""
    url = f"data:image/png;base64,{base64.b64encode(picture()).decode()}"
    content: Any = [
        {"type": "input_text", "text": "What is this?"},
        {"type": "input_image", "image_url": url, "detail": "auto"},
    ]
    async with served(tmp_path, [Turn(Text("Red."))]) as (client, made):
        got = await client.responses.create(
            model=MODEL,
            input=[{"role": "user", "content": content}],
        )
        assert got.output_text == "Red."
        assert url in json.dumps(made.asked[0].json["input"])


async def test_a_request_that_is_repeated_gets_the_same_answer(tmp_path: Path) -> None:
    async with served(tmp_path, [Turn(Text("Once."))]) as (client, made):
        headers = {"Idempotency-Key": "k1"}
        first, second = [
            await client.responses.create(model=MODEL, input="Hi", extra_headers=headers)
            for _ in range(2)
        ]
        assert first.to_dict() == {**second.to_dict(), "completed_at": first.completed_at}
        assert len(made.asked) == 1


async def test_a_fault_of_the_provider_is_an_error_of_the_api(tmp_path: Path) -> None:
    """Before the first word it is a status, after it an event; the library raises both."""
    replies = [
        Turn(faults=[status(429)]),
        Turn(Text("One two three four five"), faults=[error_event()]),
    ]
    async with served(tmp_path, replies) as (client, _):
        with pytest.raises(RateLimitError):
            await client.responses.create(model=MODEL, input="Hi")
        stream = await client.responses.create(model=MODEL, input="Hi", stream=True)
        with pytest.raises(APIError) as caught:
            async for _ in stream:
                pass
        assert caught.value.code


class Person(BaseModel):
    name: str
    age: int


def _has_agents(made: EngineHome) -> None:
    values = made.engine.settings.values
    values.default_provider, values.default_model["openai"] = "openai", "sim-model"


async def test_structured_output_fits_its_schema(tmp_path: Path) -> None:
    """The first try does not fit; the model is told, and the client sees the second only."""
    replies = [Turn(Text("Alice is 31.")), Turn(Text('{"name":"Alice","age":31}'))]
    async with served(tmp_path, replies) as (client, made):
        _has_agents(made)
        got = await client.responses.parse(model="agent/Coder", input="Who?", text_format=Person)
        assert got.output_parsed == Person(name="Alice", age=31)
        assert len(made.asked) == 2


async def test_structured_output_streams(tmp_path: Path) -> None:
    replies = [Turn(Text("Alice is 31.")), Turn(Text('{"name":"Alice","age":31}'))]
    async with served(tmp_path, replies) as (client, made):
        _has_agents(made)
        async with client.responses.stream(
            model="agent/Coder", input="Who?", text_format=Person
        ) as stream:
            final = await stream.get_final_response()
        assert final.output_parsed == Person(name="Alice", age=31)


async def test_an_answer_is_read_again(tmp_path: Path) -> None:
    """From its session, so that it outlives the server."""
    replies = [
        Turn(Think("Hm."), Text("I look."), Call("weather", {"city": "Rome"})),
        Turn(Text("It is sunny."), usage=Usage(inp=30, out=5)),
    ]
    async with served(tmp_path, replies) as (client, _):
        first = await client.responses.create(
            model=MODEL, input="Rome?", instructions="Be brief.", tools=[WEATHER]
        )
        call = first.output[-1]
        assert call.type == "function_call"
        second = await client.responses.create(
            model=MODEL,
            input=[{"type": "function_call_output", "call_id": call.call_id, "output": "sun"}],
            instructions="Be brief.",
            previous_response_id=first.id,
        )
    async with served(tmp_path, []) as (client, _):
        for answer in (first, second):
            again = await client.responses.retrieve(answer.id)
            Response.model_validate(again.to_dict())
            for name in ("id", "status", "model", "instructions", "previous_response_id", "usage"):
                assert getattr(again, name) == getattr(answer, name), name
            assert again.output == answer.output
            assert abs(again.created_at - answer.created_at) <= 1
        with pytest.raises(BadRequestError):
            await client.responses.retrieve(first.id, stream=True)


async def test_structured_output_is_read_again_without_the_tries(tmp_path: Path) -> None:
    replies = [Turn(Text("Alice is 31.")), Turn(Text('{"name":"Alice","age":31}'))]
    async with served(tmp_path, [*replies, Turn(Text("Welcome."))]) as (client, made):
        _has_agents(made)
        got = await client.responses.parse(model="agent/Coder", input="Who?", text_format=Person)
        freely = await client.responses.create(
            model="agent/Coder", input="Thanks", previous_response_id=got.id
        )
        again = await client.responses.retrieve(got.id)
        assert again.output_text == got.output_text == '{"name":"Alice","age":31}'
        assert (await client.responses.retrieve(freely.id)).output_text == "Welcome."


async def test_the_last_answer_is_deleted_with_its_conversation(tmp_path: Path) -> None:
    async with served(tmp_path, alice) as (client, made):
        first = await client.responses.create(model=MODEL, input="My name is Alice")
        second = await client.responses.create(
            model=MODEL, input="What is my name?", previous_response_id=first.id
        )
        with pytest.raises(ConflictError) as caught:
            await client.responses.delete(first.id)
        assert caught.value.code == "response_in_use"
        assert (await client.responses.retrieve(first.id)).output_text == "Hello Alice."
        await client.responses.delete(second.id)
        assert not await made.engine.sessions.store.all()
        for gone in (first, second):
            with pytest.raises(NotFoundError):
                await client.responses.retrieve(gone.id)
            with pytest.raises(NotFoundError):
                await client.responses.delete(gone.id)


async def test_an_answer_that_is_still_made_and_one_that_was_cut_short(tmp_path: Path) -> None:
    reply = Turn(Text("One two three four five"), faults=[stall(at=6)])
    async with served(tmp_path, [reply]) as (client, _), within():
        stream = await client.responses.create(model=MODEL, input="Count", stream=True)
        async for event in stream:
            if event.type == "response.created":
                answer = event.response.id
            if event.type == "response.output_text.delta":
                break
        assert (await client.responses.retrieve(answer)).status == "in_progress"
        with pytest.raises(ConflictError):
            await client.responses.delete(answer)
        await stream.close()
        got = await client.responses.retrieve(answer)
        while got.status == "in_progress":  # a client can only ask again
            got = await client.responses.retrieve(answer)
        assert got.status == "cancelled"
        assert got.output_text.startswith("One")
        Response.model_validate(got.to_dict())


async def test_an_answer_whose_server_was_killed_was_cut_short(tmp_path: Path) -> None:
    async with served(tmp_path, [Turn(Text("One two"))]) as (client, made):
        answer = (await client.responses.create(model=MODEL, input="Count")).id
        file = made.engine.database.path
    with contextlib.closing(sqlite3.connect(file)) as db:  # as a killed program leaves it
        db.execute("DELETE FROM transcript WHERE body LIKE '%turn_complete%'")
        db.execute("UPDATE turns SET reason = NULL, ended = NULL")
        db.commit()
    async with served(tmp_path, []) as (client, _):
        got = await client.responses.retrieve(answer)
    assert (got.status, got.output_text) == ("cancelled", "One two")
    assert got.output[-1].status == "completed"


async def test_chats_of_the_person_are_no_answers(tmp_path: Path) -> None:
    """A client with a token neither reads nor deletes what was not asked through the server."""
    async with served(tmp_path, [Turn(Text("Secret."))]) as (client, made):
        session = await made.session("Plain")
        await say(session, "Psst")
        answer = f"resp_{session.info.id}{session.transcript.turn_id}"
        for asking in (client.responses.retrieve, client.responses.delete):
            with pytest.raises(NotFoundError):
                await asking(answer)
        with pytest.raises(APIStatusError) as caught:
            await client.responses.create(model=MODEL, input="Hi", previous_response_id=answer)
        assert caught.value.code == "previous_response_not_found"
        assert await made.engine.sessions.store.get(session.info.id)


async def test_tokens_are_counted(tmp_path: Path) -> None:
    async with served(tmp_path, [Turn(Text("Hello."))]) as (client, made):
        count = client.responses.input_tokens.count
        short = await count(model=MODEL, input="Hi")
        longer = await count(
            model=MODEL, input="Hi there", instructions="Be kind.", tools=[WEATHER]
        )
        assert 0 < short.input_tokens < longer.input_tokens
        assert short.object == "response.input_tokens"
        with pytest.raises(BadRequestError) as earlier:
            await count(model=MODEL, input="Hi", previous_response_id=f"resp_{'0' * 64}")
        assert earlier.value.param == "previous_response_id"
        with pytest.raises(NotFoundError):
            await count(model="agent/Nobody", input="Hi")
        assert not made.asked


@pytest.mark.parametrize("stream", [False, True])
async def test_the_tool_runner_of_openais_library(tmp_path: Path, stream: bool) -> None:
    async def weather(arguments: dict[str, object]) -> str:
        return f"{arguments['city']}: sunny"

    script = [Turn(Text("I look."), Call("weather", {"city": "Rome"})), Turn(Text("Sunny."))]
    async with served(tmp_path, script) as (client, made):
        runner = AsyncResponsesToolRunner(functions=[AsyncRegisteredFunction(WEATHER, weather)])
        response = await runner.run(
            client, {"model": MODEL, "input": "Rome?"}, max_steps=3, stream=stream
        )
        assert response.output_text == "Sunny."
        assert "Rome: sunny" in json.dumps(made.asked[-1].json)


async def test_what_cannot_be_answered(tmp_path: Path) -> None:
    async with served(tmp_path, [Turn(Text("Hello."))]) as (client, made):
        with pytest.raises(NotFoundError) as unknown:
            await client.responses.create(model="agent/Nobody", input="Hi")
        assert unknown.value.code == "model_not_found"
        with pytest.raises(BadRequestError) as hosted:
            await client.responses.create(
                model=MODEL, input="Hi", tool_choice={"type": "web_search_preview"}
            )
        assert hosted.value.param == "tool_choice.type"
        with pytest.raises(APIStatusError) as earlier:
            await client.responses.create(
                model=MODEL, input="Hi", previous_response_id=f"resp_{'0' * 64}"
            )
        assert earlier.value.code == "previous_response_not_found"
        assert not made.asked


@pytest.mark.parametrize("stream", [True, False])
async def test_an_answer_that_is_not_to_be_stored_cannot_be_asked_for(
    tmp_path: Path, stream: bool
) -> None:
    """The person's setting keeps the chat; the client's wish keeps the answer from clients."""
    async with served(tmp_path, lambda view: Turn(Text("Hello."))) as (client, made):
        if stream:
            async with client.responses.stream(model=MODEL, input="Hi", store=False) as answer:
                got = await answer.get_final_response()
        else:
            got = await client.responses.create(model=MODEL, input="Hi", store=False)
        assert got.store is False and got.output_text == "Hello."
        for asking in (client.responses.retrieve, client.responses.delete):
            with pytest.raises(NotFoundError):
                await asking(got.id)
        with pytest.raises(BadRequestError) as caught:
            await client.responses.create(model=MODEL, input="On", previous_response_id=got.id)
        assert caught.value.code == "previous_response_not_found"
        (info,) = await made.engine.sessions.list()
        place = (await made.engine.sessions.open(info.id)).transcript.turn_id
        assert info.id not in got.id and place not in got.id
        said: Any = [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": got.output_text},
            {"role": "user", "content": "On"},
        ]
        await client.responses.create(model=MODEL, input=said, store=False)
        assert len(await made.engine.sessions.list()) == 1  # it goes on where it was
