"""Session updates translate the events of a turn into the protocol's updates."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from acp import (
    image_block,
    plan_entry,
    start_tool_call,
    text_block,
    tool_content,
    tool_diff_content,
    tool_terminal_ref,
    update_agent_message_text,
    update_agent_thought_text,
    update_plan,
    update_tool_call,
    update_user_message,
    update_user_message_text,
)
from acp.schema import PlanEntryStatus, StopReason, ToolCallLocation, ToolCallStatus, ToolKind

from studio.agent.loop.user_messages import describe_end
from studio.agent.permission.approval import AHEAD
from studio.agent.permission.invisible_characters import escape_invisible
from studio.domain.blocks import (
    DraftBlock,
    PlanBlock,
    ReasoningBlock,
    TextBlock,
    ToolBlock,
    TranscriptBlock,
    UserBlock,
)
from studio.domain.drafts import Draft, DraftStatus
from studio.domain.events import (
    AwaitingReply,
    ChildWorks,
    CompletionReason,
    DraftCreated,
    Event,
    Notice,
    PlanChanged,
    ReasoningDelta,
    ReplyGiven,
    RetryScheduled,
    Routed,
    Silent,
    TextDelta,
    ToolFinished,
    ToolOutput,
    ToolQueued,
    ToolStarted,
    TurnComplete,
)
from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Image, Text
from studio.domain.plans import ItemState, Plan
from studio.domain.tools import Effect

Update: TypeAlias = Any
"""One of the library's updates; it has no name for all of them."""

STOPS: dict[CompletionReason, StopReason] = {
    "done": "end_turn",
    "handed_over": "end_turn",
    "token_limit": "max_tokens",
    "money_limit": "max_turn_requests",
    "step_limit": "max_turn_requests",
    "time_limit": "max_turn_requests",
    "request_limit": "max_turn_requests",
    "stalled": "max_turn_requests",
    "refused": "refusal",
    "cancelled": "cancelled",
}
_KINDS: dict[str, ToolKind] = {
    "read": "read",
    "list": "read",
    "glob": "search",
    "search": "search",
    "outline": "search",
    "write": "edit",
    "edit": "edit",
    "delete": "delete",
    "move": "move",
    "run": "execute",
}
_KIND_OF: dict[Effect, ToolKind] = {
    "read": "read",
    "fetch": "fetch",
    "draft": "edit",
    "note": "other",
    "act": "other",
}
PLAN = "plan"
"""The tool whose calls are the agent's plan, and not shown as calls."""
_PLAN_STATES: dict[ItemState, PlanEntryStatus] = {
    "pending": "pending",
    "active": "in_progress",
    "done": "completed",
}
_STATES: dict[DraftStatus, ToolCallStatus] = {"waiting": "pending", "approved": "completed"}


class SessionUpdates:
    """Makes the updates of one session, in its folder.

    ``terminals`` are those of the editor in which commands run, by the ids of their calls.
    """

    def __init__(self, folder: str, terminals: Mapping[str, str] | None = None) -> None:
        self._folder = Path(folder)
        self._terminals = dict[str, str]() if terminals is None else terminals
        self._outputs: dict[str, str] = {}
        self._changes: dict[str, Any] = {}
        self._open: dict[str, None] = {}
        self._planning: set[str] = set()
        """Calls that only show the plan."""

    def for_event(self, event: Event) -> Iterator[Update]:
        """Yield the updates of an event; most events have none."""
        match event:
            case TextDelta():
                yield update_agent_message_text(event.text)
            case ReasoningDelta():
                yield update_agent_thought_text(event.text)
            case ToolQueued() if event.name == PLAN:
                self._planning.add(event.call_id)
            case ToolStarted() | ToolFinished() if event.call_id in self._planning:
                if isinstance(event, ToolFinished):
                    self._planning.discard(event.call_id)
            case PlanChanged():
                yield _plan(event.plan)
            case ToolQueued():
                self._open[event.call_id] = None
                yield self._begun(event)
            case ToolStarted():
                yield update_tool_call(event.call_id, status="in_progress")
            case ToolOutput():
                whole = self._outputs.get(event.call_id, "") + event.text
                self._outputs[event.call_id] = whole
                yield update_tool_call(event.call_id, content=[_words(whole)])
            case ChildWorks() if event.call_id in self._open:
                doing = f"{event.agent}: {event.line or 'works'}"
                change = self._changes.get(event.call_id)  # what it drafted last stays shown
                content = [*([] if change is None else [change]), _words(doing)]
                yield update_tool_call(event.call_id, content=content)
            case ToolFinished():
                self._outputs.pop(event.call_id, None)
                self._open.pop(event.call_id, None)
                change = self._changes.pop(event.call_id, None)
                content = _content(event.text, event.images, change)
                if terminal := self._terminals.get(event.call_id):  # it shows what was printed
                    content = [tool_terminal_ref(terminal)]
                yield update_tool_call(
                    event.call_id,
                    status="failed" if event.is_error else "completed",
                    content=content,
                )
            case AwaitingReply() if event.call_id.startswith(AHEAD):  # no call that is shown
                self._open[event.call_id] = None
                yield start_tool_call(event.call_id, event.text, kind="other", status="pending")
            case ReplyGiven() if event.call_id.startswith(AHEAD):
                self._open.pop(event.call_id, None)
                content = [_words(event.text)]
                yield update_tool_call(event.call_id, status="completed", content=content)
            case DraftCreated():
                self._changes[event.call_id] = change = self.change(event.draft)
                yield update_tool_call(event.call_id, content=[change])
            case TurnComplete():
                for call_id in self._open:  # the turn ended before they did
                    yield update_tool_call(call_id, status="failed")
                self._open.clear()
            case Notice():
                yield update_agent_thought_text(f"{event.text}\n\n")
            case Routed():
                yield update_agent_thought_text(f"{event.why}\n\n")
            case RetryScheduled():
                yield update_agent_thought_text(
                    f"{event.title} Trying again in {event.seconds:.0f} s.\n\n"
                )
            case Silent():
                yield update_agent_thought_text(f"Nothing has come for {event.seconds:.0f} s.\n\n")
            case _:
                return

    def for_blocks(self, blocks: Sequence[TranscriptBlock]) -> Iterator[Update]:
        """Yield the updates that replay a stored conversation for an editor that opens it."""
        for block in blocks:
            match block:
                case UserBlock():
                    yield from _said(block)
                case TextBlock():
                    yield update_agent_message_text(block.text)
                case ReasoningBlock():
                    yield update_agent_thought_text(block.text)
                case ToolBlock() if block.name == PLAN:
                    continue
                case PlanBlock():
                    yield _plan(block.plan)
                case ToolBlock():
                    queued = ToolQueued(
                        block.call_id, block.name, block.arguments, block.target, block.effect,
                        block.verb, block.done,
                    )  # fmt: skip
                    yield self._begun(queued)
                    yield update_tool_call(
                        block.call_id,
                        status="completed" if block.state == "done" else "failed",
                        content=_content(block.output, block.images),
                    )
                case DraftBlock():
                    yield self._decided(block.draft)
                case _:
                    continue

    def change(self, draft: Draft) -> Any:
        """Return a draft as the editor shows it."""
        about = draft.describe()
        return tool_diff_content(str(self._folder / about.name), about.after, about.before)

    def _decided(self, draft: Draft) -> Update:
        """The update of an earlier draft, with its status."""
        return start_tool_call(
            f"draft-{draft.id}",
            escape_invisible(f"{draft.action.capitalize()} {draft.label} ({draft.status})"),
            kind="edit",
            status=_STATES.get(draft.status, "failed"),
            content=[self.change(draft)],
        )

    def _begun(self, call: ToolQueued) -> Update:
        return start_tool_call(
            call.call_id,
            f"{call.verb or call.name} {call.target}".strip(),
            kind=_KINDS.get(call.name, _KIND_OF[call.effect]),
            status="pending",
            locations=self._locations(call.arguments),
            raw_input=call.arguments,
        )

    def _locations(self, arguments: JsonObject) -> list[ToolCallLocation] | None:
        several = arguments.get("paths")
        named = [arguments.get("path"), *(several if isinstance(several, list) else ())]
        paths = [one for one in named if isinstance(one, str) and one and "\0" not in one]
        return [ToolCallLocation(path=str(self._folder / one)) for one in paths] or None


def end_note(reason: CompletionReason, detail: str) -> str:
    """A sentence on why a turn was ended; empty where the protocol has a reason for it."""
    return "" if reason in ("done", "cancelled", "handed_over") else describe_end(reason, detail)


def _plan(plan: Plan) -> Update:
    """The agent's plan; what is dropped is in it no more."""
    return update_plan(
        [
            plan_entry(item.text, status=_PLAN_STATES[item.status])
            for item in plan.items
            if item.status in _PLAN_STATES
        ]
    )


def text_content(text: str) -> list[Any] | None:
    """Words as the content of a call; None where there are none."""
    return [_words(text)] if text.strip() else None


def _content(text: str, images: Sequence[Image], change: Any = None) -> list[Any] | None:
    """The whole content of a call; it replaces the content that was sent before."""
    changes = [] if change is None else [change]
    return [
        *changes,
        *(text_content(text) or ()),
        *(tool_content(_image(one)) for one in images),
    ] or None


def _image(image: Image) -> Any:
    return image_block(b64encode(image.data).decode(), image.media_type)


def _said(block: UserBlock) -> Iterator[Update]:
    for part in block.said:
        match part:
            case Text():
                yield update_user_message_text(part.text)
            case Image():
                yield update_user_message(_image(part))
            case _:
                yield update_user_message_text(f"[{part.name}]")


def _words(text: str) -> Any:
    return tool_content(text_block(text))
