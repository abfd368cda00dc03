"""Ask tool: puts a question to the person."""

from __future__ import annotations

from studio.domain.errors import NothingRead
from studio.tools import Context, Result, tool


@tool(
    effect="read",
    target="question",
    verb="Asking",
    done="Asked",
    icon="message-circle-question",
    time_limit=None,
    steady=False,  # a second answer may be another
)
async def ask(context: Context, question: str, choices: list[str] | None = None) -> Result:
    """Ask the person a question and wait for the answer. Use it when you cannot go on without
    a decision only they can make, not to report or to ask for permission.

    question: The question, short and complete.
    choices: Suggested answers, if there are natural ones; the person may answer otherwise.
    """
    if not question.strip():
        raise NothingRead("“question” is empty.")
    answer = await context.ask(question.strip(), [one for one in choices or [] if one.strip()])
    return Result(answer, summary=_short(answer), sources=("the person",))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"
