"""File drafts on the disk: applies and undoes them (T-5). Everything here blocks."""

from __future__ import annotations

import sys
from pathlib import Path

from studio.domain.drafts import FileDraft
from studio.domain.errors import ToolFailed
from studio.tools.workspace.folder import Workspace
from studio.tools.workspace.text_files import encode

from . import atomic_files
from .atomic_files import DraftConflict, FileStamp, digest, read_stamp


def write_draft(workspace: Workspace, draft: FileDraft, trash: Path | None = None) -> None:
    """Do what the draft proposes, in one step that a crash cannot split.

    A deleted file is kept in the folder ``trash``, under the draft's id; without
    one only text can be deleted, as the draft has it. What is done already, by a
    program that was killed before it could say so, is no conflict. Raises
    DraftConflict if a file changed since the draft was made, ToolFailed if it
    cannot be done.
    """
    path, target = _places(workspace, draft)
    seen = read_stamp(path, draft.path)
    if _is_done(draft, seen, read_stamp(target, draft.target)):
        return
    if (seen.digest if seen else "") != draft.base_digest:
        raise _changed(draft, draft.path, seen, "the draft was made")
    if draft.action == "write" or seen is None:
        atomic_files.replace(path, draft.path, encode(draft.after, draft.encoding), seen)
    elif draft.action == "delete":
        if trash is not None:
            trash.mkdir(mode=0o700, parents=True, exist_ok=True)
            atomic_files.copy(path, trash / draft.id, draft.path, over=True)
        elif draft.before is None:
            raise ToolFailed(f"{draft.path} could not be kept, so it is not deleted.")
        atomic_files.remove(path, draft.path, seen)
    else:
        data = encode(draft.after, draft.encoding) if draft.rewrites else None
        _move((path, draft.path), (target, draft.target), seen, data, _after(draft))


def undo_draft(workspace: Workspace, draft: FileDraft, trash: Path | None = None) -> None:
    """Put back what a draft that was carried out changed; a file it made is deleted.

    What is undone already is no conflict. Raises DraftConflict if a file is no
    longer what the draft made of it, ToolFailed if it cannot be done.
    """
    path, target = _places(workspace, draft)
    seen, made = read_stamp(path, draft.path), read_stamp(target, draft.target)
    if (seen.digest if seen else "") == draft.base_digest and (made is None or path == target):
        return
    if draft.action == "delete":
        if seen is not None:
            raise DraftConflict(f"{draft.path} exists by now. Nothing was changed.")
        _restore(path, draft, trash)
        return
    if made is None or made.digest != _after(draft):
        raise _changed(draft, draft.target or draft.path, made, "the draft was approved")
    if draft.action == "move":
        data = _before(draft) if draft.rewrites else None
        _move((target, draft.target), (path, draft.path), made, data, draft.base_digest)
    elif draft.before is None:
        atomic_files.remove(path, draft.path, made)
    else:
        atomic_files.replace(path, draft.path, _before(draft), made)


def _places(workspace: Workspace, draft: FileDraft) -> tuple[Path, Path]:
    """Where the draft's paths lead now, the same twice if it moves nothing.

    Links may have been put there since (T-8): what was approved is the place
    that the draft names, never where a link from there leads.
    """
    if draft.action == "write":
        path = as_named(workspace, workspace.resolve(draft.path, write=True), draft.path)
        return path, path
    path = as_named(workspace, workspace.place(draft.path, write=True), draft.path)
    if draft.action == "delete":
        return path, path
    return path, as_named(workspace, workspace.place(draft.target, write=True), draft.target)


def as_named(workspace: Workspace, place: Path, name: str) -> Path:
    """The place, if it is the one that a draft names; raises DraftConflict if links lead away."""
    found = workspace.relative(place)
    folded = sys.platform in ("win32", "darwin") and found.casefold() == name.casefold()
    if found != name and not folded:
        raise DraftConflict(f"{name} leads to {found} by now. Nothing was changed.")
    return place


def _is_done(draft: FileDraft, seen: FileStamp | None, made: FileStamp | None) -> bool:
    match draft.action:
        case "write":
            return made is not None and made.digest == _after(draft)
        case "delete":
            return seen is None
        case "move":
            return seen is None and made is not None and made.digest == _after(draft)


def _move(
    old: tuple[Path, str], new: tuple[Path, str], seen: FileStamp, data: bytes | None, wanted: str
) -> None:
    """From one place to another, each with its name; ``wanted`` is the digest in the end."""
    (source, name), (target, to) = old, new
    there = None if atomic_files.is_other_spelling(source, target) else read_stamp(target, to)
    if there is None:
        atomic_files.relocate(source, target, to, seen, data)
    elif there.digest == wanted:  # killed between the last two steps
        atomic_files.remove(source, name, seen)
    else:
        raise DraftConflict(f"{to} exists by now. Nothing was changed.")


def _restore(path: Path, draft: FileDraft, trash: Path | None) -> None:
    kept = None if trash is None else read_stamp(trash / draft.id, draft.path)
    if trash is not None and kept is not None and kept.digest == draft.base_digest:
        atomic_files.copy(trash / draft.id, path, draft.path, over=False)
    elif draft.before is not None:
        atomic_files.replace(path, draft.path, _before(draft), None)
    else:
        raise ToolFailed(f"{draft.path} is not kept any more and cannot be restored.")


def _before(draft: FileDraft) -> bytes:
    return encode(draft.before or "", draft.encoding)


def _after(draft: FileDraft) -> str:
    """The digest of what the draft makes."""
    if draft.action == "move" and not draft.rewrites:
        return draft.base_digest
    return digest(encode(draft.after, draft.encoding))


def _changed(draft: FileDraft, name: str, seen: FileStamp | None, since: str) -> DraftConflict:
    if seen is not None and not draft.base_digest and since.endswith("made"):
        return DraftConflict(f"{name} exists by now. Nothing was changed.")
    what = "was deleted" if seen is None else "changed"
    return DraftConflict(f"{name} {what} since {since}. Nothing was changed.")
