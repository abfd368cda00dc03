"""Move tool: drafts a file's move or new name."""

from __future__ import annotations

import asyncio

from studio.tools import Context, Result, ToolFailed, make_move, tool
from studio.tools.drafts.draft_make import propose


@tool(
    effect="draft", target="path", verb="Drafting", done="Drafted", icon="arrow-right", alone=True
)
async def move(context: Context, path: str, to: str) -> Result:
    """Move or rename a file. Makes a draft that the person approves before it is moved. Your
    draft of the file goes along; after moving, edit it at its new path.

    path: The file, relative to the working folder.
    to: Its whole new path. Nothing may be there yet; missing folders are made.
    """
    workspace, drafts = context.workspace, context.drafts

    def resolved() -> tuple[str, str]:
        place, target = workspace.place(path, write=True), workspace.place(to, write=True)
        return workspace.relative(place), workspace.relative(target)

    name, target = await asyncio.to_thread(resolved)
    waiting = drafts.draft_of(name)
    if waiting is not None and waiting.action == "delete":
        waiting = None  # it moves in place of being deleted
    elif waiting is not None and waiting.target and waiting.path == name:
        raise ToolFailed(f"Your draft moves {name} to {waiting.target}. Move it on from there.")
    there = drafts.draft_of(target)
    if there is not None and there != waiting:
        raise ToolFailed(f"A draft of {target} waits. Choose another path.")
    if waiting is not None and waiting.path == target and not waiting.rewrites:
        await drafts.withdraw(waiting)
        return Result(f"Your draft is taken back: {target} stays where it is.", "taken back")
    draft = await asyncio.to_thread(make_move, workspace, path, to, waiting)
    result = await propose(context, draft)
    if waiting is not None and drafts.draft_of(waiting.path) == waiting:
        await drafts.withdraw(waiting)
    return result
