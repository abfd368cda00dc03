"""All benchmarks, a table of each as it ends: ``python benchmarks [--quick] [NAME …]``.

One that fails prints why, and the others go on.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import date

from measure import HERE, Row, table

WITH_ROWS = (
    "start",
    "streaming",
    "screen",
    "adapters",
    "step",
    "history",
    "search",
    "notes",
    "office",
    "office_page",
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


def run(name: str, *arguments: str) -> str | None:
    """What a benchmark prints; None if it failed, which it has said."""
    print(f"{name} …", file=sys.stderr, flush=True)
    done = subprocess.run(
        [sys.executable, str(HERE / f"{name}.py"), *arguments],
        env={"QT_QPA_PLATFORM": "offscreen", **os.environ},
        stdout=subprocess.PIPE,
        text=True,
    )
    return None if done.returncode else done.stdout


def main() -> None:
    import PySide6

    chosen = [one for one in sys.argv[1:] if not one.startswith("--")]
    if unknown := set(chosen).difference(WITH_ROWS, WITH_WORDS):
        raise SystemExit(f"no such benchmark: {', '.join(sorted(unknown))}")
    extra = ("--quick",) if "--quick" in sys.argv else ()
    version = ".".join(map(str, sys.version_info[:3]))
    print(f"{date.today()}, Python {version}, PySide6 {PySide6.__version__}")
    failed: list[str] = []
    for name in chosen or [*WITH_ROWS, *WITH_WORDS]:
        with_rows = name in WITH_ROWS
        said = run(name, *(("--json", *extra) if with_rows else ()))
        if said is None:
            failed.append(name)
        elif with_rows:
            rows = [Row(**row) for row in json.loads(said.splitlines()[-1])]
            print(f"\n{name}\n\n{table(rows)}", flush=True)
        else:
            print(f"\n{name}\n\n{said}", end="", flush=True)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
