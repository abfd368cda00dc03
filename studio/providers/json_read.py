"""Reading JSON whose shape nobody promises: the wanted kind of value, or an empty one."""

from __future__ import annotations

import math

from studio.domain.jsonvalue import Json, JsonObject

DEAREST = 1e6
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
    return float(value) if 0 <= value < DEAREST else None


def as_limit(value: Json) -> int | None:
    """A limit in tokens, None where it is missing or makes no sense."""
    return as_count(value) or None


def as_flag(value: Json) -> bool | None:
    return value if isinstance(value, bool) else None
