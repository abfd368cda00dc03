"""The token counter estimates the length of a request before it is sent.

The agent's own instructions and tools count, since the model gets them too.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path

from studio.agent.context.token_count import TokenEstimator
from studio.agent.engine import Engine
from studio.agent.session.agent_setup import load_agent_setup
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.messages import Block, File, Image, Reasoning, Text, ToolCall, ToolResult
from studio.domain.models import NO_USAGE
from studio.domain.sessions import SessionInfo
from studio.domain.tools import ToolSpec
from studio.providers.media import base64_text, text_of_file

from .contract import ApiRequest, BadRequest
from .model_names import resolve_model


async def count_tokens(engine: Engine, request: ApiRequest, folder: Path) -> int:
    """Estimate the tokens of a request; ``folder`` is where agents work for clients.

    Raises BadRequest for a model that does not exist here, and for an earlier answer.
    """
    if request.previous:
        why = "Earlier answers are not counted. Send the whole conversation in “input”."
        raise BadRequest(why, param="previous_response_id")
    target = await resolve_model(engine, request.model, folder)
    info = SessionInfo(
        id="",
        title="",
        folder=str(folder),
        agent=target.agent,
        provider=target.provider,
        model=target.model,
        permission_mode=engine.settings.values.default_permission_mode,
        created=0.0,
        updated=0.0,
        instructions=request.instructions,
    )
    setup = await load_agent_setup(
        info, engine.services, ceiling=engine.services.client_policy(), external=request.tools
    )
    system, tools = setup.prompt.instructions, tuple(setup.offered)
    return await asyncio.to_thread(
        estimate_tokens, replace(request, instructions=system, tools=tools)
    )


def estimate_tokens(request: ApiRequest) -> int:
    """Estimate the tokens of everything in a request. Takes long for large files."""
    items: list[JsonObject] = [
        {"role": message.role, "content": [_weighable(block) for block in message.blocks]}
        for message in request.messages
    ]
    written = _RequestHistory(items, request.instructions, list(request.tools))
    return TokenEstimator().total(written, None, NO_USAGE)


@dataclass(slots=True)
class _RequestHistory:
    """See ``token_count.EstimatedHistory``."""

    items: list[JsonObject]
    system: str
    tools: list[ToolSpec]
    epoch: int = 1  # none that was weighed before
    chain: list[str] = field(default_factory=lambda: [""])


def _weighable(block: Block) -> Json:
    match block:
        case Text(text):
            return {"text": text}
        case Reasoning():
            return None  # no model gets it
        case File() if (text := text_of_file(block)) is not None:
            return {"text": text}
        case Image() | File():
            return {"data": base64_text(block.data)}
        case ToolCall():
            return {"id": block.id, "name": block.name, "input": block.arguments or block.raw}
        case ToolResult():
            content: list[Json] = [_weighable(part) for part in block.content]
            return {"type": "tool_result", "tool_use_id": block.call_id, "content": content}
