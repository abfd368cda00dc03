"""The rest of the cases: parameters, media, echoes and house rules, one for each rule at least."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

from studio.simulator import ApiName
from studio.simulator.state import Signer
from support.rule_cases import (
    ASK,
    BROKEN,
    HI,
    WORDS,
    Body,
    assistant,
    calling,
    chat,
    claude,
    contents,
    fc,
    gcall,
    gresult,
    inputs,
    out,
    result,
    said,
    tool,
    use,
    user,
)

SIGNER = Signer()
BETA = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}


@dataclass(frozen=True, slots=True)
class Case:
    """A request that is refused, after others that are not; ``words`` are in the answer."""

    api: ApiName
    body: Body
    words: str
    before: tuple[Body, ...] = ()
    headers: dict[str, str] = field(default_factory=dict[str, str])
    house: bool = False


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


PNG = b64(b"\x89PNG\r\n\x1a\n....")
PDF = b64(b"%PDF-1.7 ....")


def source(kind: str, media_type: str, data: str) -> Body:
    return {"type": kind, "source": {"type": "base64", "media_type": media_type, "data": data}}


def answered(*content: Any) -> Body:
    return claude(HI, assistant(use("t1")), user({**result("t1"), "content": list(content)}))


def signed(text: str, model: str, prefix: Any) -> Body:
    signature = SIGNER.sign(text, prefix, stage=model)
    return {"type": "thinking", "thinking": text, "signature": signature}


def thought(model: str, prefix: Any = "elsewhere", **more: Any) -> Body:
    return claude(HI, assistant(signed("hm", model, prefix), said("x")), HI, model=model, **more)


SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [{"type": "web_search_result", "url": "u", "encrypted_content": "AAAA"}],
}
DROP = {"prefix_mismatch_behavior": "drop_block"}
SCHEMA = {"type": "object", "properties": {}}

_ANTHROPIC: list[tuple[Body, str]] = [
    (claude(HI, max_tokens="9"), "max_tokens: Input should be a valid integer"),
    (claude(HI, max_tokens=-1), "max_tokens: Input should be greater than or equal to 0"),
    (claude(HI, max_tokens=128_001), "max_tokens: 128001 > 128000, which is the maximum"),
    (claude(HI, top_p=0.5), "top_p: sampling parameters are not supported"),
    (
        claude(HI, output_config={"effort": "huge"}),
        "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
    ),
    (
        claude(HI, output_config={"effort": "xhigh"}, model="claude-opus-4-6"),
        "This model does not support effort level 'xhigh'. Supported levels: high, low, max, "
        "medium.",
    ),
    (
        claude(HI, thinking={"type": "deep"}),
        "thinking: Input tag 'deep' found using 'type' does not match any of the expected tags",
    ),
    (
        claude(HI, thinking={"type": "enabled", "budget_tokens": 10}),
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    ),
    (
        claude(HI, thinking={"type": "enabled", "budget_tokens": 2000}, max_tokens=2000),
        "`max_tokens` must be greater than `thinking.budget_tokens`",
    ),
    (
        claude(
            HI,
            thinking={"type": "enabled", "budget_tokens": 2000},
            max_tokens=9000,
            model="claude-sonnet-4-5",
            tools=[{"name": "a", "input_schema": {"type": "object"}}],
            tool_choice={"type": "any"},
        ),
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    (
        claude(HI, thinking={"type": "adaptive", "block_binding": DROP}),
        "thinking.block_binding: Extra inputs are not permitted",
    ),
    (
        claude(HI, tools=[{"name": "a b", "input_schema": SCHEMA}]),
        "tools.0.custom.name: String should match pattern",
    ),
    (claude(HI, tools=[{"name": "a"}]), "tools.0.custom.input_schema: Field required"),
    (
        claude(HI, tools=[{"type": "memory_20250818", "name": "notes"}]),
        "tools.0.memory_20250818.name: Input should be 'memory'",
    ),
    (
        claude(HI, tools=[{"name": "a", "input_schema": {"type": "string"}}]),
        "tools.0.custom.input_schema.type: Input should be 'object'",
    ),
    (
        claude(HI, tools=[{"name": "a", "input_schema": {"type": "object", "anyOf": [{}]}}]),
        "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at "
        "the top level",
    ),
    (
        claude(
            HI,
            tools=[{"name": "a", "input_schema": {"type": "object", "properties": {"a b": {}}}}],
        ),
        "tools.0.custom.input_schema.properties: Property keys should match pattern "
        "'^[a-zA-Z0-9_.-]{1,64}$'",
    ),
    (
        claude(HI, assistant({**use("t1"), "name": "a b"}), user(result("t1"))),
        "messages.1.content.0.tool_use.name: String should match pattern",
    ),
    (
        claude(HI, assistant(use("t 1")), user(result("t 1"))),
        "messages.1.content.0.tool_use.id: String should match pattern",
    ),
    (
        claude(
            HI,
            assistant(
                {
                    **signed("hm", "claude-opus-5-5", [["user", "text", "Hi"]]),
                    "cache_control": {"type": "ephemeral"},
                },
                said("x"),
            ),
            HI,
        ),
        "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
    ),
    (
        claude(user({**said("Hi"), "cache_control": {"type": "ephemeral", "ttl": "2h"}})),
        "ttl: Input should be '5m' or '1h'",
    ),
    (claude(user({"type": "picture"})), "Input tag 'picture' found using 'type'"),
    (
        claude(user(signed("hm", "claude-opus-5-5", []))),
        "messages.0: `thinking` blocks can only be in `assistant` messages",
    ),
    (
        claude(HI, {"role": "system", "content": [source("image", "image/png", PNG)]}),
        "messages.1.content.0: system messages can only contain text blocks",
    ),
    (answered(), "messages.2.content.0.tool_result.content: content blocks must be non-empty"),
    (
        claude(HI, assistant(use("t1")), user({**result("t1"), "content": {}})),
        "messages.2.content.0.tool_result.content: Input should be a valid string or list",
    ),
    (answered(use("t2")), "Input tag 'tool_use' found using 'type'"),
    (
        claude(
            HI,
            assistant(use("t1")),
            user(
                {
                    **result("t1"),
                    "is_error": True,
                    "content": [source("image", "image/png", PNG)],
                }
            ),
        ),
        "messages.2.content.0.tool_result: all content must be type `text` if `is_error` is true",
    ),
    (claude(user({"type": "image", "source": {"type": "path"}})), "image.source: Input tag 'path'"),
    (
        claude(user(source("image", "image/png", "!"))),
        "messages.0.content.0.image.source.base64: invalid base64 data",
    ),
    (
        claude(user(source("image", "image/tiff", PNG))),
        "image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif'",
    ),
    (
        claude(user(source("image", "image/jpeg", PNG))),
        "using the image/jpeg media type, but the image appears to be a image/png image",
    ),
    (
        claude(user(source("image", "image/png", PNG[:-4] + "A" * 5_242_880))),
        "image exceeds 5 MB maximum: ",
    ),
    (
        answered(source("image", "image/tiff", PNG)),
        "messages.2.content.0.tool_result.content.0.image.source.base64.media_type",
    ),
    (
        claude(user(source("document", "text/html", PDF))),
        "document.source.base64.media_type: Input should be 'application/pdf'",
    ),
    (
        claude(user(source("document", "application/pdf", PNG))),
        "The PDF specified was not valid.",
    ),
    (
        claude(HI, assistant(SEARCH), HI),
        "messages.1: `web_search` tool use with id `srvtoolu_1` was found without a corresponding "
        "`web_search_tool_result` block",
    ),
    (
        claude(HI, assistant(SEARCH, FOUND, said("x")), HI),
        "Invalid `encrypted_content` in `search_result` block",
    ),
    (
        claude(HI, assistant({"type": "redacted_thinking", "data": "AAAA"}, said("x")), HI),
        "messages.1.content.0: Invalid `data` in `redacted_thinking` block",
    ),
    (
        thought("sim-preserved-1"),
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a "
        "different conversation. Remove the block, or set "
        '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".',
    ),
]
_ANTHROPIC += [
    (
        claude(HI, assistant({**signed("hm", "m", "x"), "thinking": "ha"}, said("x")), HI),
        "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant "
        "message cannot be modified. These blocks must remain as they were in the original "
        "response.",
    ),
    (
        claude(
            HI,
            assistant({**signed("hm", "m", "x"), "thinking": "ha"}, said("x")),
            HI,
            assistant(said("y")),
            HI,
        ),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    (
        claude(HI, assistant(result("t1"), said("x")), HI),
        "messages.1: `tool_result` blocks can only be in `user` messages",
    ),
    (
        claude(HI, tools=[{"name": "a", "input_schema": SCHEMA}] * 2),
        "tools: Tool names must be unique.",
    ),
    (
        claude(HI, assistant(source("document", "application/pdf", PDF)), HI),
        "messages.1.content.0: document blocks are not allowed here",
    ),
]
_CHAT: list[tuple[Body, str]] = [
    (
        chat({"role": "user", "content": []}),
        "Invalid 'messages[0].content': empty array.",
    ),
    (
        chat({"role": "user", "content": {"type": "text"}}),
        "Invalid type for 'messages[0].content': expected one of a string or array of objects",
    ),
    (
        chat(
            ASK,
            {
                "role": "assistant",
                "tool_calls": [{"id": "c1", "function": {"name": "a b", "arguments": "{}"}}],
            },
            tool("c1"),
        ),
        "Invalid 'messages[1].tool_calls[0].function.name': string does not match pattern.",
    ),
    (
        chat(ASK, calling("c" * 41), tool("c" * 41)),
        "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum "
        "length 40, but got a string with length 41 instead.",
    ),
    (
        chat(ASK, calling("c1"), tool("c1", [{"type": "file", "file": {"file_id": "f"}}])),
        "Invalid 'messages[2]'. Content blocks are expected to be either text or image_url type.",
    ),
    (
        chat({"role": "system", "content": [{"type": "file", "file": {"file_id": "f"}}]}, ASK),
        "Invalid 'messages[0]'. Content blocks are expected to be either text or image_url type.",
    ),
    *(
        (
            chat({"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}),
            words,
        )
        for url, words in {
            "ftp://x/y.png": "Expected a valid URL",
            "data:image/png;base64,!": "Expected a base64-encoded data URL",
            f"data:image/tiff;base64,{PNG}": "You uploaded an unsupported image.",
            f"data:image/png;base64,{PDF}": "You uploaded an unsupported image.",
        }.items()
    ),
    (
        chat({"role": "user", "content": [{"type": "file", "file": {"file_data": "x"}}]}),
        "Missing required parameter: 'messages[0].content[0].file.filename'.",
    ),
    (
        chat(
            {
                "role": "user",
                "content": [{"type": "file", "file": {"filename": "a", "file_data": "x"}}],
            }
        ),
        "Invalid 'messages[0].content[0].file.file_data'.",
    ),
    (
        {**chat(ASK), "tools": [{"type": "function", "function": {"name": "a b"}}]},
        "Invalid 'tools[0].function.name': string does not match pattern.",
    ),
    (
        {**chat(ASK), "model": "gpt-5.6", "reasoning_effort": "huge"},
        "Invalid value: 'huge'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', "
        "'xhigh', and 'max'.",
    ),
    (
        {**chat(ASK), "reasoning_effort": "low"},
        "Unsupported parameter: 'reasoning_effort' is not supported with this model.",
    ),
    (
        {**chat(ASK), "model": "gpt-5.6", "temperature": 0.5},
        "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default "
        "(1) value is supported.",
    ),
    (
        {**chat(ASK), "temperature": 3},
        "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3",
    ),
    (
        {**chat(ASK), "model": "o4-mini", "max_tokens": 50},
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
        "'max_completion_tokens' instead.",
    ),
]


def reasoning(stage: str = "done:gpt-5.6:c1", summary: str = "hm") -> Body:
    sealed = SIGNER.sign(["rs_1", ["hm"]], stage=stage)
    return {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": summary}],
        "encrypted_content": sealed,
    }


FAMILY = "0" * 40


def custom(model: str = "gpt-5.6", **more: Any) -> Body:
    return inputs(ASK, model=model, tools=[{"type": "custom", "name": "apply_patch", **more}])


_RESPONSES: list[tuple[Body, str]] = [
    (custom("gpt-4.1"), "Custom tools are not supported with gpt-4.1."),
    (custom(parameters={}), "Unknown parameter: 'tools[0].parameters'."),
    (custom(format={"type": "json"}), "Invalid value: 'json'."),
    (
        custom(format={"type": "grammar", "syntax": "ebnf", "definition": "a"}),
        "Invalid value: 'ebnf'.",
    ),
    (
        custom(format={"type": "grammar", "syntax": "lark"}),
        "Missing required parameter: 'tools[0].format.definition'.",
    ),
    (
        {**custom(), "tool_choice": {"type": "function", "name": "apply_patch"}},
        "Tool choice 'function' not found in 'tools' parameter.",
    ),
    (
        inputs(ASK, reasoning={"effort": "huge"}),
        "Invalid value: 'huge'. Supported values are: 'none', 'minimal', 'low'",
    ),
    (
        inputs(ASK, temperature=0.5),
        "Unsupported parameter: 'temperature' is not supported with this model.",
    ),
    (
        inputs(ASK, temperature=-1),
        "Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got -1 "
        "instead.",
    ),
    (
        inputs(ASK, tools=[{"type": "function", "name": "a" * 65}]),
        "Invalid 'tools[0].name': string too long. Expected a string with maximum length 64, but "
        "got a string with length 65 instead.",
    ),
    (
        inputs(ASK, tools=[{"type": "function", "name": "a b"}]),
        "Invalid 'tools[0].name': string does not match pattern.",
    ),
    (inputs(ASK, {"type": "thought"}), "Invalid value: 'thought'."),
    (
        inputs(ASK, fc("c1"), {**out("c1"), "output": [{"type": "output_text", "text": "x"}]}),
        "Invalid value: 'output_text'. Supported values are: 'input_text', 'input_image', and "
        "'input_file'.",
    ),
    (
        inputs({"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}),
        "Invalid 'input[0].content[0].image_url'. Expected a valid URL",
    ),
    (
        inputs({"role": "user", "content": [{"type": "input_file", "file_data": "x"}]}),
        "Missing required parameter: 'input[0].content[0].filename'.",
    ),
    (
        inputs(
            {
                "role": "user",
                "content": [{"type": "input_file", "filename": "a", "file_data": "x"}],
            }
        ),
        "Invalid 'input[0].content[0].file_data'.",
    ),
    (inputs(ASK, fc("c1"), fc("c1"), out("c1")), "Duplicate item found with id c1."),
    (inputs(ASK, reasoning(summary="ha"), fc("c1"), out("c1")), "could not be verified"),
    (
        inputs(ASK, reasoning("added:gpt-5.6:c1"), fc("c1"), out("c1")),
        "could not be verified",
    ),
    (
        inputs(ASK, reasoning(), ASK),
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    ),
    (
        inputs(ASK, fc("c1", id=f"fc_{FAMILY}0100"), out("c1")),
        f"was provided without its required 'reasoning' item: 'rs_{FAMILY}00ff'.",
    ),
    (
        inputs(
            ASK,
            {
                "type": "message",
                "id": f"msg_{FAMILY}0100",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "x"}],
            },
            ASK,
        ),
        f"of type 'message' was provided without its required 'reasoning' item: 'rs_{FAMILY}00ff'",
    ),
]


def message(number: int) -> Body:
    content = [{"type": "output_text", "text": "x"}]
    id_ = f"msg_{FAMILY}{number:02x}ff"
    return {"type": "message", "id": id_, "role": "assistant", "content": content}


_RESPONSES.append(
    (inputs(ASK, message(0), ASK, message(0), ASK), "Duplicate item found with id msg_")
)


def shown(mime: str, data: str) -> Body:
    return contents(("user", [{"inlineData": {"mimeType": mime, "data": data}}]))


def thinks(model: str = "gemini-3-pro-preview", **config: Any) -> Body:
    return {**contents(WORDS, model=model), "generationConfig": {"thinkingConfig": config}}


def described(**more: Any) -> Body:
    rows = [{"name": "a", **more}]
    return {**contents(WORDS), "tools": [{"functionDeclarations": rows}]}


def declares(*names: str) -> Body:
    rows = [{"name": name} for name in names]
    return {**contents(WORDS), "tools": [{"functionDeclarations": rows}]}


_GEMINI: list[tuple[Body, str]] = [
    (
        contents(WORDS, ("model", [gcall(), gresult()]), ("user", [gresult()])),
        "Please ensure that function response turn comes immediately after a function call turn.",
    ),
    (
        shown("image/png", "!"),
        "Invalid value at 'contents[0].parts[0].inline_data.data' (TYPE_BYTES), Base64 decoding",
    ),
    (shown("image/gif", PNG), "Unsupported MIME type: image/gif"),
    (shown("application/zip", PNG), "Unsupported MIME type: application/zip"),
    (
        contents(
            WORDS,
            ("model", [{"functionCall": {"name": "read", "args": "{}"}}]),
            ("user", [gresult()]),
        ),
        "Invalid value at 'contents[1].parts[0].function_call.args'",
    ),
    (
        contents(
            WORDS,
            ("model", [gcall()]),
            ("user", [{"functionResponse": {"name": "read", "response": "ok"}}]),
        ),
        "Invalid value at 'contents[2].parts[0].function_response.response'",
    ),
    (declares("a b"), "function_declarations[0].name: Invalid function name."),
    (
        described(parameters={"$schema": "x", "type": "OBJECT"}),
        "Unknown name \"$schema\" at 'tools[0].function_declarations[0].parameters'",
    ),
    (
        described(parametersJsonSchema={"type": "array", "properties": {"a": {}}}),
        "parameters.properties: only allowed for OBJECT type",
    ),
    (declares("a", "a"), "Duplicate function declaration found: a"),
    (
        thinks(thinkingLevel="low", thinkingBudget=200),
        "You can only set only one of thinking budget and thinking level.",
    ),
    (thinks(thinkingLevel="deep"), "Invalid value at 'generation_config.thinking_config."),
    (
        thinks("gemini-2.5-flash", thinkingLevel="low"),
        "Thinking level is not supported for this model.",
    ),
    (
        thinks("gemini-2.5-flash", thinkingBudget=99_999),
        "The thinking budget 99999 is invalid. Please choose a value between 0 and 24576.",
    ),
    (
        thinks("gemini-2.5-pro", thinkingBudget=0),
        "The thinking budget 0 is invalid. Please choose a value between 128 and 32768.",
    ),
    (
        {**contents(WORDS), "generationConfig": {"temperature": 3}},
        "temperature must be in the range [0.0, 2.0].",
    ),
    (
        contents(
            WORDS,
            ("model", [{**gcall(), "thoughtSignature": "AAAA"}]),
            ("user", [gresult()]),
            model="sim-gemini-3",
        ),
        "Corrupted thought signature.",
    ),
]


def local(*messages: Body, model: str = "m", **more: Any) -> Body:
    return {"model": model, "messages": list(messages), "stream": False, **more}


_OLLAMA: list[tuple[Body, str]] = [
    (local(ASK, model="sim-embed"), '"sim-embed" does not support chat'),
    (
        local(ASK, model="sim-plain", tools=[{"type": "function", "function": {"name": "a"}}]),
        "registry.ollama.ai/library/sim-plain does not support tools",
    ),
    (local(ASK, think="deep"), 'invalid think value: "deep"'),
    (local(ASK, model="sim-plain", think=True), '"sim-plain" does not support thinking'),
    (local({**ASK, "images": [f"data:image/png;base64,{PNG}"]}), "illegal base64 data"),
    (local({**ASK, "images": PNG}), "cannot unmarshal string into Go struct field"),
    (
        local({**ASK, "images": [PNG]}, model="sim-plain"),
        '"sim-plain" does not support image input',
    ),
    (local(ASK, options={"num_ctx": "8192"}), 'option "num_ctx" must be of type integer'),
    (local(ASK, options={"temperature": "hot"}), 'option "temperature" must be of type float32'),
    (
        local(ASK, options=[1]),
        "json: cannot unmarshal array into Go struct field ChatRequest.options",
    ),
]
CALL = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"function": {"name": "a", "arguments": {}}}],
}
BOTH = {
    **CALL,
    "tool_calls": [
        {"function": {"name": "a", "arguments": {}}},
        {"function": {"name": "b", "arguments": {}}},
    ],
}


def told(name: str) -> Body:
    return {"role": "tool", "tool_name": name, "content": "ok"}


SPOKEN = {"role": "assistant", "content": "x"}
NEW = {"role": "user", "content": "And?"}


def offered(schema: Body) -> Body:
    return {"type": "function", "function": {"name": "a", "parameters": schema}}


GROWS = "house rule: the history, the system prompt and the tools only grow at the end"
_HOUSE: list[Case] = [
    Case("anthropic", claude(HI, foo=1), "foo: Extra inputs are not permitted"),
    Case("anthropic", claude(user({**said("Hi"), "foo": 1})), "messages.0.content.0.text.foo"),
    Case("anthropic", claude(HI, HI), "house rule: consecutive user messages"),
    Case(
        "anthropic",
        claude(HI, assistant(use("t1"), use("t2")), user(result("t2"), result("t1"))),
        "house rule: results come in call order",
    ),
    Case(
        "anthropic",
        claude(HI, assistant(said("y")), user(said("z")), system="Be brief."),
        GROWS,
        before=(claude(HI, system="Be kind."),),
    ),
    Case("chat", {**chat(ASK), "foo": 1}, "Unrecognized request argument supplied: foo"),
    *(
        Case(
            "chat",
            {**chat(ASK), "tools": [offered({"type": "object", "properties": {"a": part}})]},
            f"house rule: compatible servers refuse {word}",
        )
        for word, part in (
            ("$ref", {"$ref": "#/$defs/x"}),
            ("a list of types", {"type": ["string", "null"]}),
            ("exclusiveMinimum", {"type": "number", "exclusiveMinimum": 0}),
        )
    ),
    Case("chat", chat(ASK, ASK), "house rule: consecutive user messages"),
    Case("chat", chat(ASK, calling("c1", "c2"), tool("c2"), tool("c1")), "in call order"),
    Case(
        "chat",
        chat(ASK, {**SPOKEN, "content": "y"}, NEW, SPOKEN, NEW),
        GROWS,
        before=(chat(ASK), chat(ASK, SPOKEN, NEW)),
    ),
    Case("responses", inputs(ASK, foo=1), "Unknown parameter: 'foo'."),
    Case("responses", inputs(ASK, message(0), ASK), "house rule: the phase was left out"),
    Case("responses", inputs(ASK, ASK), "house rule: consecutive user messages"),
    Case("responses", inputs(ASK, fc("c1"), fc("c2"), out("c2"), out("c1")), "in call order"),
    Case("responses", inputs(ASK, fc("c1"), ASK, out("c1")), "results come before other words"),
    Case("responses", inputs(ASK, SPOKEN, NEW, tools=[]), GROWS, before=(inputs(ASK),)),
    Case("gemini", {**contents(WORDS), "foo": 1}, 'Unknown name "foo": Cannot find field.'),
    Case(
        "gemini",
        contents(("user", [{"text": "Hi", "foo": 1}])),
        "Unknown name \"foo\" at 'contents[0].parts[0]': Cannot find field.",
    ),
    Case("gemini", contents(WORDS, WORDS), "house rule: consecutive user contents"),
    Case(
        "gemini",
        contents(
            WORDS,
            ("model", [gcall(id="f1"), gcall(id="f2")]),
            ("user", [gresult(id="f2"), gresult(id="f1")]),
        ),
        "in call order",
    ),
    Case(
        "gemini",
        contents(WORDS, ("model", [{"text": "y"}]), ("user", [{"text": "And?"}])),
        GROWS,
        before=({**contents(WORDS), "systemInstruction": {"parts": [{"text": "x"}]}},),
    ),
    Case("ollama", local(ASK, foo=1), "house rule: unknown parameter 'foo'"),
    Case(
        "ollama",
        local(ASK, tools=[offered({"type": ["object", "null"]})]),
        "house rule: compatible servers refuse a list of types",
    ),
    Case("ollama", local(ASK, told("a")), "house rule: no open call for a result of 'a'"),
    Case("ollama", local(ASK, BOTH, told("b"), told("a")), "in call order"),
    Case("ollama", local(ASK, CALL, ASK), "house rule: calls without results: a"),
    Case("ollama", local(ASK, ASK), "house rule: consecutive user messages"),
    Case(
        "ollama",
        local(ASK, SPOKEN, NEW),
        GROWS,
        before=(local({"role": "system", "content": "x"}, ASK),),
    ),
]
_MORE: dict[ApiName, list[tuple[Body, str]]] = {
    "anthropic": _ANTHROPIC,
    "chat": _CHAT,
    "responses": _RESPONSES,
    "gemini": _GEMINI,
    "ollama": _OLLAMA,
}
MORE: list[Case] = [
    *(Case(name, body, words) for name, rows in _MORE.items() for body, words in rows),
    Case(
        "anthropic",
        thought(
            "m",
            thinking={"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "keep"}},
        ),
        "prefix_mismatch_behavior: Input should be 'error' or 'drop_block'",
        headers=BETA,
    ),
    *(Case(c.api, c.body, c.words, c.before, c.headers, house=True) for c in _HOUSE),
]
CASES: list[Case] = [
    *(Case(name, body, words) for name, rows in BROKEN.items() for body, words in rows.values()),
    *MORE,
]
"""Every case there is."""
