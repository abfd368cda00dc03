"""Git hooks guard: protects files that make git run programs later, outside the sandbox.

``git status`` in the person's shell would run a hook, an alias or a filter that a command in
the sandbox wrote. Existing files are shown read-only. For missing ones a placeholder without
meaning to git exists while commands run, so that they cannot be made.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from studio.domain.tools import SKIPPED_FOLDERS

_PLACEHOLDERS = {
    "hooks": None,
    "modules": None,
    "worktrees": None,
    "config": b"",
    "config.worktree": b"",
    "commondir": b".\n",
}
"""Names in ``.git``, and the placeholder of each: an empty folder (None), or the content of
a file. A ``commondir`` of “.” is git's default."""
_OPEN = os.R_OK | os.X_OK
_DEPTH = 2
"""Levels below the session's folder in which repositories are looked for."""
_MOST = 100
"""Repositories that are protected, and subfolders of one folder that are searched."""


def repositories(folder: Path) -> tuple[list[Path], list[Path]]:
    """Each ``.git`` of a folder and of those below it: folders or files, no links.

    Then the folders below it that nobody can look into, which may have one: a command could take
    its rights from a folder, and the next one give them back.
    """
    found: list[Path] = []
    closed: list[Path] = []
    _look(folder, _DEPTH, found, closed)
    return found[:_MOST], closed


def _look(folder: Path, depth: int, found: list[Path], closed: list[Path]) -> None:
    git = folder / ".git"
    if os.path.exists(git) and not os.path.islink(git):  # noqa: PTH110, PTH114 - pathlib's raise
        shut = os.path.isdir(git) and not os.access(git, _OPEN | os.W_OK)  # noqa: PTH112
        (closed if shut else found).append(git)
    if not depth:
        return
    with suppress(OSError), os.scandir(folder) as entries:
        below = (
            e for e in entries if e.is_dir(follow_symlinks=False) and e.name not in SKIPPED_FOLDERS
        )
        for _, entry in zip(range(_MOST), below, strict=False):
            if os.access(entry.path, _OPEN):
                _look(Path(entry.path), depth - 1, found, closed)
            else:
                closed.append(Path(entry.path))


class GitHooksGuard:
    """Makes the placeholders, and removes them when no command runs any more. Thread-safe."""

    def __init__(self) -> None:
        self._made: set[Path] = set()
        self._holders = 0
        self._lock = threading.Lock()

    def hold(self, *folders: Path) -> list[Path]:
        """Make placeholders in folders' repositories; returns the paths that must not change.

        Links are left out: nothing can be mounted over them.
        """
        with self._lock:
            self._holders += 1
            try:
                return self._place(folders)
            except BaseException:
                self._drop()
                raise

    def release(self) -> None:
        """To be called once for each ``hold``; the last call removes the placeholders."""
        with self._lock:
            self._drop()

    def _place(self, folders: Iterable[Path]) -> list[Path]:
        kept: list[Path] = []
        for folder in folders:
            found, closed = repositories(folder)
            kept += closed
            for git in found:
                if git.is_file():
                    kept.append(git)
                    continue
                for name, content in _PLACEHOLDERS.items():
                    path = git / name
                    if not os.path.lexists(path):
                        with suppress(OSError):
                            _make(path, content)
                            self._made.add(path)
                    elif content and _is(path, content):  # left by a killed program
                        self._made.add(path)
                    if os.path.lexists(path) and not path.is_symlink():
                        kept.append(path)
        return kept

    def _drop(self) -> None:
        self._holders -= 1
        if self._holders:
            return
        made, self._made = self._made, set()
        for path in made:
            with suppress(OSError):
                _remove(path)


def _make(path: Path, content: bytes | None) -> None:
    if content is None:
        path.mkdir()
    else:
        with path.open("xb") as file:
            file.write(content)


def _remove(path: Path) -> None:
    """Remove a placeholder, unless somebody changed it."""
    content = _PLACEHOLDERS[path.name]
    if content is None:
        path.rmdir()
    elif _is(path, content):
        path.unlink()


def _is(path: Path, content: bytes) -> bool:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size != len(content):
            return False
        return path.read_bytes() == content
    except PermissionError:  # it is none of ours
        return False
