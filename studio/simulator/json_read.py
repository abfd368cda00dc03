"""JSON reading: returns the wanted kind of value from JSON of unknown shape, or an empty one."""

from __future__ import annotations

import json
from typing import Any, TypeAlias, cast

Body: TypeAlias = dict[str, Any]


def obj(value: Any) -> Body:
    """The value if it is a JSON object, else an empty one."""
    return cast("Body", value) if isinstance(value, dict) else {}


def array(value: Any) -> list[Any]:
    """The value if it is a JSON array, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def objs(value: Any) -> list[Body]:
    """The objects in a JSON array; anything else gives none."""
    return [item for item in array(value) if isinstance(item, dict)]


def text(value: Any) -> str:
    """The value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def joined(content: Any) -> str:
    """The words of a message: a string, or a list of parts or blocks."""
    if isinstance(content, str):
        return content
    words = (part.get("text", part.get("refusal")) for part in objs(content))
    return "\n".join(text(one) for one in words if one is not None)


def compact(value: Any, *, ascii_only: bool = False) -> str:
    """JSON without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=ascii_only)


def canonical(value: Any) -> str:
    """JSON that is the same for equal values."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=True)


def arguments(raw: Any) -> Body:
    """A call's arguments, whether they travel as an object or as a string of JSON."""
    if isinstance(raw, str):
        try:
            raw = json.loads(raw or "{}")
        except ValueError:
            return {}
    return obj(raw)
