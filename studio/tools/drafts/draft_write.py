"""Conditional writes: change a file only if it is still as it was read (T-5).

Each change is one step (see ``studio.files.atomic_write``): a crash leaves the old file or the
new one, and at most a hidden temporary file, which the next change in that folder removes.
Everything here blocks on the disk: call it in a thread.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
import stat
import sys
import time
from collections.abc import Generator
from pathlib import Path

from studio.domain.errors import StudioError, ToolFailed
from studio.domain.records import dataclass
from studio.files.atomic_write import UNFINISHED, new_file, sync_folder, temporary_beside
from studio.tools.workspace.folder import reason
from studio.tools.workspace.text_files import open_file

_IN_USE = 0.5
"""Seconds to wait on Windows until another program closes a file."""
_OURS = re.compile(rf"\..*\.[0-9a-f]{{8}}{re.escape(UNFINISHED)}", re.S)
_ABANDONED = 60.0
"""Seconds after which a temporary file is abandoned."""
_NO_LINKS = frozenset(
    {errno.EPERM, errno.EXDEV, errno.EMLINK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
)
"""Errors of a file system without hard links, or without them at this place."""


class DraftConflict(StudioError):
    """The file is no longer what the draft was made of; nothing was changed."""


@dataclass(frozen=True, slots=True)
class FileStamp:
    """A file as it was read: SHA-256 hex of its bytes; device, inode, size, mtime in ns."""

    digest: str
    entry: tuple[int, int, int, int]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read_stamp(path: Path, name: str) -> FileStamp | None:
    """The stamp of an ordinary file as it is now, None if there is none.

    Raises DraftConflict if something else is there, ToolFailed if it cannot be read.
    """
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise DraftConflict(f"{name} is no ordinary file. Nothing was changed.")
        with open_file(path) as file:
            entry = _entry(os.fstat(file.fileno()))
            return FileStamp(hashlib.file_digest(file, "sha256").hexdigest(), entry)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ToolFailed(f"{name} cannot be read: {reason(error)}.") from error


def replace(path: Path, name: str, data: bytes, seen: FileStamp | None) -> None:
    """Make ``data`` all that is in the file; missing folders are made.

    ``seen`` is the file as it was read, None where there was none. Mode,
    owner and extended attributes stay. Another hard link to the file keeps the
    old bytes, so that nothing outside the folder is written. Raises
    DraftConflict if the file changed since, ToolFailed if it cannot be written.
    """
    with _tool_errors(name, "written"):
        if seen is not None and not os.access(path, os.W_OK):
            raise ToolFailed(f"{name} is read-only.")
        with _beside(path) as temporary:
            _write(temporary, data, like=path if seen is not None else None)
            if seen is None:
                _put(temporary, path, name)
            else:
                _check_unchanged(path, name, seen)
                _rename(temporary, path)


def relocate(source: Path, target: Path, name: str, seen: FileStamp, data: bytes | None) -> None:
    """Move a file, with other bytes if ``data`` is given.

    Until the last step the file is whole at its old path. Raises DraftConflict
    if it changed since it was ``seen``, or if something is at the new path.
    """
    with _tool_errors(name, "moved"):
        target.parent.mkdir(parents=True, exist_ok=True)
        if is_other_spelling(source, target):
            if data is not None:
                replace(source, name, data, seen)
            _rename(source, target)
        else:
            with _beside(target) as temporary:
                if data is not None:
                    _write(temporary, data, like=source)
                elif not _linked(source, temporary):
                    _copy(source, temporary)
                _check_unchanged(source, name, seen)
                _put(temporary, target, target.name)
            source.unlink()
        sync_folder(source.parent)


def remove(path: Path, name: str, seen: FileStamp) -> None:
    """Delete a file; DraftConflict if it changed since it was ``seen``, ToolFailed if it cannot."""
    with _tool_errors(name, "deleted"):
        _check_unchanged(path, name, seen)
        path.unlink()
        sync_folder(path.parent)


def copy(source: Path, target: Path, name: str, *, over: bool) -> None:
    """Copy a file with its times, mode and owner; ``target`` is whole or not there.

    Raises DraftConflict if ``target`` exists, unless it may be written ``over``.
    """
    with _tool_errors(name, "copied"), _beside(target) as temporary:
        _copy(source, temporary)
        if over:
            _rename(temporary, target)
        else:
            _put(temporary, target, name)


def is_other_spelling(source: Path, target: Path) -> bool:
    """Whether two paths name one file of a file system that ignores case."""
    if source.parent != target.parent or source == target:
        return False
    if source.name.casefold() != target.name.casefold():
        return False
    with contextlib.suppress(OSError):
        named = (path.name == target.name for path in target.parent.iterdir())
        return source.samefile(target) and not any(named)
    return False


@contextlib.contextmanager
def _tool_errors(name: str, done: str) -> Generator[None]:
    """Raises ToolFailed for an OSError; ``done`` is a participle such as “written”."""
    try:
        yield
    except OSError as error:
        raise ToolFailed(f"{name} cannot be {done}: {reason(error)}.") from error


@contextlib.contextmanager
def _beside(path: Path) -> Generator[Path]:
    """An unused name in the same folder, whose file is removed in the end; makes the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path.parent)
    with temporary_beside(path) as temporary:
        yield temporary
        sync_folder(path.parent)


def _sweep(folder: Path) -> None:
    """Remove temporary files of killed programs, by ctime, which no program can set."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _OURS.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    info = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(info.st_mode) and time.time() - info.st_ctime > _ABANDONED:
                        Path(entry.path).unlink()


def _write(path: Path, data: bytes, like: Path | None) -> None:
    # Private until it gets the mode of the file that it replaces.
    with new_file(path, 0o666 if like is None else 0o600) as file:
        file.write(data)
    if like is not None:
        _resemble(path, like)
        os.utime(path)


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as old, new_file(target) as new:
        shutil.copyfileobj(old, new, 1 << 20)
    _resemble(target, source)


def _resemble(path: Path, other: Path) -> None:
    """Copy owner, mode, times and, where Python can, extended attributes."""
    info = other.stat()
    if sys.platform != "win32" and (info.st_uid, info.st_gid) != (os.getuid(), os.getgid()):
        with contextlib.suppress(OSError):  # only root may give a file away
            os.chown(path, info.st_uid, info.st_gid)
    shutil.copystat(other, path)


def _put(temporary: Path, path: Path, name: str) -> None:
    """Rename a finished file; raises DraftConflict if something is at ``path``."""
    try:
        if sys.platform == "win32":
            temporary.rename(path)
        elif not _linked(temporary, path):
            if os.path.lexists(path):
                raise FileExistsError
            temporary.rename(path)
    except FileExistsError:
        raise DraftConflict(f"{name} exists by now. Nothing was changed.") from None


def _linked(source: Path, target: Path) -> bool:
    """Make a hard link; False if the file system cannot."""
    if sys.platform == "win32":
        return False
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if error.errno in _NO_LINKS:
            return False
        raise
    return True


def _check_unchanged(path: Path, name: str, seen: FileStamp) -> None:
    """Raises DraftConflict if the file is not the one that was seen."""
    try:
        same = _entry(path.lstat()) == seen.entry
    except FileNotFoundError:
        same = False
    if not same:
        raise DraftConflict(f"{name} changed this moment. Nothing was changed.")


def _entry(info: os.stat_result) -> tuple[int, int, int, int]:
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns


def _rename(source: Path, target: Path) -> None:
    deadline = time.monotonic() + _IN_USE
    while True:
        try:
            source.replace(target)
            return
        except PermissionError:
            if sys.platform != "win32" or time.monotonic() > deadline:
                raise
            time.sleep(0.02)  # an indexer or scanner holds the file for a moment
