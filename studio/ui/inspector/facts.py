"""Makes what the inspector shows from a session, its events and the costs of its requests."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import assert_never

from studio.agent.context.compaction import ContextUsage
from studio.agent.context.token_count import PartKind
from studio.agent.engine import Engine
from studio.agent.permission.exfiltration_guard import ExfiltrationGuard
from studio.agent.prompts import NEARLY_OUT, TAKE_OVER
from studio.agent.session.session import Session
from studio.agent.usage_costs import UsageTotal, format_dollars, request_total, total
from studio.domain.blocks import TextBlock, UserBlock
from studio.domain.codec import encode_event
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    CallStarted,
    DraftCreated,
    DraftResolved,
    Event,
    Exposed,
    Failed,
    FilesChanged,
    FilesRestored,
    HistoryBegun,
    MessageQueued,
    MessageTaken,
    Notice,
    PermissionResolved,
    Pinned,
    ReasoningDelta,
    ReasoningEnded,
    Recounted,
    ReplyGiven,
    Retried,
    RetryScheduled,
    Routed,
    Silent,
    Steered,
    StepEnded,
    StepStarted,
    Summarised,
    SummaryEdited,
    SummaryUndone,
    TextDelta,
    Told,
    ToolFinished,
    ToolOutput,
    ToolQueued,
    ToolStarted,
    Topic,
    TurnComplete,
    TurnStarted,
)
from studio.domain.ledger import LedgerEntry, Sent
from studio.domain.models import ModelInfo
from studio.domain.permissions import Answer
from studio.domain.tools import Exposure
from studio.providers.registry import PROVIDER_TITLES
from studio.storage.sessions.native_history import EpochInfo, StoredHistory
from studio.ui.formatting import clock, short_count, whole_seconds
from studio.ui.transcript.items.draft_item import icon_of

from .events_page import EventRow
from .history_page import HistoryFacts
from .run_page import RequestRow, RunFacts

EXPOSURE_TEXTS: dict[Exposure, str] = {
    "private": "private files",
    "untrusted": "words from outside",
}
"""What a chat can have been exposed to (T-7)."""
ANSWER_TEXTS: dict[Answer, str] = {
    "once": "Allowed once",
    "session": "Allowed in this chat",
    "folder": "Allowed in this folder",
    "always": "Allowed everywhere",
    "deny": "Denied",
}
TOPIC_TEXTS: dict[Topic, str] = {
    "date": "Told the date",
    "mode": "Told the mode",
    "instructions": "Told the folder’s instructions",
    "tools": "Told which tools there are",
    "draft": "Told what became of drafts",
    "resume": "Asked to go on where it broke off",
    "steer": "Told what you said meanwhile",
    "wrap_up": "Told that this is the last step",
    "stall": "Asked for a final answer",
    "files": "Told which files you put back",
    "schema": "Told what form the answer has",
    "misfit": "Told why the answer does not fit",
}
"""What the model was told, by topic; the event's text follows."""
TOLD_TEXTS = {
    NEARLY_OUT: "Told that the limit is near",
    TAKE_OVER: "Told to take over from a model that got stuck",
}
"""The same by the event's text, where a topic has several."""
PARTS: dict[PartKind, str] = {
    "instructions": "Instructions",
    "tools": "Tools",
    "messages": "Messages",
    "files": "Files",
    "results": "Tool results",
    "summary": "Summary",
}
"""What takes room in the model's context."""
STATES = {
    "idle": ("idle", "Not started"),
    "running": ("running", "Running"),
    "waiting": ("waiting", "Waiting for you"),
    "done": ("done", "Done"),
    "handed_over": ("waits", "Waits for the client"),
    "cancelled": ("stopped", "Stopped"),
    "error": ("failed", "Failed"),
}


LONGEST = 8_000
"""Characters of one fact of an event that are shown."""


@dataclass(frozen=True, slots=True)
class ChatCosts:
    """A chat's requests, oldest first, each with what it cost.

    ``today`` is what all chats cost today, “$0.84”.
    """

    requests: Sequence[tuple[LedgerEntry, UsageTotal]] = ()
    today: str = ""

    @property
    def total(self) -> UsageTotal:
        return total(cost for _, cost in self.requests)


async def chat_costs(engine: Engine, session_id: str) -> ChatCosts:
    """Read a chat's requests, and price them."""
    entries = await engine.store.ledger(session_id)
    today = await engine.usage_costs.today()
    costs = await engine.usage_costs.costs(entries)
    requests = [
        (entry, request_total(entry, cost)) for entry, cost in zip(entries, costs, strict=True)
    ]
    return ChatCosts(requests, today.removesuffix(" today"))


def run_facts(
    session: Session,
    model: ModelInfo,
    costs: ChatCosts,
    begun: float | None,
    context: ContextUsage | None = None,
    *,
    folder: str = "",
    summing: bool = False,
) -> RunFacts:
    """What the Run page shows of a session.

    ``begun`` is when its turn began, by ``time.monotonic``; ``folder`` is the name of its folder;
    ``summing`` is whether it is being summed up.
    """
    transcript, info = session.transcript, session.info
    state, title = STATES.get(info.state, ("stopped", "Stopped at a limit"))
    all_costs = costs.total
    lost = f"Broken caches cost about {format_dollars(all_costs.lost)}" if all_costs.lost else ""
    exposed = ExfiltrationGuard(transcript).exposed
    seconds = time.monotonic() - begun if begun is not None and session.running else None
    return RunFacts(
        state=state,
        title=title,
        time="" if seconds is None else clock(seconds),
        steps=0 if state == "idle" else transcript.steps,  # a branch has the steps of its parent
        tool_calls=0 if state == "idle" else transcript.tool_calls,
        folder=folder,
        used=context.used if context else transcript.last_usage.total,
        window=context.window if context else model.context_window,
        parts=tuple((PARTS[part.kind], part.tokens) for part in context.parts) if context else (),
        pins=sum(isinstance(b, UserBlock | TextBlock) and b.pinned for b in transcript.blocks),
        summing="does" if summing else "can" if context and _can_sum_up(session) else "",
        input=all_costs.usage.input,
        cached=all_costs.usage.cache_read,
        written=all_costs.usage.cache_write,
        output=all_costs.usage.output,
        reasoning=all_costs.usage.reasoning,
        cost=format_dollars(all_costs.cost),
        today=costs.today,
        seen=[(EXPOSURE_TEXTS[kind], exposed[kind]) for kind in EXPOSURE_TEXTS if kind in exposed],
        notes=[note for note in (all_costs.source, all_costs.gap, lost) if note],
    )


def _can_sum_up(session: Session) -> bool:
    messages = sum(isinstance(block, UserBlock) for block in session.transcript.blocks)
    return messages > 1 and not session.running and not session.damage


def request_rows(costs: ChatCosts) -> list[RequestRow]:
    """The Requests list: the newest first."""
    rows: list[RequestRow] = []
    for number, (entry, one) in enumerate(costs.requests, 1):
        usage = entry.usage
        parts = [f"{short_count(usage.input)} in", f"{short_count(usage.output)} out"]
        if usage.cache_read:
            parts.insert(1, f"{short_count(usage.cache_read)} cached")
        figure = format_dollars(one.cost)
        if figure and one.source == "Estimate":
            figure = f"≈ {figure}"
        rows.append(
            RequestRow(f"{number}. {entry.model}", figure, ", ".join(parts), _broke(entry.sent))
        )
    rows.reverse()
    return rows


def _broke(sent: Sent | None) -> str:
    if sent is None or not sent.broke:
        return ""
    end = "" if sent.broke.endswith(".") else "."
    cost = f" It cost about {format_dollars(sent.lost)}." if sent.lost else ""
    return f"The cache broke. {sent.broke}{end}{cost}"


def history_facts(native: StoredHistory, epochs: Sequence[EpochInfo]) -> HistoryFacts:
    """The History page: one epoch, and which others there are."""
    newest = epochs[-1].number if epochs else native.epoch
    remark = f"Begun anew. {native.why}" if native.why else ""
    if native.damage:
        remark = native.damage
    elif native.epoch != newest:
        remark = f"An earlier history, no longer sent. {native.why}".rstrip()
    others = [
        (
            epoch.number,
            f"History {number} of {len(epochs)}, "
            f"{PROVIDER_TITLES.get(epoch.provider, epoch.provider)}",
            time.strftime("%H:%M", time.localtime(epoch.at)),
        )
        for number, epoch in enumerate(epochs, 1)
    ]
    return HistoryFacts(native.provider, native.items, native.epoch, remark, others)


def event_rows(events: Iterable[tuple[float, Event]], session: Session) -> list[EventRow]:
    """The lines of events, each with its time in seconds since the epoch."""
    rows: list[EventRow] = []
    for at, event in events:
        if line := event_line(event, session):
            rows.append(EventRow(at, *line, partial(event_details, event, session)))
    return rows


def event_details(event: Event, session: Session) -> str:
    """What is stored of an event; of a tool's end, also what it was called with and gave."""
    facts = encode_event(event)
    tool = session.transcript.tool(event.call_id) if isinstance(event, ToolFinished) else None
    if tool is not None:
        facts = {**facts, "arguments": tool.arguments, "output": tool.output}
    shown = {name: value for name, value in facts.items() if value not in (None, "", [], {})}
    lines: list[str] = []
    for name, value in shown.items():
        words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
        if len(words) > LONGEST:
            words = f"{words[:LONGEST]}…"
        lines.append(f"{name}:\n{words}" if "\n" in words else f"{name}: {words}")
    return "\n".join(lines)


def event_line(event: Event, session: Session) -> tuple[str, str, str] | None:
    """Icon, words and figure of one event; None for those too small to list."""
    match event:
        case TurnStarted():
            return "message-square", "Message sent", ""
        case StepEnded():
            name = PROVIDER_TITLES.get(session.info.provider, session.info.provider)
            broke = f". {_broke(event.sent)}" if event.sent and event.sent.broke else ""
            return "arrow-up", f"Request to {name}{broke}", f"{short_count(event.usage.input)} in"
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
            words = f"Denied: {event.by}" if event.by else ANSWER_TEXTS[event.answer]
            return "shield", words, ""
        case AwaitingReply():
            return "message-circle", "Asked you", ""
        case ReplyGiven():
            return "message-circle", "You answered", ""
        case DraftCreated():
            about = event.draft.describe()
            added, removed = about.counts()
            return icon_of(about), f"Draft  {about.label}", f"+{added} −{removed}"
        case DraftResolved():
            return "file-pen", f"Draft {event.status}", ""
        case MessageQueued():
            return "message-square", "Message queued", ""
        case MessageTaken():
            return "message-square", "Message left the queue", ""
        case Steered():
            return "message-square", "Message given to the running turn", ""
        case Summarised():
            sizes = f"{short_count(event.before)} → {short_count(event.after)}"
            return "layers", "Summed up what was said before", sizes if event.before else ""
        case SummaryEdited():
            return "layers", "Summary edited", ""
        case SummaryUndone():
            return "layers", "Summary undone", ""
        case Pinned():
            return "lock", "Pinned a message" if event.pinned else "Unpinned a message", ""
        case Exposed():
            return "scan-eye", f"Saw {EXPOSURE_TEXTS[event.exposure]}: {event.source}", ""
        case Routed():
            asked = f" Asked {event.asked}." if event.asked else ""
            return "git-branch", f"Routed. {event.why}{asked}", format_dollars(event.cost or 0)
        case FilesChanged():
            return "files", f"Changed {_files(event.paths)}", ""
        case FilesRestored():
            return "undo-2", _restored(event), ""
        case Failed():
            return "circle-alert", event.title, ""
        case Notice():
            return "info", event.text, ""
        case RetryScheduled():
            wait = whole_seconds(event.seconds)
            return "hourglass", f"{event.title} Trying again in {wait}", f"attempt {event.attempt}"
        case Retried():
            return "refresh-cw", "Trying again", ""
        case Silent():
            name = PROVIDER_TITLES.get(session.info.provider, session.info.provider)
            return "hourglass", f"Nothing from {name}", whole_seconds(event.seconds)
        case HistoryBegun():
            words = f"History begins anew. {event.why}" if event.why else "History begins"
            return "history", words, PROVIDER_TITLES.get(event.provider, event.provider)
        case Told():
            words = TOLD_TEXTS.get(event.text) or TOPIC_TEXTS[event.topic]
            return "bot", f"{words}: {event.text}", ""
        case Recounted():
            many = len(event.messages)
            return "inbox", "Told, not led here", f"{many} {'message' if many == 1 else 'messages'}"
        case TurnComplete():
            return "circle-check", STATES.get(event.reason, ("", "Stopped"))[1], ""
        case TextDelta() | ReasoningDelta() | CallStarted() | ToolOutput():
            return None
        case StepStarted() | ToolQueued() | ToolStarted():
            return None  # listed when they end
        case _:
            assert_never(event)


def _restored(event: FilesRestored) -> str:
    left = f"left {_files(event.left)} alone" if event.left else ""
    if not event.paths:
        return f"Put nothing back, {left}"
    words = "Undid changes of" if event.undone else "Did changes again of"
    return ", ".join(filter(None, [f"{words} {_files(event.paths)}", left]))


def _files(paths: Sequence[str]) -> str:
    """“a.py”, “a.py and b.py”, “a.py and 2 more files”."""
    if len(paths) > 2:
        return f"{paths[0]} and {len(paths) - 1} more files"
    return " and ".join(paths) or "no files"
