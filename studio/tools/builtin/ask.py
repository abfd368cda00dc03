"""Ask tool: puts questions to the person (C-24)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from studio.domain.errors import NothingRead
from studio.domain.questions import AskedQuestion, Choice
from studio.domain.records import dataclass
from studio.tools import Context, Result, tool

MOST = 4
"""Questions of one call."""
MOST_CHOICES = 12
"""Choices of one question."""


class Suggestion(TypedDict):
    text: str
    about: NotRequired[str]


@dataclass(frozen=True, slots=True)
class Item:
    """One of several questions."""

    question: str
    choices: list[str | Suggestion] | None = None
    several: bool = False


@tool(
    effect="read",
    target="question",
    verb="Asking",
    done="Asked",
    icon="message-circle-question",
    time_limit=None,
    steady=False,  # a second answer may be another
    spare=("questions",),
)
async def ask(
    context: Context,
    question: str | None = None,
    choices: list[str] | None = None,
    questions: list[Item] | None = None,
) -> Result:
    """Ask the person for a decision without which you cannot go on, not to report or for
    permission. Ask what belongs together in one call.

    choices: Suggested answers; others are possible.
    questions: Instead, up to 4 at once. about says more of a choice; several lets the person
        take more than one.
    """
    if questions and question:
        raise NothingRead("Give either “question” or “questions”, not both.")
    asked = _asked(questions or [Item(question or "", [*(choices or [])])])
    answer = await context.ask_all(asked)
    return Result(answer, summary=_short(asked, answer), sources=("the person",))


def _asked(items: Sequence[Item]) -> list[AskedQuestion]:
    if len(items) > MOST:
        raise NothingRead(f"{len(items)} questions are too many at once. Ask at most {MOST}.")
    asked: list[AskedQuestion] = []
    for item in items:
        given = [
            Suggestion(text=one) if isinstance(one, str) else one for one in item.choices or ()
        ]
        made = [Choice(one["text"].strip(), one.get("about", "").strip()) for one in given]
        choices = tuple(dict.fromkeys(choice for choice in made if choice.text))
        if not item.question.strip():
            raise NothingRead("A question is empty.")
        if len(choices) > MOST_CHOICES:
            raise NothingRead(
                f"A question has {len(choices)} choices. Give {MOST_CHOICES} at most."
            )
        asked.append(AskedQuestion(item.question.strip(), choices, item.several and bool(choices)))
    return asked


def _short(asked: Sequence[AskedQuestion], answer: str) -> str:
    if len(asked) > 1:
        return f"{len(asked)} answers"
    line = " ".join(answer.split())
    return line if len(line) <= 60 else f"{line[:59]}…"
