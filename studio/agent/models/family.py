"""Model families: tells by a model's name how it is spoken to, and how it edits and reads files.

The one table of what differs between models (C-22). A model that nothing is known of is
treated as one of the last row.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal, TypeAlias

from studio.domain.records import dataclass

EditTool: TypeAlias = Literal["edit", "apply_patch"]
PromptPart: TypeAlias = Literal["claude", "gpt", "codex", "gemini", "open"]


@dataclass(frozen=True, slots=True)
class ModelFamily:
    """What the models of a family have in common.

    ``part`` names the family's own part of the prompt. ``edit_tool`` is the one that they were
    trained on. ``numbers`` is whether lines of files are numbered for them. ``progress`` is
    whether they say a line before a group of calls; models that are made to work without a
    word do worse if they are asked to.
    """

    part: PromptPart
    edit_tool: EditTool
    numbers: bool
    progress: bool = True


_FAMILIES: tuple[tuple[tuple[str, ...], ModelFamily], ...] = (
    (("claude*",), ModelFamily("claude", "edit", numbers=True)),
    (("gpt-*codex*", "codex*"), ModelFamily("codex", "apply_patch", False, progress=False)),
    # Before GPT-5 the models were not trained on patches.
    (("gpt-3*", "gpt-4*", "chatgpt-4*", "o1*", "o3*", "o4*"), ModelFamily("gpt", "edit", False)),
    (("gpt-*", "chatgpt*"), ModelFamily("gpt", "apply_patch", numbers=False)),  # gpt-oss too
    (("gemini*",), ModelFamily("gemini", "edit", numbers=False)),
    (("*",), ModelFamily("open", "edit", numbers=True)),
)
"""Patterns of names, and the family of them; the first that fits counts."""

_OWNER = re.compile(r"^(?:ft:|(?:[a-z-]+\.)+(?=[a-z]))")
"""What some services put before a model's own name: ``us.anthropic.claude-…``, ``ft:gpt-…``."""


@lru_cache(maxsize=64)  # it is asked for each turn
def model_family(model: str) -> ModelFamily:
    """The family of a model, by its id at any provider: ``openrouter/openai/gpt-5-codex``."""
    name = _OWNER.sub("", re.split(r"[/\\]", model.strip().lower())[-1])
    return next(
        family
        for patterns, family in _FAMILIES
        if any(fnmatchcase(name, pattern) for pattern in patterns)
    )
