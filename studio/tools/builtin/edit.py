"""Edit tool: drafts the replacement of parts of a file (C-4)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from studio.domain.errors import NothingRead
from studio.domain.notebooks import is_notebook, read_notebook
from studio.domain.records import dataclass
from studio.tools import Context, FileDraft, Result, ToolFailed, make_draft, tool
from studio.tools.drafts.diff import diff
from studio.tools.drafts.draft_make import make_further, pending_draft, propose, read_current
from studio.tools.drafts.seen_files import Change
from studio.tools.workspace.text_replace import replace

SHOWN = 40
"""Lines of the changed text that a result shows."""
WIDE = 500
"""Characters of such a line."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement; ``all`` is for every place where ``old`` is."""

    old: str
    new: str
    all: bool = False


@tool(
    effect="draft", target="path", verb="Drafting", done="Drafted", icon="file-pen-line", alone=True
)
async def edit(
    context: Context,
    path: str,
    old: str | None = None,
    new: str | None = None,
    replace_all: bool = False,
    edits: list[Edit] | None = None,
) -> Result:
    """Replace text in a file: old by new, or several (edits), in order, all of them or none.
    Each old text must be in the file exactly once, unless every place is meant (replace_all,
    all).

    old: Exactly as read shows it, with enough lines to be unique.
    """
    asked = _asked(old, new, edits, every=replace_all)
    draft, about = await changed_draft(context, path, lambda text: edited(text, path, asked))
    return await propose(context, draft, about)


async def changed_draft(context: Context, path: str, change: Change) -> tuple[FileDraft, str]:
    """A draft of a file with a changed text, on top of one that waits, and what is told of it:
    how the texts were found, and the changed lines."""
    waiting = await pending_draft(context, path)
    return await asyncio.to_thread(_draft, context, path, waiting, change)


def _asked(
    old: str | None, new: str | None, edits: list[Edit] | None, *, every: bool
) -> Sequence[Edit]:
    if edits and (old or new):
        raise NothingRead("Give either “old” and “new”, or “edits”, not both.")
    asked = edits or [Edit(old or "", new or "", every)]
    for number, one in enumerate(asked, 1):
        where = f"Edit {number} of {len(asked)}: " if len(asked) > 1 else ""
        if not one.old:
            raise NothingRead(f"{where}“old” is empty. To write a whole file use write.")
        if one.old == one.new:
            raise NothingRead(f"{where}“old” and “new” are the same.")
    return asked


def _draft(
    context: Context, path: str, waiting: FileDraft | None, change: Change
) -> tuple[FileDraft, str]:
    workspace = context.workspace
    change = on_cells(path, change)
    if waiting is not None:
        before, name = waiting.after, waiting.target or waiting.path
        after, notes = context.seen.changed(workspace, name, before, change)
        draft = make_further(waiting, after)
    else:
        workspace.file(path, write=True)  # says what is wrong with the path
        name, text, _, _ = read_current(workspace, path)
        before = text or ""
        after, notes = context.seen.changed(workspace, name, before, change)
        draft = make_draft(workspace, path, after)
    return draft, "\n".join([*notes, *changed_lines(cells_of(name, before), cells_of(name, after))])


def on_cells(name: str, change: Change) -> Change:
    """The same change, of a notebook made in the text of its cells (C-9)."""

    def changed(text: str) -> tuple[str, list[str]]:
        book = read_notebook(text) if is_notebook(name) else None
        if book is None:
            return change(text)
        after, notes = change(book.text())
        return book.with_text(after), notes

    return changed


def cells_of(name: str, text: str) -> str:
    """The text of a file as a model is shown it: of a notebook that of its cells."""
    book = read_notebook(text) if is_notebook(name) else None
    return text if book is None else book.text()


def edited(text: str, name: str, edits: Sequence[Edit]) -> tuple[str, list[str]]:
    """``text`` after all edits, and how copies differed that were not exact.

    Raises ToolFailed, which names the edit, where one cannot be made.
    """
    notes: list[str] = []
    for number, one in enumerate(edits, 1):
        try:
            made = replace(text, name, one.old, one.new, every=one.all)
        except ToolFailed as error:
            if len(edits) == 1:
                raise
            raise ToolFailed(
                f"Edit {number} of {len(edits)}: {error} None of the edits was made."
            ) from error
        text = made.text
        if made.ignored:
            which = f"edit {number}" if len(edits) > 1 else "“old”"
            lines = f"line {made.first}" if made.first == made.last else ""
            lines = lines or f"lines {made.first}-{made.last}"
            notes.append(f"In {lines} {which} was found but for {made.ignored}.")
    return text, notes


def changed_lines(before: str, after: str) -> list[str]:
    """The changed lines as they are now, numbered, with three around them (C-10)."""
    rows = [row for row in diff(before, after, 3) if row.kind != "del"]
    lines = ["…" if row.kind == "fold" else f"{row.new_no}\t{row.text[:WIDE]}" for row in rows]
    lines = lines[lines[:1] == ["…"] : len(lines) - (lines[-1:] == ["…"])]
    if len(lines) <= SHOWN:
        return lines
    return [*lines[:SHOWN], f"[… {len(lines) - SHOWN} more lines …]"]
