"""Truncation: replaces old results of tools by one line each, the first stage (L-10).

The person's words, the model's answers, every call, the newest results, the plan and the last
failure stay whole (C-26). The transcript keeps everything; only the new native history is shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from studio.agent.prompts import RESULT_CUT, RESULT_STUB
from studio.domain.messages import Block, Image, Message, Text, ToolResult
from studio.domain.tools import SKILL

KEPT_RESULTS = 3
KEPT = ("plan", SKILL)
"""The tools whose results are never shortened."""
NAMED_SOURCES = 5
"""Sources that a stub names, such as a file with its lines."""
NAMED_CHARACTERS = 300
"""Characters of their names."""
MIN_SAVED_CHARACTERS = 400
"""Characters of a result that a stub replaces at least; less would save nothing."""
TRUNCATION_LENGTHS = (8_000, 2_000, MIN_SAVED_CHARACTERS)
"""Characters kept of the newest results, tried in this order if nothing else helps."""
SHORTENED = "Older results were shortened to save room."


def shorten_results(messages: Sequence[Message], keep: int = KEPT_RESULTS) -> list[Message]:
    """The conversation with all but the last ``keep`` results replaced by stubs."""
    results = [block for m in messages for block in m.blocks if isinstance(block, ToolResult)]
    newest = results[-keep:]
    failures = [result for result in results if result.is_error]
    spared = {id(result) for result in (*newest, *failures[-1:])}

    def change(result: ToolResult) -> ToolResult:
        return result if id(result) in spared or result.name in KEPT else _stub(result)

    return _changed(messages, change)


def truncate_results(messages: Sequence[Message], most: int) -> list[Message]:
    """The conversation with at most ``most`` characters of each result."""
    return _changed(messages, lambda result: _cut(result, most))


def _changed(
    messages: Sequence[Message], change: Callable[[ToolResult], ToolResult]
) -> list[Message]:
    out: list[Message] = []
    for message in messages:
        blocks: tuple[Block, ...] = tuple(
            change(block) if isinstance(block, ToolResult) else block for block in message.blocks
        )
        out.append(replace(message, blocks=blocks))
    return out


def _stub(result: ToolResult) -> ToolResult:
    size = len(result.text)
    if size < MIN_SAVED_CHARACTERS and not any(isinstance(part, Image) for part in result.content):
        return result
    named = ", ".join(result.sources[:NAMED_SOURCES])
    more = " and others" if len(result.sources) > NAMED_SOURCES else ""
    of = f" ({named[:NAMED_CHARACTERS]}{more})" if named else ""
    text = RESULT_STUB.format(name=result.name, of=of, size=size)
    return replace(result, content=(Text(text),))


def _cut(result: ToolResult, most: int) -> ToolResult:
    text = result.text
    if len(text) <= most:
        return result
    half = most // 2
    gap = RESULT_CUT.format(name=result.name, size=len(text) - 2 * half)
    pictures = (part for part in result.content if isinstance(part, Image))
    return replace(result, content=(Text(text[:half] + gap + text[-half:]), *pictures))
