"""Tool calls in text: recognises calls that a model wrote as plain text (L-7).

Small and local models often write ``{"name": "read", "arguments": {…}}`` where
they should call, or their server does not know their form of a call. A reply
that is such a call and nothing more, for a tool that is on offer, with
arguments that fit it, becomes a proper call. Everything else stays text: an
example in an explanation must not run, nor what the model only repeats from
a file, a page or the person's words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from studio.domain.jsonvalue import Json, JsonObject, as_objects, as_text
from studio.domain.messages import ToolCall
from studio.domain.tools import ToolSpec

from .base import Reply, Request
from .openai_chat.stream import made_up_id
from .tool_arguments import reject_constant

LONGEST = 20_000
"""Characters; a longer reply is an answer, whatever it holds."""
PREFACE = 30
"""Words a model may say before its call ("I'll look that up.")."""

_TAGS = "tool_call|tool_calls|function_call|function_calls|tools|tool"
_OPENING = re.compile(
    rf"<(?P<tag>{_TAGS})>|<function=(?P<named>[\w.-]+)>|<\|python_tag\|>|\[TOOL_CALLS\]"
    r"|```[ \t]*(?P<fence>[\w-]*)[ \t]*\r?\n|(?P<bare>[\[{])"
)
_FENCES = frozenset({"", "json", "jsonc", "json5", "tool_call", "tool_calls", "tool", "javascript"})
_LEFTOVER = re.compile(rf"(?:\s|,|;|```|</(?:{_TAGS}|function)>|<\|[\w ]+\|>|</s>|<end_of_turn>)*")
_BETWEEN = re.compile(rf"(?:\s|,|;|```(?:json)?|</?(?:{_TAGS})>|<\|python_tag\|>|\[TOOL_CALLS\])*")
_SHOWS = re.compile(
    r"\b(?:examples?|e\.g|for instance|would|could|such as|looks? like|like this|format|syntax"
    r"|schema|you can|you may|should be|instead of|don't|do not|never)\b",
    re.IGNORECASE,
)
_BLANK = re.compile(r"[\s\\]")
"""What may differ between a text and its quote: a page may have it inside a string."""
_NAMES = ("name", "tool", "tool_name", "function_name", "function", "action")
_ARGUMENTS = ("arguments", "parameters", "input", "args", "params", "action_input", "tool_input")
_MARKS = frozenset({"id", "type", "index", "call_id", "tool_call_id", "thought", "reason"})
_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


@dataclass(frozen=True, slots=True)
class TextCalls:
    """What a text turned out to be: the words before, and calls by name and arguments."""

    before: str
    calls: tuple[tuple[str, JsonObject], ...]


class TextCallRecognizer:
    """Recognises calls in the whole reply to one request, among the tools that may be called.

    ``native`` writes a call as this protocol's message holds it.
    """

    def __init__(self, request: Request, native: Callable[[ToolCall], JsonObject]) -> None:
        self._request = request
        self._native = native

    def recognized(self, reply: Reply) -> Reply:
        """The reply with proper calls; the same object where its text is an answer."""
        if reply.stop != "end" or reply.calls or len(reply.items) != 1:
            return reply
        message = reply.items[0]
        spoken = find_text_calls(as_text(message.get("content")), self._request.callable)
        if spoken is None:
            return reply
        history = self._request.history
        if any(is_quoted(name, given, history) for name, given in spoken.calls):
            return reply
        calls = [
            ToolCall(made_up_id(history, n), name, given, json.dumps(given, ensure_ascii=False))
            for n, (name, given) in enumerate(spoken.calls)
        ]
        natives: list[Json] = [self._native(call) for call in calls]
        message = {**message, "content": spoken.before, "tool_calls": natives}
        return replace(reply, items=[message], calls=calls, stop="tool_use")


def find_text_calls(text: str, tools: Sequence[ToolSpec]) -> TextCalls | None:
    """The calls that a whole reply is; None for a reply that is an answer."""
    if not tools or len(text) > LONGEST:
        return None
    opening = _first(text)
    if opening is None:
        return None
    before = text[: opening.start()].strip()
    if len(before.split()) > PREFACE or _SHOWS.search(before):
        return None
    if opening["named"]:  # <function=read>{"path": "a"}</function>
        found = _values(text, opening.end())
        values = [{"name": opening["named"], "arguments": one} for one in found or []]
    else:
        values = _values(text, opening.start("bare") if opening["bare"] else opening.end())
    if not values:
        return None
    offered = {tool.name: tool for tool in tools}
    calls: list[tuple[str, JsonObject]] = []
    for value in values:
        call = _call(value)
        if (
            call is None
            or call[0] not in offered
            or not fits_schema(call[1], offered[call[0]].schema)
        ):
            return None
        calls.append(call)
    return TextCalls(before, tuple(calls)) if calls else None


def is_quoted(name: str, arguments: JsonObject, history: Sequence[JsonObject]) -> bool:
    """Whether the model was given these words: by the person, or by a tool's result.

    A file may hold a call; showing the file must not run it.
    """
    wanted = json.dumps(arguments, ensure_ascii=False) if arguments else f'"{name}"'
    needle = _BLANK.sub("", wanted)
    return any(
        needle in _BLANK.sub("", text)
        for message in history
        if message.get("role") in ("user", "tool")
        for text in _texts(message.get("content"))
        if name in text
    )


def _texts(content: Json) -> list[str]:
    parts = [as_text(part.get("text")) for part in as_objects(content)]
    return [as_text(content), *parts]


def fits_schema(arguments: JsonObject, schema: JsonObject) -> bool:
    """Whether arguments are what a tool takes, as far as names and plain types say."""
    known = schema.get("properties")
    known = known if isinstance(known, dict) else {}
    required = schema.get("required")
    if not all(name in arguments for name in (required if isinstance(required, list) else [])):
        return False
    for name, value in arguments.items():
        wanted = known.get(name)
        if wanted is None:
            if schema.get("additionalProperties", False) is False:
                return False
        elif isinstance(wanted, dict) and not _is_a(value, wanted):
            return False
    return True


def _is_a(value: Json, wanted: JsonObject) -> bool:
    choices = wanted.get("enum")
    if isinstance(choices, list) and value not in choices:
        return False
    kinds = wanted.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if not any(isinstance(kind, str) and kind in _TYPES for kind in kinds):
        return True
    return any(
        isinstance(value, _TYPES[kind])
        and not (isinstance(value, bool) and kind in ("integer", "number"))
        for kind in kinds
        if isinstance(kind, str) and kind in _TYPES
    )


def _first(text: str) -> re.Match[str] | None:
    """Where the call would begin: a tag, a fence of JSON, or a bracket at a line's start."""
    for found in _OPENING.finditer(text):
        if found["fence"] is not None and found["fence"].lower() not in _FENCES:
            return None
        before = text[: found.start()].rstrip(" \t")
        # In the middle of a sentence it is none; after a colon it may be meant.
        return None if found["bare"] and before and before[-1] not in "\n:" else found
    return None


def _values(text: str, start: int) -> list[Json] | None:
    """The JSON values from here to the end; None if anything else is there too."""
    decoder = json.JSONDecoder(parse_constant=reject_constant)
    values: list[Json] = []
    place = _BETWEEN.match(text, start).end()  # type: ignore[union-attr] - matches nothing too
    while place < len(text):
        if text[place] not in "[{":
            break
        try:
            value: Json
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return None  # cut off, or no JSON at all
        if isinstance(value, dict) and value.keys() == {"tool_calls"}:
            value = value["tool_calls"]
        values += value if isinstance(value, list) else [value]
        rest = _LEFTOVER.fullmatch(text, place)
        if rest is not None:
            return values
        place = _BETWEEN.match(text, place).end()  # type: ignore[union-attr]
    return None


def _call(value: Json) -> tuple[str, JsonObject] | None:
    """The name and the arguments of one call, in any of the usual ways to write it."""
    if not isinstance(value, dict):
        return None
    for wrapper in ("function", "function_call", "tool_call"):
        inner = value.get(wrapper)
        if isinstance(inner, dict) and value.keys() <= {wrapper, *_MARKS}:
            return _call(inner)
    name_key = next((key for key in _NAMES if isinstance(value.get(key), str)), None)
    given_key = next((key for key in _ARGUMENTS if key in value), None)
    if name_key is None or given_key is None:
        return None
    if not value.keys() <= {name_key, given_key, *_MARKS}:
        return None
    given = value[given_key]
    if isinstance(given, str):
        try:
            parsed: Json = json.loads(given)
        except (ValueError, RecursionError):
            return None
        given = parsed
    return (str(value[name_key]), given) if isinstance(given, dict) else None
