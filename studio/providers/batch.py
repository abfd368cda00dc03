"""Batches: many requests that a provider answers within a day, at half the price (W-57).

Sending is not idempotent at any provider. So each batch has a key of ours that is stored before it
is sent and goes out with it; ``find`` tells by it whether a batch is there whose answer was lost.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from studio.domain.errors import ProviderError
from studio.domain.events import TextDelta
from studio.domain.jsonvalue import JsonObject
from studio.domain.records import dataclass

from .base import Reply, Request
from .errors import ErrorFactory
from .http import Http
from .plain import send
from .sse import json_lines, read_object

if TYPE_CHECKING:
    import httpx2

HALF = 0.5
"""What a token costs in a batch, of its usual price."""
LISTED = 20
"""Pages of a list of batches that are looked through."""
E = TypeVar("E", contravariant=True)


@dataclass(frozen=True, slots=True)
class BatchState:
    """How far a batch is. ``failed`` says why none of it was worked on; empty for no failure."""

    over: bool
    failed: str = ""


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """What came of one request: a reply or an error; neither where it expired or was cancelled."""

    id: str
    reply: Reply | None = None
    text: str = ""
    """The words of the reply."""
    error: ProviderError | None = None


class Folds(Protocol[E]):
    """What makes a reply of events; see ``stream_driver.Accumulator``."""

    def feed(self, event: E, /) -> Iterable[object]: ...

    def reply(self) -> Reply: ...


def folded(accumulator: Folds[JsonObject], events: Iterable[JsonObject]) -> tuple[Reply, str]:
    """The reply that whole events make, and its words.

    Raises ProviderError for an error among them.
    """
    text = ""
    for event in events:
        for delta in accumulator.feed(event):
            if isinstance(delta, TextDelta):
                text += delta.text
    return accumulator.reply(), text


class Batches(ABC):
    """The batches of one provider. Every coroutine raises ProviderError."""

    most_requests: int
    most_bytes: int
    """Of one batch."""

    def __init__(
        self,
        http: Http,
        errors: ErrorFactory,
        translate: Callable[[Exception], ProviderError],
        fault: Callable[[JsonObject], ProviderError],
        body_of: Callable[[Request], JsonObject],
    ) -> None:
        """``translate`` is of what an exchange raises, ``fault`` of an error inside an answer.

        ``body_of`` makes what is sent for one request.
        """
        self._http, self.errors = http, errors
        self.translate, self.fault, self.body_of = translate, fault, body_of

    @abstractmethod
    def line(self, id: str, request: Request) -> JsonObject:
        """One request as it stands in a batch."""

    @abstractmethod
    async def send(self, key: str, model: str, lines: Sequence[bytes]) -> str:
        """Begin a batch; returns the provider's name for it.

        An error with a status says that there is none; one without leaves that open.
        """

    @abstractmethod
    async def find(self, key: str, count: int, began: float, others: set[str]) -> str | None:
        """The name of the batch with this key and so many requests, sent at ``began`` or later.

        Empty if there is none, None if that cannot be told yet. It is none of ``others``.
        """

    @abstractmethod
    async def state(self, remote: str) -> BatchState:
        """How far a batch is."""

    @abstractmethod
    def answers(self, remote: str) -> AsyncIterator[BatchAnswer]:
        """What came of the requests of a batch that is over, in any order."""

    @abstractmethod
    async def cancel(self, remote: str) -> None:
        """Have nothing more of a batch worked on; what was done is answered."""

    @abstractmethod
    def headers(self) -> dict[str, str]:
        """Those of every request."""

    # What the providers' batches share

    async def ask(
        self, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> JsonObject:
        """Post the body, or get; returns the one object of the answer."""
        try:
            async with aclosing(await self.open(path, body, headers)) as response:
                return await read_object(response.aiter_bytes())
        except Exception as error:
            raise self.translate(error) from error

    async def open(
        self, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> httpx2.Response:
        """The same as the answer comes; raises what the connection raises, and Refused."""
        url = path if path.startswith("http") else self.errors.base_url.rstrip("/") + path
        sent = {**self.headers(), **(headers or {})}
        return await send(self._http, self.errors, url, sent, body)

    async def lines_of(self, path: str) -> AsyncIterator[JsonObject]:
        """The objects of a file of JSON lines."""
        try:
            async with aclosing(await self.open(path)) as response:
                async for one in json_lines(response.aiter_bytes()):
                    yield one
        except Exception as error:
            raise self.translate(error) from error


@runtime_checkable
class HasBatches(Protocol):
    """A provider that answers many requests within a day for less."""

    def batches(self) -> Batches: ...
