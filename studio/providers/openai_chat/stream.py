"""Chat Completions stream: adds chunks up to deltas and one assistant message."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Container, Sequence
from dataclasses import field
from itertools import count

from studio.domain.errors import ProviderError
from studio.domain.events import CallStarted, Delta, ReasoningDelta, TextDelta
from studio.domain.jsonvalue import (
    Json,
    JsonObject,
    TextBuffer,
    as_count,
    as_object,
    as_objects,
    repair_surrogates,
)
from studio.domain.messages import ToolCall
from studio.domain.models import StopReason, Usage
from studio.domain.records import dataclass
from studio.providers.base import MOST_CALLS, Reply
from studio.providers.call_identity import plain_id, plain_name
from studio.providers.sse import DONE, InvalidResponse
from studio.providers.tool_arguments import is_whole_object, parse_arguments

UNREADABLE = "unreadable_arguments"
"""The one argument under which broken arguments go back, for servers that take only objects."""

REASONING = ("reasoning_content", "reasoning")
"""Vendors' fields for what the model thinks, as text; echoed where they were sent."""

STOPS: dict[str, StopReason] = {
    "stop": "end",
    "eos": "end",
    "end_turn": "end",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "content_filter": "content_filter",
    "model_context_window_exceeded": "context_full",
}


class MadeUpIds:
    """Ids for calls that came without one.

    The same history and position give the same id, another history another.
    """

    def __init__(self, history: Sequence[JsonObject]) -> None:
        self._history = history
        self._stem = ""

    def at(self, number: int) -> str:
        if not self._stem:  # once, for the last message may hold a picture
            place = json.dumps([len(self._history), list(self._history[-1:])], sort_keys=True)
            self._stem = f"call_{hashlib.sha256(place.encode()).hexdigest()[:12]}"
        return f"{self._stem}_{number}"

    def free(self, number: int, taken: Container[str]) -> str:
        """The first of these ids, from this number on, that no call has."""
        return next(made for n in count(number) if (made := self.at(n)) not in taken)


@dataclass(slots=True)
class _Call:
    """A call while its pieces come; ``extra`` holds vendors' fields, signatures for one."""

    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list[str])
    extra: JsonObject = field(default_factory=dict[str, Json])
    started: bool = False

    @property
    def raw(self) -> str:
        return repair_surrogates("".join(self.pieces))

    @property
    def whole(self) -> bool:
        """Whether what came so far is one finished JSON object, unrepaired."""
        return is_whole_object(self.raw) and parse_arguments(self.raw) is not None


@dataclass(slots=True)
class _Detail:
    """One item of ``reasoning_details`` while its pieces come."""

    fields: JsonObject = field(default_factory=dict[str, Json])
    pieces: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def joins(self, piece: JsonObject) -> bool:
        """Whether a piece continues this item."""
        same = all(self.fields.get(name) == piece.get(name) for name in ("type", "index"))
        return same and piece.get("type") != "reasoning.encrypted"

    def add(self, piece: JsonObject) -> None:
        for key, value in piece.items():
            if key in ("text", "summary") and isinstance(value, str):
                self.fields.setdefault(key, "")
                self.pieces.setdefault(key, []).append(value)
            elif value is not None or key not in self.fields:
                self.fields[key] = value
                self.pieces.pop(key, None)

    def whole(self) -> JsonObject:
        return self.fields | {key: "".join(texts) for key, texts in self.pieces.items()}


class ChatAccumulator:
    """Folds chunks; ``history`` is what the request sent, for ids not used before.

    ``fault`` makes the ProviderError of an error object inside the stream.
    """

    def __init__(
        self,
        history: Sequence[JsonObject],
        fault: Callable[[object], ProviderError],
    ) -> None:
        self._made_up = MadeUpIds(history)
        self._fault = fault
        self._taken = call_ids(history)
        self._text = TextBuffer()
        self._refusal = TextBuffer()
        self._content_seen = False
        self._reasoning: dict[str, TextBuffer] = {}
        self._details: list[_Detail] = []
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._finish: str | None = None
        self._done = False
        self._usage = Usage()
        self._cost: float | None = None
        self._detail = ""

    @property
    def complete(self) -> bool:
        return self._done or self._finish is not None

    def feed(self, event: JsonObject) -> list[Delta]:
        deltas: list[Delta] = []
        if event is DONE:
            if not self._something and self._finish is None:
                raise InvalidResponse("an empty answer")
            self._done = True
            return deltas
        if error := event.get("error"):
            fault = self._fault(error)
            if self._finish is None:
                raise fault
            self._detail = str(fault)  # said after the end: a remark, no failure
        if "usage" in event:
            self._take_usage(event)
        choices = event.get("choices")
        if not isinstance(choices, list):
            if "object" not in event and "usage" not in event and "id" not in event:
                raise InvalidResponse("not a chat completion")
            return deltas
        for choice in choices:
            if not isinstance(choice, dict) or choice.get("index", 0) not in (0, None):
                continue
            delta = choice.get("delta") or choice.get("message")
            if isinstance(delta, dict):
                self._delta(delta, deltas)
            finish = choice.get("finish_reason")
            if isinstance(finish, str) and finish and (self._finish is None or finish != "stop"):
                self._finish = finish
        return deltas

    @property
    def _something(self) -> bool:
        return bool(self._content_seen or self._calls or self._reasoning or self._refusal.text)

    def _delta(self, delta: JsonObject, deltas: list[Delta]) -> None:
        shown = False
        for key in REASONING:
            if isinstance(piece := delta.get(key), str) and piece:
                new = self._reasoning.setdefault(key, TextBuffer()).add(piece)
                if not shown and new:  # some servers send both fields with the same words
                    deltas.append(ReasoningDelta(new))
                shown = True
        details, calls = delta.get("reasoning_details"), delta.get("tool_calls")
        for detail in as_objects(details) if details else ():
            if not (self._details and self._details[-1].joins(detail)):
                self._details.append(_Detail())
            self._details[-1].add(detail)
            words = detail.get("text") or detail.get("summary")
            if not shown and isinstance(words, str) and words:
                deltas.append(ReasoningDelta(repair_surrogates(words)))
        content = delta.get("content")
        if isinstance(content, list):  # some servers stream parts, as Mistral does
            content = "".join(_part_text(part) for part in content)
        if isinstance(content, str):
            self._content_seen = True
            if new := self._text.add(content):
                deltas.append(TextDelta(new))
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and (new := self._refusal.add(refusal)):
            deltas.append(TextDelta(new))
        for piece in as_objects(calls) if calls else ():
            self._call_piece(piece, deltas)

    def _call_piece(self, piece: JsonObject, deltas: list[Delta]) -> None:
        function = as_object(piece.get("function"))
        identifier = plain_id(_string(piece.get("id")))
        name = _string(function.get("name"))
        call = self._find(piece.get("index"), identifier, bool(name))
        if identifier and not call.started and not call.id:
            call.id = identifier
        if name and not call.name:
            call.name = plain_name(name)
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            call.pieces.append(arguments)
        elif isinstance(arguments, dict):
            call.pieces.append(json.dumps(arguments, ensure_ascii=False))
        for key, value in piece.items():
            if key not in ("index", "id", "type", "function") and value is not None:
                call.extra[key] = value
        if call.name and not call.started:
            call.started = True
            if not call.id or call.id in self._taken:
                call.id = self._made_up.free(len(self._calls) - 1, self._taken)
            self._taken.add(call.id)
            deltas.append(CallStarted(call.id, call.name))

    def _find(self, index: Json, identifier: str, named: bool) -> _Call:
        """The call a piece belongs to: by index; by id where servers give no index."""
        if isinstance(index, int):
            known = self._by_index.get(index)
            # Some servers give every parallel call the index 0.
            other = known and named and known.name and identifier and identifier != known.id
            if known is not None and not (other and known.whole):
                return known
            self._by_index[index] = self._new()
            return self._by_index[index]
        if self._calls and (not named or (identifier and identifier == self._calls[-1].id)):
            return self._calls[-1]
        return self._new()

    def _new(self) -> _Call:
        if len(self._calls) == MOST_CALLS:
            raise InvalidResponse("too many calls")
        self._calls.append(_Call())
        return self._calls[-1]

    def _take_usage(self, event: JsonObject) -> None:
        usage = event.get("usage")
        if isinstance(usage, dict):
            self._usage = usage_of(usage)
            # OpenRouter's word for what it charges, in US dollars.
            if (cost := _cost(usage.get("cost"))) is not None:
                self._cost = cost

    def reply(self) -> Reply:
        if self._finish == "error":
            raise self._fault(None)
        calls = [call for call in self._calls if call.name]
        finish = self._finish or "stop"
        stop = STOPS.get(finish, "other")
        detail = self._detail or (finish if stop == "other" else "")
        if calls and stop == "end":  # many servers say "stop" after calls, too
            stop = "tool_use"
        elif not calls and stop == "tool_use":
            stop = "end"
        if stop != "tool_use":
            calls = [call for call in calls if call.whole]
        if self._refusal.text and not calls:
            stop = "refusal"
        items, parsed = self._message(calls)
        return Reply(items, parsed, stop, self._usage, detail, self._cost)

    def interrupted(self) -> Reply:
        items, parsed = self._message([call for call in self._calls if call.name and call.whole])
        return Reply(items, parsed, "other", self._usage, cost=self._cost)

    def _message(self, calls: Sequence[_Call]) -> tuple[list[JsonObject], list[ToolCall]]:
        text, refusal = self._text.text, self._refusal.text
        if not (text.strip() or refusal or calls):
            return [], []
        content = text if text or self._content_seen or not calls else None
        message: JsonObject = {"role": "assistant", "content": content}
        if refusal:
            message["refusal"] = refusal
        for key, words in self._reasoning.items():
            message[key] = words.text
        if self._details:
            message["reasoning_details"] = [detail.whole() for detail in self._details]
        parsed: list[ToolCall] = []
        natives: list[Json] = []
        for call in calls:
            # Only a server that named an end has surely sent its calls whole (L-6).
            surely = self._finish is not None or call.whole
            arguments = parse_arguments(call.raw) if surely else None
            parsed.append(ToolCall(call.id, call.name, arguments, call.raw))
            function: JsonObject = {
                "name": call.name,
                "arguments": _sendable(call, arguments),
            }
            natives.append({"id": call.id, "type": "function", "function": function, **call.extra})
        if natives:
            message["tool_calls"] = natives
        return [message], parsed


def _sendable(call: _Call, arguments: JsonObject | None) -> str:
    """The arguments as sent back: what the model wrote, where that is JSON.

    Many compatible servers parse them when they fill the model's template and
    fail on anything but an object.
    """
    if call.whole:
        return call.raw
    if arguments is None:
        return json.dumps({UNREADABLE: call.raw}, ensure_ascii=False)
    return json.dumps(arguments, ensure_ascii=False)


def usage_of(usage: JsonObject) -> Usage:
    """``usage`` of a chunk; every count may be missing or null."""
    sent = as_object(usage.get("prompt_tokens_details"))
    given = as_object(usage.get("completion_tokens_details"))
    return Usage(
        input=as_count(usage.get("prompt_tokens")),
        cache_read=as_count(sent.get("cached_tokens"))
        or as_count(usage.get("prompt_cache_hit_tokens")),
        cache_write=as_count(sent.get("cache_write_tokens")),
        output=as_count(usage.get("completion_tokens")),
        reasoning=as_count(given.get("reasoning_tokens")),
    )


def _cost(value: Json) -> float | None:
    """US dollars; None for what is no amount of money, or more than any request costs."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1e6 else None


def call_ids(history: Sequence[JsonObject]) -> set[str]:
    """The ids of every call in a Chat Completions or Ollama history.

    Read without the calls themselves: parsing the arguments of a long history
    takes as long as writing the request.
    """
    return {
        _string(call.get("id"))
        for message in history
        if (calls := message.get("tool_calls"))
        for call in as_objects(calls)
    }


def calls_of(message: JsonObject) -> list[ToolCall]:
    """The calls of one message."""
    calls: list[ToolCall] = []
    for native in as_objects(message.get("tool_calls")):
        function = native.get("function")
        if not isinstance(function, dict):
            continue
        raw = _string(function.get("arguments"))
        arguments = parse_arguments(raw)
        if arguments is not None and list(arguments) == [UNREADABLE]:
            arguments, raw = None, _string(arguments[UNREADABLE])
        calls.append(
            ToolCall(_string(native.get("id")), _string(function.get("name")), arguments, raw)
        )
    return calls


def _string(value: Json) -> str:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _part_text(part: Json) -> str:
    return _string(part.get("text")) if isinstance(part, dict) else ""
