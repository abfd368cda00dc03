"""Tool access: what the tools of a turn may use (T-6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from studio.agent.servers.sampling import ServerSampling
from studio.domain.blocks import ToolBlock
from studio.domain.jsonvalue import JsonObject
from studio.domain.records import dataclass
from studio.domain.tools import ToolSpec
from studio.domain.transcript import Transcript
from studio.processes.jobs import Job
from studio.processes.sandbox import Sandbox
from studio.tools import Tool, Workspace
from studio.tools.drafts.seen_files import SeenFiles
from studio.tools.memory.notes import Notes
from studio.tools.sdk.context import ROOM, Children
from studio.tools.workspace.check_list import EditCheck

from .content_filter import ContentFilter
from .exfiltration_guard import ExfiltrationGuard
from .policy import Policy


@dataclass(frozen=True, slots=True)
class ToolAccess:
    """The tools of one turn and what they may use; new rules of the person go into ``policy``."""

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
    children: Callable[[str], Children]
    """What the call of an id may do with other agents (W-32)."""
    checks: Sequence[EditCheck] = ()
    """The folder's own checks of changed files, if the person trusts it (C-11)."""
    languages: bool = False
    """Whether language servers may look at changed files (C-11)."""
    seen: Callable[[], SeenFiles] = SeenFiles
    """Makes what one call knows of the files that the model was shown (C-7)."""
    room: int = ROOM
    """Characters that one result may have."""
    numbered: bool = False
    """Whether the model is shown the numbers of lines."""
    jobs: Callable[[], Sequence[Job]] = tuple
    """The chat's commands in the background."""
    waits: bool = False
    """Whether a command is waited for to its end, however long it takes."""
    served: Sequence[ToolSpec] = ()
    """The tools of servers, of which a history can call those that it names (M-16)."""

    subject: str = ""
    """What the chat is about (KZ-3)."""
    sampling: ServerSampling | None = None
    """Has the chat's model answer servers (M-20); None where a turn has no model."""

    @property
    def acts(self) -> bool:
        """Whether one of the tools may change files without a draft."""
        return any(spec.effect == "act" for spec in (*self.offered, *self.served))

    def finished_calls(self, transcript: Transcript) -> list[tuple[ToolSpec, JsonObject]]:
        """The finished calls of a session, oldest first."""
        blocks = transcript.blocks
        calls = (block for block in blocks if isinstance(block, ToolBlock) and block.finished)
        tools = self.tools
        return [(tools[call.name].spec, call.arguments) for call in calls if call.name in tools]
