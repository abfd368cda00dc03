"""OpenAI Responses: items with ids, numbered events, encrypted reasoning."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from typing import Any

from studio.simulator.endpoint import (
    Endpoint,
    body_of,
    event,
    fragments,
    json_answer,
    offered,
    raw_arguments,
    usage_of,
    whole,
    words,
)
from studio.simulator.http import Frame, HttpRequest, HttpResponse
from studio.simulator.json_read import Body, arguments, joined, obj, objs, text
from studio.simulator.openai_chat.endpoint import error_answer, error_body, no_model
from studio.simulator.request_checks import RequestRefused
from studio.simulator.request_view import Called, Item, RequestView, Returned, Said
from studio.simulator.script import Call, ServerTool, Text, Think, Turn, Usage
from studio.simulator.state import ServerState

from . import tool_call_checks as tool_calls

CREATED = 1_790_000_000
TEXT_SCHEMA: Body = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}
"""What a script sees of a custom tool, which takes plain text."""


class ResponsesEndpoint(Endpoint):
    """``POST /v1/responses`` and its token count."""

    name = "responses"
    rules = tool_calls.RULES
    house = tool_calls.HOUSE
    too_long = (
        "Your input exceeds the context window of this model. Please adjust your input and try "
        "again."
    )

    def view(self, request: HttpRequest, body: Body) -> RequestView:
        given = body.get("input")
        rows = [{"role": "user", "content": given}] if isinstance(given, str) else objs(given)
        items = [item for row in rows if (item := _item(row)) is not None]
        return RequestView(
            api="responses",
            model=text(body.get("model")),
            stream=bool(body.get("stream")),
            items=items,
            tools=offered(
                [
                    tool if tool["type"] == "function" else {**tool, "parameters": TEXT_SCHEMA}
                    for tool in objs(body.get("tools"))
                    if tool.get("type") in ("function", "custom")
                ],
                "parameters",
            ),
            system=text(body.get("instructions")),
            body=body,
            rows=[[body.get("instructions"), body.get("tools")], *rows],
            breakpoints=range(len(rows) + 1),
            limit=whole(body.get("max_output_tokens")),
            may_call=body.get("tool_choice") != "none",
        )

    def render(self, turn: Turn, view: RequestView, state: ServerState) -> HttpResponse:
        stored = view.body.get("store") is not False
        custom = {tool.get("name") for tool in objs(view.body.get("tools")) if _is_custom(tool)}
        items = _output(turn, state, custom)
        if stored:
            state.stored.update(text(item["id"]) for item in items)
        response = _response(turn, view, state)
        for item in items:
            if item["type"] == "reasoning":
                _encrypt(item, items, state, "done", view.model)
        if dropped := tool_calls.transformations(view, state):
            response["input_transformations"] = dropped
        if not view.stream:
            return json_answer({**response, "output": items})
        return HttpResponse(
            _Stream(response).frames(items, state),
            content_type="text/event-stream; charset=utf-8",
        )

    def no_model(self, view: RequestView) -> RequestRefused:
        return no_model(view.model, 400)

    def count(self, tokens: int) -> Body:
        return {"object": "response.input_tokens", "input_tokens": tokens}

    def failure(self, refused: RequestRefused) -> HttpResponse:
        return error_answer(refused)

    def error_frame(self, kind: str, variant: str) -> Frame:
        error = error_body(kind)
        if variant == "failed":
            failed: Body = {
                "id": "resp_simulated",
                "object": "response",
                "created_at": CREATED,
                "status": "failed",
                "model": "simulated",
                "output": [],
                "parallel_tool_calls": True,
                "tool_choice": "auto",
                "tools": [],
                "error": {"code": error["code"], "message": error["message"]},
            }
            return event("response.failed", response=failed, sequence_number=0)
        return event(
            "error",
            code=error["code"],
            message=error["message"],
            param=None,
            sequence_number=0,
        )

    def unknown(self, kind: str) -> list[Frame]:
        item: Body = {"id": f"su_{uuid.uuid4().hex}", "type": "surprise_item", "surprise": "new"}
        if kind == "block":
            return [
                event(f"response.output_item.{stage}", item=item, output_index=90)
                for stage in ("added", "done")
            ]
        name = "response.surprise.delta" if kind == "delta" else "response.surprise"
        return [event(name, surprise={"kind": "new"}, output_index=0, sequence_number=0)]

    def stranger(self) -> list[Frame]:
        at: Body = {"item_id": "msg_unheard_of", "output_index": 99, "content_index": 0}
        return [event("response.output_text.delta", delta="?", sequence_number=0, **at)]

    def odd_stop(self, frames: Sequence[Frame]) -> list[Frame]:
        *rest, last = frames
        response = {
            **obj(body_of(last).get("response")),
            "status": "incomplete",
            "incomplete_details": {"reason": "surprise"},
        }
        return [*rest, event("response.incomplete", response=response, sequence_number=0)]


def _item(row: Body) -> Item | None:
    match row.get("type", "message"):
        case "message":
            role = row.get("role")
            said = joined(row.get("content"))
            if role == "assistant":
                return Said("assistant", said)
            return Said("system" if role in ("system", "developer") else "user", said)
        case "function_call":
            return Called(
                text(row.get("call_id")), text(row.get("name")), arguments(row.get("arguments"))
            )
        case "custom_tool_call":
            return Called(
                text(row.get("call_id")), text(row.get("name")), {"input": row.get("input")}
            )
        case "function_call_output" | "custom_tool_call_output":
            return Returned(text(row.get("call_id")), "", joined(row.get("output")))
        case _:
            return None


def _is_custom(tool: Body) -> bool:
    return tool.get("type") == "custom"


def _output(turn: Turn, state: ServerState, custom: Collection[object] = ()) -> list[Body]:
    """The reply's items; what calls a ``custom`` tool has plain text.

    Their ids say which reasoning they belong to; see ``tool_call_checks``.
    """
    family = state.hex(40)
    reasoning = ""
    items: list[Body] = []
    parts = [] if turn.stop == "empty" else list(turn.parts)
    calls = any(isinstance(part, Call) for part in parts)
    cut = turn.stop in ("max_tokens", "content_filter")
    for index, part in enumerate(parts):
        status = "incomplete" if cut and index == len(parts) - 1 else "completed"
        id_ = tool_calls.make_id(family, index, reasoning)
        match part:
            case Think(thought, redacted):
                reasoning = f"{index:02x}"
                items.append(
                    {
                        "id": "rs_" + tool_calls.make_id(family, index, ""),
                        "type": "reasoning",
                        "summary": [{"type": "summary_text", "text": thought}]
                        if thought and not redacted
                        else [],
                        "content": [],
                        "encrypted_content": "",
                    }
                )
            case Text(said, phase):
                content: Body = {"type": "refusal", "refusal": said}
                if turn.stop != "refusal":
                    content = {
                        "type": "output_text",
                        "text": said,
                        "annotations": [],
                        "logprobs": [],
                    }
                items.append(
                    {
                        "id": "msg_" + id_,
                        "type": "message",
                        "status": status,
                        "role": "assistant",
                        "phase": phase or ("commentary" if calls else "final_answer"),
                        "content": [content],
                    }
                )
            case Call() if part.name in custom:
                items.append(
                    {
                        "id": "ctc_" + id_,
                        "type": "custom_tool_call",
                        "status": status,
                        "call_id": part.id or state.id("call_"),
                        "name": part.name,
                        "input": text(part.arguments.get("input")),
                    }
                )
            case Call():
                items.append(
                    {
                        "id": "fc_" + id_,
                        "type": "function_call",
                        "status": status,
                        "call_id": part.id or state.id("call_"),
                        "name": part.name,
                        "arguments": raw_arguments(part),
                    }
                )
            case ServerTool():
                sources = [{"type": "url", "url": row.url} for row in part.found]
                items.append(
                    {
                        "id": "ws_" + id_,
                        "type": f"{part.name}_call",
                        "status": status,
                        "action": {"type": "search", "query": part.query, "sources": sources},
                    }
                )
    return items


def _encrypt(item: Body, items: list[Body], state: ServerState, stage: str, model: str) -> None:
    index = items.index(item)
    following = items[index + 1] if index + 1 < len(items) else {}
    item["encrypted_content"] = tool_calls.encrypt(item, following, state, stage, model)


def _response(turn: Turn, view: RequestView, state: ServerState) -> Body:
    usage: Usage = usage_of(turn, view)
    reasons = {
        "max_tokens": "max_output_tokens",
        "context_exceeded": "max_output_tokens",
        "content_filter": "content_filter",
        "safety": "content_filter",
    }
    reason = reasons.get(turn.stop)
    return {
        "id": "resp_" + state.hex(40),
        "object": "response",
        "created_at": CREATED,
        "status": "incomplete" if reason else "completed",
        "background": False,
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "instructions": view.body.get("instructions"),
        "max_output_tokens": view.body.get("max_output_tokens"),
        "metadata": {},
        "model": view.model,
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": "medium", "summary": None, **obj(view.body.get("reasoning"))},
        "store": view.body.get("store") is not False,
        "temperature": 1.0,
        "text": view.body.get("text") or {"format": {"type": "text"}},
        "tool_choice": view.body.get("tool_choice") or "auto",
        "tools": objs(view.body.get("tools")),
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": {
            "input_tokens": usage.inp,
            "input_tokens_details": {
                "cached_tokens": usage.cache_read,
                "cache_write_tokens": usage.cache_write,
            },
            "output_tokens": usage.out,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning},
            "total_tokens": usage.inp + usage.out,
        },
    }


class _Stream:
    """Numbers the events of one response."""

    def __init__(self, response: Body) -> None:
        self._response = response
        self._frames: list[Frame] = []

    def _add(self, kind: str, tokens: float = 0.0, **fields: Any) -> None:
        number = len(self._frames)
        self._frames.append(event(f"response.{kind}", tokens, **fields, sequence_number=number))

    def frames(self, items: list[Body], state: ServerState) -> list[Frame]:
        final = self._response
        begun = {**final, "status": "in_progress", "usage": None, "incomplete_details": None}
        self._add("created", response=begun)
        self._add("in_progress", response=begun)
        for index, item in enumerate(items):
            added = {**item, "status": "in_progress"} if "status" in item else dict(item)
            if item["type"] == "reasoning":
                # Never verifies: what comes with ``added`` is not to be sent back.
                added |= {"summary": [], "encrypted_content": state.signer.sign("unfinished")}
            elif item["type"] == "message":
                added["content"] = []
            elif item["type"] == "function_call":
                added["arguments"] = ""
            elif item["type"] == "custom_tool_call":
                added["input"] = ""
            self._add("output_item.added", item=added, output_index=index)
            self._content(index, item)
            self._add("output_item.done", item=dict(item), output_index=index)
        for item in items:
            if item["type"] == "reasoning":
                _encrypt(item, items, state, "completed", text(final["model"]))
        self._add(str(final["status"]), response={**final, "output": items})
        return self._frames

    def _content(self, index: int, item: Body) -> None:
        match item["type"]:
            case "reasoning":
                self._summary(index, item)
            case "message":
                self._message(index, item)
            case "function_call":
                self._call(index, item)
            case "custom_tool_call":
                self._custom_call(index, item)
            case _:
                for stage in ("in_progress", "searching", "completed"):
                    kind = f"{item['type']}.{stage}"
                    self._add(kind, item_id=item["id"], output_index=index)

    def _summary(self, index: int, item: Body) -> None:
        for part in objs(item["summary"]):
            at: Body = {"item_id": item["id"], "output_index": index, "summary_index": 0}
            thought = text(part["text"])
            self._add("reasoning_summary_part.added", part={**part, "text": ""}, **at)
            for piece in words(thought):
                self._add("reasoning_summary_text.delta", 1.0, delta=piece, **at)
            self._add("reasoning_summary_text.done", text=thought, **at)
            self._add("reasoning_summary_part.done", part=part, **at)

    def _message(self, index: int, item: Body) -> None:
        at: Body = {"item_id": item["id"], "output_index": index, "content_index": 0}
        part = objs(item["content"])[0]
        refusal = part["type"] == "refusal"
        field = "refusal" if refusal else "text"
        kind = "refusal" if refusal else "output_text"
        extra: Body = {} if refusal else {"logprobs": []}
        said = text(part[field])
        self._add("content_part.added", part={**part, field: ""}, **at)
        for piece in words(said):
            self._add(f"{kind}.delta", 1.0, delta=piece, obfuscation="x", **extra, **at)
        self._add(f"{kind}.done", **{field: said}, **extra, **at)
        self._add("content_part.done", part=part, **at)

    def _call(self, index: int, item: Body) -> None:
        at: Body = {"item_id": item["id"], "output_index": index}
        raw = text(item["arguments"])
        for piece in fragments(raw):
            self._add("function_call_arguments.delta", 1.0, delta=piece, obfuscation="x", **at)
        if item["status"] == "completed":
            self._add("function_call_arguments.done", arguments=raw, name=item["name"], **at)

    def _custom_call(self, index: int, item: Body) -> None:
        at: Body = {"item_id": item["id"], "output_index": index}
        raw = text(item["input"])
        for piece in words(raw):
            self._add("custom_tool_call_input.delta", 1.0, delta=piece, obfuscation="x", **at)
        if item["status"] == "completed":
            self._add("custom_tool_call_input.done", input=raw, **at)
