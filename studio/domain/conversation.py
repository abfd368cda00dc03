"""The conversation as values, made of what a person sees (H-7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from .blocks import (
    AgentBlock,
    DraftBlock,
    EndBlock,
    FailureBlock,
    FilesBlock,
    NoticeBlock,
    ReasoningBlock,
    RetryBlock,
    SummaryBlock,
    TextBlock,
    ToolBlock,
    TranscriptBlock,
    UserBlock,
)
from .messages import Block as SaidBlock
from .messages import Message, Reasoning, Text, ToolCall, ToolResult


def conversation(blocks: Sequence[TranscriptBlock]) -> list[Message]:
    """What was said and done, for a new native history and for export.

    Every call is followed by its result in the next message; a call that
    never got one is closed with an error that says so (H-5). One that the
    model did not finish writing is left out.
    """
    out: list[Message] = []
    said: list[SaidBlock] = []
    results: list[ToolResult] = []
    step = 0

    def flush() -> None:
        if said:
            out.append(Message("assistant", tuple(said)))
            said.clear()
        if results:
            out.append(Message("user", tuple(results)))
            results.clear()

    for block in blocks:
        match block:
            case UserBlock():
                flush()
                out.append(Message("user", block.said))
            case TextBlock():
                if results:
                    flush()
                if block.text.strip():
                    said.append(Text(block.text))
            case ReasoningBlock():
                if results:
                    flush()
                said.append(Reasoning(block.text))
            case ToolBlock():
                if not block.whole:
                    continue
                if results and block.step != step:
                    flush()
                step = block.step
                said.append(ToolCall(block.call_id, block.name, block.arguments))
                results.append(
                    ToolResult(
                        block.call_id,
                        block.name,
                        (Text(_outcome(block)), *block.images),
                        is_error=block.state != "done",
                    )
                )
            case AgentBlock() | DraftBlock() | NoticeBlock() | SummaryBlock() | FilesBlock():
                pass
            case FailureBlock() | RetryBlock() | EndBlock():
                pass
            case _:
                assert_never(block)
    flush()
    return out


def _outcome(tool: ToolBlock) -> str:
    """What a call came to, in words for the model."""
    if tool.finished and tool.state != "cancelled":
        return tool.output or "(no output)"
    ended = "The turn ended before this was done. What it did by then is not known."
    return f"{tool.output}\n\n{ended}".lstrip()
