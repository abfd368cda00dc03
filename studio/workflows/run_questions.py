"""Run questions: what the sessions of a run's steps ask, and the runs below it (W-22)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    Event,
    PermissionResolved,
    ReplyGiven,
)
from studio.domain.permissions import Rule
from studio.domain.run_events import RunEvent, RunQuestion, StepAnswered, StepAsked
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


class QuestionsOfItems:
    """What the items of steps ask that have too many for events: of each step the first is shown.

    It is the step's question; when it is answered, the next one is.
    """

    def __init__(self) -> None:
        self._asked: dict[str, list[RunQuestion]] = {}

    def follow(self, event: StepAsked | StepAnswered) -> list[RunEvent]:
        """What changes in what a step asks, when one of its items asks or was answered."""
        asked = self._asked.setdefault(event.step, [])
        shown = asked[0].id if asked else ""
        if isinstance(event, StepAsked):
            asked.append(event.question)
            return [] if shown else [StepAsked(event.step, "", event.question)]
        asked[:] = [one for one in asked if one.id != event.question_id]
        if event.question_id != shown:
            return []
        answered = replace(event, item="")
        return [answered, *(StepAsked(event.step, "", one) for one in asked[:1])]

    def covered(self, rules: Collection[Rule]) -> list[RunQuestion]:
        """The questions that rules which the person allowed since then have answered."""
        asked = (one for step in self._asked.values() for one in step)
        return [one for one in asked if one.rules and all(rule in rules for rule in one.rules)]

    def left_open(self, key: Key, session_id: str) -> StepAnswered | None:
        """The turn of an item has ended: its question, if one is open, takes no answer any more."""
        asked = self._asked.get(key[0], ())
        ids = [one.id for one in asked if one.session_id == session_id]
        return StepAnswered(*key, ids[0], None) if ids else None

    def forget(self, step: str) -> None:
        """The work on a step has ended: what its items asked they ask again, if it goes on."""
        self._asked.pop(step, None)
