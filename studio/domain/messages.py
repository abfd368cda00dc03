"""Messages: hold what is said, as blocks that are pure values (H-2).

Equal content is equal; ids of rows and links between messages are storage's
concern. A provider's native history is not made of these: it keeps that
provider's own JSON (see ``studio.providers``). These values carry what the
person says, what tools return, and what a new native history is built from
when a session changes its provider (H-7).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .jsonvalue import JsonObject


@dataclass(frozen=True, slots=True)
class Text:
    """Words, in markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """What the model thought, as far as the provider shows it."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture, as the bytes of its file (``image/png``, ``image/jpeg``, …)."""

    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class File:
    """A document, as the bytes of its file."""

    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model asks for a tool.

    ``id`` is the provider's id for the call, or ours where the provider gives
    none. ``arguments`` is None when what the model wrote could not be read as
    a JSON object even after one repair; ``raw`` is then the text it wrote (L-6).
    """

    id: str
    name: str
    arguments: JsonObject | None
    raw: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to one call, delivered to the model under the call's id (H-3)."""

    call_id: str
    name: str
    content: tuple[Text | Image, ...]
    is_error: bool = False

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.content if isinstance(part, Text))


Block: TypeAlias = Text | Reasoning | Image | File | ToolCall | ToolResult
Said: TypeAlias = Text | Image | File


@dataclass(frozen=True, slots=True)
class Message:
    """One side's contribution: results travel in a ``user`` message, as the wire does."""

    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]

    @property
    def text(self) -> str:
        return "\n\n".join(block.text for block in self.blocks if isinstance(block, Text))
