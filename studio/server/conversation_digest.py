"""Conversation digests recognise a conversation that was answered here before.

Most clients keep no session: they send the whole conversation each time. Where
it begins with a conversation that was answered here before, it continues in that session,
with its native history, its reasoning and its prompt cache. Any other conversation
begins a new session.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from studio.domain.jsonvalue import Json
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
    with_distinct_calls,
)

from .contract import ApiRequest, TurnRef
from .dialects import DIALECTS

KEPT = 4096
"""Answers that are remembered; of each a digest and two ids."""


@dataclass(frozen=True, slots=True)
class SplitConversation:
    """A conversation, split after the assistant's last message.

    ``said`` is what the user says after it, ``results`` are the results of its calls.
    Where the conversation ends with the assistant, both are empty.
    """

    before: tuple[Message, ...]
    said: tuple[Said, ...]
    results: tuple[ToolResult, ...]

    @property
    def history(self) -> tuple[Message, ...]:
        """The history of a new session: everything but what is said now."""
        after = (Message("user", self.results),) if self.results else ()
        return with_distinct_calls((*self.before, *after), "_")


def split_conversation(messages: Sequence[Message]) -> SplitConversation:
    """Split a conversation after the assistant's last message."""
    end = max((n for n, one in enumerate(messages, 1) if one.role == "assistant"), default=0)
    after = [block for message in messages[end:] for block in message.blocks]
    said = tuple(block for block in after if isinstance(block, Text | Image | File))
    results = tuple(block for block in after if isinstance(block, ToolResult))
    return SplitConversation(tuple(messages[:end]), said, results)


def check_tool_results(
    messages: Sequence[Message], dialect: str, open_calls: Sequence[str] = ()
) -> None:
    """Raise BadRequest for a result that answers no call of the message before it.

    ``open_calls`` are the calls of the response that the request continues. Calls
    without a result are allowed: they get one that says so.
    """
    waiting = Counter(open_calls)
    role = ""
    for number, message in enumerate(messages):
        if message.role == "assistant" and role != "assistant":
            waiting.clear()
        role = message.role
        for place, block in enumerate(message.blocks):
            if isinstance(block, ToolCall):
                waiting[block.id] += 1
            elif isinstance(block, ToolResult):
                if not waiting[block.call_id]:
                    raise DIALECTS[dialect].unmatched_result(block.call_id, number, place)
                waiting[block.call_id] -= 1


_SORTED = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
"""``json.dumps`` makes a new one for each text."""


def conversation_digest(request: ApiRequest, dialect: str, messages: Sequence[Message]) -> bytes:
    """The digest that identifies a conversation of one client, with its pictures and files.

    It does not depend on what a client may change when it sends an answer back: blanks
    around it, one message or several, reasoning left out.
    """
    tools: Json = [
        [tool.name, tool.description, tool.schema, tool.effect] for tool in request.tools
    ]
    whole: Json = [
        dialect,
        request.user,
        request.model,
        request.instructions.strip(),
        tools,
        list(_canonical(messages)),
    ]
    text = _SORTED.encode(whole)
    return hashlib.sha256(text.encode()).digest()


def _canonical(messages: Sequence[Message]) -> Iterator[Json]:
    """What each side says, consecutive messages of one side joined."""
    for role, side in groupby(messages, key=lambda message: message.role):
        blocks = [block for message in side for block in message.blocks]
        if role == "assistant":  # its words may come back in other pieces
            words = "".join(block.text for block in blocks if isinstance(block, Text)).strip()
            calls = [block for block in blocks if isinstance(block, ToolCall)]
            yield [role, words, *([call.id, call.name, _arguments(call)] for call in calls)]
        elif blocks:
            yield [role, *(said for block in blocks if (said := _block(block)) is not None)]


def _arguments(call: ToolCall) -> Json:
    return call.raw if call.arguments is None else call.arguments


def _block(block: Block) -> Json:
    match block:
        case Text():
            return block.text.strip() or None
        case Image():
            return ["image", block.media_type, _hash(block.data)]
        case File():
            return ["file", block.name, block.media_type, _hash(block.data)]
        case ToolResult():
            content = [_block(part) for part in block.content]
            return ["result", block.call_id, content, block.is_error]
        case Reasoning() | ToolCall():
            return None


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class KnownConversations:
    """Remembers which turn answered each of the last conversations."""

    def __init__(self) -> None:
        self._places: OrderedDict[bytes, TurnRef] = OrderedDict()

    def take(self, known: bytes) -> TurnRef | None:
        """Return the turn that answered a conversation, and forget it."""
        return self._places.pop(known, None)

    def keep(self, known: bytes, place: TurnRef) -> None:
        """Remember an answer; the oldest one is forgotten for it."""
        self._places.pop(known, None)
        self._places[known] = place
        if len(self._places) > KEPT:
            self._places.popitem(last=False)
