"""Extension sources: says how the engine comes by what others bring.

The rooms that find and run it are above this one; `app` hands this over when it makes the engine.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from pathlib import Path
from typing import Any

from studio.domain.errors import ToolFailed
from studio.domain.events import Event
from studio.domain.extensions import NO_EXTENSIONS, Extensions, PackPlace
from studio.domain.hooks import NO_HOOKS, Hooks
from studio.domain.records import dataclass
from studio.mcp.entries import Entries, ServerEntry
from studio.tools import Result

from .folder_files import FolderFiles
from .packs import NoPacks, PackSource
from .prompts import NO_WORKFLOWS


def _no_places(kind: str) -> Sequence[PackPlace]:
    return ()


def _nothing(folder: Path, trusted: bool) -> Extensions:
    return NO_EXTENSIONS


def _no_hooks(files: FolderFiles, trusted: bool) -> Hooks:
    return NO_HOOKS


async def _no_late_run(*call: Any) -> list[Event]:
    return []


async def _no_workflows(*call: Any) -> Result:
    raise ToolFailed(NO_WORKFLOWS)


@dataclass(frozen=True, slots=True)
class ExtensionSources:
    """What finds skills, commands, hooks and the parts of packs, and runs workflows.

    What finds something blocks.
    """

    extensions: Callable[[Path, bool], Extensions] = _nothing
    """Skills and commands for a folder, and whether it is trusted."""
    hooks: Callable[[FolderFiles, bool], Hooks] = _no_hooks
    """The hooks for a folder's files, and whether it is trusted."""
    pack_places: Callable[[str], Sequence[PackPlace]] = _no_places
    """Where packs that are on have their files of a kind, such as ``workflows`` (X-1)."""
    pack_servers: Callable[[], Entries] = Entries
    """The servers of packs (X-1)."""
    pack_hosts: Callable[[], Iterable[ServerEntry]] = tuple
    """The hosts of packs: approved with their packs (X-3)."""
    pack_code: PackSource = field(default_factory=NoPacks)
    """The packs whose code runs in the program (X-4)."""
    once: Callable[[], AbstractContextManager[object]] = nullcontext
    """Within this block the list of packs is read once, whoever asks."""
    run_workflow: Callable[..., Awaitable[Result]] = _no_workflows
    """Runs the workflow of a tool: the engine, and then as ``WorkflowTool`` in ``delegation``."""
    late_run: Callable[..., Awaitable[list[Event]]] = _no_late_run
    """Tells what came of such a call: the engine, and then as ``LateRun`` there."""
    services: Sequence[object] = ()
    """Services of those rooms, which are found by their class like any."""


NO_SOURCES = ExtensionSources()
