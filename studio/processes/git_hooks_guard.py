"""Git hooks guard: protects what makes git run programs later, outside of the sandbox.

A hook, an alias, a filter: ``git status`` in the person's shell would run it.
What is there is shown read-only; in the place of what is not, something that
means nothing to git stands while commands run, so that it cannot be made.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from studio.domain.tools import SKIPPED_FOLDERS

_MEANT = {
    "hooks": None,
    "modules": None,
    "worktrees": None,
    "config": b"",
    "config.worktree": b"",
    "commondir": b".\n",
}
"""Names in ``.git``, and what stands for one that is missing: an empty folder (None), or a
file. A ``commondir`` of “.” says what goes without saying."""
_DEPTH = 2
"""How many folders below the session's one repositories are looked for."""
_MOST = 100
"""Repositories, and folders of one folder that are looked into."""


def repositories(folder: Path) -> list[Path]:
    """The ``.git`` of a folder and of those below it, real folders or files, no links."""
    return list(_repositories(folder, _DEPTH))[:_MOST]


def _repositories(folder: Path, depth: int) -> Iterator[Path]:
    git = folder / ".git"
    if not git.is_symlink() and (git.is_dir() or git.is_file()):
        yield git
    if not depth:
        return
    with suppress(OSError), os.scandir(folder) as entries:
        below = (
            e for e in entries if e.is_dir(follow_symlinks=False) and e.name not in SKIPPED_FOLDERS
        )
        for _, entry in zip(range(_MOST), below, strict=False):
            yield from _repositories(Path(entry.path), depth - 1)


class GitHooksGuard:
    """What stands for missing names, as long as any command runs. Thread-safe."""

    def __init__(self) -> None:
        self._made: set[Path] = set()
        self._holders = 0
        self._lock = threading.Lock()

    def hold(self, folder: Path) -> list[Path]:
        """Fill in what is missing in a folder's repositories; returns what must not change.

        Links are left out: nothing can be mounted over them.
        """
        with self._lock:
            self._holders += 1
            kept: list[Path] = []
            for git in repositories(folder):
                if git.is_file():
                    kept.append(git)
                    continue
                for name, content in _MEANT.items():
                    path = git / name
                    if not os.path.lexists(path):
                        with suppress(OSError):
                            _fill(path, content)
                            self._made.add(path)
                    elif content and _is(path, content):  # a program that was killed left it
                        self._made.add(path)
                    if os.path.lexists(path) and not path.is_symlink():
                        kept.append(path)
            return kept

    def release(self) -> None:
        """To be called once for each ``hold``; the last one takes away what was filled in."""
        with self._lock:
            self._holders -= 1
            if self._holders:
                return
            made, self._made = self._made, set()
            for path in made:
                with suppress(OSError):
                    _empty(path)


def _fill(path: Path, content: bytes | None) -> None:
    if content is None:
        path.mkdir()
    else:
        with path.open("xb") as file:
            file.write(content)


def _empty(path: Path) -> None:
    """Take away a stand-in; what somebody else made of it stays."""
    content = _MEANT[path.name]
    if content is None:
        path.rmdir()
    elif _is(path, content):
        path.unlink()


def _is(path: Path, content: bytes) -> bool:
    if path.is_symlink() or not path.is_file() or path.stat().st_size != len(content):
        return False
    return path.read_bytes() == content
