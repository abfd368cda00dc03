"""Tools as the Permissions page lists them: by what they do, not one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from studio.domain.permissions import Verdict
from studio.tools import Tool


@dataclass(frozen=True, slots=True)
class ToolGroup:
    """``usual`` is what becomes of a call where no rule speaks; ``drafts`` are approved later."""

    title: str
    icon: str
    tools: tuple[str, ...]
    usual: Verdict
    drafts: bool = False


_GROUPS = (
    ToolGroup("Read files", "file-text", ("read", "list", "glob", "search"), "allow"),
    ToolGroup("Search the web", "search", ("web_search",), "ask"),
    ToolGroup("Fetch pages", "globe", ("fetch",), "ask"),
    ToolGroup("Run commands", "terminal", ("run",), "ask"),
    ToolGroup("Write files", "file-pen", ("write", "edit", "move"), "ask", drafts=True),
    ToolGroup("Delete files", "trash-2", ("delete",), "ask", drafts=True),
    ToolGroup("Keep notes", "feather", ("remember",), "ask"),
    ToolGroup("Read notes", "files", ("notes_read", "notes_detail"), "allow"),
)
_NEVER_ASKED = ("ask",)
"""Asking the person is not a thing to ask about."""


def tool_groups(tools: Mapping[str, Tool]) -> list[ToolGroup]:
    """Those that are there, and each tool of the person's own by its name."""
    listed = {name for kind in _GROUPS for name in kind.tools} | set(_NEVER_ASKED)
    own = [
        ToolGroup(
            name.replace("_", " ").capitalize(),
            tool.spec.icon,
            (name,),
            "allow" if tool.spec.effect == "read" else "ask",
            tool.spec.effect == "draft",
        )
        for name, tool in sorted(tools.items())
        if name not in listed
    ]
    return [kind for kind in _GROUPS if any(name in tools for name in kind.tools)] + own
