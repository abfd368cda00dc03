"""All benchmarks, one table: ``python benchmarks [--quick]``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path

from measure import HERE, Row, table

WITH_ROWS = (
    "start",
    "streaming",
    "screen",
    "adapters",
    "step",
    "history",
    "search",
    "office",
    "stall",
    "sessions",
    "loop",
    "stop",
    "hooks",
    "packs",
    "snapshot",
    "decisions",
    "graph",
    "timeline",
    "items",
    "cluster",
    "workflow",
    "command",
    "beside",
    "server",
    "servers",
)
WITH_WORDS = ("transcript",)
"""Scripts that print sentences of their own."""


def run(name: str, *arguments: str) -> str:
    print(f"{name} …", file=sys.stderr, flush=True)
    done = subprocess.run(
        [sys.executable, str(HERE / f"{name}.py"), *arguments],
        env={"QT_QPA_PLATFORM": "offscreen", **os.environ},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def main() -> None:
    extra = ("--quick",) if "--quick" in sys.argv else ()
    rows: list[Row] = []
    for name in WITH_ROWS:
        found = json.loads(run(name, "--json", *extra).splitlines()[-1])
        rows += [Row(**row) for row in found]
    import PySide6

    version = ".".join(map(str, sys.version_info[:3]))
    print(f"{date.today()}, Python {version}, PySide6 {PySide6.__version__}\n")
    print(table(rows))
    for name in WITH_WORDS:
        if Path(HERE / f"{name}.py").exists():
            print(f"\n{run(name)}", end="")


if __name__ == "__main__":
    main()
