"""The dialect of OpenAI's Responses; writes events while a response comes, or one object.

The shapes are those of https://openresponses.org/specification and of OpenAI's
own service, which its SDK reads. Both forms are made of the same items: the last
event holds the object that a whole response is.
"""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from studio.domain.jsonvalue import Json, JsonObject, repair_surrogates, sanitize_json
from studio.domain.messages import ToolCall
from studio.domain.models import Usage
from studio.server.contract import (
    ApiRequest,
    BadRequest,
    Outcome,
    ProgressPart,
    ReasoningPart,
    ResponseInfo,
    ResponsePart,
    TextPart,
    ToolCallPart,
    sse_event,
)

from .base import Dialect
from .client_tools import ClientName, arguments_text, input_text
from .fields import Fields
from .openai_common import DONE, error_type
from .responses_request import client_names, is_hosted, read_request, references, with_items

PREFIX = "resp_"
"""What stands before an answer's number."""
_INCOMPLETE = {
    "length": "max_output_tokens",
    "limit": "max_output_tokens",  # the API has no word for limits of an agent
    "refused": "content_filter",
}


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of streamed text, with the names of its events and fields."""

    item: Literal["message", "reasoning"]
    prefix: str
    parts: str
    part: str
    words: str
    around: str
    inside: str
    notes: tuple[str, ...] = ()
    """Lists that a part has besides its words; always empty here."""

    def part_of(self, text: str) -> JsonObject:
        return {"type": self.part, self.words: text, **{note: [] for note in self.notes}}


_WORDS = _Kind(
    "message",
    "msg",
    "content",
    "output_text",
    "text",
    "response.content_part",
    "response.output_text",
    ("annotations", "logprobs"),
)
_REFUSAL = replace(_WORDS, part="refusal", words="refusal", inside="response.refusal", notes=())
_SUMMARY = _Kind(
    "reasoning",
    "rs",
    "summary",
    "summary_text",
    "text",
    "response.reasoning_summary_part",
    "response.reasoning_summary_text",
)


@dataclass(frozen=True, slots=True)
class _CallKind:
    """A kind of calls, with the names of its events and of the field that the model wrote."""

    item: str
    prefix: str
    words: str
    inside: str


FUNCTION_PREFIX, CUSTOM_PREFIX = "fc", "ctc"
_FUNCTION = _CallKind(
    "function_call", FUNCTION_PREFIX, "arguments", "response.function_call_arguments"
)
_CUSTOM = _CallKind("custom_tool_call", CUSTOM_PREFIX, "input", "response.custom_tool_call_input")


class ResponsesResponse:
    """Writes one response; ``settings`` are the request's, which the object repeats.

    ``names`` are the client's own names of its tools, where the model has others.

    Reasoning, and lines about the steps of tools, are parts of the summary of a
    reasoning item, so that a reader of the text does not meet them.
    ``clock`` gives the seconds since the epoch at which the answer is whole.
    """

    def __init__(
        self,
        settings: JsonObject,
        about: ResponseInfo,
        names: Mapping[str, ClientName] | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._names = names or {}
        self._about = about
        self._clock = clock
        self._output: list[Json] = []
        self._item: JsonObject | None = None
        """The one that still grows, the last of the output."""
        self._kind = _WORDS
        """Of the part that grows, the last of that item."""
        self._pieces: list[str] | None = None
        """Its text so far; None while no part is open."""
        self._frames: list[bytes] = []
        self._events = 0
        self._ended: JsonObject = {}
        """What the end changes in the object."""

    def take(self, part: ResponsePart) -> None:
        self.frames(part)

    def frames(self, part: ResponsePart) -> bytes:
        if not self._events:
            self._send("response.created", response=self.body())
            self._send("response.in_progress", response=self.body())
        match part:
            case TextPart():
                self._say(_WORDS, part.text)
            case ReasoningPart():
                self._say(_SUMMARY, part.text)
            case ProgressPart():
                self._close_part()
                self._say(_SUMMARY, part.text)
                self._close_part()
            case ToolCallPart():
                self._close_item("completed")
                self._call(part.call)
            case Outcome():
                self._end(part)
            case _:
                assert_never(part)
        frames = b"".join(self._frames)
        self._frames.clear()
        return frames

    def body(self) -> JsonObject:
        """The object so far; after the end it is the whole response, also a failed one."""
        return {
            "id": f"{PREFIX}{self._about.number}",
            "object": "response",
            "created_at": self._about.created,
            "completed_at": None,
            "status": "in_progress",
            "error": None,
            "incomplete_details": None,
            "model": self._about.model,
            "output": [*self._output],
            "usage": None,
            **self._settings,
            **self._ended,
        }

    def _say(self, kind: _Kind, text: str) -> None:
        if not (text := repair_surrogates(text)):
            return
        if self._item is None or self._item["type"] != kind.item:
            self._close_item("completed")
            self._open(kind)
        if self._pieces is None or self._kind is not kind:
            self._close_part()
            self._kind, self._pieces = kind, []
            self._send(f"{kind.around}.added", **self._place(), part=kind.part_of(""))
        self._pieces.append(text)
        self._send(f"{kind.inside}.delta", **self._place(), delta=text, **_unlogged(kind))

    def _open(self, kind: _Kind) -> None:
        role: JsonObject = {"role": "assistant"} if kind.item == "message" else {}
        self._add(kind.prefix, {"type": kind.item, **role, kind.parts: []})

    def _call(self, call: ToolCall) -> None:
        own = self._names.get(call.name, ClientName(call.name))
        kind = _CUSTOM if own.custom else _FUNCTION
        text = repair_surrogates((input_text if own.custom else arguments_text)(call))
        space: JsonObject = {"namespace": own.namespace} if own.namespace else {}
        head: JsonObject = {"type": kind.item, "call_id": call.id, "name": own.name, **space}
        self._add(kind.prefix, {**head, kind.words: ""})
        assert self._item is not None
        place: JsonObject = {"item_id": self._item["id"], "output_index": len(self._output) - 1}
        self._send(f"{kind.inside}.delta", **place, delta=text)
        self._send(f"{kind.inside}.done", **place, **{kind.words: text})
        self._item[kind.words] = text
        self._close_item("completed")

    def _add(self, prefix: str, item: JsonObject) -> None:
        index = len(self._output)
        self._item = {"id": item_id(prefix, self._about.number, index), **item}
        self._item["status"] = "in_progress"
        self._output.append(self._item)
        self._send("response.output_item.added", output_index=index, item=self._item)

    def _place(self) -> JsonObject:
        assert self._item is not None
        parts = self._item[self._kind.parts]
        assert isinstance(parts, list)
        return {
            "item_id": self._item["id"],
            "output_index": len(self._output) - 1,
            f"{self._kind.parts}_index": len(parts),
        }

    def _close_part(self) -> None:
        if self._pieces is None or self._item is None:
            return
        kind, text = self._kind, "".join(self._pieces)
        place, part = self._place(), kind.part_of(text)
        self._send(f"{kind.inside}.done", **place, **{kind.words: text}, **_unlogged(kind))
        self._send(f"{kind.around}.done", **place, part=part)
        parts = self._item[kind.parts]
        assert isinstance(parts, list)
        parts.append(part)
        self._pieces = None

    def _close_item(self, status: Literal["completed", "incomplete"]) -> None:
        if self._item is None:
            return
        self._close_part()
        self._item["status"] = status
        index = len(self._output) - 1
        self._send("response.output_item.done", output_index=index, item=self._item)
        self._item = None

    def _end(self, outcome: Outcome) -> None:
        if outcome.stop == "refused":
            self._say(_REFUSAL, outcome.detail)
        self._close_item("incomplete" if outcome.stop in ("length", "error") else "completed")
        self._ended = {"usage": usage_of(outcome.usage)}
        if outcome.stop == "error":
            self._fail(outcome)
        elif reason := _INCOMPLETE.get(outcome.stop):
            self._ended |= {"status": "incomplete", "incomplete_details": {"reason": reason}}
            self._send("response.incomplete", response=self.body())
        else:
            self._ended |= {"status": "completed", "completed_at": int(self._clock())}
            self._send("response.completed", response=self.body())
        self._frames.append(DONE)

    def _fail(self, outcome: Outcome) -> None:
        """Write an error twice: inside as the service sends it, outside as documented.

        OpenAI's SDK raises on the former and has a type for the latter.
        """
        kind = error_type(outcome.status)
        words: JsonObject = {
            "code": outcome.code or kind,
            "message": repair_surrogates(outcome.detail),
        }
        self._ended |= {"status": "failed", "error": words}
        error: JsonObject = {"type": kind, **words, "param": None}
        self._send("error", error=error, **words, param=None)
        self._send("response.failed", response=self.body())

    def _send(self, name: str, **fields: Json) -> None:
        data: JsonObject = {"type": name, "sequence_number": self._events, **fields}
        self._events += 1
        self._frames.append(sse_event(data, name))


_ITEM = re.compile(r"[a-z]+_([0-9A-Za-z_-]{43})_[0-9]+")


def item_id(prefix: str, number: str, index: int) -> str:
    """The id of an item of an answer's output: OpenAI takes back up to 64 characters."""
    packed = base64.urlsafe_b64encode(bytes.fromhex(number)).rstrip(b"=").decode()
    return f"{prefix}_{packed}_{index}"


def answer_of_item(item: str) -> str | None:
    """The number of the answer that an item is of; None if this is no id of one."""
    match = _ITEM.fullmatch(item)
    return match and base64.urlsafe_b64decode(f"{match[1]}=").hex()


def _unlogged(kind: _Kind) -> JsonObject:
    """The empty list of log probabilities that OpenAI's types require."""
    return {"logprobs": []} if kind is _WORDS else {}


def usage_of(usage: Usage) -> JsonObject:
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.total,
    }


def stored_response(
    parts: Iterable[ResponsePart], about: ResponseInfo, ended: float, body: JsonObject | None = None
) -> JsonObject:
    """The object of a response that was made before, as far as its ``parts`` go.

    ``ended`` is in seconds since the epoch. ``body`` has what is still known of
    the request: ``instructions``, ``previous_response_id``.
    """
    answer = ResponsesResponse(echoed_settings(body or {}), about, clock=lambda: ended)
    for part in parts:
        answer.take(part)
    return answer.body()


def deleted_response(number: str) -> JsonObject:
    """The object that confirms a deletion."""
    return {"id": f"{PREFIX}{number}", "object": "response", "deleted": True}


def echoed_settings(body: JsonObject) -> JsonObject:
    """The settings of a request that its response repeats.

    The specification wants a value for each. Where the request has none, it is
    what OpenAI's service says of its own defaults.
    """
    fields = Fields(body)
    text, reasoning = fields.inner("text") or Fields({}), fields.inner("reasoning") or Fields({})
    tools = fields.objects("tools")
    shown: JsonObject = {
        "background": fields.flag("background", False),
        "frequency_penalty": 0,
        "instructions": fields.get("instructions"),
        "max_output_tokens": fields.count("max_output_tokens"),
        "max_tool_calls": fields.count("max_tool_calls"),
        "metadata": fields.get("metadata") or {},
        "parallel_tool_calls": fields.flag("parallel_tool_calls", True),
        "presence_penalty": 0,
        "previous_response_id": fields.get("previous_response_id"),
        "prompt_cache_key": fields.get("prompt_cache_key"),
        "reasoning": {"effort": reasoning.get("effort"), "summary": reasoning.get("summary")},
        "safety_identifier": fields.get("safety_identifier"),
        "service_tier": "default",
        "store": fields.flag("store", True),
        "temperature": _or(fields.get("temperature"), 1),
        "text": _text_shown(text),
        "tool_choice": fields.get("tool_choice") or "auto",
        "tools": [_tool_shown(tool) for tool in tools if not is_hosted(tool.text("type"))],
        "top_logprobs": 0,
        "top_p": _or(fields.get("top_p"), 1),
        "truncation": fields.get("truncation") or "disabled",
    }
    if (user := fields.get("user")) is not None:  # the only one that may not be null
        shown["user"] = user
    whole = sanitize_json(shown)
    assert isinstance(whole, dict)
    return whole


def _tool_shown(tool: Fields) -> Json:
    if tool.get("type") != "function":
        return tool.values
    return _described(tool, "function", "parameters", True)


def _or(value: Json, default: Json) -> Json:
    return default if value is None else value


def _text_shown(text: Fields) -> JsonObject:
    verbosity: JsonObject = {"verbosity": text.get("verbosity") or "medium"}
    kind = text.inner("format")
    if kind is None or kind.get("type") != "json_schema":
        return {"format": {"type": (kind and kind.get("type")) or "text"}, **verbosity}
    return {"format": _described(kind, "json_schema", "schema", False), **verbosity}


def _described(fields: Fields, kind: str, schema: str, strict: bool) -> JsonObject:
    """A tool or a form of the text; ``strict`` is its default."""
    return {
        "type": kind,
        "name": fields.get("name"),
        "description": fields.get("description"),
        schema: fields.get(schema),
        "strict": fields.flag("strict", strict),
    }


class ResponsesDialect(Dialect):
    """``POST /v1/responses``."""

    name = "responses"
    path = "/v1/responses"
    count_path = "/v1/responses/input_tokens"

    def read_request(self, body: JsonObject) -> ApiRequest:
        return read_request(body)

    def references(self, body: JsonObject) -> Sequence[str]:
        return references(body)

    def with_items(self, body: JsonObject, items: Mapping[str, JsonObject]) -> JsonObject:
        return with_items(body, items)

    def response_writer(
        self, request: ApiRequest, info: ResponseInfo, body: JsonObject
    ) -> ResponsesResponse:
        return ResponsesResponse(echoed_settings(body), info, client_names(body))

    def count_body(self, tokens: int) -> JsonObject:
        return {"object": "response.input_tokens", "input_tokens": tokens}

    def unmatched_result(self, call_id: str, message: int, block: int) -> BadRequest:
        return BadRequest(
            f"No tool call found for function call output with call_id {call_id}.", param="input"
        )


DIALECT = ResponsesDialect()
