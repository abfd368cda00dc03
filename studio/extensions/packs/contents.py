"""Contents: lists the files of a pack, digests and copies them, and tells two versions apart (X-2).

What is approved is the digest of all files, with their names and whether they may be run.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from studio.agent.permission.invisible_characters import escape_invisible
from studio.domain.records import dataclass
from studio.files.folders import private_folder

from .manifest import MOST_FILES, PackError, contained

MOST_BYTES = 200_000_000
"""Bytes of a pack."""
DEEPEST = 50
"""Folders within each other."""
MOST_COMPARED = 200_000
"""Bytes of a file whose change is shown line by line."""
MOST_LINES = 2_000
"""Lines of a difference."""
SKIPPED = {".git", "__pycache__", ".DS_Store"}
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class PackFile:
    """One file; ``name`` is relative to the pack, with ``/``. ``changed`` is when, in ns: as a
    program may set it, and as the system does."""

    name: str
    path: Path
    size: int
    runnable: bool
    changed: tuple[int, int]


def pack_files(folder: Path, problems: list[str] | None = None) -> Iterator[PackFile]:
    """All files of a pack, in order of their names; raises PackError for too many, or OSError.

    A link to a file of the pack counts as that file. Others are left out, and told.
    """
    folder = folder.resolve()
    told = [] if problems is None else problems
    count = size = 0
    for name, path in _walk(folder, folder, "", told):
        state = path.stat()  # what the folder says of it can be old on Windows
        count, size = count + 1, size + state.st_size
        if count > MOST_FILES:
            raise PackError(f"{folder} has more than {MOST_FILES:,} files, too many for a pack.")
        if size > MOST_BYTES:
            raise PackError(
                f"{folder} has more than {MOST_BYTES // 1_000_000} MB, too much for a pack."
            )
        runnable = bool(state.st_mode & stat.S_IXUSR)
        changed = state.st_mtime_ns, state.st_ctime_ns
        yield PackFile(name, path, state.st_size, runnable, changed)


def _walk(
    place: str | Path, folder: Path, above: str, told: list[str]
) -> Iterator[tuple[str, Path]]:
    """The files below a place with their names, which begin with ``above``."""
    if above.count("/") > DEEPEST:
        raise PackError(f"{folder} has folders more than {DEEPEST} deep, too deep for a pack.")
    with os.scandir(place) as entries:
        found = sorted(entries, key=lambda one: one.name)
    for entry in found:
        if entry.name in SKIPPED:
            continue
        name, path = f"{above}{entry.name}", Path(entry.path)
        if entry.is_symlink():
            if contained(path, folder) is None:
                told.append(f"{name}: a link leads out of the pack, so it was left out.")
                continue
            if not path.is_file():
                told.append(f"{name}: a link to a folder, so it was left out.")
                continue
        if entry.is_dir():
            yield from _walk(entry.path, folder, f"{name}/", told)
        elif entry.is_file():
            yield name, path
        else:
            told.append(f"{name} is no ordinary file, and was left out.")


def digest_of(folder: Path) -> str:
    """The digest of all files; raises PackError or OSError. Blocks."""
    total = hashlib.sha256()
    for one in sorted(pack_files(folder), key=lambda file: file.name):
        inner = hashlib.sha256()
        with one.path.open("rb") as file:
            while data := file.read(_CHUNK):
                inner.update(data)
        head = f"{one.name}\0{one.runnable}\0{inner.hexdigest()}\n"
        total.update(head.encode("utf-8", "surrogatepass"))
    return total.hexdigest()


def state_of(folder: Path) -> tuple[tuple[str, int, tuple[int, int], bool], ...]:
    """What tells that files changed, without reading them; raises PackError or OSError."""
    return tuple((one.name, one.size, one.changed, one.runnable) for one in pack_files(folder))


def copy_pack(source: Path, target: Path) -> tuple[str, ...]:
    """Copy a pack's files into a new folder; returns what was left out. Raises OSError."""
    problems: list[str] = []
    private_folder(target)
    for one in pack_files(source, problems):
        place = target / one.name
        private_folder(place.parent)
        shutil.copyfile(one.path, place)
        place.chmod(0o700 if one.runnable else 0o600)
    return tuple(problems)


def changed_files(before: Path, after: Path) -> list[str]:
    """The names of files that are new, gone or changed between two versions."""
    old = {one.name: one for one in pack_files(before)}
    new = {one.name: one for one in pack_files(after)}
    names = sorted({*old, *new})
    return [one for one in names if any(_change(one, old.get(one), new.get(one)))]


def difference(before: Path, after: Path) -> str:
    """What is new, gone and changed between two versions, line by line where it is text."""
    old = {one.name: one for one in pack_files(before)}
    new = {one.name: one for one in pack_files(after)}
    lines: list[str] = []
    for name in sorted({*old, *new}):
        lines += _change(name, old.get(name), new.get(name))
        if len(lines) > MOST_LINES:
            lines[MOST_LINES:] = ["", "More changed than is shown here."]
            break
    return escape_invisible("\n".join(lines))


def _change(name: str, old: PackFile | None, new: PackFile | None) -> Iterator[str]:
    from difflib import unified_diff
    from itertools import islice

    was, now = old and _text_of(old), new and _text_of(new)
    if old and new and was == now and old.runnable == new.runnable:
        return
    what = "new" if old is None else "removed" if new is None else "changed"
    yield f"{name}: {what}"
    if new and new.runnable and not (old and old.runnable):
        yield "  It may be run as a program."
    for one in (was, now):
        if isinstance(one, bytes):
            yield f"  No text, or too long to show; SHA-256 {one.hex()[:16]}"
    if new is None or isinstance(was, bytes) or isinstance(now, bytes):
        return
    lines = unified_diff((was or "").split("\n"), (now or "").split("\n"), lineterm="")
    yield from (f"  {line}" for line in islice(lines, 2, None))  # without the names of files


def _text_of(one: PackFile) -> str | bytes:
    """A file's text; the digest of one that is none, or too long."""
    data = one.path.read_bytes()
    try:
        if one.size <= MOST_COMPARED:
            return data.decode()
    except UnicodeDecodeError:
        pass
    return hashlib.sha256(data).digest()
