"""Step work: does one try of an agent's step in a session of its own, and tells how it ended.

A try that the program's end broke off goes on in its session, from its last stored message (W-17).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path

from studio.agent.budget import Budget
from studio.agent.engine import Engine
from studio.agent.loop.structured_output import parse_answer
from studio.agent.loop.user_messages import describe_end
from studio.agent.permission.exfiltration_guard import ExfiltrationGuard
from studio.agent.session.session import Session
from studio.agent.session.turn_builder import ParentTurn
from studio.agent.usage_costs import total
from studio.domain.agents import Limits, longer
from studio.domain.errors import ConfigurationError, StudioError
from studio.domain.events import (
    CompletionReason,
    Event,
    Exposed,
    Failed,
    StepStarted,
    TextDelta,
    ToolQueued,
    TurnComplete,
    TurnStarted,
)
from studio.domain.jsonvalue import Json
from studio.domain.messages import Text
from studio.domain.models import Generation
from studio.domain.permissions import Rule
from studio.domain.runs import Fault, RunCap, RunStarted, StepFinished
from studio.domain.sessions import Caller
from studio.domain.transcript import Transcript
from studio.domain.workflows import Step, Workflow

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
    """A step that cannot go on until a cap is raised; its session stays as it is."""

    cap: RunCap
    reason: str


@dataclass(frozen=True, slots=True)
class Interrupted:
    """A step whose turn was stopped from outside, and has not ended by itself."""


Outcome = StepFinished | Held | Interrupted


class StepWork:
    """Does the tries of one run's steps."""

    def __init__(self, engine: Engine, workflow: Workflow, started: RunStarted) -> None:
        self._engine = engine
        self._workflow = workflow
        self._started = started

    async def session(self, step: Step, item: str) -> Session:
        """A new session for a try; raises ConfigurationError for an unknown agent or model."""
        started, engine = self._started, self._engine
        if step.kind != "agent":
            raise ConfigurationError(f"Steps of the kind {step.kind} cannot be run yet.")
        folder = Path(started.folder)
        choice = await engine.choose(
            agent=step.target,
            provider="" if step.model else started.provider,
            model=step.model or started.model,
            folder=folder,
        )
        mode = started.permission_mode
        return await engine.sessions.create(
            folder=started.folder,
            agent=choice.agent,
            provider=choice.provider,
            model=choice.model,
            permission_mode=mode if mode in ("ask", "auto", "plan") else None,
            title=f"{started.name}, {step.label}",
            model_chosen=choice.model_named,
            held=True,
            caller=Caller("run", started.run_id, step.id),
        )

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
        end: TurnComplete | None = None
        began = time.monotonic()
        guard = ExfiltrationGuard(Transcript(exposed))
        parent = ParentTurn(budget, None, guard, lambda event: None)
        turn = session.turn(
            [Text(said)] if said else (),
            rules=self._rules(step),
            limits=await self._limits(step, session),
            parent=parent,
            generation=Generation(schema=step.outputs),
            least="background",
        )
        async with aclosing(turn) as envelopes:
            async for envelope in envelopes:
                events.append(envelope.event)
                if isinstance(envelope.event, TurnComplete):
                    end = envelope.event
        if end is None:
            return Interrupted()
        return await self._outcome(step, item, session, end, events, time.monotonic() - began)

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
            return Held(end.cap, words)
        tokens, dollars = await self.spent(session.info.id)
        exposed = tuple(Exposed(*one) for one in session.transcript.exposed.items())
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
            if end.reason == "error" and not any(isinstance(one, Failed) for one in events):
                fault = "invalid"
            return replace(finish, state="failed", reason=words, fault=fault)
        if step.outputs is None:
            return finish
        try:
            outputs: Json = await asyncio.to_thread(parse_answer, finish.text, step.outputs)
        except ValueError as error:
            reason = f"The answer does not fit the outputs: {error}"
            return replace(finish, state="failed", reason=reason, fault="invalid")
        return replace(finish, outputs=outputs)

    def _rules(self, step: Step) -> list[Rule]:
        """The rules of the file, which can only forbid, or ask for a question (W-21)."""
        rules = (*self._workflow.permissions, *step.permissions)
        return [rule for rule in rules if rule.verdict != "allow"]

    async def _limits(self, step: Step, session: Session) -> Limits | None:
        if not step.timeout:
            return None
        agent = await self._engine.agent(session.info.agent, Path(session.info.folder))
        limits = self._engine.limits(agent, longer(agent.mode, "background"))
        return replace(limits, seconds=step.timeout, extensible=False)


def answer_of(events: Iterable[Event], *, one_reply: bool) -> str:
    """What an agent said last, after its last call; with ``one_reply`` in its last reply alone."""
    parts: list[str] = []
    for event in events:
        match event:
            case ToolQueued():
                parts.clear()
            case TurnStarted() if event.said:
                parts.clear()
            case StepStarted() if one_reply:
                parts.clear()
            case TextDelta():
                parts.append(event.text)
            case _:
                pass
    return "".join(parts).strip()


def failed_start(step: Step, item: str, error: StudioError) -> StepFinished:
    """The end of a try that could not begin."""
    return StepFinished(step.id, item, "failed", str(error), fault="error")
