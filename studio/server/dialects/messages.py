"""The dialect of Anthropic's Messages; writes events while a response comes, or one object.

Both forms are made of the same blocks. Thinking has an empty signature: this server
reads none, and a client may send it back or not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import ClassVar, Literal, TypeAlias, assert_never

from studio.domain.jsonvalue import Json, JsonObject, repair_surrogates
from studio.domain.messages import ToolCall
from studio.domain.models import NO_USAGE, Usage
from studio.providers.anthropic.stream import unreadable
from studio.server.contract import (
    ApiRequest,
    BadRequest,
    ListedModel,
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
from .messages_request import NO_THREADS, read_request, shows_thinking

_Kind: TypeAlias = Literal["text", "thinking"]
_STOPS: dict[str, str] = {
    "end": "end_turn",
    "calls": "tool_use",
    "length": "max_tokens",
    "refused": "refusal",
    "limit": "max_tokens",
}
_ERRORS: dict[int, str] = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def _error_body(message: str, status: int, code: str = "") -> JsonObject:
    """An error in Anthropic's shape, which has a code for one case only."""
    other = "invalid_request_error" if status < 500 else "api_error"
    inner: JsonObject = {"type": _ERRORS.get(status, other), "message": message}
    if code == NO_THREADS:
        inner["details"] = {"error_code": code}
    return {"type": "error", "error": inner}


class MessagesResponse:
    """Writes one response. ``aloud``: reasoning and the steps of tools are shown too."""

    def __init__(self, about: ResponseInfo, aloud: bool) -> None:
        self._about = about
        self._aloud = aloud
        self._begun = False
        self._kind: _Kind | None = None
        """Of the block that grows, the last one; None while none does."""
        self._pieces: list[str] = []
        """Its text so far."""
        self._content: list[Json] = []
        """The finished blocks."""
        self._frames: list[bytes] = []
        self._end: JsonObject = {"stop_reason": None, "stop_sequence": None, "stop_details": None}
        self._usage = NO_USAGE

    def take(self, part: ResponsePart) -> None:
        self.frames(part)

    def frames(self, part: ResponsePart) -> bytes:
        if not self._begun:
            self._begun = True
            self._send("message_start", message=self.body())
        match part:
            case TextPart(text):
                self._say("text", text)
            case ReasoningPart(text):
                self._say("thinking", text)
            case ProgressPart(text):
                grows = self._kind == "thinking" and not self._pieces[-1].endswith("\n")
                self._say("thinking", f"\n{text}\n" if grows else f"{text}\n")
            case ToolCallPart(call):
                self._close()
                self._call(call)
            case Outcome(stop="error"):
                self._close()
                error = _error_body(repair_surrogates(part.detail), part.status)
                self._frames.append(sse_event(error, "error"))
            case Outcome():
                self._close()
                self._finish(part)
            case _:
                assert_never(part)
        frames = b"".join(self._frames)
        self._frames.clear()
        return frames

    def body(self) -> JsonObject:
        return {
            "id": f"msg_{self._about.number}",
            "type": "message",
            "role": "assistant",
            "model": self._about.model,
            "content": [*self._content],
            **self._end,
            "usage": _usage(self._usage),
        }

    def _say(self, kind: _Kind, text: str) -> None:
        if kind == "thinking" and not self._aloud:
            self._send("ping")  # somebody is there, all the same
            return
        if not text:
            return
        text = repair_surrogates(text)
        if self._kind != kind:
            self._close()
            self._kind = kind
            self._send("content_block_start", **self._index, content_block=_block(kind, ""))
        self._pieces.append(text)
        delta: JsonObject = {"type": f"{kind}_delta", kind: text}
        self._send("content_block_delta", **self._index, delta=delta)

    def _call(self, call: ToolCall) -> None:
        """Write a call; arguments that are no JSON are wrapped as Anthropic documents it."""
        given = unreadable(call.raw) if call.arguments is None else call.arguments
        block: JsonObject = {"type": "tool_use", "id": call.id, "name": call.name}
        self._send("content_block_start", **self._index, content_block={**block, "input": {}})
        delta: JsonObject = {
            "type": "input_json_delta",
            "partial_json": json.dumps(given, separators=(",", ":")),
        }
        self._send("content_block_delta", **self._index, delta=delta)
        self._send("content_block_stop", **self._index)
        self._content.append({**block, "input": given})

    def _close(self) -> None:
        if self._kind is not None:
            self._send("content_block_stop", **self._index)
            self._content.append(_block(self._kind, "".join(self._pieces)))
            self._kind = None
            self._pieces.clear()

    def _finish(self, outcome: Outcome) -> None:
        self._usage = outcome.usage
        self._end["stop_reason"] = _STOPS[outcome.stop]
        if outcome.stopped_at:
            self._end |= {"stop_reason": "stop_sequence", "stop_sequence": outcome.stopped_at}
        if outcome.stop == "refused":
            why = repair_surrogates(outcome.detail) or None
            details: JsonObject = {"type": "refusal", "category": None, "explanation": why}
            self._end["stop_details"] = details
        self._send("message_delta", delta={**self._end}, usage=_usage(outcome.usage))
        self._send("message_stop")

    @property
    def _index(self) -> JsonObject:
        return {"index": len(self._content)}

    def _send(self, name: str, **fields: Json) -> None:
        self._frames.append(sse_event({"type": name, **fields}, name))


def _block(kind: _Kind, text: str) -> JsonObject:
    block: JsonObject = {"type": kind, kind: text}
    return {**block, "signature": ""} if kind == "thinking" else block


def _usage(usage: Usage) -> JsonObject:
    """The usage; Anthropic counts cached input apart, our ``input`` is all of it."""
    return {
        "input_tokens": max(0, usage.input - usage.cache_read - usage.cache_write),
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
        "output_tokens_details": {"thinking_tokens": usage.reasoning},
    }


class MessagesDialect(Dialect):
    """``POST /v1/messages``."""

    name = "messages"
    path = "/v1/messages"
    count_path = "/v1/messages/count_tokens"
    header = "anthropic-version"
    ping = b'event: ping\ndata: {"type": "ping"}\n\n'
    statuses: ClassVar[Mapping[int, int]] = {503: 529}
    request_id_field = "request_id"

    def read_request(self, body: JsonObject) -> ApiRequest:
        return read_request(body)

    def read_count_request(self, body: JsonObject) -> ApiRequest:
        """Read a request without ``max_tokens``, since nothing is written."""
        return read_request({**body, "max_tokens": 1})

    def response_writer(
        self, request: ApiRequest, info: ResponseInfo, body: JsonObject
    ) -> MessagesResponse:
        return MessagesResponse(info, shows_thinking(body))

    def error_body(
        self, message: str, *, status: int, code: str = "", param: str = ""
    ) -> JsonObject:
        return _error_body(message, status, code)

    def unmatched_result(self, call_id: str, message: int, block: int) -> BadRequest:
        place = f"messages.{message}.content.{block}"
        return BadRequest(
            f"{place}: unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. Each "
            "`tool_result` block must have a corresponding `tool_use` block in the previous "
            "message.",
            param=place,
        )

    def model_body(self, model: ListedModel) -> JsonObject:
        created = datetime.fromtimestamp(model.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {
            "type": "model",
            "id": model.id,
            "display_name": model.title,
            "created_at": created,
        }

    def models_body(self, models: Sequence[ListedModel]) -> JsonObject:
        ids = [model.id for model in models]
        return {
            "data": [self.model_body(model) for model in models],
            "has_more": False,
            "first_id": ids[0] if ids else None,
            "last_id": ids[-1] if ids else None,
        }


DIALECT = MessagesDialect()
