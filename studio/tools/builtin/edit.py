"""Edit tool: drafts the replacement of part of a file."""

from __future__ import annotations

import asyncio

from studio.domain.errors import NothingRead
from studio.tools import Context, FileDraft, Result, ToolFailed, Workspace, make_draft, tool
from studio.tools.drafts.draft_make import make_further, pending_draft, propose, read_current
from studio.tools.sdk.result import plural
from studio.tools.workspace.text_files import line_end, with_line_end


@tool(effect="draft", target="path", verb="Drafting", done="Drafted", icon="file-pen", alone=True)
async def edit(
    context: Context, path: str, old: str, new: str, replace_all: bool = False
) -> Result:
    """Replace text in a file. Makes a draft that the person approves before it is written;
    further edits build on the draft. The old text must be in the file exactly once, spaces
    and line breaks included, unless replace_all is true.

    path: The file, relative to the working folder.
    old: The text to replace, exactly as read shows it, with enough lines to be unique.
    new: The text to put in its place.
    replace_all: Replace every place where the old text is.
    """
    if not old:
        raise NothingRead("“old” is empty. To write a whole file use write.")
    if old == new:
        raise NothingRead("“old” and “new” are the same.")
    waiting = await pending_draft(context, path)
    draft = await asyncio.to_thread(_draft, context.workspace, path, waiting, old, new, replace_all)
    return await propose(context, draft)


def _draft(
    workspace: Workspace, path: str, waiting: FileDraft | None, old: str, new: str, every: bool
) -> FileDraft:
    if waiting is not None:
        return make_further(waiting, replaced(waiting.after, path, old, new, every=every))
    workspace.file(path, write=True)  # says what is wrong with the path
    text = read_current(workspace, path)[1] or ""
    return make_draft(workspace, path, replaced(text, path, old, new, every=every))


def replaced(text: str, name: str, old: str, new: str, *, every: bool = False) -> str:
    """``text`` with ``old`` replaced; ToolFailed that helps if it is not there just once.

    Models write ``\\n``: where all lines of the file end in another way both sides are read
    so, and where its lines end in several ways ``old`` is looked for with each.
    """
    end = line_end(text)
    if end in ("\r\n", "\r"):
        old, new = with_line_end(old, end), with_line_end(new, end)
    count = text.count(old)
    if count == 0 and end is None and "\r\n" in text:
        old, new = with_line_end(old, "\r\n"), with_line_end(new, "\r\n")
        count = text.count(old)
    if count == 0:
        raise ToolFailed(_not_found(text, name, old))
    if count > 1 and not every:
        lines = ", ".join(str(line) for line in _places(text, old))
        raise ToolFailed(
            f"“old” is {plural(count, 'time')} in {name} (lines {lines}). Give more lines "
            "around it so that it is there once, or set replace_all."
        )
    return text.replace(old, new)


def _places(text: str, old: str) -> list[int]:
    """The line numbers of the first few matches."""
    found: list[int] = []
    index = text.find(old)
    while index >= 0 and len(found) < 10:
        found.append(text.count("\n", 0, index) + 1)
        index = text.find(old, index + len(old))
    return found


def _not_found(text: str, name: str, old: str) -> str:
    """What is there instead, so that the next try can be right."""
    start = f"“old” is not in {name}."
    wanted = [line.strip() for line in old.strip().splitlines()]
    lines = text.splitlines()
    bare = [line.strip() for line in lines]
    # One search in one text takes time for each line once, whatever was asked for.
    before, found, _ = "\n".join(["", *bare, ""]).partition("\n".join(["", *wanted, ""]))
    if wanted and found:
        number = before.count("\n")
        there = "\n".join(lines[number : number + len(wanted)])
        return (
            f"{start} Lines {number + 1}-{number + len(wanted)} differ from it only in "
            f"spaces or line breaks; the file has:\n{there}"
        )
    first = next((line for line in wanted if line), "")
    if first in bare:
        number = bare.index(first)
        there = "\n".join(lines[number : number + len(wanted)][:20])
        return f"{start} Its first line is line {number + 1}, but what follows is:\n{there}"
    return f"{start} Read the file and copy the text exactly."
