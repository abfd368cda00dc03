"""OpenAI Chat Completions: server-sent chunks and ``[DONE]``.

OpenAI's error bodies, shared by its two APIs.
"""

from __future__ import annotations

from typing import Any

from studio.simulator.endpoint import (
    Endpoint,
    called_functions,
    fragments,
    json_answer,
    offered_functions,
    raw_arguments,
    strings,
    usage_of,
    whole,
    words,
)
from studio.simulator.http import Frame, HttpRequest, HttpResponse
from studio.simulator.json_read import Body, compact, joined, obj, objs, text
from studio.simulator.request_checks import RequestRefused
from studio.simulator.request_view import Item, RequestView, Returned, Said
from studio.simulator.script import Call, Part, ServerTool, Stop, Text, Think, Turn, Usage
from studio.simulator.state import ServerState

from . import tool_call_checks

_TYPES = {
    401: ("invalid_request_error", "invalid_api_key"),
    404: ("invalid_request_error", None),
    408: ("server_error", "timeout"),
    413: ("invalid_request_error", "request_too_large"),
    429: ("requests", "rate_limit_exceeded"),
    500: ("server_error", None),
    503: ("server_error", "server_is_overloaded"),
}
_QUOTA = (
    "You exceeded your current quota, please check your plan and billing details. For more "
    "information on this error, read the docs: "
    "https://platform.openai.com/docs/guides/error-codes/api-errors."
)
_KINDS = {
    "overloaded": ("server_error", "server_is_overloaded", "The server is currently overloaded."),
    "rate_limit": ("requests", "rate_limit_exceeded", "Rate limit reached."),
    "server": ("server_error", "server_error", "The server had an error processing your request."),
    "invalid_request": ("invalid_request_error", "invalid_value", "Invalid request."),
    "timeout": ("server_error", "timeout", "The request timed out."),
}


def error_answer(refused: RequestRefused) -> HttpResponse:
    """The JSON error with its status."""
    kind, code = _TYPES.get(refused.status, ("invalid_request_error", None))
    message = str(refused)
    if refused.status >= 500 and refused.status not in _TYPES:
        kind = "server_error"
    if refused.code == "insufficient_quota":
        kind, message = "insufficient_quota", _QUOTA
    error: Body = {
        "message": message,
        "type": kind,
        "param": refused.param,
        "code": refused.code or code,
    }
    return json_answer({"error": error}, refused.status, x_request_id="req_simulated")


def error_body(kind: str) -> Body:
    """The error object of one kind, as it travels inside a stream."""
    type_, code, message = _KINDS[kind]
    return {"message": message, "type": type_, "param": None, "code": code}


def no_model(model: str, status: int) -> RequestRefused:
    """The error for a model nobody has; its status differs between the APIs."""
    return RequestRefused(
        "model",
        f"The model `{model}` does not exist or you do not have access to it.",
        status=status,
        code="model_not_found",
    )


_STOPS: dict[Stop, str] = {
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "context_exceeded": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
}


class ChatEndpoint(Endpoint):
    """``POST /v1/chat/completions``."""

    name = "chat"
    rules = tool_call_checks.RULES
    house = tool_call_checks.HOUSE
    too_long = (
        "This model's maximum context length is {window} tokens. However, your messages resulted "
        "in {size} tokens. Please reduce the length of the messages."
    )

    def view(self, request: HttpRequest, body: Body) -> RequestView:
        messages = objs(body.get("messages"))
        items: list[Item] = []
        for message in messages:
            items += _items(message)
        return RequestView(
            api="chat",
            model=text(body.get("model")),
            stream=bool(body.get("stream")),
            items=items,
            tools=offered_functions(objs(body.get("tools"))),
            system="\n".join(
                joined(message.get("content"))
                for message in messages
                if message.get("role") in ("system", "developer")
            ),
            body=body,
            rows=[body.get("tools"), *messages],
            breakpoints=range(len(messages) + 1),
            stops=strings(body.get("stop")),
            limit=whole(body.get("max_completion_tokens") or body.get("max_tokens")),
            may_call=body.get("tool_choice") != "none",
            include_usage=obj(body.get("stream_options")).get("include_usage") is True,
        )

    def render(self, turn: Turn, view: RequestView, state: ServerState) -> HttpResponse:
        parts = [] if turn.stop == "empty" else list(turn.parts)
        finish = _STOPS.get(turn.stop, "stop")
        base: Body = {
            "id": state.id("chatcmpl-"),
            "object": "chat.completion.chunk",
            "created": 1790000000,
            "model": view.model,
            "system_fingerprint": "fp_simulated",
        }
        usage = _usage(usage_of(turn, view))
        calls = [
            {
                "id": part.id or state.id("call_"),
                "type": "function",
                "function": {"name": part.name, "arguments": raw_arguments(part)},
            }
            for part in parts
            if isinstance(part, Call)
        ]
        if not view.stream:
            return json_answer(_whole(base, parts, calls, finish, turn, usage))
        frames = [_chunk(base, {"role": "assistant", "content": "", "refusal": None})]
        number = 0
        for part in parts:
            match part:
                case Think(redacted=True):
                    pass
                case Think(thought):
                    frames += [_chunk(base, {"reasoning_content": p}, 1) for p in words(thought)]
                case Text(said):
                    name = "refusal" if turn.stop == "refusal" else "content"
                    frames += [_chunk(base, {name: piece}, 1) for piece in words(said)]
                case Call():
                    frames += _call(base, number, calls[number])
                    number += 1
                case ServerTool():
                    frames.append(_chunk(base, {"annotations": _annotations(part)}))
        frames.append(_chunk(base, {}, finish=finish))
        if view.include_usage:
            frames.append(_event({**base, "choices": [], "usage": usage}))
        frames.append(Frame(b"data: [DONE]\n\n"))
        return HttpResponse(frames, content_type="text/event-stream; charset=utf-8")

    def no_model(self, view: RequestView) -> RequestRefused:
        return no_model(view.model, 404)

    def failure(self, refused: RequestRefused) -> HttpResponse:
        return error_answer(refused)

    def error_frame(self, kind: str, variant: str) -> Frame:
        return _event({"error": error_body(kind)})

    def unknown(self, kind: str) -> list[Frame]:
        if kind == "event":
            return [Frame(b": a comment\n\n"), _event({"object": "surprise", "choices": []})]
        base: Body = {"id": "chatcmpl-simulated", "object": "chat.completion.chunk"}
        return [_chunk(base, {"surprise": {"kind": "new"}})]

    def stranger(self) -> list[Frame]:
        base: Body = {"id": "chatcmpl-simulated", "object": "chat.completion.chunk"}
        piece: Body = {"index": 99, "function": {"arguments": "?"}}
        return [_chunk(base, {"tool_calls": [piece]})]


def _items(message: Body) -> list[Item]:
    said = joined(message.get("content"))
    match message.get("role"):
        case "tool":
            return [Returned(text(message.get("tool_call_id")), "", said)]
        case "assistant":
            said += text(message.get("refusal"))
            spoken = [Said("assistant", said)] if said else []
            return [*spoken, *called_functions(message)]
        case "system" | "developer":
            return [Said("system", said)]
        case _:
            return [Said("user", said)]


def _whole(
    base: Body,
    parts: list[Part],
    calls: list[dict[str, Any]],
    finish: str,
    turn: Turn,
    usage: Body,
) -> Body:
    said = "".join(part.text for part in parts if isinstance(part, Text))
    thought = "".join(p.text for p in parts if isinstance(p, Think) and not p.redacted)
    found = [row for part in parts if isinstance(part, ServerTool) for row in _annotations(part)]
    message: Body = {"role": "assistant", "content": said or None, "refusal": None}
    if turn.stop == "refusal":
        message |= {"content": None, "refusal": said}
    if thought:
        message["reasoning_content"] = thought
    if calls:
        message["tool_calls"] = calls
    if found:
        message["annotations"] = found
    choice: Body = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    return {**base, "object": "chat.completion", "choices": [choice], "usage": usage}


def _annotations(part: ServerTool) -> list[Body]:
    """A search shows itself by what it cites."""
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "title": row.title,
                "url": row.url,
                "start_index": 0,
                "end_index": 0,
            },
        }
        for row in part.found
    ]


def _usage(usage: Usage) -> Body:
    cost: Body = {} if usage.cost is None else {"cost": usage.cost}
    return {
        **cost,
        "prompt_tokens": usage.inp,
        "completion_tokens": usage.out,
        "total_tokens": usage.inp + usage.out,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning, "audio_tokens": 0},
    }


def _event(body: Body, tokens: float = 0.0) -> Frame:
    # Escaped, as many compatible servers do it.
    return Frame(f"data: {compact(body, ascii_only=True)}\n\n".encode(), tokens)


def _chunk(base: Body, delta: Body, tokens: float = 0.0, finish: str | None = None) -> Frame:
    choice: Body = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return _event({**base, "choices": [choice]}, tokens)


def _call(base: Body, index: int, call: Body) -> list[Frame]:
    function = obj(call["function"])
    first = {"index": index, **call, "function": {"name": function["name"], "arguments": ""}}
    rest = [
        _chunk(base, {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, 1)
        for piece in fragments(text(function["arguments"]))
    ]
    return [_chunk(base, {"tool_calls": [first]}), *rest]
