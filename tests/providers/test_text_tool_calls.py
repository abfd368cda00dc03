"""L-7: a call written as text is a call; an example in an answer is not."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.domain.errors import ProviderError
from studio.domain.events import Delta
from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Text
from studio.domain.tools import ToolSpec
from studio.providers.http import Http
from studio.providers.ollama.adapter import OllamaProvider
from studio.providers.openai_chat.adapter import CompatibleProvider, native_call
from studio.providers.openai_chat.stream import ChatAccumulator
from studio.providers.text_tool_calls import TextCallRecognizer, find_text_calls, is_quoted
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

CODER = """<tool_call>
<function=read_file>
<parameter=path>
a.txt
</parameter>
</function>
</tool_call>"""
INVOKE = '<invoke name="read_file">\n<parameter name="path">a.txt</parameter>\n</invoke>'
DSML = """<｜DSML｜BLOCK>
<｜DSML｜invoke name="read_file">
<｜DSML｜parameter name="path" string="true">a.txt</｜DSML｜parameter>
</｜DSML｜invoke>
</｜DSML｜BLOCK>"""
HARMONY = (
    "<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>"
    '{"path":"a.txt"}<|call|>'
)
START = "<|start|>assistant"
PYTHON = 'read_file(path="a.txt")'
PAIRS = "read_file\n<arg_key>path</arg_key>\n<arg_value>a.txt</arg_value>\n"
GEMMA = '<|tool_call>call:read_file{path:<|"|>a.txt<|"|>}<tool_call|>'
MINIMAX = "]<]minimax[>["

DIALECTS = [
    # Qwen-coder, Seed
    CODER,
    CODER.removeprefix("<tool_call>\n").removesuffix("\n</tool_call>"),
    CODER.removesuffix("\n</function>\n</tool_call>"),  # the rest was a stop word
    CODER.replace("</function>\n", ""),
    CODER.replace("\n", ""),
    CODER.replace("\n", "\r\n"),
    CODER.replace("tool_call>", "seed:tool_call>"),
    f"I'll read it.\n\n{CODER}",
    f"```xml\n{CODER}\n```",
    # DeepSeek
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n"
    '{"path":"a.txt"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>',
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>"
    '{"path": "a.txt"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "Let me look.<|tool_calls_begin|><|tool_call_begin|>read_file<|tool_sep|>"
    '{"path": "a.txt"}<|tool_call_end|><|tool_calls_end|>',
    DSML.replace("BLOCK", "function_calls"),
    DSML.replace("BLOCK", "tool_calls"),
    # gpt-oss
    HARMONY,
    HARMONY.removesuffix("<|call|>"),
    f"<|channel|>analysis<|message|>We need, for example, a.txt.<|end|>{START}{HARMONY}",
    f"<|channel|>commentary<|message|>I'll look.<|end|>{START}{HARMONY}",
    f'{START} to=functions.read_file<|channel|>commentary json<|message|>{{"path":"a.txt"}}',
    'analysisWe could read it.assistantcommentary to=functions.read_file json{"path": "a.txt"}',
    'commentary to=functions.read_file json{"path": "a.txt"}',
    'to=functions.read_file {"path": "a.txt"}',
    # Gemma
    f"```tool_code\n{PYTHON}\n```",
    f"```tool_code\nprint({PYTHON})\n```",
    f"```tool_code\nprint(default_api.{PYTHON})\n```",
    '```tool_code\nread_file("a.txt")\n```',
    "<start_function_call>call:read_file{path:<escape>a.txt<escape>}<end_function_call>",
    GEMMA,
    f"<|channel>thought\nI could look.\n<channel|>{GEMMA}",
    # Llama, LFM2, Olmo
    '<|python_tag|>read_file.call(path="a.txt")',
    f"[{PYTHON}]",
    f"<|python_start|>[{PYTHON}]<|python_end|>",
    f"<|tool_call_start|>[{PYTHON}]<|tool_call_end|>",
    f"<function_calls>\n{PYTHON}\n</function_calls>",
    # Mistral
    '[TOOL_CALLS]read_file[ARGS]{"path": "a.txt"}',
    '[TOOL_CALLS]read_file[CALL_ID]abc123DEF[ARGS]{"path": "a.txt"}</s>',
    '[TOOL_CALLS]read_file{"path": "a.txt"}',
    # GLM
    f"<tool_call>{PAIRS}</tool_call>",
    f"<tool_call>{PAIRS}",
    f"<tool_call>{PAIRS}</tool_call>".replace("\n", ""),
    # MiniMax, Kimi
    f"<minimax:tool_call>\n{INVOKE}\n</minimax:tool_call>",
    f"<function_calls>\n{INVOKE}\n</function_calls>",
    INVOKE,
    MINIMAX.join(
        ["", "<tool_call>\n", '<invoke name="read_file">', "<path>a.txt", "</path>", "</invoke>\n"]
    )
    + f"{MINIMAX}</tool_call>",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0"
    '<|tool_call_argument_begin|>{"path":"a.txt"}<|tool_call_end|><|tool_calls_section_end|>',
    # Phi, Nemotron, Command
    f"<|tool_call|>[{PLAIN}]<|/tool_call|>",
    f"functools[{PLAIN}]",
    f"<TOOLCALL>[{PLAIN}]</TOOLCALL>",
    "<|START_THINKING|>I would look.<|END_THINKING|><|START_ACTION|>"
    '[{"tool_call_id": "0", "tool_name": "read_file", "parameters": {"path": "a.txt"}}]'
    "<|END_ACTION|>",
    # what the model thought, in the answer
    f"<think>\nI could look, for example.\n</think>\n\n<tool_call>\n{PLAIN}\n</tool_call>",
    f"I could look, for example.\n</think>\n\n{CODER}",
    # nearly JSON (L-6)
    "{'name': 'read_file', 'arguments': {'path': 'a.txt'}}",
    PLAIN.replace("}}", ",}}"),
    PLAIN[:-1],
    f"<tool_call>{PLAIN[:-1]}",
    f"<tool_call>{PLAIN[:-1]}</tool_call>",
    f"```json\n{PLAIN[:-1]},}}\n```",
    '{name: "read_file", arguments: {path: "a.txt"}}',
    '{"name": "read_file", "arguments": "{\'path\': \'a.txt\'}"}',
    '[TOOL_CALLS]read_file[ARGS]{"path": "a.txt",}',
]
"""The same call, as models of today write it."""

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
    PLAIN[: len(PLAIN) // 2],
    f"```json\n{PLAIN[:-3]}",
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
SAID = (
    "I'll read it.",
    "Let me look.",
    "I'll look.",
    "Let me read that file:",
    "Let me read that file first.",
    "I need the file.",
    "Je vais lire le fichier.",
)

SHOWN = [
    f"Qwen writes {CODER}",
    f"`{CODER}`",
    f"“{CODER}”",
    f"The mark is [TOOL_CALLS]{PLAIN}",
    f"It begins with <|python_tag|>{PLAIN}",
    f"{CODER}\n\nThis is how Qwen calls a tool.",
    f"Ein Beispiel:\n{CODER}",
    f"So sieht ein Aufruf aus:\n\n```xml\n{CODER}\n```",
    f"Zum Beispiel so:\n{PLAIN}",
    f"Voici un exemple :\n{CODER}",
    f"For example:\n```tool_code\n{PYTHON}\n```",
    f"```python\n{PYTHON}\n```",
    f"```\n{PYTHON}\n```",
    PYTHON,
    f"Use `{PYTHON}` for that.",
    "call:read_file{path:<escape>a.txt<escape>}",
    CODER.replace("read_file", "write_file"),
    CODER.replace("path", "file"),
    CODER[: CODER.index("\n</parameter>")],
    "<function=read_file>",
    "<function=read_file>\n</function>",
    "```tool_code\nimport os\nread_file(path='a.txt')\n```",
    "```tool_code\ntext = read_file(path='a.txt')\n```",
    "```tool_code\nread_file(path=name)\n```",
    "```tool_code\nread_file(**given)\n```",
    "```tool_code\nread_file('a', 'b')\n```",
    "```tool_code\nread_file(path='a.txt'\n```",
    "```tool_code\nread_file(path=open('x'))\n```",
    "```tool_code\nfor n in (1, 2): read_file(path='a.txt')\n```",
    "<|channel|>final<|message|>Hello",
    "<|channel|>analysis<|message|>to=functions.read_file",
    f"<|channel|>final<|message|>gpt-oss writes {HARMONY}",
    'The header to=functions.read_file {"path": "a.txt"} is harmony',
    "<tool_call>read_file\n</tool_call>",
    "<tool_call>read_file\n<arg_key>path</arg_key>\n</tool_call>",
    "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a.txt",
    "[read_file]",
    "[read_file()]",
    "[read_file(path='a.txt'), nobody()]",
    "[1](read_file)",
    '{"name": "read_file", "arguments": {"path": }}',
    '{"name": "read_file", "arguments": {"path"}}',
    PLAIN.replace('"a.txt"', '"a.txt", ...'),
    "{'name': 'read_file', 'arguments': {'path': 'a.txt'}} is a dict",
    f"{PLAIN[:-1]} // the path\n}}",
    f"{PLAIN} }} and more",
    "[TOOL_CALLS]",
    "[TOOL_CALLS]read_file",
    '[ARGS]{"path": "a.txt"}',
    "<|tool_call>call:read_file{path:<tool_call|>",
    "<|tool_call>call:read_file{path:a.txt}<tool_call|>",
    f"<think>{PLAIN}</think>",
    f"<think>{CODER}</think>\nNo call is needed.",
    f"<think>Hm.</think> The form is {CODER}",
    f"<tool_response>\n{PLAIN}\n</tool_response>",
    f"| a | {PLAIN} |",
    f"> {PLAIN}",
    f"# Calls\n\n{PLAIN}\n\n## Others",
    f"<!-- {CODER} -->",
    f"<pre>\n{CODER}\n</pre>",
]
"""Answers about calls, calls of nothing that is on offer, and what is not whole."""

HOSTILE = [
    " " * 19_990 + "x",
    PLAIN + " " * 19_000 + "x",
    "{" * 19_900 + "}" * 90,
    "{'a':1," * 2_800 + "}",
    "```json\n" * 2_400,
    "<function=read_file>" + "<parameter=path>a</parameter>" * 600,
    "<tool_call>read_file" + "<arg_key></arg_key><arg_value>" * 600,
    "<function=read_file>" + "</parameter>" * 1_600,
    "```tool_code\nread_file(" + "-" * 19_000 + "1)",
    "```tool_code\nread_file(" + "(" * 19_000,
    "<｜DSML｜" * 2_400,
    "to=functions." * 1_500,
    "<|tool_call>call:read_file{" + "<escape>" * 2_400,
    "<|start|>assistant " * 1_000,
    "<think>" * 2_800,
]
"""What a search that goes back and forth would not come to an end with."""


@pytest.mark.parametrize("text", [*CALLS, *DIALECTS])
def test_l7_a_call_written_as_text(text: str) -> None:
    spoken = find_text_calls(text, TOOLS)
    assert spoken is not None
    assert spoken.calls == (("read_file", A),)
    assert spoken.before in ("", *SAID)


@pytest.mark.parametrize("text", [*ANSWERS, *SHOWN, *HOSTILE])
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
        '[TOOL_CALLS]read_file[ARGS]{"path": "a.txt"}[TOOL_CALLS]now[ARGS]{}',
        f"{CODER}\n<tool_call>\n<function=now>\n</function>\n</tool_call>",
        f'<minimax:tool_call>{INVOKE}<invoke name="now"></invoke></minimax:tool_call>',
        f"<tool_call>{PAIRS}</tool_call><tool_call>now</tool_call>",
        f"```tool_code\n{PYTHON}\nnow()\n```",
        f"[{PYTHON}, now()]",
        f"{HARMONY}{START}<|channel|>commentary to=functions.now<|message|>{{}}<|call|>",
        f"{GEMMA}<|tool_call>call:now{{}}<tool_call|>",
        PLAIN[:-1] + "}\n" + OTHER[:-1],
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


WRITE = ToolSpec(
    "write",
    "Write.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "content": {"type": "string"},
            "mode": {"type": "integer"},
            "force": {"type": "boolean"},
            "lines": {"type": "array"},
            "what": {},
        },
    },
)
CONTENT = "def a():\n    return '</b>' # \"x\" \\n <parameter> {'a': 1}\n"


@pytest.mark.parametrize(
    "text",
    [
        "<function=write>\n<parameter=path>\n007\n</parameter>\n<parameter=content>\n"
        f"{CONTENT}\n</parameter>\n<parameter=mode>\n7\n</parameter>\n<parameter=force>\nTrue\n"
        "</parameter>\n<parameter=lines>\n[1, 2]\n</parameter>\n</function>",
        "<tool_call>write\n<arg_key>path</arg_key><arg_value>007</arg_value>\n<arg_key>content"
        f"</arg_key><arg_value>{CONTENT}\n</arg_value><arg_key>mode</arg_key><arg_value>7</arg_value>"
        "<arg_key>force</arg_key><arg_value>true</arg_value><arg_key>lines</arg_key><arg_value>[1, 2]"
        "</arg_value></tool_call>",
        '<｜DSML｜invoke name="write"><｜DSML｜parameter name="path" string="true">007'
        '</｜DSML｜parameter><｜DSML｜parameter name="content" string="true">'
        f"{CONTENT}\n</｜DSML｜parameter>"
        '<｜DSML｜parameter name="mode" string="false">7</｜DSML｜parameter>'
        '<｜DSML｜parameter name="force" string="false">true</｜DSML｜parameter>'
        '<｜DSML｜parameter name="lines" string="false">[1, 2]</｜DSML｜parameter></｜DSML｜invoke>',
        f"```tool_code\nwrite(path='007', content={CONTENT!r}, mode=7, force=True, lines=[1, 2])\n```",
        '<|tool_call>call:write{path:<|"|>007<|"|>,content:<|"|>'
        f'{CONTENT}<|"|>,mode:7,force:true,lines:[1,2]}}<tool_call|>',
    ],
)
def test_l7_values_have_the_types_of_the_schema(text: str) -> None:
    spoken = find_text_calls(text, [WRITE])
    assert spoken is not None
    wanted = {"path": "007", "content": CONTENT, "mode": 7, "force": True, "lines": [1, 2]}
    assert spoken.calls == (("write", wanted),)


@pytest.mark.parametrize("text", [*CALLS, *DIALECTS])
@pytest.mark.parametrize("form", [str, json.dumps, html.escape])
def test_l7_a_call_that_a_file_holds_is_not_run(text: str, form: Callable[[str], str]) -> None:
    """Whatever notation the model repeats it in."""
    told: JsonObject = {"role": "tool", "tool_call_id": "x", "content": f"Docs:\n{form(text)}\nEnd"}
    assert is_quoted("read_file", {"path": "a.txt"}, [told])
    other: JsonObject = {**told, "content": form(text).replace("a.txt", "b.txt")}
    assert not is_quoted("read_file", {"path": "a.txt"}, [other])


@pytest.mark.parametrize(
    "said",
    [
        "Read a.txt with read_file, please.",
        "Use read_file for path a.txt.",
        "What does a.txt say? (read_file, path)",
    ],
)
def test_l7_the_persons_wish_is_no_quote(said: str) -> None:
    assert not is_quoted("read_file", A, [{"role": "user", "content": said}])


def test_l7_nothing_is_a_call_without_tools() -> None:
    assert find_text_calls(PLAIN, ()) is None


@given(st.sampled_from([*CALLS, *DIALECTS]), st.data())
def test_l7_a_call_cut_off_before_its_value_ends_is_none(text: str, data: Any) -> None:
    end = data.draw(st.integers(0, text.rindex("a.txt") + len("a.txt")))
    assert find_text_calls(text[:end], TOOLS) is None


@settings(max_examples=200)
@given(text=st.sampled_from([*CALLS, *DIALECTS, *ANSWERS, *SHOWN]), data=st.data())
def test_l7_however_the_stream_is_split_the_calls_are_the_same(text: str, data: Any) -> None:
    """What is shown is what came; an answer stays as it is to the byte."""
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=12)))
    pieces = [text[a:b] for a, b in pairwise([0, *cuts, len(text)])]
    accumulator = ChatAccumulator([], lambda _: ProviderError("server", "no", provider="x"))
    shown: list[Delta] = []
    for piece in pieces:
        shown += accumulator.feed({"choices": [{"index": 0, "delta": {"content": piece}}]})
    accumulator.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    assert words(shown) == text
    reply = accumulator.reply()
    found = TextCallRecognizer(request([]), native_call).recognized(reply)
    spoken = find_text_calls(text, [READ, NOW])
    if spoken is None:
        assert found is reply and (not reply.items or reply.items[0]["content"] == text)
    else:
        assert [(call.name, call.arguments) for call in found.calls] == list(spoken.calls)


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
