"""The review of drafts: approves, discards, edits and undoes them; resolves conflicts (T-5)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias

from studio.agent.session.session_state import SessionState
from studio.domain.errors import ConfigurationError, ToolFailed
from studio.domain.tools import Draft, DraftStatus
from studio.tools import DraftConflict, Workspace, make_delete, make_draft, make_move
from studio.tools.drafts.atomic_files import read_stamp
from studio.tools.drafts.draft_apply import as_named
from studio.tools.drafts.draft_make import current, make_further
from studio.tools.drafts.three_way_merge import Merge, three_way

from .draft_store import OPEN

DraftDecision: TypeAlias = Literal["approve", "discard", "undo"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """The three sides of a draft whose file changed meanwhile.

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


class DraftReview:
    """Carries out what the person decides about the drafts of one session."""

    def __init__(
        self, session: SessionState, workspace: Callable[[], Awaitable[Workspace]]
    ) -> None:
        self._session = session
        self._drafts = session.drafts
        self._pending = session.pending
        self._workspace = workspace

    async def decide(
        self, draft_ids: Sequence[str], decision: DraftDecision
    ) -> dict[str, DraftStatus]:
        """Carry out one decision about several drafts, in the order they were made.

        Each for itself: one that fails leaves the others decided. Returns what
        each of them is now; one note tells the model about all. Raises
        ConfigurationError if the folder is gone or a draft unknown.
        """
        before = {known.id: known.status for known in self._drafts.all if known.id in draft_ids}
        if unknown := set(draft_ids) - before.keys():
            raise ConfigurationError(f"There is no draft {min(unknown)}.")
        workspace = await self._workspace()
        after: dict[str, DraftStatus] = {}
        for draft_id in before:
            match decision:
                case "approve":
                    status = await self._drafts.approve(draft_id, workspace, self._session.record)
                case "discard":
                    status = await self._drafts.settle(draft_id, "discarded", self._session.record)
                case "undo":
                    status = await self._drafts.undo(draft_id, workspace, self._session.record)
            after[draft_id] = status
        self._pending.drafts_ended(
            {draft_id: after[draft_id] for draft_id in after if after[draft_id] != before[draft_id]}
        )
        await self._session.flush()
        return after

    async def edit(self, draft_id: str, text: str) -> Draft:
        """Replace a waiting draft's text by the person's own."""
        old = self._drafts.get(draft_id)
        if old is None or old.status != "waiting":
            raise ConfigurationError("This draft no longer waits.")
        if old.action == "delete":
            raise ConfigurationError("This draft deletes a file. There is no text to edit.")
        try:
            draft = make_further(old, text)
        except ToolFailed as failure:
            raise ConfigurationError(str(failure)) from failure
        await self._add(draft)
        self._pending.draft_told(f"The person edited the draft of {draft.path} by hand.")
        await self._session.flush()
        return draft

    async def conflict(self, draft_id: str) -> Conflict:
        """A draft beside its file as it is now; raises ConfigurationError."""
        draft = self._open(draft_id)
        workspace = await self._workspace()
        ours = None if draft.action == "delete" else draft.after

        def sides() -> Conflict:
            theirs, digest, unread = _now(workspace, draft.path)
            merge = None
            text = draft.before is not None or not draft.base_digest
            if theirs is not None and ours is not None and text:
                merge = three_way(draft.before or "", theirs, ours)
            return Conflict(draft, draft.before, theirs, ours, merge, digest, unread)

        return await asyncio.to_thread(sides)

    async def resolve(self, draft_id: str, text: str | None, on: Conflict | None = None) -> Draft:
        """Make a draft anew on top of the file as it is now; it waits again.

        ``text`` is what the file is to hold, None to delete it or to move it as
        it is. ``on`` is what the person saw of the file when they chose it.
        Raises ConfigurationError if it cannot be done, or the file is another by now.
        """
        old = self._open(draft_id)
        workspace = await self._workspace()
        try:
            draft = await asyncio.to_thread(_anew, workspace, old, text, on)
        except (ToolFailed, DraftConflict) as failure:
            raise ConfigurationError(str(failure)) from failure
        await self._add(draft)
        self._pending.draft_told(
            f"{draft.path} had changed, so the person made your draft of it anew, on top of the "
            "file as it is now. Read it before you change it further."
        )
        await self._session.flush()
        return draft

    def _open(self, draft_id: str) -> Draft:
        draft = self._drafts.get(draft_id)
        if draft is None or draft.status not in OPEN:
            raise ConfigurationError("This draft is decided already.")
        return draft

    async def _add(self, draft: Draft) -> None:
        workspace = await self._workspace()
        await self._drafts.add("", draft, workspace, self._session.record, approve=False)


def _now(workspace: Workspace, path: str) -> tuple[str | None, str | None, str]:
    """Text, digest and what is wrong with the file of a draft, as ``Conflict`` has them."""
    try:
        place = as_named(workspace, workspace.resolve(path, write=True), path)
    except (ToolFailed, DraftConflict) as failure:
        return None, None, str(failure)
    try:
        _, theirs, digest, _ = current(workspace, path)
    except ToolFailed as failure:
        with suppress(ToolFailed, DraftConflict):
            seen = read_stamp(place, path)  # a file without text has a digest too
            return None, seen.digest if seen else "", str(failure)
        return None, None, str(failure)
    return theirs, digest, ""


def _anew(workspace: Workspace, old: Draft, text: str | None, on: Conflict | None) -> Draft:
    draft = _made(workspace, old, text)
    if draft.path == old.path:
        changed = on is not None and draft.base_digest != on.digest
    else:  # its file is gone, so the text goes to where that would have moved
        changed = on is not None and draft.base_digest != ""
    if changed:
        raise ToolFailed(f"{draft.path} changed again. Nothing was done.")
    return draft


def _made(workspace: Workspace, old: Draft, text: str | None) -> Draft:
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
