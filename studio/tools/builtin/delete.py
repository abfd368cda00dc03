"""Delete tool: drafts the deletion of a file."""

from __future__ import annotations

import asyncio

from studio.tools import Context, FileDraft, Result, ToolFailed, make_delete, tool
from studio.tools.drafts.draft_make import propose


@tool(effect="draft", target="path", verb="Drafting", done="Drafted", icon="trash-2", alone=True)
async def delete(context: Context, path: str) -> Result:
    """Delete a file. Makes a draft that the person approves before it is deleted; the file
    can be restored afterwards. Your own draft of a new file is only taken back.

    path: The file, relative to the working folder. Folders are not deleted.
    """
    workspace = context.workspace
    name = workspace.relative(await asyncio.to_thread(workspace.resolve, path, write=True))
    waiting = context.drafts.draft_of(name)
    if waiting is None:
        return await _propose(context, path)
    if waiting.action == "delete":
        raise ToolFailed(f"Your draft that deletes {name} waits already.")
    if not waiting.base_digest:
        await context.drafts.withdraw(waiting)
        return Result(
            f"Your draft of {name} is taken back. There is no such file.", "taken back", (name,)
        )
    return await _propose(context, waiting.path)  # in place of writing or moving it


async def _propose(context: Context, path: str) -> Result:
    draft: FileDraft = await asyncio.to_thread(make_delete, context.workspace, path)
    return await propose(context, draft)
