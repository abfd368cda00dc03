"""Values of imported files: reads them with care, and puts messages together."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeAlias, cast

from studio.domain.jsonvalue import repair_surrogates
from studio.domain.messages import (
    Block,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    with_distinct_calls,
)
from studio.domain.records import dataclass

from .import_export import PortableConversation

_FENCE = re.compile("`{3,}")
MOST_VERSIONS = 50
"""Branches of one conversation that are taken."""
Body: TypeAlias = dict[str, Any]
Found: TypeAlias = tuple[str, list[Block]]
"""A side, ``user`` or ``assistant``, and what it said."""


@dataclass(frozen=True, slots=True)
class ImportedConversation(PortableConversation):
    """A conversation of another program.

    ``left_out`` says what the export does not have or what is not taken, ``teller`` who
    answered: ChatGPT, Claude. It goes to the archive if it is ``archived``.
    """

    left_out: tuple[str, ...] = ()
    archived: bool = False
    teller: str = ""


def version_title(title: str, number: int) -> str:
    """The title of a branch that was not shown last; ``number`` counts from 1."""
    return f"{title or 'Without a title'} (version {number})"


def joined(messages: Iterable[Found]) -> tuple[Message, ...]:
    """Without what is empty; neighbours of one side are one message, as in a conversation."""
    out: list[tuple[str, list[Block]]] = []
    open_ended = False
    for role, found in messages:
        blocks = [b for b in found if not (isinstance(b, Text | Reasoning) and not b.text.strip())]
        if not blocks:
            continue
        calls = any(isinstance(block, ToolCall | ToolResult) for block in blocks)
        results = any(isinstance(block, ToolResult) for block in blocks)
        if open_ended and out[-1][0] == role and not results:
            out[-1][1].extend(blocks)
        else:
            out.append((role, blocks))
        open_ended = not calls  # what follows a call is its result
    return with_distinct_calls(
        Message("user" if role == "user" else "assistant", tuple(blocks)) for role, blocks in out
    )


def fenced(text: str) -> str:
    """The text as a block of code, whatever fences are in it."""
    longest = max((len(one) for one in _FENCE.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def list_of(value: Any) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError("a list is wanted where there is none")
    return cast("list[Any]", value)


def text_of(value: Any) -> str:
    return repair_surrogates(value) if isinstance(value, str) else ""


def seconds(value: Any) -> float:
    """A time as seconds since the epoch: a number, or ISO 8601; 0 for none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if 0 <= value < 1e11 else 0.0
    try:
        return datetime.fromisoformat(text_of(value)).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def link(title: Any, url: Any) -> str:
    """A page as a link in markdown; empty where the address is none of the web."""
    address = text_of(url)
    if not address.startswith(("https://", "http://")) or any(one.isspace() for one in address):
        return ""
    words = " ".join(text_of(title).split()) or address
    for one in "\\[]":
        words = words.replace(one, f"\\{one}")
    return f"[{words}]({address.replace('(', '%28').replace(')', '%29')})"
