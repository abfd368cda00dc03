"""JSON values: reads what has no promised shape, and repairs what cannot be sent.

The ``as_…`` functions return the wanted kind of value, or an empty one.
"""

from __future__ import annotations

import json
import math

from studio.domain.jsonvalue import Json, JsonObject

MAX_DEPTH = 100
"""Levels of nesting in a call's arguments: what protocol buffers take, so Gemini's API too."""

MAX_COST = 1e6
"""US dollars; no request costs that much, whatever a server says."""


def as_object(value: Json) -> JsonObject:
    """The object itself (not a copy), or an empty one."""
    return value if isinstance(value, dict) else {}


def as_objects(value: Json) -> list[JsonObject]:
    """The objects in an array; whatever else is in it is left out."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def as_text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def as_count(value: Json) -> int:
    """A number of tokens: never negative, 0 for anything that is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    if isinstance(value, float) and not math.isfinite(value):
        return 0
    return max(int(value), 0)


def as_cost(value: Json) -> float | None:
    """US dollars; None for what is no amount of money."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < MAX_COST else None


def as_limit(value: Json) -> int | None:
    """A limit in tokens, None where it is missing or makes no sense."""
    return as_count(value) or None


def as_flag(value: Json) -> bool | None:
    return value if isinstance(value, bool) else None


def repair_surrogates(text: str) -> str:
    """``text`` with halves of surrogate pairs joined, lone ones replaced.

    A server may cut its stream within a pair; what is left cannot be stored or sent.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        pass
    else:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def sanitize_json(value: Json, depth: int = MAX_DEPTH) -> Json:
    """``value`` as every server can read it: whole Unicode, numbers that JSON has.

    What lies deeper than ``depth`` is left out.
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


def is_clean_json(value: Json, depth: int = MAX_DEPTH) -> bool:
    """Whether every server can read it: see ``sound``."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (ValueError, RecursionError):
        return False
    return text.count("[") + text.count("{") <= depth or not _deeper(value, depth)


def _deeper(value: Json, depth: int) -> bool:
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


class TextBuffer:
    """Text that grows by pieces and is always whole Unicode."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._half = ""

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def add(self, piece: str) -> str:
        """Take a piece; returns what can be shown now."""
        if piece.isascii() and not self._half:  # nothing to mend, by far the most there is
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
