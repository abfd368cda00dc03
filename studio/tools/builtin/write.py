"""Write tool: drafts a whole file."""

from __future__ import annotations

import asyncio

from studio.domain.notebooks import is_notebook, new_notebook, read_notebook
from studio.tools import Context, FileDraft, Result, make_draft, tool
from studio.tools.drafts.draft_make import make_further, pending_draft, propose, read_current
from studio.tools.workspace.text_files import line_end, with_line_end


@tool(
    effect="draft", target="path", verb="Drafting", done="Drafted", icon="file-pen-line", alone=True
)
async def write(context: Context, path: str, content: str) -> Result:
    """Write a whole file, a new one or over one that is there. To change a part use edit.

    path: Missing folders are made.
    """
    return await propose(context, await whole_draft(context, path, content))


async def whole_draft(context: Context, path: str, content: str) -> FileDraft:
    """A draft that makes ``content`` the text of a file, at its new path if a draft moves it."""
    waiting = await pending_draft(context, path)
    return await asyncio.to_thread(_draft, context, path, waiting, content)


def _draft(context: Context, path: str, waiting: FileDraft | None, content: str) -> FileDraft:
    workspace = context.workspace
    if waiting is not None and waiting.action == "move":
        name, before = waiting.target, waiting.before
    else:
        name, before, _, _ = read_current(workspace, path)
    now = before if waiting is None else waiting.after
    context.seen.check_overwrite(workspace, name, now or "")
    if is_notebook(name) and content.startswith("# %%"):
        book = read_notebook(now or "")
        content = book.with_text(content) if book else new_notebook(content)
    if before and (end := line_end(before)) not in (None, "\n"):
        content = with_line_end(content, end)
    context.seen.saw(name, content, drafted=True)
    if waiting is not None and waiting.action == "move":
        return make_further(waiting, content)
    return make_draft(workspace, path, content)
