"""Grep: searches the text of files with ripgrep where it is installed, else in Python.

Both are given the same lines, which this module reads: so both find the same matches in the
same order, in files of every encoding and size, and what is left out is counted once. At most
a few megabytes are held in memory. Matches over several lines are Python's alone: ripgrep would
hold all text for them, and find some that begin in one file and end in the next. Everything
blocks: call it in a thread.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import threading
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from studio.domain.errors import ToolFailed
from studio.domain.records import dataclass
from studio.domain.tools import SKIPPED_FOLDERS
from studio.processes.daemon_thread import Stop

from .encodings import NotText, decode
from .folder import Workspace
from .glob_pattern import glob_matcher
from .text_files import open_file, open_text, unsaved_now

if TYPE_CHECKING:
    import regex

WIDTH = 300
"""Characters of a line that are shown."""
_CHUNK = 1_000_000
"""Characters that are searched together, and of the longest line that is searched in one."""
_OVERLAP = 10_000
"""Characters of a longer line that are searched twice, so that no match is cut in two."""
LINES = 20
"""Lines of a match over several that are shown."""
_SECONDS = 0.5
"""For one line, where Python searches: its expressions may take for ever."""
_SECONDS_OF_LINES = 5.0
"""For the next match over several lines."""


@dataclass(frozen=True, slots=True)
class Query:
    """``pattern`` is a regular expression, or with ``literal`` plain text, ``glob`` a filter on
    paths or empty. ``multiline``: a match may go over several lines. ``context`` are the lines
    around each match that are wanted, too.
    """

    pattern: str
    glob: str = ""
    ignore_case: bool = False
    literal: bool = False
    multiline: bool = False
    context: int = 0
    per_file: bool = False
    """Whether only the first match of each file is wanted, with the number of all."""


@dataclass(frozen=True, slots=True)
class Match:
    """A line; ``path`` is relative to the folder, ``line`` counts from 1.

    ``text`` is the line without its end, of a long one the part around the match. A match
    over several lines has all of them, ``LINES`` at most.
    """

    path: str
    line: int
    text: str
    hit: bool = True
    """False for a line near a match."""
    count: int = 1
    """How many matches the file has, if only its first is told."""

    @property
    def end(self) -> int:
        """Its last line, of those that are shown."""
        return self.line + self.text.count("\n")


@dataclass(slots=True)
class Skipped:
    """What was not searched: folders that hold no work, by name; the others by number."""

    folders: set[str] = field(default_factory=set[str])
    binary: int = 0
    unreadable: int = 0
    links: int = 0
    special: int = 0
    """Pipes, sockets and devices."""


@dataclass(frozen=True, slots=True)
class Found:
    """The matches of a search, and what was left out up to the last of them."""

    matches: list[Match]
    skipped: Skipped


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Lines of a file from ``line`` on; of a very long one the part after ``column`` characters."""

    path: str
    line: int
    column: int
    text: str

    def match(self, index: int, line: str, at: int, *, hit: bool = True) -> Match:
        """The match in its line ``index``, from 0, at character ``at``."""
        return Match(self.path, self.line + index, _excerpt(line, at, self.column), hit)


class _UnsupportedRegex(ToolFailed):
    """ripgrep cannot parse the pattern; Python may be able to."""


def find_ripgrep(environment: Mapping[str, str]) -> str | None:
    """The program's path, by the PATH that child processes get."""
    import shutil

    return shutil.which("rg", path=environment.get("PATH", os.defpath))


def search(
    workspace: Workspace,
    place: Path,
    query: Query,
    limit: int,
    stop: Stop,
    *,
    ripgrep: str | None,
    environment: Mapping[str, str],
) -> Found:
    """The first ``limit`` matches under ``place`` in the order of paths and lines.

    Raises ToolFailed for a pattern that is no regular expression.
    """
    if ripgrep is not None and not query.multiline:
        files = _Files(workspace, place, query.glob, stop)
        try:
            return files.found(_with_ripgrep(ripgrep, files, query, limit, environment))
        except OSError:  # it cannot be started
            pass
        except _UnsupportedRegex as failure:
            if not _is_python_regex(query.pattern):
                raise ToolFailed(str(failure)) from None
    files = _Files(workspace, place, query.glob, stop)
    return files.found(_with_python(files, query, limit))


class _Files:
    """Reads the lines of the files that are searched, and counts what is left out."""

    def __init__(self, workspace: Workspace, place: Path, glob: str, stop: Stop) -> None:
        self.stop = stop
        self.enough = False
        """Whether nothing more needs to be read."""
        self._workspace = workspace
        self._place = place
        self._fits: Callable[[str], object] = glob_matcher(glob) if glob else str
        self._skipped = Skipped()

    def found(self, matches: list[Match]) -> Found:
        return Found(matches, self._skipped)

    def ended(self) -> bool:
        return self.enough or self.stop()

    def chunks(self) -> Iterator[_Chunk]:
        for path in self._paths():
            try:
                yield from self._chunks_of(path, self._workspace.relative(path))
            except NotText:
                self._skipped.binary += 1
            except OSError:
                self._skipped.unreadable += 1

    def _paths(self) -> Iterator[Path]:
        workspace, place, skipped = self._workspace, self._place, self._skipped
        if place.is_file():
            if not workspace.hidden(workspace.relative(place)):
                yield place
            return
        for entry in workspace.walk(place, stop=self.ended, left_out=self._left_out):
            try:
                if entry.is_symlink():
                    skipped.links += 1
                elif entry.is_dir(follow_symlinks=False) or not self._fits(
                    workspace.relative(Path(entry.path))
                ):
                    continue
                elif entry.is_file(follow_symlinks=False):
                    yield Path(entry.path)
                else:
                    skipped.special += 1
            except OSError:
                skipped.unreadable += 1

    def _left_out(self, folder: Path) -> None:
        """Note a folder that is not walked through: it cannot be opened, or holds no work."""
        if folder.name in SKIPPED_FOLDERS:
            self._skipped.folders.add(folder.name)
        else:
            self._skipped.unreadable += 1

    def _chunks_of(self, path: Path, name: str) -> Iterator[_Chunk]:
        editor = self._workspace.editor
        if editor is not None and (path == self._place or editor.may_have(path)):
            text = unsaved_now(self._workspace, path, name)
            if text is not None:
                yield _Chunk(name, 1, 0, text)
                return
        with open_file(path) as file:
            data = file.read(_CHUNK + 1)
        if len(data) <= _CHUNK:
            if text := decode(data, name)[0]:
                yield _Chunk(name, 1, 0, text)
            return
        source = open_text(path)
        if source is None:
            raise NotText(name)
        with source:
            yield from self._chunks_in(source, name)

    def _chunks_in(self, source: Iterable[str], name: str) -> Iterator[_Chunk]:
        """The lines of a big file, as many at once as are ``_CHUNK`` characters."""
        readline = cast("Any", source).readline
        lines: list[str] = []
        number, first, size, column, tail = 1, 1, 0, 0, ""
        while not self.ended() and (piece := cast("str", readline(_CHUNK))):
            is_whole = piece.endswith("\n") and not column
            if lines and (not is_whole or size > _CHUNK):
                yield _Chunk(name, first, 0, "".join(lines))
                lines, size = [], 0
            if is_whole:
                first = first if lines else number
                lines.append(piece)
                size += len(piece)
                number += 1
                continue
            if piece.strip("\0"):
                yield _Chunk(name, number, column - len(tail), tail + piece)
            ends = piece.endswith("\n")
            number, column = number + ends, 0 if ends else column + len(piece)
            tail = "" if ends else piece[-_OVERLAP:]
        if lines:
            yield _Chunk(name, first, 0, "".join(lines))


def _with_ripgrep(
    program: str, files: _Files, query: Query, limit: int, environment: Mapping[str, str]
) -> list[Match]:
    """Search with a child process, which is given the lines on its standard input."""
    command = [program, "--json", "--no-config", "--text", "--crlf"]
    command += ["--ignore-case" if query.ignore_case else "--case-sensitive"]
    command += ["--fixed-strings"] if query.literal else []
    command += [f"--context={query.context}"] if query.context else []
    command += ["--regexp", query.pattern, "--", "-"]
    with subprocess.Popen(
        command,
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        creationflags=subprocess.CREATE_NO_WINDOW if sys.platform == "win32" else 0,
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        files.stop.then(child.kill)
        feed = _Feed(files, child)
        feed.start()
        try:
            found = _first(map(feed.match, child.stdout), query, limit)
        finally:
            files.enough = True
            child.kill()
            feed.join()
        said = child.stderr.read().decode("utf-8", "replace").strip()
    if feed.error is not None:
        raise feed.error
    if "regex" in said and not found:
        raise _UnsupportedRegex(f"“{query.pattern}” is not a regular expression: {said}")
    return found


class _Feed(threading.Thread):
    """Writes the lines to ripgrep, and knows where each of them is from."""

    def __init__(self, files: _Files, child: subprocess.Popen[bytes]) -> None:
        super().__init__(name="search", daemon=True)
        self.error: Exception | None = None
        self._files = files
        self._child = child
        self._chunks: list[_Chunk] = []
        self._starts: list[int] = []
        """For each chunk the number of lines that were written before it."""

    def run(self) -> None:
        pipe, lines = self._child.stdin, 0
        assert pipe is not None
        try:
            for chunk in self._files.chunks():
                end = "" if chunk.text.endswith("\n") else "\n"
                self._starts.append(lines)
                # The text itself may be big and is not needed again.
                self._chunks.append(_Chunk(chunk.path, chunk.line, chunk.column, ""))
                lines += chunk.text.count("\n") + len(end)
                pipe.write(f"{chunk.text}{end}".encode("utf-8", "replace"))
        except OSError:  # it ended: nothing more is needed, or it cannot parse the pattern
            pass
        except Exception as error:
            self.error = error
        finally:
            with suppress(OSError):
                pipe.close()

    def match(self, line: bytes) -> Match | None:
        """The line of a file that a line of ripgrep's output tells; None if it tells none."""
        record = cast("dict[str, Any]", json.loads(line))
        if record["type"] not in ("match", "context"):
            return None
        data, hit = record["data"], record["type"] == "match"
        number = data["line_number"] - 1
        index = bisect_right(self._starts, number) - 1
        text = _bytes(data["lines"])
        start = data["submatches"][0]["start"] if hit else 0
        at = len(text[:start].decode("utf-8", "replace"))
        line_text = text.decode("utf-8", "replace").rstrip("\r\n")
        return self._chunks[index].match(number - self._starts[index], line_text, at, hit=hit)


def _bytes(value: dict[str, str]) -> bytes:
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])


def _first(lines: Iterable[Match | None], query: Query, limit: int) -> list[Match]:
    """The first matches, one of each line: a very long line is searched in parts.

    Of the lines that are no matches those around a match stay, in the order of the file.
    """
    found: list[Match] = []
    before: deque[Match] = deque(maxlen=query.context)
    hits, hit = 0, Match("", 0, "")
    for line in filter(None, lines):
        again = line.path == hit.path and line.line <= hit.end
        if again or (not line.hit and not query.context):
            continue
        if not line.hit:
            near = line.path == hit.path and line.line <= hit.end + query.context
            (found if near else before).append(line)
            continue
        if query.per_file and line.path == hit.path:
            found[-1] = replace(found[-1], count=found[-1].count + 1)
            hit = line
            continue
        first = line.line - query.context
        found += [one for one in before if one.path == line.path and first <= one.line < line.line]
        before.clear()
        if found and (found[-1].path, found[-1].line) == (line.path, line.line):
            found.pop()  # a part of this line without the match
        found.append(line)
        hit, hits = line, hits + 1
        if hits == limit:
            break
    return found


def _excerpt(line: str, at: int, before: int) -> str:
    """A line, or the part of it around character ``at``; ``before`` characters came earlier."""
    start = 0 if at < WIDTH - 50 else at - 50
    part = line[start : start + WIDTH]
    skipped = f"[… from first_column {before + start + 1}:] " if before + start else ""
    return f"{skipped}{part}{' [… line cut]' if start + WIDTH < len(line) else ''}"


def _is_python_regex(pattern: str) -> bool:
    try:
        _compiled(Query(pattern))
    except ToolFailed:
        return False
    return True


def _compiled(query: Query) -> regex.Pattern[str]:
    import regex

    pattern = regex.escape(query.pattern) if query.literal else query.pattern
    flags = regex.IGNORECASE if query.ignore_case else 0
    try:
        return regex.compile(pattern, flags | (regex.MULTILINE if query.multiline else 0))
    except (regex.error, RecursionError, OverflowError) as error:
        raise ToolFailed(f"“{query.pattern}” is not a regular expression: {error}") from error


def _with_python(files: _Files, query: Query, limit: int) -> list[Match]:
    return _first(_python_matches(files, query), query, limit)


def _python_matches(files: _Files, query: Query) -> Iterator[Match]:
    """Search here. The time of a match is limited, and others go on meanwhile."""
    expression = _compiled(query)
    for chunk in files.chunks():
        if query.multiline:
            yield from _over_lines(expression, chunk, query, files.stop)
            continue
        for index, line in enumerate(chunk.text.removesuffix("\n").split("\n")):
            if files.stop():
                return
            text = line.rstrip("\r")
            found = _next(expression, text, 0, _SECONDS, query, chunk.line + index, chunk)
            if found is not None or query.context:
                at = 0 if found is None else found.start()
                yield chunk.match(index, text, at, hit=found is not None)


def _over_lines(
    expression: regex.Pattern[str], chunk: _Chunk, query: Query, stop: Stop
) -> Iterator[Match]:
    """The matches in a whole chunk, each with its lines; the next one begins in a later line."""
    text = chunk.text.replace("\r\n", "\n").removesuffix("\n")
    at = index = 0
    while at <= len(text) and not stop():
        found = _next(expression, text, at, _SECONDS_OF_LINES, query, chunk.line + index, chunk)
        begin = len(text) + 1 if found is None else text.rfind("\n", 0, found.start()) + 1
        if query.context and begin > at:
            for number, line in enumerate(text[at : begin - 1].split("\n")):
                yield chunk.match(index + number, line, 0, hit=False)
        if found is None:
            return
        index += text.count("\n", at, begin)
        end = text.find("\n", max(found.end() - 1, found.start()))
        at = (end if end >= 0 else len(text)) + 1
        lines = text[begin : at - 1].split("\n")
        match = chunk.match(index, lines[0], found.start() - begin)
        shown = [match.text, *(_excerpt(line, 0, 0) for line in lines[1:LINES])]
        if len(lines) > LINES:
            shown[-1] += f" [… and {len(lines) - LINES:,} more lines]"
        yield replace(match, text="\n".join(shown))
        index += len(lines)


def _next(
    expression: regex.Pattern[str],
    text: str,
    at: int,
    seconds: float,
    query: Query,
    line: int,
    chunk: _Chunk,
) -> regex.Match[str] | None:
    """The next match from character ``at`` on, which is in line ``line`` of the file."""
    try:
        return expression.search(text, at, timeout=seconds, concurrent=True)
    except TimeoutError:
        raise ToolFailed(
            f"“{query.pattern}” takes too long for line {line} of {chunk.path}. Use a simpler "
            "expression, or leave that file out."
        ) from None
