"""JSON values: the type of what came from JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
else:
    Json: TypeAlias = Any  # the codec reads type hints while running

JsonObject: TypeAlias = dict[str, Json]
