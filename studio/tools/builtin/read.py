"""Text of a file."""

from __future__ import annotations

import asyncio

from studio.tools import Context, Result, ToolFailed, tool
from studio.tools.result import plural
from studio.tools.text import Slice, slice_file, slice_text
from studio.tools.threads import Stop

LIMIT = 60_000
"""Characters of one reading."""


@tool(effect="read", target="path", verb="Reading", done="Read", icon="file-text")
async def read(context: Context, path: str, first_line: int = 1, lines: int = 1000) -> Result:
    """Read a text file, or some lines of it. The first line of the answer says which lines
    these are; below it is the text exactly as it is in the file.

    path: The file, relative to the working folder.
    first_line: The line to begin with, counting from 1.
    lines: How many lines to read at most.
    """
    if first_line < 1 or lines < 1:
        raise ToolFailed("“first_line” and “lines” count from 1.")
    workspace = context.workspace
    stop = Stop()

    def work() -> Slice:
        if draft is not None:
            return slice_text(draft.after, first_line, lines, LIMIT)
        return slice_file(workspace.file(path), name, first_line, lines, LIMIT, stop)

    name = workspace.relative(await asyncio.to_thread(workspace.resolve, path))
    draft = context.drafts.draft_of(name)
    try:
        part = await asyncio.to_thread(work)
    finally:
        stop.set()
    count = part.last - part.first + 1
    if count == 0 and first_line > 1:
        total = plural(part.total or 0, "line")
        raise ToolFailed(f"{name} has only {total}; there is no line {first_line}.")
    head = _head(name, part, count)
    if draft is not None:
        head = f"{head} This is your draft, which is not written to the file yet."
    source = f"{name}:{part.first}-{part.last}" if count else name
    return Result(f"{head}\n{part.text}", plural(count, "line"), (source,))


def _head(name: str, part: Slice, count: int) -> str:
    if count == 0:
        return f"[{name} is empty.]"
    if part.first == 1 and part.last == part.total:
        return f"[{name}, all {plural(count, 'line')}]" if count > 1 else f"[{name}, 1 line]"
    of = f" of {part.total:,}" if part.total is not None else ""
    head = f"[{name}, lines {part.first}-{part.last}{of}]"
    if part.total is None or part.last < part.total:
        head = f"{head} More follows: read on with first_line {part.last + 1}."
    return head
