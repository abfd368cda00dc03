"""Requests that break one rule each, and what the provider says; used by simulator tests."""

from __future__ import annotations

from typing import Any

import httpx2

from studio.simulator import ApiName, Simulator

Body = dict[str, Any]
HEADERS = {
    "authorization": "Bearer sk-simulated",
    "x-goog-api-key": "simulated",
    "anthropic-version": "2026-10-21",
}
PATHS: dict[ApiName, str] = {
    "anthropic": "/v1/messages",
    "responses": "/v1/responses",
    "chat": "/v1/chat/completions",
    "gemini": "/v1beta/models/MODEL:generateContent",
    "ollama": "/api/chat",
}


async def post(
    http: httpx2.AsyncClient,
    sim: Simulator,
    api: ApiName,
    body: Body,
    headers: dict[str, str] | None = None,
) -> tuple[int, Body]:
    path = PATHS[api].replace("MODEL", str(body.get("model", "sim-gemini-25")))
    sent = {key: value for key, value in body.items() if api != "gemini" or key != "model"}
    url = f"http://127.0.0.1:{sim.port}{path}"
    response = await http.post(url, json=sent, headers={**HEADERS, **(headers or {})})
    lines = response.headers["content-type"] == "application/x-ndjson"
    return response.status_code, {} if lines else response.json()


def message_of(api: ApiName, body: Body) -> str:
    return body["error"] if api == "ollama" else body["error"]["message"]


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


def ctc(call_id: str, **more: Any) -> Body:
    call = {"type": "custom_tool_call", "call_id": call_id, "name": "apply_patch", "input": "…"}
    return {**call, **more}


def custom_out(call_id: str) -> Body:
    return {"type": "custom_tool_call_output", "call_id": call_id, "output": "ok"}


RESPONSES: dict[str, tuple[Body, str]] = {
    "missing": (inputs(ASK, fc("c1")), "No tool output found for function call c1."),
    "missing of a custom tool": (
        inputs(ASK, ctc("c1")),
        "No tool output found for custom tool call c1.",
    ),
    "of the other kind": (
        inputs(ASK, ctc("c1"), out("c1")),
        "No tool call found for function call output with call_id c1.",
    ),
    "a custom tool's without its call": (
        inputs(ASK, custom_out("c1")),
        "No tool call found for custom tool call output with call_id c1.",
    ),
    "twice of a custom tool": (
        inputs(ASK, ctc("c1"), custom_out("c1"), custom_out("c1")),
        "Duplicate item found with id c1.",
    ),
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

BROKEN: dict[ApiName, dict[str, tuple[Body, str]]] = {
    "anthropic": ANTHROPIC,
    "chat": CHAT,
    "responses": RESPONSES,
    "gemini": GEMINI,
    "ollama": OLLAMA,
}
