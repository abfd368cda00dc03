"""Pack steps: the numbered files that make the tables of a pack, in SQL or in Python (X-6, KZ-4).

A step in Python has a function ``step(records)``, whose ``read`` and ``write`` are within the
transaction of all new steps, and whose SQL may do what that of other steps may.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from studio.domain.errors import StorageError
from studio.domain.extensions import Value
from studio.domain.records import dataclass

FUNCTION = "step"
NO_PYTHON = (
    "{name}: the Python of this pack does not run in the program, so this new step did not run. "
    "Use one of its tools first, which run in a process of their own."
)
_STEP = re.compile(r"(\d{1,6})(?:[_-].*)?\.(?:sql|py)", re.I)

Execute: TypeAlias = Callable[[str, Sequence[Value]], tuple[Any, list[Any]]]
"""Runs one statement; returns its cursor and its rows."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a schema, from a file such as ``002_prices.sql`` or ``003_split.py``.

    ``code`` is Python in the place of SQL. ``refused``: why it may not run.
    """

    number: int
    name: str
    sql: str = ""
    code: str = ""
    refused: str = ""


class StepFailed(Exception):
    """What the Python of a step raised, and in which of its lines."""

    def __init__(self, line: int, error: BaseException) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.line, self.error = line, error


class StepRecords:
    """What a step in Python works with."""

    def __init__(self, execute: Execute) -> None:
        self._execute = execute

    def read(self, sql: str, *values: Value) -> list[dict[str, Value]]:
        """The rows that a query finds."""
        cursor, rows = self._execute(sql, values)
        names = [one[0] for one in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in rows]

    def write(self, sql: str, *values: Value) -> int:
        """Change rows or tables; returns the id of the row that was added, or how many were
        changed."""
        cursor, _ = self._execute(sql, values)
        added = sql.lstrip()[:6].upper() in ("INSERT", "REPLAC")
        return (cursor.lastrowid if added else cursor.rowcount) or 0


def read_steps(files: Sequence[Path], *, python: bool = False) -> list[Step]:
    """The steps in order, 1, 2, 3 …; raises StorageError that says what is wrong. Blocks.

    ``python``: whether its steps in Python may run; else one that is new is refused.
    """
    steps: list[Step] = []
    for path in files:
        match = _STEP.fullmatch(path.name)
        if match is None:
            raise StorageError(
                f"{path.name}: the name of a step begins with its number: 001_x.sql, 002_y.py"
            )
        try:
            text = path.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise StorageError(f"{path.name} cannot be read: {error}.") from error
        number = int(match[1])
        if path.suffix.lower() == ".sql":
            steps.append(Step(number, path.name, text))
        else:
            refused = "" if python else NO_PYTHON.format(name=path.name)
            steps.append(Step(number, path.name, code=text, refused=refused))
    steps.sort(key=lambda one: one.number)
    for wanted, step in enumerate(steps, 1):
        if step.number != wanted:
            raise StorageError(f"{step.name}: step {wanted} is missing, or a number is there twice")
    return steps


def run_step(step: Step, execute: Execute) -> None:
    """Run a step; raises what its SQL raises, StepFailed of one in Python, and StorageError for
    one that may not run."""
    if step.refused:
        raise StorageError(step.refused)
    if not step.code:
        for statement in _statements(step.sql):
            execute(statement, ())
        return
    try:
        named: dict[str, Any] = {"__name__": step.name}
        exec(compile(step.code, step.name, "exec"), named)
        named[FUNCTION](StepRecords(execute))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # it may even call exit()
        raise StepFailed(_line_of(step.name, error), error) from error


def _line_of(name: str, error: BaseException) -> int:
    """The last line of a step's own that led to an error."""
    line = error.lineno or 0 if isinstance(error, SyntaxError) else 0
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == name:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _statements(sql: str) -> Iterator[str]:
    """The statements of a step, one by one: Python runs several only outside a transaction."""
    rest = ""
    for line in sql.splitlines(keepends=True):
        rest += line
        while (end := rest.find(";")) >= 0:
            cut = end
            while cut >= 0 and not sqlite3.complete_statement(rest[: cut + 1]):
                cut = rest.find(";", cut + 1)
            if cut < 0:
                break
            yield rest[: cut + 1]
            rest = rest[cut + 1 :]
    if _is_code(rest):
        yield rest


def _is_code(sql: str) -> bool:
    """Whether there is more in it than blanks and comments."""
    return bool(re.sub(r"--[^\n]*|/\*.*?\*/", "", sql, flags=re.S).strip())
