"""Plays an attempt at a task on the simulator, as a model would that does just that.

The model's name says which attempt: ``TASK`` is the solution, ``TASK.1`` the first wrong one.
"""

from __future__ import annotations

from collections.abc import Sequence

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
        steps, step = task.replies(attempt), self._done.get(request.model, 0)
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
