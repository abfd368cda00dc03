"""The stream driver: runs any provider's stream, with the accumulator of its adapter."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from itertools import groupby
from time import monotonic
from typing import Generic, Protocol, TypeVar, cast

from studio.domain.errors import ProviderError
from studio.domain.events import CallStarted, Delta, ReasoningDelta, TextDelta
from studio.domain.jsonvalue import (
    MAX_DEPTH,
    Json,
    JsonObject,
    is_clean_json,
    repair_surrogates,
    sanitize_json,
)
from studio.domain.redaction import redact

from .base import MOST_CALLS, Reply, stream_ended_early
from .errors import on_one_line
from .sse import InvalidResponse
from .stop_sequences import StopTextCutter
from .text_tool_calls import TextCallRecognizer

ENVELOPE_DEPTH = 20
"""Levels that a message has around the arguments of its calls, and some to spare."""

MOST_TEXT = 8_000_000
"""Characters of a reply, thoughts included: models write up to a million tokens."""
MOST_EVENTS = 500_000
"""Native events of a reply; most bring a token."""
_DETAIL = 600
"""Characters of the provider's words about the end of a reply."""
_READ = 10_000
"""Characters of them that are searched for keys."""

_TEXTS = (TextDelta, ReasoningDelta)

E = TypeVar("E")
E_contra = TypeVar("E_contra", contravariant=True)


class Accumulator(Protocol[E_contra]):
    """Native events in, deltas out, and the native items they add up to.

    Runs without network: a list of events is enough to test one.
    """

    @property
    def complete(self) -> bool:
        """Whether the terminal event has come."""
        ...

    def feed(self, event: E_contra, /) -> Iterable[Delta]:
        """Take one native event. Raises ProviderError for an error inside the stream."""
        ...

    def reply(self) -> Reply: ...

    def interrupted(self) -> Reply: ...


class StreamDriver(Generic[E]):
    """A ``ReplyStream``: opens on first iteration, maps every fault to a ``ProviderError``.

    ``open`` sends the request and returns the native events, those together that came
    together: their text is one delta. What it enters on the stack is closed with the stream.
    ``translate`` is the provider's table from exceptions to ``ProviderError``. ``text_calls``
    recognises calls in the text of a whole reply, where models write them; what was shown
    stays shown. The answer ends before the first of the ``stop`` texts.
    """

    def __init__(
        self,
        provider: str,
        open: Callable[[AsyncExitStack], Awaitable[AsyncIterator[Sequence[E]]]],
        accumulator: Accumulator[E],
        translate: Callable[[Exception], ProviderError],
        text_calls: TextCallRecognizer | None = None,
        stop: Sequence[str] = (),
    ) -> None:
        self._provider = provider
        self._open = open
        self._accumulator = accumulator
        self._translate = translate
        self._text_calls = text_calls
        self._cutter = StopTextCutter([text for text in stop if text])
        self._reply: Reply | None = None
        self._stack = AsyncExitStack()
        self._events = self._length = self._calls = 0
        self.last_event_at = 0.0

    async def __aiter__(self) -> AsyncIterator[Delta]:
        try:
            async for events in await self._open(self._stack):
                self.last_event_at = monotonic()
                for delta in self._cutter.shown(self._deltas(events)):
                    yield delta
        except ProviderError:
            raise
        except Exception as error:
            raise self._translate(error) from error
        finally:
            await self.aclose()
        if not self._accumulator.complete:
            raise stream_ended_early(self._provider)
        if self._text_calls is not None:
            whole = self._whole()
            self._reply = self._text_calls.recognized(whole)
            calls = self._reply.calls if self._reply is not whole else ()
            for delta in self._cutter.shown(CallStarted(call.id, call.name) for call in calls):
                yield delta
        if held := self._cutter.rest():
            yield TextDelta(held)

    def _deltas(self, events: Sequence[E]) -> Iterator[Delta]:
        """The deltas of events that came together, and then what was wrong with one of them."""
        found: list[Delta] = []
        fault: Exception | None = None
        try:
            for event in events:
                found += self._accumulator.feed(event)
        except Exception as error:  # what came before it is shown
            fault = error
        self._events += len(events)
        for kind, same in groupby(found, type):
            if issubclass(kind, _TEXTS):
                delta = kind("".join([one.text for one in cast("Iterable[TextDelta]", same)]))
                self._length += len(delta.text)
                self._hold_within_bounds()
                yield delta
            else:
                for delta in same:
                    self._calls += 1
                    self._hold_within_bounds()
                    yield delta
        if fault is not None:
            raise fault
        if self._events > MOST_EVENTS:
            raise InvalidResponse("the answer has too many events")

    def _hold_within_bounds(self) -> None:
        if self._length > MOST_TEXT or self._calls > MOST_CALLS:
            raise InvalidResponse("the answer is too long")

    def reply(self) -> Reply:
        return self._cutter.ended(self._whole())

    def _whole(self) -> Reply:
        if self._reply is not None:
            return self._reply
        if not self._accumulator.complete:
            raise stream_ended_early(self._provider)
        try:
            return _clean_reply(self._accumulator.reply())
        except ProviderError:
            raise
        except Exception as error:
            raise self._translate(error) from error

    def interrupted(self) -> Reply:
        return _clean_reply(self._accumulator.interrupted())

    async def aclose(self) -> None:
        stack, self._stack = self._stack, AsyncExitStack()
        try:
            await stack.aclose()
        except Exception:  # a connection that is already gone cannot be hung up twice
            return


def _clean_reply(reply: Reply) -> Reply:
    """A reply that can be sent back: a server may write what nobody would take from us."""
    if detail := reply.detail[:_READ]:
        reply = replace(reply, detail=on_one_line(redact(detail))[:_DETAIL])
    items = cast("Json", reply.items)
    calls = [(call.id, call.name, call.arguments, call.raw) for call in reply.calls]
    if is_clean_json(items, MAX_DEPTH + ENVELOPE_DEPTH) and is_clean_json(
        cast("Json", calls), MAX_DEPTH + ENVELOPE_DEPTH
    ):
        return reply
    mended_calls = [
        replace(
            call,
            id=repair_surrogates(call.id),
            name=repair_surrogates(call.name),
            arguments=cast("JsonObject | None", sanitize_json(call.arguments)),
            raw=repair_surrogates(call.raw),
        )
        for call in reply.calls
    ]
    return replace(
        reply,
        items=cast("list[JsonObject]", sanitize_json(items, MAX_DEPTH + ENVELOPE_DEPTH)),
        calls=mended_calls,
    )
