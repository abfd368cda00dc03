"""Run questions: what the steps of a run ask the person, and what becomes of it (W-22)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TypeAlias

from studio.agent.session.event_channel import EventEnvelope
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    Event,
    PermissionResolved,
    ReplyGiven,
    TurnComplete,
)
from studio.domain.jsonvalue import Json
from studio.domain.permissions import Rule
from studio.domain.run_events import RunQuestion, StepAnswered, StepAsked
from studio.domain.runs import Run, StepKey
from studio.domain.workflows import Step

from .expressions import as_words
from .items.item_work import ItemWork
from .run_recorder import RunRecorder
from .step_sessions import StepSessions
from .step_tasks import StepTasks

FOR_RUN = "your answer for this run"
"""Who answers what the person has answered for the whole run."""
Path: TypeAlias = tuple[str, ...]
"""Who asks: the run, the step, the agent."""
ABOUT_QUESTIONS = (
    *(AwaitingPermission, AwaitingReply, PermissionResolved, ReplyGiven),
    TurnComplete,
)
"""Events of a session with which it asks, or takes no answer any more."""


def session_question(
    key: StepKey, session_id: str, event: Event, path: Path
) -> StepAsked | StepAnswered | None:
    """What an event of a step's session says about a question; None if nothing."""
    match event:
        case AwaitingPermission():
            asked = event.question
            question = RunQuestion(
                *(asked.id, "permission", asked.title, asked.detail),
                session_id=session_id,
                path=path,
                rules=asked.always,
            )
            return StepAsked(*key, question)
        case AwaitingReply():
            question = RunQuestion(
                *(event.call_id, "reply", event.text, "", event.choices),
                session_id=session_id,
                path=path,
                server=event.form,
                abouts=tuple(one.about for asked in event.questions[:1] for one in asked.choices),
            )
            return StepAsked(*key, question)
        case PermissionResolved():
            return StepAnswered(*key, event.question_id, event.answer, event.by)
        case ReplyGiven():
            return StepAnswered(*key, event.call_id, event.text)
        case _:
            return None


def is_covered(question: RunQuestion, rules: Collection[Rule]) -> bool:
    """Whether rules that the person allowed have answered a question."""
    return bool(question.rules) and all(rule in rules for rule in question.rules)


class RunQuestions:
    """What the steps of one run ask, and who asks: their sessions, their items, the runs below.

    Of many items, and of each run below, only the first question is this run's.
    """

    def __init__(
        self,
        recorder: RunRecorder,
        sessions: StepSessions,
        items: ItemWork,
        tasks: StepTasks,
        top: Run,
    ) -> None:
        """``top`` is the run that the person began: what they answered for it counts here."""
        self._recorder, self._plan, self._run = recorder, recorder.plan, recorder.run
        self._sessions, self._items, self._tasks, self._top = sessions, items, tasks, top
        self._below: dict[StepKey, str] = {}
        """The ids of the questions of runs below that are this run's now."""
        self._given: set[str] = set()
        """The ids of questions that had the person's answer for the whole run at once."""

    def path(self, step: Step, item: str, *more: str) -> Path:
        """Who asks: the run, the step, its item, and an agent."""
        if item:
            many = step.id in self._run.tallies
            value = self._items.named((step.id, item)) if many else self._run.items[step.id][item]
            more = (as_words(value)[:40], *more)
        return (self._plan.workflow.name, step.label, *more)

    def hear(self, envelope: EventEnvelope) -> None:
        """Record that a step's session asks the person, or was answered."""
        key = self._sessions.key_of(envelope.session_id)
        if key is None or not isinstance(envelope.event, ABOUT_QUESTIONS):
            return
        many = key[0] in self._run.tallies
        if ((key[0], "") if many else key) not in self._tasks:
            return
        step = self._plan.workflow.step(key[0])
        path = self.path(step, key[1], *([envelope.agent] if step.kind == "agent" else []))
        event = session_question(key, envelope.session_id, envelope.event, path)
        if many and isinstance(envelope.event, TurnComplete):
            event = self._items.questions.left_open(key, envelope.session_id)
        if event is None:
            return
        if isinstance(event, StepAsked) and (given := self._for_run(event.question)) is not None:
            self._reply(event, given, many)
            return
        found = self._items.note_question(key, event) if many else [event]
        if isinstance(event, StepAnswered) and (
            event.question_id in self._run.answers or event.question_id in self._given
        ):
            found = [one for one in found if not isinstance(one, StepAnswered)]
        self._recorder.note(*found)

    def _for_run(self, question: RunQuestion) -> Json:
        """The answer that the person gave for the whole run; None if they gave none.

        One who decided to ask before it was given asks after it all the same.
        """
        if is_covered(question, self._top.allowed):
            return "run"
        return None if question.reply_to is None else self._top.replies.get(question.reply_to)

    def _reply(self, asked: StepAsked, answer: Json, many: bool) -> None:
        """Give the person's answer for the whole run to who asks the same again (W-22)."""
        question, key = asked.question, (asked.step, asked.item)
        if not many:
            self._recorder.note(asked, StepAnswered(*key, question.id, answer, FOR_RUN))
        self._given.add(question.id)
        self._sessions.answer(question, answer, FOR_RUN)

    def follow(self, key: StepKey, below: Run) -> None:
        """Record what changed in what the run of a step asks, with the way to who asks there."""
        asked = next((question for _, question in below.questions), None)
        shown = self._below.get(key, "")
        if asked is not None and asked.id != shown:
            self._below[key] = asked.id
            path = self.path(self._plan.workflow.step(key[0]), key[1], *asked.path[1:])
            self._recorder.note(StepAsked(*key, replace(asked, path=path)))
        elif asked is None and shown:
            self.forget(key)
            self._recorder.note(StepAnswered(*key, shown, below.answers.get(shown)))

    def from_below(self, key: StepKey) -> bool:
        """Whether the question of a step is one of its run."""
        return key in self._below

    def forget(self, key: StepKey) -> None:
        """The run of a step is over: it asks nothing any more."""
        self._below.pop(key, None)
