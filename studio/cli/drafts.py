"""Drafts in the terminal: prints what they change, and carries out decisions (T-5)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from studio.agent.changes.draft_review import DraftDecision
from studio.agent.session.session import Session
from studio.domain.drafts import Draft, DraftAction, DraftStatus, KindDraft
from studio.domain.errors import ConfigurationError
from studio.domain.jsonvalue import JsonObject
from studio.tools.drafts.diff import diff
from studio.tools.drafts.draft_conflict import Conflict
from studio.tools.packs.persons_act import NO_ACTS, Door

from .console import Console
from .exit_codes import DONE, USAGE

MAX_LINES = 200
"""The most lines of a difference that are printed."""


def draft_lines(draft: Draft) -> list[str]:
    """What a draft changes: a line with the amount, then the changed lines."""
    about = draft.describe()
    what = f"{about.action.capitalize()} {about.label}"
    if not about.is_text:
        return [f"{what} (not text)"]
    counts, lines = diff_lines(*about.compared())
    return [f"{what} ({counts})", *(lines if about.rewrites else [])]


def diff_lines(old: str, new: str) -> tuple[str, list[str]]:
    """The number of changed lines, and the difference. Takes a while for long texts."""
    rows = diff(old, new)
    signs = {"add": "+ ", "del": "- ", "fold": ""}
    lines = [f"  {signs.get(row.kind, '  ')}{row.text}" for row in rows]
    if len(lines) > MAX_LINES:
        lines[MAX_LINES:] = [f"  … and {len(lines) - MAX_LINES} more lines"]
    kinds = [row.kind for row in rows]
    return f"+{kinds.count('add')} −{kinds.count('del')}", lines


def conflict_lines(conflict: Conflict) -> list[str]:
    """The lines of a conflict: what file and draft made of the original, and both merged."""
    about, base, merge = conflict.draft.describe(), conflict.base or "", conflict.merge
    now = f"{about.noun.capitalize()} now"
    lines: list[str] = []
    if conflict.unread:
        lines += ["", f"{now}: {conflict.unread}"]
    elif conflict.theirs is None:
        lines += ["", f"{now}: it is not there."]
    elif conflict.theirs == conflict.base:
        lines += ["", f"{now}: the same as the original."]
    else:
        lines += _compared(f"{now}, beside the original", base, conflict.theirs)
    if conflict.ours is None:
        lines += ["", f"Draft: deletes the {about.noun}."]
    elif about.action == "move" and not about.rewrites:
        lines += ["", f"Draft: moves the file as it is to {about.target}."]
    else:
        lines += _compared("Draft, beside the original", base, conflict.ours)
    if merge is not None:
        left = f", {merge.conflicts} to decide between the marks" if merge.conflicts else ""
        lines += _compared(f"Merged, beside the file now{left}", conflict.theirs or "", merge.text)
    return lines


def _compared(title: str, old: str, new: str) -> list[str]:
    counts, lines = diff_lines(old, new)
    return ["", f"{title} ({counts})", *lines]


def conflict_json(conflict: Conflict) -> JsonObject:
    """The texts of a conflict besides the draft's own, as JSON; None where there is no text."""
    merge = conflict.merge
    return {
        "now": conflict.theirs,
        "unread": conflict.unread,
        "merged": None if merge is None else merge.text,
        "to_decide": 0 if merge is None else merge.conflicts,
    }


_DECIDED: dict[DraftDecision, DraftStatus] = {
    "approve": "approved",
    "discard": "discarded",
    "undo": "undone",
}
_DONE: dict[DraftAction, str] = {"write": "Written", "delete": "Deleted", "move": "Moved"}


async def decide_drafts(
    session: Session,
    draft_ids: Sequence[str],
    decision: DraftDecision,
    console: Console,
    *,
    door: Door = "prompt",
    reason: str = "",
) -> int:
    """Carry out what the person decided just now about several drafts; returns the exit code."""
    wanted = _DECIDED[decision]
    drafts = [find_draft(session, one) for one in draft_ids]
    acts = NO_ACTS if decision == "discard" else console.decided(decision, drafts, door)
    decided = await session.review.decide_all(decision, draft_ids, acts, reason)
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


async def agreed(session: Session, draft_ids: Sequence[str], verb: str, console: Console) -> bool:
    """Whether the person agrees at the terminal to what a command does with drafts of packs.

    They see each and type the answer, so that no script does it (KZ-5).
    """
    drafts = [find_draft(session, one) for one in draft_ids]
    for draft in drafts:
        if isinstance(draft, KindDraft) and console.interactive:
            head, *lines = await asyncio.to_thread(draft_lines, draft)
            console.say(head, *lines)
            answer = await console.line(f"{verb} {draft.label}? [y]es, [n]o: ")
            if (answer or "").strip().lower() not in ("y", "yes"):
                return False
    return True


def find_draft(session: Session, draft_id: str) -> Draft:
    """A draft of the session; raises ConfigurationError if there is none."""
    draft = session.drafts.get(draft_id)
    if draft is None:
        raise ConfigurationError(f"There is no draft {draft_id}.")
    return draft
