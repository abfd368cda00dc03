"""The drafts of one session: proposed by tools, decided by the person (T-5)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace

from studio.domain.errors import ToolFailed
from studio.domain.events import DraftCreated, DraftResolved, Event
from studio.domain.tools import Draft, DraftStatus
from studio.tools import Workspace
from studio.tools.drafting import DraftConflict, undo_draft, write_draft


class SessionDrafts:
    """Knows each draft's latest state; says what became of it as events."""

    def __init__(self, drafts: Iterable[Draft] = ()) -> None:
        self._drafts = {draft.id: draft for draft in drafts}
        self._writing = asyncio.Lock()

    def waiting(self) -> list[Draft]:
        return [draft for draft in self._drafts.values() if draft.status == "waiting"]

    def get(self, draft_id: str) -> Draft | None:
        return self._drafts.get(draft_id)

    def draft_of(self, path: str) -> Draft | None:
        """The draft of a file that waits, if one does."""
        return next((draft for draft in self.waiting() if draft.path == path), None)

    async def add(
        self,
        call_id: str,
        draft: Draft,
        workspace: Workspace,
        emit: Callable[[Event], None],
        *,
        approve: bool,
    ) -> DraftStatus:
        """Take a new draft; an earlier one of the same file is superseded by it."""
        async with self._writing:  # one that is being written at this moment is no longer waiting
            if old := self.draft_of(draft.path):
                self._settle(old.id, "superseded", "", emit)
            self._drafts[draft.id] = draft
            emit(DraftCreated(call_id, draft))
        if approve:
            return await self.approve(draft.id, workspace, emit)
        return "waiting"

    async def approve(
        self, draft_id: str, workspace: Workspace, emit: Callable[[Event], None]
    ) -> DraftStatus:
        """Write a draft to its file, unless the file changed meanwhile."""
        return await asyncio.shield(
            self._attempt(draft_id, workspace, emit, write_draft, "approved", "waiting")
        )

    async def undo(
        self, draft_id: str, workspace: Workspace, emit: Callable[[Event], None]
    ) -> DraftStatus:
        """Restore what an approved draft replaced, unless the file changed meanwhile."""
        return await asyncio.shield(
            self._attempt(draft_id, workspace, emit, undo_draft, "undone", "approved")
        )

    def discard(self, draft_id: str, emit: Callable[[Event], None]) -> DraftStatus:
        draft = self._drafts[draft_id]
        if draft.status in ("waiting", "conflict"):
            self._settle(draft_id, "discarded", "", emit)
        return self._drafts[draft_id].status

    async def _attempt(
        self,
        draft_id: str,
        workspace: Workspace,
        emit: Callable[[Event], None],
        action: Callable[[Workspace, Draft], object],
        status: DraftStatus,
        expected: DraftStatus,
    ) -> DraftStatus:
        """Never cut short: what a thread has written must be known to be written."""
        async with self._writing:  # a second click finds the first one's work done
            draft = self._drafts[draft_id]
            if draft.status != expected:
                return draft.status
            try:
                await asyncio.to_thread(action, workspace, draft)
            except DraftConflict as conflict:
                self._settle(draft_id, "conflict", str(conflict), emit)
            except (ToolFailed, OSError) as failure:
                emit(DraftResolved(draft_id, draft.status, f"Could not write: {failure}"))
            else:
                self._settle(draft_id, status, "", emit)
            return self._drafts[draft_id].status

    def note(self, draft_id: str, status: DraftStatus) -> str:
        """What the model is told of a draft's end; empty if there is nothing to tell."""
        draft = self._drafts.get(draft_id)
        path = draft.path if draft else "a file"
        return {
            "approved": f"The person approved the draft of {path}. It is written.",
            "discarded": f"The person discarded the draft of {path}. The file is unchanged.",
            "undone": f"The person undid the change of {path}. The file is as it was before.",
            "conflict": f"The draft of {path} was not written: the file had changed meanwhile.",
        }.get(status, "")

    def ends(self) -> str:
        """What a model that joins later is told: how the newest draft of each file ended."""
        ends = {
            "approved": "is written",
            "discarded": "was discarded, and the file is unchanged",
            "undone": "was undone, and the file is as it was before",
            "conflict": "was not written, because the file had changed meanwhile",
        }
        drafts = self._drafts.values()
        newest = {draft.path: draft.status for draft in drafts if draft.status != "superseded"}
        told = [f"The draft of {path} {ends[end]}." for path, end in newest.items() if end in ends]
        return "\n".join(told)

    def _settle(
        self, draft_id: str, status: DraftStatus, detail: str, emit: Callable[[Event], None]
    ) -> None:
        self._drafts[draft_id] = replace(self._drafts[draft_id], status=status)
        emit(DraftResolved(draft_id, status, detail))


class TurnDrafts:
    """The session's drafts as a turn's tools reach them."""

    def __init__(
        self, drafts: SessionDrafts, workspace: Workspace, emit: Callable[[Event], None]
    ) -> None:
        self._drafts = drafts
        self._workspace = workspace
        self._emit = emit

    def draft_of(self, path: str) -> Draft | None:
        return self._drafts.draft_of(path)

    async def propose(self, call_id: str, draft: Draft, *, approve: bool) -> None:
        await self._drafts.add(call_id, draft, self._workspace, self._emit, approve=approve)
