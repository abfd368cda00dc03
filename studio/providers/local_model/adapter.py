"""Local model adapter: talks to the built-in model, which is small and often wrong.

SmolLM2-135M, a GGUF file the person chose, or one of those that were fetched, behind
llama.cpp's own server in a child process. The wire is Chat Completions; for SmolLM2 each
request is put in words that so small a model can follow (``prompt``). Its native history stays
whole: only what is sent is shortened. Every other model gets requests as they are, in its own
chat template.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from studio.domain.errors import ConfigurationError, ProviderError
from studio.domain.events import CallStarted, Delta, TextDelta
from studio.domain.jsonvalue import Json, JsonObject, as_text
from studio.domain.messages import Message, Said, ToolCall
from studio.domain.models import ModelInfo
from studio.providers.base import Reply, ReplyStream, Request, stream_ended_early
from studio.providers.computer_memory import Memory
from studio.providers.model_files.folder import SUFFIX, model_files
from studio.providers.openai_chat.adapter import CompatibleProvider, native_call
from studio.providers.openai_chat.stream import MadeUpIds

from . import MISSING, PROVIDER, has_weights
from .process import SMALL_CONTEXT, ModelProcess
from .prompt import OUTPUT_LIMIT, Prompt

__all__ = ["LocalModelProvider", "ModelProcess"]

TITLE = "the built-in model"
SMOLLM2 = "smollm2-135m"
OWN_NAMES = (SMOLLM2, "smollm2", "")
"""Of the model that ships, in its own list and in the one that is built in."""
TEXT_ONLY = ModelInfo("", images=False, documents=False, efforts=())
"""What holds for a model of which nothing else is known: words only."""
PICTURES = ("image/png", "image/jpeg", "image/gif")
"""What the engine's own reader of pictures takes."""
LOCAL = ModelInfo(
    "", input_price=0.0, output_price=0.0, images=False, documents=False, source="built-in"
)
"""What lists say of every model here."""


class LocalModelProvider(CompatibleProvider):
    """Chat Completions with a model on this computer; starts it when it is first asked.

    A file that the person chose (``model``) answers for its own name and for those of the model
    that ships, whose place it takes. One model is in memory at a time, unless two answer at once.
    """

    def __init__(self, model: ModelProcess, folder: Path | None = None) -> None:
        # Translates messages only; the address is known once the child process runs.
        super().__init__("", "", model.http, PROVIDER.name, TITLE)
        self._limits = replace(self._limits, pictures=PICTURES)
        self._model = model
        self._folder = folder
        self._others: dict[Path, ModelProcess] = {}
        self._prompt: Prompt | None = None

    async def aclose(self) -> None:
        """End every child; the object can be used again afterwards."""
        for process in (self._model, *self._others.values()):
            await process.aclose()

    def _process(self, model: str) -> ModelProcess:
        """What runs the model of a request."""
        path = self._folder and self._folder / f"{model}{SUFFIX}"
        own = self._model.chosen.stem if self._model.chosen is not None else SMOLLM2
        plain = model != own and Path(model).name == model
        if path is None or not plain or not path.is_file():
            return self._model
        if path not in self._others:
            self._others[path] = self._model.of(path)
        return self._others[path]

    async def _make_room(self, process: ModelProcess) -> None:
        """End the models that nobody is using."""
        for other in (self._model, *self._others.values()):
            if other is not process and not other.is_used:
                await other.rest()

    def rebuild(
        self, messages: Sequence[Message], facts: ModelInfo | None = None
    ) -> list[JsonObject]:
        return super().rebuild(messages, facts or TEXT_ONLY)

    def system_items(self, text: str, model: str = "") -> list[JsonObject]:
        """As the system's words: a small model would take the person's for a new request."""
        if (
            self._process(model).chosen is not None
        ):  # many templates allow a system message only first
            return super().system_items(text)
        return [{"role": "system", "content": text}]

    def takes_orientation(self, model: str) -> bool:
        """The small model would take it for what the person asks."""
        return self._process(model).chosen is not None

    def media_problem(self, block: Said, facts: ModelInfo | None = None) -> str:
        return super().media_problem(block, facts or TEXT_ONLY)

    async def context_window(self, request: Request) -> int | None:
        process = self._process(request.model)
        return None if process.chosen is None else await asyncio.to_thread(process.context)

    def _require(self, model: str) -> None:
        """Raises ConfigurationError for a file that was deleted, or is in another folder now."""
        chosen = self._process(model).chosen
        own = (*OWN_NAMES, chosen.stem) if chosen is not None else OWN_NAMES
        if self._folder is not None and model not in own:
            raise ConfigurationError(
                f"The model {model} is not on this computer any more. Choose another for this "
                "chat, or download it again in the settings."
            )

    def stream(self, request: Request) -> ReplyStream:
        process = self._process(request.model)
        return _Stream(process, self._make_room, self._shaped, self._checked, request)

    async def models(self) -> list[ModelInfo]:
        """The model that ships or was chosen, then those that were fetched; none is started.

        Raises ConfigurationError where none is there, or nothing runs them as in the light package.
        """
        found = await asyncio.to_thread(self._listed) if PROVIDER.ready else []
        if not found:
            raise ConfigurationError(MISSING)
        return found

    def _listed(self) -> list[ModelInfo]:
        chosen, first = self._model.chosen, list[ModelInfo]()
        if chosen is not None:
            first.append(replace(LOCAL, id=chosen.stem, context_window=self._model.context()))
        elif has_weights():
            small = replace(
                LOCAL,
                id=SMOLLM2,
                name="SmolLM2 135M (small, often wrong)",
                context_window=SMALL_CONTEXT,
                output_limit=OUTPUT_LIMIT,
                tools=True,
                reasoning=False,
                efforts=(),
            )
            first.append(small)
        memory = Memory.of_this_computer()
        fetched = [
            replace(
                LOCAL,
                id=file.id,
                name=file.title,
                context_window=file.facts and file.facts.context(memory),
                tools=file.facts and file.facts.tools,
                images=file.sees,
            )
            for file in (model_files(self._folder) if self._folder is not None else [])
            if file.path != chosen and file.runs
        ]
        return [*first, *fetched]

    async def _shaped(self, request: Request) -> Request | Reply:
        """The request as it is sent, or the reply where that is certain without the model."""
        self._require(request.model)
        request = replace(request, facts=request.facts or TEXT_ONLY, effort=None)
        if request.named:  # llama.cpp takes no name of a tool here
            request = replace(request, tools=request.callable, choice="required", only="")
        if self._process(request.model).chosen is not None:
            return request
        if self._prompt is None:
            file = self._model.resources / "examples.json"
            self._prompt = await asyncio.to_thread(Prompt.load, file)
        if answer := self._prompt.certain(request):
            return Reply([_message(answer)])
        if (needed := self._prompt.needed(request)) is not None:
            name, arguments = needed
            made_up = MadeUpIds(request.history).at(0)
            call = ToolCall(made_up, name, arguments, json.dumps(arguments))
            message: JsonObject = {**_message(""), "tool_calls": list[Json]([native_call(call)])}
            return Reply([message], [call], "tool_use")
        return self._prompt.shaped(request)

    def _checked(self, request: Request, reply: Reply) -> Reply:
        """The reply, or what was read in the place of one that cannot be from it."""
        small = self._process(request.model).chosen is None
        if not small or self._prompt is None or reply.calls or not reply.items:
            return reply
        said = as_text(reply.items[0].get("content"))
        other = self._prompt.checked(request, said)
        return reply if other == said else replace(reply, items=[_message(other)])


class _Stream:
    """A ``ReplyStream`` that waits for the server, then passes on its Chat Completions stream.

    ``check`` may put another reply in the place of one that follows a tool's result; the
    text of such a reply is shown when it is whole.
    """

    def __init__(
        self,
        model: ModelProcess,
        make_room: Callable[[ModelProcess], Awaitable[None]],
        shape: Callable[[Request], Awaitable[Request | Reply]],
        check: Callable[[Request, Reply], Reply],
        request: Request,
    ) -> None:
        self._model = model
        self._make_room = make_room
        self._shape = shape
        self._check = check
        self._request = request
        self._inner: ReplyStream | None = None
        self._reply: Reply | None = None
        self._holds = False

    @property
    def last_event_at(self) -> float:
        return self._inner.last_event_at if self._inner is not None else 0.0

    async def __aiter__(self) -> AsyncIterator[Delta]:
        request = await self._shape(self._request)
        if isinstance(request, Reply):
            self._reply = request
            for delta in _deltas(request):
                yield delta
            return
        last = self._request.history[-1:]
        answers = any(message.get("role") != "user" for message in last)
        self._holds = self._model.chosen is None and answers
        await self._make_room(self._model)
        async with self._model.in_use() as server:
            server_api = CompatibleProvider(
                server.key, f"{server.url}/v1", self._model.http, PROVIDER.name, TITLE
            )
            self._inner = server_api.stream(request)
            try:
                async for delta in self._inner:
                    if not (self._holds and isinstance(delta, TextDelta)):
                        yield delta
            except ProviderError as error:
                if reason := self._model.reason_of_death():
                    raise reason from error
                raise
            finally:
                await self._inner.aclose()
            whole = self._inner.reply()
            if self._holds:
                self._reply = self._check(self._request, whole)
                for delta in _deltas(replace(self._reply, calls=[])):  # the calls were shown
                    yield delta

    def reply(self) -> Reply:
        if self._inner is None and self._reply is None:
            raise stream_ended_early(PROVIDER.name)
        reply = self._reply
        if reply is None:
            assert self._inner is not None
            reply = self._inner.reply()
        cut = reply.stop == "max_tokens" and not reply.calls
        if cut and self._request.output_limit is None:
            return replace(reply, stop="end")  # the limit was ours, against endless repetition
        return reply

    def interrupted(self) -> Reply:
        if self._reply is not None:
            return replace(self._reply, stop="other")
        if self._inner is None or self._holds:  # what was not shown was not said
            return Reply()
        return self._inner.interrupted()

    async def aclose(self) -> None:
        if self._inner is not None:
            await self._inner.aclose()


def _message(text: str) -> JsonObject:
    return {"role": "assistant", "content": text}


def _deltas(reply: Reply) -> Iterator[Delta]:
    """What of a whole reply is shown."""
    for message in reply.items:
        if text := as_text(message.get("content")):
            yield TextDelta(text)
    for call in reply.calls:
        yield CallStarted(call.id, call.name)
