"""Memory tool: the notes as files below /memories, as Anthropic's models know them (W-45)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

from studio.tools import Context, Result, tool
from studio.tools.memory.memory_folder import MemoryFolder

from .notes import refuse_subject

WAITS = "(The person decides later whether other chats see this.)"


@tool(
    effect="note",
    target="path",
    verb="Looking into memory",
    done="Looked into memory",
    icon="notebook-tabs",
    alone=True,
    proposes=True,
    vendor_type="memory_20250818",
)
async def memory(
    context: Context,
    command: Literal["view", "create", "str_replace", "insert", "delete", "rename"],
    path: str = "",
    view_range: Sequence[int] = (),
    file_text: str = "",
    old_str: str = "",
    new_str: str = "",
    insert_line: int = 0,
    insert_text: str = "",
    old_path: str = "",
    new_path: str = "",
) -> Result:
    """Look at and change what is remembered for later chats: files in the folder /memories. View
    the folder before you begin. Keep only what will still be true and useful later.

    command: view, create, str_replace, insert, delete or rename.
    path: /memories, or a file in it: /memories/build-steps.md.
    view_range: For view: the first and the last line.
    file_text: For create: the words of the new file.
    old_str: For str_replace: what is there once.
    new_str: For str_replace: what takes its place.
    insert_line: For insert: the line after which the text goes, 0 for the beginning.
    insert_text: For insert: the text.
    old_path: For rename: the file.
    new_path: For rename: its new path.
    """
    folder = MemoryFolder(context.notes)
    if command == "view":
        text, strange = await asyncio.to_thread(folder.view, path, view_range)
        return Result(text, "", (f"note {path}",), untrusted=strange)
    refuse_subject(context)
    match command:
        case "create":
            told = await asyncio.to_thread(folder.create, path, file_text)
        case "str_replace":
            told = await asyncio.to_thread(folder.str_replace, path, old_str, new_str)
        case "insert":
            told = await asyncio.to_thread(folder.insert, path, insert_line, insert_text)
        case "delete":
            told = await asyncio.to_thread(folder.delete, path)
        case "rename":
            told = await asyncio.to_thread(folder.rename, old_path, new_path)
    return Result(f"{told} {WAITS}", command, (f"note {path or old_path}",))
