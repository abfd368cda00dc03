"""Search tool: finds matching lines in all files."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Literal

from studio.domain.errors import NothingRead
from studio.processes.daemon_thread import Stop, stoppable
from studio.tools import Context, Result, tool
from studio.tools.sdk.result import plural
from studio.tools.workspace.grep import Found, Match, Query, Skipped, find_ripgrep
from studio.tools.workspace.grep import search as search_files

LIMIT = 200
"""Lines, or files, of one answer."""
MOST = 50_000
"""Matches that are counted, or of which the files are told."""
NAMED = 5
"""Names of folders that are told."""


@tool(effect="read", target="pattern", verb="Searching", done="Searched", icon="search")
async def search(
    context: Context,
    pattern: str,
    path: str = ".",
    glob: str = "",
    ignore_case: bool = False,
    literal: bool = False,
    show: Literal["lines", "files", "counts"] = "lines",
    first: int = 1,
) -> Result:
    """Search the text of files for a regular expression. Answers with the matching lines as
    path:line: text, grouped by file. Says what was not searched.

    pattern: The regular expression; write \\( for a bracket that is meant as one.
    path: The folder or file to search in.
    glob: Only files that match it, *.py for example.
    ignore_case: Whether a and A are the same.
    literal: Whether the pattern is plain text and no expression.
    show: The lines, the files alone, the newest first, or how many lines match in each file.
    first: The match to begin with, counting from 1, to go on where an answer ended.
    """
    if not pattern:
        raise NothingRead("“pattern” is empty.")
    if first < 1:
        raise NothingRead("“first” counts from 1.")
    workspace = context.workspace
    query = Query(re.escape(pattern) if literal else pattern, glob.strip(), ignore_case)
    most = first + LIMIT if show == "lines" else MOST

    def find(stop: Stop) -> tuple[str, Found, list[str]]:
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
            most,
            stop,
            ripgrep=ripgrep,
            environment=context.environment,
        )
        files = _files(found.matches, show, workspace.root) if show != "lines" else []
        return workspace.relative(place), found, files

    name, result, files = await stoppable(find)
    found, left_out = result.matches, _left_out(result.skipped)
    source = f"{name}: {pattern}"
    if not found:
        where = f" in {name}" if name != "." else ""
        only = f" ({glob})" if glob else ""
        text = f"No line{where}{only} matches {pattern}."
        note = f"\n[Not searched: {left_out}.]" if left_out else ""
        return Result(f"{text}{note}", "no matches", (source,))
    page = slice(first - 1, first - 1 + LIMIT)
    if show == "lines":
        total, text, counted = len(found), format_matches(found[page]), ("match", "matches")
    else:
        total, text, counted = len(files), "\n".join(files[page]), ("file", "files")
    if not text:
        text = f"There are only {plural(total, *counted)}."
        return Result(text, f"none from {first} on", (source,))
    more = total >= first + LIMIT
    shown = min(total - first + 1, LIMIT)
    count = f"{plural(shown, *counted)}{' or more' if more else ''}"
    if more:
        pages = f"{first}-{first - 1 + LIMIT}" if first > 1 else f"the first {LIMIT}"
        text += f"\n\n[… {pages} only; go on with first {first + LIMIT}, or narrow it …]"
    elif len(found) >= MOST:
        text += f"\n\n[… only {MOST:,} matching lines were looked at …]"
    elif result.skipped.unreadable:
        text += f"\n\n[Not searched: {left_out}.]"
    return Result(text, count, (source,))


def _files(found: list[Match], show: Literal["files", "counts"], root: Path) -> list[str]:
    """The files that have matches, the newest first, or in their order with their counts."""
    counts = Counter(one.path for one in found)
    if show == "counts":
        return [f"{path}: {count:,}" for path, count in counts.items()]
    return sorted(counts, key=lambda path: -_changed(root / path))


def _changed(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


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
