"""Patch tool: drafts changes of several files at once, in the form of OpenAI's models (C-8)."""

from __future__ import annotations

import asyncio

from studio.domain.drafts import FileDraft
from studio.domain.errors import NothingRead
from studio.tools import Context, Result, ToolFailed, tool
from studio.tools.drafts.draft_make import make_further, propose_patch
from studio.tools.workspace.patch import GRAMMAR, FileChange, Hunk, parse_patch, patched

from .delete import deletion
from .edit import cells_of, changed_draft, changed_lines, on_cells
from .move import movement
from .write import whole_draft


@tool(
    effect="draft",
    target="input",
    verb="Drafting",
    done="Drafted",
    icon="file-pen-line",
    alone=True,
    text_form={
        "description": "Change files with a patch: add, update, delete or move them, all of it "
        "or nothing. Write the patch itself, not JSON.",
        "format": {"type": "grammar", "syntax": "lark", "definition": GRAMMAR},
    },
)
async def apply_patch(context: Context, input: str) -> Result:
    """Change files with a patch: add, update, delete or move them, all of it or nothing.

    input: The patch, from "*** Begin Patch" to "*** End Patch". Each file has a line
        "*** Add File: path", "*** Update File: path" or "*** Delete File: path"; the lines of
        a new file begin with "+". An update may begin with "*** Move to: path". Its hunks
        begin with "@@", or "@@ " and the line of a class or function above. Their lines
        begin with " " if they stay, "-" if they go and "+" if they are new, with three lines
        that stay around each change. "*** End of File" follows a hunk at the file's end.
    """
    changes = _once_each(parse_patch(input))
    drafts: list[FileDraft] = []
    replaced: list[FileDraft] = []
    told: list[str] = []
    for change in changes:
        try:
            draft, waiting, about = await _drafted(context, change)
        except ToolFailed as error:
            if len(changes) == 1:
                raise
            raise ToolFailed(f"{change.path}: {error} Nothing of the patch was done.") from error
        drafts += filter(None, [draft])
        replaced += filter(None, [waiting])
        told += filter(None, [about])
    _refuse_common_files(drafts)
    result = await propose_patch(context, drafts, "\n".join(told)) if drafts else None
    for waiting in replaced:
        if context.drafts.draft_of(waiting.path) == waiting:
            await context.drafts.withdraw(waiting)
    if result is None:
        names = ", ".join(waiting.path for waiting in replaced)
        return Result(f"Your draft of {names} is taken back.", "taken back")
    return result


async def _drafted(
    context: Context, change: FileChange
) -> tuple[FileDraft | None, FileDraft | None, str]:
    """The draft of a change, the one to be withdrawn for it, and what is told of it."""
    path, hunks = change.path, change.hunks
    match change.kind:
        case "add":
            return await whole_draft(context, path, change.text), None, ""
        case "delete":
            return *(await deletion(context, path)), ""
        case "update" if not change.to:
            draft, about = await changed_draft(
                context, path, lambda text: patched(text, path, hunks)
            )
            return draft, None, f"{draft.path}:\n{about}"
        case "update":
            draft, waiting = await movement(context, path, change.to)
            if draft is None or not hunks:
                return draft, waiting, ""
            draft, about = await asyncio.to_thread(_moved, context, draft, hunks)
            return draft, waiting, f"{draft.label}:\n{about}"


def _moved(context: Context, draft: FileDraft, hunks: list[Hunk]) -> tuple[FileDraft, str]:
    """The draft of a move with changes in the text."""
    name = draft.path
    change = on_cells(name, lambda text: patched(text, name, hunks))
    after, notes = context.seen.changed(context.workspace, name, draft.after, change)
    if draft.path in context.seen.drafted:
        context.seen.saw(draft.target or draft.path, after, drafted=True)
    further = make_further(draft, after)
    lines = changed_lines(cells_of(name, draft.after), cells_of(name, after))
    return further, "\n".join([*notes, *lines])


def _refuse_common_files(drafts: list[FileDraft]) -> None:
    """Raise NothingRead where two drafts are about one file: the second would drop the first."""
    found: set[tuple[str, str]] = set()
    for draft in drafts:
        if twice := sorted(found & draft.keys):
            raise NothingRead(f"The patch changes {twice[0][1]} twice. Nothing was done.")
        found |= draft.keys


def _once_each(changes: list[FileChange]) -> list[FileChange]:
    """The changes with those of one file put together."""
    found: dict[str, FileChange] = {}
    for change in changes:
        first = found.setdefault(change.path, change)
        if first is change:
            continue
        if first.kind == change.kind == "update" and not change.to:
            first.hunks += change.hunks
        elif (first.kind, change.kind) == ("delete", "add"):
            found[change.path] = change
        else:
            raise NothingRead(f"The patch names {change.path} twice. Nothing was done.")
    return list(found.values())
