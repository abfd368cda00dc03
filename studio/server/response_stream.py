"""The response stream holds the parts of a response for its readers, and sends them over HTTP."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from studio.domain.aio import ended

from .contract import (
    ApiRequest,
    Outcome,
    ProgressPart,
    ReasoningPart,
    ResponseInfo,
    ResponsePart,
    ResponseWriter,
    TextPart,
    ToolCallPart,
    TurnRef,
)
from .errors import ApiError, error_from_exception, error_from_outcome

STOPPED = ApiError("The answer was stopped.", 503, "stopped")
STOPPING = ApiError("The server is being stopped.", 503, "busy", retry_after=1.0)
_SMALL = 200
"""Bytes that a part takes besides its words, roughly."""

Begin: TypeAlias = Callable[[Callable[[TurnRef], None]], AsyncGenerator[ResponsePart, None]]
"""Begins a response; its argument is called with the turn that makes it."""


class ResponseStream:
    """The parts of a response, as they come, for any number of readers.

    The turn goes on as long as somebody reads; when the last reader leaves
    before its end, it is stopped. ``created`` is in seconds since the epoch.
    """

    def __init__(
        self, request: ApiRequest, created: float, begin: Begin, place: TurnRef | None
    ) -> None:
        """``place`` is where the answer is, as far as that is known before ``begin``."""
        self.size = 0
        """Bytes of memory, roughly."""
        self._model = request.model
        self._stored = request.stored
        self._created = int(created)
        self._place = place
        self._parts: list[ResponsePart] = []
        self._waiting: set[asyncio.Future[None]] = set()
        """Wake those who wait for the next part."""
        self._readers = 0
        self._fault: ApiError | None = None
        self._task = asyncio.create_task(self._collect(begin(self._begun)))

    @property
    def about(self) -> ResponseInfo:
        """What the response says of itself; known with its first part."""
        if self._place is None:
            number = uuid.uuid4().hex
        else:
            number = self._place.number if self._stored else self._place.sealed
        return ResponseInfo(number, self._model, self._created)

    @property
    def fault(self) -> ApiError | None:
        """The error that ended it, once it has."""
        if self._fault is None and self._parts:
            last = self._parts[-1]
            if isinstance(last, Outcome) and last.stop == "error":
                self._fault = error_from_outcome(last)
        return self._fault

    @property
    def ended(self) -> bool:
        return bool(self._parts) and isinstance(self._parts[-1], Outcome)

    @contextmanager
    def read(self) -> Generator[None]:
        """Count as a reader meanwhile."""
        self._readers += 1
        try:
            yield
        finally:
            self._readers -= 1
            if not self._readers:
                self.stop(STOPPED)

    async def after(self, count: int, within: float | None = None) -> Sequence[ResponsePart]:
        """The parts that follow the first ``count``, as soon as there are any.

        Nothing if none came ``within`` seconds, or if there are no more to come.
        """
        if len(self._parts) <= count and not self.ended:
            loop = asyncio.get_running_loop()
            more = loop.create_future()
            late = None if within is None else loop.call_later(within, _wake, more)
            self._waiting.add(more)
            try:
                await more
            finally:
                self._waiting.discard(more)
                if late is not None:
                    late.cancel()
        return self._parts[count:]

    def stop(self, why: ApiError) -> None:
        """End it, if it has not ended, with this as its outcome."""
        if not self.ended:
            self._fault = why
            self._add(why.outcome())
            self._task.cancel()

    @property
    def over(self) -> bool:
        """Whether its turn is over, and saved."""
        return self._task.done()

    def when_over(self, then: Callable[[], None]) -> None:
        self._task.add_done_callback(lambda _: then())

    async def settled(self) -> None:
        """Wait until its turn is over, and saved."""
        await ended(self._task)

    def _begun(self, place: TurnRef) -> None:
        self._place = place

    async def _collect(self, parts: AsyncGenerator[ResponsePart, None]) -> None:
        try:
            async with aclosing(parts):
                async for part in parts:
                    if not self.ended:
                        self._add(part)
            if not self.ended:
                raise RuntimeError("an answer without an end")
        except Exception as error:
            fault = error_from_exception(error)
            if not self.ended:
                self._fault = fault
                self._add(fault.outcome())

    def _add(self, part: ResponsePart) -> None:
        self._parts.append(part)
        match part:
            case TextPart() | ReasoningPart() | ProgressPart():
                words = part.text
            case Outcome():
                words = part.detail
            case ToolCallPart():
                words = str(part)
        self.size += _SMALL + len(words)
        for more in self._waiting:
            _wake(more)


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


PAUSE = 15.0
"""Seconds without a word after which something is sent, so that proxies keep the stream open."""

_STREAM = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
)


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """Sends one response, streamed or whole, and stops when the client disconnects.

    ``speak`` makes the dialect's writer once the response has begun, ``refuse`` the response
    for an error that kept it from beginning; ``ping`` is sent in a pause.
    """

    run: ResponseStream
    speak: Callable[[], ResponseWriter]
    refuse: Callable[[ApiError], Response]
    stream: bool
    ping: bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self.run.read():
            work = self._streamed(send) if self.stream else self._whole(scope, receive, send)
            fault = await _while_there(receive, work)
        if fault is not None:
            await self.refuse(fault)(scope, receive, send)

    async def _streamed(self, send: Send) -> ApiError | None:
        """The status goes out with the first part, or after a pause.

        Returns the error that kept the answer from beginning; then nothing was sent.
        """
        taken, parts = 0, await self.run.after(0, PAUSE)
        if parts and isinstance(parts[0], Outcome) and self.run.fault is not None:
            return self.run.fault
        await send({"type": "http.response.start", "status": 200, "headers": [*_STREAM]})
        spoken: ResponseWriter | None = None
        while True:
            if parts and spoken is None:
                spoken = self.speak()
            data = b"".join(spoken.frames(part) for part in parts) if spoken else b""
            taken += len(parts)
            ended = bool(parts) and isinstance(parts[-1], Outcome)
            if data or ended or not parts:
                body = data or (b"" if ended else self.ping)
                await send({"type": "http.response.body", "body": body, "more_body": not ended})
            if ended:
                return None
            parts = await self.run.after(taken, PAUSE)

    async def _whole(self, scope: Scope, receive: Receive, send: Send) -> ApiError | None:
        taken = 0
        spoken: ResponseWriter | None = None
        while True:
            parts = await self.run.after(taken)
            if isinstance(parts[-1], Outcome) and self.run.fault is not None:
                return self.run.fault
            spoken = spoken or self.speak()
            for part in parts:
                spoken.take(part)
            taken += len(parts)
            if isinstance(parts[-1], Outcome):
                await JSONResponse(spoken.body())(scope, receive, send)
                return None


async def _while_there(
    receive: Receive, work: Coroutine[Any, Any, ApiError | None]
) -> ApiError | None:
    """Do the work until it is done or the client has disconnected."""
    working = asyncio.current_task()
    assert working is not None
    left = False

    def leave(_: asyncio.Task[None]) -> None:
        nonlocal left
        left = True
        working.cancel()

    leaving = asyncio.create_task(_leaves(receive))
    leaving.add_done_callback(leave)
    try:
        return await work
    except asyncio.CancelledError:
        if not left or working.uncancel():
            raise
        return None
    finally:
        leaving.remove_done_callback(leave)
        leaving.cancel()


async def _leaves(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
