"""Gemini stream: adds chunks up to deltas and one model content.

Parts are kept exactly as they came and where they came: never merged, never
moved, an empty text with a signature included. Dropped are parts that hold
nothing, for the API rejects them.

Ids of calls are optional here. A call without one gets an id of ours, which
``server_id`` tells apart, for only what the server gave may be sent back (H-3).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from typing import cast

from studio.domain.errors import ProviderError
from studio.domain.events import CallStarted, Delta, ReasoningDelta, TextDelta
from studio.domain.jsonvalue import (
    Json,
    JsonObject,
    as_count,
    as_object,
    as_objects,
    as_text,
    repair_surrogates,
)
from studio.domain.messages import ToolCall
from studio.domain.models import StopReason, Usage
from studio.providers.base import Reply
from studio.providers.call_identity import plain_id, plain_name

OURS = "studio-"
"""How our ids begin. ``studio-3f2a…-0``, or with the server's own at the end
(``studio-3f2a…-1=abc``) where it gave one id to two calls."""

UNREADABLE = "unreadable"
"""The one argument under which arguments that are no object go back."""

STOPS: dict[str, StopReason] = {
    "STOP": "end",
    "MAX_TOKENS": "max_tokens",
    "CONTINUATION": "max_tokens",  # the limit of one request; only the SDK can go on from it
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
    "MODEL_ARMOR": "content_filter",
}


def server_id(call_id: str) -> str | None:
    """The server's own id within a ``ToolCall``'s, None if the server gave none."""
    if not call_id.startswith(OURS):
        return call_id
    return call_id.partition("=")[2] or None


class CallReader:
    """Reads the calls of one content, in their order; ``history`` is what came before it.

    The same place in the same history gives the same ids again.
    """

    def __init__(self, history: Sequence[JsonObject]) -> None:
        self._history = history
        self._stem = ""
        self._taken: set[str] = set()
        self.calls: list[ToolCall] = []

    def read(self, part: JsonObject) -> ToolCall | None:
        """The call that a part is; None for another part."""
        native = part.get("functionCall")
        if not isinstance(native, dict):
            return None
        given, arguments = repair_surrogates(as_text(native.get("id"))), native.get("args")
        call_id = given
        if not given or given in self._taken or given.startswith(OURS):
            call_id = self._made_up() + (f"={given}" if given else "")
        self._taken.add(call_id)
        fields = {} if arguments is None else arguments
        raw = ""
        if not isinstance(fields, dict):
            fields, raw = None, json.dumps(fields)
        elif list(fields) == [UNREADABLE] and isinstance(words := fields[UNREADABLE], str):
            fields, raw = None, words
        call = ToolCall(call_id, as_text(native.get("name")), fields, raw)
        self.calls.append(call)
        return call

    def _made_up(self) -> str:
        if not self._stem:  # once, for the last content may hold a picture
            place = json.dumps([len(self._history), list(self._history[-1:])], sort_keys=True)
            self._stem = f"{OURS}{hashlib.sha256(place.encode()).hexdigest()[:12]}"
        return f"{self._stem}-{len(self.calls)}"


def calls_of(content: JsonObject, history: Sequence[JsonObject]) -> list[ToolCall]:
    """The calls in one content; ``history`` is what came before it."""
    reader = CallReader(history)
    for part in as_objects(content.get("parts")):
        reader.read(part)
    return reader.calls


class GeminiAccumulator:
    """Folds chunks; ``history`` is what the request sent.

    ``fault`` makes the error of an ``error`` object inside the stream.
    """

    def __init__(
        self, history: Sequence[JsonObject], fault: Callable[[JsonObject], ProviderError]
    ) -> None:
        self._fault = fault
        self._parts: list[JsonObject] = []
        self._reader = CallReader(history)
        self._usage: JsonObject = {}
        self._finish = ""
        self._message = ""
        self._blocked = ""

    @property
    def complete(self) -> bool:
        return bool(self._finish or self._blocked)

    def feed(self, event: JsonObject) -> Iterable[Delta]:
        if isinstance(event.get("error"), dict):
            raise self._fault(event)
        if usage := as_object(event.get("usageMetadata")):
            self._usage = usage  # cumulative: the last one is right
        feedback = as_object(event.get("promptFeedback"))
        self._blocked = as_text(feedback.get("blockReason")) or self._blocked
        if feedback.get("blockReasonMessage"):
            self._message = as_text(feedback["blockReasonMessage"])
        for candidate in as_objects(event.get("candidates")):
            if candidate.get("index", 0) == 0:
                yield from self._candidate(candidate)

    def _candidate(self, candidate: JsonObject) -> Iterable[Delta]:
        for given in as_objects(as_object(candidate.get("content")).get("parts")):
            if not _is_empty(part := _acceptable(given)):
                self._parts.append(part)
                yield from self._shown(part)
        if finish := as_text(candidate.get("finishReason")):
            self._finish = finish
        if message := as_text(candidate.get("finishMessage")):
            self._message = message

    def _shown(self, part: JsonObject) -> Iterable[Delta]:
        if text := repair_surrogates(as_text(part.get("text"))):
            yield ReasoningDelta(text) if part.get("thought") is True else TextDelta(text)
        if (call := self._reader.read(part)) is not None:
            yield CallStarted(call.id, call.name)

    @property
    def _content(self) -> JsonObject:
        return {"role": "model", "parts": cast("list[Json]", self._parts)}

    @property
    def usage(self) -> Usage:
        used = self._usage
        reasoning = as_count(used.get("thoughtsTokenCount"))
        return Usage(
            input=as_count(used.get("promptTokenCount"))
            + as_count(used.get("toolUsePromptTokenCount")),
            cache_read=as_count(used.get("cachedContentTokenCount")),
            output=as_count(used.get("candidatesTokenCount")) + reasoning,
            reasoning=reasoning,
        )

    def reply(self) -> Reply:
        stop, detail = self._stop()
        return Reply(self._items(), list(self._reader.calls), stop, self.usage, detail)

    def interrupted(self) -> Reply:
        led_somewhere = any(
            part.get("thought") is not True and part.get("text") != "" for part in self._parts
        )
        items = self._items() if led_somewhere else []
        return Reply(items, list(self._reader.calls) if items else [], "other", self.usage)

    def _items(self) -> list[JsonObject]:
        return [self._content] if self._parts else []

    def _stop(self) -> tuple[StopReason, str]:
        if self._blocked and not self._finish:
            return "refusal", _named(self._blocked, self._message)
        stop = STOPS.get(self._finish, "other")
        if stop == "end":  # the API says STOP after calls, too
            return ("tool_use" if self._reader.calls else "end"), ""
        return stop, _named(self._finish, self._message)


def _named(reason: str, message: str) -> str:
    return f"{reason}: {message}" if message else reason


def _acceptable(part: JsonObject) -> JsonObject:
    """The part itself, or with a call that the API takes back."""
    call = part.get("functionCall")
    if not isinstance(call, dict):
        return part
    name, identifier = as_text(call.get("name")), as_text(call.get("id"))
    arguments = call.get("args")
    if not isinstance(arguments, dict | None):
        arguments = cast("JsonObject", {UNREADABLE: json.dumps(arguments)})
    mended: JsonObject = {**call, "name": plain_name(name), "args": arguments}
    mended.pop("id", None)
    if identifier := plain_id(identifier):
        mended["id"] = identifier
    if all(call.get(key) == mended.get(key) for key in ("name", "args", "id")):
        return part
    return {**part, "functionCall": mended}


def _is_empty(part: JsonObject) -> bool:
    """Whether a part says nothing and signs nothing."""
    if part.get("thoughtSignature"):
        return False
    return not any(
        value is not None and value != ""
        for name, value in part.items()
        if name not in ("thought", "thoughtSignature")
    )
