"""The draft store: keeps the drafts of one session, applies and undoes them (T-5)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import replace

from studio.domain.aio import BackgroundTasks
from studio.domain.drafts import Draft, DraftStatus, FileDraft, KindDraft
from studio.domain.errors import ToolFailed
from studio.domain.events import DraftCreated, DraftResolved, Event
from studio.tools import DraftConflict, DraftTargets, Workspace
from studio.tools.packs.persons_act import NO_ACTS, Acts

log = logging.getLogger(__name__)

OPEN: tuple[DraftStatus, ...] = ("waiting", "conflict")
"""States in which the person still has to decide."""


class DraftStore:
    """Keeps the latest state of each draft, and emits an event for each change of it.

    ``targets`` returns the targets of a workspace's drafts; it may read the disk.
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
        self.track_changes: Callable[[Sequence[Draft]], AbstractAsyncContextManager[None]] = (
            lambda _: nullcontext()
        )
        """Entered around drafts that are applied or undone, so that it is known whose they were."""

    @property
    def all(self) -> list[Draft]:
        """Every draft with its present state, oldest first."""
        return list(self._drafts.values())

    def waiting(self) -> list[Draft]:
        return [draft for draft in self.all if draft.status == "waiting"]

    def get(self, draft_id: str) -> Draft | None:
        return self._drafts.get(draft_id)

    def draft_of(self, path: str) -> FileDraft | None:
        """The waiting draft of a file, by its old or its new path; None if there is none."""
        return next((draft for draft in self.waiting_files() if path in draft.paths), None)

    def waiting_files(self) -> list[FileDraft]:
        return [draft for draft in self.waiting() if isinstance(draft, FileDraft)]

    async def add(
        self,
        call_id: str,
        drafts: Sequence[Draft],
        workspace: Workspace,
        emit: Callable[[Event], None],
        *,
        approve: bool,
    ) -> DraftStatus:
        """Add new drafts; they supersede open drafts that change the same things.

        Several are those of one patch: approved together, and dropped if that fails. Those of
        packs wait for a person whatever a rule allows (KZ-5).
        """
        async with self._writing:  # a draft that is being written is not superseded
            changed: list[str] = []
            for draft in drafts:
                for old in self.all:
                    if old.status in OPEN and old.keys & draft.keys:
                        self._settle(old.id, "superseded", "", emit)
                        changed.append(old.id)
                self._drafts[draft.id] = draft
                changed.append(draft.id)
                emit(DraftCreated(call_id, draft))
            await self._tell_kinds(changed, workspace)
        if not approve or any(isinstance(draft, KindDraft) for draft in drafts):
            return "waiting"
        status = await self.approve(drafts[0].id, workspace, emit)
        if status != "approved" and len(drafts) > 1:
            for draft in drafts:
                await self.settle(draft.id, "superseded", workspace, emit)
        return status

    async def write(self, drafts: Sequence[Draft], workspace: Workspace) -> DraftStatus:
        """Carry out drafts on a desk, all or none, and keep none of them; raises ToolFailed."""
        async with self._writing:
            try:
                await self._tasks.run(
                    asyncio.to_thread(
                        _carry_out, DraftTargets.apply, self.targets(workspace), drafts
                    )
                )
            except (DraftConflict, OSError) as error:
                raise ToolFailed(str(error)) from error
        return "approved"

    def together(self, draft_id: str) -> list[Draft]:
        """The open drafts of the same patch, this one too; it alone if there is no patch."""
        draft = self._drafts[draft_id]
        if draft.status not in OPEN or not isinstance(draft, FileDraft) or not draft.patch:
            return [draft]
        files = (one for one in self.all if isinstance(one, FileDraft) and one.status in OPEN)
        return [one for one in files if one.patch == draft.patch]

    async def approve(
        self,
        draft_id: str,
        workspace: Workspace,
        emit: Callable[[Event], None],
        acts: Acts = NO_ACTS,
    ) -> DraftStatus:
        """Apply a draft, unless its target has changed since it was made.

        Those of one patch are applied together, or none of them (C-8).
        """
        return await self._tasks.run(self._attempt(draft_id, workspace, emit, "approved", acts))

    async def undo(
        self,
        draft_id: str,
        workspace: Workspace,
        emit: Callable[[Event], None],
        acts: Acts = NO_ACTS,
    ) -> DraftStatus:
        """Undo an approved draft, unless its target has changed since."""
        return await self._tasks.run(self._attempt(draft_id, workspace, emit, "undone", acts))

    async def settle(
        self,
        draft_id: str,
        status: DraftStatus,
        workspace: Workspace,
        emit: Callable[[Event], None],
        reason: str = "",
    ) -> DraftStatus:
        """Give an open draft the status "discarded" or "superseded"; returns its status."""
        async with self._writing:
            draft = self._drafts[draft_id]
            if draft.status in OPEN:
                self._settle(draft_id, status, reason, emit)
                await self._tell_kinds([draft_id], workspace, reason)
            return self._drafts[draft_id].status

    async def _attempt(
        self,
        draft_id: str,
        workspace: Workspace,
        emit: Callable[[Event], None],
        status: DraftStatus,
        acts: Acts,
    ) -> DraftStatus:
        """Runs to its end even if cancelled, so that what a thread wrote is recorded."""
        approves = status == "approved"
        action = DraftTargets.apply if approves else DraftTargets.undo
        expected: DraftStatus = "waiting" if approves else "approved"
        async with self._writing:  # a second call finds the work of the first one done
            draft = self._drafts[draft_id]
            if draft.status != expected:
                return draft.status
            drafts = self.together(draft_id) if approves else [draft]
            if other := next((one for one in drafts if one.status != expected), None):
                why = f"Could not do this: {other.describe().label}, a part of it, has a conflict."
                emit(DraftResolved(draft_id, draft.status, f"{why} Resolve that first."))
                return draft.status

            done: list[Draft] = []

            def work() -> None:
                targets = replace(self.targets(workspace), acts=acts)
                _carry_out(action, targets, drafts, done)

            try:
                async with self.track_changes(drafts):
                    await asyncio.to_thread(work)
            except DraftConflict as conflict:
                failed = drafts[len(done)]
                if status == "approved":
                    self._settle(failed.id, "conflict", str(conflict), emit)
                    await self._tell_kinds([failed.id], workspace, str(conflict))
                else:
                    emit(DraftResolved(draft_id, draft.status, f"Could not undo: {conflict}"))
            except (ToolFailed, OSError) as failure:
                failed = drafts[len(done)]
                what = "do this" if status == "approved" else "undo"
                emit(DraftResolved(failed.id, draft.status, f"Could not {what}: {failure}"))
            else:
                for one in drafts:
                    self._settle(one.id, status, "", emit)
                await self._tell_kinds([one.id for one in drafts], workspace)
            return self._drafts[draft_id].status

    def restored(self, draft_id: str, status: DraftStatus, emit: Callable[[Event], None]) -> None:
        """Record that undo or redo of a turn restored the draft's file."""
        self._settle(draft_id, status, "", emit)

    async def _tell_kinds(
        self, draft_ids: Sequence[str], workspace: Workspace, reason: str = ""
    ) -> None:
        """Tell the kinds of packs how their drafts are now; what their code raises is logged."""
        found = (self._drafts[draft_id] for draft_id in draft_ids)
        drafts = [one for one in found if isinstance(one, KindDraft)]

        def work() -> None:
            targets = self.targets(workspace)
            for one in drafts:
                try:
                    targets.kind(one.kind).settled(one, reason)
                except Exception:  # a pack's own code
                    log.exception("the kind %s did not take that a draft is settled", one.kind)

        if drafts:
            await self._tasks.run(asyncio.to_thread(work))

    def note(self, draft_id: str, status: DraftStatus, reason: str = "") -> str:
        """The note to the model on a decided draft; empty if none is needed."""
        draft = self._drafts.get(draft_id)
        if draft is None:
            return ""
        (the_draft, done), noun = _words(draft), draft.describe().noun
        return {
            "approved": f"The person approved {the_draft}. {done}.",
            "discarded": f"The person discarded {the_draft}. The {noun} is unchanged."
            + (f" They say why: {reason}" if reason else ""),
            "undone": f"The person undid {_change(draft)}. The {noun} is as it was before.",
            "conflict": f"{the_draft[:1].upper()}{the_draft[1:]} was not carried out: "
            f"the {noun} had changed meanwhile.",
        }.get(status, "")

    def ends(self) -> str:
        """The outcome of the newest draft of each file or record, for a new native history."""
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


def _carry_out(
    action: Callable[[DraftTargets, Draft], None],
    targets: DraftTargets,
    drafts: Sequence[Draft],
    done: list[Draft] | None = None,
) -> None:
    """Carry out drafts, all or none; ``done`` gets those that were, also if another one fails."""
    done = [] if done is None else done
    try:
        for one in drafts:
            action(targets, one)
            done.append(one)
    except BaseException:
        for one in reversed(done):  # a file that changed this moment stays as it is
            with suppress(DraftConflict, ToolFailed, OSError):
                targets.undo(one)
        raise


def _words(draft: Draft) -> tuple[str, str]:
    """The name of a draft in a note to the model, and the outcome of its approval."""
    about = draft.describe()
    if about.action == "delete":
        return f"the draft that deletes {about.name}", "It is deleted"
    if about.action == "move":
        return f"the draft that moves {about.name} to {about.target}", "It is moved"
    return f"the draft of {about.name}", "It is written"


def _change(draft: Draft) -> str:
    doing = {"write": "change", "delete": "deletion", "move": "move"}[draft.action]
    return f"the {doing} of {draft.describe().name}"
