"""Makes what the inspector shows from a session, its events and the costs of its requests."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import assert_never

from studio.agent.context.compaction import ContextUsage
from studio.agent.engine import Engine
from studio.agent.permission.exfiltration_guard import ExfiltrationGuard
from studio.agent.prompts import NEARLY_OUT, TAKE_OVER
from studio.agent.session.session import Session
from studio.agent.usage_costs import UsageTotal, format_dollars, request_total, total
from studio.domain.blocks import TextBlock, UserBlock
from studio.domain.codec import encode_event
from studio.domain.drafts import DraftStatus
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    CallChanged,
    CallStarted,
    ChildWorks,
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
    PlanChanged,
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
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import clock, decimal, dollars, short_count, whole_seconds
from studio.ui.plan_text import progress
from studio.ui.transcript.items.draft_item import icon_of
from studio.ui.translation import tr, tr_later, tr_plural

from .events_page import EventRow
from .history_page import HistoryFacts
from .run_page import RequestRow, RunFacts

EXPOSURE_TEXTS: dict[Exposure, str] = {
    "private": tr_later("private files"),
    "untrusted": tr_later("words from outside"),
}
"""What a chat can have been exposed to (T-7)."""
ANSWER_TEXTS: dict[Answer, str] = {
    "once": tr_later("Allowed once"),
    "session": tr_later("Allowed in this chat"),
    "folder": tr_later("Allowed in this folder"),
    "always": tr_later("Allowed everywhere"),
    "deny": tr_later("Denied"),
}
TOPIC_TEXTS: dict[Topic, str] = {
    "orientation": tr_later("Told where it works"),
    "folder": tr_later("Told the folder"),
    "branch": tr_later("Told the git branch"),
    "date": tr_later("Told the date"),
    "mode": tr_later("Told the mode"),
    "instructions": tr_later("Told the folder’s instructions"),
    "guidance": tr_later("Told the folder’s instructions"),
    "skills": tr_later("Told which skills there are"),
    "memory": tr_later("Told the titles of notes"),
    "skill": tr_later("Told a skill again"),
    "tools": tr_later("Told which tools there are"),
    "draft": tr_later("Told what became of drafts"),
    "resume": tr_later("Asked to go on where it broke off"),
    "steer": tr_later("Told what you said meanwhile"),
    "wrap_up": tr_later("Told that this is the last step"),
    "stall": tr_later("Asked for a final answer"),
    "files": tr_later("Told which files you put back"),
    "schema": tr_later("Told what form the answer has"),
    "misfit": tr_later("Told why the answer does not fit"),
    "plan": tr_later("Told its plan"),
    "plan_open": tr_later("Reminded of its plan"),
    "child": tr_later("Told that an agent has ended"),
    "hook": tr_later("Told what hooks say"),
}
"""What the model was told, by topic; the event's text follows."""
TOLD_TEXTS = {
    NEARLY_OUT: tr_later("Told that the limit is near"),
    TAKE_OVER: tr_later("Told to take over from a model that got stuck"),
}
"""The same by the event's text, where a topic has several."""
DRAFT_TEXTS: dict[DraftStatus, str] = {
    "waiting": tr_later("Draft waiting"),
    "approved": tr_later("Draft approved"),
    "discarded": tr_later("Draft discarded"),
    "superseded": tr_later("Draft superseded"),
    "conflict": tr_later("Draft conflict"),
    "undone": tr_later("Draft undone"),
}
"""What became of a draft."""
STATES = {
    "idle": ("idle", tr_later("Not started")),
    "running": ("running", tr_later("Running")),
    "waiting": ("waiting", tr_later("Waiting for you")),
    "done": ("done", tr_later("Done")),
    "handed_over": ("waits", tr_later("Waits for the client")),
    "cancelled": ("stopped", tr_later("Stopped")),
    "error": ("failed", tr_later("Failed")),
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
    return ChatCosts(requests, dollars(today) if today else "")


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
    state, title = STATES.get(info.state, ("stopped", tr_later("Stopped at a limit")))
    all_costs = costs.total
    lost = (
        tr("Broken caches cost about {amount}").format(amount=money(all_costs.lost))
        if all_costs.lost
        else ""
    )
    exposed = ExfiltrationGuard(transcript).exposed
    seconds = time.monotonic() - begun if begun is not None and session.running else None
    return RunFacts(
        state=state,
        title=tr(title),
        time="" if seconds is None else clock(seconds),
        steps=0 if state == "idle" else transcript.steps,  # a branch has the steps of its parent
        tool_calls=0 if state == "idle" else transcript.tool_calls,
        folder=folder,
        used=context.used if context else transcript.last_usage.total,
        window=context.window if context else model.context_window,
        parts=tuple((part.kind, part.tokens) for part in context.parts) if context else (),
        pins=sum(isinstance(b, UserBlock | TextBlock) and b.pinned for b in transcript.blocks),
        summing="does" if summing else "can" if context and _can_sum_up(session) else "",
        input=all_costs.usage.input,
        cached=all_costs.usage.cache_read,
        written=all_costs.usage.cache_write,
        output=all_costs.usage.output,
        reasoning=all_costs.usage.reasoning,
        cost=money(all_costs.cost),
        today=costs.today,
        seen=[
            (tr(EXPOSURE_TEXTS[kind]), tr_engine(exposed[kind]))
            for kind in EXPOSURE_TEXTS
            if kind in exposed
        ],
        notes=[tr_engine(note) for note in (all_costs.source, all_costs.gap, lost) if note],
    )


def money(dollars: float) -> str:
    """``format_dollars`` in the person's language."""
    return tr_engine(format_dollars(dollars))


def _exact(seconds: float) -> str:
    return tr("{number} s").format(number=decimal(seconds))


def _can_sum_up(session: Session) -> bool:
    messages = sum(isinstance(block, UserBlock) for block in session.transcript.blocks)
    return messages > 1 and not session.running and not session.damage


def request_rows(costs: ChatCosts) -> list[RequestRow]:
    """The Requests list: the newest first."""
    rows: list[RequestRow] = []
    for number, (entry, one) in enumerate(costs.requests, 1):
        usage = entry.usage
        parts = [
            tr("{count} in").format(count=short_count(usage.input)),
            tr("{count} out").format(count=short_count(usage.output)),
        ]
        if usage.cache_read:
            parts.insert(1, tr("{count} cached").format(count=short_count(usage.cache_read)))
        figure = money(one.cost)
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
    lost = tr("It cost about {amount}.").format(amount=money(sent.lost)) if sent.lost else ""
    return " ".join((tr("The cache broke."), tr_engine(f"{sent.broke}{end}"), lost)).rstrip()


def history_facts(native: StoredHistory, epochs: Sequence[EpochInfo]) -> HistoryFacts:
    """The History page: one epoch, and which others there are."""
    newest = epochs[-1].number if epochs else native.epoch
    remark = tr("Begun anew. {why}").format(why=tr_engine(native.why)) if native.why else ""
    if native.damage:
        remark = native.damage
    elif native.epoch != newest:
        remark = tr("An earlier history, no longer sent. {why}").format(why=tr_engine(native.why))
        remark = remark.rstrip()
    others = [
        (
            epoch.number,
            tr("History {number} of {count}, {provider}").format(
                number=number,
                count=len(epochs),
                provider=PROVIDER_TITLES.get(epoch.provider, epoch.provider),
            ),
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
            icon, text, right = line
            text = " ".join(text.splitlines())  # it is a line, also of what has several
            details = partial(event_details, event, session)
            failed = isinstance(event, Failed) or (
                isinstance(event, ToolFinished) and event.is_error
            )
            begins = isinstance(event, TurnStarted)
            rows.append(EventRow(at, icon, text, right, details, failed, begins))
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
            return "message-square", tr("Message sent"), ""
        case StepEnded():
            name = PROVIDER_TITLES.get(session.info.provider, session.info.provider)
            words = tr("Request to {provider}").format(provider=name)
            broke = f". {_broke(event.sent)}" if event.sent and event.sent.broke else ""
            sent = tr("{count} in").format(count=short_count(event.usage.input))
            return "arrow-up", words + broke, sent
        case ReasoningEnded():
            return "brain", tr("Thinking"), _exact(event.seconds)
        case ToolFinished():
            tool = session.transcript.tool(event.call_id)
            icon = "circle-x" if tool is None else tool.icon
            words = f"{tool.name}  {tool.target}".strip() if tool else event.summary
            return icon, words, _exact(event.seconds)
        case AwaitingPermission():
            return "shield-question-mark", tr_engine(event.question.title), ""
        case PermissionResolved():
            words = (
                tr("Denied: {by}").format(by=tr_engine(event.by))
                if event.by
                else tr(ANSWER_TEXTS[event.answer])
            )
            return "shield", words, ""
        case AwaitingReply():
            return "message-circle", tr("Asked you"), ""
        case ReplyGiven():
            return "message-circle", tr("You answered"), ""
        case PlanChanged():
            words = tr("Showed its plan: {progress}").format(progress=progress(event.plan))
            return "list", words, ""
        case DraftCreated():
            about = event.draft.describe()
            added, removed = about.counts()
            return (
                icon_of(about),
                tr("Draft  {label}").format(label=about.label),
                f"+{added} −{removed}",
            )
        case DraftResolved():
            return "file-pen-line", tr(DRAFT_TEXTS[event.status]), ""
        case MessageQueued():
            return "message-square", tr("Message queued"), ""
        case MessageTaken():
            return "message-square", tr("Message left the queue"), ""
        case Steered():
            return "message-square", tr("Message given to the running turn"), ""
        case Summarised():
            sizes = f"{short_count(event.before)} → {short_count(event.after)}"
            return "layers", tr("Summed up what was said before"), sizes if event.before else ""
        case SummaryEdited():
            return "layers", tr("Summary edited"), ""
        case SummaryUndone():
            return "layers", tr("Summary undone"), ""
        case Pinned():
            return "lock", tr("Pinned a message") if event.pinned else tr("Unpinned a message"), ""
        case Exposed():
            return (
                "scan-eye",
                tr("Saw {what}: {source}").format(
                    what=tr(EXPOSURE_TEXTS[event.exposure]), source=tr_engine(event.source)
                ),
                "",
            )
        case Routed():
            words = tr("Routed. {why}").format(why=tr_engine(event.why))
            if event.asked:
                words = " ".join((words, tr("Asked {model}.").format(model=event.asked)))
            return "git-branch", words, money(event.cost or 0)
        case FilesChanged():
            return "files", tr("Changed {files}").format(files=_files(event.paths)), ""
        case FilesRestored():
            return "undo-2", _restored(event), ""
        case Failed():
            return "circle-alert", tr_engine(event.title), ""
        case Notice():
            return "info", tr_engine(event.text), ""
        case RetryScheduled():
            wait = whole_seconds(event.seconds)
            words = tr("Trying again in {time}").format(time=wait)
            attempt = tr("attempt {number}").format(number=event.attempt)
            return "hourglass", f"{tr_engine(event.title)} {words}", attempt
        case Retried():
            return "refresh-cw", tr("Trying again"), ""
        case Silent():
            name = PROVIDER_TITLES.get(session.info.provider, session.info.provider)
            return (
                "hourglass",
                tr("Nothing from {provider}").format(provider=name),
                whole_seconds(event.seconds),
            )
        case HistoryBegun():
            words = (
                tr("History begins anew. {why}").format(why=tr_engine(event.why))
                if event.why
                else tr("History begins")
            )
            return "history", words, PROVIDER_TITLES.get(event.provider, event.provider)
        case Told():
            words = TOLD_TEXTS.get(event.text) or TOPIC_TEXTS[event.topic]
            return "bot", f"{tr(words)}: {event.text}", ""
        case Recounted():
            many = tr_plural("{count} message", "{count} messages", len(event.messages))
            return "inbox", tr("Told, not led here"), many
        case TurnComplete():
            return "circle-check", tr(STATES.get(event.reason, ("", tr_later("Stopped")))[1]), ""
        case ChildWorks():
            words = f"{tr_engine(event.doing)} {event.target}".strip() or tr("Works for this chat")
            if event.reason:
                words = tr(STATES.get(event.reason, ("", tr_later("Stopped")))[1])
            return event.icon, f"{event.agent}  {words}", short_count(event.tokens)
        case TextDelta() | ReasoningDelta() | CallStarted() | ToolOutput():
            return None
        case StepStarted() | ToolQueued() | CallChanged() | ToolStarted():
            return None  # listed when they end
        case _:
            assert_never(event)


def _restored(event: FilesRestored) -> str:
    left = tr("left {files} alone").format(files=_files(event.left)) if event.left else ""
    if not event.paths:
        return tr("Put nothing back, {left}").format(left=left)
    words = tr("Undid changes of {files}") if event.undone else tr("Did changes again of {files}")
    return ", ".join(filter(None, [words.format(files=_files(event.paths)), left]))


def _files(paths: Sequence[str]) -> str:
    """“a.py”, “a.py and b.py”, “a.py and 2 more files”."""
    if not paths:
        return tr("no files")
    if len(paths) > 2:
        return tr_plural(
            "{first} and {count} more file",
            "{first} and {count} more files",
            len(paths) - 1,
            first=paths[0],
        )
    if len(paths) == 1:
        return paths[0]
    return tr("{one} and {other}").format(one=paths[0], other=paths[1])
