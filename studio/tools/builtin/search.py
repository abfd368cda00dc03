"""Search tool: finds matching lines in all files."""

from __future__ import annotations

from itertools import groupby

from studio.processes.daemon_thread import Stop, stoppable
from studio.tools import Context, Result, ToolFailed, tool
from studio.tools.sdk.result import plural
from studio.tools.workspace.grep import Match, Query, find_ripgrep
from studio.tools.workspace.grep import search as search_files

LIMIT = 200
WIDTH = 300
"""Characters of a line that are shown."""


@tool(effect="read", target="pattern", verb="Searching", done="Searched", icon="search")
async def search(
    context: Context, pattern: str, path: str = ".", glob: str = "", ignore_case: bool = False
) -> Result:
    """Search the text of files for a regular expression. Answers with the matching lines as
    path:line: text, grouped by file.

    pattern: The regular expression; write \\( for a bracket that is meant as one.
    path: The folder or file to search in.
    glob: Only files that match it, *.py for example.
    ignore_case: Whether a and A are the same.
    """
    if not pattern:
        raise ToolFailed("“pattern” is empty.")
    workspace = context.workspace
    query = Query(pattern, glob.strip(), ignore_case)

    def find(stop: Stop) -> tuple[str, list[Match]]:
        place = workspace.resolve(path or ".")
        if not place.exists():
            workspace.folder(path)  # says what is missing
        ripgrep = (
            find_ripgrep(context.environment) if place.is_relative_to(workspace.root) else None
        )
        found = search_files(
            workspace,
            place,
            query,
            LIMIT + 1,
            stop,
            ripgrep=ripgrep,
            environment=context.environment,
        )
        return workspace.relative(place), found

    name, found = await stoppable(find)
    source = f"{name}: {pattern}"
    if not found:
        where = f" in {name}" if name != "." else ""
        only = f" ({glob})" if glob else ""
        return Result(f"No line{where}{only} matches {pattern}.", "no matches", (source,))
    more = len(found) > LIMIT
    text = format_matches(found[:LIMIT])
    if more:
        text = f"{text}\n\n[… the first {LIMIT} only; narrow it with path or glob …]"
    count = f"{plural(min(len(found), LIMIT), 'match', 'matches')}{' or more' if more else ''}"
    return Result(text, count, (source,))


def format_matches(found: list[Match]) -> str:
    """``path:line: text``, an empty line between files."""
    return "\n\n".join(
        "\n".join(f"{one.path}:{one.line}: {_short(one.text)}" for one in group)
        for _, group in groupby(found, key=lambda one: one.path)
    )


def _short(text: str) -> str:
    return text if len(text) <= WIDTH else f"{text[:WIDTH]} [… line cut]"
