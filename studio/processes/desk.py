"""Desk: a copy of a folder that a command works on, so that the folder stays as it is.

Files are cloned where the file system can, else copied. Repositories and what is installed in
the folder are not copied: a command sees them as they are, and cannot change them. Everything
here but ``laid`` blocks on the disk: call it in a thread.

A step of a workflow works on a desk of its own until it ends, also if the program ends before:
such a desk is at a path of its own and is opened again.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import TypeAlias, cast

from studio.domain.aio import settled
from studio.domain.records import dataclass
from studio.domain.tools import SKIPPED_FOLDERS

MOST_FILES = 50_000
MOST_BYTES = 500_000_000
"""Of the largest folder that is copied."""
_MADE_AGAIN = frozenset({"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"})
"""Folders that programs fill by themselves: a desk begins without them."""
_FICLONE = 0x40049409
_State: TypeAlias = tuple[int, int, int, int, int]


class DeskTooLarge(Exception):
    """The folder is too large to be copied; the text says what is too much."""


@dataclass(frozen=True, slots=True)
class DeskChanges:
    """What was done on a desk: relative paths with forward slashes.

    ``other`` are changes that are not the content of an ordinary file: links, rights, and new
    folders of those that are never copied.
    """

    written: list[str] = field(default_factory=list[str])
    deleted: list[str] = field(default_factory=list[str])
    other: list[str] = field(default_factory=list[str])


class Desk:
    """A copy of ``folder`` at ``root``; to be removed when it is of no use any more.

    ``shared`` are paths of folders that are not copied, relative to the folder. With ``at`` it
    is there, and can be opened again.
    """

    def __init__(self, folder: Path, at: Path | None = None) -> None:
        self.folder = Path(os.path.realpath(folder))
        if at is not None:
            at.mkdir(mode=0o700, exist_ok=True)
        made = at or tempfile.mkdtemp(prefix="agent-studio-desk-")
        self._made = Path(os.path.realpath(made))
        self.root = self._made / "folder"
        self.shared: list[str] = []
        self._states: dict[str, _State] = {}
        self._list = self._made / "desk.json" if at else None

    @classmethod
    def lay(
        cls, source: Path | Desk, contents: Mapping[str, bytes | None], at: Path | None = None
    ) -> Desk:
        """Copy a folder, or what is on a desk, with other ``contents`` at some relative paths.

        None is no file. Raises DeskTooLarge, or OSError if the copy cannot be made.
        """
        of_desk = isinstance(source, Desk)
        desk = cls(source.folder if of_desk else source, at)
        try:
            desk._copy(source.root if of_desk else desk.folder, source.shared if of_desk else None)
            for name, content in contents.items():
                desk.put(name, content)
            desk._states = dict(desk._walk())
            desk._save()
        except BaseException:
            desk.remove()
            raise
        return desk

    @classmethod
    def open(cls, at: Path) -> Desk:
        """The desk that was laid at a path; raises OSError or ValueError if it is not whole."""
        known = json.loads((at / "desk.json").read_text("utf-8"))
        desk = cls(Path(known["folder"]), at)
        desk.shared = known["shared"]
        desk._states = {
            name: cast("_State", tuple(state)) for name, state in known["states"].items()
        }
        return desk

    def _save(self) -> None:
        if self._list is not None:
            known = {"folder": str(self.folder), "shared": self.shared, "states": self._states}
            new = self._list.with_suffix(".new")
            new.write_text(json.dumps(known), "ascii")
            new.replace(self._list)

    def changes(self) -> DeskChanges:
        """What is other than when the desk was laid."""
        found = DeskChanges()
        now = dict(self._walk())
        for name, state in sorted(now.items()):
            before = self._states.get(name)
            if before == state:
                continue
            ordinary = stat.S_ISREG(state[0])
            if ordinary and (before is None or before[1:] != state[1:]):
                found.written.append(name)
            if not ordinary or (before is not None and before[0] != state[0]):
                found.other.append(name)
        found.deleted.extend(sorted(self._states.keys() - now.keys()))
        found.other.extend(sorted(self._made_anew()))
        return found

    def outdated(self, name: str) -> bool:
        """Whether the folder's own file is not the one that was copied any more."""
        state = self._states.get(name)
        try:
            now = os.lstat(self.folder / name)
        except OSError:
            return state is not None
        return state is None or state[2:4] != (now.st_size, now.st_mtime_ns)

    def has(self, path: Path) -> bool:
        """Whether something is at a path of the folder, on the desk or in what is shared."""
        name = path.relative_to(self.folder).as_posix()
        if any(name.startswith(f"{one}/") for one in self.shared):
            return os.path.lexists(path)
        return os.path.lexists(self.root / name)

    def leave_out(self, path: Path) -> bool:
        """Take away what is at a path of the folder; False if that is in what is shared."""
        name = path.relative_to(self.folder).as_posix()
        if any(f"{name}/".startswith(f"{one}/") for one in self.shared):
            return False
        place = self.root / name
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
        for one in [one for one in self._states if f"{one}/".startswith(f"{name}/")]:
            del self._states[one]
        self._save()
        return True

    def remove(self) -> None:
        """Take the copy away, and follow no link that a command left there.

        Not a TemporaryDirectory: before Python 3.11.8 that changes modes through links.
        """
        for here, folders, _ in os.walk(self._made):
            for folder in (Path(here, name) for name in folders):
                if not folder.is_symlink():
                    with suppress(OSError):
                        folder.chmod(0o700)
        shutil.rmtree(self._made, ignore_errors=True)

    def _copy(self, source: Path, shared: Sequence[str] | None) -> None:
        """Copy what is in ``source``; of a desk only those ``shared`` are not copied."""
        files = size = 0
        self.root.mkdir(mode=0o700)
        folders = [""]
        while folders:
            place = folders.pop()
            with os.scandir(source / place) as entries:
                for entry in entries:
                    name = f"{place}/{entry.name}" if place else entry.name
                    target = self.root / name
                    if entry.is_symlink():
                        with suppress(OSError):
                            target.symlink_to(Path(entry.path).readlink())
                    elif entry.is_dir(follow_symlinks=False):
                        if entry.name in _MADE_AGAIN or Path(entry.path) == self.root.parent:
                            continue
                        target.mkdir()
                        if entry.name in SKIPPED_FOLDERS and (shared is None or name in shared):
                            self.shared.append(name)
                        else:
                            folders.append(name)
                    elif entry.is_file(follow_symlinks=False):
                        files, size = files + 1, size + entry.stat(follow_symlinks=False).st_size
                        if files > MOST_FILES:
                            raise DeskTooLarge(f"the folder has more than {MOST_FILES:,} files")
                        if size > MOST_BYTES:
                            raise DeskTooLarge(f"the folder has more than {MOST_BYTES:,} bytes")
                        with suppress(PermissionError):
                            _copy_file(Path(entry.path), target)

    def put(self, name: str, content: bytes | None) -> None:
        place = self.root / name
        # A link that was copied may lead out of the desk.
        if not Path(os.path.realpath(place.parent)).is_relative_to(self.root):
            raise OSError(None, f"{name} leads out of the folder")
        place.unlink(missing_ok=True)
        if content is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)

    def _made_anew(self) -> Iterator[str]:
        """Folders of those that are never copied, which were not there: what is installed."""
        for place, folders, _ in os.walk(self.root):
            for name in SKIPPED_FOLDERS.intersection(folders):
                path = (Path(place) / name).relative_to(self.root).as_posix()
                if name not in _MADE_AGAIN and path not in self.shared:
                    yield path
            folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]

    def _walk(self) -> Iterator[tuple[str, _State]]:
        """Each file of the desk with its state: mode, inode, length, and both times.

        No link leads to any of them.
        """
        folders = [""]
        while folders:
            place = folders.pop()
            with suppress(OSError), os.scandir(self.root / place) as entries:
                for entry in entries:
                    name = f"{place}/{entry.name}" if place else entry.name
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in SKIPPED_FOLDERS:
                            folders.append(name)
                        continue
                    with suppress(OSError):
                        # Not DirEntry.stat: on Windows that has no inode.
                        one = os.lstat(entry.path)
                        numbers = (one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns)
                        yield name, (one.st_mode, *numbers)


async def laid(lay: Callable[[], Desk]) -> Desk:
    """A desk that is laid in a thread, and removed if the caller is cancelled meanwhile."""
    laying = asyncio.ensure_future(asyncio.to_thread(lay))
    try:
        await settled(laying)
    except asyncio.CancelledError:  # the thread went on to its end
        if laying.exception() is None:
            await asyncio.shield(asyncio.to_thread(laying.result().remove))
        raise
    return laying.result()


def _copy_file(source: Path, target: Path) -> None:
    """Copy a file with its times and rights; a clone takes no room and no time."""
    if not _clone(source, target):
        shutil.copyfile(source, target)
    shutil.copystat(source, target)


def clones(place: Path) -> bool:
    """Whether the file system at a place clones files, so that a copy takes no room."""
    try:
        with tempfile.TemporaryDirectory(dir=place) as folder:
            source = Path(folder) / "a"
            source.write_bytes(b"x")
            return _clone(source, Path(folder) / "b")
    except OSError:
        return False


def _clone(source: Path, target: Path) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    import fcntl

    with source.open("rb") as old, target.open("wb") as new:
        try:
            fcntl.ioctl(new, _FICLONE, old.fileno())
        except OSError:
            return False
    return True
