"""The agent loop: requests a reply, runs its tools, and repeats until the model is done (L-1).

``run`` takes steps; a step requests a reply and runs its calls. The guards
are called before each request, before and after tools, and after the answer.
The loop of one call asks no model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

from studio.agent.budget import OverBudget
from studio.agent.prompts import CALL_FAILED, CALL_NOT_RUN, CALL_REPEATED
from studio.domain.events import (
    FIRST_TOPICS,
    MessageTaken,
    Steered,
    StepStarted,
    Told,
    ToolFinished,
)
from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Message, ToolCall, ToolResult
from studio.providers.base import Reply
from studio.storage.exchanges import ExchangeRecorder

from .model_request import ContextTooLong, ModelRequests
from .tool_runner import ToolRunner
from .turn_context import (
    FinishedCall,
    Guard,
    TurnContext,
    TurnEnd,
    TurnEvents,
    TurnFrame,
    TurnState,
)

MAX_COMPACTIONS = 2
"""How often in a row the history is compacted because a provider says that it is too long."""

MAX_PIECES = 8
"""Requests that an answer may take whose pieces a cap shortens."""


class AgentLoop:
    """One run of the loop; ``events`` receives what happens."""

    def __init__(
        self,
        context: TurnContext,
        state: TurnState,
        events: TurnEvents,
        requests: ModelRequests,
        tools: ToolRunner,
        guards: Sequence[Guard],
    ) -> None:
        self.context = context
        self.state = state
        self.events = events
        self.requests = requests
        self.tools = tools
        self.guards = guards
        self._history = context.history
        self._emit = events.emit
        self._compactions = 0

    @property
    def recorder(self) -> ExchangeRecorder | None:
        """Keeps what is exchanged with the provider; None where nobody wants that."""
        return self.context.recorder

    @property
    def dollars(self) -> float | None:
        """What the requests cost; None if the price of one is not known."""
        return self.context.access.meter.dollars

    async def run(self) -> TurnEnd:
        """Take steps until the turn ends. With nothing said it answers the last message again."""
        if end := await self._begin():
            return end
        while not (end := await self._step()):
            if self.state.step >= self.state.limits.steps:
                break
            self._start_step(self.state.step + 1)
        if end is not None:
            return end
        steps = self.state.limits.steps
        used = "the one step" if steps == 1 else f"all {steps} steps"
        return TurnEnd("step_limit", f"The agent used {used} of this turn.")

    async def _step(self) -> TurnEnd | None:
        """One request and the calls of its reply; None if another step has to follow."""
        reply = await self._whole_reply()
        if reply.calls and (end := await self._run_tools(reply)):
            return end
        if reply.stop in ("refusal", "content_filter"):
            return TurnEnd("refused", reply.detail or "The model declined to answer.")
        if reply.stop == "context_full":
            if await self._compact():
                return None
            return TurnEnd("token_limit", "The conversation no longer fits the model's context.")
        self._compactions = 0
        cut_short = reply.stop == "end" and self.context.generation.stop
        if (reply.calls and not cut_short) or reply.stop == "pause":
            return None
        if reply.stop == "max_tokens":
            return TurnEnd("token_limit", "The answer reached the model's output limit.")
        if self.context.steering and self.state.step < self.state.limits.steps:
            return None
        self.events.flush()
        for guard in self.guards:
            if end := await guard.after_reply(reply, self.state):
                return end
        return None if self.state.notes else TurnEnd("done", reply.detail)

    async def _whole_reply(self) -> Reply:
        """The reply of this step; what a cap cut is followed by more while there is room (W-20)."""
        reply = await self._request()
        for _ in range(MAX_PIECES - 1):
            if reply.calls or not self.requests.cut:
                break
            await self._resume()
            reply = await self._request()
        return reply

    async def _request(self) -> Reply:
        """Request the reply of this step, with as many attempts as needed."""
        while True:
            await self._before_request()
            tokens = await self.context.compactor.bounds()
            attempt = self.requests.attempt(self.state.step, tokens)
            try:
                async with aclosing(attempt) as received:
                    async for item in received:
                        if isinstance(item, Reply):
                            return item
                        self._emit(item)
            except OverBudget as error:
                if not any([await guard.over_budget(error, self.state) for guard in self.guards]):
                    raise
            except ContextTooLong as too_long:
                if not await self._compact():
                    raise too_long.error from too_long

    async def _run_tools(self, reply: Reply) -> TurnEnd | None:
        """Run the calls of a reply. Each call gets a result in every case (H-3, H-5).

        The reply is stored before its tools run. If the program is killed meanwhile, the
        open calls are closed when the session is opened again.
        """
        if reply.stop != "tool_use":
            return await self._refuse_calls(reply, CALL_NOT_RUN)
        calls = self.tools.understood(reply.calls, self._history.tools)
        for guard in self.guards:
            if end := guard.before_tools(calls):
                await self._refuse_calls(reply, CALL_REPEATED)
                return end
        return await self._make(calls, reply.calls, [None] * len(calls), reply.items)

    async def _make(
        self,
        calls: Sequence[ToolCall],
        named: Sequence[ToolCall],
        results: list[ToolResult | None],
        items: Sequence[JsonObject] = (),
    ) -> TurnEnd | None:
        """Make the calls that have no result, once ``items`` with all of them are stored.

        ``named`` are the calls as the model made them.
        """
        try:
            await self._history.append(items)
            parallel = self.context.generation.parallel
            await self.tools.run(calls, results, parallel=parallel)
        except BaseException as error:
            stopped = isinstance(error, asyncio.CancelledError) and not self.state.out_of_time
            if not (stopped and self.context.resumable):
                why = self.state.reason_for_calls(error, CALL_FAILED)
                await self._history.add_results(named, results, why)
            raise
        if None in results:  # the client runs these; the others have results in the transcript
            return TurnEnd("handed_over")
        whole = await self._history.add_results(named, results, CALL_FAILED)
        finished = [
            FinishedCall(call, result, *self.tools.nature(call.name))
            for call, result in zip(calls, whole, strict=True)
        ]
        ends = [guard.after_tools(finished, self.state) for guard in self.guards]
        return next(filter(None, ends), None)

    # The parts of a step

    async def _begin(self) -> TurnEnd | None:
        started = self.context.started
        if self._history.unmade and (end := await self._make_unmade()):
            return end
        if not started.said:
            await self._resume()
            self._start_step(1)
            return None
        notes = await self._emit_notes()
        self._start_step(1)
        # A conversation begins with the person's message, where it works being a part of it.
        first = notes if self._history.items else [n for n in notes if n.topic in FIRST_TOPICS]
        rest = [note for note in notes if note not in first]
        await self._history.hear([*first, started, *rest])
        if self.context.opening:
            await self._call_first(self.context.opening)
        return None

    async def _make_unmade(self) -> TurnEnd | None:
        """Make the calls that the turn before was stopped before, beside those that it made."""
        named, made = zip(*self._history.unmade, strict=True)
        self._history.unmade = []
        calls = self.tools.understood(named, self._history.tools)
        return await self._make(calls, named, list(made))

    async def _call_first(self, calls: Sequence[ToolCall]) -> None:
        """Make calls that no reply made, each with permission, and let the model see them.

        They count as a step, so that a rebuilt history has them as a message of their own.
        """
        access, results = self.context.access, list[ToolResult | None]([None] * len(calls))
        try:
            await self.tools.run(calls, results)
        finally:
            made = [(c, r) for c, r in zip(calls, results, strict=True) if r is not None]
            if made:
                asked = Message("assistant", tuple(call for call, _ in made))
                answered = Message("user", tuple(result for _, result in made))
                items = access.provider.rebuild([asked, answered], access.facts)
                await self._history.append(items)
        self._start_step(2)

    def _start_step(self, step: int) -> None:
        self.state.step = step
        self.state.answer.clear()
        self._emit(StepStarted(step))

    async def _before_request(self) -> None:
        """Compact a nearly full history, add steering messages, and send notes to the model."""
        await self.context.compactor.fit(self.context.access, self._emit)
        while self.context.steering:
            message = self.context.steering.popleft()
            steered = Steered(message.said)
            self._emit(MessageTaken(message.message_id))
            self._emit(steered)
            await self._history.hear([steered])
        for guard in self.guards:
            await guard.before_request(self.state)
        await self._history.hear(await self._emit_notes())

    async def _emit_notes(self) -> list[Told]:
        """The notes for the next request."""
        notes = [*await self.context.updates(), *self.state.notes]
        for told in notes:
            self._emit(told)
        self.state.notes.clear()
        return notes

    async def _compact(self) -> bool:
        """Shorten a history that the provider refused as too long; False if that did not help."""
        self._compactions += 1
        if self._compactions > MAX_COMPACTIONS:
            return False
        if not await self.context.compactor.fit(self.context.access, self._emit, full=True):
            return False
        await self._resume()
        return True

    async def _resume(self) -> None:
        for told in await self._history.resume():
            self._emit(told)

    async def _refuse_calls(self, reply: Reply, why: str) -> None:
        """Give each call of a reply the result ``why`` without running it."""
        await self._history.add_unrun(reply, why)
        for call in reply.calls:
            self._emit(ToolFinished(call.id, why, is_error=True, seconds=0.0))


class CallLoop:
    """Makes one call that no model made, such as the command of a workflow's step.

    It runs as every call does: with permission, in the sandbox, recorded in the session.
    """

    def __init__(
        self,
        context: TurnFrame,
        state: TurnState,
        events: TurnEvents,
        tools: ToolRunner,
        call: ToolCall,
    ) -> None:
        self.context = context
        self.state = state
        self.events = events
        self.tools = tools
        self.requests = self.recorder = None
        self.dollars = 0.0
        self.guards: tuple[Guard, ...] = ()
        self._call = call

    async def run(self) -> TurnEnd:
        """Make the call; its result is an event."""
        self.state.step = 1
        self.events.emit(StepStarted(1))
        results: list[ToolResult | None] = [None]
        await self.tools.run([self._call], results)
        return TurnEnd("done") if results[0] is not None else TurnEnd("error", CALL_FAILED)
