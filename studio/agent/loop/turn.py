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
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from studio.agent.attachments import readable
from studio.agent.context.cache_ledger import CacheLedger
from studio.agent.limits import NEARLY, OverBudget, RequestMeter, WorkClock
from studio.agent.loop.prompts import (
    ANSWER_MISFIT,
    CALL_BROKEN_OFF,
    CALL_CANCELLED,
    CALL_FAILED,
    CALL_NOT_RUN,
    CALL_OUT_OF_TIME,
    CALL_REPEATED,
    LAST_STEP,
    LOOPING,
    NEARLY_OUT,
)
from studio.agent.retry_policy import RetryPolicy
from studio.domain.agents import Limits
from studio.domain.events import (
    Cap,
    CompletionReason,
    Event,
    HistoryBegun,
    MessageQueued,
    MessageTaken,
    Notice,
    ReasoningDelta,
    Steered,
    StepEnded,
    StepStarted,
    TextDelta,
    Told,
    ToolFinished,
    TurnComplete,
    TurnStarted,
)
from studio.domain.messages import Said, ToolCall, ToolResult
from studio.domain.models import AS_IT_IS, Generation, ModelInfo, Usage
from studio.domain.permissions import Answer
from studio.providers.base import Provider, Reply, Request

from .loop_guard import LoopGuard, Made
from .model_request import History, ModelRequests, failed
from .structured_output import TRIES, parse_answer
from .tool_runner import ToolRunner
from .user_messages import describe_error

log = logging.getLogger(__name__)

SQUEEZES = 2
"""So often in a row room is made because a provider says that there is none."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a turn ended; see ``TurnComplete``."""

    reason: CompletionReason
    detail: str = ""
    cap: Cap | Literal[""] = ""


class MakesRoom(Protocol):
    """Has a history that fits, and emits what was done for it; see ``context.Compactor.make``."""

    async def __call__(self, emit: Callable[[Event], None], *, full: bool = False) -> bool: ...


@dataclass(frozen=True, slots=True)
class TurnContext:
    """What a turn runs on, fixed when it begins.

    ``news`` is what the model has to be told now (H-6); telling it, an event,
    takes it from there. ``steering`` holds what the person says to the running
    turn. ``tokens`` is what the next request is expected to send. ``room`` is
    awaited ahead of each request and makes the history fit (L-10); also when a
    provider says that it does not. ``closing`` is awaited once when the work is
    over, however it ended: what it returns happens before the turn is complete.
    """

    started: TurnStarted
    limits: Limits
    news: Callable[[], Sequence[Told]]
    tokens: Callable[[], Awaitable[int]]
    room: MakesRoom
    closing: Callable[[], Awaitable[Sequence[Event]]]
    patience: RetryPolicy = field(default_factory=RetryPolicy)
    facts: ModelInfo | None = None
    generation: Generation = AS_IT_IS
    steering: deque[MessageQueued] = field(default_factory=deque[MessageQueued])
    opened: Sequence[Event] = ()
    """What happened when the history was opened, to be told after ``started``."""


class Turn:
    """One turn. ``events()`` runs it; the other methods may be called meanwhile.

    ``record`` hears every event when it happens, also those that a reader who
    walked away does not see.
    """

    def __init__(
        self,
        setting: TurnContext,
        provider: Provider,
        history: History,
        ledger: CacheLedger,
        purse: RequestMeter,
        execution: Callable[[Callable[[Event], None], WorkClock], ToolRunner],
        record: Callable[[Event], None],
    ) -> None:
        self._setting = setting
        self._provider = provider
        self._history = history
        self._record = record
        self._queue: asyncio.Queue[Event] = asyncio.Queue()
        self._clock = WorkClock()
        self._execution = execution(self._emit, self._clock)
        self._asking = ModelRequests(
            provider,
            history,
            ledger,
            purse,
            setting.patience,
            request=self._request,
            tokens=setting.tokens,
            before=self._before,
            squeeze=self._squeeze,
            why=lambda error: self._why(error, CALL_BROKEN_OFF),
            emit=self._emit,
            clock=self._clock,
        )
        self._purse = purse
        self._stall = LoopGuard()
        self._wrapped_up = False
        self._squeezed = 0
        self._notes: list[Told] = []
        self._answer: list[str] = []
        """The words of this step."""
        self._unfit = 0
        self._words: list[TextDelta | ReasoningDelta] = []
        self._task: asyncio.Task[Ended] | None = None
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
            await settled(self._task, watch)

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

    def answer(self, question_id: str, answer: Answer, by: str = "") -> None:
        """The answer to a permission question; a late one is ignored."""
        self._execution.gate.answer(question_id, answer, by)

    def reply(self, call_id: str, text: str) -> None:
        """The person's answer to the agent's own question; a late one is ignored."""
        self._execution.gate.reply(call_id, text)

    def changed(self) -> None:
        """The person changed something: what was read or done before may come out otherwise."""
        self._execution.forget()
        self._stall.changed()

    def try_now(self) -> None:
        """Skip the wait before another attempt, or give up a silent one."""
        self._asking.try_now()

    def _emit(self, event: Event) -> None:
        """Words that arrive together are one event, told when all that came is read."""
        if isinstance(event, TextDelta | ReasoningDelta):
            if self._words and type(self._words[0]) is not type(event):
                self._tell_words()
            if not self._words:
                asyncio.get_running_loop().call_soon(self._tell_words)
            self._words.append(event)
            return
        self._tell_words()
        self._happen(event)

    def _tell_words(self) -> None:
        if self._words:
            whole = "".join(word.text for word in self._words)
            event = replace(self._words[0], text=whole)
            self._words.clear()
            self._happen(event)

    def _happen(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self._answer.append(event.text)
        elif isinstance(event, StepEnded):
            self._usage += event.usage
        elif isinstance(event, HistoryBegun):
            self._stall.changed()  # what was shortened may be looked at again
            self._wrapped_up = False  # it is not in the new history
        self._record(event)
        self._queue.put_nowait(event)

    def _complete(self, task: asyncio.Task[Ended]) -> None:
        end = Ended(self._stopped_for) if task.cancelled() else task.result()
        self._emit(
            TurnComplete(
                end.reason, end.detail, self._step, self._usage, self._clock.seconds, end.cap
            )
        )

    async def _watch(self) -> None:
        limit = self._setting.limits.seconds
        while (left := limit - self._clock.seconds) > 0:  # noqa: ASYNC110 (the clock can pause)
            await asyncio.sleep(max(left, 0.05))
        self.stop("time_limit")

    async def _run(self, said: Sequence[Said]) -> Ended:
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
            self._emit(Notice("What this turn changed was not recorded, so it cannot be undone."))

    async def _work(self, said: Sequence[Said]) -> Ended:
        try:
            if said:
                if self._history.items:  # a conversation begins with the person's words
                    await self._tell()
                words = self._provider.user_items(said)
                self._begin(1)  # stored with the words, so that they count as said once they are
                await self._history.append(words)
            else:
                await self._asking.resume()
                self._begin(1)
            return await self._steps()
        except asyncio.CancelledError:
            limit = f"The turn reached its limit of {self._setting.limits.seconds:g} s."
            return Ended(self._stopped_for, limit if self._out_of_time else "")
        except OverBudget as error:
            reason = "token_limit" if error.unit == "tokens" else "money_limit"
            return Ended(reason, str(error), error.cap)
        except Exception as error:
            self._emit(describe_error(error))
            return Ended("error", str(error))

    def _begin(self, step: int) -> None:
        self._step = step
        self._answer.clear()
        self._emit(StepStarted(step))

    async def _steps(self) -> Ended:
        for step in range(1, self._setting.limits.steps + 1):
            if step > 1:
                self._begin(step)
            reply = await self._asking.reply(step)
            if reply.calls and (end := await self._act(reply)):
                return end
            if reply.stop == "refusal" or reply.stop == "content_filter":
                return Ended("refused", reply.detail or "The model declined to answer.")
            if reply.stop == "context_full":
                if not await self._squeeze():
                    text = "The conversation no longer fits the model's context."
                    return Ended("token_limit", text)
                await self._asking.resume()
                continue
            self._squeezed = 0
            cut = reply.stop == "end" and self._setting.generation.stop
            if (reply.calls and not cut) or reply.stop == "pause":
                continue
            if reply.stop == "max_tokens":
                return Ended("token_limit", "The answer reached the model's output limit.")
            if self._setting.steering and step < self._setting.limits.steps:
                continue
            wrong = await self._wrong()
            if not wrong:
                return Ended("done", reply.detail)
            if self._unfit == TRIES:
                return Ended("error", f"The answer does not fit the schema: {wrong}")
            self._unfit += 1
            self._notes.append(Told("misfit", ANSWER_MISFIT.format(wrong=wrong)))
        limit = self._setting.limits.steps
        used = "the one step" if limit == 1 else f"all {limit} steps"
        return Ended("step_limit", f"The agent used {used} of this turn.")

    async def _wrong(self) -> str:
        """Why the answer does not fit what was asked for; empty if it does."""
        schema = self._setting.generation.schema
        if schema is None:
            return ""
        self._tell_words()
        try:
            await asyncio.to_thread(parse_answer, "".join(self._answer), schema)
        except ValueError as error:
            return str(error)
        return ""

    @property
    def _model(self) -> str:
        return self._setting.started.model

    def _request(self) -> Request:
        setting, history = self._setting, self._history
        generation, first = setting.generation, self._step == 1
        return Request(
            self._model,
            history.items,
            history.system,
            history.tools,
            output_limit=generation.output_limit,
            facts=setting.facts,
            effort=generation.effort,
            temperature=generation.temperature,
            session=setting.started.session_id,
            top_p=generation.top_p,
            stop=generation.stop,
            choice=generation.choice if first or generation.choice == "none" else "auto",
            only=generation.only if first else "",
            schema=generation.schema,
            parallel=generation.parallel,
        )

    async def _before(self) -> None:
        """Ahead of each request: make room, take in the person's words, bring up to date."""
        await self._setting.room(self._emit)
        while self._setting.steering:
            message = self._setting.steering.popleft()
            self._emit(MessageTaken(message.message_id))
            self._emit(Steered(message.said))
            facts = self._setting.facts
            said = [readable(block, self._provider, facts) for block in message.said]
            await self._history.append(self._provider.user_items(said))
            self._stall.changed()
        if not self._wrapped_up and (text := self._wrap_up()):
            self._wrapped_up = True
            self._notes.append(Told("wrap_up", text))
        await self._tell()

    async def _squeeze(self) -> bool:
        """Make room because the provider says that there is none; False if that did not help."""
        self._squeezed += 1
        return self._squeezed <= SQUEEZES and await self._setting.room(self._emit, full=True)

    def _wrap_up(self) -> str:
        """What to tell a model whose turn is about to reach a limit; empty before."""
        limits = self._setting.limits
        if self._step == limits.steps > 1:
            return LAST_STEP
        out_of_time = self._clock.seconds > NEARLY * limits.seconds
        return NEARLY_OUT if out_of_time or self._purse.budget.nearly else ""

    async def _tell(self) -> None:
        """Bring the model up to date, in words appended to its history (H-6)."""
        for told in [*self._setting.news(), *self._notes]:
            self._emit(told)
            await self._history.append(self._provider.system_items(told.text, self._model))
        self._notes.clear()

    async def _act(self, reply: Reply) -> Ended | None:
        """Run the calls of a reply; every one gets its result, whatever happens (H-3, H-5).

        The reply is stored before its tools run: if the program dies meanwhile,
        the calls are found open and closed when the session is opened again.
        """
        if reply.stop != "tool_use":
            await self._leave(reply, CALL_NOT_RUN)
            return None
        if self._stall.warned and self._stall.repeats(reply.calls):
            await self._leave(reply, CALL_REPEATED)
            return _stalled(reply.calls)
        results: list[ToolResult | None] = [None] * len(reply.calls)
        try:
            await self._history.append(reply.items)
            parallel = self._setting.generation.parallel
            await self._execution.run(reply.calls, results, parallel=parallel)
        except BaseException as error:
            await self._results(reply.calls, results, self._why(error, CALL_FAILED))
            raise
        if None in results:  # what is done here is known to the transcript
            return Ended("handed_over")
        closed = await self._results(reply.calls, results, CALL_FAILED)
        effect = self._execution.effect
        made = zip(reply.calls, closed, strict=True)
        if self._stall.circles([Made(call, done, effect(call.name)) for call, done in made]):
            if self._stall.warned:
                return _stalled(reply.calls)
            self._stall.warned = True
            self._notes.append(Told("stall", LOOPING))
        return None

    async def _results(
        self, calls: Sequence[ToolCall], results: Sequence[ToolResult | None], why: str
    ) -> list[ToolResult]:
        """Store the answers to a reply's calls; of those without one, ``why``."""
        closed = [result or failed(call, why) for call, result in zip(calls, results, strict=True)]
        await self._history.append(self._provider.result_items(closed))
        return closed

    async def _leave(self, reply: Reply, why: str) -> None:
        """Answer the calls of a reply without running them."""
        await self._asking.close(reply, why)
        for call in reply.calls:
            self._emit(ToolFinished(call.id, why, is_error=True, seconds=0.0))

    @property
    def _out_of_time(self) -> bool:
        return self._stopped_for == "time_limit"

    def _why(self, error: BaseException, otherwise: str) -> str:
        if not isinstance(error, asyncio.CancelledError):
            return otherwise
        return CALL_OUT_OF_TIME if self._out_of_time else CALL_CANCELLED


def _stalled(calls: Sequence[ToolCall]) -> Ended:
    names = ", ".join(dict.fromkeys(call.name for call in calls))
    return Ended("stalled", f"The agent repeated itself ({names}) and nothing new came of it.")


async def settled(*futures: asyncio.Future[Any]) -> None:
    """Return when all are done, also if the caller is cancelled meanwhile, even twice."""
    cancelled: asyncio.CancelledError | None = None
    while left := [future for future in futures if not future.done()]:
        try:
            await asyncio.wait(left)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
