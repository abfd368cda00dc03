"""Grep: searches files with ripgrep where it is installed, else in plain Python.

Both find the same matches in the same order. Everything blocks: call it in a thread.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from studio.domain.errors import ToolFailed
from studio.domain.tools import SKIPPED_FOLDERS
from studio.processes.daemon_thread import Stop

from .folder import Workspace
from .glob_pattern import glob_regex
from .text_files import encoding_of

LARGEST = 20_000_000
"""Bytes of the largest file that is searched."""
_LINE = 10_000
_NESTED = re.compile(r"\((?:[^()\\]|\\.)*[+*|](?:[^()\\]|\\.)*\)(?:[+*]|\{\d*,)")


@dataclass(frozen=True, slots=True)
class Query:
    """``pattern`` is a regular expression, ``glob`` a filter on paths or empty."""

    pattern: str
    glob: str = ""
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class Match:
    """One line; ``path`` is relative to the folder, ``line`` counts from 1."""

    path: str
    line: int
    text: str


class UnsupportedRegex(ToolFailed):
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
) -> list[Match]:
    """The first ``limit`` matching lines under ``place`` in the order of paths and lines.

    Raises ToolFailed for a pattern that is no regular expression.
    """
    if ripgrep is not None:
        try:
            return _with_ripgrep(ripgrep, workspace, place, query, limit, stop, environment)
        except UnsupportedRegex as failure:
            if not _is_python_regex(query.pattern):
                raise ToolFailed(str(failure)) from None
    return _with_python(workspace, place, query, limit, stop)


def _with_ripgrep(
    program: str,
    workspace: Workspace,
    place: Path,
    query: Query,
    limit: int,
    stop: Stop,
    environment: Mapping[str, str],
) -> list[Match]:
    command = [program, "--json", "--no-config", "--no-ignore", "--no-messages", "--hidden"]
    command += ["--crlf", "--sort", "path"]
    command += ["--max-filesize", str(LARGEST), "--ignore-case" if query.ignore_case else "-s"]
    if query.glob:
        command += ["--glob", query.glob.removeprefix("./")]
    for name in sorted(SKIPPED_FOLDERS):
        command += ["--glob", f"!{name}"]
    command += ["--regexp", query.pattern, "--", workspace.relative(place)]
    flags = subprocess.CREATE_NO_WINDOW if sys.platform == "win32" else 0
    with subprocess.Popen(
        command,
        cwd=workspace.root,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        creationflags=flags,
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        stop.then(child.kill)
        found: list[Match] = []
        for line in child.stdout:
            match = _match(line)
            if match is not None and not workspace.hidden(match.path):
                found.append(match)
            if len(found) >= limit or stop():
                child.kill()
                return found
        said = child.stderr.read().decode("utf-8", "replace").strip()
    if child.returncode == 2 and not found:
        if "regex" in said:
            raise UnsupportedRegex(f"“{query.pattern}” is not a regular expression: {said}")
        if "glob" in said:
            raise ToolFailed(f"“{query.glob}” is not a glob pattern: {said}")
    return found


def _match(line: bytes) -> Match | None:
    record = cast("dict[str, Any]", json.loads(line))
    if record["type"] != "match":
        return None
    data = record["data"]
    path = _text(data["path"]).replace(os.sep, "/").removeprefix("./")
    return Match(path, data["line_number"], _text(data["lines"]).rstrip("\r\n"))


def _text(value: dict[str, str]) -> str:
    if "text" in value:
        return value["text"]
    return base64.b64decode(value["bytes"]).decode("utf-8", "replace")


def _is_python_regex(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def _with_python(
    workspace: Workspace, place: Path, query: Query, limit: int, stop: Stop
) -> list[Match]:
    try:
        regex = re.compile(query.pattern, re.IGNORECASE if query.ignore_case else 0)
    except (re.error, RecursionError, OverflowError) as error:
        raise ToolFailed(f"“{query.pattern}” is not a regular expression: {error}") from error
    if _NESTED.search(query.pattern):
        # Exponential backtracking, which nothing can interrupt.
        raise ToolFailed(
            f"“{query.pattern}” repeats a repetition or a choice. Use a simpler expression."
        )
    fits = glob_regex(query.glob).fullmatch if query.glob else None
    found: list[Match] = []
    for path in _files(workspace, place, stop):
        name = workspace.relative(path)
        if fits is not None and path != place and not fits(name):
            continue
        for number, line in enumerate(_lines(path), 1):
            if stop():
                return found
            if regex.search(line):
                found.append(Match(name, number, line))
                if len(found) >= limit:
                    return found
    return found


def _files(workspace: Workspace, place: Path, stop: Stop) -> Iterator[Path]:
    if place.is_file():
        yield place
        return
    for entry in workspace.walk(place, stop=stop):
        try:
            wanted = entry.is_file(follow_symlinks=False)
            if wanted and entry.stat(follow_symlinks=False).st_size <= LARGEST:
                yield Path(entry.path)
        except OSError:
            continue


def _lines(path: Path) -> Iterator[str]:
    """Lines without their ends; none of a binary file or one that cannot be opened."""
    try:
        data = path.read_bytes()
    except OSError:
        return
    encoding = encoding_of(data)
    if encoding == "utf-8" and b"\0" in data:
        return
    body = data[2:] if encoding.startswith("utf-16") else data
    text = body.decode(encoding, "replace")
    for line in text.removesuffix("\n").split("\n") if text else ():
        yield line.rstrip("\r")[:_LINE]
