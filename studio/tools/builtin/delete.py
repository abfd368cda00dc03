"""Delete tool: drafts the deletion of a file."""

from __future__ import annotations

import asyncio

from studio.tools import Context, FileDraft, Result, ToolFailed, make_delete, tool
from studio.tools.drafts.draft_make import propose


@tool(effect="draft", target="path", verb="Drafting", done="Drafted", icon="trash-2", alone=True)
async def delete(context: Context, path: str) -> Result:
    """Delete a file, not a folder. Your own draft of a new file is only taken back."""
    draft, unwritten = await deletion(context, path)
    if draft is not None:
        return await propose(context, draft)
    assert unwritten is not None
    await context.drafts.withdraw(unwritten)
    name = unwritten.target or unwritten.path
    return Result(
        f"Your draft of {name} is taken back. There is no such file.", "taken back", (name,)
    )


async def deletion(context: Context, path: str) -> tuple[FileDraft | None, FileDraft | None]:
    """The draft that deletes a file; or else the one to be withdrawn, of a file not there yet."""
    workspace = context.workspace
    name = workspace.relative(await asyncio.to_thread(workspace.resolve, path, write=True))
    waiting = context.drafts.draft_of(name)
    if waiting is not None and waiting.action == "delete":
        raise ToolFailed(f"Your draft that deletes {name} waits already.")
    if waiting is not None and not waiting.base_digest:
        return None, waiting
    # In place of writing or moving it.
    old = path if waiting is None else waiting.path
    return await asyncio.to_thread(make_delete, workspace, old), None
