"""Local model adapter: talks to the built-in model, which is small and often wrong.

SmolLM2-135M, or any GGUF file the person chose, behind llama.cpp's own server
in a child process. The wire is Chat Completions; for SmolLM2 each request is
put in words that so small a model can follow (``prompt``). Its native
history stays whole: only what is sent is shortened.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace

from studio.domain.errors import ProviderError
from studio.domain.events import Delta
from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Message, Said
from studio.domain.models import ModelInfo
from studio.providers.base import Reply, ReplyStream, Request, stream_ended_early
from studio.providers.openai_chat.adapter import CompatibleProvider

from . import PROVIDER
from .process import OTHER_CONTEXT, SMALL_CONTEXT, ModelProcess
from .prompt import OUTPUT_LIMIT, Prompt

__all__ = ["LocalModelProvider", "ModelProcess"]

TITLE = "the built-in model"
SMOLLM2 = "smollm2-135m"
TEXT_ONLY = ModelInfo("", images=False, documents=False, efforts=())
"""What holds for every model run here: words only."""


class LocalModelProvider(CompatibleProvider):
    """Chat Completions with a model on this computer; starts it when it is first asked."""

    def __init__(self, model: ModelProcess) -> None:
        # Translates messages only; the address is known once the child process runs.
        super().__init__("", "", model.http, PROVIDER.name, TITLE)
        self._model = model
        self._prompt: Prompt | None = None

    def rebuild(
        self, messages: Sequence[Message], facts: ModelInfo | None = None
    ) -> list[JsonObject]:
        return super().rebuild(messages, TEXT_ONLY)

    def system_items(self, text: str, model: str = "") -> list[JsonObject]:
        """As the system's words: a small model would take the person's for a new request."""
        if self._model.chosen is not None:  # many templates allow a system message only first
            return super().system_items(text)
        return [{"role": "system", "content": text}]

    def media_problem(self, block: Said, facts: ModelInfo | None = None) -> str:
        return super().media_problem(block, TEXT_ONLY)

    async def context_window(self, request: Request) -> int | None:
        return None if self._model.chosen is None else request.context_window or OTHER_CONTEXT

    def stream(self, request: Request) -> ReplyStream:
        return _Stream(self._model, self._shaped, request)

    async def models(self) -> list[ModelInfo]:
        """The one file there is; nothing is started for it."""
        chosen = self._model.chosen
        model = ModelInfo(
            SMOLLM2 if chosen is None else chosen.stem,
            context_window=OTHER_CONTEXT,
            input_price=0.0,
            output_price=0.0,
            images=False,
            documents=False,
            source="built-in",
        )
        if chosen is not None:
            return [model]
        return [
            replace(
                model,
                name="SmolLM2 135M (small, often wrong)",
                context_window=SMALL_CONTEXT,
                output_limit=OUTPUT_LIMIT,
                tools=True,
                reasoning=False,
                efforts=(),
            )
        ]

    async def _shaped(self, request: Request) -> Request:
        request = replace(request, facts=request.facts or TEXT_ONLY, effort=None)
        if request.named:  # llama.cpp takes no name of a tool here
            request = replace(request, tools=request.callable, choice="required", only="")
        if self._model.chosen is not None:
            return request
        if self._prompt is None:
            file = self._model.resources / "examples.json"
            self._prompt = await asyncio.to_thread(Prompt.load, file)
        return self._prompt.shaped(request)


class _Stream:
    """A ``ReplyStream`` that waits for the server, then passes on its Chat Completions stream."""

    def __init__(
        self,
        model: ModelProcess,
        shape: Callable[[Request], Awaitable[Request]],
        request: Request,
    ) -> None:
        self._model = model
        self._shape = shape
        self._request = request
        self._inner: ReplyStream | None = None

    @property
    def last_event_at(self) -> float:
        return self._inner.last_event_at if self._inner is not None else 0.0

    async def __aiter__(self) -> AsyncIterator[Delta]:
        request = await self._shape(self._request)
        async with self._model.in_use() as server:
            server_api = CompatibleProvider(
                server.key, f"{server.url}/v1", self._model.http, PROVIDER.name, TITLE
            )
            self._inner = server_api.stream(request)
            try:
                async for delta in self._inner:
                    yield delta
            except ProviderError as error:
                if reason := self._model.reason_of_death():
                    raise reason from error
                raise
            finally:
                await self._inner.aclose()

    def reply(self) -> Reply:
        if self._inner is None:
            raise stream_ended_early(PROVIDER.name)
        reply = self._inner.reply()
        cut = reply.stop == "max_tokens" and not reply.calls
        if cut and self._request.output_limit is None:
            return replace(reply, stop="end")  # the limit was ours, against endless repetition
        return reply

    def interrupted(self) -> Reply:
        return self._inner.interrupted() if self._inner is not None else Reply()

    async def aclose(self) -> None:
        if self._inner is not None:
            await self._inner.aclose()
