"""``POST /v1/messages/count_tokens``: how long a request is, about."""

from __future__ import annotations

from dataclasses import dataclass, field

from studio.agent.context.estimate import Estimate
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.messages import Block, File, Image, Reasoning, Text, ToolCall, ToolResult
from studio.domain.models import NOTHING
from studio.domain.tools import ToolSpec
from studio.providers.attachments import as_text, encoded

from .messages import Messages


def count_tokens(body: JsonObject) -> JsonObject:
    """``{"input_tokens": …}``, by our own estimate; raises BadRequest.

    The client's words and tools are counted. The agent's own are not: they are
    the same for every request. Takes long where there are large files.
    """
    asked = Messages().asked({**body, "max_tokens": 1})  # nothing is written
    items: list[JsonObject] = [
        {"role": message.role, "content": [_weighable(block) for block in message.blocks]}
        for message in asked.messages
    ]
    written = _Written(items, asked.instructions, list(asked.tools))
    return {"input_tokens": Estimate().total(written, None, NOTHING)}


@dataclass(slots=True)
class _Written:
    """See ``estimate.Written``."""

    items: list[JsonObject]
    system: str
    tools: list[ToolSpec]
    epoch: int = 0
    chain: list[str] = field(default_factory=lambda: [""])


def _weighable(block: Block) -> Json:
    match block:
        case Text(text):
            return {"text": text}
        case Reasoning():
            return None  # no model gets it
        case File() if (text := as_text(block)) is not None:
            return {"text": text}
        case Image() | File():
            return {"data": encoded(block.data)}
        case ToolCall():
            return {"id": block.id, "name": block.name, "input": block.arguments or block.raw}
        case ToolResult():
            content: list[Json] = [_weighable(part) for part in block.content]
            return {"type": "tool_result", "tool_use_id": block.call_id, "content": content}
