"""Model requests: send a request with retries, and yield what arrives (L-12).

Text of a failed attempt stays in the transcript, and in the history as far as the
provider accepts it. The next attempt continues from there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import fields, replace
from operator import attrgetter

from studio.agent.budget import SHARES, Reservation
from studio.agent.context.token_count import RequestTokens
from studio.agent.prompts import CALL_BROKEN_OFF
from studio.domain.codec import encode
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
)
from studio.domain.jsonvalue import JsonObject
from studio.domain.ledger import Sent
from studio.domain.models import ModelInfo
from studio.providers.base import Reply, ReplyStream, Request
from studio.providers.registry import PROVIDER_TITLES

from .turn_context import TurnContext, TurnState

_OPTIONS = [
    field.name
    for field in fields(Request)
    if field.name not in ("history", "system", "tools", "session")
]
"""What a request has beside what is stored elsewhere."""
_options: Callable[[Request], tuple[object, ...]] = attrgetter(*_OPTIONS)
REJECTED = "The provider did not accept the history. It was built anew from the conversation."


class ContextTooLong(Exception):
    """The provider says that the history does not fit the model's context."""

    def __init__(self, error: ProviderError) -> None:
        super().__init__(str(error))
        self.error = error


class _Attempt:
    """One request in flight; ``give_up`` aborts it from outside."""

    def __init__(self, stream: ReplyStream) -> None:
        self.stream = stream
        self.began = self._shown = time.monotonic()
        self._writes_call = False
        self.timeout = asyncio.timeout(None)

    @property
    def received(self) -> float:
        """When the last event came, including pings."""
        return max(self.stream.last_event_at, self.began)

    def note(self, delta: Delta) -> None:
        self._shown = time.monotonic()
        self._writes_call = isinstance(delta, CallStarted)

    @property
    def shown(self) -> float:
        """When the last visible event came: a server may send pings without end.

        While a call is written every event counts, because nothing of it is visible.
        """
        return self.received if self._writes_call else self._shown

    @property
    def unseen(self) -> float:
        """Seconds without a visible event."""
        return time.monotonic() - self.shown

    @property
    def quiet(self) -> float:
        """Seconds without any event."""
        return time.monotonic() - self.received

    def give_up(self) -> None:
        if not self.timeout.expired():
            self.timeout.reschedule(asyncio.get_running_loop().time())


class ModelRequests:
    """The requests of one turn."""

    def __init__(self, context: TurnContext, state: TurnState) -> None:
        self._context = context
        self._access = context.access
        self._policy = context.access.retry_policy
        self._state = state
        self._history = context.history
        self._failed = 0
        """Attempts of this step that failed."""
        self._rebuilt = self._warned = self._waits = False
        self.cut = False
        """Whether the last answer broke off because a cap shortened it: there may be room yet."""
        self._shares = SHARES
        """Of as many shares of what is left an answer gets one; after one that was cut, more."""
        self._skip = asyncio.Event()
        self.when_slow: Callable[[], None] | None = None
        """Called once, for an attempt that takes longer than a silence may: ``watch`` it then."""
        self._attempt: _Attempt | None = None
        self._began = asyncio.Event()
        """Set when an attempt begins, and replaced by another."""

    def try_now(self) -> None:
        """Skip the wait before an attempt, or abort a silent attempt."""
        if self._attempt is None:
            if self._waits:
                self._skip.set()
        elif self._attempt.unseen >= self._policy.silence:
            self._skip.set()
            self._attempt.give_up()

    async def attempt(
        self, step: int, tokens: RequestTokens
    ) -> AsyncGenerator[Event | Reply, None]:
        """Send one request and yield its events; the last item is the reply.

        The caller stops reading at the reply, so nothing may follow it. A reply without calls
        is in the history by then. If no reply comes, the attempt failed and the wait is over:
        send the next attempt. ``tokens`` are those of the request. Raises
        ContextTooLong, OverBudget, and ProviderError if no attempt is left.
        """
        self._skip.clear()
        try:
            async with aclosing(self._send(step, tokens)) as items:
                async for item in items:
                    if isinstance(item, Reply):
                        self._failed = 0  # before the yield: the caller stops reading here
                    yield item
            return
        except ProviderError as error:
            failure = error
        async with aclosing(self._recover(failure)) as events:
            async for event in events:
                yield event

    async def watch(self) -> AsyncGenerator[Silent, None]:
        """Yield a silence once, and abort an attempt that stays silent for too long.

        Runs in parallel with the attempts, from ``when_slow`` until the turn ends.
        """
        silence, limit = self._policy.silence, self._policy.limit
        reported = 0.0
        while True:
            wait: float | None = None
            attempt = self._attempt
            quiet = attempt.quiet if attempt is not None else 0.0
            if attempt is not None and quiet >= limit:
                attempt.give_up()
            elif attempt is not None:
                unseen = attempt.unseen
                if unseen >= silence and reported != attempt.shown:
                    reported = attempt.shown
                    yield Silent(unseen)
                next_look = silence if reported == attempt.shown else silence - unseen
                wait = max(min(next_look, limit - quiet), 0.01)
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._began.wait()

    async def _send(self, step: int, tokens: RequestTokens) -> AsyncGenerator[Event | Reply, None]:
        provider, request = self._access.provider, self._request(step)
        if (recorder := self._context.recorder) is not None:
            turn_id, chain = self._context.started.turn_id, self._history.chain[-1]
            recorder.begin(turn_id, chain, lambda: request_setting(request))
        if not self._warned and (warning := await provider.warning(request)):
            self._warned = True
            yield Notice(warning)
        sent = self._context.ledger.expect(provider, request, self._history)
        meter = self._access.meter
        reservation = await meter.reserve(tokens, request, shares=self._shares)
        request = reservation.bounded(request)
        try:
            attempt = _Attempt(await self._access.gate.stream(provider, request, "turn"))
            try:
                async with aclosing(self._read(attempt)) as events:
                    async for event in events:
                        yield event
                reply = attempt.stream.reply()
            except BaseException as error:
                kept = attempt.stream.interrupted()
                why = self._state.reason_for_calls(error, CALL_BROKEN_OFF)
                await self._history.add_unrun(kept, why)
                if kept.usage.total:  # an interrupted reply costs money too
                    async for ended in self._settle(step, kept, sent, attempt, reservation):
                        if not isinstance(error, GeneratorExit):
                            yield ended
                if isinstance(error, ProviderError):
                    for told in await self._history.resume():
                        yield told
                raise
            finally:
                await attempt.stream.aclose()
            try:
                async for ended in self._settle(step, reply, sent, attempt, reservation):
                    yield ended
            except BaseException as error:  # the loop gets neither the reply nor its calls
                why = self._state.reason_for_calls(error, CALL_BROKEN_OFF)
                await self._history.add_unrun(reply, why)
                raise
            self.cut = reply.stop == "max_tokens" and reservation.cut(reply.usage.output)
            self._shares = max(self._shares // 2, 1) if self.cut else SHARES
            if reply.items and not reply.calls:  # at once after the end of the step
                await self._history.append_last(reply.items)
        finally:
            reservation.settle()
        yield reply

    async def _read(self, attempt: _Attempt) -> AsyncGenerator[Event, None]:
        thinking: float | None = None
        patience = min(self._policy.silence, self._policy.limit)
        slow = asyncio.get_running_loop().call_later(patience, self._is_slow)
        self._attempt = attempt
        self._began.set()
        self._began = asyncio.Event()
        try:
            async with attempt.timeout:
                async for delta in attempt.stream:
                    if isinstance(delta, ReasoningDelta):
                        thinking = thinking or time.monotonic()
                    elif thinking is not None:
                        yield ReasoningEnded(time.monotonic() - thinking)
                        thinking = None
                    attempt.note(delta)
                    yield delta
        except TimeoutError as error:
            if not attempt.timeout.expired():
                raise
            name = self._access.provider.name
            text = f"{PROVIDER_TITLES.get(name, name)} stopped answering."
            raise ProviderError("network", text, provider=name) from error
        finally:
            slow.cancel()
            self._attempt = None
        if thinking is not None:
            yield ReasoningEnded(time.monotonic() - thinking)

    def _is_slow(self) -> None:
        told, self.when_slow = self.when_slow, None
        if told is not None:
            told()

    async def _settle(
        self, step: int, reply: Reply, sent: Sent, attempt: _Attempt, reservation: Reservation
    ) -> AsyncGenerator[StepEnded, None]:
        """Record the usage of the request, and compare it with the expected cache hits."""
        await self._access.meter.settle(reservation, reply.usage, reply.cost)
        seconds = time.monotonic() - attempt.began
        settled: Sent | None = None
        try:
            settled = await self._context.ledger.settle(sent, reply.usage)
        finally:
            settled, at = settled or replace(sent, broke=""), reply.stopped_at
            yield StepEnded(
                step, reply.stop, reply.usage, seconds, settled, reply.cost, stopped_at=at
            )

    async def _recover(self, error: ProviderError) -> AsyncGenerator[Event, None]:
        """Prepare the next attempt after a failure; raises the error if there is none."""
        skipped = self._skip.is_set()
        self._failed += not skipped
        if error.fault == "bad_history" and not self._rebuilt:
            self._rebuilt = True
            for event in await self._history.renew(REJECTED):
                yield event
            for told in await self._history.resume():
                yield told
            return
        if error.fault == "too_long":
            raise ContextTooLong(error) from error
        wait = self._policy.wait(error, self._failed)
        if wait is None:
            raise error
        yield RetryScheduled(
            self._failed + 1,
            self._policy.attempts,
            0.0 if skipped else wait,
            error.fault,
            str(error),
            error.provider,
        )
        began = time.monotonic()
        await self._wait(0.0 if skipped else wait)
        yield Retried(time.monotonic() - began)

    async def _wait(self, seconds: float) -> None:
        """Wait, unless the person skips it; the turn's clock is paused."""
        self._state.clock.pause()
        self._waits = True
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._skip.wait()
        finally:
            self._waits = False
            self._state.clock.resume()

    def _request(self, step: int) -> Request:
        history, generation = self._history, self._context.generation
        first = step == 1
        return Request(
            self._access.model,
            history.items,
            history.system,
            history.tools,
            output_limit=_within(generation.output_limit, self._access.facts),
            facts=self._access.facts,
            effort=generation.effort,
            temperature=generation.temperature,
            session=self._access.session_id,
            top_p=generation.top_p,
            stop=generation.stop,
            choice=generation.choice if first or generation.choice == "none" else "auto",
            only=generation.only if first else "",
            schema=generation.schema,
            parallel=generation.parallel,
            seed=generation.seed,
            frequency_penalty=generation.frequency_penalty,
            presence_penalty=generation.presence_penalty,
        )


def request_setting(request: Request) -> JsonObject:
    """What a request was made with beside the history, which is stored elsewhere (W-27)."""
    return dict(zip(_OPTIONS, map(encode, _options(request)), strict=True))


def _within(limit: int | None, facts: ModelInfo | None) -> int | None:
    """An answer's limit in tokens, lowered to the model's own: providers refuse a higher one."""
    most = facts.output_limit if facts is not None else None
    return min(limit, most) if limit is not None and most else limit
