"""Decisions about drafts: carries them out and prints what came of each (T-5)."""

from __future__ import annotations

from collections.abc import Sequence

from studio.agent.changes.draft_review import DraftDecision
from studio.agent.session.session import Session
from studio.domain.drafts import Draft, DraftAction, DraftStatus
from studio.domain.errors import ConfigurationError

from .console import Console
from .exit_codes import DONE, USAGE

DECISIONS: dict[str, tuple[DraftDecision, DraftStatus]] = {
    "approve": ("approve", "approved"),
    "discard": ("discard", "discarded"),
    "undo": ("undo", "undone"),
}
_DONE: dict[DraftAction, str] = {"write": "Written", "delete": "Deleted", "move": "Moved"}


async def decide_drafts(
    session: Session, draft_ids: Sequence[str], word: str, console: Console
) -> int:
    """Carry out one decision about several drafts; returns the exit code."""
    decision, wanted = DECISIONS[word]
    decided = await session.decide_all(decision, draft_ids)
    details = {draft.id: detail for draft, detail in session.transcript.draft_details}
    for draft_id, status in decided.items():
        draft = find_draft(session, draft_id)
        if status == wanted:
            what = _DONE[draft.action] if status == "approved" else status.capitalize()
            console.say(f"{what}: {draft.label}")
        else:
            console.say(f"{draft.label}: {details[draft_id] or f'this draft is {status}.'}")
        if status == "conflict":
            console.say(f"  To resolve it: agent-studio drafts show {draft_id[:8]}")
    return DONE if set(decided.values()) == {wanted} else USAGE


def find_draft(session: Session, draft_id: str) -> Draft:
    """A draft of the session; raises ConfigurationError if there is none."""
    draft = session.drafts.get(draft_id)
    if draft is None:
        raise ConfigurationError(f"There is no draft {draft_id}.")
    return draft
