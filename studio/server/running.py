"""One answer while it is made, for everybody who waits for it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import aclosing, contextmanager
from typing import TypeAlias

from .faults import ApiError, error_from_exception, error_from_outcome
from .wire import ResponseInfo, ApiRequest, Outcome, ResponsePart, TurnRef, ProgressPart, ReasoningPart, TextPart

STOPPED = ApiError("The answer was stopped.", 503, "stopped")
STOPPING = ApiError("The server is being stopped.", 503, "busy", retry_after=1.0)
_SMALL = 200
"""Bytes that a part takes besides its words, roughly."""

Begin: TypeAlias = Callable[[Callable[[TurnRef], None]], AsyncGenerator[ResponsePart, None]]
"""Begins an answer; what it is given hears where the answer is made."""


class ResponseStream:
    """The parts of an answer, as they come, for any number of readers.

    The turn goes on as long as somebody reads; when the last reader leaves it
    before its end, it is stopped. ``created`` is in seconds since the epoch.
    """

    def __init__(self, asked: ApiRequest, created: float, begin: Begin, place: TurnRef | None) -> None:
        """``place`` is where the answer is, as far as that is known before ``begin``."""
        self.size = 0
        """Bytes of memory, roughly."""
        self._model = asked.model
        self._stored = asked.stored
        self._created = int(created)
        self._place = place
        self._parts: list[ResponsePart] = []
        self._more = asyncio.Event()
        self._readers = 0
        self._fault: ApiError | None = None
        self._task = asyncio.create_task(self._collect(begin(self._begun)))

    @property
    def about(self) -> ResponseInfo:
        """What the answer says of itself; known with its first part."""
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
        """Be one of its readers."""
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
            try:
                async with asyncio.timeout(within):
                    await self._more.wait()
            except TimeoutError:
                return ()
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
        await asyncio.wait([self._task])

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
        words = part.text if isinstance(part, TextPart | ReasoningPart | ProgressPart) else str(part)
        self.size += _SMALL + len(words)
        more, self._more = self._more, asyncio.Event()
        more.set()
