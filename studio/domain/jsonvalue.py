"""JSON values: defines their type, reads JSON of unknown shape, and repairs what cannot be sent.

The ``as_…`` functions return a value of the wanted kind, or an empty one.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
else:
    Json: TypeAlias = Any  # the codec reads type hints while running

JsonObject: TypeAlias = dict[str, Json]

MOST = 10**13
"""The largest count that is believed: more than any model has bytes, or any session tokens."""
MAX_DEPTH = 100
"""Levels of nesting that all providers accept; protocol buffers (Gemini) take no more."""


def as_object(value: Json) -> JsonObject:
    """The object itself (not a copy), or an empty one."""
    return value if isinstance(value, dict) else {}


def as_objects(value: Json) -> list[JsonObject]:
    """The objects in an array, without its other elements."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def as_text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def as_count(value: Json) -> int:
    """A count, of tokens for example: never negative, 0 for what is no number or absurd."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 < value <= MOST else 0  # not a number is not between them


def as_limit(value: Json) -> int | None:
    """A limit, in tokens for example; None where it is missing, 0 or no number."""
    return as_count(value) or None


def as_flag(value: Json) -> bool | None:
    return value if isinstance(value, bool) else None


def repair_surrogates(text: str) -> str:
    """``text`` with surrogate pairs joined and lone surrogates replaced.

    A server may cut its stream within a pair; a lone half cannot be stored or sent.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


class TextBuffer:
    """A text that grows by pieces and is always valid Unicode."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._half = ""

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def add(self, piece: str) -> str:
        """Add a piece; returns the part that can be shown now."""
        if piece.isascii() and not self._half:  # the most frequent case: nothing to repair
            if piece:
                self._pieces.append(piece)
            return piece
        piece, self._half = self._half + piece, ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        piece = repair_surrogates(piece)
        if piece:
            self._pieces.append(piece)
        return piece


def sanitize_json(value: Json, depth: int = MAX_DEPTH) -> Json:
    """``value`` with valid Unicode and finite numbers, so that every server can read it.

    Values deeper than ``depth`` levels are left out.
    """
    match value:
        case str():
            return repair_surrogates(value)
        case float() if not math.isfinite(value):
            return None
        case list():
            return [sanitize_json(one, depth - 1) for one in value] if depth else None
        case dict():
            if not depth:
                return None
            return {
                repair_surrogates(name): sanitize_json(one, depth - 1)
                for name, one in value.items()
            }
        case _:
            return value


_STRICT = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
"""``json.dumps`` makes a new one for each text."""


def is_clean_json(value: Json, depth: int = MAX_DEPTH) -> bool:
    """Whether every server can read ``value`` as it is: ``sanitize_json`` would change nothing."""
    try:
        text = _STRICT.encode(value)
        text.encode()
    except (ValueError, RecursionError):
        return False
    return text.count("[") + text.count("{") <= depth or not _is_deeper(value, depth)


def _is_deeper(value: Json, depth: int) -> bool:
    level: list[Json] = [value]
    for _ in range(depth + 1):
        inner: list[Json] = []
        for one in level:
            if isinstance(one, dict):
                inner += one.values()
            elif isinstance(one, list):
                inner += one
        if not inner:
            return False
        level = inner
    return True
