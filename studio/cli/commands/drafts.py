"""``agent-studio drafts``: what waits for the person, and what they decide about it (T-5)."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from studio.agent.changes.draft_review import DraftDecision
from studio.agent.engine import Engine
from studio.agent.session.session import Session
from studio.cli.console import Console
from studio.cli.drafts_format import conflict_json, conflict_lines, draft_lines
from studio.cli.exit_codes import DONE, USAGE
from studio.domain.errors import ConfigurationError
from studio.domain.sessions import DraftEntry
from studio.domain.tools import Draft, DraftAction, DraftStatus

from .sessions import find_session_id

DECISIONS: dict[str, tuple[DraftDecision, DraftStatus]] = {
    "approve": ("approve", "approved"),
    "discard": ("discard", "discarded"),
    "undo": ("undo", "undone"),
}
_DONE: dict[DraftAction, str] = {"write": "Written", "delete": "Deleted", "move": "Moved"}


async def drafts(studio: Engine, options: argparse.Namespace, console: Console) -> int:
    """List, show, decide; exit code 1 if one could not be carried out."""
    session_id = (
        await find_session_id(studio, options.session) if options.session is not None else ""
    )
    if options.what == "list":
        found = await studio.store.drafts(session_id, done=options.done)
        if options.json:
            console.write_json([asdict(entry) for entry in found])
            return DONE
        for entry in found:
            console.write(_row(entry))
        if not found:
            console.say("Nothing was decided yet." if options.done else "No draft waits for you.")
        return DONE
    known = [
        *await studio.store.drafts(session_id),
        *await studio.store.drafts(session_id, done=True),
    ]
    entries = [_entry(known, start) for start in dict.fromkeys(options.ids)]
    if options.what == "show":
        return await _show(studio, entries[0], options, console)
    if options.what == "resolve":
        from studio.cli.drafts_merge import resolve

        return await resolve(studio, entries[0], options, console)
    if options.what == "edit":
        from studio.cli.drafts_edit import edit

        return await edit(studio, entries[0], options, console)
    code = DONE
    for owner in dict.fromkeys(entry.session_id for entry in entries):
        ids = [entry.draft_id for entry in entries if entry.session_id == owner]
        session = await studio.sessions.open(owner)
        code = max(code, await decide_drafts(session, ids, options.what, console))
    return code


async def _show(
    studio: Engine, entry: DraftEntry, options: argparse.Namespace, console: Console
) -> int:
    session = await studio.sessions.open(entry.session_id)
    draft = _draft(session, entry.draft_id)
    conflict = await session.conflict(draft.id) if draft.status == "conflict" else None
    if options.json:
        told = conflict_json(conflict) if conflict else None
        texts = {"before": draft.before, "after": draft.after, "conflict": told}
        console.write_json({**asdict(entry), **texts})
        return DONE
    lines = await asyncio.to_thread(draft_lines, draft)
    if conflict is not None:
        lines = [f"{lines[0]}: {entry.detail}", *await asyncio.to_thread(conflict_lines, conflict)]
    console.write("".join(f"{line}\n" for line in lines))
    if conflict is not None:
        console.say(
            f"\nTo resolve it: agent-studio drafts resolve {draft.id[:8]} "
            f"--use merged, draft or file; or drafts edit {draft.id[:8]}"
        )
    return DONE


async def decide_drafts(
    session: Session, draft_ids: Sequence[str], word: str, console: Console
) -> int:
    """Carry out one decision about several drafts, and say what came of each."""
    decision, wanted = DECISIONS[word]
    decided = await session.decide_all(decision, draft_ids)
    details = {draft.id: detail for draft, detail in session.transcript.draft_details}
    for draft_id, status in decided.items():
        draft = _draft(session, draft_id)
        if status == wanted:
            what = _DONE[draft.action] if status == "approved" else status.capitalize()
            console.say(f"{what}: {draft.place}")
        else:
            console.say(f"{draft.place}: {details[draft_id] or f'this draft is {status}.'}")
        if status == "conflict":
            console.say(f"  To resolve it: agent-studio drafts show {draft_id[:8]}")
    return DONE if set(decided.values()) == {wanted} else USAGE


def _row(entry: DraftEntry) -> str:
    when = datetime.fromtimestamp(entry.resolved or entry.created).strftime("%Y-%m-%d %H:%M")
    title = " ".join(entry.title.split()) or "New chat"
    return (
        f"{entry.draft_id[:8]}  {when}  {entry.status:<9}  {entry.action:<6}  "
        f"{entry.place}  ({entry.agent} in {title})\n"
    )


def _entry(known: Sequence[DraftEntry], start: str) -> DraftEntry:
    found = [entry for entry in known if entry.draft_id.startswith(start)]
    if len({entry.draft_id for entry in found}) != 1:
        many = "more than one draft" if found else "no draft"
        raise ConfigurationError(f"There is {many} with an id that begins with {start}.")
    if len(found) > 1:
        raise ConfigurationError(
            f"The draft {start} is in more than one session. Name it with --session."
        )
    return found[0]


def _draft(session: Session, draft_id: str) -> Draft:
    draft = session.drafts.get(draft_id)
    if draft is None:
        raise ConfigurationError(f"There is no draft {draft_id}.")
    return draft
