"""Search tool: finds matching lines in all files."""

from __future__ import annotations

from itertools import groupby

from studio.domain.errors import NothingRead
from studio.processes.daemon_thread import Stop, stoppable
from studio.tools import Context, Result, tool
from studio.tools.sdk.result import plural
from studio.tools.workspace.grep import Found, Match, Query, Skipped, find_ripgrep
from studio.tools.workspace.grep import search as search_files

LIMIT = 200
NAMED = 5
"""Names of folders that are told."""


@tool(effect="read", target="pattern", verb="Searching", done="Searched", icon="search")
async def search(
    context: Context, pattern: str, path: str = ".", glob: str = "", ignore_case: bool = False
) -> Result:
    """Search the text of files for a regular expression. Answers with the matching lines as
    path:line: text, grouped by file. Says what was not searched.

    pattern: The regular expression; write \\( for a bracket that is meant as one.
    path: The folder or file to search in.
    glob: Only files that match it, *.py for example.
    ignore_case: Whether a and A are the same.
    """
    if not pattern:
        raise NothingRead("“pattern” is empty.")
    workspace = context.workspace
    query = Query(pattern, glob.strip(), ignore_case)

    def find(stop: Stop) -> tuple[str, Found]:
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

    name, result = await stoppable(find)
    found, left_out = result.matches, _left_out(result.skipped)
    source = f"{name}: {pattern}"
    if not found:
        where = f" in {name}" if name != "." else ""
        only = f" ({glob})" if glob else ""
        text = f"No line{where}{only} matches {pattern}."
        note = f"\n[Not searched: {left_out}.]" if left_out else ""
        return Result(f"{text}{note}", "no matches", (source,))
    more = len(found) > LIMIT
    text = format_matches(found[:LIMIT])
    if more:
        text = f"{text}\n\n[… the first {LIMIT} only; narrow it with path or glob …]"
    elif result.skipped.unreadable:
        text = f"{text}\n\n[Not searched: {left_out}.]"
    count = f"{plural(min(len(found), LIMIT), 'match', 'matches')}{' or more' if more else ''}"
    return Result(text, count, (source,))


def format_matches(found: list[Match]) -> str:
    """``path:line: text``, an empty line between files."""
    return "\n\n".join(
        "\n".join(f"{one.path}:{one.line}: {one.text}" for one in group)
        for _, group in groupby(found, key=lambda one: one.path)
    )


def _left_out(skipped: Skipped) -> str:
    """What was not searched, in words; empty if there is nothing."""
    names = sorted(skipped.folders)
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    folders = f"folders called {', '.join(names[:NAMED])}{more}" if names else ""
    counts = [
        plural(count, one)
        for count, one in (
            (skipped.binary, "binary file"),
            (skipped.links, "link"),
            (skipped.special, "special file"),
        )
        if count
    ]
    if skipped.unreadable:
        kinds = plural(skipped.unreadable, "file or folder", "files or folders")
        counts.append(f"{kinds} that cannot be read")
    return "; ".join(filter(None, (folders, *counts)))
