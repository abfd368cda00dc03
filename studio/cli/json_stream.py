"""Documented JSON lines of a turn, ``run --output-format stream-json``; see docs/command-line.md.

``--json`` prints the program's own events, which grow with it. These are few and keep their
names and fields: others may come, and a reader passes over lines of a type it does not know.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from studio.domain.codec import encode
from studio.domain.events import (
    AwaitingPermission,
    DraftCreated,
    Event,
    Failed,
    Notice,
    PermissionResolved,
    ReasoningDelta,
    RetryScheduled,
    TextDelta,
    ToolFinished,
    ToolQueued,
    TurnComplete,
    TurnStarted,
)
from studio.domain.jsonvalue import JsonObject

from .console import Console
from .final_answer import FinalAnswer


class JsonStreamPrinter:
    """Prints a line for each thing that happens, or with ``whole`` the last one alone."""

    def __init__(self, console: Console, answer: FinalAnswer, *, whole: bool = False) -> None:
        self._console = console
        self._answer = answer
        self._whole = whole
        self._session = ""

    def event(self, event: Event) -> None:
        if isinstance(event, TurnStarted):
            self._session = event.session_id
        line = self._end(event) if isinstance(event, TurnComplete) else _line(event)
        if line is not None and (not self._whole or line["type"] == "end"):
            self._console.write_json(line)

    @contextmanager
    def quiet(self) -> Generator[None]:
        yield

    def _end(self, event: TurnComplete) -> JsonObject:
        return {
            "type": "end",
            "reason": event.reason,
            "detail": event.detail,
            "text": self._answer.text,
            "session": self._session,
            "steps": event.steps,
            "usage": encode(event.usage),
            "cost": event.dollars,
            "seconds": event.seconds,
        }


def _line(event: Event) -> JsonObject | None:
    """The line for an event; None where there is none."""
    match event:
        case TurnStarted():
            return {
                "type": "start",
                "session": event.session_id,
                "agent": event.agent,
                "provider": event.provider,
                "model": event.model,
            }
        case TextDelta():
            return {"type": "text", "text": event.text}
        case ReasoningDelta():
            return {"type": "reasoning", "text": event.text}
        case ToolQueued():
            return {
                "type": "call",
                "id": event.call_id,
                "tool": event.name,
                "arguments": event.arguments,
            }
        case ToolFinished():
            return {
                "type": "result",
                "id": event.call_id,
                "text": event.text,
                "failed": event.is_error,
                "seconds": event.seconds,
            }
        case AwaitingPermission():
            return {"type": "question", "id": event.question.id, "title": event.question.title}
        case PermissionResolved():
            return {"type": "permission", "id": event.question_id, "answer": event.answer}
        case DraftCreated():
            about = event.draft.describe()
            return {"type": "draft", "id": event.draft.id, "path": about.label}
        case Notice():
            return {"type": "notice", "text": event.text}
        case RetryScheduled():
            return {"type": "retry", "seconds": event.seconds, "why": event.title}
        case Failed():
            return {
                "type": "error",
                "fault": event.fault,
                "title": event.title,
                "detail": event.detail,
            }
        case _:
            return None
