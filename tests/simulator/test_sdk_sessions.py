"""Each official SDK leads a session of three steps with parallel calls, however bytes arrive."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from google import genai
from google.genai import types

from studio.simulator import (
    Call,
    RequestView,
    Returned,
    Simulator,
    Text,
    Think,
    Turn,
    every,
    framing,
    scattered,
)

CHUNKINGS: dict[str, Any] = {
    "whole": "whole",
    "event": "event",
    "every 1": every(1),
    "every 7": every(7),
    "scattered": scattered(40, seed=3),
    "adversarial": "adversarial",
}
KEY = "sk-simulated"
ASKED = "What is in a.txt and b.txt? – “Grüße” 🦉"
READ = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
FILES = {"a.txt": "alpha – «α»", "b.txt": 'beta\n"β"'}


def results_are(*wanted: str) -> Any:
    """H-3, H-4: the newest results, in call order, one for each call."""

    def check(request: RequestView) -> bool:
        found = [item.text for item in request.results]
        return found == list(wanted) and all(item.name == "read" for item in request.results)

    return check


def offers_read(request: RequestView) -> bool:
    return request.tool_names == ["read"] and request.last_user == ASKED


SCRIPT = [
    Turn(
        Think("Two files: I'll read both."),
        Text("I'll look – «moment» …"),
        Call("read", {"path": "a.txt"}),
        Call("read", {"path": "b.txt"}),
        expect=offers_read,
    ),
    Turn(
        Think("Once more."),
        Call("read", {"path": "a.txt"}),
        expect=results_are(*FILES.values()),
    ),
    Turn(Text("Both say hello – «ναι» 🦉"), expect=results_are(FILES["a.txt"])),
]


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(trust_env=False, verify=False) as client:
        yield client


async def anthropic_session(sim: Simulator, http: httpx2.AsyncClient, model: str) -> Any:
    client = anthropic.AsyncAnthropic(
        api_key=KEY, base_url=sim.url("anthropic"), max_retries=0, http_client=http
    )
    history: list[Any] = [{"role": "user", "content": ASKED}]
    said = ""
    for _ in range(3):
        async with client.messages.stream(
            model=model,
            max_tokens=1000,
            messages=history,
            tools=[{"name": "read", "input_schema": READ}],
        ) as stream:
            message = await stream.get_final_message()
        history.append({"role": "assistant", "content": [b.to_dict() for b in message.content]})
        calls = [block for block in message.content if block.type == "tool_use"]
        said = "".join(block.text for block in message.content if block.type == "text")
        if not calls:
            break
        assert message.stop_reason == "tool_use"
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": FILES[call.input["path"]]}
            for call in calls
        ]
        history.append({"role": "user", "content": results})
    assert said == "Both say hello – «ναι» 🦉"
    return history


async def responses_session(sim: Simulator, http: httpx2.AsyncClient, model: str) -> Any:
    client = openai.AsyncOpenAI(
        api_key=KEY, base_url=sim.url("responses"), max_retries=0, http_client=http
    )
    items: list[Any] = [{"role": "user", "content": ASKED}]
    said = ""
    for _ in range(3):
        done: list[Any] = []
        stream = await client.responses.create(
            model=model,
            input=items,
            store=False,
            stream=True,
            tools=[{"type": "function", "name": "read", "parameters": READ, "strict": False}],
        )
        async for event in stream:
            if event.type == "response.output_item.done":
                done.append(event.item.to_dict())
        items += done
        calls = [item for item in done if item["type"] == "function_call"]
        said = "".join(i["content"][0]["text"] for i in done if i["type"] == "message")
        items += [
            {
                "type": "function_call_output",
                "call_id": call["call_id"],
                "output": FILES[json.loads(call["arguments"])["path"]],
            }
            for call in calls
        ]
    assert said == "Both say hello – «ναι» 🦉"
    return items


async def chat_session(sim: Simulator, http: httpx2.AsyncClient, model: str) -> Any:
    client = openai.AsyncOpenAI(
        api_key=KEY, base_url=sim.url("chat"), max_retries=0, http_client=http
    )
    messages: list[Any] = [{"role": "user", "content": ASKED}]
    said = ""
    for _ in range(3):
        said, calls, usage = "", {}, None
        stream = await client.chat.completions.create(
            model=model,
            messages=messages,
            stream=True,
            stream_options={"include_usage": True},
            tools=[{"type": "function", "function": {"name": "read", "parameters": READ}}],
        )
        async for chunk in stream:
            usage = chunk.usage or usage
            for choice in chunk.choices:
                said += choice.delta.content or ""
                for part in choice.delta.tool_calls or []:
                    call = calls.setdefault(
                        part.index, {"id": "", "type": "function", "function": {"arguments": ""}}
                    )
                    call["id"] = part.id or call["id"]
                    assert part.function is not None
                    if part.function.name:
                        call["function"]["name"] = part.function.name
                    call["function"]["arguments"] += part.function.arguments or ""
        assert usage is not None
        reply: dict[str, Any] = {"role": "assistant", "content": said or None}
        if calls:
            reply["tool_calls"] = list(calls.values())
        messages.append(reply)
        messages += [
            {
                "role": "tool",
                "tool_call_id": call["id"],
                "content": FILES[json.loads(call["function"]["arguments"])["path"]],
            }
            for call in calls.values()
        ]
    assert said == "Both say hello – «ναι» 🦉"
    return messages


async def gemini_session(sim: Simulator, http: httpx2.AsyncClient, model: str) -> Any:
    client = genai.Client(
        api_key=KEY,
        enterprise=False,
        http_options=types.HttpOptions(
            base_url=sim.url("gemini"), api_version="v1beta", httpx_async_client=http
        ),
    )
    contents: list[Any] = [{"role": "user", "parts": [{"text": ASKED}]}]
    declaration = types.FunctionDeclaration(name="read", parameters_json_schema=READ)
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[declaration])],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    said = ""
    for _ in range(3):
        parts: list[types.Part] = []
        async for chunk in await client.aio.models.generate_content_stream(
            model=model, contents=contents, config=config
        ):
            for candidate in chunk.candidates or []:
                parts += (candidate.content and candidate.content.parts) or []
        contents.append(types.Content(role="model", parts=parts))
        calls = [part.function_call for part in parts if part.function_call]
        said = "".join(part.text for part in parts if part.text and not part.thought)
        if not calls:
            break
        contents.append(
            types.Content(
                role="user",
                parts=[
                    types.Part(
                        function_response=types.FunctionResponse(
                            id=call.id,
                            name=call.name,
                            response={"output": FILES[(call.args or {})["path"]]},
                        )
                    )
                    for call in calls
                ],
            )
        )
    await client.aio.aclose()
    assert said == "Both say hello – «ναι» 🦉"
    return [_plain(content) for content in contents]


async def ollama_session(sim: Simulator, http: httpx2.AsyncClient, model: str) -> Any:
    messages: list[Any] = [{"role": "user", "content": ASKED}]
    tools = [{"type": "function", "function": {"name": "read", "parameters": READ}}]
    said = ""
    for _ in range(3):
        reply: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": []}
        body = {"model": model, "messages": messages, "tools": tools}
        url = sim.url("ollama") + "/api/chat"
        async with http.stream("POST", url, json=body) as response:
            async for line in response.aiter_lines():
                message = json.loads(line)["message"]
                reply["content"] += message["content"]
                reply["tool_calls"] += message.get("tool_calls", [])
        messages.append(reply)
        said = reply["content"]
        messages += [
            {
                "role": "tool",
                "tool_name": call["function"]["name"],
                "tool_call_id": call["id"],
                "content": FILES[call["function"]["arguments"]["path"]],
            }
            for call in reply["tool_calls"]
        ]
    assert said == "Both say hello – «ναι» 🦉"
    return messages


def _plain(content: Any) -> Any:
    return content.to_json_dict() if isinstance(content, types.Content) else content


Session = Callable[[Simulator, httpx2.AsyncClient, str], Awaitable[Any]]
SESSIONS: list[tuple[Session, str]] = [
    (anthropic_session, "demo-tools"),
    (anthropic_session, "sim-preserved-1"),
    (responses_session, "demo-tools"),
    (chat_session, "demo-tools"),
    (gemini_session, "sim-gemini-3"),
    (gemini_session, "sim-gemini-25"),
    (gemini_session, "sim-gemini-3-mixed"),
    (ollama_session, "demo-tools"),
]


@pytest.mark.parametrize(("session", "model"), SESSIONS)
async def test_a_session_is_the_same_however_its_bytes_arrive(
    http: httpx2.AsyncClient, session: Session, model: str
) -> None:
    """H-8: three steps with parallel calls; what is kept does not depend on the chunking."""
    histories: dict[str, Any] = {}
    for name, chunking in CHUNKINGS.items():
        async with Simulator(SCRIPT, strict="beyond", chunking=chunking) as sim:
            histories[name] = await session(sim, http, model)
            assert sim.violations == []
            assert [exchange.status for exchange in sim.requests] == [200] * 3
    assert all(history == histories["whole"] for history in histories.values()), histories


@pytest.mark.parametrize("kind", ["multiline", "comments", "pings", "other_ends"])
@pytest.mark.parametrize(("session", "model"), [SESSIONS[n] for n in (0, 2, 3)])
async def test_a_session_is_the_same_however_its_events_are_framed(
    http: httpx2.AsyncClient, session: Session, model: str, kind: Any
) -> None:
    """L-6: what the format of server-sent events allows, the SDKs read."""
    script = [Turn(*turn.parts, expect=turn.expect, faults=[framing(kind)]) for turn in SCRIPT]
    async with Simulator(SCRIPT) as sim:
        plain = await session(sim, http, model)
    async with Simulator(script, chunking=every(7)) as sim:
        assert await session(sim, http, model) == plain
        assert sim.violations == []


async def test_whole_replies_too(http: httpx2.AsyncClient) -> None:
    """Without streaming the same turns come as one body."""
    async with Simulator(SCRIPT[:1] * 4) as sim:
        claude = anthropic.AsyncAnthropic(
            api_key=KEY, base_url=sim.url("anthropic"), max_retries=0, http_client=http
        )
        message = await claude.messages.create(
            model="demo-tools",
            max_tokens=100,
            messages=[{"role": "user", "content": ASKED}],
            tools=[{"name": "read", "input_schema": READ}],
        )
        assert [block.type for block in message.content] == [
            "thinking",
            "text",
            "tool_use",
            "tool_use",
        ]
        gpt = openai.AsyncOpenAI(
            api_key=KEY, base_url=sim.url("chat"), max_retries=0, http_client=http
        )
        completion = await gpt.chat.completions.create(
            model="demo-tools",
            messages=[{"role": "user", "content": ASKED}],
            tools=[{"type": "function", "function": {"name": "read", "parameters": READ}}],
        )
        assert len(completion.choices[0].message.tool_calls or []) == 2
        response = await gpt.responses.create(
            model="demo-tools",
            input=ASKED,
            tools=[{"type": "function", "name": "read", "parameters": READ, "strict": False}],
        )
        assert response.output_text == "I'll look – «moment» …"
        assert sim.violations == []


def test_results_carry_the_name_of_their_call() -> None:
    """A script can tell results apart though most wires give only ids."""
    from studio.simulator.request_view import Called, with_result_names

    items = with_result_names([Called("c1", "read", {}), Returned("c1", "", "x")])
    assert items[1] == Returned("c1", "read", "x")
