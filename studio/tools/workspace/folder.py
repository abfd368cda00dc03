"""Workspace folder: resolves the paths a model names, and keeps them inside the folder (T-8)."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from pathlib import Path

from studio.domain.errors import NothingRead, ToolFailed
from studio.domain.tools import SKIPPED_FOLDERS
from studio.processes.desk import Desk

from .editor import Editor

_DRIVE = re.compile(r"[A-Za-z]:(?:[\\/]|$)")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\.|$)", re.I)


def _nothing(name: object) -> bool:
    return False


class Workspace:
    """One folder; every path from a model goes through ``resolve``.

    ``readable`` are further folders whose files may be read but not written, for example
    the one with the whole text of long results. ``hidden`` returns True for files that listing
    and searching leave out, by their path relative to the folder, with
    links resolved. ``editor`` is the editor that the person works in, if it tells of its
    files. On a ``desk`` the files are in ``root`` there, and have their names in the folder
    (W-23). Methods touch the disk.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        readable: Sequence[Path] = (),
        hidden: Callable[[str], bool] = _nothing,
        editor: Editor | None = None,
        desk: Desk | None = None,
    ) -> None:
        self.origin = Path(os.path.realpath(root))
        """The folder as people, models and commands know it."""
        self.root = self.origin if desk is None else desk.root
        shared = [self.origin / name for name in desk.shared] if desk is not None else []
        self.readable = tuple(Path(os.path.realpath(one)) for one in (*readable, *shared))
        self.desk = desk
        self.hidden = hidden
        self.editor = editor

    def opened(self, place: Path) -> Workspace:
        """The same folder, with one more path that may be read.

        The path is not resolved: if a link replaces it later, the link's target is refused.
        """
        workspace = copy(self)
        workspace.readable = (*self.readable, place)
        return workspace

    def hiding(self, hidden: Callable[[str], bool]) -> Workspace:
        """The same folder, with other files that listing and searching leave out."""
        workspace = copy(self)
        workspace.hidden = hidden
        return workspace

    def check(self) -> None:
        """Raises ToolFailed if the folder does not exist any more."""
        if not self.root.is_dir():
            raise NothingRead(f"The folder {self.origin} is not there any more.")

    def resolve(self, path: str, *, write: bool = False) -> Path:
        """The real path of ``path``, after all links; it need not exist.

        Relative paths begin at the folder. Raises ToolFailed for a path outside of it, and if
        the text is no path.
        """
        found, _ = self.locate(path)
        return self._inside(found, path, write=write)

    def locate(self, path: str) -> tuple[Path, bool]:
        """The real path of ``path``, and whether it may be read; it need not exist.

        Raises ToolFailed if the text is no path.
        """
        self.check()
        try:
            found = Path(os.path.realpath(self.joined(path)))
        except (OSError, ValueError, RuntimeError) as error:
            raise NothingRead(f"“{path}” is not a path: {reason(error)}.") from error
        return found, any(found.is_relative_to(one) for one in (self.root, *self.readable))

    def place(self, path: str, *, write: bool = False) -> Path:
        """Like ``resolve``, but a link as the last name is not followed.

        The last name keeps its spelling on a file system that ignores case.
        """
        found = self.resolve(path, write=write)
        joined = self.joined(path)
        if joined.name in ("", "..") or found == self.root:
            return found
        place = Path(os.path.realpath(joined.parent)) / joined.name
        return self._inside(place, path, write=write)

    def _inside(self, found: Path, path: str, *, write: bool) -> Path:
        places = (self.root,) if write else (self.root, *self.readable)
        if any(found.is_relative_to(place) for place in places):
            return found
        raise self._outside(path)

    def _outside(self, path: str) -> NothingRead:
        return NothingRead(f"“{path}” is outside the folder {self.origin}. Use a path inside it.")

    def joined(self, path: str) -> Path:
        """The path with its links and ``..``; raises ToolFailed or ValueError for none."""
        joined = self._joined(path)
        if self.desk is None:
            return joined
        name = os.path.relpath(os.path.normpath(self.origin / path), self.origin)
        if any(Path(name).is_relative_to(one) for one in self.desk.shared):
            return self.origin / name
        return self.root / name if joined.is_relative_to(self.origin) else joined

    def _joined(self, path: str) -> Path:
        if "\0" in path:
            raise ValueError("it holds a NUL character")
        if path.startswith("~"):
            raise NothingRead(f"“{path}”: ~ is not known here. Use a path relative to the folder.")
        if sys.platform == "win32":
            rest = path[2:] if _DRIVE.match(path) else path
            if ":" in rest:
                raise ValueError("it holds a colon")
            if any(_DEVICE.match(part.strip()) for part in re.split(r"[\\/]", rest)):
                raise ValueError("it names a device")
            return self.root / path
        if _DRIVE.match(path) or path.startswith("\\\\"):
            raise NothingRead(
                f"“{path}” is outside the folder {self.origin}. Use a path inside it."
            )
        joined = self.root / path
        if "\\" in path and not os.path.lexists(joined):
            return self.root / path.replace("\\", "/")  # models confuse the two
        return joined

    def relative(self, path: Path) -> str:
        """A resolved path as a model and a person see it: ``src/a.py``, ``.`` for the folder."""
        for top in dict.fromkeys((self.root, self.origin)):
            if path.is_relative_to(top):
                return path.relative_to(top).as_posix()
        return path.as_posix()

    def in_folder(self, path: Path) -> Path:
        """A resolved path as commands know it; another one only where there is a desk."""
        return self.origin / path.relative_to(self.root) if path.is_relative_to(self.root) else path

    def folder(self, path: str) -> Path:
        """``resolve``, and it must be a folder; raises ToolFailed."""
        found = self.resolve(path or ".")
        if found.is_dir():
            return found
        if found.exists():
            raise NothingRead(f"{self.relative(found)} is a file, not a folder.")
        raise self._missing(found, "folder")

    def file(self, path: str, *, write: bool = False) -> Path:
        """``resolve``, and it must be an ordinary file; raises ToolFailed."""
        found = self.resolve(path, write=write)
        name = self.relative(found)
        try:
            mode = found.stat().st_mode
        except FileNotFoundError:
            raise self._missing(found, "file") from None
        except OSError as error:
            raise NothingRead(f"{name} cannot be opened: {reason(error)}.") from error
        if stat.S_ISDIR(mode):
            raise NothingRead(f"{name} is a folder, not a file.")
        if not stat.S_ISREG(mode):  # opening a pipe would wait for ever
            raise NothingRead(f"{name} is not an ordinary file.")
        return found

    def _missing(self, path: Path, kind: str) -> ToolFailed:
        """The error for what is not there; it may show names that others chose."""
        from difflib import get_close_matches

        text = f"There is no {kind} {self.relative(path)}."
        try:
            here = [entry.name for entry in os.scandir(path.parent)][:2000]
            near = [name for name in here if not self.hidden(self.relative(path.parent / name))]
        except OSError:
            return NothingRead(text)
        close = get_close_matches(path.name, near, n=3, cutoff=0.6)
        if not close:
            return NothingRead(text)
        names = ", ".join(self.relative(path.parent / name) for name in close)
        return ToolFailed(f"{text} Did you mean {names}?")

    def walk(
        self,
        folder: Path,
        *,
        depth: int | None = None,
        stop: Callable[[], bool] = lambda: False,
        left_out: Callable[[Path], object] = _nothing,
    ) -> Iterator[os.DirEntry[str]]:
        """Files and folders below ``folder`` in the order of their names, links not followed.

        A folder comes before what is in it. ``left_out`` is called with each folder that is
        not walked through, because it is one of ``SKIPPED_FOLDERS`` or cannot be opened. Ends
        early once ``stop`` returns True.
        """
        levels = [_entries(folder, left_out)]
        while levels:
            entry = next(levels[-1], None)
            if entry is None:
                levels.pop()
                continue
            if stop():
                return
            try:
                is_folder = entry.is_dir(follow_symlinks=False)
            except OSError:
                continue
            path = Path(entry.path)
            if self.hidden(self.relative(path)):
                continue
            if is_folder and entry.name in SKIPPED_FOLDERS:
                left_out(path)
                continue
            yield entry
            if is_folder and (depth is None or len(levels) < depth):
                levels.append(_entries(path, left_out))


def _entries(folder: Path, left_out: Callable[[Path], object]) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return iter(sorted(entries, key=lambda entry: os.fsencode(entry.name)))
    except OSError:
        left_out(folder)
        return iter(())


def reason(error: BaseException) -> str:
    """The system's reason for an error: ``permission denied``."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error)
