"""History rebuild: prepares a conversation for another provider's native history (H-7).

``pair_calls`` is what every ``rebuild`` starts from: each message that calls tools
is followed by a message that begins with exactly the results of these calls,
once each, in call order, and no id stands for two calls. What the model
cannot read has words in its place.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar, cast

from studio.domain.jsonvalue import Json, JsonObject, as_objects
from studio.domain.messages import (
    Block,
    File,
    Image,
    Message,
    Reasoning,
    Said,
    Text,
    ToolCall,
    ToolResult,
)
from studio.domain.records import dataclass

from .media import left_out_text

UNSIGNED = "skip_thought_signature_validator"
"""Gemini's documented signature of a call that another model made."""
LEFT_OUT = "(Earlier messages are left out.)"
MISSING_RESULT = "The result of this call was not recorded."
ID_LENGTH = 64
NAME_LENGTH = 64
_THOUGHTS = ("reasoning", "thinking", "redacted_thinking")
_THOUGHT_KEYS = ("thinking", "reasoning", "reasoning_content", "reasoning_details", "thought")

Readable = TypeVar("Readable", bound=Said)


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the person said, then what the model answered, then the results of its calls.

    Any part may be empty. ``results`` match ``calls`` one by one.
    """

    said: tuple[Said, ...] = ()
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()


def pair_calls(
    messages: Sequence[Message], refuses: Callable[[Said], str] = lambda _: ""
) -> list[Exchange]:
    """The conversation as exchanges, in order, without foreign reasoning.

    ``refuses`` says why a picture or file cannot be read; words that say so
    take its place, in results too. A call without a result gets an error
    result that says so; a result without its call is dropped; an id used
    before is made unique, and a name that some model made up gets letters that
    every provider takes.
    """
    exchanges: list[Exchange] = []
    used = _Ids()
    said: list[Said] = []
    for index, message in enumerate(messages):
        if message.role == "user":
            said += [_readable(block, refuses) for block in _said(message.blocks)]
            continue
        text = "\n\n".join(
            block.text for block in message.blocks if isinstance(block, Text) and block.text.strip()
        )
        old = [block for block in message.blocks if isinstance(block, ToolCall)]
        calls = [replace(c, id=used.new(c.id), name=_named(c.name)) for c in old]
        results = [
            replace(result, content=tuple(_readable(part, refuses) for part in result.content))
            for result in _results(old, calls, _answers(messages, index))
        ]
        if not (text or calls):
            continue
        exchanges.append(Exchange(tuple(said), text, tuple(calls), tuple(results)))
        said = []
    if said:
        exchanges.append(Exchange(tuple(said)))
    return exchanges


def add_message(
    history: list[JsonObject],
    content: str,
    beginning: JsonObject,
    role: str,
    parts: Sequence[JsonObject],
) -> None:
    """Append the parts as a message of this role, or to the last one if that has the same role.

    ``content`` is the protocol's word for a message's parts. A person always
    speaks first: where the model would, ``beginning`` is what the person said.
    """
    if not parts:
        return
    if not history and role != "user":
        history.append({"role": "user", content: [beginning]})
    if history and history[-1]["role"] == role:
        cast("list[Json]", history[-1][content]).extend(parts)
    else:
        history.append({"role": role, content: list(parts)})


def has_reasoning(history: Sequence[JsonObject]) -> bool:
    """Whether a native history, of whichever protocol, holds what a model thought."""
    items = as_objects(list(history))  # a damaged one may hold anything
    return any(_is_thought(item) or any(map(_is_thought, _parts(item))) for item in items)


def _parts(item: JsonObject) -> list[JsonObject]:
    return as_objects(item.get("content")) or as_objects(item.get("parts"))


def _is_thought(value: JsonObject) -> bool:
    signature = value.get("thoughtSignature")
    return (
        value.get("type") in _THOUGHTS
        or any(value.get(key) for key in _THOUGHT_KEYS)
        or (bool(signature) and signature != UNSIGNED)
    )


def _readable(block: Readable, refuses: Callable[[Said], str]) -> Readable | Text:
    """The block, or words in its place."""
    if isinstance(block, Text):
        return block
    why = refuses(block)
    return Text(left_out_text(block, why)) if why else block


def _said(blocks: Iterable[Block]) -> list[Said]:
    return [
        block
        for block in blocks
        if isinstance(block, Image | File) or (isinstance(block, Text) and block.text.strip())
    ]


def _answers(messages: Sequence[Message], index: int) -> list[ToolResult]:
    """The results between the message at ``index`` and the model's next one."""
    found: list[ToolResult] = []
    for later in range(index + 1, len(messages)):  # no slice: it is asked for each message
        message = messages[later]
        if message.role == "assistant":
            if any(not isinstance(block, Reasoning) for block in message.blocks):
                break
            continue
        found += [block for block in message.blocks if isinstance(block, ToolResult)]
    return found


def _results(
    old: Sequence[ToolCall], new: Sequence[ToolCall], found: list[ToolResult]
) -> list[ToolResult]:
    results: list[ToolResult] = []
    waiting: dict[str, deque[ToolResult]] = {}
    for result in found:
        waiting.setdefault(result.call_id, deque()).append(result)
    for before, call in zip(old, new, strict=True):
        # The first with the id that is not taken yet: two calls may share an id.
        if same := waiting.get(before.id):
            results.append(replace(same.popleft(), call_id=call.id, name=call.name))
        else:
            results.append(ToolResult(call.id, call.name, (Text(MISSING_RESULT),), is_error=True))
    return results


def _plain(name: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name)


def _named(name: str) -> str:
    return _plain(name)[:NAME_LENGTH] or "tool"


class _Ids:
    """Ids of calls, each once; thousands may want the same."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._numbers: Counter[str] = Counter()

    def new(self, wanted: str) -> str:
        base = _plain(wanted) or "call"
        stem = base[: ID_LENGTH - 6]
        candidate = stem if len(base) > ID_LENGTH else base
        while candidate in self._used:
            self._numbers[stem] += 1
            candidate = f"{stem}_{self._numbers[stem] + 1}"
        self._used.add(candidate)
        return candidate
