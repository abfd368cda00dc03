"""``agent-studio drafts resolve``: makes a draft again when its file changed (T-5)."""

from __future__ import annotations

import argparse
import asyncio
import re
from dataclasses import asdict
from pathlib import Path

from studio.agent.engine import Engine
from studio.agent.session.session import Session
from studio.domain.drafts import Draft
from studio.domain.errors import ConfigurationError
from studio.domain.sessions import DraftEntry
from studio.tools.drafts.draft_conflict import Conflict
from studio.tools.drafts.three_way_merge import OURS, THEIRS, with_line_ends
from studio.tools.workspace.text_files import decode, read_whole

from .console import Console
from .drafts_format import diff_lines
from .exit_codes import DONE
from .terminal_io import read_stdin


async def resolve(
    engine: Engine, entry: DraftEntry, options: argparse.Namespace, console: Console
) -> int:
    """Make a draft again on top of its file as it is now. Nothing is written yet."""
    session = await engine.sessions.open(entry.session_id)
    conflict = await session.conflict(entry.draft_id)
    if conflict.draft.status != "conflict":
        raise ConfigurationError("The file did not change. Approve, edit or discard this draft.")
    if options.use == "file":
        await session.decide(entry.draft_id, "discard")
        console.say(f"Discarded: {entry.place}")
        if options.json:
            await write_entry(engine, entry, entry.draft_id, console)
        return DONE
    if options.use is None:
        require_text(conflict.draft)
        original = conflict.draft.describe().after if conflict.theirs is None else conflict.theirs
        text = await read_own_text(options.source, original)
    else:
        text = _merged(conflict) if options.use == "merged" else _drafted(conflict)
    made = await redraft(session, conflict, text)
    await report_draft(engine, entry, made, "Drafted anew", options, console)
    return DONE


async def redraft(session: Session, conflict: Conflict, text: str | None) -> Draft:
    """Make the draft with another text on the file of ``conflict``; raises ConfigurationError."""
    merge = conflict.merge
    if merge is not None and merge.conflicts and text is not None:
        lines = text.splitlines()
        if THEIRS in lines or OURS in lines:
            raise ConfigurationError(
                f"The text still has both sides between “{THEIRS}” and “{OURS}”. Leave one of them."
            )
    return await session.resolve(conflict.draft.id, text, conflict)


async def report_draft(
    engine: Engine,
    entry: DraftEntry,
    made: Draft,
    done: str,
    options: argparse.Namespace,
    console: Console,
) -> None:
    """Print what a draft has become, and how to approve it."""
    about = made.describe()
    counts, _ = await asyncio.to_thread(diff_lines, about.before or "", about.after)
    console.say(f"{done}: {about.label}" + (f" ({counts})" if about.rewrites else ""))
    if options.json:
        await write_entry(engine, entry, made.id, console)
    else:
        console.say(f"It waits for you: agent-studio drafts approve {made.id[:8]}")


async def write_entry(engine: Engine, entry: DraftEntry, draft_id: str, console: Console) -> None:
    """Print a draft as JSON, in the form that ``list`` has."""
    for done in (False, True):
        for found in await engine.store.drafts(entry.session_id, done=done):
            if found.draft_id == draft_id:
                console.write_json(asdict(found))


async def read_own_text(source: Path, original: str) -> str:
    """Read the person's own text from a file or, for ``-``, from standard input.

    Lines that did not change keep the line ends of ``original``. Raises ToolFailed if
    the file is not text.
    """
    if str(source) == "-":
        return await asyncio.to_thread(
            decode_own_text, await read_stdin(), "Standard input", original
        )
    data = await asyncio.to_thread(read_whole, source, str(source))
    return await asyncio.to_thread(decode_own_text, data, str(source), original)


def decode_own_text(data: bytes, name: str, original: str) -> str:
    """Decode what an editor saved; raises ToolFailed if it is not text."""
    text, _ = decode(data, name)
    if not original:
        return text
    return with_line_ends(re.sub(r"\r\n|\r", "\n", text), original)


def require_text(draft: Draft) -> None:
    """Raises ConfigurationError for a draft that has no text to change."""
    about = draft.describe()
    if about.action == "delete":
        raise ConfigurationError(f"This draft deletes a {about.noun}. There is no text to edit.")
    if not about.editable:
        raise ConfigurationError(f"{about.name} is no text file.")


def _merged(conflict: Conflict) -> str:
    merge, draft = conflict.merge, conflict.draft
    if merge is None:
        raise ConfigurationError(
            f"There is no merged text of {draft.describe().name}. "
            "Use the draft or the file, or your own text."
        )
    if merge.conflicts:
        raise ConfigurationError(
            "Both changed the same lines. Decide between them: "
            f"agent-studio drafts edit {draft.id[:8]}"
        )
    return merge.text


def _drafted(conflict: Conflict) -> str | None:
    """The draft's own text; None for a deletion or a plain move."""
    about = conflict.draft.describe()
    kept = conflict.ours is None or (about.action == "move" and not about.rewrites)
    return None if kept else about.after
