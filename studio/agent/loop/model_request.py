"""One step's request, until its reply is whole: attempts, waits, silence (L-12).

Whatever an attempt that failed had brought stays: in the transcript as it was
shown, in the history as far as the provider takes it back. The next attempt
goes on from there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Protocol

from studio.agent.context.cache_ledger import CacheLedger, Prefix
from studio.agent.limits import RequestMeter, Reservation
from studio.agent.retry_policy import RetryPolicy
from studio.domain.errors import ProviderError
from studio.domain.events import (
    CallStarted,
    Delta,
    Event,
    Notice,
    ReasoningDelta,
    ReasoningEnded,
    Retried,
    RetryScheduled,
    Silent,
    StepEnded,
    Told,
)
from studio.domain.jsonvalue import JsonObject
from studio.domain.ledger import Sent
from studio.domain.messages import Text, ToolCall, ToolResult
from studio.domain.tools import ToolSpec
from studio.providers.base import Provider, Reply, ReplyStream, Request
from studio.providers.registry import PROVIDER_TITLES

RESUME = "Your last answer broke off. Go on where it stopped, and do not repeat what you said."
BROKEN_OFF = "This call was not run, because the reply broke off after it. Send it again."
REJECTED = "The provider did not accept the history. It was built anew from the conversation."


class History(Prefix, Protocol):
    """The native history of a session: in memory at once, on disk when awaited.

    ``system`` and ``tools`` are those it began with.
    """

    items: list[JsonObject]
    system: str
    tools: list[ToolSpec]

    async def append(self, items: Sequence[JsonObject]) -> None: ...

    async def renew(self, why: str) -> list[Event]:
        """Begin anew, built from the transcript (H-9); returns what happened."""
        ...


class Waiting(Protocol):
    """The turn's clock, which stands still while a provider is waited for."""

    def pause(self) -> None: ...
    def resume(self) -> None: ...


class _Attempt:
    """One request on its way; may be given up from outside."""

    def __init__(self, stream: ReplyStream) -> None:
        self.stream = stream
        self.began = self._said = time.monotonic()
        self._writes = False
        self.timeout = asyncio.timeout(None)

    @property
    def heard(self) -> float:
        return max(self.stream.last_event_at, self.began)

    def said(self, delta: Delta) -> None:
        self._said = time.monotonic()
        self._writes = isinstance(delta, CallStarted)

    @property
    def shown(self) -> float:
        """When something came last that the person could see: a server may send pings for ever.

        A call shows nothing while it is written.
        """
        return self.heard if self._writes else self._said

    @property
    def silent(self) -> float:
        """Seconds for which the person has seen nothing."""
        return time.monotonic() - self.shown

    @property
    def quiet(self) -> float:
        """Seconds since anything came, pings too."""
        return time.monotonic() - self.heard

    def give_up(self) -> None:
        if not self.timeout.expired():
            self.timeout.reschedule(asyncio.get_running_loop().time())


class ModelRequests:
    """The requests of one turn.

    ``request`` makes the next one of what the history holds by then, ``tokens``
    is what it is expected to send; ``before`` is awaited ahead of each attempt
    and brings the model up to date. ``squeeze`` makes room when the provider says
    that there is none. ``why`` says what a cancelled request's calls are told.
    """

    def __init__(
        self,
        provider: Provider,
        history: History,
        ledger: CacheLedger,
        purse: RequestMeter,
        patience: RetryPolicy,
        *,
        request: Callable[[], Request],
        tokens: Callable[[], Awaitable[int]],
        before: Callable[[], Awaitable[None]],
        squeeze: Callable[[], Awaitable[bool]],
        why: Callable[[BaseException], str],
        emit: Callable[[Event], None],
        clock: Waiting,
    ) -> None:
        self._provider = provider
        self._history = history
        self._ledger = ledger
        self._purse = purse
        self._tokens = tokens
        self._patience = patience
        self._request = request
        self._before = before
        self._squeeze = squeeze
        self._why = why
        self._emit = emit
        self._clock = clock
        self._renewed = self._warned = False
        self._waits = False
        self._skip = asyncio.Event()
        self._attempt: _Attempt | None = None

    def try_now(self) -> None:
        """Skip the wait before an attempt, or give up one that has gone silent."""
        if self._attempt is None:
            if self._waits:
                self._skip.set()
        elif self._attempt.silent >= self._patience.silence:
            self._skip.set()
            self._attempt.give_up()

    async def reply(self, step: int) -> Reply:
        """The reply to one step; what came of it is in the history, its calls excepted.

        Raises ProviderError when no attempt is left.
        """
        failed = 0
        while True:
            await self._before()
            self._skip.clear()
            try:
                return await self._one(step)
            except ProviderError as error:
                failed += not self._skip.is_set()
                if error.fault == "bad_history" and not self._renewed:
                    self._renewed = True
                    await self._renew()
                    continue
                if error.fault == "too_long" and await self._squeeze():
                    await self.resume()
                    continue
                wait = self._patience.wait(error, failed)
                if wait is None:
                    raise
                await self._wait(0.0 if self._skip.is_set() else wait, failed + 1, error)

    async def resume(self) -> None:
        """Ask for more where the history ends with the model's own words (some refuse that)."""
        if self._history.items and _is_answer(self._history.items[-1]):
            await self._history.append(self._provider.system_items(RESUME, self._request().model))
            self._emit(Told("resume", RESUME))

    async def close(self, reply: Reply, why: str) -> None:
        """Store a reply whose calls do not run, together with their answers (H-5)."""
        items = [*reply.items]
        if reply.calls:
            items += self._provider.result_items([failed(call, why) for call in reply.calls])
        if items:
            await self._history.append(items)

    async def _renew(self) -> None:
        for event in await self._history.renew(REJECTED):
            self._emit(event)
        await self.resume()

    async def _wait(self, seconds: float, attempt: int, error: ProviderError) -> None:
        self._emit(
            RetryScheduled(
                attempt, self._patience.attempts, seconds, error.fault, str(error), error.provider
            )
        )
        self._clock.pause()
        self._waits = True
        began = time.monotonic()
        try:
            async with asyncio.timeout(seconds):
                await self._skip.wait()
        except TimeoutError:
            pass  # the wait is over
        finally:
            self._waits = False
            self._clock.resume()
        self._emit(Retried(time.monotonic() - began))

    async def _one(self, step: int) -> Reply:
        request = self._request()
        if not self._warned and (warning := await self._provider.warning(request)):
            self._warned = True
            self._emit(Notice(warning))
        sent = self._ledger.expect(self._provider, request, self._history)
        reservation = await self._purse.reserve(await self._tokens(), request.facts)
        try:
            return await self._sent(step, request, sent, reservation)
        finally:
            reservation.settle()

    async def _sent(
        self, step: int, request: Request, sent: Sent, reservation: Reservation
    ) -> Reply:
        attempt = _Attempt(self._provider.stream(request))
        watch = asyncio.create_task(self._watch(attempt))
        try:
            reply = await self._read(attempt)
        except BaseException as error:
            kept = attempt.stream.interrupted()
            await self.close(kept, self._why(error))
            if kept.usage.total:  # what was cut off is paid for all the same
                await self._ended(step, kept, sent, attempt, reservation)
            if isinstance(error, ProviderError):
                await self.resume()
            raise
        finally:
            watch.cancel()
            await attempt.stream.aclose()
        try:
            if reply.items and not reply.calls:
                await self._history.append(reply.items)
            await self._ended(step, reply, sent, attempt, reservation)
        except BaseException as error:
            if reply.calls:  # nobody else has them yet
                await self.close(reply, self._why(error))
            raise
        return reply

    async def _read(self, attempt: _Attempt) -> Reply:
        thinking: float | None = None
        self._attempt = attempt
        try:
            async with attempt.timeout:
                async for delta in attempt.stream:
                    if isinstance(delta, ReasoningDelta):
                        thinking = thinking or time.monotonic()
                    elif thinking is not None:
                        self._emit(ReasoningEnded(time.monotonic() - thinking))
                        thinking = None
                    attempt.said(delta)
                    self._emit(delta)
        except TimeoutError as error:
            if not attempt.timeout.expired():
                raise
            name = self._provider.name
            text = f"{PROVIDER_TITLES.get(name, name)} stopped answering."
            raise ProviderError("network", text, provider=name) from error
        finally:
            self._attempt = None
        if thinking is not None:
            self._emit(ReasoningEnded(time.monotonic() - thinking))
        return attempt.stream.reply()

    async def _watch(self, attempt: _Attempt) -> None:
        """Say once when nothing comes; give up when nothing has come for too long."""
        silence, limit = self._patience.silence, self._patience.limit
        said = 0.0
        while (quiet := attempt.quiet) < limit:
            silent = attempt.silent
            if silent >= silence and said != attempt.shown:
                said = attempt.shown
                self._emit(Silent(silent))
            next_look = silence if said == attempt.shown else silence - silent
            await asyncio.sleep(max(min(next_look, limit - quiet), 0.01))
        attempt.give_up()

    async def _ended(
        self, step: int, reply: Reply, sent: Sent, attempt: _Attempt, reservation: Reservation
    ) -> None:
        await self._purse.settle(reservation, reply.usage, reply.cost)
        seconds = time.monotonic() - attempt.began
        settled = replace(sent, broke="")
        try:
            settled = await self._ledger.settle(sent, reply.usage)
        finally:
            at = reply.stopped_at
            self._emit(
                StepEnded(
                    step, reply.stop, reply.usage, seconds, settled, reply.cost, stopped_at=at
                )
            )


def failed(call: ToolCall, why: str) -> ToolResult:
    return ToolResult(call.id, call.name, (Text(why),), is_error=True)


def _is_answer(item: JsonObject) -> bool:
    return item.get("role") in ("assistant", "model")
