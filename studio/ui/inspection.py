"""From a session and its events to what the inspector shows."""

from __future__ import annotations

import time

from studio.agent.connections import TITLES
from studio.agent.session import Session
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    CallStarted,
    DraftCreated,
    DraftResolved,
    Event,
    Failed,
    HistoryBegun,
    Notice,
    PermissionResolved,
    ReasoningDelta,
    ReasoningEnded,
    ReplyGiven,
    Retried,
    RetryScheduled,
    Silent,
    StepEnded,
    StepStarted,
    TextDelta,
    Told,
    ToolFinished,
    ToolOutput,
    ToolQueued,
    ToolStarted,
    TurnComplete,
    TurnStarted,
)
from studio.domain.models import ModelInfo
from studio.ui.folders import short_path
from studio.ui.run_page import RunFacts, short_count

STATES = {
    "idle": ("idle", "Not started"),
    "running": ("running", "Running"),
    "waiting": ("waiting", "Waiting for you"),
    "done": ("done", "Done"),
    "cancelled": ("stopped", "Stopped"),
    "error": ("failed", "Failed"),
}


def run_facts(session: Session, model: ModelInfo, cost: float, began: float | None) -> RunFacts:
    """What the Run page shows of a session."""
    transcript, info = session.transcript, session.info
    state, title = STATES.get(info.state, ("stopped", "Stopped at a limit"))
    total = transcript.total_usage
    seconds = time.monotonic() - began if began is not None and session.running else None
    return RunFacts(
        state=state,
        title=title,
        time="" if seconds is None else f"{int(seconds) // 60}:{int(seconds) % 60:02d}",
        steps=transcript.steps,
        tool_calls=transcript.tool_calls,
        folder=short_path(info.folder),
        used=transcript.last_usage.total,
        window=model.context_window,
        input=total.input,
        cached=total.cache_read,
        output=total.output,
        cost=f"${cost:.2f}" if cost else "",
        note="Estimate" if cost else "",
    )


def event_line(event: Event, session: Session) -> tuple[str, str, str] | None:
    """Icon, words and figure of one event; None for those too small to list."""
    match event:
        case TurnStarted():
            return "message-square", "Message sent", ""
        case StepEnded():
            name = TITLES.get(session.info.provider, session.info.provider)
            return "arrow-up", f"Request to {name}", f"{short_count(event.usage.input)} in"
        case ReasoningEnded():
            return "brain", "Thinking", f"{event.seconds:.1f} s"
        case ToolFinished():
            tool = session.transcript.tool(event.call_id)
            icon = "circle-x" if event.is_error or tool is None else tool.icon
            words = f"{tool.name}  {tool.target}".strip() if tool else event.summary
            return icon, words, f"{event.seconds:.1f} s"
        case AwaitingPermission():
            return "shield-question-mark", event.question.title, ""
        case PermissionResolved():
            words = {"once": "Allowed once", "session": "Allowed in this chat", "deny": "Denied"}
            return "shield", words[event.answer], ""
        case AwaitingReply():
            return "message-circle", "Asked you", ""
        case ReplyGiven():
            return "message-circle", "You answered", ""
        case DraftCreated():
            added, removed = event.draft.counts()
            return "file-pen", f"Draft  {event.draft.path}", f"+{added} −{removed}"
        case DraftResolved():
            return "file-pen", f"Draft {event.status}", ""
        case Failed():
            return "circle-alert", event.title, ""
        case Notice():
            return "info", event.text, ""
        case RetryScheduled():
            return "refresh-cw", event.title, f"attempt {event.attempt}"
        case HistoryBegun():
            return "history", event.why or "History begun", ""
        case Told():
            return "message-square", f"Told the model: {event.text}", ""
        case TurnComplete():
            return "circle-check", STATES.get(event.reason, ("", "Stopped"))[1], ""
        case TextDelta() | ReasoningDelta() | CallStarted() | ToolOutput():
            return None
        case Silent() | Retried():
            return None
        case StepStarted() | ToolQueued() | ToolStarted():
            return None  # listed when they end
