"""An Anthropic request as its rules read it: blocks, runs of one role, the prefix of a block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from studio.providers.simulator.view import RequestView
from studio.providers.simulator.wire import Body, obj, objs, text


def blocks(message: Body) -> list[Body]:
    """A message's content as blocks."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return objs(content)


def placed(view: RequestView) -> Iterator[tuple[str, str, Body]]:
    """Every block with its place in the request, ``messages.N.content.M``, and its role."""
    for index, message in enumerate(objs(view.body.get("messages"))):
        for number, block in enumerate(blocks(message)):
            yield f"messages.{index}.content.{number}", text(message.get("role")), block


def inner(view: RequestView) -> Iterator[tuple[str, Body, Body]]:
    """Every block inside a result, with its place and the result it is in."""
    for place, _, block in placed(view):
        if block.get("type") == "tool_result":
            for number, part in enumerate(objs(block.get("content"))):
                yield f"{place}.tool_result.content.{number}", part, block


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
            return [role, unmarked(block)]


def unmarked(value: Any) -> Any:
    """The value without cache marks, at any depth."""
    if isinstance(value, list):
        return [unmarked(item) for item in objs(value)]
    if not isinstance(value, dict):
        return value
    return {key: unmarked(item) for key, item in obj(value).items() if key != "cache_control"}


def beginning(body: Body) -> list[Any]:
    """What stands before the first message: the system prompt and the tools."""
    system = body.get("system")
    if isinstance(system, str):
        system = [{"text": system}] if system else []
    found: list[Any] = [["system", text(block.get("text"))] for block in objs(system)]
    return found + [unmarked(tool) for tool in objs(body.get("tools"))]


@dataclass(slots=True)
class Run:
    """A run of messages of one role: blocks with the places they have in the request."""

    role: str
    first: int
    blocks: list[tuple[int, int, Body]] = field(default_factory=list[tuple[int, int, Body]])

    def of(self, kind: str) -> list[tuple[int, int, Body]]:
        """The blocks of one type."""
        return [entry for entry in self.blocks if entry[2].get("type") == kind]


def runs(view: RequestView) -> list[Run]:
    """The messages with neighbours of one role merged."""
    found: list[Run] = []
    for index, message in enumerate(objs(view.body.get("messages"))):
        role = text(message.get("role"))
        if not found or found[-1].role != role:
            found.append(Run(role, index))
        found[-1].blocks += [(index, n, block) for n, block in enumerate(blocks(message))]
    return found


def pairs(view: RequestView) -> list[tuple[Run | None, Run]]:
    """Each run with the one before it."""
    found = runs(view)
    return list(zip([None, *found[:-1]], found, strict=False))
