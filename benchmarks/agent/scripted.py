"""Plays an attempt at a task on the simulator, as a model would that does just that.

The model's name says which attempt: ``TASK`` is the solution, ``TASK.1`` the first wrong one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from studio.simulator import Call, RequestView, Text, Turn

from .task import Attempt, Task

SUMMARY = (
    "The person wants what the first message says. The files were looked at in their order, and "
    "what was found was written down as the task asks. What is left comes next."
)


def model_name(task: Task, wrong: int | None = None) -> str:
    """The model that plays the solution, or the wrong attempt of this index."""
    return task.name if wrong is None else f"{task.name}.{wrong + 1}"


class ScriptedModels:
    """The simulator's script: a step of an attempt for each request of its model."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._attempts: dict[str, tuple[Task, Attempt]] = {}
        for task in tasks:
            self._attempts[model_name(task)] = task, task.solution
            for index, attempt in enumerate(task.wrong):
                self._attempts[model_name(task, index)] = task, attempt
        self._done: dict[str, int] = {}

    def __call__(self, request: RequestView) -> Turn:
        if not request.tools:  # a summary, and nothing else is asked of it without tools
            return Turn(Text(SUMMARY))
        task, attempt = self._attempts[request.model]
        steps = list(_offered(task.replies(attempt), request))
        step = self._done.get(request.model, 0)
        self._done[request.model] = step + 1
        if step < len(steps):
            return Turn(
                *(
                    Text(str(given)) if tool == "say" else Call(tool, dict(given))
                    for tool, given in steps[step]
                )
            )
        self._done[request.model] = 0  # for the next trial of the same
        return Turn(Text(attempt.answer or "Done."))


def _offered(replies: list[list[tuple[str, Any]]], request: RequestView) -> Iterator[Any]:
    """The replies with one edit in each where the program's tool takes no more."""
    edit = next((tool for tool in request.tools if tool.name == "edit"), None)
    if edit is None or "edits" in str(edit.schema):
        yield from replies
        return
    for reply in replies:
        if reply[0][0] != "edit":
            yield reply
            continue
        for one in reply[0][1]["edits"]:
            yield [("edit", {"path": reply[0][1]["path"], **one})]
