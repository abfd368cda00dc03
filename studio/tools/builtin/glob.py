"""Glob tool: finds files by name."""

from __future__ import annotations

import asyncio
from pathlib import Path

from studio.processes.daemon_thread import Stop
from studio.tools import Context, Result, tool
from studio.tools.sdk.result import plural
from studio.tools.workspace.glob_pattern import glob_regex

LIMIT = 500


@tool(effect="read", target="pattern", verb="Finding", done="Found", icon="search")
async def glob(context: Context, pattern: str, path: str = ".") -> Result:
    """Find files by name. Answers with their paths, one a line. To search in their text use
    search.

    pattern: A glob: *.py for names at any depth, src/**/test_*.py for whole paths.
    path: The folder to look in; the pattern is relative to it.
    """
    matches = glob_regex(pattern).fullmatch
    workspace = context.workspace
    stop = Stop()

    def find() -> tuple[str, list[str], bool]:
        folder = workspace.folder(path)
        found: list[str] = []
        for entry in workspace.walk(folder, stop=stop):
            place = Path(entry.path)
            if matches(place.relative_to(folder).as_posix()) and not entry.is_dir(
                follow_symlinks=False
            ):
                if len(found) == LIMIT:
                    return workspace.relative(folder), found, True
                found.append(workspace.relative(place))
        return workspace.relative(folder), found, False

    try:
        name, found, more = await asyncio.to_thread(find)
    finally:
        stop.set()
    where = "" if name == "." else f" in {name}"
    if not found:
        return Result(f"No file{where} matches {pattern}.", "no files", (f"{name}: {pattern}",))
    lines = [*found, f"[… the first {LIMIT} only; use a narrower pattern …]"] if more else found
    count = f"{plural(len(found), 'file')}{' or more' if more else ''}"
    return Result(lines, count, (f"{name}: {pattern}",))
