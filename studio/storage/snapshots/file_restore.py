"""File restore: restores paths of a folder, each in one step, safe against crashes.

A path is changed only if its state is the one that the caller expects. One that has the wanted
state already counts as done: after a crash the same call does the rest.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from studio.files.atomic_write import new_file, sync_folder, temporary_beside

from .blob_store import BlobStore
from .file_state import Change, FileState, file_state_at


def restore(
    root: Path, contents: BlobStore, wanted: Mapping[str, Change]
) -> tuple[list[str], list[str]]:
    """Change each relative path from its expected state to the wanted one.

    Returns the paths that have the wanted state now, and those that were left alone. Blocks.
    Raises StorageError if the contents cannot be read at all.
    """
    work = _Restoring(Path(os.path.realpath(root)), contents, wanted)
    work.run()
    left = sorted(work.left)
    return [path for path in sorted(wanted) if path not in work.left], left


class _Restoring:
    def __init__(self, root: Path, contents: BlobStore, wanted: Mapping[str, Change]) -> None:
        self._root = root
        self._contents = contents
        self._wanted = wanted
        self._touched: set[Path] = set()
        self.left: set[str] = set()

    def run(self) -> None:
        plan = [path for path in sorted(self._wanted) if self._is_due(path)]
        deepest = sorted(plan, key=lambda path: path.count("/"), reverse=True)
        folders = [path for path in plan if _is(self._wanted[path][1], "folder")]
        self._each(plan, self._loosen)
        self._each(deepest, self._remove)
        self._each(folders, self._make_folder)
        self._each([path for path in plan if path not in folders], self._write)
        self._each(reversed(folders), self._set_mode)
        for folder in self._touched:
            sync_folder(folder)

    def _each(self, paths: Iterable[str], step: Callable[[str, Path], None]) -> None:
        for path in paths:
            if path in self.left:
                continue
            place = self._root / path
            try:
                if os.path.realpath(place.parent) != str(place.parent):
                    raise OSError("a link leads to it")  # out of the folder, perhaps
                step(path, place)
            except (OSError, ValueError):
                self.left.add(path)

    def _is_due(self, path: str) -> bool:
        """Whether the path is to be changed; if it may not be, it is added to ``left``."""
        parts = path.split("/")
        expected, target = self._wanted[path]
        if {"", ".", ".."} & set(parts):
            self.left.add(path)
            return False
        now = file_state_at(self._root / path)
        if now == target:
            return False
        if now != expected or not all(entry is None or entry.kept for entry in (now, target)):
            self.left.add(path)
            return False
        return True

    def _loosen(self, path: str, place: Path) -> None:
        """Make a folder writable whose content is to be changed, or that is to be removed."""
        expected, target = self._wanted[path]
        if expected is None or expected.kind != "folder":
            return
        if not _is(target, "folder"):
            place.chmod(expected.mode | stat.S_IRWXU)
        elif target is not None and target.mode & 0o300 == 0o300:
            place.chmod(target.mode)

    def _remove(self, path: str, place: Path) -> None:
        expected, target = self._wanted[path]
        if expected is None or (target is not None and not _changes_kind(expected, target)):
            return
        if expected.kind == "folder":
            try:
                place.rmdir()
            except OSError:
                with suppress(OSError):
                    place.chmod(expected.mode)
                raise
        else:
            self._must_be(place, expected)
            place.unlink()
        self._touched.add(place.parent)

    def _make_folder(self, path: str, place: Path) -> None:
        if not os.path.lexists(place):
            place.mkdir(0o700)
            self._touched.add(place.parent)

    def _write(self, path: str, place: Path) -> None:
        expected, target = self._wanted[path]
        if target is None:
            return
        now = file_state_at(place)
        if now == target:
            return
        if expected is not None and not _changes_kind(expected, target):
            self._must_be(place, expected)
            if expected.digest == target.digest:
                place.chmod(target.mode)
                return
        elif now is not None:
            raise OSError("something is there")
        data = self._contents.get(target.digest)
        if data is None:
            raise OSError("its content is not kept")
        with temporary_beside(place) as temporary:
            if target.kind == "link":
                temporary.symlink_to(os.fsdecode(data))
            else:
                _write_file(temporary, data, target, place)
            temporary.replace(place)
        self._touched.add(place.parent)

    def _set_mode(self, path: str, place: Path) -> None:
        target = self._wanted[path][1]
        now = file_state_at(place)
        if target is None or now is None or now.kind != "folder":
            raise OSError("no folder is there")
        if now != target:
            place.chmod(target.mode)

    def _must_be(self, place: Path, expected: FileState) -> None:
        if file_state_at(place) != expected:
            raise OSError("it changed")


def _is(entry: FileState | None, kind: str) -> bool:
    return entry is not None and entry.kind == kind


def _changes_kind(before: FileState, after: FileState) -> bool:
    """Whether a folder has to be removed first; a file and a link replace each other."""
    return before.kind != after.kind and "folder" in (before.kind, after.kind)


def _write_file(temporary: Path, data: bytes, target: FileState, place: Path) -> None:
    # Private until it gets its mode.
    with new_file(temporary) as file:
        file.write(data)
        if sys.platform != "win32":
            with suppress(OSError):  # keeps the owner, where the system allows it
                there = place.lstat()
                if (there.st_uid, there.st_gid) != (os.getuid(), os.getgid()):
                    os.fchown(file.fileno(), there.st_uid, there.st_gid)
        temporary.chmod(target.mode)
