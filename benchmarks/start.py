"""Process start to first paint and to a typable composer, against a bare QMainWindow.

    python benchmarks/start.py [pairs]

Real child processes in interleaved pairs, so that other work on the machine
hurts both alike. CPU is that of the whole process, all threads. The same start with 10,000
stored chats stands beside the one without any.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from measure import HERE, Row, child, middle, quick, show

from studio.storage.paths import Paths

GOAL = 2.2
CHATS = 10_000


def run(script: str, home: Path) -> dict[str, Any]:
    began = time.time()
    found = child([HERE / "started" / script], home)
    for name in ("at", "typable_at", "ready_at"):
        if name in found:
            found[name] -= began
    return found


def store_chats(home: Path) -> None:
    """Put ``CHATS`` chats into the database that a start has made."""
    now = time.time()
    chats = [(f"s{n}", f"Chat {n}", now - n * 600, now - n * 600) for n in range(CHATS)]
    with closing(sqlite3.connect(Paths.below(home).database)) as db, db:
        db.executemany(
            """INSERT INTO sessions (id, title, folder, agent, provider, model, permission_mode,
            created, updated, state, unread) VALUES (?, ?, '/x', 'Coder', 'p', 'm', 'ask', ?, ?,
            'done', 0)""",
            chats,
        )


def with_many_chats(starts: int) -> list[Row]:
    """The start with many stored chats beside that with none."""
    found: list[list[dict[str, Any]]] = [[], []]
    with tempfile.TemporaryDirectory() as none, tempfile.TemporaryDirectory() as many:
        for home in (Path(none), Path(many)):
            (home / "settings.json").write_text('{"first_run_done": true}')
            run("window.py", home)
        store_chats(Path(many))
        for _ in range(starts):
            for figures, home in zip(found, (none, many), strict=True):
                figures.append(run("window.py", Path(home)))
    out: list[Row] = []
    for name, what in (("typable_cpu", "typable composer"), ("ready_cpu", "all shown")):
        for label, take in (("median", middle), ("least", min)):
            base, value = (take(one[name] for one in figures) * 1000 for figures in found)
            title = f"start with {CHATS:,} chats to {what}, CPU, {label}"
            out.append(Row(title, value, base, "ms", "<= 1.1 x", "no chats"))
    return out


def rows(pairs: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "settings.json").write_text('{"first_run_done": true}')
        run("bare.py", home)
        run("window.py", home)  # byte code and page cache are warm from here on
        bare: list[dict[str, Any]] = []
        ours: list[dict[str, Any]] = []
        for _ in range(pairs):
            bare.append(run("bare.py", home))
            ours.append(run("window.py", home))
    for one in ours:
        if one["typed"] != "h" or one["code"] != 0:
            raise SystemExit(f"the window was not typable or did not close: {one}")
    against = "bare QMainWindow"
    out: list[Row] = []

    def ms(name: str, what: str, base: str, goal: str = "") -> None:
        for label, take in (("median", middle), ("least", min)):
            value, other = (take(x[n] for x in many) for n, many in ((name, ours), (base, bare)))
            out.append(Row(f"{what}, {label}", value * 1000, other * 1000, "ms", goal, against))

    ms("cpu", "start to first paint, CPU", "cpu")
    ms("typable_cpu", "start to typable composer, CPU", "cpu", f"<= {GOAL} x")
    ms("typable_at", "start to typable composer, clock", "at")
    ms("ready_cpu", "start to all shown, CPU", "cpu")
    for name in ("rss", "pss"):
        if name in ours[0]:
            base = middle(x[name] for x in bare)
            for key, what in ((name, "typable"), (f"ready_{name}", "all shown")):
                value = middle(x[key] for x in ours)
                out.append(Row(f"{name.upper()} when {what}", value, base, "MB", "", against))
    return out + with_many_chats(pairs)


def main() -> None:
    counts = [int(x) for x in sys.argv[1:] if x.isdigit()]
    show(rows(counts[0] if counts else 3 if quick() else 11))


if __name__ == "__main__":
    main()
