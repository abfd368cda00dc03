"""Search tool: finds matching lines in all files."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal

from studio.domain.errors import NothingRead
from studio.processes.daemon_thread import Stop, stoppable
from studio.tools import Context, Result, tool
from studio.tools.sdk.result import plural
from studio.tools.workspace.grep import Found, Match, Query, Skipped, find_ripgrep
from studio.tools.workspace.grep import search as search_files

LIMIT = 200
"""Matches, or files, of one answer."""
CHARACTERS = 25_000
"""Of one answer, or it would be cut in its middle."""
MOST_FILES = 50_000
"""Files with matches of which the newest are found."""
MOST_CONTEXT = 10
LAST = 10_000
"""Match that an answer may begin with: those before it are held meanwhile."""
NAMED = 5
"""Names of folders that are told."""


@tool(
    effect="read",
    target="pattern",
    verb="Searching",
    done="Searched",
    icon="search",
    spare=("literal", "multiline", "show", "context", "first"),
)
async def search(
    call: Context,
    pattern: str,
    path: str = ".",
    glob: str = "",
    ignore_case: bool = False,
    literal: bool = False,
    multiline: bool = False,
    show: Literal["lines", "files", "counts"] = "lines",
    context: int = 0,
    first: int = 1,
) -> Result:
    """Search the text of files for a regular expression.

    path: The folder or file.
    glob: Only files that match it, such as *.py.
    literal: The pattern is plain text.
    multiline: A match may go over several lines.
    show: Lines, files (newest first), or matches per file.
    context: Lines around each match, up to 10.
    first: The match to begin with.
    """
    if not pattern:
        raise NothingRead("“pattern” is empty.")
    if first < 1:
        raise NothingRead("“first” counts from 1.")
    if first > LAST:
        raise NothingRead(f"“first” is at most {LAST:,}. Narrow the search with path or glob.")
    if not 0 <= context <= MOST_CONTEXT:
        raise NothingRead(f"“context” must be 0 to {MOST_CONTEXT}.")
    workspace = call.workspace
    query = Query(
        pattern,
        glob.strip(),
        ignore_case,
        literal,
        multiline or "\n" in pattern or (not literal and r"\n" in pattern),
        context if show == "lines" else 0,
        show != "lines",
    )

    def find(stop: Stop) -> tuple[str, Found]:
        place = workspace.resolve(path or ".")
        if not place.exists():
            workspace.folder(path)  # says what is missing
        inside = place.is_relative_to(workspace.root)
        found = search_files(
            workspace,
            place,
            query,
            MOST_FILES if show == "files" else first + LIMIT,
            stop,
            ripgrep=find_ripgrep(call.environment) if inside else None,
            environment=call.environment,
        )
        if show == "files":
            found.matches.sort(key=lambda one: -_changed(workspace.root / one.path))
        return workspace.relative(place), found

    name, result = await stoppable(find)
    left_out = _left_out(result.skipped)
    source = f"{name}: {pattern}"
    kinds = ("match", "matches") if show == "lines" else ("file", "files")
    if not result.matches:
        where = f" in {name}" if name != "." else ""
        only = f" ({glob})" if glob else ""
        text = f"No line{where}{only} matches {pattern}."
        note = f"\n[Not searched: {left_out}.]" if left_out else ""
        return Result(f"{text}{note}", "no matches", (source,))
    hits = [index for index, one in enumerate(result.matches) if one.hit]
    if first > len(hits):
        return Result(f"There are only {plural(len(hits), *kinds)}.", "no more", (source,))
    lines = [_told(one, show) for one in result.matches]
    shown = _page(hits, lines, first, min(CHARACTERS, call.room * 3 // 4))
    part = _with_context(result.matches, hits, first, shown, query)
    text = _joined(result.matches, lines, part, query)
    after = first + shown
    if more := after <= len(hits):
        go_on = f"go on with first {after}, or " if after <= LAST else ""
        text += f"\n\n[… more follow: {go_on}narrow it with path or glob …]"
    elif result.skipped.unreadable:
        text += f"\n\n[Not searched: {left_out}.]"
    count = f"{plural(shown, *kinds)}{' or more' if more else ''}"
    return Result(text, count, (source,))


def _told(one: Match, show: Literal["lines", "files", "counts"]) -> str:
    if show != "lines":
        return one.path if show == "files" else f"{one.path}: {one.count:,}"
    mark = ":" if one.hit else "-"
    return "\n".join(
        f"{one.path}{mark}{number}{mark} {text}"
        for number, text in enumerate(one.text.split("\n"), one.line)
    )


def _page(hits: Sequence[int], lines: Sequence[str], first: int, most: int) -> int:
    """How many matches, from the one numbered ``first`` on, one answer has."""
    begin, size = hits[first - 1], 0
    for shown, index in enumerate(hits[first - 1 : first - 1 + LIMIT]):
        size += sum(len(line) + 1 for line in lines[begin : index + 1])
        if shown and size > most:
            return shown
        begin = index + 1
    return min(len(hits) - first + 1, LIMIT)


def _with_context(
    found: Sequence[Match], hits: Sequence[int], first: int, shown: int, query: Query
) -> range:
    """The lines of these matches and those around them: all between them are."""
    begin, last = hits[first - 1], hits[first + shown - 2]
    end = last + 1
    least, most = found[begin].line - query.context, found[last].end + query.context
    while begin and _is_around(found[begin - 1], found[hits[first - 1]], least, most):
        begin -= 1
    while end < len(found) and _is_around(found[end], found[last], least, most):
        end += 1
    return range(begin, end)


def _is_around(one: Match, hit: Match, least: int, most: int) -> bool:
    return not one.hit and one.path == hit.path and least <= one.line <= most


def _joined(found: Sequence[Match], lines: Sequence[str], shown: range, query: Query) -> str:
    """The lines, with an empty one between files and a mark where some between are left out."""
    text = lines[shown[0]]
    for before, index in pairwise(shown):
        last, one = found[before], found[index]
        between = "\n"
        if one.path != last.path and not query.per_file:
            between = "\n\n"
        elif one.path == last.path and query.context and one.line > last.end + 1:
            between = "\n--\n"
        text += between + lines[index]
    return text


def _changed(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


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
