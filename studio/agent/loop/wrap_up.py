"""Wrap-up: what happens ahead of a limit of a turn.

The person is asked in time whether the turn may go on beyond it (C-1), and the model is told to
finish where it may not.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from studio.agent.budget import NEARLY, OF_CAP, Account, Budget, OverBudget, Unit, amount_text
from studio.agent.prompts import LAST_STEP, NEARLY_OUT, UNANSWERED
from studio.domain.agents import Limits
from studio.domain.events import Event, HistoryBegun, Told
from studio.domain.questions import AskedQuestion, Choice
from studio.domain.records import dataclass

from .turn_context import Guard, TurnState

ASK_SHARE = 0.75
"""Of a limit, or of what a yes added to it, from which on the person is asked. The agent works on
meanwhile."""
NO = "No, come to an end"
YES_OR_NO = "Please answer yes or no."
_YES, _NO = r"(?:y|yes|ok|okay|go on|ja)\b", r"(?:n|no|stop|nein)\b"
"""The answers, also as a person types them."""
Ask: TypeAlias = Callable[[AskedQuestion], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class _Bound:
    """A limit that was partly used; ``share`` is of its last portion, which a yes adds.

    ``due``: the turn may not go on without an answer.
    """

    name: str
    share: float
    due: bool
    words: Callable[[], tuple[str, str]]
    """The question to the person, and the answer that raises it."""
    extend: Callable[[], None]


class WrapUpGuard(Guard):
    """Asks the person for more ahead of a limit; tells the model once to finish where it has to.

    ``ask`` puts a question to the person beside the work and returns the answer; None where no
    limit can be raised.
    """

    def __init__(self, budget: Budget, ask: Ask | None) -> None:
        self._ask = ask
        self._budget = budget
        self._told = False
        self._first: Limits | None = None
        """The limits that the turn began with: each yes is for so much more."""
        self._refused: set[str] = set()
        """Limits about which the person was asked and that were not raised."""
        self._end_wanted = False
        """Whether the person said no. Where nobody is there the agent works on to the limit."""

    def on_event(self, event: Event) -> None:
        if isinstance(event, HistoryBegun):
            self._told = False  # the note is not in the new history

    async def before_request(self, state: TurnState) -> None:
        if self._ask is not None:
            for bound in [one for one in self._bounds(state) if one.share >= ASK_SHARE]:
                self._begin_asking(bound, state)
                if bound.due:
                    await self._answered(bound, state)
        if not self._told and (text := self._note(state)):
            self._told = True
            state.notes.append(Told("wrap_up", text))

    async def over_budget(self, error: OverBudget, state: TurnState) -> bool:
        """Ask now if one request alone is more than what is left."""
        name = f"{error.cap} {error.unit}"
        bound = next((one for one in self._bounds(state) if one.name == name), None)
        if self._ask is None or bound is None or name in self._refused:
            return False
        self._begin_asking(bound, state)
        await self._answered(bound, state)
        return name not in self._refused

    def _begin_asking(self, bound: _Bound, state: TurnState) -> None:
        if bound.name not in state.asked and bound.name not in self._refused:
            state.asked[bound.name] = asyncio.create_task(self._extend(bound, state))

    async def _answered(self, bound: _Bound, state: TurnState) -> None:
        """Wait for the answer about a limit, if it is open; that takes no time of the turn."""
        if question := state.asked.get(bound.name):
            state.clock.pause()
            try:
                await asyncio.shield(question)
            finally:
                state.clock.resume()

    async def _extend(self, bound: _Bound, state: TurnState) -> None:
        assert self._ask is not None
        self._refused.add(bound.name)  # unless the answer says otherwise
        try:
            asked, more = bound.words()
            choices = Choice(more), Choice(NO)
            answer = ""
            for text in (asked, f"{asked} {YES_OR_NO}"):
                answer = (await self._ask(AskedQuestion(text, choices))).strip()
                if answer in UNANSWERED or re.match(f"{_YES}|{_NO}", answer, re.I):
                    break
            if re.match(_YES, answer, re.I):
                bound.extend()
                self._refused.discard(bound.name)
            self._end_wanted |= bool(re.match(_NO, answer, re.I))
        finally:
            del state.asked[bound.name]

    def _note(self, state: TurnState) -> str:
        if state.step == state.limits.steps > 1:
            return LAST_STEP
        out_of_time = state.clock.seconds > NEARLY * state.limits.seconds
        return NEARLY_OUT if out_of_time or self._budget.nearly or self._end_wanted else ""

    def _bounds(self, state: TurnState) -> Iterator[_Bound]:
        limits, step, seconds = state.limits, state.step, state.clock.seconds
        self._first = first = self._first or limits

        def more_steps() -> None:
            state.limits = replace(state.limits, steps=state.limits.steps + first.steps)

        def more_seconds() -> None:
            state.limits = replace(state.limits, seconds=state.limits.seconds + first.seconds)

        if limits.steps > 1:
            yield _Bound(
                "steps",
                1 - (limits.steps - step) / first.steps,
                step >= limits.steps,
                lambda: (
                    f"The agent is at step {step} of {limits.steps} in this turn. May it go on?",
                    f"Yes, {first.steps} more steps",
                ),
                more_steps,
            )
        share = 1 - (limits.seconds - seconds) / first.seconds
        yield _Bound(
            "seconds",
            share,
            share > NEARLY,
            lambda: (
                f"The agent has worked {_span(seconds)} of {_span(limits.seconds)} in this turn. "
                "May it go on?",
                f"Yes, {_span(first.seconds)} more",
            ),
            more_seconds,
        )
        for account in self._budget.accounts:
            for unit, used in account.shares.items():
                yield _bound_of(account, unit, used)


def _bound_of(account: Account, unit: Unit, share: float) -> _Bound:
    caps, used = account.caps, account.used
    most, spent = (caps.tokens, used.tokens) if unit == "tokens" else (caps.dollars, used.dollars)

    def words() -> tuple[str, str]:
        limit = f"your limit of {amount_text(unit, most)} {OF_CAP[account.cap]}"
        return (
            f"The agent has used {amount_text(unit, spent)} of {limit}. May it go on?",
            f"Yes, {amount_text(unit, account.more(unit))} more",
        )

    if account.cap == "turn":
        share = 1 - (most - spent) / account.more(unit)
    return _Bound(
        f"{account.cap} {unit}",
        share,
        share > NEARLY,
        words,
        lambda: account.raise_cap(unit),
    )


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{math.floor(seconds / 60)} min"
