"""Ollama stream: adds lines of ``/api/chat`` up to deltas and one assistant message."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from studio.domain.errors import ProviderError
from studio.domain.events import CallStarted, Delta, ReasoningDelta, TextDelta
from studio.domain.jsonvalue import (
    Json,
    JsonObject,
    TextBuffer,
    as_count,
    as_object,
    as_objects,
    as_text,
)
from studio.domain.messages import ToolCall
from studio.domain.models import StopReason, Usage
from studio.providers.base import Reply
from studio.providers.call_identity import plain_id, plain_name
from studio.providers.openai_chat.stream import UNREADABLE, MadeUpIds, call_ids
from studio.providers.sse import InvalidResponse
from studio.providers.tool_arguments import parse_arguments

_CERTAIN = 1.2
"""How much larger than the context an estimate must be to be believed."""


class OllamaAccumulator:
    """Folds the lines of one answer; calls come whole, often without an id.

    ``window`` and ``sent`` (both in tokens, the second an estimate) tell whether
    what was sent can have been seen whole; they may be set until the answer ends.
    """

    def __init__(
        self,
        history: Sequence[JsonObject],
        window: int,
        fault: Callable[[object], ProviderError],
    ) -> None:
        self.window = window
        self.sent = 0
        self._fault = fault
        self._made_up = MadeUpIds(history)
        self._taken = call_ids(history)
        self._text = TextBuffer()
        self._thinking = TextBuffer()
        self._calls: list[JsonObject] = []
        self._last: JsonObject | None = None

    @property
    def complete(self) -> bool:
        return self._last is not None

    def feed(self, event: JsonObject) -> Iterable[Delta]:
        if self._last is not None:
            return
        if error := event.get("error"):
            raise self._fault(error)
        message = event.get("message")
        if isinstance(message, dict):
            yield from self._message(message)
        elif "done" not in event:
            raise InvalidResponse("not a line of /api/chat")
        if event.get("done") is True:
            self._last = event

    def _message(self, message: JsonObject) -> Iterable[Delta]:
        if isinstance(piece := message.get("thinking"), str) and (new := self._thinking.add(piece)):
            yield ReasoningDelta(new)
        if isinstance(piece := message.get("content"), str) and (new := self._text.add(piece)):
            yield TextDelta(new)
        for call in as_objects(message.get("tool_calls")):
            function = as_object(call.get("function"))
            if not as_text(function.get("name")):
                continue
            name = plain_name(as_text(function.get("name")))
            identifier = plain_id(as_text(call.get("id")))
            if not identifier or identifier in self._taken:
                identifier = self._made_up.free(len(self._calls), self._taken)
            self._taken.add(identifier)
            self._calls.append(
                {
                    **call,
                    "id": identifier,
                    "function": {**function, "name": name, "arguments": _object(function)},
                }
            )
            yield CallStarted(identifier, name)

    def reply(self) -> Reply:
        last = self._last or {}
        usage = Usage(
            input=as_count(last.get("prompt_eval_count")), output=as_count(last.get("eval_count"))
        )
        items, calls = self._items()
        reason = last.get("done_reason")
        detail = reason if isinstance(reason, str) else ""
        stop: StopReason = "tool_use" if calls else "end"
        if reason == "length":
            stop = "context_full" if usage.total >= self.window else "max_tokens"
        elif reason not in ("stop", None, ""):
            stop = "tool_use" if calls else "other"
        # Ollama before 0.12.6 says nothing of it: it leaves out the oldest messages.
        if self.sent > self.window * _CERTAIN and usage.input <= self.window:
            detail = (
                f"About {self.sent:,} tokens were sent, but the model saw only the last "
                f"{usage.input or self.window:,}: the beginning was cut off."
            )
            stop = "context_full" if stop == "end" else stop
        return Reply(items, calls, stop, usage, detail)

    def interrupted(self) -> Reply:
        items, calls = self._items()
        return Reply(items, calls, "other")

    def _items(self) -> tuple[list[JsonObject], list[ToolCall]]:
        if not (self._text.text.strip() or self._calls):
            return [], []
        message: JsonObject = {"role": "assistant", "content": self._text.text}
        if self._thinking.text:
            message["thinking"] = self._thinking.text
        if self._calls:
            message["tool_calls"] = list[Json](self._calls)
        return [message], calls_of(message)


def calls_of(message: JsonObject) -> list[ToolCall]:
    """The calls of one message, in order."""
    calls: list[ToolCall] = []
    for native in as_objects(message.get("tool_calls")):
        function = native.get("function")
        if not isinstance(function, dict):
            continue
        arguments = function.get("arguments")
        found = arguments if isinstance(arguments, dict) else {}
        raw = json.dumps(found, ensure_ascii=False)
        broken = found.get(UNREADABLE) if len(found) == 1 else None
        call_id, name = str(native.get("id") or ""), str(function.get("name"))
        if isinstance(broken, str):
            calls.append(ToolCall(call_id, name, None, broken))
        else:
            calls.append(ToolCall(call_id, name, found, raw))
    return calls


def _object(function: JsonObject) -> JsonObject:
    """The arguments as Ollama takes them back: an object, always."""
    arguments = function.get("arguments")
    if isinstance(arguments, dict):
        return arguments
    raw = arguments if isinstance(arguments, str) else ""
    found = parse_arguments(raw)
    return {UNREADABLE: raw} if found is None else found
