"""Find files tools: list what is in a folder, and find files by name."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

from studio.domain.errors import NothingRead
from studio.processes.daemon_thread import Stop, stoppable
from studio.tools import Context, Result, ToolFailed, tool
from studio.tools.sdk.result import plural, size
from studio.tools.workspace.glob_pattern import glob_matcher

LIMIT = 500
LAST = 1_000_000
"""File that an answer may begin with."""


@tool(effect="read", target="path", verb="Listing", done="Listed", icon="folder")
async def list_(context: Context, path: str = ".", depth: int = 1) -> Result:
    """List the files in a folder, with sizes, and the folders, without .git, node_modules and
    the like.

    depth: How many levels, up to 5.
    """
    if not 1 <= depth <= 5:
        raise NothingRead("“depth” must be 1 to 5.")
    workspace = context.workspace

    def read(stop: Stop) -> tuple[str, list[str]]:
        folder = workspace.folder(path)
        try:
            os.scandir(folder).close()
        except OSError as error:
            raise ToolFailed(f"{path} cannot be listed: {error.strerror}.") from error
        found = workspace.walk(folder, depth=depth, stop=stop)
        return workspace.relative(folder), [
            _line(entry, folder) for entry in islice(found, LIMIT + 1)
        ]

    name, lines = await stoppable(read)
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


@tool(
    effect="read", target="pattern", verb="Finding", done="Found", icon="search", spare=("first",)
)
async def glob(context: Context, pattern: str, path: str = ".", first: int = 1) -> Result:
    """Find files by name.

    pattern: *.py for names at any depth, src/**/test_*.py for whole paths.
    path: The folder that the pattern is relative to.
    first: The file to begin with.
    """
    if not 1 <= first <= LAST:
        raise NothingRead(f"“first” counts from 1 to {LAST:,}. Use a narrower pattern instead.")
    matches = glob_matcher(pattern)
    workspace = context.workspace

    def find(stop: Stop) -> tuple[str, list[str]]:
        folder = workspace.folder(path)
        entries = workspace.walk(folder, stop=stop)
        files = (Path(entry.path) for entry in entries if not entry.is_dir(follow_symlinks=False))
        found = (file for file in files if matches(file.relative_to(folder).as_posix()))
        page = islice(found, first - 1, first + LIMIT)
        return workspace.relative(folder), list(map(workspace.relative, page))

    name, found = await stoppable(find)
    more, found = len(found) > LIMIT, found[:LIMIT]
    where = "" if name == "." else f" in {name}"
    if not found:
        further = f" from the file {first} on" if first > 1 else ""
        text = f"No file{where} matches {pattern}{further}."
        return Result(text, "no files", (f"{name}: {pattern}",))
    go_on = f"go on with first {first + LIMIT}, or " if first + LIMIT <= LAST else ""
    note = f"[… more follow: {go_on}use a narrower pattern …]"
    lines = [*found, note] if more else found
    count = f"{plural(len(found), 'file')}{' or more' if more else ''}"
    return Result(lines, count, (f"{name}: {pattern}",))
