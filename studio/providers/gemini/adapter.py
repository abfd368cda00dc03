"""Gemini adapter: sends requests to Google's generateContent API through Google's SDK, or
without it.

The SDK addresses requests and adds the key. Its typed models are passed by: they
drop fields they do not know and write signatures in another alphabet, and a
native history has to stay what it was.
"""

from __future__ import annotations

import re
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
from studio.providers.base import MOST_MODELS, PromptCache, Provider, ReplyStream, Request
from studio.providers.errors import (
    ErrorFactory,
    apply_retry_advice,
    fault_of_bad_request,
    fault_of_status,
    retry_after,
)
from studio.providers.history_rebuild import LEFT_OUT, add_message, pair_calls
from studio.providers.http import Http, SharedSdk
from studio.providers.media import (
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
from studio.providers.structured_output import is_format_refusal, sendable_schema

from . import PROVIDER, validate
from .batch import VERSION, GeminiBatches
from .models import facts_of, generation_config, wants_signatures
from .stream import UNREADABLE, GeminiAccumulator, calls_of, server_id
from .validate import UNSIGNED

if TYPE_CHECKING:
    import httpx2
    from google import genai


PAGES = 50
HOSTED = {"web_search": "googleSearch"}
"""Tools that Google runs, and what they are called there."""
LIMITS = MediaLimits(
    PROVIDER.title,
    # Google's page "Image understanding".
    ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"),
    # Google's announcement of January 2026: 100 MB of base64 in a request, 50 MB for a
    # PDF. Every request carries the whole conversation, so one picture gets a fifth.
    20_000_000,
    50_000_000,
)

FAULTS: dict[str, ProviderFault] = {
    "INVALID_ARGUMENT": "bad_request",
    "FAILED_PRECONDITION": "forbidden",
    "UNAUTHENTICATED": "bad_key",
    "PERMISSION_DENIED": "forbidden",
    "NOT_FOUND": "not_found",
    "RESOURCE_EXHAUSTED": "rate_limited",
    "UNAVAILABLE": "overloaded",
    "DEADLINE_EXCEEDED": "server",
    "INTERNAL": "server",
    "UNKNOWN": "server",
}
BAD_KEY = {"API_KEY_INVALID", "API_KEY_EXPIRED"}


class GeminiProvider(Provider):
    """Native items are contents: ``{"role": "user", "parts": [...]}``."""

    name = PROVIDER.name
    protocol = "gemini"
    cache = PromptCache(seconds=300.0, minimum=4_096)
    """Implicit, and never promised. Google's page "Context caching" has minima from 1,024
    (2.5 Flash) to 4,096 tokens (Pro), and no lifetime: some minutes are seen."""

    def __init__(self, key: str, base_url: str, http: Http) -> None:
        """``base_url`` without the API's version; empty for the vendor's own."""
        address = (base_url or PROVIDER.address).rstrip("/").removesuffix(f"/{VERSION}")
        self._errors = ErrorFactory(self.name, PROVIDER.title, address, key)
        self._http = http
        self._sdk = SharedSdk(http, self._errors, self._make)

    def user_items(self, blocks: Sequence[Said]) -> list[JsonObject]:
        parts = [_said(block) for block in blocks if not is_blank(block)]
        return [_content("user", parts)] if parts else []

    def result_items(self, results: Sequence[ToolResult]) -> list[JsonObject]:
        return [_content("user", _results(results))] if results else []

    def open_calls(self, history: Sequence[JsonObject]) -> list[ToolCall]:
        last = next(
            (i for i in reversed(range(len(history))) if history[i].get("role") == "model"), None
        )
        if last is None:
            return []
        calls = calls_of(history[last], history[:last])
        answered = [
            as_object(part["functionResponse"])
            for content in history[last + 1 :]
            for part in as_objects(content.get("parts"))
            if "functionResponse" in part
        ]
        still_open: list[ToolCall] = []
        for call in calls:  # matched in order, as the API does
            match = next((one for one in answered if _answers(one, call)), None)
            if match is None:
                still_open.append(call)
            else:
                answered.remove(match)
        return still_open

    def rebuild(
        self, messages: Sequence[Message], facts: ModelInfo | None = None
    ) -> list[JsonObject]:
        history: list[JsonObject] = []
        add = partial(add_message, history, "parts", {"text": LEFT_OUT})
        for exchange in pair_calls(messages, lambda block: self.media_problem(block, facts)):
            add("user", [_said(block) for block in exchange.said])
            text: list[JsonObject] = [{"text": exchange.text}] if exchange.text.strip() else []
            calls = [_call(call) for call in exchange.calls]
            if calls:
                calls[0]["thoughtSignature"] = UNSIGNED
            add("model", text + calls)
            add("user", _results(exchange.results, with_ids=False))
        return history

    def history_problem(self, history: Sequence[JsonObject]) -> str:
        return validate.history_problem(history)

    def media_problem(self, block: Said, facts: ModelInfo | None = None) -> str:
        return media_refusal(block, LIMITS, facts)

    def runs_tool(self, tool: str, model: str) -> bool:
        """Beside functions, its own tools are taken by Gemini 3 and later ones alone."""
        return tool in HOSTED and wants_signatures(model)

    def stream(self, request: Request) -> ReplyStream:
        path = f"{GeminiBatches.path_of(request.model)}:streamGenerateContent?alt=sse"

        async def open(stack: AsyncExitStack) -> AsyncIterator[list[JsonObject]]:
            try:
                response = await self._send("post", path, body_of(request))
            except Exception as error:
                if sendable_schema(request) is None or not _is_about_format(translate(error)):
                    raise
                bare = body_of(replace(request, schema=None))
                response = await self._send("post", path, bare)
            stack.push_async_callback(response.aclose)
            return sse_batches(response.aiter_bytes())

        translate = partial(self._translate, model=request.model)
        accumulator = GeminiAccumulator(request.history, partial(self._named, headers={}))
        return StreamDriver(self.name, open, accumulator, translate, stop=request.stop)

    def batches(self) -> GeminiBatches:
        fault = partial(self._named, headers={})
        return GeminiBatches(self._http, self._errors, self._translate, fault, body_of)

    async def prepare(self) -> None:
        await self._sdk.prepare()

    async def models(self) -> list[ModelInfo]:
        found: dict[str, ModelInfo] = {}
        cursor, seen = "", set[str]()
        try:
            for _ in range(PAGES):
                query = {"pageSize": "1000"} | ({"pageToken": cursor} if cursor else {})
                path = f"models?{urlencode(query)}"
                async with aclosing(await self._send("get", path)) as response:
                    page = parse_object(await response.aread())
                listed = page.get("models", [])
                if not isinstance(listed, list):
                    raise self._errors.error("protocol")
                for model in as_objects(listed[:MOST_MODELS]):
                    if "generateContent" in _methods(model):
                        info = facts_of(model)
                        found.setdefault(info.id, info)
                cursor = as_text(page.get("nextPageToken"))
                full = len(found) >= MOST_MODELS
                if not cursor or cursor in seen or full:  # a cursor that never ends ends here
                    break
                seen.add(cursor)
        except Exception as error:
            raise self._translate(error) from error
        return list(found.values())

    async def _send(
        self, method: str, path: str, body: JsonObject | None = None
    ) -> httpx2.Response:
        """Post the body, or get, with the SDK or as it does; raises Refused.

        The SDK's typed methods give no access to what was received, nor to the
        connection, which has to be closed at once on a cancel.
        """
        content = None if body is None else canonical_json(body).encode()
        if self._sdk.skipped:
            url = f"{self._errors.base_url}/{VERSION}/{path}"
            headers = {"x-goog-api-key": self._errors.key}
            return await send(self._http, self._errors, url, headers, content)
        client = await self._sdk.client()
        from google.genai.errors import APIError

        api: Any = client._api_client  # pyright: ignore[reportPrivateUsage]
        request = api._build_request(method, path, {})
        if content:  # as bytes the SDK takes it for done; its own writing escapes most scripts
            request.data = content
        request.timeout = (await self._http.client()).timeout
        try:
            answer = await api._async_request(request, stream=True)
        except APIError as error:
            raise Refused(cast("Any", error).response) from error
        return answer.response_stream

    def _make(self, http: httpx2.AsyncClient) -> genai.Client:
        from google import genai
        from google.genai import types

        options = types.HttpOptions(
            base_url=self._errors.base_url, api_version=VERSION, httpx_async_client=http
        )
        return genai.Client(api_key=self._errors.key, enterprise=False, http_options=options)

    def _named(
        self, body: JsonObject, headers: Mapping[str, str], *, model: str = ""
    ) -> ProviderError:
        error = as_object(body.get("error"))
        words, code = as_text(error.get("message")), error.get("code")
        status = code if isinstance(code, int) else None
        fault = FAULTS.get(as_text(error.get("status")))
        fault = fault or (fault_of_status(status) if status else "server")
        details = as_objects(error.get("details"))
        reasons = {as_text(detail.get("reason")) for detail in details}
        lower = words.lower()
        about_key = fault == "forbidden" and "api key" in lower
        if reasons & BAD_KEY or about_key or "api key not valid" in lower:
            fault = "bad_key"
        elif fault == "bad_request":
            fault = fault_of_bad_request(words)
        fault = apply_retry_advice(fault, headers, words)
        wait = retry_after(headers)
        return self._errors.error(
            fault,
            words,
            model=model if fault == "not_found" else "",
            status=status,
            wait=_retry_delay(details) if wait is None else wait,
        )

    def _translate(self, error: Exception, model: str = "") -> ProviderError:
        if isinstance(error, ProviderError):
            return error
        if not isinstance(error, Refused):
            return self._errors.from_exception(error)
        body = as_object(cast("Json", error.body))
        for listed in as_objects(cast("Json", error.body)):  # some answers are a list of one
            body = listed
        if "error" in body:
            return self._named(body, error.headers, model=model)
        fault: ProviderFault | None = "protocol" if error.status in (404, 405) else None
        return self._errors.from_response(error.status, error.body, error.headers, fault=fault)


def body_of(request: Request) -> JsonObject:
    """What is posted."""
    history = validate.wire_contents(request.history)
    if wants_signatures(request.model):
        history = validate.signed(history)
    body: JsonObject = {"contents": list[Json](history)}
    if request.system.strip():
        body["systemInstruction"] = {"parts": [{"text": request.system}]}
    if request.tools:
        functions: list[Json] = [
            {
                "name": tool.name,
                "description": tool.description,
                "parametersJsonSchema": tool.schema,
            }
            for tool in request.tools
            if not tool.hosted
        ]
        declared: list[Json] = [{"functionDeclarations": functions}] if functions else []
        # The mode of functions does not hold for Google's own tools: they are not offered then.
        served = [tool.name for tool in request.tools if tool.hosted and request.callable]
        hosted: list[Json] = [{HOSTED[name]: {}} for name in served]
        tool_config: JsonObject = {}
        if functions and hosted:  # what the server did stays in the content, and goes back
            tool_config["includeServerSideToolInvocations"] = True
        if functions and (calling := _calling(request)):
            tool_config["functionCallingConfig"] = calling
        if tools := declared + hosted:
            body["tools"] = tools
        if tool_config:
            body["toolConfig"] = tool_config
    if config := generation_config(request):
        body["generationConfig"] = config
    return body


def _calling(request: Request) -> JsonObject:
    """``functionCallingConfig``; empty where the model decides."""
    if not request.callable:
        return {"mode": "NONE"}
    if not request.forced or all(tool.hosted for tool in request.callable):
        return {}
    named: JsonObject = {"allowedFunctionNames": [request.named]} if request.named else {}
    return {"mode": "ANY", **named}


def _is_about_format(error: ProviderError) -> bool:
    return error.fault == "bad_request" and is_format_refusal(str(error))


def _content(role: str, parts: Sequence[JsonObject]) -> JsonObject:
    return {"role": role, "parts": list(parts)}


def _said(block: Said) -> JsonObject:
    """A native part; for what would be rejected, words that say what was left out."""
    if isinstance(block, Text):
        return {"text": block.text}
    if why := media_refusal(block, LIMITS):
        return {"text": left_out_text(block, why)}
    if isinstance(block, File) and not is_picture(block) and (text := file_text(block)):
        return {"text": text}
    return {"inlineData": {"mimeType": block.media_type, "data": base64_text(block.data)}}


def _call(call: ToolCall) -> JsonObject:
    """A call that another provider's model made: without an id, for none was given here."""
    arguments = call.arguments
    if arguments is None:
        arguments = cast("JsonObject", {UNREADABLE: call.raw})
    return {"functionCall": {"name": _function(call.name), "args": arguments}}


def _function(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.:-]", "_", name)[:128] or "tool"


def _results(results: Sequence[ToolResult], *, with_ids: bool = True) -> list[JsonObject]:
    """Function responses in call order; pictures follow them as parts of their own.

    Older models take no pictures inside a function response.
    """
    parts: list[JsonObject] = []
    pictures: list[JsonObject] = []
    for result in results:
        response: JsonObject = {
            "name": _function(result.name),
            "response": {"error" if result.is_error else "output": result.text},
        }
        given = server_id(result.call_id) if with_ids else None
        if given is not None:
            response["id"] = given
        parts.append({"functionResponse": response})
        images = [part for part in result.content if isinstance(part, Image)]
        if images:
            pictures.append({"text": f"(Returned by {result.name}:)"})
            pictures += [_said(image) for image in images]
    return parts + pictures


def _answers(response: JsonObject, call: ToolCall) -> bool:
    given = as_text(response.get("id"))
    if given or server_id(call.id):
        return given == server_id(call.id)
    return response.get("name") == _function(call.name)


def _methods(model: JsonObject) -> list[Json]:
    methods = model.get("supportedGenerationMethods")
    return methods if isinstance(methods, list) else []


def _retry_delay(details: Sequence[JsonObject]) -> float | None:
    """``RetryInfo`` in an error's details, in seconds: Gemini sends no header."""
    for detail in details:
        told = as_text(detail.get("retryDelay"))
        if found := re.fullmatch(r"(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})s", told):
            return float(found[1])
    return None
