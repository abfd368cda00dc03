"""The token counter estimates the length of a request before it is sent.

The agent's own instructions and tools count, since the model gets them too.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path

from studio.agent.context.token_count import Estimate
from studio.agent.engine import Engine
from studio.agent.session.agent_setup import load_agent_setup
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.messages import Block, File, Image, Reasoning, Text, ToolCall, ToolResult
from studio.domain.models import NOTHING
from studio.domain.sessions import SessionInfo
from studio.domain.tools import ToolSpec
from studio.providers.media import base64_text, text_of_file

from .client_policy import client_policy
from .contract import ApiRequest, BadRequest
from .model_names import resolve_model


class TokenCounter:
    """Counts the tokens of a request; ``folder`` is where agents work for clients."""

    def __init__(self, studio: Engine, folder: Path) -> None:
        self._studio = studio
        self._folder = folder

    async def __call__(self, asked: ApiRequest) -> int:
        """Raises BadRequest for a model that does not exist here, and for an earlier answer."""
        if asked.previous:
            why = "Earlier answers are not counted. Send the whole conversation in “input”."
            raise BadRequest(why, param="previous_response_id")
        runs = await resolve_model(self._studio, asked.model, self._folder)
        info = SessionInfo(
            id="",
            title="",
            folder=str(self._folder),
            agent=runs.agent,
            provider=runs.provider,
            model=runs.model,
            permission_mode="ask",
            created=0.0,
            updated=0.0,
            instructions=asked.instructions,
        )
        bounds = client_policy(self._studio)
        setup = await load_agent_setup(
            info, self._studio.services, ceiling=bounds, external=asked.tools
        )
        system, tools = setup.prompt.system, tuple(setup.offered)
        return await asyncio.to_thread(tokens, replace(asked, instructions=system, tools=tools))


def tokens(asked: ApiRequest) -> int:
    """Estimate the tokens of everything in a request. Takes long for large files."""
    items: list[JsonObject] = [
        {"role": message.role, "content": [_weighable(block) for block in message.blocks]}
        for message in asked.messages
    ]
    written = _Written(items, asked.instructions, list(asked.tools))
    return Estimate().total(written, None, NOTHING)


@dataclass(slots=True)
class _Written:
    """See ``token_count.Written``."""

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
