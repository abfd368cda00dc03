"""Transcript model: which items the transcript shows, and their words, free of Qt.

Blocks of the transcript become *items*, the units that the view lays out: a run of
tool calls is one item, a call that waits for the person is one by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum, auto
from math import ceil
from typing import Literal, NamedTuple, TypeAlias, assert_never

from studio.agent.loop.user_messages import describe_end
from studio.agent.services import PLAN
from studio.domain.blocks import (
    AgentBlock,
    DraftBlock,
    EndBlock,
    FailureBlock,
    FilesBlock,
    NoticeBlock,
    PlanBlock,
    ReasoningBlock,
    RetryBlock,
    SummaryBlock,
    TextBlock,
    ToolBlock,
    TranscriptBlock,
    UserBlock,
)
from studio.domain.drafts import FileDraft
from studio.domain.events import (
    ChildWorks,
    Event,
    Failed,
    RetryScheduled,
    Silent,
    TurnComplete,
)
from studio.providers.registry import PROVIDER_TITLES, PROVIDERS
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import clock, dollars, duration, whole_seconds
from studio.ui.translation import tr, tr_in, tr_later, tr_plural

Kind: TypeAlias = Literal[
    "user", "agent", "text", "reasoning", "tools", "prompt", "ask", "draft", "plan", "files",
    "notice",
    "summary", "failure", "retry", "end",
]  # fmt: skip
RUNS: frozenset[Kind] = frozenset({"tools", "prompt", "ask", "draft", "retry"})
"""Items of several blocks, or between such: their borders move while a turn goes on."""


class ItemSpan(NamedTuple):
    """One item: its kind and its blocks ``[first:last]``."""

    kind: Kind
    first: int
    last: int


def kind_of(block: TranscriptBlock) -> Kind:
    match block:
        case UserBlock():
            return "user"
        case AgentBlock():
            return "agent"
        case TextBlock():
            return "text"
        case ReasoningBlock():
            return "reasoning"
        case ToolBlock():
            if block.question is not None:
                return "prompt"
            return "ask" if awaits_reply(block) else "tools"
        case DraftBlock():
            return "draft"
        case PlanBlock():
            return "plan"
        case FilesBlock():
            return "files"
        case SummaryBlock():
            return "summary"
        case NoticeBlock():
            return "notice"
        case FailureBlock():
            return "failure"
        case RetryBlock():
            return "retry"
        case EndBlock():
            return "failure" if context_full(block) else "end"
        case _:
            assert_never(block)


def awaits_reply(block: ToolBlock) -> bool:
    """Whether the agent asked the person something that is still open."""
    return bool(block.asks) and block.reply is None and not block.finished


def item_spans(blocks: Sequence[TranscriptBlock], start: int, end: int) -> list[ItemSpan]:
    """The items of ``blocks[start:end]``."""
    out: list[ItemSpan] = []
    for index in range(start, end):
        kind = kind_of(blocks[index])
        patch = _patch_of(blocks[index])
        joins = kind in ("tools", "retry") or (patch and patch == _patch_of(blocks[index - 1]))
        if joins and out and out[-1].kind == kind:
            out[-1] = ItemSpan(kind, out[-1].first, index + 1)
        else:
            out.append(ItemSpan(kind, index, index + 1))
    return out


def _patch_of(block: TranscriptBlock) -> str:
    """The patch that a draft belongs to; "" for all else."""
    draft = block.draft if isinstance(block, DraftBlock) else None
    return draft.patch if isinstance(draft, FileDraft) else ""


def works_unseen(blocks: Sequence[TranscriptBlock]) -> bool:
    """Whether nothing at the end of a running turn moves by itself or waits for the person."""
    for block in reversed(blocks):
        match block:
            case ToolBlock():
                if not block.finished:
                    return False
            case TextBlock() | ReasoningBlock():
                return block is not blocks[-1] or not block.live
            case RetryBlock():
                return block.state != "waiting"
            case UserBlock() | AgentBlock():
                return True
            case _:
                pass
    return True


# -- tool rows -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One row of a tool card: a call, or several finished reads as one."""

    calls: tuple[ToolBlock, ...]

    @property
    def merged(self) -> bool:
        return len(self.calls) > 1

    @property
    def key(self) -> int:
        """Stays the same while the row grows."""
        return id(self.calls[0])


_SEARCHES = frozenset({"search", "file-search", "list", "folder", "folder-open"})


def rows(calls: Sequence[ToolBlock]) -> list[ToolRow]:
    """Adjacent finished reads become one row; a call whose draft or plan is shown has none."""
    out: list[ToolRow] = []
    reads: list[ToolBlock] = []

    def flush() -> None:
        if reads:
            out.append(ToolRow(tuple(reads)))
            reads.clear()

    for call in calls:
        if has_no_row(call):
            continue
        plain = not call.asks and not call.external and call.child is None
        if call.effect == "read" and call.state == "done" and plain:
            reads.append(call)
        else:
            flush()
            out.append(ToolRow((call,)))
    flush()
    return out


def has_no_row(block: TranscriptBlock) -> bool:
    """Whether it is a call that is not shown, for its draft or its plan is."""
    if not isinstance(block, ToolBlock) or block.state != "done" or block.external:
        return False
    return block.effect == "draft" or block.name == PLAN


def explored(calls: Sequence[ToolBlock]) -> str:
    """“5 files, 2 searches”."""
    searches = sum(call.icon in _SEARCHES for call in calls)
    pages = sum(call.icon == "globe" for call in calls)
    files = len(calls) - searches - pages
    counts = (
        tr_plural("{count} file", "{count} files", files) if files else "",
        tr_plural("{count} search", "{count} searches", searches) if searches else "",
        tr_plural("{count} page", "{count} pages", pages) if pages else "",
    )
    return ", ".join(filter(None, counts))


def _infinitives() -> dict[str, str]:
    """The first words of calls of our tools that wait or never ran."""
    return {
        "apply_patch": tr_in("what a tool is to do", "Apply patch"),
        "ask": tr_in("what a tool is to do", "Ask"),
        "delete": tr_in("what a tool is to do", "Delete"),
        "edit": tr_in("what a tool is to do", "Edit"),
        "fetch": tr_in("what a tool is to do", "Fetch"),
        "glob": tr_in("what a tool is to do", "Find"),
        "job": tr_in("what a tool is to do", "Check"),
        "list": tr_in("what a tool is to do", "List"),
        "move": tr_in("what a tool is to do", "Move"),
        "outline": tr_in("what a tool is to do", "Outline"),
        "plan": tr_in("what a tool is to do", "Plan"),
        "read": tr_in("what a tool is to do", "Read"),
        "run": tr_in("what a tool is to do", "Run"),
        "search": tr_in("what a tool is to do", "Search"),
        "web_search": tr_in("what a tool is to do", "Search the web"),
        "write": tr_in("what a tool is to do", "Write"),
    }


def verb(call: ToolBlock) -> str:
    """The first word of a row: “Running” while it goes on, “Ran” after.

    “Run” for a call that waits or never ran. A reading that failed did not read: it is “Read”
    or “Fetch”, too; a command that failed ran.
    """
    plain = call.name.replace("_", " ").capitalize()
    if call.external:
        return plain  # its words are the client's, and it has none
    if "__" in call.name:  # a server's tool: its words are the server's name and its own
        return call.verb or plain
    plain = _infinitives().get(call.name, plain)
    if call.state == "running":
        return tr_engine(call.verb) or plain
    if call.state == "done" or (call.finished and call.started and call.effect == "act"):
        return tr_engine(call.done) or plain
    return plain


BY_CLIENT = tr_later("Run by the client")


def client_status(call: ToolBlock) -> str:
    """The words at the right of a row for a call that the client runs."""
    match call.state:
        case "writing":
            return tr("Preparing")
        case "queued" | "waiting" | "running":
            return tr("Waits for the client")
        case "denied" | "cancelled":
            return tr("No result")
        case "error":
            return tr_engine(call.summary.partition("\n")[0]) or tr("Failed at the client")
        case "done":
            return tr_engine(call.summary.partition("\n")[0]) or tr(BY_CLIENT)
        case _:
            assert_never(call.state)


AT_ONCE = 0.05
"""Seconds that are none to a person: they would read 0.0."""


def row_status(call: ToolBlock, elapsed: float | None) -> str:
    """The words at the right of a row; ``elapsed`` is of a running call, in seconds."""
    if call.external:
        return client_status(call)
    if call.child is not None and (words := child_status(call.child, call, elapsed)):
        return words
    match call.state:
        case "writing":
            return tr("Preparing")
        case "queued":
            return tr("Queued")
        case "waiting":
            return tr("Needs your answer")
        case "running":
            return clock(elapsed or 0.0)
        case "denied":
            return tr("Denied")
        case "cancelled":
            return tr("Stopped")
        case "error":
            return _result(call) or tr("Failed")
        case "done":
            return _result(call) or time_taken(call.seconds)
        case _:
            assert_never(call.state)


def child_status(child: ChildWorks, call: ToolBlock, elapsed: float | None) -> str:
    """What another agent does for a call, or how it ended, with what it cost."""
    cost = dollars(child.dollars, 2 if child.dollars >= 0.1 else 4) if child.dollars else ""
    if child.reason:
        done = tr("Done") if child.background else duration(call.seconds)
        ended = done if child.reason == "done" else tr("Has ended early")
        return " · ".join(filter(None, [ended, cost]))
    if call.finished and child.background:
        return " · ".join(filter(None, [tr("In the background"), cost]))
    if call.finished:  # the program ended meanwhile
        return tr("Stopped") if call.state == "cancelled" else ""
    doing = f"{tr_engine(child.doing)} {child.target}".strip() or tr("Begins")
    time = clock(elapsed) if elapsed is not None else ""
    return " · ".join(filter(None, [doing, cost, time]))


def time_taken(seconds: float) -> str:
    """How long a call took, where it took any time."""
    return duration(seconds) if seconds >= AT_ONCE else ""


def _result(call: ToolBlock) -> str:
    """The first line of the summary; “Exit 1 · 14 s” for what took its time.

    Of a command that went well its time says enough.
    """
    line = call.summary.partition("\n")[0]
    if line == "exit 0":
        return ""
    if not line or call.effect != "act" or call.seconds < AT_ONCE:
        return tr_engine(line)
    line = tr_engine(line)
    return f"{line[0].upper()}{line[1:]} · {duration(call.seconds)}"


STATES = {
    "writing": tr_later("being prepared"),
    "queued": tr_later("queued"),
    "waiting": tr_later("needs your answer"),
    "running": tr_later("running"),
    "done": tr_later("done"),
    "error": tr_later("failed"),
    "denied": tr_later("denied"),
    "cancelled": tr_later("stopped"),
}
"""States as a screen reader says them."""


def spoken_row(row: ToolRow, opened: bool) -> str:
    """“Ran pytest, failed, exit 1, collapsed”."""
    call = row.calls[0]
    state = client_status(call).lower() if call.external else tr(STATES[call.state])
    parts = (
        [tr("Explored {what}").format(what=explored(row.calls)), tr("done")]
        if row.merged
        else [*_spoken_call(call), state, tr_engine(call.summary)]
    )
    parts.append(tr("expanded") if opened else tr("collapsed"))
    return ", ".join(part for part in parts if part)


def _spoken_call(call: ToolBlock) -> list[str]:
    """What is done; of another agent's work its name and its task."""
    if call.child is None:
        return [f"{verb(call)} {call.target}".strip()]
    return [call.child.agent, str(call.arguments.get("task") or verb(call))]


# -- words ---------------------------------------------------------------------


class RecoveryAction(StrEnum):
    """What can be done about an error, a wait or a turn that ended at a limit."""

    TRY_AGAIN = auto()
    TRY_NOW = auto()
    STOP = auto()
    GO_ON = auto()
    GO_ON_BACKGROUND = auto()
    CONTINUE = auto()
    COMPACT = auto()
    NEW_CHAT_FROM_HERE = auto()
    RAISE_CAP = auto()
    CHOOSE_MODEL = auto()
    SWITCH_MODEL = auto()
    USE_ANOTHER_PROVIDER = auto()
    REPLACE_KEY = auto()
    CHOOSE_FOLDER = auto()
    SETTINGS = auto()
    REMOVE_FROM_QUEUE = auto()


@dataclass(frozen=True, slots=True)
class CardAction:
    """A button of a card: what it does, its text and its look.

    ``name`` is a ``RecoveryAction``, or an action that the transcript knows itself.
    """

    name: str
    text: str
    style: Literal["primary", "secondary", "ghost"] = "secondary"


AGAIN = CardAction(RecoveryAction.TRY_AGAIN, tr_later("Try again"))
OTHER = CardAction(RecoveryAction.USE_ANOTHER_PROVIDER, tr_later("Use another provider"))
_KEY = (CardAction(RecoveryAction.REPLACE_KEY, tr_later("Replace key…"), "primary"), OTHER)
_FAILURES: dict[str, tuple[str, str, tuple[CardAction, ...]]] = {
    "bad_key": ("key-round", "err", _KEY),
    "no_key": (
        "key-round",
        "warn",
        (CardAction(RecoveryAction.REPLACE_KEY, tr_later("Add key…"), "primary"), OTHER),
    ),
    "forbidden": ("lock", "err", (AGAIN, OTHER)),
    "no_credit": ("circle-alert", "err", (AGAIN, OTHER)),
    "rate_limited": ("hourglass", "warn", (AGAIN, OTHER)),
    "overloaded": ("hourglass", "warn", (AGAIN, OTHER)),
    "network": ("wifi-off", "neutral", (AGAIN, OTHER)),
    "not_found": ("search", "err", (AGAIN, OTHER)),
    "no_folder": (
        "folder",
        "err",
        (CardAction(RecoveryAction.CHOOSE_FOLDER, tr_later("Choose folder…")), AGAIN),
    ),
    "too_long": (
        "gauge",
        "warn",
        (
            CardAction(RecoveryAction.COMPACT, tr_later("Compact and continue"), "primary"),
            CardAction(RecoveryAction.CHOOSE_MODEL, tr_later("Choose a larger model")),
            CardAction(RecoveryAction.NEW_CHAT_FROM_HERE, tr_later("New chat from here"), "ghost"),
        ),
    ),
}


def failure_style(fault: str) -> tuple[str, str, tuple[CardAction, ...]]:
    """Icon, tint and buttons of an error card."""
    return _FAILURES.get(fault, ("circle-alert", "err", (AGAIN,)))


@dataclass(frozen=True, slots=True)
class ErrorCard:
    """What an error card shows."""

    icon: str
    tint: str
    title: str
    detail: str
    actions: tuple[CardAction, ...]


def context_full(block: EndBlock) -> bool:
    """Whether a turn ended because the conversation fills the model's context."""
    return block.reason == "token_limit" and "context" in block.detail


GO_ON = CardAction(RecoveryAction.GO_ON, tr_later("Go on"))


def continue_turn() -> CardAction:
    """The button where a turn was stopped or cut off: the model goes on from there."""
    return CardAction(RecoveryAction.GO_ON, tr("Continue"))


_LIMITS = CardAction(RecoveryAction.SETTINGS, tr_later("Settings…"), "ghost")


def end_actions(block: EndBlock, raised: str) -> tuple[CardAction, ...]:
    """What can be done about a turn that ended at a limit (L-1, L-14).

    ``raised`` is what the chat's limit would be raised to.
    """
    if block.reason in ("step_limit", "time_limit"):
        inline = CardAction(RecoveryAction.GO_ON_BACKGROUND, tr("Continue in background"))
        return (inline,) if block.mode == "inline" else (GO_ON,)
    if block.reason == "cancelled":
        return (continue_turn(),)
    if block.reason == "stalled":
        return CardAction(RecoveryAction.CHOOSE_MODEL, tr("Try another model")), GO_ON
    match block.cap:
        case "turn":
            return GO_ON, _LIMITS
        case "session":
            return CardAction(
                RecoveryAction.RAISE_CAP, tr("Raise to {raised}").format(raised=raised)
            ), _LIMITS
        case "day" | "month" | "hour":
            return _LIMITS, GO_ON
        case _:
            pass
    if block.reason == "token_limit" and "output limit" in block.detail:
        return (CardAction(RecoveryAction.CONTINUE, tr("Continue")),)
    return ()


def offline_card(block: FailureBlock) -> ErrorCard:
    """A message that goes out when its provider can be reached again."""
    back = CardAction(RecoveryAction.REMOVE_FROM_QUEUE, tr("Remove from queue"), "ghost")
    provider = PROVIDERS.get(block.provider)
    if provider is not None and (provider.local or not provider.address):
        title = tr("{provider} does not answer").format(provider=provider.title)
        detail = tr("The message is queued and goes out when it does.")
    else:
        title = tr("You’re offline")
        detail = tr("The message is queued and goes out when the network is back.")
    reason = tr_engine(block.title)
    reason = reason if reason.endswith(".") else f"{reason}."
    return ErrorCard("wifi-off", "neutral", title, f"{detail}\n{reason}", (OTHER, back))


def error_card(
    block: FailureBlock | EndBlock, shortened: bool = False, *, cut_off: bool = False
) -> ErrorCard:
    """An error, or a turn that ended because the context is full.

    ``shortened`` says that room was made since, ``cut_off`` that a part of the answer came.
    """
    if isinstance(block, EndBlock) or block.fault == "too_long":
        told = block.detail if isinstance(block, EndBlock) else block.title
        icon, tint, actions = failure_style("too_long")
        if shortened:
            actions = (CardAction(RecoveryAction.TRY_AGAIN, tr("Continue"), "primary"),)
            return ErrorCard(
                icon, "neutral", tr("This chat was full"), tr("It has room again."), actions
            )
        return ErrorCard(icon, tint, tr("This chat is full"), tr_engine(told), actions)
    icon, tint, actions = failure_style(block.fault)
    if cut_off:
        actions = tuple(continue_turn() if action is AGAIN else action for action in actions)
    title, rest = split_title(tr_engine(block.title))
    detail = " ".join(filter(None, (rest, tr_engine(block.detail))))
    return ErrorCard(icon, tint, title.rstrip("."), detail, actions)


def split_title(told: str) -> tuple[str, str]:
    """The first sentence, for a title, and the rest."""
    first, _, rest = told.partition(". ")
    return (f"{first}." if rest else first), rest


_HAPPENED = {
    "rate_limited": tr_later("{title} asked for a pause."),
    "overloaded": tr_later("{title} was overloaded."),
    "network": tr_later("The connection to {title} failed."),
    "server": tr_later("{title} had an error of its own."),
}


def countdown(block: RetryBlock, left: float) -> str:
    """“Trying again in 0:23. Attempt 2 of 5.”"""
    when = (
        tr("Trying again in {time}.").format(time=clock(ceil(left)))
        if left > 0
        else tr("Trying again.")
    )
    return f"{when} {_attempt(block)}"


def _attempt(block: RetryBlock) -> str:
    words = tr("Attempt {number} of {most}.")
    return words.format(number=block.attempt, most=block.attempts)


def retry_line(waits: Sequence[RetryBlock]) -> str:
    """Waits before further attempts in one line: what happened last, what came of it."""
    block, more = waits[-1], len(waits) - 1
    if block.state == "waiting":
        return " ".join((tr_engine(block.title), tr("Waiting to try again."), _attempt(block)))
    happened = tr(_HAPPENED.get(block.fault, "")) if block.provider else ""
    title = PROVIDER_TITLES.get(block.provider, block.provider)
    what = happened.format(title=title) or tr_engine(block.title)
    if block.state == "stopped" and more:
        stopped = tr_plural(
            "Tried again once, then stopped.", "Tried again {count} times, then stopped.", more
        )
        return f"{what} {stopped}"
    if block.state == "stopped":
        return " ".join((what, tr("Stopped before trying again.")))
    if more:
        times = tr("{what} Tried again {count} times in {time}.")
        seconds = duration(sum(wait.seconds for wait in waits))
        return times.format(what=what, count=len(waits), time=seconds)
    return " ".join((what, tr("Tried again after {time}.").format(time=duration(block.seconds))))


def spoken_outcome(event: Event, agent: str) -> str:
    """What a screen reader says when a turn fails or ends; empty for all else."""
    if isinstance(event, Failed):
        title, detail = tr_engine(event.title), tr_engine(event.detail)
        end = "" if title.endswith(".") else "."
        return f"{title}{end} {detail}" if detail else title
    if isinstance(event, RetryScheduled):
        words = tr("Trying again in {time}.").format(time=whole_seconds(event.seconds))
        return f"{tr_engine(event.title)} {words}"
    if isinstance(event, Silent):
        return tr("Nothing has come for {time}.").format(time=whole_seconds(event.seconds))
    if not isinstance(event, TurnComplete) or event.reason == "error":
        return ""  # its ``Failed`` has said what went wrong
    if event.reason == "done":
        return tr("{agent} is done.").format(agent=agent)
    return tr_engine(describe_end(event.reason, event.detail))
