"""Ollama adapter: uses ``/api/chat``, Ollama's own API, so that the context size is real (P-1)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace

from studio.domain.errors import ProviderError, ProviderFault
from studio.domain.jsonvalue import Json, JsonObject, as_objects
from studio.domain.messages import File, Image, Message, Said, Text, ToolCall, ToolResult
from studio.domain.models import ModelInfo
from studio.providers.base import MOST_MODELS, Provider, ReplyStream, Request
from studio.providers.computer_memory import Memory
from studio.providers.errors import ErrorFactory, is_too_long
from studio.providers.history_rebuild import pair_calls
from studio.providers.http import Http
from studio.providers.media import (
    BYTES_PER_TOKEN,
    PDF,
    MediaLimits,
    base64_text,
    is_picture,
    left_out_text,
    media_refusal,
    text_of_file,
)
from studio.providers.openai_chat.adapter import function_tool, readable, result_text, unanswered
from studio.providers.openai_chat.errors import UnsupportedParameters
from studio.providers.openai_chat.validate import ollama_problem
from studio.providers.sse import Endpoint, InvalidResponse, json_batches, json_lines, read_object
from studio.providers.stream_driver import StreamDriver
from studio.providers.structured_output import is_format_refusal, sendable_schema
from studio.providers.text_tool_calls import TextCallRecognizer

from . import PROVIDER
from .models import (
    ModelDetails,
    PullProgress,
    StoredModel,
    context_size,
    facts_of,
    pull_progress,
    stored_model,
)
from .stream import OllamaAccumulator, calls_of

__all__ = ["OllamaProvider", "PullProgress", "server_address"]

ADDRESS = "http://127.0.0.1:11434"
_HERE = ("127.", "localhost", "[::1]")
_PICTURE_TOKENS = 700

# "vision" models read what llama.cpp decodes; sizes are not limited but by memory
# (ollama/ollama, docs/api.md and server/routes.go).
LIMITS = MediaLimits(
    PROVIDER.title,
    pictures=("image/png", "image/jpeg", "image/webp"),
    picture_bytes=100_000_000,
    document_bytes=0,
)


def server_address(given: str) -> str:
    """The root URL from what ``OLLAMA_HOST`` or a person may hold.

    ``0.0.0.0:8000`` and ``:8000`` become ``http://127.0.0.1:8000``; a host
    without port gets 11434; ``/v1`` and ``/api`` at the end are dropped.
    """
    text = given.strip().strip("\"'").rstrip("/")
    if not text:
        return ADDRESS
    scheme, found, rest = text.partition("://")
    if not found:
        scheme, rest = "http", text
    host, slash, path = rest.partition("/")
    path = (slash + path).removesuffix("/v1").removesuffix("/api")
    if host.startswith("["):
        name, _, port = host.partition("]")
        name, port = name + "]", port.removeprefix(":")
    elif host.count(":") > 1:
        name, port = f"[{host}]", ""
    else:
        name, _, port = host.partition(":")
    name = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(name, name)
    standard = "" if found else "11434"  # with a scheme, its own port is meant
    port = port or standard
    return f"{scheme}://{name}{':' + port if port else ''}{path}"


class OllamaProvider(Provider):
    """A local (or rented) Ollama. ``key`` is sent as a bearer token where there is one.

    Remembers what ``/api/show`` says of a model and the context chosen for a
    session: another ``num_ctx`` would load the model anew.
    """

    name = PROVIDER.name
    protocol = "ollama"

    def __init__(self, key: str, base_url: str, http: Http) -> None:
        errors = ErrorFactory(self.name, PROVIDER.title, server_address(base_url), key)
        self._endpoint = Endpoint(errors, http, _fault)
        self._local = errors.host.startswith(_HERE)
        self._unsupported = UnsupportedParameters()
        self._shown: dict[str, ModelDetails] = {}
        self._memory: dict[str, Memory | None] = {}
        self._windows: dict[tuple[str, str], int] = {}

    def user_items(self, blocks: Sequence[Said]) -> list[JsonObject]:
        words, images = self._read(blocks)
        return [{"role": "user", "content": "\n\n".join(words), **images}]

    def result_items(self, results: Sequence[ToolResult]) -> list[JsonObject]:
        messages: list[JsonObject] = []
        for result in results:
            words, images = self._read([one for one in result.content if isinstance(one, Image)])
            messages.append(
                {
                    "role": "tool",
                    "tool_name": result.name,
                    "tool_call_id": result.call_id,
                    "content": "\n".join([result_text(result), *words]),
                    **images,
                }
            )
        return messages

    def _read(self, blocks: Sequence[Said]) -> tuple[list[str], JsonObject]:
        """The words of these blocks, and the field of their pictures where there are any."""
        words: list[str] = []
        images: list[Json] = []
        for block in blocks:
            if isinstance(block, Text):
                words.append(block.text)
            elif why := self.media_problem(block):
                words.append(left_out_text(block, why))
            elif is_picture(block):
                images.append(base64_text(block.data))
            else:
                assert isinstance(block, File)
                words.append(text_of_file(block) or "")
        return words, {"images": images} if images else {}

    def open_calls(self, history: Sequence[JsonObject]) -> list[ToolCall]:
        return unanswered(history, calls_of)

    # ``system_items`` stays the person's words: the templates of many models gather all system
    # messages at the top, where this one would change what was sent before and lose its place.

    def history_problem(self, history: Sequence[JsonObject]) -> str:
        return ollama_problem(history)

    def media_problem(self, block: Said, facts: ModelInfo | None = None) -> str:
        if isinstance(block, File) and block.media_type == PDF:
            return "Models on Ollama cannot read PDF files."
        shown = self._shown.get(facts.id) if facts is not None else None
        if facts is not None and shown is not None and shown.images is not None:
            facts = replace(facts, images=shown.images)  # more reliable than any list
        return media_refusal(block, LIMITS, facts)

    def rebuild(
        self, messages: Sequence[Message], facts: ModelInfo | None = None
    ) -> list[JsonObject]:
        history: list[JsonObject] = []
        for exchange in pair_calls(messages, lambda block: self.media_problem(block, facts)):
            if exchange.said:
                history += self.user_items(exchange.said)
            if exchange.text or exchange.calls:
                message: JsonObject = {"role": "assistant", "content": exchange.text}
                if exchange.calls:
                    message["tool_calls"] = [_native_call(call) for call in exchange.calls]
                history.append(message)
            history += self.result_items(exchange.results)
        return history

    async def warning(self, request: Request) -> str:
        """Says when the conversation is larger than the model's context, or it has no tools."""
        shown = await self._show(request.model)
        size, seen = estimated(request), await self._window(request, shown)
        if size <= seen:
            idle = request.tools and shown.tools is False
            return "This model cannot use tools; it can only answer." if idle else ""
        return (
            f"About {size:,} tokens, but the model sees only {seen:,} at once: "
            "Ollama refuses that, or cuts off the beginning."
        )

    async def context_window(self, request: Request) -> int:
        """The ``num_ctx`` of a request, in tokens: the same for all of one session."""
        return await self._window(request, await self._show(request.model))

    async def _window(self, request: Request, shown: ModelDetails) -> int:
        place = (request.session, request.model)
        if request.session and place in self._windows:
            return self._windows[place]
        if request.model not in self._memory:
            found = await asyncio.to_thread(Memory.of_this_computer) if self._local else None
            self._memory.setdefault(request.model, found)
        tokens = context_size(shown, request.context_window, self._memory[request.model])
        return self._windows.setdefault(place, tokens) if request.session else tokens

    def stream(self, request: Request) -> ReplyStream:
        accumulator = OllamaAccumulator(request.history, 0, self._endpoint.fault)

        async def open(stack: AsyncExitStack) -> AsyncIterator[list[JsonObject]]:
            accumulator.sent = estimated(request)
            shown = await self._show(request.model)
            accumulator.window = await self._window(request, shown)
            attempt = request
            while True:
                body = self._body(attempt, shown, accumulator.window)
                try:
                    chunks = await self._endpoint.stream(
                        stack, "/api/chat", body, model=request.model
                    )
                except ProviderError as error:
                    sent = body.keys() & {"think"}
                    refused = error.status == 400
                    if refused and self._unsupported.learn(request.model, sent, str(error)):
                        continue
                    if "format" not in body or not is_format_refusal(str(error)):
                        raise
                    attempt = replace(attempt, schema=None)
                else:
                    return json_batches(chunks)

        return StreamDriver(
            self.name,
            open,
            accumulator,
            self._endpoint.errors.from_exception,
            TextCallRecognizer(request, _native_call),
            request.stop,
        )

    def _body(self, request: Request, shown: ModelDetails, tokens: int) -> JsonObject:
        facts, model = request.facts, request.model
        options: JsonObject = {"num_ctx": tokens}
        if request.output_limit is not None:
            options["num_predict"] = request.output_limit
        options |= request.sampling | request.penalties
        if request.stop:
            options["stop"] = list[Json](request.stop)
        system: list[Json] = [{"role": "system", "content": request.system}]
        history = request.history
        if (shown.images if shown.images is not None else facts and facts.images) is False:
            history = [_without_pictures(message) for message in history]
        body: JsonObject = {
            "model": model,
            "messages": [*(system if request.system else []), *history],
            "stream": True,
            "options": options,
            # An error in place of messages left out silently; since Ollama 0.12.6.
            "truncate": False,
            "shift": False,
        }
        # No word says whether to call. What is not on offer cannot be, at least.
        if request.callable and shown.tools is not False:
            body["tools"] = [function_tool(tool) for tool in request.callable]
        elif (schema := sendable_schema(request)) is not None:  # it would forbid calls
            body["format"] = schema or "json"
        think = shown.think(request.effort)
        if think is not None and self._unsupported.accepts(model, "think"):
            body["think"] = think
        return body

    async def _show(self, model: str) -> ModelDetails:
        """What is known of a model; asked once, and again where there was no answer."""
        if model not in self._shown:
            try:
                async with AsyncExitStack() as stack:
                    chunks = await self._endpoint.stream(stack, "/api/show", {"model": model})
                    answer = await read_object(chunks)
            except (ProviderError, InvalidResponse):
                return ModelDetails()  # the chat will say what is wrong with server or model
            except Exception as error:
                raise self._endpoint.errors.from_exception(error) from error
            self._shown[model] = ModelDetails.read(answer, model)
        return self._shown[model]

    async def pull(self, model: str) -> AsyncGenerator[PullProgress, None]:
        """Download a model; stopped by closing the iterator. Raises ProviderError."""
        body: JsonObject = {"model": model, "stream": True}
        try:
            async with AsyncExitStack() as stack:
                chunks = await self._endpoint.stream(stack, "/api/pull", body, model=model)
                async with aclosing(pull_progress(json_lines(chunks), self._endpoint)) as steps:
                    async for step in steps:
                        yield step
        except ProviderError:
            raise
        except Exception as error:
            raise self._endpoint.errors.from_exception(error) from error
        self._shown.pop(model, None)

    async def stored(self) -> list[StoredModel]:
        """What it keeps on its disk; raises ProviderError."""
        answer = await self._endpoint.get("/api/tags")
        models = as_objects(answer.get("models"))[:MOST_MODELS]
        return [found for entry in models if (found := stored_model(entry))]

    async def delete(self, model: str) -> None:
        """Delete a model from its disk; raises ProviderError."""
        await self._endpoint.delete("/api/delete", {"model": model}, model=model)
        self._shown.pop(model, None)

    async def prepare(self) -> None:
        await self._endpoint.prepare()

    async def models(self) -> list[ModelInfo]:
        answer = await self._endpoint.get("/api/tags")
        listed = answer.get("models")
        if not isinstance(listed, list):
            raise self._endpoint.errors.error("protocol")
        return [info for entry in as_objects(listed[:MOST_MODELS]) if (info := facts_of(entry))]


def estimated(request: Request) -> int:
    """About how many tokens a request is; Ollama counts none before it answers."""
    size = _bytes(request.system)
    for tool in request.tools:
        size += len(tool.name) + len(tool.description) + len(json.dumps(tool.schema))
    pictures = 0
    calls: list[Json] = []
    for message in request.history:
        images = message.get("images")
        pictures += len(images) if isinstance(images, list) else 0
        size += _bytes(str(message.get("content") or ""))
        if called := message.get("tool_calls"):
            calls.append(called)
    size += _bytes(json.dumps(calls, ensure_ascii=False)) if calls else 0
    return size // BYTES_PER_TOKEN + pictures * _PICTURE_TOKENS


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _without_pictures(message: JsonObject) -> JsonObject:
    """The message with words in place of pictures, which an earlier model could see."""
    if "images" not in message:
        return message
    words = "(Left out: picture. This model cannot see it.)"
    content = f"{message.get('content') or ''}\n{words}".strip()
    return {key: value for key, value in message.items() if key != "images"} | {"content": content}


def _native_call(call: ToolCall) -> JsonObject:
    return {"id": call.id, "function": {"name": call.name, "arguments": readable(call)}}


def _fault(error: object) -> ProviderFault | None:
    """Ollama's errors are plain words."""
    words = error if isinstance(error, str) else ""
    if is_too_long(words) or "context size" in words or "context_size" in words:
        return "too_long"
    if ("model" in words and "not found" in words) or "file does not exist" in words:
        return "not_found"
    return "bad_request" if "does not support" in words else None
