"""List tool: lists what is in a folder."""

from __future__ import annotations

import asyncio
import os
from itertools import islice
from pathlib import Path

from studio.processes.daemon_thread import Stop
from studio.tools import Context, Result, ToolFailed, tool
from studio.tools.sdk.result import plural, size

LIMIT = 500


@tool(effect="read", target="path", verb="Listing", done="Listed", icon="folder")
async def list_(context: Context, path: str = ".", depth: int = 1) -> Result:
    """List the files and folders in a folder, one a line with the file's size; folders end
    in a slash. Folders that hold no work, such as .git and node_modules, are left out.

    path: The folder, relative to the working folder.
    depth: How many levels to go down, 1 to 5.
    """
    if not 1 <= depth <= 5:
        raise ToolFailed("“depth” must be 1 to 5.")
    workspace = context.workspace
    stop = Stop()

    def read() -> tuple[str, list[str]]:
        folder = workspace.folder(path)
        try:
            os.scandir(folder).close()
        except OSError as error:
            raise ToolFailed(f"{path} cannot be listed: {error.strerror}.") from error
        found = workspace.walk(folder, depth=depth, stop=stop)
        return workspace.relative(folder), [
            _line(entry, folder) for entry in islice(found, LIMIT + 1)
        ]

    try:
        name, lines = await asyncio.to_thread(read)
    finally:
        stop.set()
    more = len(lines) > LIMIT
    lines = lines[:LIMIT]
    count = f"{plural(len(lines), 'entry', 'entries')}{' or more' if more else ''}"
    if more:
        lines.append(f"[… the first {LIMIT} only; list a folder in it, or use glob …]")
    return Result(lines or f"{name} is empty.", summary=count, sources=(name,))


def _line(entry: os.DirEntry[str], folder: os.PathLike[str]) -> str:
    name = os.path.relpath(entry.path, folder).replace(os.sep, "/")
    try:
        if entry.is_symlink():
            return f"{name} -> {Path(entry.path).readlink()}"
        if entry.is_dir(follow_symlinks=False):
            return f"{name}/"
        return f"{name}  {size(entry.stat(follow_symlinks=False).st_size)}"
    except OSError:
        return name
