"""Anthropic Messages: what is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from studio.providers.simulator.maker import Maker
from studio.providers.simulator.refused import Refused
from studio.providers.simulator.view import RequestView
from studio.providers.simulator.wire import Body, obj, objs, text

# The models that still continue what a last assistant message began.
_PREFILL = re.compile(r"claude-(3|instant|2|\w+-4-[0-5](\D|$)|\w+-4-\d{8})")
_PRESERVED = re.compile(r"sim-preserved|claude-\w+-5-[1-9]")
_PLAIN_VERSION = "2023-06-01"


def check(view: RequestView, maker: Maker) -> None:
    """Raises Refused for the first rule the request breaks."""
    body = view.body
    messages = objs(body.get("messages"))
    _parameters(view, messages)
    _content(messages)
    turns = _turns(messages)
    for index, turn in enumerate(turns):
        _pairing(turn, turns[index + 1] if index + 1 < len(turns) else None)
        _results(turn, turns[index - 1] if index else None)
    _ending(view.model, turns[-1])
    _signatures(view, maker)
    if maker.beyond:
        _house(turns)


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
            return [role, _unmarked(block)]


def _unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unmarked(item) for item in objs(value)]
    if not isinstance(value, dict):
        return value
    return {key: _unmarked(item) for key, item in obj(value).items() if key != "cache_control"}


def prefix(body: Body, messages: int | None = None) -> list[Any]:
    """Everything before the message with this index (None: before the reply)."""
    system = body.get("system")
    if isinstance(system, str):
        system = [{"text": system}] if system else []
    found: list[Any] = [["system", text(block.get("text"))] for block in objs(system)]
    found += [_unmarked(tool) for tool in objs(body.get("tools"))]
    for message in objs(body.get("messages"))[:messages]:
        role = text(message.get("role"))
        found += [element(role, block) for block in blocks(message)]
    return found


@dataclass(slots=True)
class _Turn:
    """A run of messages of one role: blocks with the places they have in the request."""

    role: str
    first: int
    blocks: list[tuple[int, int, Body]] = field(default_factory=list[tuple[int, int, Body]])

    def of(self, kind: str) -> Iterator[tuple[int, int, Body]]:
        return (entry for entry in self.blocks if entry[2].get("type") == kind)


def _turns(messages: list[Body]) -> list[_Turn]:
    turns: list[_Turn] = []
    for index, message in enumerate(messages):
        role = text(message.get("role"))
        if not turns or turns[-1].role != role:
            turns.append(_Turn(role, index))
        turns[-1].blocks += [(index, n, block) for n, block in enumerate(blocks(message))]
    return turns


def _parameters(view: RequestView, messages: list[Body]) -> None:
    body = view.body
    if not isinstance(body.get("max_tokens"), int) and "max_tokens" not in body:
        raise Refused("parameter", "max_tokens: Field required")
    if not messages:
        raise Refused("empty", "messages: at least one message is required")
    if view.version > _PLAIN_VERSION:
        for name in ("temperature", "top_p", "top_k"):
            if body.get(name) is not None:
                raise Refused(
                    "parameter",
                    f"{name}: sampling parameters are not supported in version {view.version}",
                )
    names = [tool.get("name") for tool in objs(body.get("tools"))]
    if len(names) != len(set(map(str, names))):
        raise Refused("parameter", "tools: Tool names must be unique.")
    if (marks := _marks(body)) > 4:
        raise Refused(
            "cache",
            f"A maximum of 4 blocks with cache_control may be provided. Found {marks}.",
        )


def _marks(value: Any, top: bool = True) -> int:
    """Blocks with ``cache_control``, at any depth; a call's own input does not count."""
    if isinstance(value, list):
        return sum(_marks(item, False) for item in objs(value))
    if not isinstance(value, dict):
        return 0
    body = obj(value)
    own = int(not top and bool(body.get("cache_control")))
    return own + sum(_marks(item, False) for key, item in body.items() if key not in _OPAQUE)


_OPAQUE = ("input", "input_schema", "cache_control")


def _content(messages: list[Body]) -> None:
    for index, message in enumerate(messages):
        role = text(message.get("role"))
        if role not in ("user", "assistant", "system"):
            raise Refused(
                "role",
                f'messages: Unexpected role "{role}". Allowed roles are "user" or "assistant".',
            )
        last = role == "assistant" and index == len(messages) - 1
        content = message.get("content")
        if not content and not last:
            raise Refused(
                "empty",
                f"messages.{index}: all messages must have non-empty content except for the "
                "optional final assistant message",
            )
        for number, block in enumerate(blocks(message) if content else []):
            _block(f"messages.{index}.content.{number}", role, block)


def _block(place: str, role: str, block: Body) -> None:
    match block.get("type"):
        case "text":
            if not block.get("text"):
                raise Refused("empty", "messages: text content blocks must be non-empty")
            if not text(block["text"]).strip():
                raise Refused(
                    "empty", "messages: text content blocks must contain non-whitespace text"
                )
            if role == "user" and block.get("citations"):
                raise Refused("parameter", f"{place}.citations: not supported on user text")
        case "tool_result":
            if role != "user":
                raise Refused(
                    "pairing",
                    f"{place.partition('.content')[0]}: `tool_result` blocks can only be in "
                    "`user` messages",
                )
            for inner in objs(block.get("content")):
                if inner.get("type") == "text" and not inner.get("text"):
                    raise Refused("empty", "messages: text content blocks must be non-empty")
        case "tool_use":
            if role != "assistant":
                raise Refused(
                    "pairing",
                    f"{place.partition('.content')[0]}: `tool_use` blocks can only be in "
                    "`assistant` messages",
                )
            if not isinstance(block.get("input"), dict):
                raise Refused(
                    "content", f"{place}.tool_use.input: Input should be a valid dictionary"
                )
        case "document":
            if role == "assistant":
                raise Refused("content", f"{place}: document blocks are not allowed here")
        case _:
            pass


def _pairing(turn: _Turn, following: _Turn | None) -> None:
    """Every call of an assistant turn has one result, first thing in the next turn."""
    calls = list(turn.of("tool_use"))
    if not calls:
        return
    seen: set[str] = set()
    for index, number, block in calls:
        id_ = text(block.get("id"))
        if id_ in seen:
            raise Refused(
                "pairing", f"messages.{index}.content.{number}: `tool_use` ids must be unique"
            )
        seen.add(id_)
    answered: set[str] = set()
    for _, _, block in following.blocks if following and following.role == "user" else []:
        if block.get("type") != "tool_result":
            break  # results come first; later ones do not count
        answered.add(text(block.get("tool_use_id")))
    missing = [id_ for _, _, block in calls if (id_ := text(block.get("id"))) not in answered]
    if missing:
        raise Refused(
            "pairing",
            f"messages.{calls[0][0]}: `tool_use` ids were found without `tool_result` blocks "
            f"immediately after: {', '.join(missing)}. Each `tool_use` block must have a "
            "corresponding `tool_result` block in the next message.",
        )


def _results(turn: _Turn, before: _Turn | None) -> None:
    """Every result belongs to a call of the turn just before, and there is one each."""
    asked: set[str] = set()
    if before is not None and before.role == "assistant":
        asked = {text(block.get("id")) for _, _, block in before.of("tool_use")}
    seen: set[str] = set()
    for index, number, block in turn.of("tool_result"):
        id_ = text(block.get("tool_use_id"))
        place = f"messages.{index}.content.{number}"
        if id_ not in asked:
            raise Refused(
                "pairing",
                f"{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id_}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous "
                "message.",
            )
        if id_ in seen:
            raise Refused(
                "pairing",
                f"{place}: each tool_use must have a single result. Found multiple `tool_result` "
                f"blocks with id: {id_}",
            )
        seen.add(id_)


def _ending(model: str, last: _Turn) -> None:
    if last.role != "assistant":
        return
    # A paused turn is sent back as it is.
    if any(block.get("type") == "server_tool_use" for _, _, block in last.blocks):
        return
    if not _PREFILL.match(model):
        raise Refused(
            "prefill",
            "This model does not support assistant message prefill. The conversation must end "
            "with a user message.",
        )
    final = last.blocks[-1][2] if last.blocks else {}
    if final.get("type") == "text" and text(final.get("text")) != text(final.get("text")).rstrip():
        raise Refused(
            "empty", "messages: final assistant content cannot end with trailing whitespace"
        )


def _signatures(view: RequestView, maker: Maker) -> None:
    """Thinking comes back as it was; where it is preserved, behind the same prefix."""
    preserved = _PRESERVED.match(view.model) is not None
    before = prefix(view.body, 0)
    for index, message in enumerate(objs(view.body.get("messages"))):
        role = text(message.get("role"))
        for number, block in enumerate(blocks(message)):
            if block.get("type") == "thinking":
                own, bound = maker.signer.verify(
                    text(block.get("signature")), text(block.get("thinking")), before
                )
                place = f"messages.{index}.content.{number}"
                if not own:
                    raise Refused("echo", f"{place}: Invalid `signature` in `thinking` block")
                if preserved and not bound:
                    raise Refused(
                        "echo",
                        f"{place}: Invalid `signature` in `thinking` block. The block is bound to "
                        "a different conversation. Remove the block, or set "
                        "`thinking.block_binding.prefix_mismatch_behavior` to "
                        '"drop_block".',
                    )
            before.append(element(role, block))


def _house(turns: list[_Turn]) -> None:
    """What our own program also keeps to: one message a turn, results in call order."""
    for index, turn in enumerate(turns):
        if len({entry[0] for entry in turn.blocks}) > 1:
            raise Refused("house", f"house rule: consecutive {turn.role} messages")
        if index and (calls := [text(b.get("id")) for _, _, b in turns[index - 1].of("tool_use")]):
            results = [text(block.get("tool_use_id")) for _, _, block in turn.of("tool_result")]
            if results != calls:
                raise Refused("house", "house rule: results come in call order")
