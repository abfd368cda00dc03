"""Text call dialects: reads calls in the notations that models write them in (L-7).

A server that does not know its model's notation passes it on as text. Where the text says a
value without its type, the tool's schema tells the type. Read are:

- JSON, alone or in tags: ``<tool_call>{"name": …, "arguments": …}</tool_call>`` (Hermes, Qwen),
  ``[TOOL_CALLS][…]`` (Mistral), ``<|python_tag|>{…}`` (Llama), ``functools[…]`` (Phi);
- a name before its arguments: ``[TOOL_CALLS]read[ARGS]{…}`` (Mistral), ``<｜tool▁call▁begin｜>
  read<｜tool▁sep｜>{…}`` (DeepSeek), ``functions.read:0<|tool_call_argument_begin|>{…}`` (Kimi),
  ``<|channel|>commentary to=functions.read <|message|>{…}`` (gpt-oss);
- elements: ``<function=read><parameter=path>a</parameter></function>`` (Qwen-coder), ``<invoke
  name="read"><parameter name="path">a</parameter></invoke>`` (MiniMax, DeepSeek with a prefix),
  ``read<arg_key>path</arg_key><arg_value>a</arg_value>`` (GLM);
- Python: ``read(path="a")`` in a fence or tags (Gemma, Llama, LFM2);
- ``call:read{path:<|"|>a<|"|>}`` (Gemma).
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias, cast

from studio.domain.jsonvalue import Json, JsonObject, is_clean_json
from studio.domain.patterns import lazy_pattern
from studio.domain.python_syntax import parse_python
from studio.domain.tools import ToolSpec

from .tool_arguments import parse_arguments, reject_constant, repair_json

TextCall: TypeAlias = tuple[str, JsonObject]
"""A tool's name and the arguments."""
_Read: TypeAlias = tuple[list[TextCall], int]
"""Calls, and the place in the text behind them."""

_PREFIX = r"(?:[|｜]DSML[|｜]|[\w-]+:)?"
_TAGS = r"tool_calls?|function_calls?|tools?|tool_code|toolcall|longcat_tool_call"
_TOKENS = (
    r"tool[_▁]calls?(?:[_▁]section)?(?:[_▁](?:begin|start))?|python_(?:tag|start)|start_action"
)
_TOKEN = r"<[|｜]/?[\w▁ ]+[|｜]>"
_NAME = r"(?P<name>[\w.-]+)"
_RECIPIENT = (
    r"(?:<\|start\|>\s*)?(?:assistant\s*)?(?:<\|channel\|>\s*)?(?:(?:commentary|analysis)\s*)?"
    r"(?:<\|recipient\|>\s*)?\bto=functions\."
)
OPENING = lazy_pattern(
    rf"(?={_RECIPIENT})|(?=<{_PREFIX}(?:function|invoke)(?:=|\s+name=))"
    rf"|<{_PREFIX}(?:{_TAGS})>|<[|｜](?:{_TOKENS})[|｜]>|(?=<\|tool_call>|<start_function_call>)"
    r"|\[TOOL_CALLS\]|(?=\bfunctools\[)"
    r"|```[ \t]*+(?P<fence>[\w-]*)[ \t]*\r?\n|(?=(?P<bare>[\[{]))",
    re.IGNORECASE,
)
"""Where a call may begin. ``fence`` is the word after its backticks."""
_MARKS = lazy_pattern(
    rf"(?:\s|,|;|```[\w-]*|</?{_PREFIX}(?:{_TAGS})>|{_TOKEN}|</s>|<end_of_turn>"
    r"|<eos>|\[/?TOOL_CALLS\]|<\|tool_call>|<tool_call\|>|<(?:start|end)_function_call>"
    r"|\bfunctools(?=\[))*",
    re.IGNORECASE,
)
"""What stands around calls and between them."""
_CLOSING = lazy_pattern(
    rf"(?:\s|```|</{_PREFIX}(?:{_TAGS})>|{_TOKEN}|</s>|<end_of_turn>)+", re.IGNORECASE
)

_ELEMENT = lazy_pattern(rf'<{_PREFIX}(?:function|invoke)(?:=|\s+name=)["\']?{_NAME}["\']?\s*>\s*')
_CLOSED = lazy_pattern(rf"\s*(?:</{_PREFIX}(?:function|invoke)>|\Z)")
_PARAMETER = lazy_pattern(
    rf'\s*<(?P<tag>{_PREFIX}(?:parameter|param))(?:=|\s+name=)["\']?(?P<key>[^<>"\'\s=]+)["\']?'
    r'(?:\s+string="(?P<string>true|false)")?\s*>(?P<value>.*?)</(?P=tag)>'
    rf"(?=\s*(?:\Z|```|<{_PREFIX}(?:parameter|param)\b|</{_PREFIX}(?:function|invoke|{_TAGS})>))",
    re.DOTALL,
)
_PLAIN_PARAMETER = lazy_pattern(r"\s*<(?P<key>[\w-]+)>(?P<value>.*?)</(?P=key)>", re.DOTALL)
_PAIRS = lazy_pattern(rf"{_NAME}\s*(?=<arg_key>|</{_PREFIX}tool_call>)")
_PAIR = lazy_pattern(
    r"\s*<arg_key>(?P<key>[^<]*)</arg_key>\s*<arg_value>(?P<value>.*?)</arg_value>"
    rf"(?=\s*(?:\Z|<arg_key>|</{_PREFIX}tool_call>))",
    re.DOTALL,
)
_NAMED = lazy_pattern(
    rf"(?:{_RECIPIENT}|(?:function\s*<[|｜]tool[_▁]sep[|｜]>\s*)?(?:functions\.)?){_NAME}(?::\d+)?"
    r"(?:\s*\[CALL_ID\]\s*\w+)?"
    rf"(?:\s|\[ARGS\]|{_TOKEN}|```(?:json)?|\b(?:json|code|commentary|analysis)\b)*(?=\{{)",
    re.IGNORECASE,
)
_CURLY = lazy_pattern(rf"call:\s*{_NAME}(?=\{{)")
_CURLY_END = lazy_pattern(r"<end_function_call>|<tool_call\|>")
_CURLY_TEXT = lazy_pattern(r'<escape>|<\|"\|>')
_CURLY_KEY = lazy_pattern(r"([{,]\s*)([A-Za-z_][\w-]*)\s*:")
_PYTHON = lazy_pattern(r"\[?\s*(?:print\()?[A-Za-z_][\w.-]*\(")
_NAMESPACES = lazy_pattern(r"^(?:functions|default_api|tools?|default_tools)\.")

_NAME_KEYS = ("name", "tool", "tool_name", "function_name", "function", "action")
_GIVEN_KEYS = ("arguments", "parameters", "input", "args", "params", "action_input", "tool_input")
_OTHER_KEYS = frozenset({"id", "type", "index", "call_id", "tool_call_id", "thought", "reason"})


def read_calls(
    text: str, start: int, tools: Mapping[str, ToolSpec], *, python: bool = True
) -> list[TextCall]:
    """The calls of these tools from a place to the end; none if anything else is there too.

    ``python``: whether lines of Python are calls here, and not code that is shown.
    """
    forms = (*_FORMS, _python) if python else _FORMS
    calls: list[TextCall] = []
    place = _skipped(text, start)
    while place < len(text):
        read = next(filter(None, (form(text, place, tools) for form in forms)), None)
        if read is None or not read[0]:
            return []
        calls += read[0]
        place = _skipped(text, read[1])
    return calls if all(is_clean_json(given) for _, given in calls) else []


def _skipped(text: str, place: int) -> int:
    found = _MARKS.match(text, place)
    return found.end() if found is not None else place


# The notations. Each returns None where the text is not in its notation.


def _elements(text: str, place: int, tools: Mapping[str, ToolSpec]) -> _Read | None:
    opened = _ELEMENT.match(text, place)
    if opened is None or (tool := tools.get(_plain(opened["name"]))) is None:
        return None
    place = opened.end()
    given: JsonObject = {}
    if text.startswith("{", place):
        found = _object(text, place)
        if found is None:
            return None
        given, place = found
    elif not text.startswith("</", place):
        pattern = _PARAMETER if _PARAMETER.match(text, place) else _PLAIN_PARAMETER
        for pair in _matches(pattern, text, place):
            if pair["key"] in given:
                return None
            said = pair.groupdict().get("string")
            given[pair["key"]] = _typed(pair["value"], tool, pair["key"], said=said)
            place = pair.end()
        if not given:
            return None
    closed = _CLOSED.match(text, place)
    if closed is not None:
        return [(tool.name, given)], closed.end()
    # Its end was a stop word of the server, and only marks may follow.
    return ([(tool.name, given)], place) if _skipped(text, place) == len(text) else None


def _pairs(text: str, place: int, tools: Mapping[str, ToolSpec]) -> _Read | None:
    opened = _PAIRS.match(text, place)
    if opened is None or (tool := tools.get(_plain(opened["name"]))) is None:
        return None
    given: JsonObject = {}
    place = opened.end()
    for pair in _matches(_PAIR, text, place):
        key = pair["key"].strip()
        given[key] = _typed(pair["value"], tool, key)
        place = pair.end()
    return [(tool.name, given)], place


def _named(text: str, place: int, tools: Mapping[str, ToolSpec]) -> _Read | None:
    opened = _NAMED.match(text, place)
    if opened is None or _plain(opened["name"]) not in tools:
        return None
    found = _object(text, opened.end())
    return None if found is None else ([(_plain(opened["name"]), found[0])], found[1])


def _curly(text: str, place: int, tools: Mapping[str, ToolSpec]) -> _Read | None:
    opened = _CURLY.match(text, place)
    if opened is None or opened["name"] not in tools:
        return None
    ended = _CURLY_END.search(text, opened.end())
    end = ended.start() if ended is not None else _end(text, place)
    pieces = _CURLY_TEXT.split(text[opened.end() : end])
    written = [
        json.dumps(piece, ensure_ascii=False) if number % 2 else _CURLY_KEY.sub(r'\1"\2":', piece)
        for number, piece in enumerate(pieces)
    ]
    try:
        given: Json = json.loads("".join(written), parse_constant=reject_constant)
    except (ValueError, RecursionError):
        return None
    return ([(opened["name"], given)], end) if isinstance(given, dict) else None


def _python(text: str, place: int, tools: Mapping[str, ToolSpec]) -> _Read | None:
    if _PYTHON.match(text, place) is None:
        return None
    code = text[place : _end(text, place)]
    try:
        module = cast("ast.Module", parse_python(code))
        calls = [_python_call(node, tools) for line in module.body for node in _called(line)]
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None
    known = [call for call in calls if call is not None]
    return (known, len(text)) if len(known) == len(calls) else None


def _called(line: ast.stmt) -> Iterator[ast.expr]:
    """The calls of a line: one, a list of them, or one that is printed."""
    value = line.value if isinstance(line, ast.Expr) else None
    if isinstance(value, ast.List):
        yield from value.elts
    elif isinstance(value, ast.Call):
        func, inner = value.func, value.args
        printed = isinstance(func, ast.Name) and func.id == "print" and len(inner) == 1
        yield inner[0] if printed else value
    else:
        raise ValueError("no call")


def _python_call(node: ast.expr, tools: Mapping[str, ToolSpec]) -> TextCall | None:
    if not isinstance(node, ast.Call):
        return None
    name = _plain(ast.unparse(node.func).removesuffix(".call"))
    if (tool := tools.get(name)) is None:
        return None
    order = list(_properties(tool))[: len(node.args)]
    given = {key: ast.literal_eval(value) for key, value in zip(order, node.args, strict=True)}
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in given:
            return None
        given[keyword.arg] = ast.literal_eval(keyword.value)
    return name, cast("JsonObject", json.loads(json.dumps(given, allow_nan=False)))


def _json(text: str, place: int, tools: Mapping[str, ToolSpec]) -> _Read | None:
    if text[place] not in "[{":
        return None
    try:
        value, end = _DECODER.raw_decode(text, place)
    except (ValueError, RecursionError):
        value, end = _repaired(text, place), len(text)
    values = cast("list[Json]", value) if isinstance(value, list) else [cast("Json", value)]
    calls: list[TextCall] = []
    for one in values:
        inner = one.get("tool_calls") if isinstance(one, dict) and len(one) == 1 else None
        for written in inner if isinstance(inner, list) else [one]:
            call = _json_call(written)
            if call is None or call[0] not in tools:
                return None
            calls.append(call)
    return calls, end


def _json_call(value: Json) -> TextCall | None:
    """The name and the arguments of one call, in any of the usual ways to write it."""
    if not isinstance(value, dict):
        return None
    for wrapper in ("function", "function_call", "tool_call"):
        inner = value.get(wrapper)
        if isinstance(inner, dict) and value.keys() <= {wrapper, *_OTHER_KEYS}:
            return _json_call(inner)
    name_key = next((key for key in _NAME_KEYS if isinstance(value.get(key), str)), None)
    given_key = next((key for key in _GIVEN_KEYS if key in value), None)
    if name_key is None or given_key is None:
        return None
    if not value.keys() <= {name_key, given_key, *_OTHER_KEYS}:
        return None
    given = value[given_key]
    if isinstance(given, str) and given.strip():
        given = parse_arguments(given)
    return (_plain(str(value[name_key])), given) if isinstance(given, dict) else None


_Form: TypeAlias = Callable[[str, int, Mapping[str, ToolSpec]], "_Read | None"]
_FORMS: tuple[_Form, ...] = (_json, _elements, _pairs, _curly, _named)
_DECODER = json.JSONDecoder(parse_constant=reject_constant)


# Parts of them


def _plain(name: str) -> str:
    return _NAMESPACES.sub("", name)


def _end(text: str, place: int) -> int:
    """Where from this place on only marks follow that end something."""
    runs = _CLOSING.finditer(text, place)
    return next((run.start() for run in runs if run.end() == len(text)), len(text))


def _matches(pattern: re.Pattern[str], text: str, place: int) -> Iterator[re.Match[str]]:
    """Matches of a pattern in a row, each where the one before ends."""
    while found := pattern.match(text, place):
        yield found
        place = found.end()


def _object(text: str, place: int) -> tuple[JsonObject, int] | None:
    """The JSON object here, and the place behind it; repaired if it is the last thing."""
    try:
        value, end = _DECODER.raw_decode(text, place)
    except (ValueError, RecursionError):
        value, end = _repaired(text, place), len(text)
    return (cast("JsonObject", value), end) if isinstance(value, dict) else None


def _repaired(text: str, place: int) -> object:
    """What broken JSON from here to the end stands for; None if that is not sure (L-6).

    It has to end in a bracket, and the repair may add and drop nothing but marks: words
    after a call make it an answer, and a value that was cut off must not be guessed.
    """
    broken = text[place : _end(text, place)]
    if not broken.endswith(("}", "]")) or _GAP.search(broken):
        return None
    value = repair_json(broken)
    try:
        written = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return None
    return value if _letters(written) == _letters(broken) else None


_GAP = lazy_pattern(r"[:{\[,]\s*[,:]|:\s*[}\]]|\.\.\.|…")
_ESCAPE = lazy_pattern(r"\\[nrtbf]")
_NONE = lazy_pattern(r"\bNone\b")


def _letters(text: str) -> str:
    return re.sub(r"\W", "", _ESCAPE.sub("", _NONE.sub("null", text))).lower()


def _properties(tool: ToolSpec) -> JsonObject:
    known = tool.schema.get("properties")
    return known if isinstance(known, dict) else {}


def _typed(text: str, tool: ToolSpec, key: str, said: str | None = None) -> Json:
    """A value that was written without its type. ``said``: "true" for a text, "false" for JSON."""
    text = text.removeprefix("\r\n").removeprefix("\n")
    text = text.removesuffix("\n").removesuffix("\r")
    schema = _properties(tool).get(key)
    kinds = schema.get("type") if isinstance(schema, dict) else None
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if said == "true" or (said is None and "string" in kinds and text.strip() != "null"):
        return text
    try:
        value: Json = json.loads(text, parse_constant=reject_constant)
    except (ValueError, RecursionError):
        words = {"True": True, "False": False, "None": None}
        return words.get(text.strip(), text)
    # Where nothing is known of the type, and in an enumeration, a text may look like a number.
    plain = isinstance(schema, dict) and text in cast("list[Json]", schema.get("enum") or [])
    return text if plain or (value is None and kinds == ["string"]) else value
