"""A conversation made to take less room: the first stage, old results become stubs (L-10).

What the person said, what the model answered, every call and the newest
results stay whole. The transcript keeps everything; only the new native
history that is built of this is shorter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from studio.domain.messages import Block, Image, Message, Text, ToolResult

KEPT_RESULTS = 3
WORTH = 400
"""Characters; a stub for less would save nothing."""
STUB = "[An older result of {name}, {size:,} characters, was left out. Call it again if needed.]"
WHY = "Older results were shortened to save room."


def shortened(messages: Sequence[Message], keep: int = KEPT_RESULTS) -> list[Message]:
    """The conversation with all but the last ``keep`` results replaced by stubs."""
    left = sum(isinstance(block, ToolResult) for m in messages for block in m.blocks) - keep
    out: list[Message] = []
    for message in messages:
        blocks: list[Block] = []
        for block in message.blocks:
            if isinstance(block, ToolResult):
                blocks.append(_stub(block) if left > 0 else block)
                left -= 1
            else:
                blocks.append(block)
        out.append(replace(message, blocks=tuple(blocks)))
    return out


def _stub(result: ToolResult) -> ToolResult:
    size = len(result.text)
    if size < WORTH and not any(isinstance(part, Image) for part in result.content):
        return result
    return replace(result, content=(Text(STUB.format(name=result.name, size=size)),))
