"""Ollama by its own API, ``/api/chat``, so that the context size is real (P-1)."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack

from studio.domain.errors import ProviderError, ProviderFault
from studio.domain.events import CallStarted, Delta, ReasoningDelta, TextDelta
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.messages import File, Image, Message, Said, Text, ToolCall, ToolResult
from studio.domain.models import ModelInfo, StopReason, Usage
from studio.domain.tools import ToolSpec

from .arguments import parse_arguments
from .attachments import as_text
from .base import Provider, Reply, Request
from .chat_accumulator import UNREADABLE, made_up_id
from .compatible import result_text, unanswered
from .conversation import paired
from .faults import Border, is_too_long
from .http import Http
from .shapes import as_count
from .streaming import NativeStream
from .wire import Endpoint, Unreadable, Words, json_lines

ADDRESS = "http://127.0.0.1:11434"
CONTEXT_CAP = 32_768
"""Tokens. A larger context is rarely worth the memory it takes on one's own computer."""
CONTEXT_UNKNOWN = 8_192
"""Tokens, where the model's window is not known: room for tools and a few files."""


def address(given: str) -> str:
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


class OllamaAccumulator:
    """Folds the lines of one answer; calls come whole, often without an id."""

    def __init__(
        self,
        history: Sequence[JsonObject],
        window: int,
        fault: Callable[[object], ProviderError],
    ) -> None:
        self._fault = fault
        self._history = history
        self._window = window
        self._taken = {call.id for message in history for call in calls_of(message)}
        self._text = Words()
        self._thinking = Words()
        self._calls: list[JsonObject] = []
        self._last: JsonObject | None = None

    @property
    def complete(self) -> bool:
        return self._last is not None

    def feed(self, event: JsonObject) -> Iterable[Delta]:
        if self._last is not None:
            return
        if error := event.get("error"):
            raise self._fault(error)
        message = event.get("message")
        if isinstance(message, dict):
            yield from self._message(message)
        elif "done" not in event:
            raise Unreadable("not a line of /api/chat")
        if event.get("done") is True:
            self._last = event

    def _message(self, message: JsonObject) -> Iterable[Delta]:
        if isinstance(piece := message.get("thinking"), str) and (new := self._thinking.add(piece)):
            yield ReasoningDelta(new)
        if isinstance(piece := message.get("content"), str) and (new := self._text.add(piece)):
            yield TextDelta(new)
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            function = call.get("function") if isinstance(call, dict) else None
            if not isinstance(call, dict) or not isinstance(function, dict):
                continue
            name = function.get("name")
            if not isinstance(name, str) or not name:
                continue
            identifier = call.get("id")
            if not isinstance(identifier, str) or not identifier or identifier in self._taken:
                identifier = self._free_id()
            self._taken.add(identifier)
            self._calls.append(
                {**call, "id": identifier, "function": {**function, "arguments": _object(function)}}
            )
            yield CallStarted(identifier, name)

    def _free_id(self) -> str:
        number = len(self._calls)
        while (candidate := made_up_id(self._history, number)) in self._taken:
            number += 1
        return candidate

    def reply(self) -> Reply:
        last = self._last or {}
        usage = Usage(
            input=as_count(last.get("prompt_eval_count")), output=as_count(last.get("eval_count"))
        )
        items, calls = self._items()
        reason = last.get("done_reason")
        stop: StopReason = "tool_use" if calls else "end"
        if reason == "length":
            stop = "context_full" if usage.total >= self._window else "max_tokens"
        elif reason not in ("stop", None, ""):
            stop = "tool_use" if calls else "other"
        return Reply(items, calls, stop, usage, reason if isinstance(reason, str) else "")

    def interrupted(self) -> Reply:
        items, calls = self._items()
        return Reply(items, calls, "other")

    def _items(self) -> tuple[list[JsonObject], list[ToolCall]]:
        if not (self._text.text.strip() or self._calls):
            return [], []
        message: JsonObject = {"role": "assistant", "content": self._text.text}
        if self._thinking.text:
            message["thinking"] = self._thinking.text
        if self._calls:
            message["tool_calls"] = list[Json](self._calls)
        return [message], calls_of(message)


class OllamaProvider(Provider):
    """A local (or rented) Ollama. ``key`` is sent as a bearer token where there is one."""

    name = "ollama"
    protocol = "ollama"

    def __init__(self, key: str, base_url: str, http: Http) -> None:
        border = Border(self.name, "Ollama", address(base_url), key)
        self._endpoint = Endpoint(border, http, _fault)

    def said(self, blocks: Sequence[Said]) -> list[JsonObject]:
        words: list[str] = []
        images: list[Json] = []
        for block in blocks:
            match block:
                case Text():
                    words.append(block.text)
                case Image():
                    images.append(base64.b64encode(block.data).decode("ascii"))
                case File():
                    words.append(as_text(block) or f"[{block.name}: this model cannot read it]")
        message: JsonObject = {"role": "user", "content": "\n\n".join(words)}
        if images:
            message["images"] = images
        return [message]

    def results(self, results: Sequence[ToolResult]) -> list[JsonObject]:
        messages: list[JsonObject] = []
        for result in results:
            message: JsonObject = {
                "role": "tool",
                "tool_name": result.name,
                "tool_call_id": result.call_id,
                "content": result_text(result),
            }
            images: list[Json] = [
                base64.b64encode(part.data).decode("ascii")
                for part in result.content
                if isinstance(part, Image)
            ]
            if images:
                message["images"] = images
            messages.append(message)
        return messages

    def open_calls(self, history: Sequence[JsonObject]) -> list[ToolCall]:
        return unanswered(history, calls_of)

    def rebuild(self, messages: Sequence[Message]) -> list[JsonObject]:
        history: list[JsonObject] = []
        for exchange in paired(messages):
            if exchange.said:
                history += self.said(exchange.said)
            if exchange.text or exchange.calls:
                message: JsonObject = {"role": "assistant", "content": exchange.text}
                if exchange.calls:
                    message["tool_calls"] = [
                        {
                            "id": call.id,
                            "function": {"name": call.name, "arguments": call.arguments or {}},
                        }
                        for call in exchange.calls
                    ]
                history.append(message)
            history += self.results(exchange.results)
        return history

    def stream(self, request: Request) -> NativeStream[JsonObject]:
        window = min(request.context_window or CONTEXT_UNKNOWN, CONTEXT_CAP)
        options: JsonObject = {"num_ctx": window}
        if request.output_limit is not None:
            options["num_predict"] = request.output_limit
        system: list[Json] = [{"role": "system", "content": request.system}]
        messages: list[Json] = [*(system if request.system else []), *request.history]
        body: JsonObject = {
            "model": request.model,
            "messages": messages,
            "stream": True,
            "options": options,
        }
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]

        async def open(stack: AsyncExitStack) -> AsyncIterator[JsonObject]:
            chunks = await self._endpoint.stream(stack, "/api/chat", body, model=request.model)
            return json_lines(chunks)

        return NativeStream(
            self.name,
            open,
            OllamaAccumulator(request.history, window, self._endpoint.fault),
            self._endpoint.border.exception,
        )

    async def models(self) -> list[ModelInfo]:
        answer = await self._endpoint.get("/api/tags")
        listed = answer.get("models")
        if not isinstance(listed, list):
            raise self._endpoint.border.fault("protocol")
        return [
            info
            for entry in listed
            if isinstance(entry, dict) and (info := _info(entry)) is not None
        ]


def calls_of(message: JsonObject) -> list[ToolCall]:
    """The calls of one message, in order."""
    calls: list[ToolCall] = []
    natives = message.get("tool_calls")
    for native in natives if isinstance(natives, list) else []:
        function = native.get("function") if isinstance(native, dict) else None
        if not isinstance(native, dict) or not isinstance(function, dict):
            continue
        arguments = function.get("arguments")
        found = arguments if isinstance(arguments, dict) else {}
        raw = json.dumps(found, ensure_ascii=False)
        broken = found.get(UNREADABLE) if len(found) == 1 else None
        call_id, name = str(native.get("id") or ""), str(function.get("name"))
        if isinstance(broken, str):
            calls.append(ToolCall(call_id, name, None, broken))
        else:
            calls.append(ToolCall(call_id, name, found, raw))
    return calls


def _object(function: JsonObject) -> JsonObject:
    """The arguments as Ollama takes them back: an object, always."""
    arguments = function.get("arguments")
    if isinstance(arguments, dict):
        return arguments
    raw = arguments if isinstance(arguments, str) else ""
    found = parse_arguments(raw)
    return {UNREADABLE: raw} if found is None else found


def _fault(error: object) -> ProviderFault | None:
    """Ollama's errors are plain words."""
    words = error if isinstance(error, str) else ""
    if is_too_long(words):
        return "too_long"
    if "model" in words and "not found" in words:
        return "not_found"
    return "bad_request" if "does not support" in words else None


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
    """One entry of ``/api/tags``; None for a model that does not chat."""
    identifier = entry.get("model") or entry.get("name")
    if not isinstance(identifier, str) or not identifier:
        return None
    details = entry.get("details")
    details = details if isinstance(details, dict) else {}
    able = entry.get("capabilities")
    length = details.get("context_length")
    if not isinstance(able, list):
        family = str(details.get("family") or "")
        if "embed" in identifier or "bert" in family:
            return None
        return ModelInfo(identifier)
    if "completion" not in able:
        return None
    return ModelInfo(
        identifier,
        context_window=length if isinstance(length, int) else None,
        images="vision" in able,
        tools="tools" in able,
        reasoning="thinking" in able,
    )
