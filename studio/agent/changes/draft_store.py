"""The drafts of one session: tools propose them, the person decides about them (T-5)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace

from studio.domain.aio import BackgroundTasks
from studio.domain.drafts import Draft, DraftStatus, FileDraft
from studio.domain.errors import ToolFailed
from studio.domain.events import DraftCreated, DraftResolved, Event
from studio.tools import DraftConflict, DraftTargets, Workspace

OPEN: tuple[DraftStatus, ...] = ("waiting", "conflict")
"""States in which the person still has to decide."""


class DraftStore:
    """Keeps the latest state of each draft, and emits an event for each change of it.

    ``targets`` says where the drafts of a workspace are carried out; it may touch the disk.
    """

    def __init__(
        self,
        drafts: Iterable[Draft] = (),
        targets: Callable[[Workspace], DraftTargets] = DraftTargets,
    ) -> None:
        self._drafts = {draft.id: draft for draft in drafts}
        self.targets = targets
        self._writing = asyncio.Lock()
        self._tasks = BackgroundTasks()
        self.settled = self._tasks.settled
        self.track_changes: Callable[[Draft], AbstractAsyncContextManager[None]] = lambda _: (
            nullcontext()
        )
        """Entered around each draft that is applied or undone, so that it is known whose it was."""

    @property
    def all(self) -> list[Draft]:
        """Every draft with its present state, oldest first."""
        return list(self._drafts.values())

    def waiting(self) -> list[Draft]:
        return [draft for draft in self.all if draft.status == "waiting"]

    def get(self, draft_id: str) -> Draft | None:
        return self._drafts.get(draft_id)

    def draft_of(self, path: str) -> FileDraft | None:
        """The draft that waits for a file, by its old or its new path, if one does."""
        files = (draft for draft in self.waiting() if isinstance(draft, FileDraft))
        return next((draft for draft in files if path in draft.paths), None)

    async def add(
        self,
        call_id: str,
        draft: Draft,
        workspace: Workspace,
        emit: Callable[[Event], None],
        *,
        approve: bool,
    ) -> DraftStatus:
        """Take a new draft; an earlier one that changes the same thing is superseded by it."""
        async with self._writing:  # one that is being written at this moment is no longer waiting
            for old in self.all:
                if old.status in OPEN and old.keys & draft.keys:
                    self._settle(old.id, "superseded", "", emit)
            self._drafts[draft.id] = draft
            emit(DraftCreated(call_id, draft))
        if approve:
            return await self.approve(draft.id, workspace, emit)
        return "waiting"

    async def approve(
        self, draft_id: str, workspace: Workspace, emit: Callable[[Event], None]
    ) -> DraftStatus:
        """Apply a draft, unless what it changes has changed meanwhile."""
        return await self._tasks.run(
            self._attempt(draft_id, workspace, emit, DraftTargets.apply, "approved", "waiting")
        )

    async def undo(
        self, draft_id: str, workspace: Workspace, emit: Callable[[Event], None]
    ) -> DraftStatus:
        """Restore what an approved draft replaced, unless it has changed meanwhile."""
        return await self._tasks.run(
            self._attempt(draft_id, workspace, emit, DraftTargets.undo, "undone", "approved")
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
        action: Callable[[DraftTargets, Draft], None],
        status: DraftStatus,
        expected: DraftStatus,
    ) -> DraftStatus:
        """Never cut short: what a thread has written must be known to be written."""
        async with self._writing:  # a second click finds the first one's work done
            draft = self._drafts[draft_id]
            if draft.status != expected:
                return draft.status
            try:
                async with self.track_changes(draft):
                    await asyncio.to_thread(lambda: action(self.targets(workspace), draft))
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
        (the_draft, done), noun = _words(draft), draft.describe().noun
        return {
            "approved": f"The person approved {the_draft}. {done}.",
            "discarded": f"The person discarded {the_draft}. The {noun} is unchanged.",
            "undone": f"The person undid {_change(draft)}. The {noun} is as it was before.",
            "conflict": f"{the_draft[:1].upper()}{the_draft[1:]} was not carried out: "
            f"the {noun} had changed meanwhile.",
        }.get(status, "")

    def ends(self) -> str:
        """What a model that joins later is told: how each newest draft ended."""
        ends = {
            "approved": "is {done}",
            "discarded": "was discarded, and the {noun} is unchanged",
            "undone": "was undone, and the {noun} is as it was before",
            "conflict": "was not carried out, because the {noun} had changed meanwhile",
        }
        known = [(draft, draft.describe()) for draft in self.all if draft.status != "superseded"]
        newest = {(about.noun, about.name): (draft, about) for draft, about in known}
        told: list[str] = []
        for draft, about in newest.values():
            if end := ends.get(draft.status):
                the_draft, _ = _words(draft)
                done = "written" if about.action == "write" else "carried out"
                end = end.format(done=done, noun=about.noun)
                told.append(f"{the_draft[:1].upper()}{the_draft[1:]} {end}.")
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

    def draft_of(self, path: str) -> FileDraft | None:
        return self._drafts.draft_of(path)

    async def propose(self, call_id: str, draft: Draft, *, approve: bool) -> DraftStatus:
        return await self._drafts.add(call_id, draft, self._workspace, self._emit, approve=approve)

    async def withdraw(self, draft: Draft) -> None:
        await self._drafts.settle(draft.id, "superseded", self._emit)


def _words(draft: Draft) -> tuple[str, str]:
    """How a note to the model names a draft, and what is true once the draft is approved."""
    about = draft.describe()
    if about.action == "delete":
        return f"the draft that deletes {about.name}", "It is deleted"
    if about.action == "move":
        return f"the draft that moves {about.name} to {about.target}", "It is moved"
    return f"the draft of {about.name}", "It is written"


def _change(draft: Draft) -> str:
    doing = {"write": "change", "delete": "deletion", "move": "move"}[draft.action]
    return f"the {doing} of {draft.describe().name}"
