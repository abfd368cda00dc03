"""Model facts: merges what the provider, the bundled list and the person say of a model (P-5).

The provider's answer holds, the bundled list fills what it left open, and the
person's own entry comes before both.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import cast

from studio.domain.codec import decode
from studio.domain.errors import ConfigurationError
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.models import ModelInfo

from .base import MOST_MODELS
from .errors import on_one_line

_FACTS = tuple(field.name for field in fields(ModelInfo) if field.name not in ("id", "source"))
_LONGEST = 200
"""Characters of a model's id or name."""
_OF_THE_MODEL = ("name", "lifecycle", "retires")
"""Facts that a dated name does not share with its undated one."""


def load_snapshot(path: Path) -> tuple[str, dict[str, tuple[ModelInfo, ...]]]:
    """The date (``2026-11``) and the models by provider of the bundled list.

    Raises ConfigurationError if the file is missing or damaged.
    """
    try:
        data = cast("JsonObject", json.loads(path.read_text(encoding="utf-8")))
        providers = cast("dict[str, list[Json]]", data["providers"])
        return str(data["date"]), {
            name: tuple(replace(read_model(entry), source="built-in") for entry in entries)
            for name, entries in providers.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"The built-in list of models cannot be read: {error}") from error


def read_model(entry: Json) -> ModelInfo:
    """One model of a list in a file; ValueError for anything else."""
    model = decode(ModelInfo, entry)
    if not isinstance(model, ModelInfo) or not isinstance(cast("object", model.id), str):
        raise ValueError("not a model")
    return model


def listable(models: Sequence[ModelInfo]) -> list[ModelInfo]:
    """Those that can be shown and named, in one line each: a server may list anything."""
    return [
        replace(
            model,
            name=on_one_line(model.name[:_LONGEST]),
            lifecycle=on_one_line(model.lifecycle[:_LONGEST]),
            retires=on_one_line(model.retires[:_LONGEST]),
        )
        for model in models[:MOST_MODELS]
        if 0 < len(model.id) <= _LONGEST and model.id.isprintable()
    ]


def fill_missing_facts(model: ModelInfo, known: Sequence[ModelInfo]) -> ModelInfo:
    """The model with facts of the bundled list where the provider gave none.

    A dated name takes the facts of its undated one: ``gpt-5-2025-08-07``.
    """
    same = [other for other in known if _is_dated(model.id, other.id)]
    best = max(same, key=lambda other: len(other.id), default=None)
    if best is None:
        return model
    facts = {name: getattr(best, name) for name in _FACTS if getattr(model, name) in (None, "")}
    if best.id != model.id:
        facts = {name: fact for name, fact in facts.items() if name not in _OF_THE_MODEL}
    return replace(model, **facts)


def apply_own_facts(model: ModelInfo, entry: ModelInfo | None) -> ModelInfo:
    """The model with what the person's entry says of it."""
    if entry is None:
        return model
    facts = {
        name: fact for name in _FACTS if (fact := getattr(entry, name)) is not None and fact != ""
    }
    if entry.reasoning is False:
        facts.setdefault("efforts", ())
    return replace(model, **facts)


def is_retired(model: ModelInfo, today: str) -> bool:
    """Whether the provider answers for it no longer; ``today`` is ``2026-11-22``."""
    return model.lifecycle == "retired" or "" < model.retires <= today


def _is_dated(name: str, undated: str) -> bool:
    """Whether a name is another one, or that with a date: ``-2025-08-07``, ``@20250929``."""
    rest = name.removeprefix(undated)
    return name == undated or (
        name.startswith(undated)
        and rest[:1] in ("-", "@")
        and rest[1:2].isdigit()
        and rest[1:].replace("-", "").isdigit()
        and len(rest) >= 7
    )
