"""Calls of built-in tools without a session."""

from __future__ import annotations

import os
from pathlib import Path

from studio.domain.drafts import Draft, DraftStatus, FileDraft
from studio.tools import Context, Result, Workspace


class Waiting:
    """Drafts of a session, as far as reading needs them."""

    def __init__(self, **texts: str) -> None:
        self.texts = texts

    def draft_of(self, path: str) -> FileDraft | None:
        text = self.texts.get(path)
        return None if text is None else FileDraft("d", path, None, text, "")

    def waiting(self, *, of_turn: bool) -> list[FileDraft]:
        found = map(self.draft_of, self.texts if of_turn else ())
        return [draft for draft in found if draft is not None]

    async def propose(self, draft: Draft) -> DraftStatus:
        raise AssertionError


def context(root: Path, **drafts: str) -> Context:
    return Context(Workspace(root), drafts=Waiting(**drafts), environment=dict(os.environ))


async def call(tool: object, root: Path, /, **arguments: object) -> Result:
    return await tool.call(context(root), arguments)  # type: ignore[attr-defined]
