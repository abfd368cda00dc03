"""L-7: a call written as text is a call; an example in an answer is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.domain.messages import Text
from studio.domain.tools import ToolSpec
from studio.providers.http import Http
from studio.providers.ollama.adapter import OllamaProvider
from studio.providers.openai_chat.adapter import CompatibleProvider
from studio.providers.text_tool_calls import find_text_calls
from studio.simulator import Simulator, Think, Turn
from studio.simulator import Text as Say
from support.provider_calls import NOW, READ, drain, request, result, started, words

SEARCH = ToolSpec(
    "search",
    "Search.",
    {
        "type": "object",
        "properties": {
            "pattern": {"type": "string"},
            "limit": {"type": "integer"},
            "kind": {"enum": ["file", "folder"]},
            "where": {"type": ["string", "null"]},
            "flags": {"type": "array"},
        },
        "required": ["pattern"],
    },
)
OPEN = ToolSpec("open", "Anything.", {"type": "object", "additionalProperties": True})
TOOLS = (READ, NOW, SEARCH, OPEN)

A = {"path": "a.txt"}
PLAIN = '{"name": "read_file", "arguments": {"path": "a.txt"}}'
OTHER = '{"name": "now", "arguments": {}}'

CALLS = [
    PLAIN,
    f"  \n{PLAIN}\n\n",
    '{"name":"read_file","parameters":{"path":"a.txt"}}',
    '{"name": "read_file", "input": {"path": "a.txt"}}',
    '{"name": "read_file", "args": {"path": "a.txt"}}',
    '{"tool": "read_file", "arguments": {"path": "a.txt"}}',
    '{"tool_name": "read_file", "tool_input": {"path": "a.txt"}}',
    '{"action": "read_file", "action_input": {"path": "a.txt"}}',
    '{"function": "read_file", "arguments": {"path": "a.txt"}}',
    '{"arguments": {"path": "a.txt"}, "name": "read_file"}',
    '{"id": "x", "type": "function", "name": "read_file", "arguments": {"path": "a.txt"}}',
    '{"type": "function", "function": {"name": "read_file", "arguments": {"path": "a.txt"}}}',
    '{"function_call": {"name": "read_file", "arguments": {"path": "a.txt"}}}',
    '{"tool_calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]}',
    '{"name": "read_file", "arguments": "{\\"path\\": \\"a.txt\\"}"}',
    f"[{PLAIN}]",
    f"```json\n{PLAIN}\n```",
    f"```\n{PLAIN}\n```",
    f"```tool_call\n{PLAIN}\n```",
    f"```json\r\n{PLAIN}\r\n```\r\n",
    f"```json\n[{PLAIN}]\n```",
    f"```json\n{PLAIN}",  # the fence never closed
    f"<tool_call>{PLAIN}</tool_call>",
    f"<tool_call>\n{PLAIN}\n</tool_call>",
    f"<tool_call>\n{PLAIN}",  # its end was a stop word of the server
    f"<function_call>{PLAIN}</function_call>",
    f"<tools>{PLAIN}</tools>",
    f"<tool_call>```json\n{PLAIN}\n```</tool_call>",
    f"<|python_tag|>{PLAIN}",
    f"[TOOL_CALLS][{PLAIN}]",
    f"[TOOL_CALLS] [{PLAIN}]</s>",
    '<function=read_file>{"path": "a.txt"}</function>',
    f"{PLAIN}<|im_end|>",
    f"{PLAIN}<end_of_turn>",
    f"I'll look.\n{PLAIN}",
    f"Let me read that file: {PLAIN}",
    f"Let me read that file first.\n\n```json\n{PLAIN}\n```",
    f"I need the file.\n<tool_call>{PLAIN}</tool_call>",
    f"Je vais lire le fichier.\n\n{PLAIN}",
]
"""Each of them is a call of read_file with the path a.txt."""

ANSWERS = [
    "",
    "Hello.",
    "{}",
    "[]",
    "[1, 2, 3]",
    "{",
    '{"name": "read_file"}',
    '{"name": "read_file", "arguments": {}}',  # lacks what it needs
    '{"name": "read_file", "arguments": {"path": 7}}',
    '{"name": "read_file", "arguments": {"path": "a", "mode": "r"}}',
    '{"name": "read_file", "arguments": ["a.txt"]}',
    '{"name": "read_file", "arguments": "a.txt"}',
    '{"name": "read_file", "arguments": null}',
    '{"name": "write_file", "arguments": {"path": "a.txt"}}',  # not on offer
    '{"name": "Anna", "arguments": {"path": "a.txt"}}',
    '{"name": "read_file", "arguments": {"path": "a.txt"}, "city": "Ulm"}',
    '{"name": "search", "arguments": {"pattern": "x", "limit": "3"}}',
    '{"name": "search", "arguments": {"pattern": "x", "limit": true}}',
    '{"name": "search", "arguments": {"pattern": "x", "kind": "both"}}',
    '{"name": "search", "arguments": {"pattern": "x", "where": 1}}',
    '{"name": "now", "arguments": {"zone": NaN}}',
    '{"type": "function", "name": "now", "parameters": {"type": "object", "properties": {}}}',
    PLAIN[:-1],  # cut off
    PLAIN[: len(PLAIN) // 2],
    f"```json\n{PLAIN[:-3]}",
    f"<tool_call>{PLAIN[:-1]}",
    f"<tool_call>{PLAIN[:-1]}</tool_call>",
    f"[{PLAIN}, {PLAIN[:9]}",
    f"{PLAIN}\nThat reads the file.",
    f"```json\n{PLAIN}\n```\nRun this to read the file.",
    f"Here is an example:\n{PLAIN}",
    f"A call looks like this:\n\n```json\n{PLAIN}\n```",
    f"To read a file you can write:\n{PLAIN}",
    f"You would send {PLAIN}",
    f"The format is:\n{PLAIN}",
    f"Do not write {PLAIN}",
    f"The object {PLAIN}",
    f"```python\n{PLAIN}\n```",
    f"```python\nprint(1)\n```\n{PLAIN}",
    f"{PLAIN}\nand then\n{OTHER}",
    f'{PLAIN}\n{{"name": "nobody", "arguments": {{}}}}',  # one of two is not on offer
    f"- {PLAIN}",
    f"1. first\n2. `{PLAIN}`",
    "word " * 40 + f"\n{PLAIN}",
    f"See [1] and {PLAIN}",
    "[a link](http://x)",
    '<function=read_file>{"file": "a.txt"}</function>',
    "<function=nobody>{}</function>",
    "<tool_call></tool_call>",
    "```json\n```",
    "{" * 3000,
    "[" * 3000,
]


@pytest.mark.parametrize("text", CALLS)
def test_l7_a_call_written_as_text(text: str) -> None:
    spoken = find_text_calls(text, TOOLS)
    assert spoken is not None
    assert spoken.calls == (("read_file", A),)
    assert "read_file" not in spoken.before


@pytest.mark.parametrize("text", ANSWERS)
def test_l7_an_answer_stays_one(text: str) -> None:
    assert find_text_calls(text, TOOLS) is None


@pytest.mark.parametrize(
    "text",
    [
        f"[{PLAIN}, {OTHER}]",
        f"{PLAIN}\n{OTHER}",
        f"{PLAIN}; {OTHER}",
        f"<tool_call>{PLAIN}</tool_call>\n<tool_call>{OTHER}</tool_call>",
        f"```json\n{PLAIN}\n```\n```json\n{OTHER}\n```",
        f"[TOOL_CALLS][{PLAIN}, {OTHER}]",
    ],
)
def test_l7_several_calls(text: str) -> None:
    spoken = find_text_calls(text, TOOLS)
    assert spoken is not None
    assert spoken.calls == (("read_file", A), ("now", {}))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search", {"pattern": "x", "limit": 3, "kind": "file", "where": None, "flags": []}),
        ("open", {"whatever": {"deep": [1]}}),
    ],
)
def test_l7_arguments_that_fit(name: str, arguments: Any) -> None:
    text = json.dumps({"name": name, "arguments": arguments})
    spoken = find_text_calls(text, TOOLS)
    assert spoken is not None
    assert spoken.calls == ((name, arguments),)


def test_l7_nothing_is_a_call_without_tools() -> None:
    assert find_text_calls(PLAIN, ()) is None


@given(st.sampled_from([text for text in CALLS if not text.endswith(("\n", " "))]), st.data())
def test_l7_a_call_cut_off_inside_its_json_is_none(text: str, data: Any) -> None:
    end = data.draw(st.integers(0, text.rindex("}") - 1))
    assert find_text_calls(text[:end], TOOLS) is None


@given(st.text(max_size=200))
def test_any_text_is_judged(text: str) -> None:
    find_text_calls(text, TOOLS)


@pytest.mark.parametrize("api", ["chat", "ollama"])
async def test_l7_the_history_is_that_of_a_proper_call(http: Http, api: Any) -> None:
    """What was shown stays shown; the next request holds a call and its result."""
    turns = [
        Turn(Think("Hm."), Say(f"I'll look.\n```json\n[{PLAIN}, {OTHER}]\n```")),
        Turn(Say("Done.")),
    ]
    async with Simulator(turns, strict="beyond") as sim:
        url = sim.url(api)
        make = {"chat": CompatibleProvider, "ollama": OllamaProvider}[api]
        one: Any = make("k", url, http)
        history = one.user_items([Text("Read a.txt.")])
        stream = one.stream(request(history))
        deltas = await drain(stream)
        reply = stream.reply()
        assert PLAIN in words(deltas)
        assert reply.stop == "tool_use"
        assert [(call.name, call.arguments) for call in reply.calls] == [
            ("read_file", A),
            ("now", {}),
        ]
        assert started(deltas) == [(call.id, call.name) for call in reply.calls]
        assert reply.items[0]["content"] == "I'll look."
        history += reply.items
        assert one.open_calls(history) == reply.calls
        assert one.history_problem(history) == ""
        history += one.result_items([result(call) for call in reply.calls])
        stream = one.stream(request(history))
        await drain(stream)
        assert stream.reply().stop == "end"
        assert sim.violations == []


async def test_l7_an_answer_passes_through(http: Http) -> None:
    async with Simulator([Turn(Say(f"For example: {PLAIN}"))]) as sim:
        one = CompatibleProvider("k", sim.url("chat"), http)
        stream = one.stream(request(one.user_items([Text("How?")])))
        await drain(stream)
        assert (stream.reply().stop, stream.reply().calls) == ("end", [])
