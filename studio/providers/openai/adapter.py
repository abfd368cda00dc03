"""OpenAI adapter: sends requests to the Responses API through OpenAI's SDK,
or without it (P-1).

Nothing is stored at OpenAI: the history is ours, item by item, and reasoning
travels in it encrypted. Requests bypass the SDK's typed models, so that
items stay plain JSON, fields unknown to this SDK version included.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from studio.domain.errors import ProviderError
from studio.domain.jsonvalue import Json, JsonObject, as_object, as_text
from studio.domain.ledger import canonical_json
from studio.domain.messages import File, Image, Message, Said, Text, ToolCall, ToolResult
from studio.domain.models import ModelInfo, nearest_effort
from studio.domain.tools import ToolSpec
from studio.providers.base import MOST_MODELS, PromptCache, Provider, ReplyStream, Request
from studio.providers.errors import ErrorFactory, error_message
from studio.providers.history_rebuild import pair_calls
from studio.providers.http import Http, SharedSdk
from studio.providers.media import (
    MediaLimits,
    data_url,
    is_picture,
    left_out_text,
    media_refusal,
    text_of_file,
)
from studio.providers.openai_chat.adapter import result_text, tool_choice
from studio.providers.openai_chat.errors import (
    UnsupportedParameters,
    fault_in_stream,
    fault_of_error,
)
from studio.providers.openai_chat.models import (
    efforts_of,
    is_reasoning_model,
    writes_text_input,
)
from studio.providers.plain import Refused, send
from studio.providers.sse import InvalidResponse, parse_object, sse_batches
from studio.providers.stream_driver import StreamDriver
from studio.providers.structured_output import is_format_refusal, is_schema_refusal, text_format

from . import PROVIDER
from .batch import OpenAIBatches
from .models import chat_models
from .stream import ResponsesAccumulator, calls_of
from .validate import OUTPUTS, history_problem

if TYPE_CHECKING:
    from httpx2 import AsyncClient, Response
    from openai import AsyncOpenAI


_KEY_LENGTH = 64
LEAST_OUTPUT = 16
"""Tokens: the smallest output limit that Responses takes; other APIs take less."""
FORM = "text.format"
SDK_VARIABLES = ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_CUSTOM_HEADERS")
HOSTED = frozenset({"web_search"})
"""Tools that OpenAI runs; the name is the type."""

# "PNG, JPEG, WEBP, non-animated GIF", "up to 20 MB per image" (guides/images); files: "each
# file must be less than 50 MB" (guides/pdf-files). https://developers.openai.com/api/docs
LIMITS = MediaLimits(
    PROVIDER.title,
    pictures=("image/png", "image/jpeg", "image/webp", "image/gif"),
    picture_bytes=20_000_000,
    document_bytes=50_000_000,
)


class OpenAIProvider(Provider):
    """OpenAI. ``base_url`` ends in ``/v1``."""

    name = PROVIDER.name
    protocol = "responses"
    # "Prompts that are 1024 tokens or longer", kept for five to ten minutes without use by
    # models before GPT-5.6, for half an hour by later ones (guides/prompt-caching).
    cache = PromptCache(seconds=300, minimum=1024)

    def __init__(self, key: str, base_url: str, http: Http) -> None:
        self._errors = ErrorFactory(self.name, PROVIDER.title, base_url or PROVIDER.address, key)
        self._http = http
        self._sdk = SharedSdk(http, self._errors, self._make, SDK_VARIABLES)
        self._unsupported = UnsupportedParameters()  # summaries, for one, are not for every account

    def user_items(self, blocks: Sequence[Said]) -> list[JsonObject]:
        return [{"role": "user", "content": [_part(block) for block in blocks]}]

    def result_items(self, results: Sequence[ToolResult]) -> list[JsonObject]:
        return [
            {
                "type": "custom_tool_call_output" if result.as_text else "function_call_output",
                "call_id": result.call_id,
                "output": _output(result),
            }
            for result in results
        ]

    def open_calls(self, history: Sequence[JsonObject]) -> list[ToolCall]:
        answered = {str(item.get("call_id")) for item in history if item.get("type") in OUTPUTS}
        return calls_of([item for item in history if str(item.get("call_id")) not in answered])

    def system_items(self, text: str, model: str = "") -> list[JsonObject]:
        """As the developer's words, which may stand anywhere between items."""
        return [{"role": "developer", "content": [{"type": "input_text", "text": text}]}]

    def history_problem(self, history: Sequence[JsonObject]) -> str:
        return history_problem(history)

    def media_problem(self, block: Said, facts: ModelInfo | None = None) -> str:
        return refused(block, facts)

    def runs_tool(self, tool: str, model: str) -> bool:
        return tool in HOSTED

    def rebuild(
        self, messages: Sequence[Message], facts: ModelInfo | None = None
    ) -> list[JsonObject]:
        history: list[JsonObject] = []
        for exchange in pair_calls(messages, lambda block: self.media_problem(block, facts)):
            if exchange.said:
                history += self.user_items(exchange.said)
            if exchange.text:
                history.append({"type": "message", "role": "assistant", "content": exchange.text})
            for call in exchange.calls:
                arguments = json.dumps(call.arguments or {}, ensure_ascii=False)
                if call.arguments is None and call.raw:
                    arguments = call.raw  # text here, whatever it says
                history.append(
                    {
                        "type": "function_call",
                        "call_id": call.id,
                        "name": call.name,
                        "arguments": arguments,
                    }
                )
            history += self.result_items(exchange.results)
        return history

    def stream(self, request: Request) -> ReplyStream:
        async def open(stack: AsyncExitStack) -> AsyncIterator[list[JsonObject]]:
            attempt = request
            while True:
                body, optional = self._body(attempt), self._optional(attempt)
                for name, value in optional.items():
                    _put(body, name, value)
                try:
                    response = await self._send("/responses", body)
                except Refused as error:
                    if error.status != 400:
                        raise
                    words, parameter = error_message(error.body), _parameter(error)
                    sent = optional.keys() - ({FORM} if is_schema_refusal(words) else set())
                    if self._unsupported.learn(request.model, sent, words, parameter):
                        continue
                    if FORM not in optional or not is_format_refusal(f"{parameter} {words}"):
                        raise
                    attempt = replace(attempt, schema=None)
                else:
                    stack.push_async_callback(response.aclose)
                    if "html" in response.headers.get("content-type", ""):
                        raise InvalidResponse("a web page")
                    return sse_batches(response.aiter_bytes())

        translate = partial(self._translate, model=request.model)
        accumulator = ResponsesAccumulator(self._fault)
        return StreamDriver(self.name, open, accumulator, translate, stop=request.stop)

    def batches(self) -> OpenAIBatches:
        def fault(body: JsonObject) -> ProviderError:
            return self._fault(body.get("error") or body)

        translate = partial(self._translate, model="")
        return OpenAIBatches(self._http, self._errors, translate, fault, self.batch_body)

    def batch_body(self, request: Request) -> JsonObject:
        """What is sent for a request of a batch, whole and not streamed."""
        body = self._body(request)
        del body["stream"]
        for name, value in self._optional(request).items():
            _put(body, name, value)
        return body

    async def _send(self, path: str, body: JsonObject | None = None) -> Response:
        """Post the body, or get, with the SDK or as it does; raises Refused."""
        if self._sdk.skipped:
            content = None if body is None else canonical_json(body).encode()
            headers = {"authorization": f"Bearer {self._errors.key}"}
            url = self._errors.base_url.rstrip("/") + path
            return await send(self._http, self._errors, url, headers, content)
        client = await self._sdk.client()
        from openai import APIConnectionError, APIStatusError, AsyncStream

        streamed: Any = {"cast_to": object, "stream": True, "stream_cls": AsyncStream[JsonObject]}
        try:
            if body is None:
                return (await client.get(path, **streamed)).response
            return (await client.post(path, body=body, **streamed)).response
        except APIStatusError as error:
            raise Refused(error.response) from error
        except APIConnectionError as error:
            raise error.__cause__ or ConnectionError() from error

    def _body(self, request: Request) -> JsonObject:
        body: JsonObject = {
            "model": request.model,
            "input": list[Json](request.history),
            "store": False,
            "stream": True,
        }
        if request.system:
            body["instructions"] = request.system
        if request.tools:
            body["tools"] = [_tool(tool, request.model) for tool in request.tools]
        if request.output_limit is not None:
            body["max_output_tokens"] = max(request.output_limit, LEAST_OUTPUT)
        return body

    def _optional(self, request: Request) -> JsonObject:
        """What an answer can be had without, as far as this model takes it."""
        wanted: JsonObject = {}
        if request.session:
            wanted["prompt_cache_key"] = request.session[:_KEY_LENGTH]
        if is_reasoning_model(request.model, request.facts):
            wanted["reasoning.summary"] = "auto"
            efforts = efforts_of(request.model, request.facts)
            if request.effort and efforts:
                wanted["reasoning.effort"] = nearest_effort(request.effort, efforts)
        else:
            wanted |= request.sampling
        if choice := tool_choice(request):
            named = next((tool for tool in request.tools if tool.name == request.named), None)
            if named is not None and isinstance(choice, dict):
                choice = {**choice, "type": _tool(named, request.model)["type"]}
            wanted["tool_choice"] = choice
        if request.tools and not request.parallel:
            wanted["parallel_tool_calls"] = False
        if form := text_format(request, request.history):
            wanted[FORM] = form
        return self._unsupported.accepted(request.model, wanted)

    async def prepare(self) -> None:
        await self._sdk.prepare()

    async def models(self) -> list[ModelInfo]:
        try:
            async with aclosing(await self._send("/models")) as response:
                listed = parse_object(await response.aread()).get("data")
        except Exception as error:
            raise self._translate(error, "") from error
        if not isinstance(listed, list):
            raise self._errors.error("protocol")
        return chat_models(listed[:MOST_MODELS], time.time())

    def _make(self, transport: AsyncClient) -> AsyncOpenAI:
        from openai import AsyncOpenAI

        return AsyncOpenAI(
            api_key=self._errors.key,
            base_url=self._errors.base_url,
            max_retries=0,
            http_client=transport,
        )

    def _fault(self, error: object) -> ProviderError:
        """The error object inside a stream that began well."""
        return self._errors.error(fault_in_stream(error), error_message({"error": error}))

    def _translate(self, error: Exception, model: str) -> ProviderError:
        if not isinstance(error, Refused):
            return self._errors.from_exception(error)
        fault = fault_of_error(_error_of(error))
        return self._errors.from_response(
            error.status, error.body, error.headers, fault=fault, model=model
        )


def _error_of(refused: Refused) -> Json:
    """The error object of a body, or all of a body that is one itself."""
    body = cast("Json", refused.body)
    return as_object(body).get("error", body)


def _parameter(refused: Refused) -> str:
    """The parameter that was refused, where that is said."""
    return as_text(as_object(_error_of(refused)).get("param"))


def _put(body: JsonObject, name: str, value: Json) -> None:
    """Set ``reasoning.effort``, for example, inside the ``reasoning`` of a body."""
    outer, dot, inner = name.partition(".")
    if not dot:
        body[name] = value
        return
    found = body.setdefault(outer, {})
    assert isinstance(found, dict)
    found[inner] = value


def refused(block: Said, facts: ModelInfo | None = None) -> str:
    """Why OpenAI would refuse this picture or file, in words for the person; else empty."""
    if isinstance(block, Text):
        return ""
    # An animated GIF says near its beginning how often it repeats.
    if block.media_type == "image/gif" and b"NETSCAPE2.0" in block.data[:2048]:
        return "OpenAI takes no animated pictures."
    return media_refusal(block, LIMITS, facts)


def _part(block: Said) -> JsonObject:
    if isinstance(block, Text):
        return {"type": "input_text", "text": block.text}
    if why := refused(block):
        return {"type": "input_text", "text": left_out_text(block, why)}
    if is_picture(block):
        return {"type": "input_image", "image_url": data_url(block), "detail": "auto"}
    assert isinstance(block, File)
    if (text := text_of_file(block)) is not None:
        return {"type": "input_text", "text": text}
    return {"type": "input_file", "filename": block.name, "file_data": data_url(block)}


def _output(result: ToolResult) -> Json:
    """Text where there is only text; else a list of parts."""
    images = [part for part in result.content if isinstance(part, Image)]
    text = result_text(result)
    if not images:
        return text
    return [{"type": "input_text", "text": text}, *[_part(image) for image in images]]


def _tool(tool: ToolSpec, model: str) -> JsonObject:
    if tool.hosted:
        return {"type": tool.name}
    if tool.text_form is not None and writes_text_input(model):
        return {"type": "custom", "name": tool.name, **tool.text_form}
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.schema,
        "strict": False,  # strict schemas forbid optional arguments
    }
