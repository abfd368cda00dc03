"""Chat Completions, for OpenAI-compatible servers of any make (P-1).

Speaks over the shared HTTP client, without an SDK: fields that only one vendor
knows (what the model thinks, signatures on calls) survive and go back to it.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.messages import File, Image, Message, Said, Text, ToolCall, ToolResult
from studio.domain.models import ModelInfo
from studio.domain.tools import ToolSpec

from .attachments import as_text, data_url
from .base import Provider, Request
from .chat_accumulator import ChatAccumulator, calls_of
from .conversation import paired
from .faults import Border
from .http import Http
from .openai_errors import fault_of_error
from .streaming import NativeStream
from .wire import Endpoint, sse_objects

NO_OUTPUT = "(no output)"


class CompatibleProvider(Provider):
    """A server that speaks Chat Completions. ``base_url`` ends in ``/v1`` or its like."""

    protocol = "chat"

    def __init__(
        self,
        key: str,
        base_url: str,
        http: Http,
        name: str = "openai-compatible",
        title: str = "",
    ) -> None:
        self.name = name
        border = Border(name, title, base_url, key)
        if not title:
            border = replace(border, title=border.host or "the server")
        self._endpoint = Endpoint(border, http, fault_of_error)

    def said(self, blocks: Sequence[Said]) -> list[JsonObject]:
        if all(isinstance(block, Text) for block in blocks):
            words = [block.text for block in blocks if isinstance(block, Text)]
            return [{"role": "user", "content": "\n\n".join(words)}]
        return [{"role": "user", "content": [_part(block) for block in blocks]}]

    def results(self, results: Sequence[ToolResult]) -> list[JsonObject]:
        """Tool messages hold text only: pictures follow in one message of the user's."""
        messages: list[JsonObject] = []
        pictures: list[Json] = []
        for result in results:
            images = [part for part in result.content if isinstance(part, Image)]
            messages.append(
                {
                    "role": "tool",
                    "tool_call_id": result.call_id,
                    "content": result_text(result),
                }
            )
            if images:
                pictures.append({"type": "text", "text": f"From {result.name}:"})
                pictures += [_part(image) for image in images]
        if pictures:
            messages.append({"role": "user", "content": pictures})
        return messages

    def open_calls(self, history: Sequence[JsonObject]) -> list[ToolCall]:
        return unanswered(history, calls_of)

    def rebuild(self, messages: Sequence[Message]) -> list[JsonObject]:
        history: list[JsonObject] = []
        for exchange in paired(messages):
            if exchange.said:
                history += self.said(exchange.said)
            if exchange.calls:
                calls: list[Json] = [
                    {
                        "id": call.id,
                        "type": "function",
                        "function": {
                            "name": call.name,
                            "arguments": json.dumps(call.arguments or {}, ensure_ascii=False),
                        },
                    }
                    for call in exchange.calls
                ]
                history.append(
                    {"role": "assistant", "content": exchange.text or None, "tool_calls": calls}
                )
            elif exchange.text:
                history.append({"role": "assistant", "content": exchange.text})
            history += self.results(exchange.results)
        return history

    def stream(self, request: Request) -> NativeStream[JsonObject]:
        system: list[Json] = [{"role": "system", "content": request.system}]
        messages: list[Json] = [*(system if request.system else []), *request.history]
        body: JsonObject = {
            "model": request.model,
            "messages": messages,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
        if request.output_limit is not None:
            body["max_tokens"] = request.output_limit

        async def open(stack: AsyncExitStack) -> AsyncIterator[JsonObject]:
            chunks = await self._endpoint.stream(
                stack, "/chat/completions", body, model=request.model
            )
            return sse_objects(chunks)

        return NativeStream(
            self.name,
            open,
            ChatAccumulator(request.history, self._endpoint.fault),
            self._endpoint.border.exception,
        )

    async def models(self) -> list[ModelInfo]:
        answer = await self._endpoint.get("/models")
        listed = answer.get("data", answer.get("models"))
        if not isinstance(listed, list):
            raise self._endpoint.border.fault("protocol")
        return [
            info
            for entry in listed
            if isinstance(entry, dict) and (info := _info(entry)) is not None
        ]


def result_text(result: ToolResult) -> str:
    """A result as text, for protocols without an error flag."""
    text = result.text
    if not text.strip():
        text = NO_OUTPUT
    if result.is_error and not text.lower().startswith("error"):
        return f"Error: {text}"
    return text


def unanswered(
    history: Sequence[JsonObject], calls_of: Callable[[JsonObject], list[ToolCall]]
) -> list[ToolCall]:
    """The calls of the last assistant message that no tool message after it answers."""
    answered: set[str] = set()
    for message in reversed(history):
        match message.get("role"):
            case "tool":
                answered.add(str(message.get("tool_call_id")))
            case "assistant":
                return [call for call in calls_of(message) if call.id not in answered]
            case _:
                continue
    return []


def _part(block: Said) -> JsonObject:
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case Image():
            return {"type": "image_url", "image_url": {"url": data_url(block)}}
        case File():
            if (text := as_text(block)) is not None:
                return {"type": "text", "text": text}
            return {
                "type": "file",
                "file": {"filename": block.name, "file_data": data_url(block)},
            }


def _tool(tool: ToolSpec) -> JsonObject:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.schema,
        },
    }


def _info(entry: JsonObject) -> ModelInfo | None:
    """One listed model; vendors add its facts under several names."""
    identifier = entry.get("id") or entry.get("name")
    if not isinstance(identifier, str) or not identifier:
        return None
    name = entry.get("name")
    window = next(
        (
            value
            for key in ("context_length", "max_model_len", "context_window", "max_context_length")
            if isinstance(value := entry.get(key), int)
        ),
        None,
    )
    return ModelInfo(
        identifier,
        name=name if isinstance(name, str) and name != identifier else "",
        context_window=window,
    )
