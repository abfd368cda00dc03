"""Move tool: drafts a file's move or new name."""

from __future__ import annotations

import asyncio

from studio.tools import Context, FileDraft, Result, ToolFailed, make_move, tool
from studio.tools.drafts.draft_make import propose


@tool(
    effect="draft", target="path", verb="Drafting", done="Drafted", icon="arrow-right", alone=True
)
async def move(context: Context, path: str, to: str) -> Result:
    """Move or rename a file, with your draft of it.

    to: Its whole new path, where nothing is yet.
    """
    draft, waiting = await movement(context, path, to)
    if draft is None:
        assert waiting is not None
        await context.drafts.withdraw(waiting)
        where = waiting.path
        return Result(f"Your draft is taken back: {where} stays where it is.", "taken back")
    result = await propose(context, draft)
    if waiting is not None and context.drafts.draft_of(waiting.path) == waiting:
        await context.drafts.withdraw(waiting)
    return result


async def movement(
    context: Context, path: str, to: str
) -> tuple[FileDraft | None, FileDraft | None]:
    """The draft that moves a file, and the one that it takes the place of; alone that one if it
    only has to be withdrawn."""
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
        return None, waiting
    return await asyncio.to_thread(make_move, workspace, path, to, waiting), waiting
