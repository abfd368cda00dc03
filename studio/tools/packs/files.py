"""Files of packs: written when a draft is approved, by the rules of the studio's drafts (KZ-37).

A file that something else changed meanwhile is a conflict, and is never replaced. What is done
already, by a program that was killed before it could note that, is done. All of it blocks.
"""

from __future__ import annotations

from pathlib import Path

from studio.domain.drafts import BINARY, FileDraft
from studio.domain.records import dataclass
from studio.tools.drafts.draft_apply import undo_draft, write_draft
from studio.tools.drafts.draft_write import digest
from studio.tools.workspace.folder import Workspace


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file of a folder before and after; ``before`` is None for a new one.

    ``name`` may have folders in it.
    """

    folder: Path
    name: str
    after: bytes
    before: bytes | None = None

    @property
    def is_made(self) -> bool:
        """Whether the file is so now."""
        path = self.folder / self.name
        try:
            return path.is_file() and path.read_bytes() == self.after
        except OSError:
            return False

    def write(self) -> None:
        """Make the file so; raises DraftConflict or ToolFailed where it cannot be."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_draft(Workspace(self.folder), self._draft())

    def undo(self) -> None:
        """Make the file what it was; raises as ``write`` does."""
        if self.folder.is_dir():
            undo_draft(Workspace(self.folder), self._draft())

    def _draft(self) -> FileDraft:
        before = None if self.before is None else self.before.decode("latin-1")
        base = "" if self.before is None else digest(self.before)
        return FileDraft("", self.name, before, self.after.decode("latin-1"), base, BINARY)


__all__ = ["FileChange"]
