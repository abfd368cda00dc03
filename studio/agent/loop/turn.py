"""A turn: runs the agent's loop as a task, within its limits, and ends it once (L-2).

A stop, the time limit and a cancelled caller end the turn the same way: the task is
cancelled, open calls are closed (H-5), and ``TurnComplete`` is the last event.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine

from studio.agent.budget import OverBudget
from studio.agent.request_meter import OverRate
from studio.domain.aio import ended, settled
from studio.domain.events import CompletionReason, Notice, TurnComplete
from studio.providers.recording import RECORDER

from .agent_loop import AgentLoop, CallLoop
from .model_request import ModelRequests
from .turn_context import TurnEnd
from .user_messages import describe_error, describe_rate

log = logging.getLogger(__name__)


class Turn:
    """One turn. ``run()`` runs it; the other methods may be called meanwhile."""

    def __init__(self, loop: AgentLoop | CallLoop) -> None:
        self._loop = loop
        self._context = loop.context
        self._state = loop.state
        self._events = loop.events
        self.approvals = loop.tools.approvals
        self.requests = loop.requests
        """Those to the model; None where a turn has none."""
        self._task: asyncio.Task[TurnEnd] | None = None
        self._stopping = False

    async def run(self) -> None:
        """Run the turn; it records exactly one ``TurnComplete``, as its last event."""
        self._task = asyncio.create_task(self._run())
        # A callback, because a task that is cancelled at once never runs its code.
        self._task.add_done_callback(self._complete)
        for event in (self._context.started, *self._context.opened):
            self._events.emit(event)
        watches: list[asyncio.Task[None]] = []

        def watch(what: Coroutine[None, None, None]) -> None:
            watches.append(asyncio.create_task(what))

        # Most turns end before there is anything to watch, and a task for it costs each of them.
        loop, seconds = asyncio.get_running_loop(), self._state.limits.seconds
        late = loop.call_later(max(seconds, 0.0), lambda: watch(self._watch_time()))
        if (requests := self.requests) is not None:
            requests.when_slow = lambda: watch(self._watch_requests(requests))
        try:
            await ended(self._task)
        finally:
            late.cancel()
            for one in watches:
                one.cancel()
            self.stop()
            await settled(self._task, *watches)

    def stop(self, reason: CompletionReason = "cancelled") -> None:
        """End the turn; everything it started ends within a second (L-11)."""
        if self._task is not None and not self._task.done() and not self._stopping:
            self._stopping = True
            self._state.stop_reason = reason
            self._task.cancel()

    def stop_calls(self, call_id: str = "") -> bool:
        """End the tools that work now, or one of them; see ``WorkingCalls.stop``."""
        return self._loop.tools.working.stop(call_id)

    def files_changed(self) -> None:
        """Note that the person changed files: earlier reads and calls may have other results."""
        self._loop.tools.reads.forget()
        for guard in self._loop.guards:
            guard.files_changed()

    async def _run(self) -> TurnEnd:
        recorder = self._loop.recorder
        RECORDER.set(recorder.take if recorder is not None else None)
        try:
            end = await self._loop.run()
            if (history := self._context.history).awaits_disk:
                await history.flush()  # or a turn without its record would be done
            return end
        except asyncio.CancelledError:
            limit = f"The turn reached its limit of {self._state.limits.seconds:g} s."
            return TurnEnd(self._state.stop_reason, limit if self._state.out_of_time else "")
        except OverBudget as error:
            reason = "token_limit" if error.unit == "tokens" else "money_limit"
            return TurnEnd(reason, str(error), error.cap, limit=error.limit)
        except OverRate as error:
            why = describe_rate(error)
            return TurnEnd("request_limit", why, "hour", error.retry_after, error.limit)
        except Exception as error:
            self._events.emit(describe_error(error))
            return TurnEnd("error", str(error))
        finally:
            for question in self._state.asked.values():
                question.cancel()
            await self._close()

    async def _close(self) -> None:
        """Finish the turn, also a stopped one; a second stop does not wait for this."""
        try:
            for event in await asyncio.shield(asyncio.ensure_future(self._context.close())):
                self._events.emit(event)
        except Exception:
            log.exception("the end of a turn failed")
            self._events.emit(
                Notice("What this turn changed was not recorded, so it cannot be undone.")
            )

    def _complete(self, task: asyncio.Task[TurnEnd]) -> None:
        end = TurnEnd(self._state.stop_reason) if task.cancelled() else task.result()
        state = self._state
        self._events.emit(
            TurnComplete(
                end.reason,
                end.detail,
                state.step,
                state.usage,
                state.clock.seconds,
                end.cap,
                end.retry_after,
                self._loop.dollars,
                end.limit,
            )
        )

    async def _watch_time(self) -> None:
        state, clock = self._state, self._state.clock
        while True:
            if (left := state.limits.seconds - clock.seconds) > 0:
                await asyncio.sleep(max(left, 0.05))  # the clock can pause
            elif asked := state.asked.get("seconds"):  # its answer may give more
                clock.pause()
                await asyncio.wait([asked])
                clock.resume()
            else:
                break
        self.stop("time_limit")

    async def _watch_requests(self, requests: ModelRequests) -> None:
        async for silent in requests.watch():
            self._events.emit(silent)
