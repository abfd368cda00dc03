"""Guards of a turn: the wrap-up before a limit, and the check of an answer against its schema."""

from __future__ import annotations

import asyncio

from studio.agent.limits import NEARLY, Budget
from studio.domain.agents import Limits
from studio.domain.events import Event, HistoryBegun, Told
from studio.domain.jsonvalue import JsonObject
from studio.providers.base import Reply

from .prompts import ANSWER_MISFIT, LAST_STEP, NEARLY_OUT
from .structured_output import TRIES, parse_answer
from .turn_context import Guard, TurnEnd, TurnState


class WrapUpGuard(Guard):
    """Tells the model once to come to an end when the turn is about to reach a limit."""

    def __init__(self, limits: Limits, budget: Budget) -> None:
        self._limits = limits
        self._budget = budget
        self._told = False

    def on_event(self, event: Event) -> None:
        if isinstance(event, HistoryBegun):
            self._told = False  # the note is not in the new history

    def before_request(self, state: TurnState) -> None:
        if not self._told and (text := self._note(state)):
            self._told = True
            state.notes.append(Told("wrap_up", text))

    def _note(self, state: TurnState) -> str:
        if state.step == self._limits.steps > 1:
            return LAST_STEP
        out_of_time = state.clock.seconds > NEARLY * self._limits.seconds
        return NEARLY_OUT if out_of_time or self._budget.nearly else ""


class AnswerGuard(Guard):
    """Asks again for an answer that does not fit its JSON schema, and ends the turn at last."""

    def __init__(self, schema: JsonObject) -> None:
        self._schema = schema
        self._tries = 0

    async def after_reply(self, reply: Reply, state: TurnState) -> TurnEnd | None:
        try:
            await asyncio.to_thread(parse_answer, "".join(state.answer), self._schema)
        except ValueError as misfit:
            if self._tries == TRIES:
                return TurnEnd("error", f"The answer does not fit the schema: {misfit}")
            self._tries += 1
            state.notes.append(Told("misfit", ANSWER_MISFIT.format(wrong=misfit)))
        return None
