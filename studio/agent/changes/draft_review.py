"""The review of drafts: approves, discards, edits and undoes them; resolves conflicts (T-5)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec, TypeAlias, TypeVar

from studio.agent.session.session_state import SessionState
from studio.domain.drafts import Draft, DraftStatus, FileDraft, KindDraft, RecordDraft
from studio.domain.errors import ConfigurationError, ToolFailed
from studio.tools import DraftConflict, Workspace
from studio.tools.drafts.draft_conflict import Conflict
from studio.tools.drafts.draft_make import make_further
from studio.tools.packs.persons_act import NO_ACTS, Acts

from .draft_store import OPEN

LONGEST_REASON = 500
"""Characters of why a draft was discarded."""
DraftDecision: TypeAlias = Literal["approve", "discard", "undo"]
_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")
_Work: TypeAlias = Callable[Concatenate["DraftReview", _Given], Coroutine[Any, Any, _Made]]


def _keeps_open(work: _Work[_Given, _Made]) -> _Work[_Given, _Made]:
    """Keep the session from being put away while a method runs."""

    @wraps(work)
    async def kept_open(self: DraftReview, *args: _Given.args, **named: _Given.kwargs) -> _Made:
        with self.session.used():
            return await work(self, *args, **named)

    return kept_open


class DraftReview:
    """Carries out what the person decides about the drafts of one session."""

    def __init__(
        self,
        session: SessionState,
        workspace: Callable[[], Awaitable[Workspace]],
        files_changed: Callable[[], None],
    ) -> None:
        """``files_changed`` is called when a decision may have changed files or drafts."""
        self.session = session
        self._drafts = session.drafts
        self._pending = session.pending
        self._workspace = workspace
        self._files_changed = files_changed

    async def decide(
        self, draft_id: str, decision: DraftDecision, acts: Acts = NO_ACTS, reason: str = ""
    ) -> DraftStatus:
        """Approve, discard or undo a draft; the next request tells the model."""
        return (await self.decide_all(decision, [draft_id], acts, reason))[draft_id]

    @_keeps_open
    async def decide_all(
        self,
        decision: DraftDecision,
        draft_ids: Sequence[str],
        acts: Acts = NO_ACTS,
        reason: str = "",
    ) -> dict[str, DraftStatus]:
        """Carry out one decision about several drafts, in the order they were made; undo backwards.

        A draft that fails leaves the others decided. Returns the state that each draft has
        then; one note tells the model about all of them. Raises ConfigurationError if the
        folder is gone or a draft is unknown. Drafts of packs need the proof in ``acts`` that a
        person does this (KZ-5). ``reason`` is why the person discards them; the model is told.
        """
        self.session.require_sound()
        reason = " ".join(reason.split())[:LONGEST_REASON]
        if unknown := set(draft_ids) - {known.id for known in self._drafts.all}:
            raise ConfigurationError(f"There is no draft {min(unknown)}.")
        asked = set(draft_ids)
        if decision != "undo":  # a patch is decided as a whole
            asked |= {one.id for given in draft_ids for one in self._drafts.together(given)}
        before = {known.id: known.status for known in self._drafts.all if known.id in asked}
        workspace = await self._workspace()
        after: dict[str, DraftStatus] = {}
        record = self.session.record
        for draft_id in reversed(before) if decision == "undo" else before:
            match decision:
                case "approve":
                    status = await self._drafts.approve(draft_id, workspace, record, acts)
                case "discard":
                    status = await self._drafts.settle(
                        draft_id, "discarded", workspace, record, reason
                    )
                case "undo":
                    status = await self._drafts.undo(draft_id, workspace, record, acts)
            after[draft_id] = status
        self._pending.drafts_ended(
            {one: after[one] for one in after if after[one] != before[one]}, reason
        )
        await self.session.flush()
        self._files_changed()
        return after

    @_keeps_open
    async def edit(self, draft_id: str, text: str) -> Draft:
        """Replace a waiting draft's text by the person's own; raises ConfigurationError."""
        self.session.require_sound()
        old = self._drafts.get(draft_id)
        if old is None or old.status != "waiting":
            raise ConfigurationError("This draft no longer waits.")
        about = old.describe()
        if about.action == "delete":
            raise ConfigurationError(
                f"This draft deletes a {about.noun}. There is no text to edit."
            )
        if isinstance(old, RecordDraft) or (isinstance(old, KindDraft) and not about.editable):
            raise ConfigurationError(f"The draft of a {about.noun} cannot be edited by hand.")
        try:
            if isinstance(old, FileDraft):
                draft: Draft = make_further(old, text)
            else:
                targets = self._drafts.targets(await self._workspace())
                draft = await asyncio.to_thread(targets.kind(old.kind).edit, old, text)
        except ToolFailed as failure:
            raise ConfigurationError(str(failure)) from failure
        await self._replace(old, draft, f"The person edited the draft of {about.name} by hand.")
        return draft

    async def conflict(self, draft_id: str) -> Conflict:
        """Compare a draft with its file or record as it is now; raises ConfigurationError."""
        draft = self._open(draft_id)
        workspace = await self._workspace()
        try:
            return await asyncio.to_thread(lambda: self._drafts.targets(workspace).compare(draft))
        except ToolFailed as failure:
            raise ConfigurationError(str(failure)) from failure

    @_keeps_open
    async def resolve(self, draft_id: str, text: str | None, on: Conflict | None = None) -> Draft:
        """Rebase a draft on its file or record as it is now; it waits for approval again.

        ``text`` is the new text of the file; None deletes it or moves it unchanged.
        ``on`` is the comparison that the person saw. Raises
        ConfigurationError if it cannot be done, or the file has changed since.
        """
        self.session.require_sound()
        old = self._open(draft_id)
        workspace = await self._workspace()
        try:
            draft = await asyncio.to_thread(
                lambda: self._drafts.targets(workspace).remake(old, text, on)
            )
        except (ToolFailed, DraftConflict) as failure:
            raise ConfigurationError(str(failure)) from failure
        if isinstance(draft, FileDraft) and isinstance(old, FileDraft):
            draft = replace(draft, patch=old.patch)
        about = draft.describe()
        note = (
            f"{about.name} had changed, so the person made your draft of it anew, on top of the "
            f"{about.noun} as it is now. Read it before you change it further."
        )
        await self._replace(old, draft, note)
        return draft

    def _open(self, draft_id: str) -> Draft:
        draft = self._drafts.get(draft_id)
        if draft is None or draft.status not in OPEN:
            raise ConfigurationError("This draft is decided already.")
        return draft

    async def _replace(self, old: Draft, draft: Draft, note: str) -> None:
        """Add a draft that the person made of an older one; the next request tells the model
        ``note``."""
        workspace, record = await self._workspace(), self.session.record
        if not old.keys & draft.keys:  # a pack's, which is about another thing by now
            await self._drafts.settle(old.id, "superseded", workspace, record)
        await self._drafts.add("", [draft], workspace, record, approve=False)
        self._pending.add_draft_note(note)
        await self.session.flush()
        self._files_changed()
