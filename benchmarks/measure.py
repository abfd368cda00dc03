"""Rows of figures, real child processes, and the table that shows them."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Row:
    """One figure beside its baseline of the same run.

    ``value`` and ``base`` are in ``unit``; ``goal`` says what is wanted, of the
    ratio ("<= 2.2 x") or of the value ("< 2 ms"), and is empty where none is set.
    """

    what: str
    value: float
    base: float | None
    unit: str
    goal: str = ""
    against: str = ""


def child(
    arguments: Sequence[str | Path], home: Path | None = None, seconds: float = 600
) -> dict[str, Any]:
    """Run a script in a process of its own; returns the JSON of its last line of output."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    environment.setdefault("QT_QPA_PLATFORM", "offscreen")
    if home is not None:
        environment["AGENT_STUDIO_HOME"] = str(home)
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=seconds,
    )
    return json.loads(done.stdout.splitlines()[-1])


def middle(values: Iterable[float]) -> float:
    return statistics.median(values)


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    head = ("What", "Here", "Baseline", "Ratio", "Goal", "Against")
    lines = [head, tuple("--:" if name in head[1:4] else ":--" for name in head)]
    for row in rows:
        ratio = f"{row.value / row.base:.2f}" if row.base else ""
        base = "" if row.base is None else _figure(row.base, row.unit)
        lines.append((row.what, _figure(row.value, row.unit), base, ratio, row.goal, row.against))
    widths = [max(len(line[n]) for line in lines) for n in range(len(head))]
    out: list[str] = []
    for index, line in enumerate(lines):
        cells = [
            cell.rjust(width) if n in (1, 2, 3) else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        if index == 1:
            cells = [
                "-" * (width - 1) + ":" if n in (1, 2, 3) else ":" + "-" * (width - 1)
                for n, width in enumerate(widths)
            ]
        out.append(f"| {' | '.join(cells)} |")
    return "\n".join(out)


def show(rows: Sequence[Row]) -> None:
    """Print a table, or with ``--json`` what the runner reads."""
    if "--json" in sys.argv:
        print(json.dumps([asdict(row) for row in rows]))
    else:
        print(table(rows))


def quick() -> bool:
    """Fewer repetitions were asked for."""
    return "--quick" in sys.argv


def _figure(value: float, unit: str) -> str:
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f} {unit}"
