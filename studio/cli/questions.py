"""Asks the person an agent's questions at a terminal, one after the other (C-24)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a command that asks nothing loads nothing
    from studio.domain.questions import AskedQuestion

    from .console import Console


async def ask_questions(console: Console, questions: Sequence[AskedQuestion]) -> list[str]:
    """The answers in order; fewer where the input ended before."""
    answers: list[str] = []
    for number, question in enumerate(questions, 1):
        where = f"{number} of {len(questions)}. " if len(questions) > 1 else ""
        console.say("", *f"{where}{question.text}".split("\n"))
        for choice, words in enumerate(question.choices, 1):
            console.say(f"  {choice}. {words}")
        prompt = "Answer, or numbers such as 1,2: " if question.several else "Answer: "
        text = ""
        while not text:
            if (line := await console.line(prompt)) is None:
                return answers
            text = line.strip()
        answers.append(_chosen_by_number(question, text) or text)
    return answers


def _chosen_by_number(question: AskedQuestion, text: str) -> str:
    """The choices that a text names by their numbers; empty if it says anything else."""
    from studio.domain.questions import joined_answers

    numbers = text.replace(",", " ").split() if question.several else [text]
    known = {str(number): choice.text for number, choice in enumerate(question.choices, 1)}
    if not all(number in known for number in numbers):
        return ""
    return joined_answers([known[number] for number in dict.fromkeys(numbers)])
