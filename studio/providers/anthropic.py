"""Anthropic's Messages API, through its SDK.

The SDK opens connections, signs requests and names errors. Requests and events
pass by its typed models: what is stored is what came, and goes back unchanged.
"""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, cast

from studio.domain.errors import ProviderError, ProviderFault
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.messages import File, Image, Message, Said, Text, ToolCall, ToolResult
from studio.domain.models import ModelInfo

from .anthropic_accumulator import AnthropicAccumulator, calls_of, unreadable
from .attachments import as_text as file_text
from .base import Provider, ReplyStream, Request
from .conversation import paired
from .faults import Border, fault_of_status, is_too_long, retry_after, words_of
from .http import Http
from .shapes import as_flag, as_limit, as_object, as_objects, as_text
from .streaming import NativeStream
from .wire import sse_objects

if TYPE_CHECKING:
    import httpx2
    from anthropic import APIStatusError, AsyncAnthropic

VENDOR = "https://api.anthropic.com"
IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
OUTPUT_LIMIT = 32_000
OLD_LIMITS = (("claude-3-7", 64_000), ("claude-3-5", 8_192), ("claude-3-", 4_096))
"""Tokens, by the start of the model's name, for models below the usual limit."""
PAGES = 50

FAULTS: dict[str, ProviderFault] = {
    "authentication_error": "bad_key",
    "billing_error": "no_credit",
    "permission_error": "forbidden",
    "not_found_error": "not_found",
    "request_too_large": "too_long",
    "rate_limit_error": "rate_limited",
    "api_error": "server",
    "timeout_error": "server",
    "overloaded_error": "overloaded",
    "invalid_request_error": "bad_request",
}


class AnthropicProvider(Provider):
    """Native items are messages: ``{"role": "user", "content": [...]}``."""

    name = "anthropic"
    protocol = "anthropic"

    def __init__(self, key: str, base_url: str, http: Http) -> None:
        """``base_url`` without ``/v1``; empty for the vendor's own."""
        self._key = key
        self._base_url = (base_url or VENDOR).rstrip("/").removesuffix("/v1")
        self._http = http
        self._border = Border(self.name, "Anthropic", self._base_url, key)
        self._sdk: tuple[httpx2.AsyncClient, AsyncAnthropic] | None = None

    def said(self, blocks: Sequence[Said]) -> list[JsonObject]:
        content = [_said(block) for block in blocks if not _is_blank(block)]
        return [_message("user", content)] if content else []

    def results(self, results: Sequence[ToolResult]) -> list[JsonObject]:
        return [_message("user", [_result(result) for result in results])] if results else []

    def open_calls(self, history: Sequence[JsonObject]) -> list[ToolCall]:
        answered: set[str] = set()
        calls: list[ToolCall] = []
        for message in reversed(history):
            if message.get("role") == "assistant":
                calls = calls_of(message) + calls
            elif calls:
                break
            else:
                content = as_objects(message.get("content"))
                answered |= {as_text(block.get("tool_use_id")) for block in content}
        return [call for call in calls if call.id not in answered]

    def rebuild(self, messages: Sequence[Message]) -> list[JsonObject]:
        history: list[JsonObject] = []

        def add(role: str, content: list[JsonObject]) -> None:
            if not content:
                return
            if not history and role == "assistant":  # a person always speaks first
                history.append(_message("user", [_text("(Earlier messages are left out.)")]))
            if history and history[-1]["role"] == role:
                cast("list[Json]", history[-1]["content"]).extend(content)
            else:
                history.append(_message(role, content))

        for exchange in paired(messages):
            add("user", [_said(block) for block in exchange.said])
            text = [_text(exchange.text)] if exchange.text.strip() else []
            add("assistant", [*text, *(_call(call) for call in exchange.calls)])
            add("user", [_result(result) for result in exchange.results])
        return history

    def stream(self, request: Request) -> ReplyStream:
        async def open(stack: AsyncExitStack) -> AsyncIterator[JsonObject]:
            client = await self._client()
            response = await stack.enter_async_context(
                client.messages.with_streaming_response.create(
                    model=request.model,
                    max_tokens=output_limit(request),
                    messages=[],
                    stream=True,
                    extra_body=_body(request),  # past the SDK's conversion, byte for byte
                )
            )
            return sse_objects(response.http_response.aiter_bytes())

        def translate(error: Exception) -> ProviderError:
            return self._translate(error, request.model)

        return NativeStream(self.name, open, AnthropicAccumulator(self._in_stream), translate)

    async def models(self) -> list[ModelInfo]:
        found: dict[str, ModelInfo] = {}
        after: dict[str, str] = {}
        try:
            client = await self._client()
            for _ in range(PAGES):  # a cursor that never ends ends here
                response = await client.models.with_raw_response.list(limit=1000, extra_query=after)
                page = as_object(response.http_response.json())
                if not isinstance(page.get("data"), list):
                    raise self._border.fault("protocol")
                before = len(found)
                for model in as_objects(page.get("data")):
                    if model.get("type") == "model" and model.get("lifecycle") != "retired":
                        info = _model(model)
                        found.setdefault(info.id, info)
                last = as_text(page.get("last_id"))
                if page.get("has_more") is not True or not last or len(found) == before:
                    break
                after = {"after_id": last}
        except Exception as error:
            raise self._translate(error) from error
        return list(found.values())

    async def _client(self) -> AsyncAnthropic:
        """The SDK's client on the shared connections; ProviderError(no_key) without a key."""
        if not self._key:
            raise self._border.fault("no_key")
        http = await self._http.client()
        if self._sdk is None or self._sdk[0] is not http:
            self._sdk = (http, await asyncio.to_thread(self._make, http))
        return self._sdk[1]

    def _make(self, http: httpx2.AsyncClient) -> AsyncAnthropic:
        from anthropic import AsyncAnthropic

        # Servers that imitate Anthropic often know only the older header.
        headers = None if self._base_url == VENDOR else {"x-api-key": self._key}
        return AsyncAnthropic(
            api_key=self._key,
            base_url=self._base_url,
            http_client=http,
            max_retries=0,
            default_headers=headers,
        )

    def _in_stream(self, event: JsonObject) -> ProviderError:
        """The error inside a 200 stream."""
        error = as_object(event.get("error"))
        return self._named(as_text(error.get("type")), words_of(event))

    def _named(
        self, kind: str, words: str, *, model: str = "", status: int | None = None
    ) -> ProviderError:
        fault = FAULTS.get(kind) or (fault_of_status(status) if status else "server")
        if fault == "bad_request":
            if is_too_long(words):
                fault = "too_long"
            elif "credit balance" in words:
                fault = "no_credit"
        named = model if fault == "not_found" and words.startswith("model") else ""
        return self._border.fault(fault, words, model=named, status=status)

    def _translate(self, error: Exception, model: str = "") -> ProviderError:
        if isinstance(error, ProviderError):
            return error
        import anthropic

        if isinstance(error, anthropic.APIStatusError):
            return self._status(error, model)
        if isinstance(error, anthropic.APIConnectionError):
            cause = error.__cause__
            if isinstance(cause, Exception):
                return self._border.exception(cause)
            return self._border.fault("network")
        return self._border.exception(error)

    def _status(self, error: APIStatusError, model: str) -> ProviderError:
        headers, status = error.response.headers, error.status_code
        if error.type is not None:
            found = self._named(error.type, words_of(error.body), model=model, status=status)
            found.retry_after = retry_after(headers)
            return found
        fault: ProviderFault | None = "protocol" if status in (404, 405) else None
        return self._border.answer(status, error.body, headers, fault=fault)


def output_limit(request: Request) -> int:
    """``max_tokens``, which this API demands: room for an answer, a quarter of the window."""
    limit = request.output_limit
    if limit is None:
        known = (tokens for start, tokens in OLD_LIMITS if request.model.startswith(start))
        limit = next(known, OUTPUT_LIMIT)
    if request.context_window:
        limit = min(limit, max(request.context_window // 4, 1))
    return limit


def _body(request: Request) -> JsonObject:
    body: JsonObject = {
        "messages": list(request.history),
        # One automatic mark that wanders with the end: no stored message carries one.
        "cache_control": {"type": "ephemeral"},
    }
    if request.system.strip():
        body["system"] = request.system
    if request.tools:
        body["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
            for tool in request.tools
        ]
    return body


def _message(role: str, content: Sequence[JsonObject]) -> JsonObject:
    return {"role": role, "content": list(content)}


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _is_blank(block: Said) -> bool:
    return isinstance(block, Text) and not block.text.strip()


def _said(block: Said) -> JsonObject:
    match block:
        case Text():
            return _text(block.text)
        case Image():
            return _image(block)
        case File(media_type="application/pdf"):
            source = _source(block.media_type, block.data)
            return {"type": "document", "source": source, "title": block.name[:200]}
        case File():
            if block.media_type in IMAGES:
                return _image(Image(block.media_type, block.data))
            if (text := file_text(block)) is not None:
                return _text(text)
            return _text(f"(The file {block.name} is {block.media_type} and cannot be read here.)")


def _image(image: Image) -> JsonObject:
    if image.media_type not in IMAGES:
        return _text(f"(A picture in the format {image.media_type} was left out.)")
    return {"type": "image", "source": _source(image.media_type, image.data)}


def _source(media_type: str, data: bytes) -> JsonObject:
    encoded = base64.b64encode(data).decode("ascii")
    return {"type": "base64", "media_type": media_type, "data": encoded}


def _call(call: ToolCall) -> JsonObject:
    arguments = unreadable(call.raw) if call.arguments is None else call.arguments
    name = re.sub(r"[^A-Za-z0-9_-]", "_", call.name)[:128] or "tool"
    return {"type": "tool_use", "id": call.id, "name": name, "input": arguments}


def _result(result: ToolResult) -> JsonObject:
    """Never an empty content, and nothing but text in an error: both are rejected."""
    content = [
        _text(part.text) if isinstance(part, Text) else _image(part)
        for part in result.content
        if not (isinstance(part, Text) and not part.text.strip())
        and not (result.is_error and isinstance(part, Image))
    ]
    native: JsonObject = {
        "type": "tool_result",
        "tool_use_id": result.call_id,
        "content": list[Json](content or [_text("(no output)")]),
    }
    if result.is_error:
        native["is_error"] = True
    return native


def _model(model: JsonObject) -> ModelInfo:
    able = as_object(model.get("capabilities"))
    return ModelInfo(
        id=as_text(model.get("id")),
        name=as_text(model.get("display_name")),
        context_window=as_limit(model.get("max_input_tokens")),
        output_limit=as_limit(model.get("max_tokens")),
        images=as_flag(as_object(able.get("image_input")).get("supported")),
        reasoning=as_flag(as_object(able.get("thinking")).get("supported")),
    )
