"""Extension sources: says how the engine comes by what others bring.

The rooms that find and run it are above this one; `app` hands this over when it makes the engine.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from studio.domain.events import Event
from studio.domain.extensions import Extensions, PackPlace
from studio.domain.hooks import Hooks
from studio.domain.records import dataclass
from studio.mcp.entries import Entries, ServerEntry
from studio.tools import Result

from .folder_files import FolderFiles
from .packs import PackSource


@dataclass(frozen=True, slots=True)
class ExtensionSources:
    """What finds skills, commands, hooks and the parts of packs, and runs workflows.

    What finds something blocks.
    """

    extensions: Callable[[Path, bool], Extensions]
    """Skills and commands for a folder, and whether it is trusted."""
    hooks: Callable[[FolderFiles, bool], Hooks]
    """The hooks for a folder's files, and whether it is trusted."""
    pack_places: Callable[[str], Sequence[PackPlace]]
    """Where packs that are on have their files of a kind, such as ``workflows`` (X-1)."""
    pack_servers: Callable[[], Entries]
    """The servers of packs (X-1)."""
    pack_hosts: Callable[[], Iterable[ServerEntry]]
    """The hosts of packs: approved with their packs (X-3)."""
    pack_code: PackSource
    """The packs whose code runs in the program (X-4)."""
    once: Callable[[], AbstractContextManager[object]]
    """Within this block the list of packs is read once, whoever asks."""
    run_workflow: Callable[..., Awaitable[Result]]
    """Runs the workflow of a tool: the engine, and then as ``WorkflowTool`` in ``delegation``."""
    late_run: Callable[..., Awaitable[list[Event]]]
    """Tells what came of such a call: the engine, and then as ``LateRun`` there."""
    services: Sequence[object]
    """Services of those rooms, which are found by their class like any."""
