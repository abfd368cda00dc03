"""Watched files: what the files that a trigger looks at are like, and who changed them (W-9)."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from studio.domain.ledger import canonical_json, digest
from studio.storage.snapshots.file_changes import FileChangeStore
from studio.storage.snapshots.file_state import file_state_at
from studio.tools.workspace.folder import Workspace
from studio.tools.workspace.glob_pattern import glob_matcher

MOST_READ = 200
"""Changed files whose contents are compared with what agents wrote; of more some are the person's
own."""


@dataclass(frozen=True, slots=True)
class WatchedFiles:
    """The files that match some patterns, by relative path, with size and time in nanoseconds.

    ``seconds`` is how long it took to look.
    """

    files: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    digest: str = ""
    seconds: float = 0.0

    @property
    def newest(self) -> float:
        """When one of them changed last, in seconds since the epoch; 0 if there are none."""
        return max((at for _, at in self.files.values()), default=0) / 1e9

    def differing(self, other: WatchedFiles) -> list[str]:
        """The paths that are others there, or are not in both."""
        paths = self.files.keys() | other.files.keys()
        return sorted(one for one in paths if self.files.get(one) != other.files.get(one))


def look_at(folder: Path, patterns: Sequence[str]) -> WatchedFiles:
    """The files of a folder as they are now; blocks. Raises ToolFailed if it is not there.

    As in shells, those whose name or folder begins with a dot are named by a pattern that says so.
    What git keeps and what is installed is left out.
    """
    began = time.monotonic()
    workspace = Workspace(folder)
    wanted = [(glob_matcher(one), "/." in f"/{one}") for one in patterns]
    root = workspace.folder(".")
    found: dict[str, tuple[int, int]] = {}
    for entry in workspace.walk(root):
        name = Path(entry.path).relative_to(root).as_posix()
        plain = "/." not in f"/{name}"
        if not any((plain or dotted) and matches(name) for matches, dotted in wanted):
            continue
        try:
            if not entry.is_dir(follow_symlinks=False):
                at = entry.stat(follow_symlinks=False)
                found[name] = at.st_size, at.st_mtime_ns
        except OSError:  # it went away just now
            continue
    state = digest(canonical_json([[name, *found[name]] for name in sorted(found)]))
    return WatchedFiles(found, state, time.monotonic() - began)


async def are_own(changes: FileChangeStore, folder: Path, paths: Sequence[str]) -> bool:
    """Whether all of these files are as agents left them, or drafts that were approved.

    Reads them, so a thread does that.
    """
    if len(paths) > MOST_READ:
        return False
    root = os.path.realpath(folder)
    states = await asyncio.to_thread(
        lambda: {path: file_state_at(Path(root, path)) for path in paths}
    )
    return await changes.left_so(root, states)
