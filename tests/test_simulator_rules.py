"""H-3, H-5: what a provider refuses, the simulator refuses, in the provider's own words."""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import pytest

from studio.providers.simulator import Call, Simulator, SurfaceName, Text, Think, Turn

Body = dict[str, Any]
HEADERS = {
    "authorization": "Bearer sk-simulated",
    "x-goog-api-key": "simulated",
    "anthropic-version": "2026-10-21",
}
PATHS: dict[SurfaceName, str] = {
    "anthropic": "/v1/messages",
    "responses": "/v1/responses",
    "chat": "/v1/chat/completions",
    "gemini": "/v1beta/models/MODEL:generateContent",
    "ollama": "/api/chat",
}


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(trust_env=False, verify=False) as client:
        yield client


async def post(
    http: httpx2.AsyncClient, sim: Simulator, surface: SurfaceName, body: Body
) -> tuple[int, Body]:
    path = PATHS[surface].replace("MODEL", str(body.get("model", "sim-gemini-25")))
    sent = {key: value for key, value in body.items() if surface != "gemini" or key != "model"}
    url = f"http://127.0.0.1:{sim.port}{path}"
    response = await http.post(url, json=sent, headers=HEADERS)
    return response.status_code, response.json()


def message_of(surface: SurfaceName, body: Body) -> str:
    return body["error"] if surface == "ollama" else body["error"]["message"]


def claude(*messages: Body, **more: Any) -> Body:
    return {"model": "claude-opus-5-5", "max_tokens": 100, "messages": list(messages), **more}


def user(*content: Any) -> Body:
    return {"role": "user", "content": list(content)}


def assistant(*content: Any) -> Body:
    return {"role": "assistant", "content": list(content)}


def said(text: str) -> Body:
    return {"type": "text", "text": text}


def use(id_: str) -> Body:
    return {"type": "tool_use", "id": id_, "name": "read", "input": {"path": id_}}


def result(id_: str) -> Body:
    return {"type": "tool_result", "tool_use_id": id_, "content": "ok"}


HI = user(said("Hi"))
MARKED = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
WITHOUT = (
    "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: {}. "
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)
UNEXPECTED = (
    "messages.{}: unexpected `tool_use_id` found in `tool_result` blocks: {}. Each `tool_result` "
    "block must have a corresponding `tool_use` block in the previous message."
)
ANTHROPIC: dict[str, tuple[Body, str]] = {
    "missing": (claude(HI, assistant(use("t1"))), WITHOUT.format("t1")),
    "one of two missing": (
        claude(HI, assistant(use("t1"), use("t2")), user(result("t2"))),
        WITHOUT.format("t1"),
    ),
    "both missing": (
        claude(HI, assistant(use("t1"), use("t2")), user(said("go on"))),
        WITHOUT.format("t1, t2"),
    ),
    "after other words": (
        claude(HI, assistant(use("t1")), user(said("so"), result("t1"))),
        WITHOUT.format("t1"),
    ),
    "one turn late": (
        claude(HI, assistant(use("t1")), HI, assistant(said("x")), user(result("t1"))),
        WITHOUT.format("t1"),
    ),
    "foreign": (
        claude(HI, assistant(use("t1")), user(result("t1"), result("t9"))),
        UNEXPECTED.format("2.content.1", "t9"),
    ),
    "unasked": (claude(user(result("t1"))), UNEXPECTED.format("0.content.0", "t1")),
    "resent from an earlier step (H-3)": (
        claude(
            HI,
            assistant(use("t1")),
            user(result("t1")),
            assistant(use("t2")),
            user(result("t1"), result("t2")),
        ),
        UNEXPECTED.format("4.content.0", "t1"),
    ),
    "twice": (
        claude(HI, assistant(use("t1")), user(result("t1"), result("t1"))),
        "messages.2.content.1: each tool_use must have a single result. Found multiple "
        "`tool_result` blocks with id: t1",
    ),
    "same id": (
        claude(HI, assistant(use("t1"), use("t1")), user(result("t1"))),
        "messages.1.content.1: `tool_use` ids must be unique",
    ),
    "in assistant": (
        claude(HI, assistant(result("t1"))),
        "messages.1: `tool_result` blocks can only be in `user` messages",
    ),
    "empty text": (claude(user(said(""))), "messages: text content blocks must be non-empty"),
    "blank text": (
        claude(user(said(" \n"))),
        "messages: text content blocks must contain non-whitespace text",
    ),
    "empty content": (
        claude(HI, assistant(), HI),
        "messages.1: all messages must have non-empty content except for the optional final "
        "assistant message",
    ),
    "trailing whitespace": (
        claude(HI, assistant(said("Sure: ")), model="claude-haiku-4-5-20251001"),
        "messages: final assistant content cannot end with trailing whitespace",
    ),
    "prefill": (
        claude(HI, assistant(said("Sure:"))),
        "This model does not support assistant message prefill. The conversation must end with a "
        "user message.",
    ),
    "cache marks": (
        claude(user(*[MARKED] * 4), system=[MARKED]),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "sampling": (
        claude(HI, temperature=0.5),
        "temperature: sampling parameters are not supported in version 2026-10-21",
    ),
    "no limit": (
        {"model": "claude-opus-5-5", "messages": [HI]},
        "max_tokens: Field required",
    ),
    "no messages": (claude(), "messages: at least one message is required"),
    "two tools of one name": (
        claude(HI, tools=[{"name": "read"}, {"name": "read"}]),
        "tools: Tool names must be unique.",
    ),
    "unknown role": (
        claude({"role": "tool", "content": "x"}),
        'messages: Unexpected role "tool". Allowed roles are "user" or "assistant".',
    ),
    "call of the user": (
        claude(user(use("t1"))),
        "messages.0: `tool_use` blocks can only be in `assistant` messages",
    ),
    "input as text": (
        claude(HI, assistant({**use("t1"), "input": "{}"}), user(result("t1"))),
        "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
    ),
    "citations of the user": (
        claude(user({**said("Hi"), "citations": [{"type": "char_location"}]})),
        "messages.0.content.0.citations: not supported on user text",
    ),
    "empty text in a result": (
        claude(HI, assistant(use("t1")), user({**result("t1"), "content": [said("")]})),
        "messages: text content blocks must be non-empty",
    ),
    "document of the assistant": (
        claude(HI, assistant({"type": "document"}), HI),
        "messages.1.content.0: document blocks are not allowed here",
    ),
    "foreign signature": (
        claude(
            HI,
            assistant({"type": "thinking", "thinking": "hm", "signature": "AAAA"}, said("x")),
            HI,
        ),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
}


def chat(*messages: Body) -> Body:
    return {"model": "gpt-4o", "messages": list(messages)}


def calling(*ids: str) -> Body:
    function = {"name": "read", "arguments": "{}"}
    calls = [{"id": id_, "type": "function", "function": function} for id_ in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def tool(id_: str, content: Any = "ok") -> Body:
    return {"role": "tool", "tool_call_id": id_, "content": content}


ASK = {"role": "user", "content": "Hi"}
UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
    "'tool_call_id'. The following tool_call_ids did not have response messages: "
)
UNASKED = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
    "'tool_calls'."
)
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
CHAT: dict[str, tuple[Body, str]] = {
    "missing": (chat(ASK, calling("c1")), UNANSWERED + "c1"),
    "one of two missing": (chat(ASK, calling("c1", "c2"), tool("c1"), ASK), UNANSWERED + "c2"),
    "words between": (
        chat(ASK, calling("c1", "c2"), tool("c1"), ASK, tool("c2")),
        UNANSWERED + "c2",
    ),
    "unasked": (chat(ASK, tool("c1")), UNASKED),
    "after words": (chat(ASK, calling("c1"), tool("c1"), ASK, tool("c1")), UNASKED),
    "foreign": (
        chat(ASK, calling("c1"), tool("c9")),
        "Invalid parameter: 'tool_call_id' of 'c9' not found in 'tool_calls' of previous message.",
    ),
    "twice": (
        chat(ASK, calling("c1"), tool("c1"), tool("c1")),
        "Invalid parameter: 'tool_call_id' of 'c1' not found in 'tool_calls' of previous message.",
    ),
    "no content": (
        chat(ASK, {"role": "assistant", "content": None}, ASK),
        "Invalid value for 'content': expected a string, got null.",
    ),
    "no calls": (
        chat(ASK, {"role": "assistant", "content": "x", "tool_calls": []}, ASK),
        "Invalid 'messages[1].tool_calls': empty array. Expected an array with minimum length 1, "
        "but got an empty array instead.",
    ),
    "no messages": (
        chat(),
        "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an "
        "empty array instead.",
    ),
    "unknown role": (
        chat({"role": "model", "content": "x"}),
        "Invalid value: 'model'. Supported values are: 'system', 'assistant', 'user', 'function', "
        "'tool', and 'developer'.",
    ),
    "arguments as an object": (
        chat(
            ASK,
            {
                "role": "assistant",
                "tool_calls": [{"id": "c1", "function": {"name": "read", "arguments": {}}}],
            },
            tool("c1"),
        ),
        "Invalid type for 'messages[1].tool_calls[0].function.arguments': expected a string, but "
        "got an object instead.",
    ),
    "picture in a result": (
        chat(ASK, calling("c1"), tool("c1", [PICTURE])),
        "Invalid 'messages[2]'. Image URLs are only allowed for messages with role 'user', but "
        "this message with role 'tool' contains an image URL.",
    ),
    "unknown part": (
        chat({"role": "user", "content": [{"type": "document"}]}),
        "Invalid 'messages[0]'. Content blocks are expected to be either text or image_url type.",
    ),
}


def inputs(*items: Body, **more: Any) -> Body:
    return {"model": "gpt-5.6", "store": False, "input": list(items), **more}


def fc(call_id: str, **more: Any) -> Body:
    call = {"type": "function_call", "call_id": call_id, "name": "read", "arguments": "{}"}
    return {**call, **more}


def out(call_id: str) -> Body:
    return {"type": "function_call_output", "call_id": call_id, "output": "ok"}


RESPONSES: dict[str, tuple[Body, str]] = {
    "missing": (inputs(ASK, fc("c1")), "No tool output found for function call c1."),
    "one of two missing": (
        inputs(ASK, fc("c1"), fc("c2"), out("c1")),
        "No tool output found for function call c2.",
    ),
    "foreign": (
        inputs(ASK, fc("c1"), out("c1"), out("c9")),
        "No tool call found for function call output with call_id c9.",
    ),
    "same item twice": (
        inputs(ASK, fc("c1", id="fc_1"), fc("c1", id="fc_1"), out("c1")),
        "Duplicate item found with id fc_1. Remove duplicate items from your input and try again.",
    ),
    "made-up id": (
        inputs(ASK, fc("c1", id="x1"), out("c1")),
        "Invalid 'input[1].id': 'x1'. Expected an ID that begins with 'fc'.",
    ),
    "not stored": (
        inputs(ASK, {"type": "reasoning", "id": "rs_1", "summary": []}, fc("c1"), out("c1")),
        "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false. Try "
        "again with `store` set to true, or remove this item from your input.",
    ),
    "answers twice": (
        inputs(ASK, fc("c1"), out("c1"), out("c1")),
        "Duplicate item found with id c1.",
    ),
    "nothing": (inputs(), "Missing required parameter: 'input'."),
    "small limit": (
        inputs(ASK, max_output_tokens=1),
        "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got "
        "1 instead.",
    ),
    "an earlier response": (
        inputs(ASK, previous_response_id="resp_1"),
        "Previous response with id 'resp_1' not found.",
    ),
    "arguments as an object": (
        inputs(ASK, fc("c1", arguments={}), out("c1")),
        "Invalid type for 'input[1].arguments': expected a string, but got an object instead.",
    ),
    "the user's part for an assistant": (
        inputs(ASK, {"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}),
        "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
    ),
    "chat's tools": (
        inputs(ASK, tools=[{"type": "function", "function": {"name": "read"}}]),
        "Missing required parameter: 'tools[0].name'.",
    ),
}


def contents(*rows: tuple[str, list[Body]], model: str = "sim-gemini-25") -> Body:
    return {"model": model, "contents": [{"role": r, "parts": parts} for r, parts in rows]}


def gcall(name: str = "read", **more: Any) -> Body:
    return {"functionCall": {"name": name, "args": {}, **more}}


def gresult(name: str = "read", **more: Any) -> Body:
    return {"functionResponse": {"name": name, "response": {"output": "ok"}, **more}}


WORDS = ("user", [{"text": "Hi"}])
EQUAL = (
    "Please ensure that the number of function response parts is equal to the number of function "
    "call parts of the function call turn."
)
GEMINI: dict[str, tuple[Body, str]] = {
    "missing": (contents(WORDS, ("model", [gcall()])), EQUAL),
    "one of two missing (H-4)": (
        contents(WORDS, ("model", [gcall(), gcall()]), ("user", [gresult()])),
        EQUAL,
    ),
    "one too many": (
        contents(WORDS, ("model", [gcall()]), ("user", [gresult(), gresult()])),
        EQUAL,
    ),
    "foreign name": (
        contents(WORDS, ("model", [gcall()]), ("user", [gresult("write")])),
        EQUAL,
    ),
    "result of the model": (
        contents(WORDS, ("model", [gcall(), gresult()])),
        "Please ensure that function response turn comes immediately after a function call turn.",
    ),
    "foreign id": (
        contents(WORDS, ("model", [gcall(id="f1")]), ("user", [gresult(id="f2")])),
        EQUAL,
    ),
    "call first": (
        contents(("model", [gcall()]), ("user", [gresult()])),
        "Please ensure that function call turn comes immediately after a user turn or after a "
        "function response turn.",
    ),
    "unasked": (
        contents(WORDS, ("model", [{"text": "x"}]), ("user", [gresult()])),
        "Please ensure that function response turn comes immediately after a function call turn.",
    ),
    "call of the user": (
        contents(("user", [gcall()])),
        "Please ensure that function call turn comes immediately after a user turn or after a "
        "function response turn.",
    ),
    "nothing": (
        contents(),
        "* GenerateContentRequest.contents: contents is not specified\n",
    ),
    "unknown role": (
        contents(("assistant", [{"text": "x"}])),
        "Please use a valid role: user, model.",
    ),
    "part without data": (
        contents(("user", [{"thought": True}])),
        "* GenerateContentRequest.contents[0].parts[0].data: required oneof field 'data' must have "
        "one initialized field\n",
    ),
    "no parts": (
        contents(WORDS, ("model", []), WORDS),
        "Unable to submit request because it must include at least one parts field, which "
        "describes the prompt input.",
    ),
    "no signature": (
        contents(WORDS, ("model", [gcall()]), ("user", [gresult()]), model="sim-gemini-3"),
        "Function call is missing a thought_signature in functionCall parts. This is required for "
        "tools to work correctly, and missing thought_signature may lead to degraded model "
        "performance. Additional data, function call `default_api:read` , position 2. Please refer "
        "to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
    ),
}

OLLAMA: dict[str, tuple[Body, str]] = {
    "no model": ({"messages": [ASK]}, "model is required"),
    "unknown role": (
        {"model": "m", "messages": [{"role": "model", "content": "x"}]},
        "invalid role: 'model'",
    ),
    "parts": (
        {"model": "m", "messages": [{"role": "user", "content": [said("x")]}]},
        "json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type "
        "string",
    ),
    "arguments as text": (
        {"model": "m", "messages": [ASK, calling("c1"), tool("c1")]},
        "json: cannot unmarshal string into Go struct field "
        "ToolCallFunction.messages.tool_calls.function.arguments of type "
        "api.ToolCallFunctionArguments",
    ),
}

BROKEN: dict[SurfaceName, dict[str, tuple[Body, str]]] = {
    "anthropic": ANTHROPIC,
    "chat": CHAT,
    "responses": RESPONSES,
    "gemini": GEMINI,
    "ollama": OLLAMA,
}


@pytest.mark.parametrize(
    ("surface", "case"), [(name, case) for name, cases in BROKEN.items() for case in cases]
)
async def test_broken_histories_are_refused(
    http: httpx2.AsyncClient, surface: SurfaceName, case: str
) -> None:
    body, message = BROKEN[surface][case]
    async with Simulator([Turn(Text("Should not come."))]) as sim:
        status, answer = await post(http, sim, surface, body)
        assert message_of(surface, answer) == message
        assert status == (404 if "not found. Items" in message else 400)
        assert [violation.message for violation in sim.violations] == [message]


GOOD: list[tuple[SurfaceName, Body]] = [
    ("anthropic", claude(HI, assistant(use("t1"), use("t2")), user(result("t2"), result("t1")))),
    ("anthropic", claude(HI, assistant(use("t1")), user(result("t1")), user(said("and")))),
    (
        "anthropic",
        claude(
            HI,
            assistant(use("t1")),
            user(result("t1")),
            {"role": "system", "content": "Be brief."},
            model="demo-tools",
        ),
    ),
    # An id may come again in a later turn that has its own result.
    (
        "anthropic",
        claude(HI, assistant(use("t")), user(result("t")), assistant(use("t")), user(result("t"))),
    ),
    ("chat", chat(ASK, calling("c1", "c2"), tool("c2"), tool("c1"))),
    ("responses", inputs(ASK, fc("c1"), fc("c2"), out("c2"), ASK, out("c1"))),
    (
        "gemini",
        contents(WORDS, ("model", [gcall()]), ("model", [gcall()]), ("user", [gresult()] * 2)),
    ),
    (
        "gemini",
        contents(
            WORDS,
            ("model", [{**gcall(), "thoughtSignature": "skip_thought_signature_validator"}]),
            ("user", [gresult()]),
            model="sim-gemini-3",
        ),
    ),
    ("ollama", {"model": "demo-fast", "stream": False, "messages": [ASK]}),
]


@pytest.mark.parametrize(("surface", "body"), GOOD)
async def test_unusual_but_good_histories_pass(
    http: httpx2.AsyncClient, surface: SurfaceName, body: Body
) -> None:
    async with Simulator([Turn(Text("Fine."))]) as sim:
        status, answer = await post(http, sim, surface, body)
        assert (status, sim.violations) == (200, []), answer


async def test_warn_records_and_answers(http: httpx2.AsyncClient) -> None:
    async with Simulator([Turn(Text("Fine."))], strict="warn") as sim:
        status, _ = await post(http, sim, "chat", chat(ASK, tool("c1")))
        assert status == 200
        assert [violation.rule for violation in sim.violations] == ["pairing"]


async def test_house_rules_pair_on_ollama(http: httpx2.AsyncClient) -> None:
    """H-3: Ollama itself takes anything."""
    call = {"function": {"name": "read", "arguments": {}}}
    reply = {"role": "assistant", "content": "", "tool_calls": [call, call]}
    answer = {"role": "tool", "tool_name": "read", "content": "ok"}
    rows: list[tuple[list[Body], str]] = [
        ([answer], "house rule: calls without results: read"),
        ([answer] * 3, "house rule: no open call for a result of 'read'"),
        ([answer, {**answer, "tool_name": "x"}], "house rule: no open call for a result of 'x'"),
    ]
    both = {**reply, "tool_calls": [call, {"function": {"name": "write", "arguments": {}}}]}
    wrong = [ASK, both, {**answer, "tool_name": "write"}, answer]
    async with Simulator([Turn(Text("Fine."))], strict="beyond") as sim:
        status, refused = await post(http, sim, "ollama", {"model": "m", "messages": wrong})
        assert "call order" in message_of("ollama", refused)
        for results, message in rows:
            messages = [ASK, reply, *results]
            body: Body = {"model": "m", "messages": messages}
            status, refused = await post(http, sim, "ollama", body)
            assert (status, message_of("ollama", refused)) == (400, message)


async def test_house_rules_want_call_order(http: httpx2.AsyncClient) -> None:
    async with Simulator([Turn(Text("Fine."))], strict="beyond") as sim:
        backwards = contents(
            WORDS,
            ("model", [gcall(id="f1"), gcall(id="f2")]),
            ("user", [gresult(id="f2"), gresult(id="f1")]),
        )
        for surface, body in (GOOD[0], GOOD[4], ("gemini", backwards)):
            status, answer = await post(http, sim, surface, body)
            assert status == 400
            assert "call order" in message_of(surface, answer)


THINKING = [Turn(Think("Let me see."), Call("read", {"path": "a"})), Turn(Text("Done."))]


async def thought(
    http: httpx2.AsyncClient, sim: Simulator, surface: SurfaceName, body: Body
) -> Body:
    status, answer = await post(http, sim, surface, body)
    assert status == 200, answer
    return answer


Change = Callable[[Body], None]


def drop_system(body: Body) -> None:
    body["system"] = "other"


def change_words(body: Body) -> None:
    body["messages"][0]["content"] = "Hello"


def change_thought(body: Body) -> None:
    body["messages"][1]["content"][0]["thinking"] += "!"


def mark_cache(body: Body) -> None:
    """Cache marks are no part of what a signature covers."""
    body["messages"][0]["content"] = [{**said("Hi"), "cache_control": {"type": "ephemeral"}}]


@pytest.mark.parametrize(
    ("model", "change", "message"),
    [
        ("sim-preserved-1", drop_system, "The block is bound to a different conversation"),
        ("claude-opus-5-5", change_words, "The block is bound to a different conversation"),
        ("sim-preserved-1", change_thought, "Invalid `signature` in `thinking` block"),
        ("demo-thinker", change_thought, "Invalid `signature` in `thinking` block"),
        ("demo-thinker", change_words, None),
        ("sim-preserved-1", mark_cache, None),
    ],
)
async def test_thinking_is_bound_to_what_came_before(
    http: httpx2.AsyncClient, model: str, change: Change, message: str | None
) -> None:
    async with Simulator(THINKING) as sim:
        body = claude({"role": "user", "content": "Hi"}, model=model, system="Be brief.")
        reply = await thought(http, sim, "anthropic", body)
        call = reply["content"][1]["id"]
        body["messages"] += [assistant(*reply["content"]), user(result(call))]
        change(body)
        status, answer = await post(http, sim, "anthropic", body)
        if message is None:
            assert status == 200, answer
        else:
            assert (status, len(sim.violations)) == (400, 1)
            assert message in message_of("anthropic", answer)


async def test_reasoning_items_come_back_whole(http: httpx2.AsyncClient) -> None:
    async with Simulator(THINKING) as sim:
        body = inputs(ASK)
        items = (await thought(http, sim, "responses", body))["output"]
        reasoning, call = items
        answer_to = out(call["call_id"])

        async def refusal(*rest: Body) -> str:
            status, answer = await post(http, sim, "responses", inputs(ASK, *rest))
            assert status == 400
            return message_of("responses", answer)

        assert await refusal(call, answer_to) == (
            f"Item '{call['id']}' of type 'function_call' was provided without its required "
            f"'reasoning' item: '{reasoning['id']}'."
        )
        following = (
            f"Item '{reasoning['id']}' of type 'reasoning' was provided without its required "
            "following item."
        )
        assert await refusal(reasoning) == following
        assert await refusal(reasoning, {"role": "assistant", "content": "x"}) == following
        damaged = {**reasoning, "encrypted_content": "AAAA" + reasoning["encrypted_content"][4:]}
        assert "could not be verified" in await refusal(damaged, call, answer_to)
        # The call may lack its id.
        bare = {key: value for key, value in call.items() if key not in ("id", "status")}
        await thought(http, sim, "responses", inputs(ASK, reasoning, bare, answer_to))


async def test_house_rules_want_one_message_a_turn(http: httpx2.AsyncClient) -> None:
    async with Simulator([Turn(Text("Fine."))], strict="beyond") as sim:
        status, answer = await post(http, sim, "anthropic", claude(HI, HI))
        assert (status, "consecutive user" in message_of("anthropic", answer)) == (400, True)


async def test_reasoning_cut_at_the_limit_cannot_come_back(http: httpx2.AsyncClient) -> None:
    async with Simulator([Turn(Think("Hm."), stop="max_tokens")]) as sim:
        (reasoning,) = (await thought(http, sim, "responses", inputs(ASK)))["output"]
        status, answer = await post(http, sim, "responses", inputs(ASK, reasoning, ASK))
        assert status == 400
        assert "required following item" in message_of("responses", answer)


async def test_a_message_keeps_its_id_after_reasoning(http: httpx2.AsyncClient) -> None:
    async with Simulator([Turn(Think("Hm."), Text("Yes."))] * 2) as sim:
        reasoning, message = (await thought(http, sim, "responses", inputs(ASK)))["output"]
        bare = {key: value for key, value in message.items() if key != "id"}
        status, answer = await post(http, sim, "responses", inputs(ASK, reasoning, bare, ASK))
        assert status == 400
        assert "required following item" in message_of("responses", answer)
        await thought(http, sim, "responses", inputs(ASK, reasoning, message, ASK))


async def test_encrypted_content_differs_by_stage(http: httpx2.AsyncClient) -> None:
    """Only what comes with ``done`` and ``completed`` may be sent back."""
    async with Simulator(THINKING * 2) as sim:
        url = f"{sim.url('responses')}/responses"
        response = await http.post(url, json={**inputs(ASK), "stream": True}, headers=HEADERS)
        rows = [line[6:] for line in response.text.splitlines() if line.startswith("data: ")]
        events = [json.loads(row) for row in rows]
        stages = {
            kind: next(e for e in events if e["type"] == f"response.{kind}")
            for kind in ("output_item.added", "output_item.done", "completed")
        }
        call = stages["completed"]["response"]["output"][1]
        items = [
            stages["output_item.added"]["item"],
            stages["output_item.done"]["item"],
            stages["completed"]["response"]["output"][0],
        ]
        assert len({item["encrypted_content"] for item in items}) == 3
        rest = (call, out(call["call_id"]))
        status, _ = await post(http, sim, "responses", inputs(ASK, items[0], *rest))
        assert status == 400
        for item in items[1:]:
            await thought(http, sim, "responses", inputs(ASK, item, *rest))


async def test_gemini_checks_signatures_of_this_turn(http: httpx2.AsyncClient) -> None:
    parallel = Turn(Call("read", {"path": "a"}), Call("read", {"path": "b"}))
    async with Simulator([parallel, Turn(Text("Done.")), Turn(Text("Done."))]) as sim:
        body = contents(WORDS, model="sim-gemini-3")
        reply = await thought(http, sim, "gemini", body)
        parts = reply["candidates"][0]["content"]["parts"]
        assert ["thoughtSignature" in part for part in parts] == [True, False]
        results = [gresult(id=part["functionCall"]["id"]) for part in parts]

        def following(model_parts: list[Body], *more: tuple[str, list[Body]]) -> Body:
            rows = (WORDS, ("model", model_parts), ("user", results), *more)
            return contents(*rows, model="sim-gemini-3")

        changed = copy.deepcopy(parts)
        changed[0]["functionCall"]["args"] = {"path": "z"}
        status, answer = await post(http, sim, "gemini", following(changed))
        assert (status, message_of("gemini", answer)) == (400, "Corrupted thought signature.")
        # Either base64 alphabet will do.
        safe = copy.deepcopy(parts)
        signature = safe[0]["thoughtSignature"]
        safe[0]["thoughtSignature"] = signature.replace("+", "-").replace("/", "_")
        await thought(http, sim, "gemini", following(safe))
        # An earlier turn is not checked any more.
        bare = [{"functionCall": part["functionCall"]} for part in parts]
        await thought(http, sim, "gemini", following(bare, ("model", [{"text": "x"}]), WORDS))
