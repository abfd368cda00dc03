"""Run questions: what the sessions of a run's steps ask, and the runs below it (W-22)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    Event,
    PermissionResolved,
    ReplyGiven,
)
from studio.domain.run_events import RunQuestion, StepAnswered, StepAsked
from studio.domain.runs import Run

Path = tuple[str, ...]
"""Who asks: the run, the step, the agent."""
Key = tuple[str, str]
"""A step and its item."""


ASKS = (AwaitingPermission, AwaitingReply, PermissionResolved, ReplyGiven)
"""Events of a session that are about a question."""


def session_question(
    key: Key, session_id: str, event: Event, path: Path
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
            )
            return StepAsked(*key, question)
        case PermissionResolved():
            return StepAnswered(*key, event.question_id, event.answer, event.by)
        case ReplyGiven():
            return StepAnswered(*key, event.call_id, event.text)
        case _:
            return None


class QuestionsBelow:
    """The questions of runs below that are this run's now: of each run the first."""

    def __init__(self) -> None:
        self._shown: dict[Key, str] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self._shown

    def forget(self, key: Key) -> None:
        self._shown.pop(key, None)

    def follow(
        self, key: Key, below: Run, path: Callable[..., Path]
    ) -> StepAsked | StepAnswered | None:
        """What changed in what a step's run asks; ``path`` gives the way to who asks there."""
        asked = next((question for _, question in below.questions), None)
        shown = self._shown.get(key, "")
        if asked is not None and asked.id != shown:
            self._shown[key] = asked.id
            return StepAsked(*key, replace(asked, path=path(*asked.path[1:])))
        if asked is None and shown:
            del self._shown[key]
            return StepAnswered(*key, shown, below.answers.get(shown))
        return None
