"""Step work: does one try of a step in a session of its own, and tells how it ended.

A try that the program's end broke off goes on in its session, from its last stored message (W-17).
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from studio.agent.budget import Budget
from studio.agent.delegation.report import answer_of
from studio.agent.engine import Engine
from studio.agent.loop.structured_output import parse_answer
from studio.agent.loop.turn_context import FinishedCall, Guard, TurnEnd, TurnState
from studio.agent.loop.user_messages import describe_end
from studio.agent.permission.exfiltration_guard import ExfiltrationGuard
from studio.agent.permission.policy import Policy
from studio.agent.session.event_channel import EventEnvelope
from studio.agent.session.session import Session
from studio.agent.session.turn_options import ParentTurn
from studio.agent.usage_costs import total
from studio.domain.agents import Limits, longer
from studio.domain.blocks import ToolBlock
from studio.domain.errors import RETRYABLE
from studio.domain.events import (
    CompletionReason,
    Event,
    Exposed,
    Failed,
    ToolFinished,
    ToolOutput,
    TurnComplete,
    TurnStarted,
)
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.messages import Text, ToolCall
from studio.domain.models import Generation
from studio.domain.permissions import Rule
from studio.domain.run_events import CapReached, Fault, PausedAt, RunCap, RunQuestion, StepFinished
from studio.domain.runs import Run
from studio.domain.tools import RUN
from studio.domain.transcript import Transcript
from studio.domain.workflows import Step, Workflow
from studio.processes.shell_command import last_states
from studio.tools.sdk.result import NO_OUTPUT

from .step_sessions import StepSessions

FAULTS: dict[CompletionReason, Fault] = {
    "step_limit": "limit",
    "token_limit": "limit",
    "money_limit": "limit",
    "stalled": "limit",
    "time_limit": "timeout",
}
"""How ends of a turn are named as the fault of a step; every other one is an error."""


@dataclass(frozen=True, slots=True)
class Held:
    """A step that cannot go on until a cap is raised; its session stays as it is.

    ``limit`` is how much that allows, of ``unit``.
    """

    cap: RunCap
    reason: str
    limit: float = 0.0
    unit: Literal["", "tokens", "dollars"] = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A step whose own run is paused (``paused`` says why), or waits for the person.

    ``cap`` is the one that was reached, if that is why, ``reached`` how a step of it did.
    """

    paused: str | None = None
    cap: PausedAt = ""
    reached: CapReached | None = None


@dataclass(frozen=True, slots=True)
class Interrupted:
    """A step whose turn was stopped from outside, and has not ended by itself."""


PAUSED = "The step is paused."
YOU_STOPPED = "You stopped it."
LEFT_OUT = "You left it out."
Outcome: TypeAlias = StepFinished | Held | Waiting | Interrupted | RunQuestion
"""How the work on a step ended, or why it goes no further."""
COMMAND_LIMITS = Limits(1, 3600.0, commands_free=True)
"""The time of a command counts only where its step has a timeout."""


class StepWork:
    """Does the tries of one run's steps."""

    def __init__(
        self,
        engine: Engine,
        workflow: Workflow,
        run: Run,
        sessions: StepSessions,
        above: tuple[StepWork, Step] | None = None,
        caller: ParentTurn | None = None,
    ) -> None:
        """``above`` is the work of the run that this one is a step of, with the step.

        ``caller`` is the turn whose call the run is: its steps may do no more.
        """
        self._engine = engine
        self._workflow = workflow
        self._run = run
        self.sessions = sessions
        self._above = above
        self.caller: ParentTurn | None = above[0].caller if above else caller

    def paused(self, step: str) -> bool:
        """Whether a step has to end between two requests, to go on later."""
        return self._run.paused is not None or step in self._run.held

    async def run(
        self,
        step: Step,
        item: str,
        session: Session,
        said: str,
        budget: Budget,
        exposed: Iterable[Exposed],
        before: Sequence[Event] = (),
    ) -> Outcome:
        """Run a turn of a step's session to its end; ``said`` is empty where it goes on.

        ``exposed`` is what its prompt carries on from other steps (T-9), ``before`` what the
        session has stored already.
        """
        events: list[Event] = [*before]
        began = time.monotonic()
        gate = _Gate(lambda: self.paused(step.id))
        turn = session.turn(
            [Text(said)] if said else (),
            within=self._within(),
            rules=self.rules(step),
            limits=await self._limits(step, session),
            parent=self._parent(budget, exposed, gate),
            generation=Generation(schema=step.outputs),
            least="background",
            resumable=True,
        )
        end = await _carried_out(turn, events)
        await session.flush()  # the end of a step is no truth without what it did
        if gate.closed:
            return Waiting()
        if end is None:
            return Interrupted()
        return await self._outcome(step, item, session, end, events, time.monotonic() - began)

    async def command(
        self,
        step: Step,
        item: str,
        session: Session,
        line: str,
        budget: Budget,
        exposed: Iterable[Exposed],
        *,
        again: bool = False,
    ) -> Outcome:
        """Run a step's command to its end, or tell of one that has ended already.

        ``again``: also one that began before.
        """
        calls = session.transcript.last_calls
        made = calls[-1] if calls and calls[-1].finished else None
        events: list[Event] = []
        if made is not None and made.state != "cancelled":
            events += await self._engine.store.events(session.info.id)
            return _of_command(step, item, session, made, events)
        if made is not None and made.started and not again:
            return Interrupted()
        arguments: JsonObject = {"command": line}
        if seconds := seconds_of(step):
            arguments["time_limit"] = seconds
        call = ToolCall(uuid.uuid4().hex, RUN, arguments)
        turn = session.turn(
            (),
            within=self._within(),
            rules=self.rules(step),
            limits=COMMAND_LIMITS,
            parent=self._parent(budget, exposed),
            call=call,
        )
        end, made = await _carried_out(turn, events), session.transcript.tool(call.id)
        await session.flush()
        if end is None or end.reason == "cancelled":
            return Interrupted()
        if made is None:  # it could not begin
            reason = describe_end(end.reason, end.detail)
            return StepFinished(step.id, item, "failed", reason, fault="error")
        return _of_command(step, item, session, made, events)

    async def ended(
        self, step: Step, item: str, session: Session, events: Sequence[Event]
    ) -> Outcome | None:
        """How the stored turn of a step ended; None if it has to go on."""
        ends = [one for one in events if isinstance(one, TurnStarted | TurnComplete)]
        last = ends[-1] if ends else None
        if not isinstance(last, TurnComplete) or last.reason != "done":
            return None
        return await self._outcome(step, item, session, last, events, last.seconds)

    async def spent(self, session_id: str) -> tuple[int, float | None]:
        """The tokens and dollars of a session; no dollars where a price is not known."""
        used = total((await self._engine.usage_costs.spent("session", session_id)).values())
        return used.usage.total, None if used.unpriced else used.cost

    async def _outcome(
        self,
        step: Step,
        item: str,
        session: Session,
        end: TurnComplete,
        events: Sequence[Event],
        seconds: float,
    ) -> Outcome:
        if end.reason == "cancelled":
            return Interrupted()
        words = describe_end(end.reason, end.detail)
        if end.cap and end.cap != "turn":
            unit = "dollars" if end.reason == "money_limit" else "tokens"
            return Held(end.cap, words, end.limit, unit)
        tokens, dollars = await self.spent(session.info.id)
        exposed = _exposed(session)
        finish = StepFinished(
            *(step.id, item),
            text=answer_of(events, one_reply=step.outputs is not None),
            tokens=tokens,
            dollars=dollars,
            seconds=seconds,
            exposed=exposed,
        )
        if end.reason != "done":
            fault = FAULTS.get(end.reason, "error")
            failed = next((one for one in reversed(events) if isinstance(one, Failed)), None)
            if end.reason == "error" and failed is None:
                fault = "invalid"
            elif end.reason == "error" and failed and failed.fault in RETRYABLE:
                fault = "provider"
            return replace(finish, state="failed", reason=words, fault=fault)
        if step.outputs is None:
            return finish
        try:
            outputs: Json = await asyncio.to_thread(parse_answer, finish.text, step.outputs)
        except ValueError as error:
            reason = f"The answer does not fit the outputs: {error}"
            return replace(finish, state="failed", reason=reason, fault="invalid")
        return replace(finish, outputs=outputs)

    def _parent(self, budget: Budget, exposed: Iterable[Exposed], *guards: Guard) -> ParentTurn:
        """What the turn of a step inherits from the run, and from the turn that began it."""
        caller, transcript = self.caller, Transcript(exposed)
        above = caller.guard if caller is not None else None
        guard = ExfiltrationGuard(transcript, above=above)
        if caller is None:
            return ParentTurn(budget, None, guard, _unheard, guards=guards)
        return replace(caller, budget=budget, guard=guard, record=_unheard, guards=guards)

    def _within(self) -> Policy | None:
        """The most that a step may do: for a client no more than clients may (S-4)."""
        started = self._run.started
        for_client = started is not None and started.trigger == "client"
        return self._engine.services.client_policy() if for_client else None

    def rules(self, step: Step) -> list[Rule]:
        """The rules of the files, which can only forbid, or ask for a question (W-21).

        And what the runs above forbid, and what the person allowed for the whole run (W-22).
        """
        rules = (*self._workflow.permissions, *step.permissions)
        above = self._above[0].rules(self._above[1]) if self._above else self._run.allowed
        return [*(rule for rule in rules if rule.verdict != "allow"), *above]

    async def _limits(self, step: Step, session: Session) -> Limits | None:
        seconds = seconds_of(step)
        if not seconds:
            return None
        agent = await self.sessions.agent(session.info.agent)
        limits = self._engine.limits(agent, longer(agent.mode, "background"))
        return replace(limits, seconds=seconds, extensible=False)


def seconds_of(step: Step) -> float:
    """What a try may take, 0 for any time: its timeout, or the minutes of its budget."""
    return min(filter(None, (step.timeout, step.budget.minutes * 60)), default=0.0)


class _Gate(Guard):
    """Ends a turn after a reply and its calls, where its step is paused (W-19)."""

    def __init__(self, paused: Callable[[], bool]) -> None:
        self._paused = paused
        self.closed = False

    def after_tools(self, calls: Sequence[FinishedCall], state: TurnState) -> TurnEnd | None:
        self.closed = self._paused()
        return TurnEnd("cancelled", PAUSED) if self.closed else None


def _unheard(event: Event) -> None:
    """The run tells what its steps were exposed to with their ends."""


def _exposed(session: Session) -> tuple[Exposed, ...]:
    return tuple(Exposed(*one) for one in session.transcript.exposed.items())


async def _carried_out(
    turn: AsyncGenerator[EventEnvelope, None], events: list[Event]
) -> TurnComplete | None:
    """Run a turn to its end, which it returns, and collect its events."""
    end: TurnComplete | None = None
    async with aclosing(turn) as envelopes:
        async for envelope in envelopes:
            events.append(envelope.event)
            if isinstance(envelope.event, TurnComplete):
                end = envelope.event
    return end


def _of_command(
    step: Step, item: str, session: Session, made: ToolBlock, events: Iterable[Event]
) -> StepFinished:
    """What came of a command: what it printed, and its exit code."""
    printed, code = "", None
    for event in events:
        if isinstance(event, ToolOutput) and event.call_id == made.call_id:
            printed += event.text
        elif isinstance(event, ToolFinished) and event.call_id == made.call_id:
            code = event.code
    if not printed and not made.output.startswith(NO_OUTPUT):
        printed = made.output  # what is masked is told with the result alone
    finish = StepFinished(
        *(step.id, item),
        text=last_states(printed).rstrip("\n"),
        outputs={"exit_code": code},
        seconds=made.seconds,
        exposed=_exposed(session),
    )
    if made.state == "done" and code == 0:
        return finish
    if code is not None:
        return replace(
            finish, state="failed", reason=f"It ended with {made.summary}.", fault="error"
        )
    if made.started and made.summary.startswith("stopped after"):
        return replace(finish, state="failed", reason=f"It was {made.summary}.", fault="timeout")
    return replace(finish, state="failed", reason=made.output.strip(), fault="error")


def failed_start(step: Step, item: str, error: Exception) -> StepFinished:
    """The end of a try that could not begin."""
    return StepFinished(step.id, item, "failed", str(error), fault="error")
