"""Temporary folders of commands, apart from those of everybody else."""

from __future__ import annotations

import os
import tempfile
import threading
from pathlib import Path


class TempFolders:
    """One temporary folder for each working folder, until closed or the program ends.

    Safe to use from several threads.
    """

    def __init__(self) -> None:
        self._made: dict[Path, tempfile.TemporaryDirectory[str]] = {}
        self._lock = threading.Lock()

    def of(self, folder: Path) -> Path:
        with self._lock:
            made = self._made.get(folder)
            if made is None or not Path(made.name).is_dir():
                made = self._made[folder] = tempfile.TemporaryDirectory(
                    prefix="agent-studio-", ignore_cleanup_errors=True
                )
            return Path(os.path.realpath(made.name))

    def close(self) -> None:
        """Remove them all. Blocks."""
        with self._lock:
            made, self._made = self._made, {}
        for folder in made.values():
            folder.cleanup()
