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
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from studio.domain.agents import Limits
from studio.domain.errors import FolderGone, ProviderError, StorageError, StudioError
from studio.domain.events import (
    CompletionReason,
    Event,
    Failed,
    StepEnded,
    StepStarted,
    Told,
    ToolFinished,
    TurnComplete,
    TurnStarted,
)
from studio.domain.messages import Said, ToolResult
from studio.domain.models import Effort, ModelInfo, Usage
from studio.domain.permissions import Answer
from studio.providers.base import Provider, Reply, Request

from .asking import BROKEN_OFF, Asking, History, failed
from .execution import Execution
from .ledger import Ledger
from .patience import Patience

log = logging.getLogger(__name__)

CANCELLED = "The person stopped the turn before this was done."
NOT_RUN = "This call was not run, because the reply did not end with it. Send it again."
OUT_OF_TIME = "The turn's time limit was reached before this was done."
FAILED = "The program could not finish this. Its effect is unknown."


async def _nothing() -> Sequence[Event]:
    return ()


@dataclass(frozen=True, slots=True)
class Setting:
    """What a turn runs on, fixed when it begins.

    ``news`` is what the model has to be told now (H-6); telling it, an event,
    takes it from there. ``room`` is awaited ahead of each request and makes the
    history fit (L-10). ``closing`` is awaited once when the work is over,
    however it ended: what it returns happens before the turn is complete.
    """

    started: TurnStarted
    limits: Limits
    news: Callable[[], Sequence[Told]]
    patience: Patience = field(default_factory=Patience)
    facts: ModelInfo | None = None
    effort: Effort | None = None
    temperature: float | None = None
    room: Callable[[], Awaitable[Sequence[Event]]] = _nothing
    closing: Callable[[], Awaitable[Sequence[Event]]] = _nothing
    opened: Sequence[Event] = ()
    """What happened when the history was opened, to be told after ``started``."""


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
        ledger: Ledger,
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
        self._asking = Asking(
            provider,
            history,
            ledger,
            setting.patience,
            request=self._request,
            before=self._tell,
            why=lambda error: self._why(error, BROKEN_OFF),
            emit=self._emit,
            clock=self._clock,
        )
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
        for event in (self._setting.started, *self._setting.opened):
            self._emit(event)
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
        self._execution.gate.answer(question_id, answer)

    def reply(self, call_id: str, text: str) -> None:
        """The person's answer to the agent's own question; a late one is ignored."""
        self._execution.gate.reply(call_id, text)

    def try_now(self) -> None:
        """Skip the wait before another attempt, or give up a silent one."""
        self._asking.try_now()

    def _emit(self, event: Event) -> None:
        if isinstance(event, StepEnded):
            self._usage += event.usage
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
            return await self._work(said)
        finally:
            await self._close()

    async def _close(self) -> None:
        """Also of a turn that was stopped; a second stop does not wait for it."""
        try:
            for event in await asyncio.shield(asyncio.ensure_future(self._setting.closing())):
                self._emit(event)
        except Exception:
            log.exception("the end of a turn failed")

    async def _work(self, said: Sequence[Said]) -> tuple[CompletionReason, str]:
        try:
            if said:
                if self._history.items:  # a conversation begins with the person's words
                    await self._tell()
                words = self._provider.said(said)
                self._begin(1)  # stored with the words, so that they count as said once they are
                await self._history.append(words)
            else:
                await self._asking.resume()
                self._begin(1)
            return await self._steps()
        except asyncio.CancelledError:
            limit = f"The turn reached its limit of {self._setting.limits.seconds:g} s."
            return self._stopped_for, limit if self._out_of_time else ""
        except Exception as error:
            self._emit(failure(error))
            return "error", str(error)

    def _begin(self, step: int) -> None:
        self._step = step
        self._emit(StepStarted(step))

    async def _steps(self) -> tuple[CompletionReason, str]:
        for step in range(1, self._setting.limits.steps + 1):
            if step > 1:
                self._begin(step)
            reply = await self._asking.reply(step)
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

    @property
    def _model(self) -> str:
        return self._setting.started.model

    def _request(self) -> Request:
        setting, history = self._setting, self._history
        return Request(
            self._model,
            history.items,
            history.system,
            history.tools,
            facts=setting.facts,
            effort=setting.effort,
            temperature=setting.temperature,
            session=setting.started.session_id,
        )

    async def _tell(self) -> None:
        """Make room, and bring the model up to date in words appended to its history (H-6)."""
        for event in await self._setting.room():
            self._emit(event)
        for told in self._setting.news():
            self._emit(told)
            await self._history.append(self._provider.steer(told.text, self._model))

    async def _act(self, reply: Reply) -> None:
        """Run the calls of a reply; every one gets its result, whatever happens (H-3, H-5).

        The reply is stored before its tools run: if the program dies meanwhile,
        the calls are found open and closed when the session is opened again.
        """
        if reply.stop != "tool_use":
            await self._asking.close(reply, NOT_RUN)
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
                result or failed(call, why)
                for call, result in zip(reply.calls, results, strict=True)
            ]
            await self._history.append(self._provider.results(closed))

    @property
    def _out_of_time(self) -> bool:
        return self._stopped_for == "time_limit"

    def _why(self, error: BaseException, otherwise: str) -> str:
        if not isinstance(error, asyncio.CancelledError):
            return otherwise
        return OUT_OF_TIME if self._out_of_time else CANCELLED


def failure(error: Exception) -> Failed:
    """What the person is told of an error that ended a turn, or kept it from beginning."""
    match error:
        case ProviderError():
            detail = f"{_asked(error)} Your message is kept.".lstrip()
            return Failed(error.fault, str(error), detail, error.provider)
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


def _asked(error: ProviderError) -> str:
    """The wait that a provider asks for, where it is worth saying."""
    minutes = math.ceil((error.retry_after or 0.0) / 60)
    if minutes < 2:
        return ""
    if minutes < 120:
        return f"It asks for a wait of {minutes} minutes."
    return f"It asks for a wait of {math.ceil(minutes / 60)} hours."
