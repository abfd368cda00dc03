"""File reads: brings expressions what ``files()`` and ``rows()`` read, without blocking (W-7).

An expression is computed in one go, on the event loop. Where it needs what is on the disk and not
read yet, that is read in a thread, and the expression is computed again.
"""

from __future__ import annotations

import asyncio
import csv
import io
import json
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

from studio.agent.engine import Engine
from studio.agent.permission.exfiltration_guard import ExfiltrationGuard
from studio.agent.permission.policy import Policy
from studio.domain.errors import ConfigurationError
from studio.domain.events import Exposed
from studio.domain.jsonvalue import Json
from studio.domain.messages import ToolCall
from studio.domain.permissions import Rule
from studio.domain.transcript import Transcript
from studio.tools import Result, ToolFailed, Workspace
from studio.tools.workspace.encodings import decode
from studio.tools.workspace.glob_pattern import glob_matcher

from .expressions import ExpressionError, NotRead, Reads

T = TypeVar("T")
MOST_FOUND = 100_000
"""Files or rows of one reading."""
MOST_BYTES = 50_000_000
"""Of a file whose rows are read."""
SECONDS = 20.0
"""How long a folder is walked through."""


class FileReads:
    """What the expressions of one run have read in its folder.

    Rules that hide files from agents hide them here, too.
    """

    def __init__(
        self,
        engine: Engine,
        folder: str,
        rules: tuple[Rule, ...],
        *,
        for_client: bool = False,
        subject: str = "",
    ) -> None:
        """``for_client``: what is read is for a client of the server (S-4). ``subject`` is what
        the run is about."""
        self._engine, self._folder, self._rules = engine, Path(folder), rules
        self._for_client = for_client
        self._subject = subject
        self._found: dict[tuple[str, str], list[Json] | ExpressionError] = {}
        self.exposed: dict[str, Exposed] = {}
        """What the words of the files may carry on (T-9), by kind."""
        self.functions: Mapping[str, Reads] = {
            name: partial(self._known, name) for name in ("files", "rows")
        }

    def forget(self) -> None:
        """Read again when something is needed: a step may have changed the folder."""
        self._found.clear()

    async def having(self, compute: Callable[[], T]) -> T:
        """The result of ``compute``, which may use ``functions``; raises what it raises."""
        while True:
            try:
                return compute()
            except NotRead as wanted:
                await self._read(*wanted.key)

    def _known(self, name: str, argument: Any) -> list[Json]:
        if not isinstance(argument, str):
            raise TypeError(f"{name}() takes a text")
        found = self._found.get((name, argument))
        if found is None:
            raise NotRead(name, argument)
        if isinstance(found, ExpressionError):
            raise found
        return found

    async def workspace(self, name: str, argument: str) -> Workspace:
        """The folder for what one of the functions reads there, without what rules hide."""
        layers = await self._engine.services.rules.layers(self._folder)
        closed = await self._engine.services.packs.closed_rules(self._subject)
        workspace = Workspace(self._folder)
        policy = Policy(
            "ask", {**layers.rules, "turn": [*self._rules, *closed]}, workspace=workspace
        )
        if self._for_client:
            policy = policy.within(self._engine.services.client_policy())
        tool = self._engine.tools()["glob" if name == "files" else "read"].spec
        guard = ExfiltrationGuard(Transcript(), trusted=layers.trusted)
        call = ToolCall("", tool.name, {tool.target: argument})
        for one in guard.new_exposures(tool, call, Result("", sources=(argument,))):
            self.exposed.setdefault(one.exposure, one)
        return workspace.hiding(policy.hides)

    async def _read(self, name: str, argument: str) -> None:
        look = _files if name == "files" else _rows
        try:
            workspace = await self.workspace(name, argument)
            found: list[Json] | ExpressionError = await asyncio.to_thread(
                lambda: look(workspace, argument)
            )
        except (ToolFailed, ConfigurationError) as error:
            found = _wrong(name, argument, str(error))
        except ExpressionError as error:
            found = error
        self._found[name, argument] = found


def _wrong(name: str, argument: str, reason: str) -> ExpressionError:
    words = "“{text}” cannot be computed: {reason}"
    return ExpressionError(words, 0, {"text": f"{name}({argument})", "reason": reason})


def _fail(name: str, argument: str, reason: str) -> NoReturn:
    raise _wrong(name, argument, reason)


def _files(workspace: Workspace, pattern: str) -> list[Json]:
    """The files that match, relative to the folder, in the order of their names.

    As in shells, those whose name or folder begins with a dot are named by a pattern that says so.
    """
    matches, end = glob_matcher(pattern), time.monotonic() + SECONDS
    folder, dotted = workspace.folder("."), "/." in f"/{pattern}"
    found: list[Json] = []
    for entry in workspace.walk(folder, stop=lambda: time.monotonic() > end):
        name = Path(entry.path).relative_to(folder).as_posix()
        seen = dotted or "/." not in f"/{name}"
        if seen and matches(name) and not entry.is_dir(follow_symlinks=False):
            found.append(name)
            if len(found) > MOST_FOUND:
                _fail("files", pattern, f"more than {MOST_FOUND:,} files match")
    if time.monotonic() > end:
        _fail("files", pattern, f"the folder is too large to look through in {SECONDS:g} s")
    return found


def _rows(workspace: Workspace, path: str) -> list[Json]:
    """The rows of a table as mappings, or the values of a file with JSON in each line."""
    file = workspace.file(path)
    if workspace.hidden(workspace.relative(file)):
        _fail("rows", path, "a rule keeps it from being read")
    try:
        if file.stat().st_size > MOST_BYTES:
            _fail("rows", path, f"the file is larger than {MOST_BYTES:,} bytes")
        text, _ = decode(file.read_bytes(), path)
    except OSError as error:
        _fail("rows", path, error.strerror or str(error))
    match file.suffix.lower():
        case ".csv" | ".tsv":
            found = _table(path, text)
        case ".jsonl" | ".ndjson":
            found = _lines(path, text)
        case _:
            _fail("rows", path, "it reads .csv, .tsv and .jsonl")
    if len(found) > MOST_FOUND:
        _fail("rows", path, f"the file has more than {MOST_FOUND:,} rows")
    return found


def _table(path: str, text: str) -> list[Json]:
    first = text.partition("\n")[0]
    between = max(",;\t", key=first.count)  # the first of those that are there equally often
    try:
        table = csv.DictReader(io.StringIO(text, newline=""), delimiter=between, restval="")
        return [*table_rows(table)]
    except csv.Error as error:
        _fail("rows", path, str(error))


def table_rows(table: csv.DictReader[str]) -> Iterator[dict[str, Json]]:
    """The rows of a table; csv.Error for one in which not every value has a name."""
    for row in table:
        more = cast("dict[str | None, list[str]]", row).pop(None, [])
        if any(more):  # which value belongs to which name is not known then
            raise csv.Error(f"line {table.line_num} has more values than the first line has names")
        yield {str(key): value for key, value in row.items()}


def _lines(path: str, text: str) -> list[Json]:
    found: list[Json] = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            if line.strip():
                found.append(cast("Json", json.loads(line)))
        except (ValueError, RecursionError) as error:
            _fail("rows", path, f"line {number}: {error}")
    return found
