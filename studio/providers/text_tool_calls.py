"""Tool calls in text: recognises calls that a model wrote as plain text (L-7).

Small and local models often write ``{"name": "read", "arguments": {…}}`` where
they should call, or their server does not know their form of a call
(``text_call_dialects`` has the forms). A reply that is such a call and nothing more, for a
tool that is on offer, with arguments that fit it, becomes a proper call. Everything
else stays text: an example in an explanation must not run, nor what the model only
repeats from a file, a page or the person's words.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from studio.domain.jsonvalue import Json, JsonObject, as_objects, as_text
from studio.domain.messages import ToolCall
from studio.domain.patterns import lazy_pattern
from studio.domain.records import dataclass
from studio.domain.tools import ToolSpec

from .base import Reply, Request
from .openai_chat.stream import MadeUpIds
from .text_call_dialects import OPENING, TextCall, read_calls

LONGEST = 20_000
"""Characters; a longer reply is an answer, whatever it holds."""
MOST = 50
"""Calls; a reply with more is an answer."""
PREFACE = 30
"""Words a model may say before its call ("I'll look that up.")."""

_FENCES = frozenset(
    {"", "json", "jsonc", "json5", "tool_call", "tool_calls", "tool", "tool_code", "javascript"}
    | {"xml", "function_call"}
)
_SHOWS = lazy_pattern(
    r"\b(?:examples?|e\.g|for instance|would|could|such as|looks? like|like this|format|syntax"
    r"|schema|you can|you may|should be|instead of|don't|do not|never"
    r"|beispiel\w*|z\.\s?b\.|würden?|könnten?|etwa so|sieht|statt|niemals?|nicht"
    r"|par exemple|exemples?|ejemplos?|por ejemplo|esempio|exemplo|voorbeeld|пример\w*)\b"
    r"|例",
    re.IGNORECASE,
)
"""Words before something that is shown, not meant."""
_THOUGHT = lazy_pattern(
    r"\s*(?:<(?P<tag>think(?:ing)?|reasoning)>.*?</(?P=tag)>|\[THINK\].*?\[/THINK\]"
    r"|<\|START_THINKING\|>.*?<\|END_THINKING\|>|<\|channel>thought\b.*?<channel\|>"
    r"|<\|channel\|>analysis<\|message\|>.*?(?:<\|end\|>|(?=<\|start\|>|<\|channel\|>))"
    r"|analysis.*?(?=assistantcommentary to=))\s*",
    re.DOTALL | re.IGNORECASE,
)
"""What a model thinks first, where its server takes that for the answer."""
_END_OF_THOUGHT = lazy_pattern(r"(?<=\n)</think>\s*")
"""Where the template of the model has the beginning."""
_CHANNELS = lazy_pattern(
    r"<\|(?:start|end|message)\|>(?:assistant\b)?|<\|channel\|>(?:commentary|analysis|final)"
)
_MINIMAX = "]<]minimax[>["
"""What one model writes before each of its tags."""
_ENDS = "\n:.!?…。！？>)"
"""How what a model says before a call may end, where a mark follows."""
_BLANK = lazy_pattern(r"[\s\\]")
"""What may differ between a text and its quote: a page may have it inside a string."""
_MARGIN = lazy_pattern(r"^(?:\d+\t|[^\n]{1,300}?[:-]\d+[:-] )", re.MULTILINE)
"""What reading and searching put before a line: its number, its file."""
_FOLLOWS = r"""(?=["(\[{<>|｜\\]|'(?!\w)|:\d|\.call\b|\s+(?:<|\{|```|json\b|\\u003c))"""
"""What stands behind a tool's name in a call."""
_SPOKEN = lazy_pattern(r"[^\W_]+")
_CODED = lazy_pattern(r"\\u([0-9a-fA-F]{4})|\\[nrtbf]")
_SIGNS = lazy_pattern(r"<[|｜][^<>\n]{0,40}[|｜]>|:\d+(?=\s*<)|\[CALL_ID\]\s*\w+")
_NOTATION = frozenset(
    re.findall(
        r"\w+",
        "name tool tools function functions action arguments argument arg args parameters "
        "parameter param params input key value call calls code invoke json string text print "
        "default api type escape message channel constrain commentary analysis assistant to id "
        "begin end start sep section dsml minimax seed python tag antml null none true false",
    )
)
"""Words that notations of calls consist of, and constants, which each writes its own way."""
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
    calls: tuple[TextCall, ...]


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
        if spoken is None or len(spoken.calls) > MOST:
            return reply
        history = self._request.history
        if any(is_quoted(name, given, history) for name, given in spoken.calls):
            return reply
        made_up = MadeUpIds(history)
        calls = [
            ToolCall(made_up.at(n), name, given, json.dumps(given, ensure_ascii=False))
            for n, (name, given) in enumerate(spoken.calls)
        ]
        natives: list[Json] = [self._native(call) for call in calls]
        message = {**message, "content": spoken.before, "tool_calls": natives}
        return replace(reply, items=[message], calls=calls, stop="tool_use")


def find_text_calls(text: str, tools: Sequence[ToolSpec]) -> TextCalls | None:
    """The calls that a whole reply is; None for a reply that is an answer."""
    if not tools or len(text) > LONGEST:
        return None
    text = without_thoughts(text.replace(_MINIMAX, ""))
    opening = _first(text)
    if opening is None:
        return None
    before = _CHANNELS.sub("", text[: opening.start()]).strip()
    if len(before.split()) > PREFACE or _SHOWS.search(before):
        return None
    offered = {tool.name: tool for tool in tools}
    python = opening["fence"] is None or opening["fence"].lower() == "tool_code"
    calls = read_calls(text, opening.end(), offered, python=python)
    if not calls or not all(fits_schema(given, offered[name].schema) for name, given in calls):
        return None
    return TextCalls(before, tuple(calls))


def is_quoted(name: str, arguments: JsonObject, history: Sequence[JsonObject]) -> bool:
    """Whether the model was given this call: by the person, or by a tool's result.

    A file may hold a call; showing the file must not run it, in whatever notation the file
    or the model writes it. So it is the words that are compared: the tool's name, then the
    names and values of the arguments in their order.
    """
    needle = _BLANK.sub("", json.dumps(arguments, ensure_ascii=False)) if arguments else f'"{name}"'
    wanted = [_words(f"{name} {' '.join(_flat(arguments, keys=keys))}") for keys in (True, False)]
    named = re.compile(re.escape(name) + _FOLLOWS)
    length = 6 * len(needle) + 100 * (len(arguments) + 1)
    for text in _given(history):
        if name not in text:
            continue
        if needle in _BLANK.sub("", text):
            return True
        for place in named.finditer(text):
            words = _words(text[place.start() : place.start() + length])
            if any(words[: len(each)] == each for each in wanted):
                return True
    return False


def _given(history: Sequence[JsonObject]) -> Iterator[str]:
    """The texts that the model was given."""
    for message in history:
        if message.get("role") in ("user", "tool"):
            content = message.get("content")
            for text in [
                as_text(content),
                *(as_text(one.get("text")) for one in as_objects(content)),
            ]:
                text = html.unescape(text) if "&" in text else text
                yield text
                if _MARGIN.search(text):
                    yield _MARGIN.sub("", text)


def _flat(value: Json, *, keys: bool) -> Iterator[str]:
    """The values in arguments in their order, with the names before them if ``keys``."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key if keys else ""
            yield from _flat(inner, keys=keys)
    elif isinstance(value, list):
        for inner in value:
            yield from _flat(inner, keys=keys)
    else:
        yield value if isinstance(value, str) else json.dumps(value)


def _words(text: str) -> list[str]:
    """The words of a text, without those that notations of calls consist of."""
    text = _CODED.sub(lambda code: chr(int(code[1], 16)) if code[1] else " ", text)
    text = _SIGNS.sub(" ", text)
    return [word for word in _SPOKEN.findall(text.lower()) if word not in _NOTATION]


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


def without_thoughts(text: str) -> str:
    """A reply without what the model thought first."""
    end = 0
    while (thought := _THOUGHT.match(text, end)) is not None:
        end = thought.end()
    ended = None if end else _END_OF_THOUGHT.search(text)
    return text[ended.end() if ended is not None else end :]


def _first(text: str) -> re.Match[str] | None:
    """Where the call would begin: a mark, a fence, or a bracket at a line's start."""
    for found in OPENING.finditer(text):
        if found["fence"] is not None and found["fence"].lower() not in _FENCES:
            return None
        before = text[: found.start()].rstrip(" \t")
        # In the middle of a sentence it is none; after a colon it may be meant.
        after = "\n:" if found["bare"] else _ENDS
        return None if before and before[-1] not in after else found
    return None
