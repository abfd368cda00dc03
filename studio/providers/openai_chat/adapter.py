"""Chat Completions adapter: sends requests to OpenAI-compatible servers of any make (P-1).

Speaks over the shared HTTP client, without an SDK: fields that only one vendor
knows (what the model thinks, signatures on calls) survive and go back to it.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

from studio.domain.errors import ProviderError
from studio.domain.jsonvalue import Json, JsonObject, as_objects
from studio.domain.messages import File, Image, Message, Said, Text, ToolCall, ToolResult
from studio.domain.models import ModelInfo, nearest_effort
from studio.domain.tools import ToolSpec
from studio.providers.base import MOST_MODELS, Provider, ReplyStream, Request
from studio.providers.errors import ErrorFactory
from studio.providers.history_rebuild import pair_calls
from studio.providers.http import Http
from studio.providers.media import (
    PDF,
    MediaLimits,
    data_url,
    is_picture,
    left_out_text,
    media_refusal,
    text_of_file,
)
from studio.providers.sse import Endpoint, sse_batches
from studio.providers.stream_driver import StreamDriver
from studio.providers.structured_output import is_format_refusal, is_schema_refusal, response_format
from studio.providers.text_tool_calls import TextCallRecognizer

from . import PROVIDER
from .errors import UnsupportedParameters, fault_of_error
from .models import efforts_of, facts_of, is_reasoning_model
from .stream import UNREADABLE, ChatAccumulator, calls_of
from .validate import chat_problem

NO_OUTPUT = "(no output)"
FORM = "response_format"
STOPS = 4
"""Stop texts that are sent; OpenAI takes no more."""
OPENAI_HOST = "api.openai.com"


class CompatibleProvider(Provider):
    """A server that speaks Chat Completions. ``base_url`` ends in ``/v1`` or its like."""

    protocol = "chat"

    def __init__(
        self,
        key: str,
        base_url: str,
        http: Http,
        name: str = PROVIDER.name,
        title: str = "",
    ) -> None:
        self.name = name
        errors = ErrorFactory(name, title, base_url, key)
        if not title:
            errors = replace(errors, title=errors.host or "the server")
        self._endpoint = Endpoint(errors, http, fault_of_error)
        self._hosted = errors.host == OPENAI_HOST
        self._unsupported = UnsupportedParameters()
        # What servers take is not written down anywhere; OpenAI's limits are the usual ones.
        self._limits = MediaLimits(
            errors.title,
            pictures=("image/png", "image/jpeg", "image/webp", "image/gif"),
            picture_bytes=20_000_000,
            document_bytes=50_000_000,
        )

    def user_items(self, blocks: Sequence[Said]) -> list[JsonObject]:
        if all(isinstance(block, Text) for block in blocks):
            words = [block.text for block in blocks if isinstance(block, Text)]
            return [{"role": "user", "content": "\n\n".join(words)}]
        return [{"role": "user", "content": [self._part(block) for block in blocks]}]

    def result_items(self, results: Sequence[ToolResult]) -> list[JsonObject]:
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
                pictures += [self._part(image) for image in images]
        if pictures:
            messages.append({"role": "user", "content": pictures})
        return messages

    def open_calls(self, history: Sequence[JsonObject]) -> list[ToolCall]:
        return unanswered(history, calls_of)

    def system_items(self, text: str, model: str = "") -> list[JsonObject]:
        """As the person's words, except at OpenAI.

        The chat templates of many open models fail on a system message that is
        not the first, and the servers that fill them pass that on as an error.
        """
        if self._hosted:
            return [{"role": "developer", "content": text}]
        return super().system_items(text, model)

    def history_problem(self, history: Sequence[JsonObject]) -> str:
        return chat_problem(history)

    def media_problem(self, block: Said, facts: ModelInfo | None = None) -> str:
        if isinstance(block, File) and block.media_type == PDF:
            reads = facts.documents if facts is not None else None
            # Few servers take files at all, and none that does not say so.
            if not (self._hosted if reads is None else reads):
                return "This model cannot read PDF files."
        return media_refusal(block, self._limits, facts)

    def rebuild(
        self, messages: Sequence[Message], facts: ModelInfo | None = None
    ) -> list[JsonObject]:
        history: list[JsonObject] = []
        for exchange in pair_calls(messages, lambda block: self.media_problem(block, facts)):
            if exchange.said:
                history += self.user_items(exchange.said)
            if exchange.calls:
                calls: list[Json] = [native_call(call) for call in exchange.calls]
                history.append(
                    {"role": "assistant", "content": exchange.text or None, "tool_calls": calls}
                )
            elif exchange.text:
                history.append({"role": "assistant", "content": exchange.text})
            history += self.result_items(exchange.results)
        return history

    def _part(self, block: Said) -> JsonObject:
        if isinstance(block, Text):
            return {"type": "text", "text": block.text}
        if why := media_refusal(block, self._limits):
            return {"type": "text", "text": left_out_text(block, why)}
        if is_picture(block):
            return {"type": "image_url", "image_url": {"url": data_url(block)}}
        assert isinstance(block, File)
        if (text := text_of_file(block)) is not None:
            return {"type": "text", "text": text}
        return {
            "type": "file",
            "file": {"filename": block.name, "file_data": data_url(block)},
        }

    def stream(self, request: Request) -> ReplyStream:
        async def open(stack: AsyncExitStack) -> AsyncIterator[list[JsonObject]]:
            attempt = request
            while True:
                optional = self._optional(attempt)
                body = {**self._body(attempt), **optional}
                try:
                    chunks = await self._endpoint.stream(
                        stack, "/chat/completions", body, model=request.model
                    )
                except ProviderError as error:
                    if self._learns(request.model, optional, error):
                        continue
                    asked = FORM in optional and error.status in (400, 422)
                    if not (asked and is_format_refusal(str(error))):
                        raise
                    attempt = replace(attempt, schema=None)
                else:
                    return sse_batches(chunks)

        return StreamDriver(
            self.name,
            open,
            ChatAccumulator(request.history, self._endpoint.fault),
            self._endpoint.errors.from_exception,
            None if self._hosted else TextCallRecognizer(request, native_call),
            request.stop,
        )

    def _learns(self, model: str, optional: JsonObject, error: ProviderError) -> bool:
        """Whether the next request can be one that this server takes."""
        words = str(error)
        refused = error.status in (400, 422)
        sent = optional.keys() - ({FORM} if is_schema_refusal(words) else set())
        return self._unsupported.learn_alternation(model, words) or (
            refused
            and (
                self._unsupported.learn(model, sent, words)
                or self._unsupported.learn_limit(model, words)
            )
        )

    def _body(self, request: Request) -> JsonObject:
        system: list[Json] = [_system(request)]
        history = request.history
        if request.facts is not None and request.facts.images is False:
            history = [without_pictures(message) for message in history]
        if self._unsupported.needs_alternation(request.model):
            history = alternating(history)
        body: JsonObject = {
            "model": request.model,
            "messages": [*(system if request.system else []), *history],
            "stream": True,
        }
        if request.tools:
            body["tools"] = [function_tool(tool) for tool in request.tools]
        return body

    def _optional(self, request: Request) -> JsonObject:
        """What an answer can be had without, as far as this model takes it."""
        facts, model = request.facts, request.model
        wanted: JsonObject = {"stream_options": {"include_usage": True}}
        if request.output_limit is not None:
            limit = self._unsupported.within(model, request.output_limit)
            wanted[self._limit_name(model)] = limit
        thinks = self._hosted and is_reasoning_model(model, facts)
        if not thinks:
            wanted |= request.sampling | request.penalties
            if request.stop:
                wanted["stop"] = list[Json](request.stop[:STOPS])
        if choice := chat_tool_choice(request):
            wanted["tool_choice"] = choice
        if request.tools and not request.parallel:
            wanted["parallel_tool_calls"] = False
        # Servers that run a model hold every reply to the form, so that none could be a call.
        held = request.schema is not None and (self._hosted or not request.callable)
        if held and (form := response_format(request, [*request.history, _system(request)])):
            wanted[FORM] = form
        if request.effort and not (facts and facts.reasoning is False):
            efforts = efforts_of(model, facts) if self._hosted else facts and facts.efforts
            if efforts:
                wanted["reasoning_effort"] = nearest_effort(request.effort, efforts)
            elif efforts is None:  # nothing is known: the person's choice is sent
                wanted["reasoning_effort"] = request.effort
        return self._unsupported.accepted(model, wanted)

    def _limit_name(self, model: str) -> str:
        """``max_tokens`` is understood everywhere but by OpenAI's models that think."""
        old, new = "max_tokens", "max_completion_tokens"
        if self._hosted or not self._unsupported.accepts(model, old):
            return new
        return old

    async def prepare(self) -> None:
        await self._endpoint.prepare()

    async def models(self) -> list[ModelInfo]:
        answer = await self._endpoint.get("/models")
        listed = answer.get("data", answer.get("models"))
        if not isinstance(listed, list):
            raise self._endpoint.errors.error("protocol")
        return [info for entry in as_objects(listed[:MOST_MODELS]) if (info := facts_of(entry))]


def _system(request: Request) -> JsonObject:
    return {"role": "system", "content": request.system}


def readable(call: ToolCall) -> JsonObject:
    """The arguments as an object, always: unreadable ones stay what they were."""
    if call.arguments is None and call.raw:
        return {UNREADABLE: call.raw}
    return call.arguments or {}


def native_call(call: ToolCall) -> JsonObject:
    """A call as a message of the model holds it."""
    arguments = json.dumps(readable(call), ensure_ascii=False)
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


def without_pictures(message: JsonObject) -> JsonObject:
    """The message with words in place of pictures, for a model whose server would refuse them."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    words: JsonObject = {"type": "text", "text": "(Left out: picture. This model cannot see it.)"}
    parts: list[Json] = [
        words if isinstance(part, dict) and part.get("type") == "image_url" else part
        for part in content
    ]
    return {**message, "content": parts}


def result_text(result: ToolResult) -> str:
    """A result as text, for protocols without an error flag."""
    text = result.text
    if not text.strip():
        text = NO_OUTPUT
    if result.is_error and not text.lower().startswith("error"):
        return f"Error: {text}"
    return text


def alternating(history: Sequence[JsonObject]) -> list[JsonObject]:
    """With the person's messages that follow each other as one.

    Some chat templates of local models raise an error when a role comes twice in a row.
    """
    messages: list[JsonObject] = []
    for message in history:
        last = messages[-1] if messages else None
        if last is None or not message.get("role") == last.get("role") == "user":
            messages.append(message)
        else:
            messages[-1] = {**last, "content": _joined(last["content"], message["content"])}
    return messages


def _joined(first: Json, second: Json) -> Json:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    parts: list[Json] = []
    for content in (first, second):
        words: JsonObject = {"type": "text", "text": content}
        parts += content if isinstance(content, list) else [words]
    return parts


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


def function_tool(tool: ToolSpec) -> JsonObject:
    """A tool as Chat Completions and Ollama describe it."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.schema,
        },
    }


def tool_choice(request: Request) -> Json:
    """``tool_choice`` for Responses; empty where the model decides."""
    if name := request.named:
        hosted = any(tool.hosted for tool in request.callable)
        return {"type": name} if hosted else {"type": "function", "name": name}
    if request.forced:
        return "required"
    return "none" if request.tools and not request.callable else ""


def chat_tool_choice(request: Request) -> Json:
    """``tool_choice`` for Chat Completions, which has no tools of its own."""
    if name := request.named:
        return {"type": "function", "function": {"name": name}}
    return tool_choice(request)
