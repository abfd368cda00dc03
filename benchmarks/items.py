"""What many items cost: 100,000 of them in the queue (W-53), and a hidden limit found (W-56).

python benchmarks/items.py
"""

from __future__ import annotations

import asyncio
import heapq
import json
import random
import resource
import sqlite3
import tempfile
import time
from pathlib import Path

from measure import Row, quick, show

from studio.agent.parallelism import Lane
from studio.storage.database import Database
from studio.storage.migrations import MIGRATIONS
from studio.storage.run_items import ItemStore
from studio.tools import Workspace
from studio.workflows.items.sources import read_items

RUN = "INSERT INTO runs (id, name, source, folder, digest, number, state, reason, tokens, dollars, "
RUN += "created, updated, owner) VALUES ('r', 'n', '', '', '', 1, 'running', '', 0, 0, 0, 0, '')"


def peak() -> float:
    """Megabytes that the process has had at the most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def queue(folder: Path, count: int) -> tuple[float, float, float]:
    """Seconds of CPU for a queue of a file of rows, megabytes, and the same rows in bare SQLite."""
    lines = (json.dumps({"number": at, "text": f"Invoice {at}"}) for at in range(count))
    (folder / "rows.jsonl").write_text("\n".join(lines))
    db = Database(folder / "studio.db", MIGRATIONS)
    await db.open()
    await db.execute(RUN)
    store = ItemStore(db)
    await store.fill("r", "first", "", (({"at": at}, "") for at in range(10)))
    before, began = peak(), time.process_time()
    rows = read_items(Workspace(folder), "rows", "rows.jsonl")
    found = await store.fill("r", "many", "base", rows)
    took, size = time.process_time() - began, peak() - before
    assert found.count == count
    await db.close()
    bare = sqlite3.connect(folder / "bare.db")
    bare.execute("CREATE TABLE rows (place INTEGER PRIMARY KEY, value TEXT)")
    began = time.process_time()
    with (folder / "rows.jsonl").open() as file:
        bare.executemany("INSERT INTO rows VALUES (?, ?)", enumerate(file))
    bare.commit()
    bare.close()
    return took, size, time.process_time() - began


def hidden(limit: int, many: int) -> tuple[float, float]:
    """How much of a hidden limit is used, and which share is refused; in a time of its own."""
    now, chance, ends = 0.0, random.Random(7), list[tuple[float, int, bool, int]]()
    lane = Lane(lambda: now)
    sent = refused = answered = open_ = 0
    used = 0.0
    while answered < many:
        while lane.busy < lane.limit:
            lane.busy += 1
            sent += 1
            takes = open_ < limit
            open_ += takes
            end = now + (chance.uniform(0.5, 1.5) if takes else 0.05)
            heapq.heappush(ends, (end, sent, takes, lane.cuts))
        end, _, taken, place = heapq.heappop(ends)
        used, now = used + open_ * (end - now), end
        if taken:
            open_, answered = open_ - 1, answered + 1
            lane.answered(place)
        else:
            refused += 1
            lane.refused(place)
    return used / (limit * now) * 100, refused / sent * 100


def main() -> None:
    count = 20_000 if quick() else 100_000
    with tempfile.TemporaryDirectory() as folder:
        took, size, bare = asyncio.run(queue(Path(folder), count))
    use, share = hidden(22, 10_000)
    against = "the lines in bare SQLite"
    show(
        [
            Row(
                f"{count:,} items queued, CPU",
                took * 1000,
                bare * 1000,
                "ms",
                "<= 2000 ms",
                against,
            ),
            Row("memory of that", size, None, "MB", "<= 30 MB"),
            Row("a hidden limit of 22, used", use, None, "%", ">= 85 %"),
            Row("refused", share, None, "%", "<= 2 %"),
        ]
    )


if __name__ == "__main__":
    main()
