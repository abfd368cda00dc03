"""Notes tool: keeps what an agent remembers about a folder between sessions."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from studio.tools import Context, Result, ToolFailed, tool
from studio.tools.sdk.result import plural


@tool(effect="read", verb="Looking up notes", done="Looked up notes", icon="files")
async def notes_read(context: Context, word: str = "") -> Result:
    """List the notes kept about this folder: name, date and first line of each. Use
    notes_detail for a whole one.

    word: Only notes with this word in them; empty for all.
    """
    found = await asyncio.to_thread(context.notes.all)
    wanted = word.casefold()
    found = [note for note in found if wanted in f"{note.name}\n{note.text}".casefold()]
    lines = [
        f"{note.name} ({datetime.fromtimestamp(note.written, UTC):%Y-%m-%d}): {note.about}"
        for note in found
    ]
    text = "\n".join(lines) or "There are no such notes."
    foreign = any(note.origin for note in found)
    sources = tuple(f"note {note.name}" for note in found) or ("note list",)
    return Result(text, plural(len(found), "note"), sources, untrusted=foreign)


@tool(effect="read", target="name", verb="Reading note", done="Read note", icon="file-text")
async def notes_detail(context: Context, name: str) -> Result:
    """Read one note about this folder whole.

    name: The note's name, as notes_read gives it.
    """
    note = await asyncio.to_thread(context.notes.get, name)
    source = f"note {note.name}" + (f", after {note.origin}" if note.origin else "")
    count = plural(len(note.text.splitlines()), "line")
    return Result(note.text, count, (source,), untrusted=bool(note.origin))


@tool(effect="note", target="name", verb="Noting", done="Noted", icon="file-pen", alone=True)
async def remember(context: Context, name: str, text: str, undo: bool = False) -> Result:
    """Keep a note about this folder for later chats, or change or forget one. Keep only what
    will still be true and useful then.

    name: Small letters, digits and -: build-steps. A note of that name is replaced.
    text: The note in markdown; empty to forget it.
    undo: Put the note back as it was before its last change, and leave text empty.
    """
    notes = context.notes
    if undo:
        await asyncio.to_thread(notes.undo, name)
        return Result(f"The note {name} is as it was before.", "undone", (f"note {name}",))
    if not text.strip():
        await asyncio.to_thread(notes.forget, name)
        return Result(f"The note {name} is forgotten.", "forgotten", (f"note {name}",))
    if context.subject:
        raise ToolFailed(
            f"This chat is about {context.subject}, so nothing of it is noted: each chat in this "
            "folder reads the notes, and its model may not be one that may see this."
        )
    await asyncio.to_thread(notes.write, name, text, context.agent)
    return Result(f"The note {name} is kept.", "kept", (f"note {name}",))
