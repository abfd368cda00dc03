"""Drafts: proposed, written in one step, undone (T-5).

Everything here but ``propose`` blocks on the disk: call it in a thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import stat
import sys
import time
import uuid
from dataclasses import replace
from pathlib import Path

from studio.domain.errors import StudioError, ToolFailed
from studio.domain.tools import Draft

from .context import Context
from .result import Result
from .text import decode, encode, read_whole
from .workspace import Workspace, reason

_IN_USE = 0.5
"""Seconds that another program on Windows is given to close a file."""


class DraftConflict(StudioError):
    """The file is no longer what the draft was made of; nothing was written."""


def current(workspace: Workspace, path: str) -> tuple[str, str | None, str, str]:
    """A file as a draft needs it: relative path, text or None, digest, encoding.

    Raises ToolFailed if it is no text file, too big, or outside the folder.
    """
    place = workspace.resolve(path, write=True)
    name = workspace.relative(place)
    if name == ".":
        raise ToolFailed("“path” must name a file.")
    if not os.path.lexists(place):
        if path.endswith(("/", "\\")):
            raise ToolFailed(f"“{path}” names a folder. “path” must name a file.")
        for parent in place.parents:
            if os.path.lexists(parent):
                if not parent.is_dir():
                    raise ToolFailed(f"{workspace.relative(parent)} is a file, not a folder.")
                break
        return name, None, "", "utf-8"
    data = read_whole(workspace.file(path, write=True), name)
    text, encoding = decode(data, name)
    return name, text, _digest(data), encoding


def make_draft(workspace: Workspace, path: str, after: str) -> Draft:
    """A draft that would make ``after`` the text of the file at ``path``.

    Raises ToolFailed as ``current`` does, or if the text cannot be encoded.
    """
    name, before, digest, encoding = current(workspace, path)
    encode(after, encoding)
    return Draft(
        id=uuid.uuid4().hex,
        path=name,
        before=before,
        after=after,
        base_digest=digest,
        encoding=encoding,
    )


def make_further(draft: Draft, after: str) -> Draft:
    """A draft that goes on from one that waits.

    Both rest on the same file: one that changed since is noticed, not overwritten.
    """
    encode(after, draft.encoding)
    return replace(draft, id=uuid.uuid4().hex, after=after)


async def propose(context: Context, draft: Draft) -> Result:
    """Put a draft before the person and say what became of it, as a tool's result."""
    if draft.before == draft.after:
        raise ToolFailed(f"{draft.path} already has exactly this text. Nothing to change.")
    await context.drafts.propose(draft)
    added, removed = await asyncio.to_thread(draft.counts)
    counts = f"+{added} −{removed}"
    what = "new file, " if draft.before is None else ""
    if context.drafts.draft_of(draft.path) is not None:
        said = (
            f"Draft of {draft.path} made ({what}{counts} lines). "
            "It is not written: the person decides about it."
        )
    elif await asyncio.to_thread(_is_written, context.workspace, draft):
        said = f"{draft.path} is written ({what}{counts} lines)."
    else:
        raise ToolFailed(f"The draft of {draft.path} was made but could not be written.")
    return Result(said, counts, (draft.path,))


def _is_written(workspace: Workspace, draft: Draft) -> bool:
    try:
        return _read(workspace.resolve(draft.path)) == encode(draft.after, draft.encoding)
    except (ToolFailed, OSError):
        return False


def write_draft(workspace: Workspace, draft: Draft) -> None:
    """Make the draft's text the file's, in one step that a crash cannot split.

    The file's mode, encoding and links stay; missing folders are made. Raises
    DraftConflict if the file changed since the draft was made, ToolFailed if
    it cannot be written.
    """
    path = workspace.resolve(draft.path, write=True)
    data = _read(path, draft.path)
    if (_digest(data) if data is not None else "") != draft.base_digest:
        raise DraftConflict(_changed(draft, data, "the draft was made"))
    _replace(path, draft.path, encode(draft.after, draft.encoding))


def undo_draft(workspace: Workspace, draft: Draft) -> None:
    """Put back what a written draft replaced; a file it made is deleted.

    Raises DraftConflict if the file is no longer what was written.
    """
    path = workspace.resolve(draft.path, write=True)
    data = _read(path, draft.path)
    if data != encode(draft.after, draft.encoding):
        raise DraftConflict(_changed(draft, data, "the draft was written"))
    if draft.before is not None:
        _replace(path, draft.path, encode(draft.before, draft.encoding))
        return
    try:
        path.unlink()
    except OSError as error:
        raise ToolFailed(f"{draft.path} cannot be deleted: {reason(error)}.") from error


def _changed(draft: Draft, data: bytes | None, since: str) -> str:
    if data is None:
        return f"{draft.path} was deleted since {since}. Nothing was written."
    if draft.before is None and not draft.base_digest and since.endswith("made"):
        return f"{draft.path} exists by now. Nothing was written."
    return f"{draft.path} changed since {since}. Nothing was written."


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read(path: Path, name: str = "") -> bytes | None:
    """The file's bytes, None if there is no file."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise DraftConflict(f"{name or path.name} is no ordinary file. Nothing was written.")
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ToolFailed(f"{name or path.name} cannot be read: {reason(error)}.") from error


def _replace(path: Path, name: str, data: bytes) -> None:
    """Write beside the file, then take its place."""
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.stat() if path.exists() else None
        if before is not None and not os.access(path, os.W_OK):
            raise ToolFailed(f"{name} is read-only.")
        temporary = path.parent / f".{path.name[:80]}.{uuid.uuid4().hex[:8]}.tmp"
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if before is not None:
            _keep_owner(temporary, before)
            temporary.chmod(stat.S_IMODE(before.st_mode))
        _rename(temporary, path)
        temporary = None
        _settle(path.parent)
    except OSError as error:
        raise ToolFailed(f"{name} cannot be written: {reason(error)}.") from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()


def _keep_owner(path: Path, before: os.stat_result) -> None:
    if sys.platform != "win32" and (before.st_uid, before.st_gid) != (os.getuid(), os.getgid()):
        with contextlib.suppress(OSError):  # only root may give a file away
            os.chown(path, before.st_uid, before.st_gid)


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


def _settle(folder: Path) -> None:
    """Make the rename itself durable, where the system can."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
