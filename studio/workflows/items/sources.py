"""Item sources: read the values of a step as they come, from lists, folders and files of rows.

``for_each: ${{ files("*.pdf") }}`` and ``rows("table.csv")`` are read piece by piece, whatever
else an expression computes is a list already.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO, cast

from studio.domain.jsonvalue import Json
from studio.domain.workflows import Step
from studio.tools import Workspace
from studio.tools.workspace.encodings import encoding_of, stream_codec
from studio.tools.workspace.glob_pattern import glob_matcher
from studio.workflows.expressions import Expression, ExpressionError, parse_expression
from studio.workflows.file_reads import table_rows

MOST_ITEMS = 100_000
SECONDS = 60.0
"""How long a folder is walked through."""
_SNIFFED = 65_536
"""Bytes that tell the encoding of a file, and what is between its columns."""


def read_call(step: Step) -> tuple[str, Expression] | None:
    """The function that the items of a step are read by, and its argument.

    None where they are a list.
    """
    if not isinstance(step.for_each, str) or not step.for_each:
        return None
    found = parse_expression(step.for_each)
    match found.tree:
        case ast.Call(func=ast.Name(id="files" | "rows" as name), args=[argument]):
            return name, Expression(found.text, argument, found.references)
        case _:
            return None


def read_items(workspace: Workspace, name: str, argument: str) -> Iterator[tuple[Json, str]]:
    """The items, each with what else tells whether it is the same as before.

    Blocks; raises ExpressionError, also while it is read.
    """
    found = _files(workspace, argument) if name == "files" else _rows(workspace, argument)
    for number, one in enumerate(found, 1):
        if number > MOST_ITEMS:
            raise ExpressionError(
                "for_each takes {most} items at most", 0, {"most": f"{MOST_ITEMS:,}"}
            )
        yield one


def _files(workspace: Workspace, pattern: str) -> Iterator[tuple[Json, str]]:
    """Files that match, in the order of their names; one that was changed is another item."""
    matches, end = glob_matcher(pattern), time.monotonic() + SECONDS
    folder, dotted = workspace.folder("."), "/." in f"/{pattern}"
    for entry in workspace.walk(folder, stop=lambda: time.monotonic() > end):
        name = Path(entry.path).relative_to(folder).as_posix()
        seen = dotted or "/." not in f"/{name}"
        if seen and matches(name) and not entry.is_dir(follow_symlinks=False):
            state = entry.stat(follow_symlinks=False)
            yield name, f"{state.st_size} {state.st_mtime_ns}"
    if time.monotonic() > end:
        reason = f"the folder is too large to look through in {SECONDS:g} s"
        raise _wrong("files", pattern, reason)


def _rows(workspace: Workspace, path: str) -> Iterator[tuple[Json, str]]:
    """The rows of a table as mappings, or the values of a file with JSON in each line."""
    file = workspace.file(path)
    if workspace.hidden(workspace.relative(file)):
        raise _wrong("rows", path, "a rule keeps it from being read")
    kind = file.suffix.lower()
    if kind not in (".csv", ".tsv", ".jsonl", ".ndjson"):
        raise _wrong("rows", path, "it reads .csv, .tsv and .jsonl")
    try:
        with file.open("rb") as opened:
            head = opened.read(_SNIFFED)
        encoding = encoding_of(head, whole=len(head) < _SNIFFED)
        if encoding is None:
            raise _wrong("rows", path, "it is no text")
        codec, skipped = stream_codec(encoding)
        with file.open("rb") as opened:
            opened.seek(skipped)
            text = io.TextIOWrapper(opened, codec, newline="")
            yield from _table(path, text) if kind in (".csv", ".tsv") else _lines(path, text)
    except OSError as error:
        raise _wrong("rows", path, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise _wrong("rows", path, f"it is not all in {error.encoding}") from error


def _table(path: str, text: TextIO) -> Iterator[tuple[Json, str]]:
    first = text.readline()
    between = max(",;\t", key=first.count)  # the first of those that are there equally often

    def lines() -> Iterator[str]:
        yield first
        yield from text

    try:
        for row in table_rows(csv.DictReader(lines(), delimiter=between, restval="")):
            yield row, ""
    except csv.Error as error:
        raise _wrong("rows", path, str(error)) from error


def _lines(path: str, text: TextIO) -> Iterator[tuple[Json, str]]:
    for number, line in enumerate(text, 1):
        try:
            if line.strip():
                yield cast("Json", json.loads(line)), ""
        except (ValueError, RecursionError) as error:
            raise _wrong("rows", path, f"line {number}: {error}") from error


def _wrong(name: str, argument: str, reason: str) -> ExpressionError:
    words = "“{text}” cannot be computed: {reason}"
    return ExpressionError(words, 0, {"text": f"{name}({argument})", "reason": reason})
