"""Ollama /api/chat: lines of JSON, calls whole."""

from __future__ import annotations

from studio.simulator.endpoint import (
    Endpoint,
    called_functions,
    json_answer,
    json_line,
    offered_functions,
    raw_arguments,
    strings,
    tokens,
    usage_of,
    whole,
    words,
)
from studio.simulator.http import Frame, HttpRequest, HttpResponse
from studio.simulator.json_read import Body, arguments, compact, obj, objs, text
from studio.simulator.request_checks import RequestRefused
from studio.simulator.request_view import Item, RequestView, Returned, Said
from studio.simulator.script import Call, ServerTool, Text, Think, Turn
from studio.simulator.state import ServerState

from . import request_checks

_KINDS = {
    "overloaded": "server busy, please try again.  maximum pending requests exceeded",
    "rate_limit": "too many requests",
    "server": "model runner has unexpectedly stopped, this may be due to resource limitations",
    "invalid_request": "invalid request",
    "timeout": "timed out waiting for llama runner to start",
}


WINDOW = 4096
"""Tokens, where a request asks for no other room."""


class OllamaEndpoint(Endpoint):
    """``POST /api/chat``; streams unless told not to."""

    name = "ollama"
    rules = request_checks.RULES
    house = request_checks.HOUSE
    too_long = "the input length exceeds the context length"

    def view(self, request: HttpRequest, body: Body) -> RequestView:
        messages = objs(body.get("messages"))
        options = obj(body.get("options"))
        limit = whole(options.get("num_predict"))
        tools = objs(body.get("tools"))
        kept = _fitting(messages, tokens(compact(tools)) if tools else 0, window(body))
        return RequestView(
            api="ollama",
            model=text(body.get("model")),
            stream=body.get("stream") is not False,
            items=[item for message in kept for item in _items(message)],
            tools=offered_functions(tools),
            system="\n".join(
                text(message.get("content")) for message in kept if message.get("role") == "system"
            ),
            body=body,
            rows=[tools, *messages],
            stops=strings(options.get("stop")),
            limit=limit if limit and limit > 0 else None,
            left_out=len(messages) - len(kept),
        )

    def render(self, turn: Turn, view: RequestView, state: ServerState) -> HttpResponse:
        rows: list[tuple[Body, float]] = []
        calls = 0
        for part in () if turn.stop == "empty" else turn.parts:
            match part:
                case Think(thought, redacted):
                    if redacted or view.body.get("think") is False:
                        continue
                    rows += [({"content": "", "thinking": p}, 1.0) for p in words(thought)]
                case Text(said):
                    rows += [({"content": piece}, 1.0) for piece in words(said)]
                case Call():
                    function: Body = {
                        "index": calls,
                        "name": part.name,
                        "arguments": arguments(raw_arguments(part)),
                    }
                    call: Body = {"id": part.id or state.id("call_", 8), "function": function}
                    rows.append(({"content": "", "tool_calls": [call]}, 8.0))
                    calls += 1
                case ServerTool():
                    pass  # there are none here
        usage = usage_of(turn, view)
        last: Body = {
            "done": True,
            "done_reason": "length" if turn.stop in ("max_tokens", "context_exceeded") else "stop",
            "total_duration": 1_000_000_000,
            "load_duration": 1_000_000,
            "prompt_eval_count": usage.inp if turn.usage else min(usage.inp, window(view.body)),
            "prompt_eval_duration": 1_000_000,
            "eval_count": usage.out,
            "eval_duration": 1_000_000_000,
        }
        if not view.stream:
            return json_answer({**_line(view, _whole([row for row, _ in rows])), **last})
        frames = [json_line({**_line(view, row), "done": False}, weight) for row, weight in rows]
        frames.append(json_line({**_line(view, {"content": ""}), **last}))
        return HttpResponse(frames, content_type="application/x-ndjson")

    def no_model(self, view: RequestView) -> RequestRefused:
        return RequestRefused("model", f"model '{view.model}' not found", status=404)

    def failure(self, refused: RequestRefused) -> HttpResponse:
        return json_answer({"error": str(refused)}, refused.status)

    def error_frame(self, kind: str, variant: str) -> Frame:
        return json_line({"error": _KINDS[kind]})

    def unknown(self, kind: str) -> list[Frame]:
        surprise: Body = {"surprise": {"kind": "new"}}
        if kind != "event":
            surprise = {"message": {"role": "assistant", "content": "", **surprise}}
        return [json_line({**surprise, "done": False})]


def window(body: Body) -> int:
    """The tokens the request has room for: ``num_ctx``, or what the server takes by itself."""
    asked = obj(body.get("options")).get("num_ctx")
    return int(asked) if isinstance(asked, int | float) and asked > 0 else WINDOW


def _fitting(messages: list[Body], taken: int, room: int) -> list[Body]:
    """What is left when the oldest messages are dropped, silently, until the rest fits.

    System messages stay, and so does the last message.
    """
    sizes = [tokens(compact(message)) for message in messages]
    kept = list(range(len(messages)))
    for index in range(len(messages) - 1):
        if taken + sum(sizes[n] for n in kept) <= room:
            break
        if messages[index].get("role") != "system":
            kept.remove(index)
    return [messages[index] for index in kept]


def _items(message: Body) -> list[Item]:
    said = text(message.get("content"))
    match message.get("role"):
        case "tool":
            name = text(message.get("tool_name"))
            return [Returned(text(message.get("tool_call_id")), name, said)]
        case "assistant":
            spoken = [Said("assistant", said)] if said else []
            return [*spoken, *called_functions(message)]
        case "system":
            return [Said("system", said)]
        case _:
            return [Said("user", said)]


def _line(view: RequestView, message: Body) -> Body:
    return {
        "model": view.model,
        "created_at": "2026-11-21T12:00:00.000000Z",
        "message": {"role": "assistant", **message},
    }


def _whole(rows: list[Body]) -> Body:
    message: Body = {"content": "".join(text(row.get("content")) for row in rows)}
    if thought := "".join(text(row.get("thinking")) for row in rows):
        message["thinking"] = thought
    if calls := [call for row in rows for call in objs(row.get("tool_calls"))]:
        message["tool_calls"] = calls
    return message
