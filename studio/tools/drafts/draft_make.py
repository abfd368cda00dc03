"""Draft making: makes file drafts, and proposes drafts of any kind to the person (T-5).

Everything here but ``propose`` blocks on the disk: call it in a thread.
"""

from __future__ import annotations

import asyncio
import os
import sys
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from studio.domain.drafts import Draft, FileDraft
from studio.domain.errors import ToolFailed
from studio.tools.sdk.context import Context
from studio.tools.sdk.result import Result, size
from studio.tools.workspace.encodings import NotText, decode, encode
from studio.tools.workspace.folder import Workspace
from studio.tools.workspace.text_files import WHOLE, read_whole, unsaved

from .draft_write import DraftConflict, digest, is_other_spelling, read_stamp
from .edit_checks import new_findings

LARGEST = 200_000_000
"""Bytes of the largest file that is deleted: it is kept so that it can be restored."""


def read_current(workspace: Workspace, path: str) -> tuple[str, str | None, str, str]:
    """A file's relative path, text (None if there is no file), digest and encoding.

    Text and digest are with what the person's editor did not save yet. Raises ToolFailed if
    it is no text file, too big, or outside the folder.
    """
    place = workspace.resolve(path, write=True)
    name = _file_name(workspace, path, place)
    if not os.path.lexists(place):
        return name, None, "", "utf-8"
    data = read_whole(workspace.file(path, write=True), name)
    text, encoding = decode(data, name)
    now = unsaved(workspace, place, text, encoding)
    if now is not None:
        text, data = now, encode(now, encoding)
    return name, text, digest(data), encoding


def as_named(workspace: Workspace, place: Path, name: str) -> Path:
    """``place`` if it is at ``name`` in the folder; DraftConflict if links lead elsewhere."""
    found = workspace.relative(place)
    folded = sys.platform in ("win32", "darwin") and found.casefold() == name.casefold()
    if found != name and not folded:
        raise DraftConflict(f"{name} leads to {found} by now. Nothing was changed.")
    return place


def make_draft(workspace: Workspace, path: str, after: str) -> FileDraft:
    """A draft that would make ``after`` the text of the file at ``path``.

    Raises ToolFailed as ``read_current`` does, or if the text cannot be encoded.
    """
    name, before, base, encoding = read_current(workspace, path)
    encode(after, encoding)
    return FileDraft(_new_id(), name, before, after, base, encoding)


def make_further(draft: FileDraft, after: str) -> FileDraft:
    """A draft with another text on the same base as ``draft``, which waits.

    A file that changed since that base is a conflict. A moved file gets the text at its
    new path. Raises ToolFailed if the file or ``after`` is no text.
    """
    if draft.action == "move" and draft.before is None:
        raise NotText(f"{draft.path} is no text file.")
    encode(after, draft.encoding)
    return replace(draft, id=_new_id(), after=after)


def make_delete(workspace: Workspace, path: str) -> FileDraft:
    """A draft that would delete a file, of text or not; raises ToolFailed."""
    draft = _as_it_is(workspace, path)
    length = (workspace.root / draft.path).stat().st_size
    if length > LARGEST:
        raise ToolFailed(f"{draft.path} is too big to be kept for undo ({size(length)}).")
    return replace(draft, action="delete", after="")


def make_move(
    workspace: Workspace, path: str, to: str, waiting: FileDraft | None = None
) -> FileDraft:
    """A draft that would move a file to a path where nothing is yet.

    ``waiting`` is the draft that waits for that file: its changes are kept. Raises ToolFailed.
    """
    target = workspace.place(to, write=True)
    name = _file_name(workspace, to, target)
    if waiting is not None and not waiting.base_digest:  # a file that is not there yet
        draft = replace(waiting, id=_new_id(), path=name)
        source = target
    else:
        draft = replace(waiting, id=_new_id()) if waiting else _as_it_is(workspace, path)
        source = workspace.place(draft.path, write=True)
        if source == target and not draft.rewrites:
            raise ToolFailed(f"{name} is where the file is already.")
        if source == target:  # back to its old path, with another text
            return replace(draft, action="write", target="")
        draft = replace(draft, action="move", target=name)
    if os.path.lexists(target) and not is_other_spelling(source, target):
        what = "is a folder. “to” must be the whole new path" if target.is_dir() else "exists"
        raise ToolFailed(f"{name} {what}.")
    return draft


def _as_it_is(workspace: Workspace, path: str) -> FileDraft:
    """A draft that changes nothing of an existing file; without text if it is no text file."""
    file = workspace.file(path, write=True)
    place = workspace.place(path, write=True)
    name = workspace.relative(place)
    if place.is_symlink():
        raise ToolFailed(f"{name} is a link to {workspace.relative(file)}. Name the file itself.")
    try:
        if file.stat().st_size <= WHOLE:
            data = read_whole(file, name)
            text, encoding = decode(data, name)
            if unsaved(workspace, file, text, encoding) is not None:
                raise ToolFailed(
                    f"{name} has changes in the person's editor that are not saved. "
                    "Ask the person to save the file first."
                )
            return FileDraft(_new_id(), name, text, text, digest(data), encoding)
    except NotText:
        pass
    seen = read_stamp(file, name)
    if seen is None:
        raise ToolFailed(f"There is no file {name}.")
    return FileDraft(_new_id(), name, None, "", seen.digest)


def _file_name(workspace: Workspace, path: str, place: Path) -> str:
    """The relative path of ``place``; ToolFailed if no file can be there."""
    name = workspace.relative(place)
    if name == ".":
        raise ToolFailed(f"“{path}” must name a file.")
    if not os.path.lexists(place):
        if path.endswith(("/", "\\")):
            raise ToolFailed(f"“{path}” names a folder. It must name a file.")
        for parent in place.parents:
            if os.path.lexists(parent):
                if not parent.is_dir():
                    raise ToolFailed(f"{workspace.relative(parent)} is a file, not a folder.")
                break
    return name


def _new_id() -> str:
    return uuid.uuid4().hex


async def pending_draft(context: Context, path: str) -> FileDraft | None:
    """The waiting draft that a new text of ``path`` continues; None if there is none.

    A draft that deletes the file does not count. Raises ToolFailed if a draft moves the
    file to another path.
    """
    workspace = context.workspace
    name = workspace.relative(await asyncio.to_thread(workspace.resolve, path, write=True))
    waiting = context.drafts.draft_of(name)
    if waiting is None or waiting.action == "delete":
        return None
    if waiting.target and waiting.target != name:
        raise ToolFailed(f"Your draft moves {name} to {waiting.target}. Use that path.")
    return waiting


async def propose_patch(context: Context, drafts: Sequence[FileDraft], about: str = "") -> Result:
    """Propose the drafts of a patch, all or none; returns their status as a tool's result.

    ``about`` is told of the changes, too.
    """
    if len(drafts) == 1:
        return await propose(context, drafts[0], about)
    # One that is made on top of a patch's draft belongs to that patch.
    patch = next((draft.patch for draft in drafts if draft.patch), _new_id())
    drafts = [replace(draft, patch=patch) for draft in drafts]
    if same := next((d for d in drafts if d.action == "write" and d.before == d.after), None):
        raise ToolFailed(f"{same.path} already has exactly this text. Nothing was changed.")
    status = await context.drafts.propose(*drafts)
    doing = {"write": "", "delete": "deleted, ", "move": "moved, "}
    counts = [await asyncio.to_thread(draft.describe().counts) for draft in drafts]
    files = ", ".join(
        f"{draft.label} ({doing[draft.action]}{'' if draft.base_digest else 'new, '}+{a} −{r})"
        for draft, (a, r) in zip(drafts, counts, strict=True)
    )
    if status == "waiting":
        said = f"Drafts made: {files}. Nothing is written: the person decides about all together."
    elif status == "approved":
        said = f"Done: {files}."
    else:
        raise ToolFailed(
            f"The drafts were made, but not all of them could be carried out, so none was: {files}."
        )
    findings = await new_findings(context, drafts, written=status == "approved")
    said = "\n".join(filter(None, (said, about, findings)))
    added, removed = (sum(numbers) for numbers in zip(*counts, strict=True))
    summary = f"{len(drafts)} files, +{added} −{removed}"
    return Result(said, summary, tuple(path for draft in drafts for path in draft.paths))


async def propose(context: Context, draft: Draft, changes: str = "") -> Result:
    """Propose a draft to the person; returns its status as a tool's result.

    ``changes`` is told of it, too, and so is what a check finds in a file (C-11).
    """
    about = draft.describe()
    if about.action == "write" and about.before == about.after:
        raise ToolFailed(f"{about.name} already has exactly this text. Nothing to change.")
    status = await context.drafts.propose(draft)
    added, removed = await asyncio.to_thread(about.counts)
    counts = f"+{added} −{removed}"
    lines = f"{counts} lines"
    doing, done = "", "written"
    if about.action == "write":
        lines = f"new {about.noun}, {lines}" if about.before is None else lines
    elif about.action == "delete":
        doing, done = " that deletes it", "deleted"
    else:
        doing, done = f" that moves it to {about.target}", f"moved to {about.target}"
    if status == "waiting":
        said = (
            f"Draft of {about.name}{doing} made ({lines}). "
            f"It is not {done}: the person decides about it."
        )
    elif status == "approved":
        said = f"{about.name} is {done} ({lines})."
    else:
        raise ToolFailed(f"The draft of {about.name} was made but could not be {done}.")
    findings = ""
    if isinstance(draft, FileDraft):
        findings = await new_findings(context, [draft], written=status == "approved")
    said = "\n".join(filter(None, (said, changes, findings)))
    return Result(said, counts, tuple(filter(None, (about.name, about.target))))
