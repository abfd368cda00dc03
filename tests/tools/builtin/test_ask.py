"""The ask tool: one question in its short form, or up to four at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from studio.domain.errors import NothingRead, ToolFailed
from studio.domain.questions import AskedQuestion, Choice
from studio.tools import Context, Workspace
from studio.tools.builtin.ask import MOST_CHOICES, ask


async def test_c24_questions_have_choices_that_say_more_of_themselves(tmp_path: Path) -> None:
    """C-24: the short form of earlier chats, choices as words, with more about them, several."""
    asked: list[Sequence[AskedQuestion]] = []

    async def answer(questions: Sequence[AskedQuestion]) -> str:
        asked.append(questions)
        return "the second\nof them"

    context = Context(Workspace(tmp_path), ask_all=answer)
    told = await ask.call(context, {"question": " Which? ", "choices": ["main", " ", "next"]})
    assert asked == [[AskedQuestion("Which?", (Choice("main"), Choice("next")))]]
    assert (told.text, told.summary) == ("the second\nof them", "the second of them")
    assert told.sources == ("the person",) and ask.spec.time_limit is None
    two = [
        {"question": "Where?", "choices": ["here", {"text": "there", "about": "far away"}]},
        {"question": "Why?", "several": True},
    ]
    told = await ask.call(context, {"questions": two})
    assert asked[1] == [
        AskedQuestion("Where?", (Choice("here"), Choice("there", "far away"))),
        AskedQuestion("Why?"),  # without choices there are not several to take
    ]
    assert told.summary == "2 answers"
    assert await context.ask("Now?", ["yes"]) == told.text  # as a tool of somebody else asks
    assert asked[2] == [AskedQuestion("Now?", (Choice("yes"),))]


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"question": " "},
        {"question": "a", "questions": [{"question": "b"}]},
        {"questions": [{"question": "a"}] * 5},
        {"questions": [{"question": "a"}, {"question": ""}]},
        {"question": "a", "choices": [str(n) for n in range(MOST_CHOICES + 1)]},
    ],
)
async def test_c24_what_cannot_be_asked_is_refused(
    tmp_path: Path, wrong: dict[str, object]
) -> None:
    """C-24: before anything is shown."""
    with pytest.raises(NothingRead):
        await ask.call(Context(Workspace(tmp_path)), wrong)


async def test_a_choice_of_no_known_form_is_refused(tmp_path: Path) -> None:
    """L-5: the schema says what a choice is."""
    with pytest.raises(ToolFailed, match="choices"):
        given = {"questions": [{"question": "a", "choices": [{"name": "x"}]}]}
        await ask.call(Context(Workspace(tmp_path)), given)


async def test_c24_where_nobody_is_asked_the_tool_says_so(tmp_path: Path) -> None:
    """C-24: outside of a chat."""
    with pytest.raises(ToolFailed, match="Nobody is here"):
        await ask.call(Context(Workspace(tmp_path)), {"question": "Which?"})
