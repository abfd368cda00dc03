"""Anthropic Messages: what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from studio.providers.simulator.view import RequestView
from studio.providers.simulator.wire import Body, obj, objs, text

if TYPE_CHECKING:
    from ..surfaces.base import Maker


def check(view: RequestView, maker: Maker) -> None:
    """Raises Refused for the first rule the request breaks."""


def blocks(message: Body) -> list[Body]:
    """A message's content as blocks."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return objs(content)


def element(role: str, block: Body) -> Any:
    """One block as the prefix of what follows it sees it: no cache marks, no SDK additions."""
    match block.get("type"):
        case "text":
            return [role, "text", text(block.get("text"))]
        case "tool_use":
            return [role, "tool_use", block.get("id"), block.get("name"), obj(block.get("input"))]
        case "thinking":
            return [role, "thinking", block.get("thinking"), block.get("signature")]
        case _:
            return [role, {key: value for key, value in block.items() if key != "cache_control"}]


def prefix(body: Body, messages: int | None = None) -> list[Any]:
    """Everything before the message with this index (None: before the reply)."""
    system = body.get("system")
    if isinstance(system, str):
        system = [{"text": system}] if system else []
    found: list[Any] = [["system", text(block.get("text"))] for block in objs(system)]
    for tool in objs(body.get("tools")):
        found.append({key: value for key, value in tool.items() if key != "cache_control"})
    for message in objs(body.get("messages"))[:messages]:
        role = text(message.get("role"))
        found += [element(role, block) for block in blocks(message)]
    return found
