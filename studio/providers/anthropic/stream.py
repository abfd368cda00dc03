"""Anthropic stream: adds events up to deltas and one assistant message.

Blocks are kept as they came, thinking with its signature and blocks of kinds
unknown here included: the provider binds what follows to them. Dropped is only
what it would not take back: empty text, and what an early end left half done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import cast

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
    repair_surrogates,
)
from studio.domain.messages import ToolCall
from studio.domain.models import StopReason, Usage
from studio.providers.base import Reply
from studio.providers.call_identity import plain_id, plain_name
from studio.providers.tool_arguments import is_whole_object, parse_arguments

STOPS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "pause_turn": "pause",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_full",
}
WHOLE: frozenset[StopReason] = frozenset({"end", "tool_use", "pause"})
"""Stops after which every block is as the model meant it."""

THINKING = ("thinking", "redacted_thinking")

UNREADABLE = "INVALID_JSON"

_GROWING = {"text_delta": "text", "thinking_delta": "thinking"}


@dataclass(slots=True)
class _Block:
    """One content block while its pieces come."""

    native: JsonObject
    words: dict[str, TextBuffer] = field(default_factory=dict[str, TextBuffer])
    raw: list[str] = field(default_factory=list[str])
    citations: list[Json] = field(default_factory=list["Json"])
    stopped: bool = False

    @property
    def kind(self) -> str:
        return as_text(self.native.get("type"))

    def text(self, name: str) -> str:
        said = self.words.get(name)
        return repair_surrogates(as_text(self.native.get(name))) + (said.text if said else "")

    @property
    def json(self) -> str:
        return "".join(self.raw)


class AnthropicAccumulator:
    """Folds the events of one reply; ``fault`` makes the error of an ``error`` event."""

    def __init__(self, fault: Callable[[JsonObject], ProviderError]) -> None:
        self._fault = fault
        self._blocks: dict[int, _Block] = {}
        self._ids: set[str] = set()
        self._usage: dict[str, int] = {}
        self._stop = ""
        self._stopped_at = ""
        self._detail = ""
        self.complete = False

    def feed(self, event: JsonObject) -> Iterable[Delta]:
        match event.get("type"):
            case "error":
                raise self._fault(event)
            case _ if self.complete:
                pass  # a second end, or a latecomer: the reply is whole
            case "message_start":
                self._count(as_object(as_object(event.get("message")).get("usage")))
            case "content_block_start":
                yield from self._start(event)
            case "content_block_delta":
                block = self._blocks.get(_index(event))
                if block is None or block.stopped:
                    return
                if told := self._delta(block, as_object(event.get("delta"))):
                    yield told
            case "content_block_stop":
                block = self._blocks.get(_index(event))
                if block is not None:
                    block.stopped = True
            case "message_delta":
                self._end(as_object(event.get("delta")))
                self._count(as_object(event.get("usage")))
            case "message_stop":
                self.complete = True
            case _:
                pass  # pings, and events of a later version

    def _start(self, event: JsonObject) -> Iterable[Delta]:
        index = _index(event)
        if index in self._blocks:
            return
        block = self._blocks[index] = _Block(dict(as_object(event.get("content_block"))))
        if block.kind == "tool_use":
            wanted = plain_id(as_text(block.native.get("id"))) or "toolu"
            call_id, number = wanted, 1
            while call_id in self._ids:
                number += 1
                call_id = f"{wanted}_{number}"
            self._ids.add(call_id)
            name = plain_name(as_text(block.native.get("name")))
            block.native |= {"id": call_id, "name": name}
            yield CallStarted(call_id, name)
        elif block.kind == "text" and block.text("text"):
            yield TextDelta(block.text("text"))
        elif block.kind == "thinking" and block.text("thinking"):
            yield ReasoningDelta(block.text("thinking"))

    def _delta(self, block: _Block, delta: JsonObject) -> Delta | None:
        kind = as_text(delta.get("type"))
        if (name := _GROWING.get(kind)) is not None:
            if (words := block.words.get(name)) is None:
                words = block.words[name] = TextBuffer()
            if piece := words.add(as_text(delta.get(name))):
                return TextDelta(piece) if kind == "text_delta" else ReasoningDelta(piece)
        elif kind == "input_json_delta":
            block.raw.append(as_text(delta.get("partial_json")))
        elif kind == "citations_delta":
            block.citations.append(delta.get("citation"))
        else:
            # Signatures come once and whole; so does whatever a later version sends.
            block.native.update({k: v for k, v in delta.items() if k != "type"})
        return None

    def _end(self, delta: JsonObject) -> None:
        if stop := as_text(delta.get("stop_reason")):
            self._stop = stop
            self._stopped_at = as_text(delta.get("stop_sequence"))
        details = as_object(delta.get("stop_details"))
        words = [as_text(details.get(name)) for name in ("category", "explanation")]
        if any(words):
            self._detail = ": ".join(word for word in words if word)
        elif self._stop not in STOPS:
            self._detail = self._stop

    def _count(self, usage: JsonObject) -> None:
        """Counts are cumulative and may be missing: the largest seen is the latest."""
        details = as_object(usage.get("output_tokens_details"))
        for name, value in (*usage.items(), *details.items()):
            self._usage[name] = max(as_count(value), self._usage.get(name, 0))

    @property
    def usage(self) -> Usage:
        used = self._usage.get
        read, write = used("cache_read_input_tokens", 0), used("cache_creation_input_tokens", 0)
        return Usage(
            input=used("input_tokens", 0) + read + write,
            cache_read=read,
            cache_write=write,
            output=used("output_tokens", 0),
            reasoning=used("thinking_tokens", 0),
        )

    def reply(self) -> Reply:
        stop, detail = STOPS.get(self._stop, "other"), self._detail
        items, calls = self._message(whole=stop in WHOLE)
        if stop == "tool_use" and not calls:
            stop, detail = "other", self._stop
        paused = any(block.kind == "server_tool_use" for block in self._blocks.values())
        if stop == "pause" and not paused:
            stop = "end"  # nothing to go on with: sent back as it is, it would be a prefill
        return Reply(items, calls, stop, self.usage, detail, stopped_at=self._stopped_at)

    def interrupted(self) -> Reply:
        items, calls = self._message(whole=False)
        return Reply(items, calls, "other", self.usage)

    def _message(self, *, whole: bool) -> tuple[list[JsonObject], list[ToolCall]]:
        content: list[JsonObject] = []
        calls: list[ToolCall] = []
        cut = max(self._blocks, default=-1) if self._stop and not whole else None
        for index, block in sorted(self._blocks.items()):
            # At the output limit a call cut short still gets its content_block_stop.
            if not self._keep(block, whole) or (index == cut and not _is_whole(block)):
                continue
            native, call = _finished(block)
            content.append(native)
            if call is not None:
                calls.append(call)
        if not whole:
            content = _answered(content)
            while content and content[-1].get("type") in THINKING:
                content.pop()  # thinking that led to nothing cannot end a message
        if not content:
            return [], []
        return [{"role": "assistant", "content": cast("list[Json]", content)}], calls

    def _keep(self, block: _Block, whole: bool) -> bool:
        if block.kind == "text":
            return bool(block.text("text").strip())
        if not block.stopped:
            return False
        return whole or block.kind != "thinking" or bool(block.native.get("signature"))


def calls_of(message: JsonObject) -> list[ToolCall]:
    """The calls in one stored message, with the arguments that were stored."""
    return [
        _stored(block)
        for block in as_objects(message.get("content"))
        if block.get("type") == "tool_use"
    ]


def _stored(block: JsonObject) -> ToolCall:
    call_id, name = as_text(block.get("id")), as_text(block.get("name"))
    arguments = as_object(block.get("input"))
    if list(arguments) == [UNREADABLE]:
        return ToolCall(call_id, name, None, as_text(arguments[UNREADABLE]))
    return ToolCall(call_id, name, arguments)


def unreadable(raw: str) -> JsonObject:
    """The input of a call whose text is no JSON object: the model sees what it wrote."""
    return {UNREADABLE: repair_surrogates(raw)}


def _finished(block: _Block) -> tuple[JsonObject, ToolCall | None]:
    native = dict(block.native)
    for name in block.words:
        native[name] = block.text(name)
    if block.citations:
        known = native.get("citations")
        native["citations"] = [*(known if isinstance(known, list) else []), *block.citations]
    if not block.kind.endswith("tool_use"):
        return native, None
    if block.json.strip():
        arguments = parse_arguments(block.json)
    else:  # nothing was streamed: the start had it all, or there are no arguments
        arguments = as_object(native.get("input"))
    native["input"] = unreadable(block.json) if arguments is None else arguments
    if block.kind != "tool_use":
        return native, None
    return native, _stored(native)


def _answered(content: list[JsonObject]) -> list[JsonObject]:
    """Without calls of the provider's own tools that have no result yet."""
    results = {as_text(block.get("tool_use_id")) for block in content}
    return [
        block
        for block in content
        if block.get("type") == "tool_use"
        or not as_text(block.get("type")).endswith("tool_use")
        or as_text(block.get("id")) in results
    ]


def _is_whole(block: _Block) -> bool:
    """Whether the last block before a limit is surely no call that was cut short."""
    return not block.kind.endswith("tool_use") or is_whole_object(block.json)


def _index(event: JsonObject) -> int:
    value = event.get("index")
    return value if isinstance(value, int) else -1
