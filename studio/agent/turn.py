"""The loop: reason, act, observe, until the agent answers without a call (L-1).

A turn is an async generator of events (L-2). The work runs in one task that
records events and puts them on a queue, so that Stop, a time limit or a reader
that walks away ends the work the same way: the task is cancelled, whatever the
provider would not take back is closed (H-5), and when the task is over, however
that came, ``TurnComplete`` is the last event.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from studio.domain.agents import Limits
from studio.domain.errors import FolderGone, ProviderError, StorageError, StudioError
from studio.domain.events import (
    CompletionReason,
    Event,
    Failed,
    ReasoningDelta,
    ReasoningEnded,
    StepEnded,
    StepStarted,
    ToolFinished,
    TurnComplete,
    TurnStarted,
)
from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Said, Text, ToolCall, ToolResult
from studio.domain.models import ModelInfo, Usage
from studio.domain.permissions import Answer
from studio.domain.tools import ToolSpec
from studio.providers.base import Provider, Reply, Request

from .execution import Execution

log = logging.getLogger(__name__)

CANCELLED = "The person stopped the turn before this was done."
NOT_RUN = "This call was not run, because the reply did not end with it. Send it again."
OUT_OF_TIME = "The turn's time limit was reached before this was done."
BROKEN_OFF = "This call was not run, because the reply broke off after it. Send it again."
ANSWER_AGAIN = "Your last answer broke off. Answer again."
FAILED = "The program could not finish this. Its effect is unknown."


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
    facts: ModelInfo | None = None
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
    """One turn. ``events()`` runs it; the other methods may be called meanwhile.

    ``record`` hears every event when it happens, also those that a reader who
    walked away does not see.
    """

    def __init__(
        self,
        setting: Setting,
        provider: Provider,
        history: History,
        execution: Callable[[Callable[[Event], None], Clock], Execution],
        record: Callable[[Event], None],
    ) -> None:
        self._setting = setting
        self._provider = provider
        self._history = history
        self._record = record
        self._queue: asyncio.Queue[Event] = asyncio.Queue()
        self._clock = Clock()
        self._execution = execution(self._emit, self._clock)
        self._task: asyncio.Task[tuple[CompletionReason, str]] | None = None
        self._stopped_for: CompletionReason = "cancelled"
        self._stopping = False
        self._usage = Usage()
        self._step = 0

    async def events(self, said: Sequence[Said]) -> AsyncGenerator[Event, None]:
        """Run the turn; exactly one ``TurnComplete`` comes, and it comes last.

        With nothing said, the turn answers what was said before: a retry.
        """
        self._task = asyncio.create_task(self._run(said))
        # Not the task's own last line: one that is cancelled at once never runs a line.
        self._task.add_done_callback(self._complete)
        self._emit(self._setting.started)
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

    async def ended(self) -> None:
        """Return when nothing of this turn runs any more."""
        if self._task is not None:
            await asyncio.wait([self._task])

    def answer(self, question_id: str, answer: Answer) -> None:
        """The person's answer to a permission question; a late one is ignored."""
        self._execution.answer(question_id, answer)

    def reply(self, call_id: str, text: str) -> None:
        """The person's answer to the agent's own question; a late one is ignored."""
        self._execution.reply(call_id, text)

    def _emit(self, event: Event) -> None:
        self._record(event)
        self._queue.put_nowait(event)

    def _complete(self, task: asyncio.Task[tuple[CompletionReason, str]]) -> None:
        reason, detail = (self._stopped_for, "") if task.cancelled() else task.result()
        self._emit(TurnComplete(reason, detail, self._step, self._usage, self._clock.seconds))

    async def _watch(self) -> None:
        limit = self._setting.limits.seconds
        while (left := limit - self._clock.seconds) > 0:  # noqa: ASYNC110 (the clock can pause)
            await asyncio.sleep(max(left, 0.05))
        self.stop("time_limit")

    async def _run(self, said: Sequence[Said]) -> tuple[CompletionReason, str]:
        try:
            if said:
                await self._history.append(self._provider.said(said))
            elif self._history.items and _is_answer(self._history.items[-1]):
                # Some models refuse a request that ends with their own words.
                await self._history.append(self._provider.steer(ANSWER_AGAIN))
            return await self._steps()
        except asyncio.CancelledError:
            limit = f"The turn reached its limit of {self._setting.limits.seconds:g} s."
            return self._stopped_for, limit if self._out_of_time else ""
        except Exception as error:
            self._emit(failure(error))
            return "error", str(error)

    async def _steps(self) -> tuple[CompletionReason, str]:
        for step in range(1, self._setting.limits.steps + 1):
            self._step = step
            self._emit(StepStarted(self._step))
            reply = await self._ask()
            if reply.calls:
                await self._act(reply)
            if reply.stop == "refusal" or reply.stop == "content_filter":
                return "refused", reply.detail or "The model declined to answer."
            if reply.stop == "context_full":
                return "token_limit", "The conversation no longer fits the model's context."
            if reply.calls or reply.stop == "pause":
                continue
            if reply.stop == "max_tokens":
                return "token_limit", "The answer reached the model's output limit."
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
                setting.facts,
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
        except BaseException as error:
            await self._close(stream.interrupted(), self._why(error, BROKEN_OFF))
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
            for call in reply.calls:
                self._emit(ToolFinished(call.id, NOT_RUN, is_error=True, seconds=0.0))
            return
        results: list[ToolResult | None] = [None] * len(reply.calls)
        why = FAILED
        try:
            await self._history.append(reply.items)
            await self._execution.run(reply.calls, results)
        except BaseException as error:
            why = self._why(error, FAILED)
            raise
        finally:
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
        notes = self._setting.notes
        while notes:
            await self._history.append(self._provider.steer(notes.pop(0)))

    @property
    def _out_of_time(self) -> bool:
        return self._stopped_for == "time_limit"

    def _why(self, error: BaseException, otherwise: str) -> str:
        if not isinstance(error, asyncio.CancelledError):
            return otherwise
        return OUT_OF_TIME if self._out_of_time else CANCELLED


def _error(call: ToolCall, why: str) -> ToolResult:
    return ToolResult(call.id, call.name, (Text(why),), is_error=True)


def _is_answer(item: JsonObject) -> bool:
    return item.get("role") in ("assistant", "model")


def failure(error: Exception) -> Failed:
    """What the person is told of an error that ended a turn, or kept it from beginning."""
    match error:
        case ProviderError():
            return Failed(error.fault, str(error), "Your message is kept.", error.provider)
        case StorageError():
            return Failed("storage", "This could not be saved", str(error))
        case FolderGone():
            return Failed("no_folder", str(error), "Your message is kept.")
        case StudioError():
            return Failed("configuration", str(error), "Your message is kept.")
        case _:
            log.error("a turn failed", exc_info=error)
            detail = f"{type(error).__name__}: {error}"
            return Failed("internal", "Something went wrong in the program", detail)
