"""Provider interface: translates messages and replies, and keeps a native history valid.

A *native history* is a list of JSON objects, each exactly what this provider's
API wants back (H-1): messages for Anthropic, Chat Completions and Ollama,
contents for Gemini, items for Responses. It is append-only. The session
appends what the methods here return, stores it, and sends it.

One step of a turn::

    history += provider.user_items(blocks)                 # what the person said
    stream = provider.stream(Request(..., history=history))
    async for delta in stream: ...                         # shown as it comes
    reply = stream.reply()                                 # whole, or ProviderError
    history += reply.items                                 # unchanged
    history += provider.result_items(results)                   # one for each call, in call order

``result_items`` are chosen by the ids in ``reply.calls``, never by looking back
over the history (H-3).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from dataclasses import field
from typing import Protocol

from studio.domain.errors import ProviderError
from studio.domain.events import Delta
from studio.domain.jsonvalue import JsonObject, repair_surrogates
from studio.domain.messages import Message, Said, Text, ToolCall, ToolResult
from studio.domain.models import Effort, ModelInfo, StopReason, ToolChoice, Usage
from studio.domain.records import dataclass
from studio.domain.tools import ToolSpec

MOST_CALLS = 1_000
"""Calls of a reply; one with more is an error."""
MOST_MODELS = 5_000
"""Models of a list; the rest is left out."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request: system prompt and tools are frozen for a session (H-9).

    ``facts`` are what is known of the model; None where nothing is. ``effort``
    and ``temperature`` None leave the model its default; an adapter sends
    neither to a model that would refuse it. ``session`` is the same for all
    requests of one session and tells nothing about it: a key for caches. The
    rest is as in ``Generation``.
    """

    model: str
    history: Sequence[JsonObject]
    system: str = ""
    tools: Sequence[ToolSpec] = ()
    output_limit: int | None = None
    """Tokens; None lets the adapter choose the model's own limit."""
    ceiling: int | None = None
    """Tokens that may be billed for the answer, with what is thought; None for no such limit."""
    facts: ModelInfo | None = None
    effort: Effort | None = None
    temperature: float | None = None
    session: str = ""
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    choice: ToolChoice = "auto"
    only: str = ""
    schema: JsonObject | None = None
    parallel: bool = True
    seed: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None

    @property
    def named(self) -> str:
        """The one tool that has to be called; empty where it is not on offer."""
        if not self.only or self.choice == "none":
            return ""
        return self.only if any(tool.name == self.only for tool in self.tools) else ""

    @property
    def forced(self) -> bool:
        """Whether a tool has to be called."""
        return bool(self.named) or (self.choice == "required" and bool(self.tools))

    @property
    def callable(self) -> Sequence[ToolSpec]:
        """Those of the tools on offer that may be called."""
        if self.choice == "none":
            return ()
        only = self.named
        return [tool for tool in self.tools if tool.name == only] if only else self.tools

    @property
    def sampling(self) -> JsonObject:
        """``temperature`` and ``top_p`` where they are set, for a model that takes them."""
        if self.facts and self.facts.sampling is False:
            return {}
        wanted: JsonObject = {"temperature": self.temperature, "top_p": self.top_p}
        return {name: value for name, value in wanted.items() if value is not None}

    @property
    def penalties(self) -> JsonObject:
        """The seed and the penalties, where they are set, for APIs that have them."""
        wanted: JsonObject = {
            "seed": self.seed,
            "frequency_penalty": self.frequency_penalty,
            "presence_penalty": self.presence_penalty,
        }
        return {name: value for name, value in wanted.items() if value is not None}

    @property
    def context_window(self) -> int | None:
        """Tokens, where the model's is known (Ollama needs it as ``num_ctx``)."""
        return self.facts.context_window if self.facts else None


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back and may be appended to the history.

    ``calls`` are to be answered, every one, whatever ``stop`` says: the loop
    runs them only when ``stop`` is ``tool_use``, and else answers them with an
    error. A call whose ``arguments`` is None is answered with an error too.
    """

    items: list[JsonObject] = field(default_factory=list[JsonObject])
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    stop: StopReason = "end"
    usage: Usage = field(default_factory=Usage)
    detail: str = ""
    """Words for the person on an unusual stop: a refusal's category, for example."""
    cost: float | None = None
    """What the provider itself says this cost, in US dollars."""
    stopped_at: str = ""
    """The stop text that the answer came to; empty where there was none, or none is told."""


class ReplyStream(Protocol):
    """A reply while it streams.

    Iterating yields deltas and raises ``ProviderError`` on any fault: HTTP
    errors, errors inside a 200 stream, a stream that ends without its terminal
    event, a body that is not this protocol. Iterating may be cancelled at any
    point; ``aclose`` then hangs up at once (idempotent, never raises).
    """

    @property
    def last_event_at(self) -> float:
        """When the last native event came, pings too, by ``time.monotonic``; 0.0 before any."""
        ...

    def __aiter__(self) -> AsyncIterator[Delta]: ...

    def reply(self) -> Reply:
        """The whole reply; ProviderError(protocol) if its terminal event never came."""
        ...

    def interrupted(self) -> Reply:
        """What of an unfinished reply the provider accepts back: protocols section 7.

        Finished blocks and partial text; no unsigned reasoning, no unfinished
        call. May be empty. The loop answers its calls with "cancelled".
        """
        ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class PromptCache:
    """What the ledger may expect of a provider's prompt cache.

    ``seconds`` is how long an entry lives after its last use; ``minimum`` the
    tokens below which nothing is cached.
    """

    seconds: float
    minimum: int


class Provider(ABC):
    """One provider with one key and one base URL. Holds no session's state.

    Constructing one imports no SDK; the SDK is imported in a thread on first
    use. Every method but ``stream`` and ``models`` is pure.
    """

    name: str
    """The name in the provider's descriptor."""
    protocol: str
    """Names the shape of the native history; histories of one protocol are
    exchangeable between providers only as far as ``rebuild`` makes them."""

    @abstractmethod
    def user_items(self, blocks: Sequence[Said]) -> list[JsonObject]:
        """The person's words (and pictures, files) as native items."""

    @abstractmethod
    def result_items(self, results: Sequence[ToolResult]) -> list[JsonObject]:
        """Answers to one reply's calls, in call order, as native items."""

    @abstractmethod
    def open_calls(self, history: Sequence[JsonObject]) -> list[ToolCall]:
        """Calls of the last reply that no result answers yet: after a crash, say (H-5)."""

    @abstractmethod
    def rebuild(
        self, messages: Sequence[Message], facts: ModelInfo | None = None
    ) -> list[JsonObject]:
        """A new native history of a conversation led elsewhere (H-7).

        No call is split from its result; foreign reasoning is left out, and
        words stand where a picture or file was that the model of ``facts``
        cannot read (``media_problem``).
        """

    @abstractmethod
    def stream(self, request: Request) -> ReplyStream:
        """Send a request. Nothing happens before the stream is iterated."""

    @abstractmethod
    async def models(self) -> list[ModelInfo]:
        """The provider's own list, chat models only (P-2); raises ProviderError."""

    cache: PromptCache | None = None
    """How the provider caches what requests begin with; None where nothing is known."""

    async def prepare(self) -> None:  # noqa: B027 (most have nothing to do)
        """Import and make what requests need; takes seconds the first time.

        Raises ProviderError.
        """

    def system_items(self, text: str, model: str = "") -> list[JsonObject]:
        """A text of the engine (the date, a wrap-up, a draft's end) that reaches the model (H-6).

        A system message in the middle of the conversation where the protocol
        and ``model`` have them, else words of the person. May follow anything,
        results too.
        """
        return self.user_items([Text(text)])

    def takes_orientation(self, model: str) -> bool:
        """Whether the model can make use of being told where it works, with the first message."""
        return True

    def spoken_items(self, words: Sequence[Text]) -> list[JsonObject]:
        """The model's words alone, as native items: what is known of a reply that broke off.

        Its thoughts and calls are not among them: nobody has their signatures or arguments.
        """
        said = tuple(Text(repair_surrogates(one.text)) for one in words)
        before = Message("user", (Text("?"),))  # or the words would follow nobody's
        return self.rebuild([before, Message("assistant", said)])[-1:]

    def history_problem(self, history: Sequence[JsonObject]) -> str:
        """What makes a stored history one that this provider would reject (H-5).

        Empty for a sound one. Calls of the last reply that are still open do
        not count: ``open_calls`` names them, and results close them.
        """
        return ""

    def media_problem(self, block: Said, facts: ModelInfo | None = None) -> str:
        """Why this model cannot read a picture or a file, in words for the person.

        Empty if it can. Sizes and formats are this provider's limits.
        """
        return ""

    def runs_tool(self, tool: str, model: str) -> bool:
        """Whether the provider runs a tool of this name itself (``web_search``), beside ours."""
        return False

    async def context_window(self, request: Request) -> int | None:
        """The tokens that a request and its answer have room for; None where nobody knows.

        None too where an adapter shortens by itself what it sends.
        """
        return request.context_window

    async def warning(self, request: Request) -> str:
        """What the person should know before this request goes out; mostly nothing."""
        return ""


def stream_ended_early(provider: str) -> ProviderError:
    """The stream closed without its terminal event: an error, not an answer."""
    return ProviderError(
        "network", "The connection closed before the answer was complete.", provider=provider
    )
