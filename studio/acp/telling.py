"""What happens in a turn, in the protocol's words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from acp import (
    start_tool_call,
    text_block,
    tool_content,
    tool_diff_content,
    update_agent_message_text,
    update_agent_thought_text,
    update_tool_call,
    update_user_message,
    update_user_message_text,
)
from acp.schema import StopReason, ToolCallLocation, ToolKind

from studio.agent.endings import ending
from studio.domain.blocks import (
    ReasoningBlock,
    TextBlock,
    ToolBlock,
    TranscriptBlock,
    UserBlock,
)
from studio.domain.events import (
    CompletionReason,
    DraftCreated,
    Event,
    Notice,
    ReasoningDelta,
    RetryScheduled,
    Routed,
    Silent,
    TextDelta,
    ToolFinished,
    ToolOutput,
    ToolQueued,
    ToolStarted,
)
from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Image, Text
from studio.domain.tools import Draft, Effect

Update: TypeAlias = Any
"""One of the library's updates; it has no name for all of them."""

STOPS: dict[CompletionReason, StopReason] = {
    "done": "end_turn",
    "handed_over": "end_turn",
    "token_limit": "max_tokens",
    "money_limit": "max_turn_requests",
    "step_limit": "max_turn_requests",
    "time_limit": "max_turn_requests",
    "stalled": "max_turn_requests",
    "refused": "refusal",
    "cancelled": "cancelled",
}
_KINDS: dict[str, ToolKind] = {
    "read": "read",
    "list": "read",
    "glob": "search",
    "search": "search",
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
    "act": "other",
}


class Telling:
    """The updates of one session, in its folder."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._outputs: dict[str, str] = {}

    def of(self, event: Event) -> Iterator[Update]:
        """What an editor is told of an event; nothing of most."""
        match event:
            case TextDelta():
                yield update_agent_message_text(event.text)
            case ReasoningDelta():
                yield update_agent_thought_text(event.text)
            case ToolQueued():
                yield self._begun(event)
            case ToolStarted():
                yield update_tool_call(event.call_id, status="in_progress")
            case ToolOutput():
                whole = self._outputs.get(event.call_id, "") + event.text
                self._outputs[event.call_id] = whole
                yield update_tool_call(event.call_id, content=[_words(whole)])
            case ToolFinished():
                self._outputs.pop(event.call_id, None)
                yield update_tool_call(
                    event.call_id,
                    status="failed" if event.is_error else "completed",
                    content=self.text(event.text),
                )
            case DraftCreated():
                yield update_tool_call(event.call_id, content=[self.change(event.draft)])
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

    def again(self, blocks: Sequence[TranscriptBlock]) -> Iterator[Update]:
        """A conversation that was led before, for an editor that opens it again."""
        for block in blocks:
            match block:
                case UserBlock():
                    yield from _said(block)
                case TextBlock():
                    yield update_agent_message_text(block.text)
                case ReasoningBlock():
                    yield update_agent_thought_text(block.text)
                case ToolBlock():
                    queued = ToolQueued(
                        block.call_id, block.name, block.arguments, block.target, block.effect,
                        block.verb, block.done,
                    )  # fmt: skip
                    yield self._begun(queued)
                    yield update_tool_call(
                        block.call_id,
                        status="completed" if block.state == "done" else "failed",
                        content=self.text(block.output),
                    )
                case _:
                    continue

    @staticmethod
    def text(text: str) -> list[Any] | None:
        """Words as the content of a call; None where there are none."""
        return [_words(text)] if text.strip() else None

    def change(self, draft: Draft) -> Any:
        """A draft as the editor shows it."""
        path = str(self._folder / draft.path)
        return tool_diff_content(path, draft.after, draft.before)

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
        path = arguments.get("path")
        if not isinstance(path, str) or "\0" in path:
            return None
        return [ToolCallLocation(path=str(self._folder / path))]


def last_words(reason: CompletionReason, detail: str) -> str:
    """Why a turn ended that did not end by itself; empty where the protocol says it."""
    return "" if reason in ("done", "cancelled", "handed_over") else ending(reason, detail)


def _said(block: UserBlock) -> Iterator[Update]:
    from base64 import b64encode

    from acp import image_block

    for part in block.said:
        match part:
            case Text():
                yield update_user_message_text(part.text)
            case Image():
                data = b64encode(part.data).decode()
                yield update_user_message(image_block(data, part.media_type))
            case _:
                yield update_user_message_text(f"[{part.name}]")


def _words(text: str) -> Any:
    return tool_content(text_block(text))
