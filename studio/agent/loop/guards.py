"""Guards of a turn: checks that the loop calls between its steps.

``RepetitionGuard`` notices that an agent repeats itself and requests its answer (L-8),
``PlanGuard`` brings a plan to mind (C-3), ``AnswerGuard`` checks an answer against its schema.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from studio.agent.prompts import ANSWER_MISFIT, LOOPING, NOTHING_NEW, PLAN_OPEN, PLAN_STALE
from studio.agent.services import PLAN
from studio.domain.events import Event, HistoryBegun, PlanChanged, Steered, Told
from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import ToolCall
from studio.domain.plans import Plan
from studio.domain.transcript import Transcript
from studio.providers.base import Reply

from .findings import Findings, call_key, digest, fruitless
from .structured_output import MAX_CORRECTIONS, parse_answer
from .turn_context import FinishedCall, Guard, TurnEnd, TurnState

STALE_STEPS = 10
"""Steps without a change of the plan after which the model is reminded of it."""
MAX_STEPS_WITHOUT_NEWS = 3
"""Consecutive steps without a new result after which an agent is stalled."""


class RepetitionGuard(Guard):
    """Compares each step of a turn, its calls and their results, with the steps before it.

    A step is circular if each of its calls had the same result in an earlier step and
    nothing but that call has changed anything in between. The third step in a row that
    brings nothing new (see ``Findings``) is circular too, whatever changed. The first empty
    or failed answer is new, but it counts once the next step has the same: three searches
    for different words that find nothing are three.

    ``changes`` counts the changes that were seen in the folder's files; None where nobody
    looks, and then a command that succeeds counts as one.
    """

    def __init__(self, changes: Callable[[], int | None] = lambda: None) -> None:
        self.warned = False
        """Whether the final answer was requested; it is requested once."""
        self._last: dict[str, tuple[int, str]] = {}
        self._findings = Findings()
        self._changes = 0
        self._own: dict[str, int] = {}
        self._folder_changes = changes
        self._changes_before = changes()
        self._steps_without_news = 0
        self._fruitless: set[str] = set()
        """The answers in the last step."""

    def on_event(self, event: Event) -> None:
        if isinstance(event, HistoryBegun | Steered):  # it may need to read again
            self.changed()

    def files_changed(self) -> None:
        self.changed()

    def before_tools(self, calls: Sequence[ToolCall]) -> TurnEnd | None:
        calls = [call for call in calls if call.name != PLAN]  # to show a plan is no stall
        return _stalled(calls) if calls and self.warned and self.repeats(calls) else None

    def after_tools(self, calls: Sequence[FinishedCall], state: TurnState) -> TurnEnd | None:
        calls = [finished for finished in calls if finished.call.name != PLAN]
        if not calls or not (told := self.circles(calls)):
            return None
        if self.warned:
            return _stalled([finished.call for finished in calls])
        self.warned = True
        state.notes.append(Told("stall", told))
        return None

    def changed(self) -> None:
        """Note a change from outside: by the person, or of the history."""
        self._changes += 1
        self._steps_without_news = 0
        self._fruitless.clear()
        self._findings.forget()

    def repeats(self, calls: Sequence[ToolCall]) -> bool:
        """Whether all these new calls were made before and nothing has changed since."""
        keys = [call_key(call) for call in calls]
        return all(key in self._last and self._last[key][0] == self._others(key) for key in keys)

    def circles(self, step: Sequence[FinishedCall]) -> str:
        """Add a finished step; what to tell the model if it is circular, else nothing."""
        for made in step:
            if made.effect in ("act", "note") or (
                made.effect == "draft" and not made.result.is_error
            ):
                key = call_key(made.call)
                self._changes += 1
                self._own[key] = self._own.get(key, 0) + 1
        outcomes = [(call_key(made.call), digest(made.result)) for made in step]
        again = all(self._last.get(key) == (self._others(key), found) for key, found in outcomes)
        self._count(step)
        for key, found in outcomes:
            self._last[key] = (self._others(key), found)
        if again:
            return LOOPING
        return NOTHING_NEW if self._steps_without_news >= MAX_STEPS_WITHOUT_NEWS else ""

    def _count(self, step: Sequence[FinishedCall]) -> None:
        """Count the step if it brings nothing new, and the one before if it said the same."""
        before, self._changes_before = self._changes_before, self._folder_changes()
        moved = None if before is None else before != self._changes_before
        said, self._fruitless = self._fruitless, {fruitless(made) for made in step}
        if self._findings.new_in(step, moved):
            self._steps_without_news = 0
        else:
            same = "" not in said and said == self._fruitless
            self._steps_without_news = max(self._steps_without_news, int(same)) + 1

    def _others(self, key: str) -> int:
        """The number of changes by anything but this call."""
        return self._changes - self._own.get(key, 0)


class PlanGuard(Guard):
    """Reminds the model of its plan: when it has not changed for long, and once at the end.

    At the end only in a turn that worked on something, and while another step is left.
    """

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._unchanged = 0
        """Steps with calls since the plan was shown, or the model was reminded."""
        self._worked = self._reminded = False

    def on_event(self, event: Event) -> None:
        if isinstance(event, PlanChanged):
            self._unchanged = 0

    def after_tools(self, calls: Sequence[FinishedCall], state: TurnState) -> TurnEnd | None:
        self._worked = True
        if PLAN not in [made.call.name for made in calls]:
            self._unchanged += 1
        if self._unchanged >= STALE_STEPS and self._open:
            self._unchanged = 0
            state.notes.append(Told("plan_open", PLAN_STALE.format(steps=STALE_STEPS)))
        return None

    async def after_reply(self, reply: Reply, state: TurnState) -> TurnEnd | None:
        lines = self._open
        if lines and self._worked and not self._reminded and state.step < state.limits.steps:
            self._reminded = True
            state.notes.append(Told("plan_open", PLAN_OPEN.format(lines="\n".join(lines))))
        return None

    @property
    def _open(self) -> list[str]:
        """The open items of the plan, a line each."""
        plan = self._transcript.plan
        return [] if plan is None else Plan(plan.open).lines


class AnswerGuard(Guard):
    """Requests an answer again that does not fit its JSON schema; then ends the turn."""

    def __init__(self, schema: JsonObject) -> None:
        self._schema = schema
        self._tries = 0

    async def after_reply(self, reply: Reply, state: TurnState) -> TurnEnd | None:
        try:
            await asyncio.to_thread(parse_answer, "".join(state.answer), self._schema)
        except ValueError as misfit:
            if self._tries == MAX_CORRECTIONS:
                return TurnEnd("error", f"The answer does not fit the schema: {misfit}")
            self._tries += 1
            state.notes.append(Told("misfit", ANSWER_MISFIT.format(wrong=misfit)))
        return None


def _stalled(calls: Sequence[ToolCall]) -> TurnEnd:
    names = ", ".join(dict.fromkeys(call.name for call in calls))
    return TurnEnd("stalled", f"The agent went round in circles ({names}): nothing new came of it.")


class NewsGuard(Guard):
    """Tells the model that children in the background have ended (W-38)."""

    def __init__(self, news: Callable[[], Sequence[str]]) -> None:
        self._news = news

    async def before_request(self, state: TurnState) -> None:
        if told := self._news():
            state.notes.append(Told("child", "\n".join(told)))
