"""Ollama /api/chat: lines of JSON, calls whole."""

from __future__ import annotations

from studio.providers.simulator.http import Answer, Frame, HttpRequest
from studio.providers.simulator.maker import Maker
from studio.providers.simulator.refused import Refused
from studio.providers.simulator.rules import ollama as rules
from studio.providers.simulator.script import Call, Text, Think, Turn
from studio.providers.simulator.view import (
    Called,
    Item,
    Offered,
    RequestView,
    Returned,
    Said,
    named,
)
from studio.providers.simulator.wire import Body, arguments, compact, obj, objs, text

from .base import Surface, json_answer, raw_arguments, usage_of, words

_KINDS = {
    "overloaded": "server busy, please try again.  maximum pending requests exceeded",
    "rate_limit": "too many requests",
    "server": "model runner has unexpectedly stopped, this may be due to resource limitations",
    "invalid_request": "invalid request",
    "timeout": "timed out waiting for llama runner to start",
}


class Ollama(Surface):
    """``POST /api/chat``; streams unless told not to."""

    name = "ollama"

    def view(self, request: HttpRequest, body: Body) -> RequestView:
        items: list[Item] = []
        for message in objs(body.get("messages")):
            items += _items(message)
        return RequestView(
            surface="ollama",
            model=text(body.get("model")),
            stream=body.get("stream") is not False,
            items=named(items),
            tools=[
                Offered(
                    text(function.get("name")),
                    text(function.get("description")),
                    obj(function.get("parameters")),
                )
                for tool in objs(body.get("tools"))
                if (function := obj(tool.get("function")))
            ],
            system="\n".join(
                text(message.get("content"))
                for message in objs(body.get("messages"))
                if message.get("role") == "system"
            ),
            body=body,
        )

    def check(self, view: RequestView, maker: Maker) -> None:
        rules.check(view, maker)

    def render(self, turn: Turn, view: RequestView, maker: Maker) -> Answer:
        rows: list[tuple[Body, float]] = []
        calls = 0
        for part in () if turn.stop == "empty" else turn.parts:
            match part:
                case Think(thought):
                    rows += [({"content": "", "thinking": p}, 1.0) for p in words(thought)]
                case Text(said):
                    rows += [({"content": piece}, 1.0) for piece in words(said)]
                case Call():
                    function: Body = {
                        "index": calls,
                        "name": part.name,
                        "arguments": arguments(raw_arguments(part)),
                    }
                    call: Body = {"id": part.id or maker.id("call_", 8), "function": function}
                    rows.append(({"content": "", "tool_calls": [call]}, 8.0))
                    calls += 1
        usage = usage_of(turn, view)
        last: Body = {
            "done": True,
            "done_reason": "length" if turn.stop in ("max_tokens", "context_exceeded") else "stop",
            "total_duration": 1_000_000_000,
            "load_duration": 1_000_000,
            "prompt_eval_count": usage.inp,
            "prompt_eval_duration": 1_000_000,
            "eval_count": usage.out,
            "eval_duration": 1_000_000_000,
        }
        if not view.stream:
            return json_answer({**_line(view, _whole([row for row, _ in rows])), **last})
        frames = [
            Frame((compact({**_line(view, row), "done": False}) + "\n").encode(), weight)
            for row, weight in rows
        ]
        frames.append(Frame((compact({**_line(view, {"content": ""}), **last}) + "\n").encode()))
        return Answer(frames, content_type="application/x-ndjson")

    def no_model(self, view: RequestView) -> Refused:
        return Refused("model", f"model '{view.model}' not found", status=404)

    def failure(self, refused: Refused) -> Answer:
        return json_answer({"error": str(refused)}, refused.status)

    def error_frame(self, kind: str, variant: str) -> Frame:
        return Frame((compact({"error": _KINDS[kind]}) + "\n").encode())

    def unknown_frame(self) -> Frame:
        return Frame((compact({"surprise": {"kind": "new"}, "done": False}) + "\n").encode())


def _items(message: Body) -> list[Item]:
    said = text(message.get("content"))
    match message.get("role"):
        case "tool":
            name = text(message.get("tool_name"))
            return [Returned(text(message.get("tool_call_id")), name, said)]
        case "assistant":
            items: list[Item] = [Said("assistant", said)] if said else []
            for call in objs(message.get("tool_calls")):
                function = obj(call.get("function"))
                items.append(
                    Called(
                        text(call.get("id")),
                        text(function.get("name")),
                        arguments(function.get("arguments")),
                    )
                )
            return items
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
