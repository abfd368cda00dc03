"""Which tools an agent may use at all (T-6)."""

from __future__ import annotations

from collections.abc import Sequence

from studio.domain.agents import Role
from studio.domain.tools import ToolSpec

NOTES = frozenset({"notes_read", "notes_detail", "remember"})
"""Tools that read and change nothing but the agent's own notes."""


def offers(role: Role, tools: Sequence[str], spec: ToolSpec) -> bool:
    """Whether an agent of this role, with this list of tools, may use a tool."""
    if "*" not in tools and spec.name not in tools:
        return False
    match role:
        case "all":
            return True
        case "edits":
            return spec.effect in ("read", "fetch", "draft") or spec.name in NOTES
        case "notes":
            return spec.effect in ("read", "fetch") or spec.name in NOTES
        case "reads":
            return spec.effect in ("read", "fetch")
