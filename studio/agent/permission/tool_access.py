"""The access of one turn's tools: what they may use, in which folder and sandbox (T-6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from studio.domain.blocks import ToolBlock
from studio.domain.jsonvalue import JsonObject
from studio.domain.tools import ToolSpec
from studio.domain.transcript import Transcript
from studio.processes.sandbox import Sandbox
from studio.tools import Tool, Workspace
from studio.tools.workspace.notes import Notes

from .content_filter import ContentFilter
from .exfiltration_guard import ExfiltrationGuard
from .policy import Policy


@dataclass(frozen=True, slots=True)
class ToolAccess:
    """Made for one turn. Rules that the person adds meanwhile go into ``policy``."""

    session_id: str
    agent: str
    tools: Mapping[str, Tool]
    offered: list[ToolSpec]
    """The tools that the model is told of."""
    policy: Policy
    guard: ExfiltrationGuard
    content_filter: ContentFilter
    workspace: Workspace
    sandbox: Sandbox
    notes: Notes
    spill: Path
    """The folder for results that are too long for the model."""

    @property
    def acts(self) -> bool:
        """Whether one of the tools may change files without a draft."""
        return any(spec.effect == "act" for spec in self.offered)

    def finished_calls(self, transcript: Transcript) -> list[tuple[ToolSpec, JsonObject]]:
        """The calls of a chat that came to an end, oldest first."""
        blocks = transcript.blocks
        calls = (block for block in blocks if isinstance(block, ToolBlock) and block.finished)
        tools = self.tools
        return [(tools[call.name].spec, call.arguments) for call in calls if call.name in tools]
