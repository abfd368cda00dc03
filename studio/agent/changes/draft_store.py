"""The drafts of one session: tools propose them, the person decides about them (T-5)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

from studio.domain.aio import BackgroundTasks
from studio.domain.errors import ToolFailed
from studio.domain.events import DraftCreated, DraftResolved, Event
from studio.domain.tools import Draft, DraftStatus
from studio.tools import DraftConflict, Workspace, undo_draft, write_draft

OPEN: tuple[DraftStatus, ...] = ("waiting", "conflict")
"""States in which the person still has to decide."""


class DraftStore:
    """Keeps the latest state of each draft, and emits an event for each change of it.

    ``trash`` is the folder where deleted files are kept; it may touch the disk.
    """

    def __init__(
        self, drafts: Iterable[Draft] = (), trash: Callable[[], Path | None] = lambda: None
    ) -> None:
        self._drafts = {draft.id: draft for draft in drafts}
        self._trash = trash
        self._writing = asyncio.Lock()
        self._tasks = BackgroundTasks()
        self.settled = self._tasks.settled
        self.around: Callable[[Draft], AbstractAsyncContextManager[None]] = lambda _: nullcontext()
        """Entered around each change of a file, so that it is known whose it was."""

    @property
    def all(self) -> list[Draft]:
        """Every draft with its present state, oldest first."""
        return list(self._drafts.values())

    def waiting(self) -> list[Draft]:
        return [draft for draft in self.all if draft.status == "waiting"]

    def get(self, draft_id: str) -> Draft | None:
        return self._drafts.get(draft_id)

    def draft_of(self, path: str) -> Draft | None:
        """The draft that waits for a file, by its old or its new path, if one does."""
        return next((draft for draft in self.waiting() if path in _paths(draft)), None)

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
            for old in self.all:
                if old.status in OPEN and _paths(old) & _paths(draft):
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
        return await self._tasks.run(
            self._attempt(draft_id, workspace, emit, write_draft, "approved", "waiting")
        )

    async def undo(
        self, draft_id: str, workspace: Workspace, emit: Callable[[Event], None]
    ) -> DraftStatus:
        """Restore what an approved draft replaced, unless the file changed meanwhile."""
        return await self._tasks.run(
            self._attempt(draft_id, workspace, emit, undo_draft, "undone", "approved")
        )

    async def settle(
        self, draft_id: str, status: DraftStatus, emit: Callable[[Event], None]
    ) -> DraftStatus:
        """Discard a draft that is still open, or have it superseded."""
        async with self._writing:
            draft = self._drafts[draft_id]
            if draft.status in OPEN:
                self._settle(draft_id, status, "", emit)
            return self._drafts[draft_id].status

    async def _attempt(
        self,
        draft_id: str,
        workspace: Workspace,
        emit: Callable[[Event], None],
        action: Callable[[Workspace, Draft, Path | None], object],
        status: DraftStatus,
        expected: DraftStatus,
    ) -> DraftStatus:
        """Never cut short: what a thread has written must be known to be written."""
        async with self._writing:  # a second click finds the first one's work done
            draft = self._drafts[draft_id]
            if draft.status != expected:
                return draft.status
            try:
                async with self.around(draft):
                    await asyncio.to_thread(lambda: action(workspace, draft, self._trash()))
            except DraftConflict as conflict:
                if status == "approved":
                    self._settle(draft_id, "conflict", str(conflict), emit)
                else:
                    emit(DraftResolved(draft_id, draft.status, f"Could not undo: {conflict}"))
            except (ToolFailed, OSError) as failure:
                what = "do this" if status == "approved" else "undo"
                emit(DraftResolved(draft_id, draft.status, f"Could not {what}: {failure}"))
            else:
                self._settle(draft_id, status, "", emit)
            return self._drafts[draft_id].status

    def restored(self, draft_id: str, status: DraftStatus, emit: Callable[[Event], None]) -> None:
        """A draft's file was restored with all that its turn changed: approved again, or undone."""
        self._settle(draft_id, status, "", emit)

    def note(self, draft_id: str, status: DraftStatus) -> str:
        """What the model is told of a draft's end; empty if there is nothing to tell."""
        draft = self._drafts.get(draft_id)
        if draft is None:
            return ""
        the_draft, done = _words(draft)
        return {
            "approved": f"The person approved {the_draft}. {done}.",
            "discarded": f"The person discarded {the_draft}. The file is unchanged.",
            "undone": f"The person undid {_change(draft)}. The file is as it was before.",
            "conflict": f"{the_draft[:1].upper()}{the_draft[1:]} was not carried out: "
            "the file had changed meanwhile.",
        }.get(status, "")

    def ends(self) -> str:
        """What a model that joins later is told: how the newest draft of each file ended."""
        ends = {
            "approved": "is {}",
            "discarded": "was discarded, and the file is unchanged",
            "undone": "was undone, and the file is as it was before",
            "conflict": "was not carried out, because the file had changed meanwhile",
        }
        newest = {draft.path: draft for draft in self.all if draft.status != "superseded"}
        told: list[str] = []
        for draft in newest.values():
            if end := ends.get(draft.status):
                the_draft, done = _words(draft)
                done = "written" if draft.action == "write" else "carried out"
                told.append(f"{the_draft[:1].upper()}{the_draft[1:]} {end.format(done)}.")
        return "\n".join(told)

    def _settle(
        self, draft_id: str, status: DraftStatus, detail: str, emit: Callable[[Event], None]
    ) -> None:
        self._drafts[draft_id] = replace(self._drafts[draft_id], status=status)
        emit(DraftResolved(draft_id, status, detail))


class TurnDrafts:
    """The session's drafts as a turn's tools reach them."""

    def __init__(
        self, drafts: DraftStore, workspace: Workspace, emit: Callable[[Event], None]
    ) -> None:
        self._drafts = drafts
        self._workspace = workspace
        self._emit = emit

    def draft_of(self, path: str) -> Draft | None:
        return self._drafts.draft_of(path)

    async def propose(self, call_id: str, draft: Draft, *, approve: bool) -> None:
        await self._drafts.add(call_id, draft, self._workspace, self._emit, approve=approve)

    async def withdraw(self, draft: Draft) -> None:
        await self._drafts.settle(draft.id, "superseded", self._emit)


def _paths(draft: Draft) -> set[str]:
    return {draft.path, draft.target} if draft.target else {draft.path}


def _words(draft: Draft) -> tuple[str, str]:
    """How a note to the model names a draft, and what is true once the draft is approved."""
    if draft.action == "delete":
        return f"the draft that deletes {draft.path}", "It is deleted"
    if draft.action == "move":
        return f"the draft that moves {draft.path} to {draft.target}", "It is moved"
    return f"the draft of {draft.path}", "It is written"


def _change(draft: Draft) -> str:
    doing = {"write": "change", "delete": "deletion", "move": "move"}[draft.action]
    return f"the {doing} of {draft.path}"
