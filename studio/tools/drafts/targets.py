"""Draft targets: apply and undo a draft of any kind, in its folder or its record store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from studio.domain.drafts import Draft, FileDraft, RecordDraft
from studio.domain.errors import ToolFailed
from studio.tools.workspace.folder import Workspace

from .draft_apply import undo_draft, write_draft
from .draft_conflict import Conflict, compare_file, remake_file
from .records import RecordStore, apply_record, compare_record, remake_record, undo_record


@dataclass(frozen=True, slots=True)
class DraftTargets:
    """Where the drafts of a session are carried out. Every method blocks: use a thread.

    ``trash`` is the folder where deleted files are kept. A new kind of draft is one more
    class in ``studio.domain.drafts`` and one more case in each method here.
    """

    workspace: Workspace
    trash: Path | None = None
    stores: Mapping[str, RecordStore] = field(default_factory=dict[str, RecordStore])

    def apply(self, draft: Draft) -> None:
        """Do what the draft proposes; what is done already is no conflict.

        Raises DraftConflict if what it changes is no longer what it was made of, ToolFailed
        if it cannot be done.
        """
        match draft:
            case FileDraft():
                write_draft(self.workspace, draft, self.trash)
            case RecordDraft():
                apply_record(self.store(draft.store), draft)

    def undo(self, draft: Draft) -> None:
        """Put back what an applied draft changed; raises as ``apply`` does."""
        match draft:
            case FileDraft():
                undo_draft(self.workspace, draft, self.trash)
            case RecordDraft():
                undo_record(self.store(draft.store), draft)

    def compare(self, draft: Draft) -> Conflict:
        """A draft beside what it changes as that is now."""
        match draft:
            case FileDraft():
                return compare_file(self.workspace, draft)
            case RecordDraft():
                return compare_record(self.store(draft.store), draft)

    def remake(self, draft: Draft, text: str | None, on: Conflict | None) -> Draft:
        """A draft of the same on top of what is there now; see ``remake_file``.

        Raises ToolFailed and DraftConflict.
        """
        match draft:
            case FileDraft():
                return remake_file(self.workspace, draft, text, on)
            case RecordDraft():
                return remake_record(self.store(draft.store), draft)

    def store(self, name: str) -> RecordStore:
        """The record store of this name; ToolFailed if no tool file brings it any more."""
        try:
            return self.stores[name]
        except KeyError:
            raise ToolFailed(f"The record store “{name}” is not installed any more.") from None
