"""What a snapshot costs in a folder of ten thousand files.

    python benchmarks/snapshot.py [rounds]

A command in a folder is looked at before and after. Three such looks, each
beside a bare walk with ``os.scandir`` and ``stat`` in the same round: nothing
changed, ten files changed, and the first one of a new program. The first look
of all, which reads and keeps every file, is beside a bare reading of them; it
runs in a thread, and must not hold up the event loop for long.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from measure import Row, middle, quick, show

from studio.storage.snapshots.blob_store import BlobStore
from studio.storage.snapshots.folder_snapshot import FolderSnapshot

FILES = 10_000
FOLDERS = 200
GOAL = "< 50 ms"


def make(root: Path) -> list[str]:
    made: list[str] = []
    for number in range(FILES):
        folder = root / f"part{number % 10}" / f"package{number % FOLDERS}"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"module{number}.py"
        path.write_text(f"# {number}\n" + "def nothing():\n    return None\n" * (number % 150))
        made.append(str(path))
    return made


def walk(folder: str, out: list[os.stat_result]) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            out.append(entry.stat(follow_symlinks=False))
            if entry.is_dir(follow_symlinks=False):
                walk(entry.path, out)


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


async def beside(work: Callable[[], object]) -> tuple[float, float]:
    """How long work takes in a thread, and the longest time between two ticks meanwhile."""
    task = asyncio.ensure_future(asyncio.to_thread(timed, work))
    gap, last = 0.0, time.perf_counter()
    while not task.done():
        await asyncio.sleep(0.001)
        now = time.perf_counter()
        gap, last = max(gap, (now - last) * 1000), now
    return await task, gap


def read(paths: list[str]) -> None:
    for path in paths:
        Path(path).read_bytes()


def rows(home: Path, rounds: int) -> list[Row]:
    root = home / "work"
    paths = make(root)
    time.sleep(2.5)  # what is younger than two seconds is read again with the next look
    contents = BlobStore(home / "snapshots.db")
    tree = FolderSnapshot(root, contents)
    bare_reading = timed(lambda: read(paths))
    first, gap = asyncio.run(beside(tree.scan))
    tree.save()
    same: list[float] = []
    some: list[float] = []
    again: list[float] = []
    bare: list[float] = []
    for number in range(rounds):
        bare.append(timed(lambda: walk(str(root), [])))
        same.append(timed(tree.scan))
        for path in paths[number::1000]:
            Path(path).write_text(f"changed {number}")
        some.append(timed(tree.scan))
        again.append(timed(FolderSnapshot(root, contents).scan))
        tree.scan()
        if len(paths[number::1000]) != 10:
            raise SystemExit("ten files should have changed")
    contents.close()
    against = "scandir and stat"
    return [
        Row("a look, nothing changed", middle(same), middle(bare), "ms", GOAL, against),
        Row("a look, ten files changed", middle(some), middle(bare), "ms", GOAL, against),
        Row("a new program's first look", middle(again), middle(bare), "ms", "", against),
        Row("the very first look", first, bare_reading, "ms", "", "reading every file"),
        Row("its longest gap on the loop", gap, None, "ms", "< 20 ms"),
    ]


def main() -> None:
    counts = [int(x) for x in sys.argv[1:] if x.isdigit()]
    with tempfile.TemporaryDirectory() as home:
        show(rows(Path(home), counts[0] if counts else 5 if quick() else 15))


if __name__ == "__main__":
    main()
