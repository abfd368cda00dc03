"""Anthropic adapter: sends requests to the Messages API through Anthropic's SDK, or without it.

The SDK addresses requests and adds the key. Requests and events pass by its typed
models: what is stored is what came, and goes back unchanged.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode

from studio.domain.errors import ProviderError, ProviderFault
from studio.domain.jsonvalue import Json, JsonObject, as_object, as_objects, as_text
from studio.domain.ledger import canonical_json
from studio.domain.messages import File, Image, Message, Said, Text, ToolCall, ToolResult
from studio.domain.models import ModelInfo
from studio.domain.tools import ToolSpec
from studio.providers.base import MOST_MODELS, PromptCache, Provider, ReplyStream, Request
from studio.providers.errors import (
    ErrorFactory,
    apply_retry_advice,
    error_message,
    fault_of_bad_request,
    fault_of_status,
    retry_after,
)
from studio.providers.history_rebuild import LEFT_OUT, add_message, pair_calls
from studio.providers.http import Http, SharedSdk
from studio.providers.media import (
    PDF,
    MediaLimits,
    base64_text,
    is_blank,
    is_picture,
    left_out_text,
    media_refusal,
)
from studio.providers.media import text_of_file as file_text
from studio.providers.plain import Refused, send
from studio.providers.sse import parse_object, sse_batches
from studio.providers.stream_driver import StreamDriver
from studio.providers.structured_output import closed_schema, is_format_refusal, sendable_schema

from . import PROVIDER, validate
from .batch import AnthropicBatches
from .models import (
    beta_headers,
    facts_of,
    output_limit,
    stated_limit,
    takes_forced_calls,
    takes_schemas,
    takes_system_messages,
    thinking_parameters,
)
from .stream import AnthropicAccumulator, calls_of, unreadable

if TYPE_CHECKING:
    import httpx2
    from anthropic import AsyncAnthropic


LIMITS = MediaLimits(
    PROVIDER.title,
    # Formats and 8,000 pixels: Anthropic's page "Images and vision". A picture's 5 MB
    # are counted in base64 ("image exceeds 5 MB maximum").
    ("image/jpeg", "image/png", "image/gif", "image/webp"),
    5 * 1024 * 1024 * 3 // 4,
    # Its page "PDF support": 32 MB for the whole request, base64 and all the rest in it.
    20_000_000,
    edge=8_000,
)
PAGES = 50
VERSION = "2026-10-21"
"""Of the API, as the SDK asks for it."""
SDK_VARIABLES = ("ANTHROPIC_CUSTOM_HEADERS",)
HOSTED = {"web_search": "web_search_20250305"}
"""Tools that Anthropic runs. Later versions of this one filter by running code."""
SEARCHES = 8
"""The most in one request; each is paid for."""

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

    name = PROVIDER.name
    protocol = "anthropic"
    cache = PromptCache(seconds=300.0, minimum=1_024)
    """Five minutes from the last use. Anthropic's page "Prompt caching" has minima
    from 512 (Claude 5) to 4,096 tokens (Opus 4.5, Haiku 4.5)."""

    def __init__(self, key: str, base_url: str, http: Http) -> None:
        """``base_url`` without ``/v1``; empty for the vendor's own."""
        address = (base_url or PROVIDER.address).rstrip("/").removesuffix("/v1")
        self._errors = ErrorFactory(self.name, PROVIDER.title, address, key)
        self._http = http
        self._sdk = SharedSdk(http, self._errors, self._make, SDK_VARIABLES)
        self._most: dict[str, int] = {}
        """Tokens of an answer at most, by model, from refusals: what lists say may be wrong."""

    def user_items(self, blocks: Sequence[Said]) -> list[JsonObject]:
        content = [_said(block) for block in blocks if not is_blank(block)]
        return [_message("user", content)] if content else []

    def result_items(self, results: Sequence[ToolResult]) -> list[JsonObject]:
        return [_message("user", _results(results))] if results else []

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

    def rebuild(
        self, messages: Sequence[Message], facts: ModelInfo | None = None
    ) -> list[JsonObject]:
        history: list[JsonObject] = []
        add = partial(add_message, history, "content", _text(LEFT_OUT))
        for exchange in pair_calls(messages, lambda block: self.media_problem(block, facts)):
            add("user", [_said(block) for block in exchange.said])
            text = [_text(exchange.text)] if exchange.text.strip() else []
            add("assistant", [*text, *(_call(call) for call in exchange.calls)])
            add("user", _results(exchange.results))
        return history

    def system_items(self, text: str, model: str = "") -> list[JsonObject]:
        """Where the model has system messages, one of these: see ``validate.wire_messages``."""
        return [_message("system" if takes_system_messages(model) else "user", [_text(text)])]

    def history_problem(self, history: Sequence[JsonObject]) -> str:
        return validate.history_problem(history)

    def media_problem(self, block: Said, facts: ModelInfo | None = None) -> str:
        return media_refusal(block, LIMITS, facts)

    def runs_tool(self, tool: str, model: str) -> bool:
        return tool in HOSTED

    def stream(self, request: Request) -> ReplyStream:
        async def open(stack: AsyncExitStack) -> AsyncIterator[list[JsonObject]]:
            attempt = request
            while True:
                try:
                    response = await self._post(self._within(attempt))
                except Refused as error:
                    words = error_message(error.body)
                    if error.status != 400:
                        raise
                    if self._learns(request.model, words):
                        continue
                    if sendable_schema(attempt) is None or not is_format_refusal(words):
                        raise
                    attempt = replace(attempt, schema=None)
                else:
                    stack.push_async_callback(response.aclose)
                    return sse_batches(response.aiter_bytes())

        translate = partial(self._translate, model=request.model)
        accumulator = AnthropicAccumulator(self._in_stream)
        return StreamDriver(self.name, open, accumulator, translate, stop=request.stop)

    def batches(self) -> AnthropicBatches:
        made = (self._http, self._errors, self._translate, self._in_stream, body_of)
        batches = AnthropicBatches(*made)
        batches.version = VERSION
        return batches

    def _learns(self, model: str, words: str) -> bool:
        """Whether a refusal says a lower limit of answers than was known."""
        most = stated_limit(words)
        if most is None or most >= self._most.get(model, most + 1):
            return False
        self._most[model] = most
        return True

    def _within(self, request: Request) -> Request:
        """The request with no higher limit than the model was heard to have."""
        if (most := self._most.get(request.model)) is None:
            return request
        ceiling = min(most, request.ceiling or most)
        return replace(request, output_limit=min(output_limit(request), most), ceiling=ceiling)

    async def _post(self, request: Request) -> httpx2.Response:
        body = body_of(request)
        headers = beta_headers(request, body)
        return await self._send("/v1/messages", canonical_json(body).encode(), headers)

    async def _send(
        self, path: str, content: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> httpx2.Response:
        """Post the content, or get, with the SDK or as it does; raises Refused."""
        if self._sdk.skipped:
            sent = {
                "authorization": f"Bearer {self._errors.key}",
                "anthropic-version": VERSION,
                **self._own_headers(),
                **(headers or {}),
            }
            return await send(self._http, self._errors, self._errors.base_url + path, sent, content)
        client = await self._sdk.client()
        from anthropic import APIConnectionError, APIStatusError, AsyncStream

        streamed: Any = {"cast_to": object, "stream": True, "stream_cls": AsyncStream[JsonObject]}
        try:
            if content is None:
                return (await client.get(path, **streamed)).response
            options: Any = {"headers": headers}  # a body would be copied, field by field
            return (await client.post(path, content=content, options=options, **streamed)).response
        except APIStatusError as error:
            raise Refused(error.response) from error
        except APIConnectionError as error:
            raise error.__cause__ or ConnectionError() from error

    async def prepare(self) -> None:
        await self._sdk.prepare()

    async def models(self) -> list[ModelInfo]:
        found: dict[str, ModelInfo] = {}
        after: dict[str, str] = {}
        try:
            for _ in range(PAGES):  # a cursor that never ends ends here
                query = urlencode({"limit": "1000", **after})
                async with aclosing(await self._send(f"/v1/models?{query}")) as response:
                    page = parse_object(await response.aread())
                listed = page.get("data")
                if not isinstance(listed, list):
                    raise self._errors.error("protocol")
                before = len(found)
                for model in as_objects(listed[:MOST_MODELS]):
                    if model.get("type") == "model" and model.get("lifecycle") != "retired":
                        info = facts_of(model)
                        found.setdefault(info.id, info)
                last = as_text(page.get("last_id"))
                full = len(found) == before or len(found) >= MOST_MODELS
                if page.get("has_more") is not True or not last or full:
                    break
                after = {"after_id": last}
        except Exception as error:
            raise self._translate(error) from error
        return list(found.values())

    def _make(self, http: httpx2.AsyncClient) -> AsyncAnthropic:
        from anthropic import AsyncAnthropic

        return AsyncAnthropic(
            api_key=self._errors.key,
            base_url=self._errors.base_url,
            http_client=http,
            max_retries=0,
            default_headers=self._own_headers(),
        )

    def _own_headers(self) -> dict[str, str]:
        """Servers that imitate Anthropic often know only the older header."""
        if self._errors.base_url == PROVIDER.address:
            return {}
        return {"x-api-key": self._errors.key}

    def _in_stream(self, event: JsonObject) -> ProviderError:
        """The error inside a 200 stream."""
        error = as_object(event.get("error"))
        return self._named(as_text(error.get("type")), error_message(event))

    def _named(
        self, kind: str, words: str, *, model: str = "", status: int | None = None
    ) -> ProviderError:
        fault = FAULTS.get(kind) or (fault_of_status(status) if status else "server")
        if fault == "bad_request":
            fault = "no_credit" if "credit balance" in words else fault_of_bad_request(words)
        named = model if fault == "not_found" and words.startswith("model") else ""
        return self._errors.error(fault, words, model=named, status=status)

    def _translate(self, error: Exception, model: str = "") -> ProviderError:
        if isinstance(error, ProviderError):
            return error
        if isinstance(error, Refused):
            return self._status(error, model)
        return self._errors.from_exception(error)

    def _status(self, error: Refused, model: str) -> ProviderError:
        headers, status = error.headers, error.status
        told = as_object(as_object(cast("Json", error.body)).get("error"))
        if kind := as_text(told.get("type")):
            words = error_message(error.body)
            code = as_text(as_object(told.get("details")).get("error_code"))
            named = self._named(kind, words, model=model, status=status)
            fault = (
                "no_credit"
                if "spend_limit" in code
                else apply_retry_advice(named.fault, headers, words)
            )
            if fault != named.fault:
                named = self._errors.error(fault, words, status=status)
            named.retry_after = retry_after(headers)
            return named
        fault: ProviderFault | None = "protocol" if status in (404, 405) else None
        return self._errors.from_response(status, error.body, headers, fault=fault)


def body_of(request: Request) -> JsonObject:
    """What is posted."""
    system = takes_system_messages(request.model)
    body: JsonObject = {
        "model": request.model,
        "stream": True,
        "messages": list[Json](validate.wire_messages(request.history, system=system)),
        # One automatic mark that wanders with the end: no stored message carries one.
        "cache_control": {"type": "ephemeral"},
        **thinking_parameters(request),
    }
    if request.system.strip():
        body["system"] = request.system
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        if choice := _choice(request):
            body["tool_choice"] = choice
    # "each stop sequence must contain non-whitespace": others are found without the API
    if stops := [text for text in request.stop if text.strip()]:
        body["stop_sequences"] = list[Json](stops)
    schema = sendable_schema(request)
    if schema and takes_schemas(request.model) and (copy := closed_schema(schema)):
        form: JsonObject = {"type": "json_schema", "schema": copy}
        body["output_config"] = {**as_object(body.get("output_config")), "format": form}
    # The API's version of October 2026 answers 400 to any, whatever the model.
    if request.facts and request.facts.sampling and "thinking" not in body:
        if request.temperature is not None:
            body["temperature"] = request.temperature
        elif request.top_p is not None:  # many models take only one of the two
            body["top_p"] = request.top_p
    return body


def _choice(request: Request) -> JsonObject:
    """``tool_choice``; empty where the model decides, or cannot be made to call."""
    if not request.callable:
        return {"type": "none"}
    one: JsonObject = {} if request.parallel else {"disable_parallel_tool_use": True}
    if not request.forced or not takes_forced_calls(request.model):
        return {"type": "auto", **one} if one else {}
    if request.named:
        return {"type": "tool", "name": request.named, **one}
    return {"type": "any", **one}


def _tool(tool: ToolSpec) -> JsonObject:
    if tool.hosted:
        return {"type": HOSTED[tool.name], "name": tool.name, "max_uses": SEARCHES}
    if tool.vendor_type:
        return {"type": tool.vendor_type, "name": tool.name}
    return {"name": tool.name, "description": tool.description, "input_schema": tool.schema}


def _message(role: str, content: Sequence[JsonObject]) -> JsonObject:
    return {"role": role, "content": list(content)}


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _said(block: Said) -> JsonObject:
    """A native block; for what would be rejected, words that say what was left out."""
    if isinstance(block, Text):
        return _text(block.text)
    if why := media_refusal(block, LIMITS):
        return _text(left_out_text(block, why))
    if isinstance(block, Image) or is_picture(block):
        return {"type": "image", "source": _source(block)}
    if block.media_type == PDF:
        return {"type": "document", "source": _source(block), "title": block.name[:200] or "PDF"}
    return _text(file_text(block) or "")


def _source(block: Image | File) -> JsonObject:
    return {"type": "base64", "media_type": block.media_type, "data": base64_text(block.data)}


def _call(call: ToolCall) -> JsonObject:
    arguments = unreadable(call.raw) if call.arguments is None else call.arguments
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}


def _results(results: Sequence[ToolResult]) -> list[JsonObject]:
    """Pictures of a failed call follow all results: inside an error they are rejected."""
    content = [_result(result) for result in results]
    for result in results:
        pictures = [part for part in result.content if isinstance(part, Image)]
        if result.is_error and pictures:
            content += [_text(f"From {result.name}:"), *map(_said, pictures)]
    return content


def _result(result: ToolResult) -> JsonObject:
    """Never an empty content, and nothing but text in an error: both are rejected."""
    content = [
        _said(part)
        for part in result.content
        if not is_blank(part) and not (result.is_error and isinstance(part, Image))
    ]
    native: JsonObject = {
        "type": "tool_result",
        "tool_use_id": result.call_id,
        "content": list[Json](content or [_text("(no output)")]),
    }
    if result.is_error:
        native["is_error"] = True
    return native
