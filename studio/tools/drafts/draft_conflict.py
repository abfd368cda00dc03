"""Draft conflicts: compares a draft with its file as it is now, and remakes it on that."""

from __future__ import annotations

from contextlib import suppress

from studio.domain.drafts import Draft, FileDraft
from studio.domain.errors import ToolFailed
from studio.domain.records import dataclass
from studio.tools.workspace.folder import Workspace

from .draft_make import as_named, make_delete, make_draft, make_further, make_move, read_current
from .draft_write import DraftConflict, read_stamp
from .three_way_merge import Merge, three_way


@dataclass(frozen=True, slots=True)
class Conflict:
    """The three sides of a draft whose file or record changed meanwhile, as texts.

    ``base`` is what the draft was made of, ``theirs`` the file as it is now,
    ``ours`` the draft's text; None where there is no file, or no text in it.
    ``merge`` brings the two changes together, where all three are text.
    ``digest`` is the SHA-256 hex of the file's bytes, empty where there is no
    file, None where something else is; ``unread`` says why there is no text.
    """

    draft: Draft
    base: str | None
    theirs: str | None
    ours: str | None
    merge: Merge | None
    digest: str | None = ""
    unread: str = ""


def compare_file(workspace: Workspace, draft: FileDraft) -> Conflict:
    """A draft beside its file as it is now."""
    ours = None if draft.action == "delete" else draft.after
    theirs, digest, unread = _read_now(workspace, draft.path)
    merge = None
    if theirs is not None and ours is not None and draft.describe().is_text:
        merge = three_way(draft.before or "", theirs, ours)
    return Conflict(draft, draft.before, theirs, ours, merge, digest, unread)


def remake_file(
    workspace: Workspace, old: FileDraft, text: str | None, on: Conflict | None
) -> FileDraft:
    """The draft anew on the file as it is now; ToolFailed if that changed since ``on``.

    ``text`` is what the file is to hold, None to delete it or to move it as it is.
    """
    draft = _remade(workspace, old, text)
    # Another path: the file is gone, so the text goes to where it would have moved.
    if on is not None and draft.base_digest != (on.digest if draft.path == old.path else ""):
        raise ToolFailed(f"{draft.path} changed again. Nothing was done.")
    return draft


def _read_now(workspace: Workspace, path: str) -> tuple[str | None, str | None, str]:
    """``theirs``, ``digest`` and ``unread`` of ``Conflict`` for a draft's file."""
    try:
        place = as_named(workspace, workspace.resolve(path, write=True), path)
    except (ToolFailed, DraftConflict) as failure:
        return None, None, str(failure)
    try:
        _, theirs, digest, _ = read_current(workspace, path)
    except ToolFailed as failure:
        with suppress(ToolFailed, DraftConflict):
            seen = read_stamp(place, path)  # a file without text has a digest too
            return None, seen.digest if seen else "", str(failure)
        return None, None, str(failure)
    return theirs, digest, ""


def _remade(workspace: Workspace, old: FileDraft, text: str | None) -> FileDraft:
    if text is None and old.action == "delete":
        return make_delete(workspace, old.path)
    if old.action == "move" and (workspace.root / old.path).exists():
        draft = make_move(workspace, old.path, old.target)
        return draft if text is None else make_further(draft, text)
    if text is None:
        raise ToolFailed(f"There is no file {old.path} any more.")
    name = old.target or old.path
    as_named(workspace, workspace.resolve(name, write=True), name)
    draft = make_draft(workspace, name, text)
    if draft.before == draft.after:
        raise ToolFailed(f"{draft.path} has this text already. Discard the draft.")
    return draft
