"""Blocks to messages: builds the conversation for a new native history (H-7)."""

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

SUMMARY = '<summary of="the earlier conversation" by="the program">\n{text}\n</summary>'


def active_summary(blocks: Sequence[TranscriptBlock]) -> SummaryBlock | None:
    """The summary that stands for the beginning, where there is one."""
    for block in reversed(blocks):
        if isinstance(block, SummaryBlock) and block.state == "holds":
            return block
    return None


def blocks_to_messages(blocks: Sequence[TranscriptBlock], end: int | None = None) -> list[Message]:
    """What was said and done, for a new native history; of the blocks before ``end``.

    Every call is followed by its result in the next message; a call that
    never got one is closed with an error that says so (H-5). One that the
    model did not finish writing is left out.

    Where a summary holds, it comes first, as words to the model; what was
    pinned follows, and the person's message that is being worked on, both as
    they were said; then all that came after the part summed up.
    """
    summary = active_summary(blocks)
    blocks = blocks[:end]
    if summary is None:
        return all_messages(blocks)
    words = Message("user", (Text(SUMMARY.format(text=summary.text)),))
    kept = _kept(blocks, summary.blocks)
    return [words, *all_messages([*kept, *blocks[summary.blocks :]])]


def _kept(blocks: Sequence[TranscriptBlock], cut: int) -> list[TranscriptBlock]:
    """What is kept of the blocks before ``cut``: pins, and the message that is worked on."""
    before = blocks[:cut]
    asked = len(before)
    if not _begins(blocks[cut:]):
        while asked and not _is_message(before[asked - 1]):
            asked -= 1
        asked = max(asked - 1, 0)
    return [
        block
        for index, block in enumerate(before)
        if (isinstance(block, UserBlock) and (block.pinned or index >= asked))
        or (isinstance(block, TextBlock) and block.pinned)
    ]


def _begins(blocks: Sequence[TranscriptBlock]) -> bool:
    """Whether they begin with a message of the person, not in the middle of an answer."""
    for block in blocks:
        if isinstance(block, UserBlock | TextBlock | ReasoningBlock | ToolBlock):
            return _is_message(block)
    return False


def _is_message(block: TranscriptBlock) -> bool:
    return isinstance(block, UserBlock) and not block.steered


def all_messages(blocks: Sequence[TranscriptBlock]) -> list[Message]:
    """All that was said and done, whatever was summed up for the model."""
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
