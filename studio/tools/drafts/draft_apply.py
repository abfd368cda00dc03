"""Draft application: applies and undoes drafts of any kind (T-5).

A file draft changes the session's folder, a record draft its record store. Everything here
blocks: call it in a thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import field
from pathlib import Path

from studio.domain.drafts import Draft, FileDraft, KindDraft, RecordDraft
from studio.domain.errors import ToolFailed
from studio.domain.records import dataclass
from studio.tools.packs.kinds import OpenKind, compare_kind, require_fit
from studio.tools.packs.persons_act import NO_ACTS, ActBook, Acts, Decided, PersonsAct
from studio.tools.workspace.encodings import encode
from studio.tools.workspace.folder import Workspace
from studio.tools.workspace.text_files import unsaved_now

from . import draft_write
from .draft_conflict import Conflict, compare_file, remake_file
from .draft_make import as_named
from .draft_write import DraftConflict, FileStamp, digest, read_stamp
from .record_store import RecordStore, change_record, compare_record, make_record_draft


@dataclass(frozen=True, slots=True)
class DraftTargets:
    """The folder, the record stores and the things of packs that the drafts of a session change.

    ``trash`` is the folder where deleted files are kept. ``kinds`` are the packs', by the names
    that drafts have of them; ``acts`` are the person's decisions about these, which ``book``
    checks.
    """

    workspace: Workspace
    trash: Path | None = None
    stores: Mapping[str, RecordStore] = field(default_factory=dict[str, RecordStore])
    kinds: Mapping[str, OpenKind] = field(default_factory=dict[str, OpenKind])
    book: ActBook = field(default_factory=ActBook)
    acts: Acts = field(default_factory=lambda: NO_ACTS)

    def apply(self, draft: Draft) -> None:
        """Do what the draft proposes; what is done already is no conflict.

        Raises DraftConflict if the file or record changed since the draft was made,
        ToolFailed if it cannot be done.
        """
        match draft:
            case FileDraft():
                write_draft(self.workspace, draft, self.trash)
            case RecordDraft():
                store, since = self.store(draft.store), "the draft was made"
                change_record(store, draft, draft.before, draft.after, since)
            case KindDraft():
                kind = self.kind(draft.kind)
                with self._act(draft, "approve", kind) as act:
                    require_fit(kind, draft)
                    kind.approve(draft, act)

    def undo(self, draft: Draft) -> None:
        """Put back what an applied draft changed; raises as ``apply`` does."""
        match draft:
            case FileDraft():
                undo_draft(self.workspace, draft, self.trash)
            case RecordDraft():
                store, since = self.store(draft.store), "the draft was approved"
                change_record(store, draft, draft.after, draft.before, since)
            case KindDraft():
                kind = self.kind(draft.kind)
                with self._act(draft, "undo", kind) as act:
                    kind.undo(draft, act)

    def compare(self, draft: Draft) -> Conflict:
        """A draft beside its file or record as that is now."""
        match draft:
            case FileDraft():
                return compare_file(self.workspace, draft)
            case RecordDraft():
                return compare_record(self.store(draft.store), draft)
            case KindDraft():
                return compare_kind(self.kind(draft.kind), draft)

    def remake(self, draft: Draft, text: str | None, on: Conflict | None) -> Draft:
        """The same draft anew on the file or record as it is now; see ``remake_file``.

        Raises ToolFailed and DraftConflict.
        """
        match draft:
            case FileDraft():
                return remake_file(self.workspace, draft, text, on)
            case RecordDraft():
                return make_record_draft(self.store(draft.store), draft.key, draft.after)
            case KindDraft():
                return self.kind(draft.kind).make(draft.fields)

    def store(self, name: str) -> RecordStore:
        """The record store of this name; ToolFailed if no tool file has it any more."""
        try:
            return self.stores[name]
        except KeyError:
            raise ToolFailed(f"The record store “{name}” is not installed any more.") from None

    def _act(
        self, draft: KindDraft, decision: Decided, kind: OpenKind
    ) -> AbstractContextManager[PersonsAct]:
        """What the person decided, which is used up; raises ToolFailed if they did not."""
        act = self.acts.get(draft.id)
        return self.book.carrying_out(act, decision, draft, kind.person())

    def kind(self, name: str) -> OpenKind:
        """The kind of drafts of this name; ToolFailed if no pack that is on has it."""
        try:
            return self.kinds[name]
        except KeyError:
            pack = name.partition(":")[0]
            raise ToolFailed(f"The pack “{pack}” is not on, so this cannot be done.") from None


def write_draft(workspace: Workspace, draft: FileDraft, trash: Path | None = None) -> None:
    """Do what the draft proposes, in one step that a crash cannot split.

    The person's editor writes the file, if there is one that does.
    A deleted file is kept in the folder ``trash``, under the draft's id; without ``trash``
    only a text file can be deleted, whose text is in the draft. What is done already, by a
    program that was killed before it could record that, is no conflict. Raises
    DraftConflict if a file changed since the draft was made, ToolFailed if it
    cannot be done.
    """
    path, target = _places(workspace, draft)
    seen = read_stamp(path, draft.path)
    unsaved = _unsaved(workspace, path, draft)
    if not unsaved and _is_done(draft, seen, read_stamp(target, draft.target)):
        return
    if (unsaved or (seen.digest if seen else "")) != draft.base_digest:
        if seen is not None and not draft.base_digest:
            raise DraftConflict(f"{draft.path} exists by now. Nothing was changed.")
        raise _changed_since(draft.path, seen, "the draft was made")
    if draft.action == "write" or seen is None:
        _write(workspace, draft, path, draft.after, seen)
    elif draft.action == "delete":
        if trash is not None:
            trash.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft_write.copy(path, trash / draft.id, draft.path, over=True)
        elif draft.before is None:
            raise ToolFailed(f"{draft.path} could not be kept, so it is not deleted.")
        draft_write.remove(path, draft.path, seen)
    else:
        data = encode(draft.after, draft.encoding) if draft.rewrites else None
        _move((path, draft.path), (target, draft.target), seen, data, _digest_after(draft))


def undo_draft(workspace: Workspace, draft: FileDraft, trash: Path | None = None) -> None:
    """Put back what an applied draft changed; a file that it created is deleted.

    What is undone already is no conflict. Raises DraftConflict if a file changed since the
    draft was applied, ToolFailed if it cannot be done.
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
    if made is None or made.digest != _digest_after(draft) or _unsaved(workspace, target, draft):
        raise _changed_since(draft.target or draft.path, made, "the draft was approved")
    if draft.action == "move":
        data = _before(draft) if draft.rewrites else None
        _move((target, draft.target), (path, draft.path), made, data, draft.base_digest)
    elif draft.before is None:
        draft_write.remove(path, draft.path, made)
    else:
        _write(workspace, draft, path, draft.before, made)


def _places(workspace: Workspace, draft: FileDraft) -> tuple[Path, Path]:
    """The draft's file and its target now, the same twice if it moves nothing.

    Links may have been put there since (T-8): the person approved the path that the draft
    names, never the target of a link. Raises DraftConflict for a link.
    """
    if draft.action == "write":
        path = as_named(workspace, workspace.resolve(draft.path, write=True), draft.path)
        return path, path
    path = as_named(workspace, workspace.place(draft.path, write=True), draft.path)
    if draft.action == "delete":
        return path, path
    return path, as_named(workspace, workspace.place(draft.target, write=True), draft.target)


def _unsaved(workspace: Workspace, path: Path, draft: FileDraft) -> str:
    """The digest of what the person's editor did not save in a file; empty if all is saved."""
    text = unsaved_now(workspace, path, draft.path)
    return "" if text is None else digest(encode(text, "utf-8"))


def _write(
    workspace: Workspace, draft: FileDraft, path: Path, text: str, seen: FileStamp | None
) -> None:
    """Make ``text`` all that is in the draft's file; ``seen`` is the file as it was read."""
    data = encode(text, draft.encoding)
    if workspace.editor is not None and draft.encoding == "utf-8":
        path.parent.mkdir(parents=True, exist_ok=True)
        if workspace.editor.write(path, text):
            return
    draft_write.replace(path, draft.path, data, seen)


def _is_done(draft: FileDraft, seen: FileStamp | None, made: FileStamp | None) -> bool:
    match draft.action:
        case "write":
            return made is not None and made.digest == _digest_after(draft)
        case "delete":
            return seen is None
        case "move":
            return seen is None and made is not None and made.digest == _digest_after(draft)


def _move(
    old: tuple[Path, str], new: tuple[Path, str], seen: FileStamp, data: bytes | None, wanted: str
) -> None:
    """Move a file between two paths, each with its name; ``wanted`` is its digest in the end."""
    (source, name), (target, to) = old, new
    there = None if draft_write.is_other_spelling(source, target) else read_stamp(target, to)
    if there is None:
        draft_write.relocate(source, target, to, seen, data)
    elif there.digest == wanted:  # killed between the last two steps
        draft_write.remove(source, name, seen)
    else:
        raise DraftConflict(f"{to} exists by now. Nothing was changed.")


def _restore(path: Path, draft: FileDraft, trash: Path | None) -> None:
    kept = None if trash is None else read_stamp(trash / draft.id, draft.path)
    if trash is not None and kept is not None and kept.digest == draft.base_digest:
        draft_write.copy(trash / draft.id, path, draft.path, over=False)
    elif draft.before is not None:
        draft_write.replace(path, draft.path, _before(draft), None)
    else:
        raise ToolFailed(f"{draft.path} is not kept any more and cannot be restored.")


def _before(draft: FileDraft) -> bytes:
    return encode(draft.before or "", draft.encoding)


def _digest_after(draft: FileDraft) -> str:
    """The digest of what the draft makes."""
    if draft.action == "move" and not draft.rewrites:
        return draft.base_digest
    return digest(encode(draft.after, draft.encoding))


def _changed_since(name: str, seen: FileStamp | None, since: str) -> DraftConflict:
    what = "was deleted" if seen is None else "changed"
    return DraftConflict(f"{name} {what} since {since}. Nothing was changed.")
