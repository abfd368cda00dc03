"""Anthropic Messages: server-sent events with indexed blocks."""

from __future__ import annotations

from typing import Any

from studio.simulator.endpoint import (
    Endpoint,
    event,
    fragments,
    json_answer,
    offered,
    raw_arguments,
    strings,
    usage_of,
    whole,
    words,
)
from studio.simulator.http import Frame, HttpRequest, HttpResponse
from studio.simulator.json_read import Body, arguments, compact, joined, obj, objs, text
from studio.simulator.request_checks import RequestRefused
from studio.simulator.request_view import Called, Item, RequestView, Returned, Said
from studio.simulator.script import Call, Part, ServerTool, Stop, Text, Think, Turn, Usage
from studio.simulator.state import ServerState

from . import thinking_checks, tool_call_checks
from .message_checks import beginning, blocks, element
from .parameter_checks import marks

_STOPS: dict[Stop, str] = {
    "end": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "refusal": "refusal",
    "pause_turn": "pause_turn",
    "context_exceeded": "model_context_window_exceeded",
    "content_filter": "refusal",
    "safety": "refusal",
    "malformed_function_call": "end_turn",
    "empty": "end_turn",
}
_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_KINDS = {
    "overloaded": ("overloaded_error", "Overloaded"),
    "rate_limit": ("rate_limit_error", "This request would exceed your rate limit."),
    "server": ("api_error", "Internal server error"),
    "invalid_request": ("invalid_request_error", "Invalid request"),
    "timeout": ("timeout_error", "The request timed out"),
}


class AnthropicEndpoint(Endpoint):
    """``POST /v1/messages`` and its token count."""

    name = "anthropic"
    rules = tool_call_checks.RULES
    house = tool_call_checks.HOUSE
    too_long = "prompt is too long: {size} tokens > {window} maximum"

    def view(self, request: HttpRequest, body: Body) -> RequestView:
        items: list[Item] = []
        rows: list[Any] = [beginning(body)]
        marked = [0] if marks(body.get("system")) or marks(body.get("tools")) else []
        for message in objs(body.get("messages")):
            items += _items(message)
            for block in blocks(message):
                rows.append(element(text(message.get("role")), block))
                marked += [len(rows) - 1] * marks(block, False)
        if body.get("cache_control"):  # the API marks the end by itself
            marked.append(len(rows) - 1)
        return RequestView(
            api="anthropic",
            model=text(body.get("model")),
            stream=bool(body.get("stream")),
            items=items,
            tools=offered(objs(body.get("tools")), "input_schema"),
            system=joined(body.get("system")),
            body=body,
            version=request.headers.get("anthropic-version", ""),
            beta=request.headers.get("anthropic-beta", ""),
            rows=rows,
            breakpoints=marked,
            stops=strings(body.get("stop_sequences")),
            limit=whole(body.get("max_tokens")),
            may_call=obj(body.get("tool_choice")).get("type") != "none",
        )

    def render(self, turn: Turn, view: RequestView, state: ServerState) -> HttpResponse:
        content: list[Body] = []
        prefix = thinking_checks.prefix(view, state)
        for part in () if turn.stop == "empty" else turn.parts:
            for block in _native(part, prefix, view, state):
                content.append(block)
                prefix = [*prefix, element("assistant", block)]
        message: Body = {
            "id": state.id("msg_"),
            "type": "message",
            "role": "assistant",
            "model": view.model,
            "content": content,
            "stop_reason": "stop_sequence" if turn.stopped else _STOPS[turn.stop],
            "stop_sequence": turn.stopped or None,
            "stop_details": None,
            "usage": _usage(usage_of(turn, view)),
        }
        if message["stop_reason"] == "refusal":
            message["stop_details"] = {"type": "refusal", "category": "other", "explanation": None}
        if dropped := thinking_checks.transformations(view, state):
            message["input_transformations"] = dropped
        if not view.stream:
            return json_answer(message, request_id=state.id("req_"))
        return HttpResponse(
            self._events(message, turn),
            content_type="text/event-stream; charset=utf-8",
            headers={"request-id": state.id("req_"), "cache-control": "no-cache"},
        )

    def _events(self, message: Body, turn: Turn) -> list[Frame]:
        usage = obj(message["usage"])
        start: Body = {
            **message,
            "content": [],
            "stop_reason": None,
            "stop_details": None,
            "usage": {**usage, "output_tokens": 1},
        }
        frames = [event("message_start", message=start), event("ping")]
        raws = [raw_arguments(part) for part in turn.parts if isinstance(part, Call)]
        for index, block in enumerate(objs(message["content"])):
            raw = raws.pop(0) if block["type"] == "tool_use" else ""
            frames += _block(index, block, raw)
        told = ("stop_reason", "stop_sequence", "stop_details")
        late: Body = {"usage": usage}
        if "input_transformations" in message:
            late["input_transformations"] = message["input_transformations"]
        frames.append(event("message_delta", delta={name: message[name] for name in told}, **late))
        return [*frames, event("message_stop")]

    def failure(self, refused: RequestRefused) -> HttpResponse:
        kind = _TYPES.get(refused.status, "api_error")
        request_id = "req_simulated"
        body: Body = {
            "type": "error",
            "error": {"type": kind, "message": str(refused)},
            "request_id": request_id,
        }
        return json_answer(body, refused.status, request_id=request_id)

    def error_frame(self, kind: str, variant: str) -> Frame:
        error, message = _KINDS[kind]
        return event("error", error={"type": error, "message": message})

    def unknown(self, kind: str) -> list[Frame]:
        surprise: Body = {"type": f"surprise_{kind}", "surprise": "new"}
        piece = event("content_block_delta", index=0, delta=surprise)
        if kind == "delta":
            return [piece]
        if kind == "block":
            return [
                event("content_block_start", index=90, content_block=surprise),
                event("content_block_delta", index=90, delta=surprise),
                event("content_block_stop", index=90),
            ]
        return [event("surprise", surprise={"kind": "new"})]

    def stranger(self) -> list[Frame]:
        delta = {"type": "text_delta", "text": "?"}
        return [event("content_block_delta", index=99, delta=delta)]


def _native(part: Part, prefix: list[Any], view: RequestView, state: ServerState) -> list[Body]:
    """One part of a turn as blocks, signed for this model behind this prefix."""
    match part:
        case Think(redacted=True):
            sealed = state.signer.sign(thinking_checks.REDACTED, prefix, stage=view.model)
            return [{"type": "redacted_thinking", "data": sealed}]
        case Think(thought):
            if obj(view.body.get("thinking")).get("display") == "omitted":
                thought = ""
            signature = state.signer.sign(thought, prefix, stage=view.model)
            return [{"type": "thinking", "thinking": thought, "signature": signature}]
        case Text(said):
            return [{"type": "text", "text": said}]
        case ServerTool():
            id_ = state.id("srvtoolu_")
            found = [
                {
                    "type": "web_search_result",
                    "title": row.title,
                    "url": row.url,
                    "encrypted_content": state.signer.sign(row.url),
                    "page_age": None,
                }
                for row in part.found
            ]
            use: Body = {"type": "server_tool_use", "id": id_, "name": part.name}
            return [
                {**use, "input": {"query": part.query}},
                {"type": f"{part.name}_tool_result", "tool_use_id": id_, "content": found},
            ]
        case Call():
            return [
                {
                    "type": "tool_use",
                    "id": part.id or state.id("toolu_"),
                    "name": part.name,
                    "input": arguments(raw_arguments(part)),
                }
            ]


def _items(message: Body) -> list[Item]:
    role = message.get("role")
    items: list[Item] = []
    said: list[str] = []
    for block in blocks(message):
        match block.get("type"):
            case "text":
                said.append(text(block.get("text")))
            case "tool_use":
                items.append(
                    Called(text(block.get("id")), text(block.get("name")), obj(block.get("input")))
                )
            case "tool_result":
                items.append(
                    Returned(
                        text(block.get("tool_use_id")),
                        "",
                        joined(block.get("content")),
                        block.get("is_error") is True,
                    )
                )
            case _:
                pass
    if said:
        spoken = Said(
            "assistant" if role == "assistant" else "system" if role == "system" else "user",
            "\n".join(said),
        )
        items.insert(0 if role == "assistant" else len(items), spoken)
    return items


def _usage(usage: Usage) -> Body:
    return {
        "input_tokens": max(0, usage.inp - usage.cache_read - usage.cache_write),
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write,
            "ephemeral_1h_input_tokens": 0,
        },
        "output_tokens": usage.out,
        "output_tokens_details": {"thinking_tokens": usage.reasoning},
        "service_tier": "standard",
    }


def _block(index: int, block: Body, raw: str) -> list[Frame]:
    """A block's events; ``raw`` is the text of a call's arguments."""

    def delta(kind: str, name: str, piece: str) -> Frame:
        return event(
            "content_block_delta", tokens=1.0, index=index, delta={"type": kind, name: piece}
        )

    match block["type"]:
        case "thinking":
            empty: Body = {"type": "thinking", "thinking": "", "signature": ""}
            thought = text(block["thinking"])
            deltas = [delta("thinking_delta", "thinking", piece) for piece in words(thought)]
            deltas.append(delta("signature_delta", "signature", text(block["signature"])))
        case "text":
            empty = {"type": "text", "text": ""}
            deltas = [delta("text_delta", "text", piece) for piece in words(text(block["text"]))]
        case "tool_use" | "server_tool_use":
            empty = {**block, "input": {}}
            if block["type"] == "tool_use":
                empty["caller"] = {"type": "direct"}
            else:
                raw = compact(block["input"])
            pieces = ["", *(fragments(raw) if raw != "{}" else [])]
            deltas = [delta("input_json_delta", "partial_json", piece) for piece in pieces]
        case _:  # comes whole
            empty, deltas = block, []
    return [
        event("content_block_start", index=index, content_block=empty),
        *deltas,
        event("content_block_stop", index=index),
    ]
