"""The loop: reason, act, observe, until the agent answers without a call (L-1).

A turn is an async generator of events (L-2). The work runs in one task that
puts events on a queue, so that Stop, a time limit or a reader that walks away
ends the work the same way: the task is cancelled, whatever the provider would
not take back is closed (H-5), and ``TurnComplete`` is the last event, always.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from studio.domain.agents import Limits
from studio.domain.errors import ConfigurationError, ProviderError, StorageError
from studio.domain.events import (
    CompletionReason,
    Event,
    Failed,
    ReasoningDelta,
    ReasoningEnded,
    StepEnded,
    StepStarted,
    TurnComplete,
    TurnStarted,
)
from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Said, Text, ToolCall, ToolResult
from studio.domain.models import Usage
from studio.domain.permissions import Answer
from studio.domain.tools import ToolSpec
from studio.providers.base import Provider, Reply, Request

from .execution import Execution

log = logging.getLogger(__name__)

CANCELLED = "The person stopped the turn before this was done."
NOT_RUN = "This call was not run, because the reply did not end with it. Send it again."
OUT_OF_TIME = "The turn's time limit was reached before this was done."


class History(Protocol):
    """The native history of a session: in memory at once, on disk when awaited."""

    items: list[JsonObject]

    async def append(self, items: Sequence[JsonObject]) -> None: ...


@dataclass(slots=True)
class Setting:
    """What a turn runs on, fixed when it begins."""

    session_id: str
    turn_id: str
    agent: str
    model: str
    system: str
    tools: Sequence[ToolSpec]
    limits: Limits
    started: TurnStarted
    context_window: int | None = None
    output_limit: int | None = None
    notes: list[str] = field(default_factory=list[str])
    """Texts of the engine that wait to reach the model with the next request (H-6)."""


class Clock:
    """Seconds of work: stands still while the person is asked (L-11)."""

    def __init__(self) -> None:
        self._worked = 0.0
        self._since: float | None = time.monotonic()
        self._waits = 0

    @property
    def seconds(self) -> float:
        running = 0.0 if self._since is None else time.monotonic() - self._since
        return self._worked + running

    def pause(self) -> None:
        self._waits += 1
        if self._since is not None:
            self._worked += time.monotonic() - self._since
            self._since = None

    def resume(self) -> None:
        self._waits -= 1
        if self._waits == 0:
            self._since = time.monotonic()


class Turn:
    """One turn. ``events()`` runs it; the other methods may be called meanwhile."""

    def __init__(
        self,
        setting: Setting,
        provider: Provider,
        history: History,
        execution: Callable[[Callable[[Event], None], Clock], Execution],
    ) -> None:
        self._setting = setting
        self._provider = provider
        self._history = history
        self._queue: asyncio.Queue[Event] = asyncio.Queue()
        self._clock = Clock()
        self._execution = execution(self._emit, self._clock)
        self._task: asyncio.Task[None] | None = None
        self._stopped_for: CompletionReason = "cancelled"
        self._stopping = False
        self._usage = Usage()
        self._step = 0

    async def events(self, said: Sequence[Said]) -> AsyncGenerator[Event, None]:
        """Run the turn; exactly one ``TurnComplete`` comes, and it comes last.

        With nothing said, the turn answers what was said before: a retry.
        """
        self._task = asyncio.create_task(self._run(said))
        watch = asyncio.create_task(self._watch())
        try:
            while True:
                event = await self._queue.get()
                yield event
                if isinstance(event, TurnComplete):
                    return
        finally:
            watch.cancel()
            self.stop()
            await asyncio.wait([self._task, watch])

    def stop(self, reason: CompletionReason = "cancelled") -> None:
        """End the turn; everything it started is gone within a second (L-11)."""
        if self._task is not None and not self._task.done() and not self._stopping:
            self._stopping = True
            self._stopped_for = reason
            self._task.cancel()

    def answer(self, question_id: str, answer: Answer) -> None:
        """The person's answer to a permission question; a late one is ignored."""
        self._execution.answer(question_id, answer)

    def reply(self, call_id: str, text: str) -> None:
        """The person's answer to the agent's own question; a late one is ignored."""
        self._execution.reply(call_id, text)

    def _emit(self, event: Event) -> None:
        self._queue.put_nowait(event)

    async def _watch(self) -> None:
        limit = self._setting.limits.seconds
        while (left := limit - self._clock.seconds) > 0:  # noqa: ASYNC110 (the clock can pause)
            await asyncio.sleep(max(left, 0.05))
        self.stop("time_limit")

    async def _run(self, said: Sequence[Said]) -> None:
        self._emit(self._setting.started)
        reason: CompletionReason = "error"
        detail = ""
        try:
            if said:
                await self._history.append(self._provider.said(said))
            reason, detail = await self._steps()
        except asyncio.CancelledError:
            reason = self._stopped_for
            if reason == "time_limit":
                detail = f"The turn reached its limit of {self._setting.limits.seconds:g} s."
        except ProviderError as error:
            self._emit(Failed(error.fault, str(error), "Your message is kept.", error.provider))
            detail = str(error)
        except StorageError as error:
            self._emit(Failed("storage", "This could not be saved", str(error)))
            detail = str(error)
        except ConfigurationError as error:
            self._emit(Failed("configuration", "Something is not set up", str(error)))
            detail = str(error)
        except Exception as error:
            log.exception("a turn failed")
            detail = f"{type(error).__name__}: {error}"
            self._emit(Failed("internal", "Something went wrong in the program", detail))
        self._emit(TurnComplete(reason, detail, self._step, self._usage, self._clock.seconds))

    async def _steps(self) -> tuple[CompletionReason, str]:
        for step in range(1, self._setting.limits.steps + 1):
            self._step = step
            self._emit(StepStarted(self._step))
            reply = await self._ask()
            if reply.calls:
                await self._act(reply)
            elif reply.stop == "pause":
                continue
            elif reply.stop == "refusal" or reply.stop == "content_filter":
                return "refused", reply.detail or "The model declined to answer."
            elif reply.stop == "max_tokens":
                return "token_limit", "The answer reached the model's output limit."
            elif reply.stop == "context_full":
                return "token_limit", "The conversation no longer fits the model's context."
            else:
                return "done", reply.detail
        limit = self._setting.limits.steps
        return "step_limit", f"The agent used all {limit} steps of this turn."

    async def _ask(self) -> Reply:
        """One request; what came back is in the history when this returns or raises."""
        setting = self._setting
        await self._deliver_notes()
        stream = self._provider.stream(
            Request(
                setting.model,
                self._history.items,
                setting.system,
                setting.tools,
                setting.output_limit,
                setting.context_window,
            )
        )
        began = time.monotonic()
        thinking: float | None = None
        try:
            async for delta in stream:
                if isinstance(delta, ReasoningDelta):
                    thinking = thinking or time.monotonic()
                elif thinking is not None:
                    self._emit(ReasoningEnded(time.monotonic() - thinking))
                    thinking = None
                self._emit(delta)
            reply = stream.reply()
        except BaseException:
            partial = stream.interrupted()
            await self._close(partial, OUT_OF_TIME if self._out_of_time else CANCELLED)
            raise
        finally:
            await stream.aclose()
        if thinking is not None:
            self._emit(ReasoningEnded(time.monotonic() - thinking))
        if reply.items and not reply.calls:
            await self._history.append(reply.items)
        self._usage += reply.usage
        seconds = time.monotonic() - began
        self._emit(StepEnded(self._step, reply.stop, reply.usage, seconds))
        return reply

    async def _act(self, reply: Reply) -> None:
        """Run the calls of a reply; every one gets its result, whatever happens (H-3, H-5).

        The reply is stored before its tools run: if the program dies meanwhile,
        the calls are found open and closed when the session is opened again.
        """
        if reply.stop != "tool_use":
            await self._close(reply, NOT_RUN)
            return
        results: list[ToolResult | None] = [None] * len(reply.calls)
        try:
            await self._history.append(reply.items)
            await self._execution.run(reply.calls, results)
        finally:
            why = OUT_OF_TIME if self._out_of_time else CANCELLED
            closed = [
                result or _error(call, why)
                for call, result in zip(reply.calls, results, strict=True)
            ]
            await self._history.append(self._provider.results(closed))

    async def _close(self, reply: Reply, why: str) -> None:
        """Store a reply whose calls do not run, together with their answers."""
        items = [*reply.items]
        if reply.calls:
            items += self._provider.results([_error(call, why) for call in reply.calls])
        if items:
            await self._history.append(items)

    async def _deliver_notes(self) -> None:
        notes, self._setting.notes[:] = list(self._setting.notes), []
        for note in notes:
            await self._history.append(self._provider.steer(note))

    @property
    def _out_of_time(self) -> bool:
        return self._stopped_for == "time_limit"


def _error(call: ToolCall, why: str) -> ToolResult:
    return ToolResult(call.id, call.name, (Text(why),), is_error=True)
