"""Bench: where the changes of a turn go, and how each call drafts there (T-5)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import field

from studio.agent.changes.draft_store import DraftStore
from studio.agent.permission.approval import Approvals
from studio.agent.permission.tool_access import ToolAccess
from studio.domain.drafts import Draft, DraftStatus, FileDraft
from studio.domain.events import Event
from studio.domain.records import dataclass
from studio.domain.tools import APPLY_PATCH, EDIT, ToolSpec
from studio.tools import Drafts


@dataclass(eq=False, slots=True)
class Bench:
    """Where the changes of a turn go, and those of the turns that its calls begin.

    Children that an agent waits for draft among its drafts: it reads what they wrote, and the
    person approves all of it in one chat. ``acting`` is entered around each call that acts, so
    that its changes can be undone.
    """

    drafts: DraftStore
    emit: Callable[[Event], None]
    acting: Callable[[], AbstractAsyncContextManager[None]]
    drafted: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """What the drafts of this turn change."""
    drafting: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a call makes a draft: of two drafts of a file the second builds on the first."""
    age: int = 0
    """Grows with every call that may write."""


@dataclass(frozen=True, slots=True)
class CallDrafts(Drafts):
    """The drafts of a bench for one call; ``approve``: they are applied at once if they may be."""

    bench: Bench
    access: ToolAccess
    approvals: Approvals
    spec: ToolSpec
    """The tool that is called."""
    call_id: str
    approve: bool

    def draft_of(self, path: str) -> FileDraft | None:
        return self.bench.drafts.draft_of(path)

    def waiting(self, *, of_turn: bool) -> Sequence[FileDraft]:
        waiting = self.bench.drafts.waiting_files()
        return [one for one in waiting if bool(one.keys & self.bench.drafted) == of_turn]

    async def propose(self, draft: Draft, *more: Draft) -> DraftStatus:
        drafts, approve, workspace = (draft, *more), self.approve, self.access.workspace
        for one in drafts:
            approve = await self.approvals.allows_draft(self._judge(one), one) and approve
        if workspace.desk is not None and all(isinstance(one, FileDraft) for one in drafts):
            return await self.bench.drafts.write(drafts, workspace)
        for one in drafts:
            self.bench.drafted.update(one.keys)
        return await self.bench.drafts.add(
            self.call_id, drafts, workspace, self.bench.emit, approve=approve
        )

    async def withdraw(self, draft: Draft) -> None:
        workspace, emit = self.access.workspace, self.bench.emit
        await self.bench.drafts.settle(draft.id, "superseded", workspace, emit)

    def _judge(self, draft: Draft) -> ToolSpec:
        """The tool whose rules decide about a draft, by what this does.

        What a command or a patch writes or deletes is judged as if the tool for that had done it.
        """
        spec = self.spec
        acts = spec.effect == "act" or bool(spec.acts_with)  # also where this call only reads
        if not acts and spec.name != APPLY_PATCH:
            return spec
        edits = spec.name == APPLY_PATCH and draft.action == "write" and draft.before is not None
        judge = self.access.tools.get(EDIT if edits else draft.action)
        return spec if judge is None else judge.spec
