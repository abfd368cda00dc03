"""Messages: defines a conversation as messages of blocks, all pure values (H-2).

Messages with equal content are equal; only storage knows row ids and links. A
provider's native history does not consist of these values: it keeps that provider's
own JSON (see ``studio.providers``). These values hold what the person says and what
tools return; a new native history is built from them when a session changes its
provider (H-7).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, TypeAlias

from studio.domain.records import dataclass

from .jsonvalue import JsonObject

INVOKED_SKILL, INVOKED_COMMAND = "text/x-skill", "text/x-command"
INVOKED_PROMPT = "text/x-prompt"
"""Media types of what the person called by its name (K-5, K-7, M-21)."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text in markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The model's reasoning, as far as the provider shows it."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture, as the bytes of its file (``image/png``, ``image/jpeg``, …)."""

    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class File:
    """A document, as the bytes of its file.

    ``invoked``: it is the text of a skill, a command or a server's prompt that the person called
    with the message. ``strange``: its words are not the person's.
    """

    name: str
    media_type: str
    data: bytes

    @property
    def invoked(self) -> bool:
        return self.media_type in (INVOKED_SKILL, INVOKED_COMMAND, INVOKED_PROMPT)

    @property
    def strange(self) -> bool:
        return self.media_type not in (INVOKED_SKILL, INVOKED_COMMAND)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model asks for a tool.

    ``id`` is the provider's id for the call, or one of this program if the provider gives
    none. ``arguments`` is None if the model's text is not a JSON object even after one
    repair; ``raw`` is that text then (L-6). ``as_text``: the model wrote the tool's one
    argument as plain text, and the provider wants the result in the same form.
    """

    id: str
    name: str
    arguments: JsonObject | None
    raw: str = ""
    as_text: bool = False


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to one call, delivered to the model under the call's id (H-3).

    ``as_text`` is that of the call. ``sources`` are where it is from, as far as that is known:
    ``src/a.py:1-80``.
    """

    call_id: str
    name: str
    content: tuple[Text | Image, ...]
    is_error: bool = False
    as_text: bool = False
    sources: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.content if isinstance(part, Text))


Block: TypeAlias = Text | Reasoning | Image | File | ToolCall | ToolResult
Said: TypeAlias = Text | Image | File


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a side; results are in a ``user`` message, as in providers' APIs."""

    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]

    @property
    def text(self) -> str:
        return "\n\n".join(block.text for block in self.blocks if isinstance(block, Text))


def with_distinct_calls(messages: Iterable[Message], joint: str = "-") -> tuple[Message, ...]:
    """With no id of a call twice: some providers and clients number anew in each turn.

    ``joint`` is what stands between an id and its number.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    numbers: Counter[str] = Counter()  # where to go on: thousands may have the same id

    def renamed(block: Block) -> Block:
        match block:
            case ToolCall():
                name = block.id
                while name in taken:
                    numbers[block.id] += 1
                    name = f"{block.id}{joint}{numbers[block.id] + 1}"
                taken.add(name)
                names[block.id] = name
                return replace(block, id=name)
            case ToolResult():
                return replace(block, call_id=names.get(block.call_id, block.call_id))
            case _:
                return block

    return tuple(replace(one, blocks=tuple(map(renamed, one.blocks))) for one in messages)
