"""Recall among 20,000 notes of one folder, and how long their index takes (W-41).

    python benchmarks/notes.py [notes]

A query reads the notes that it finds, as the tool does. Beside it the same words are looked up in
the full-text index alone; the index is made beside a plain reading of all files. Times are CPU of
the reading thread, each the best of three: the slowest query (``p99``) and the median (``p50``).
Where the extra ``recall`` is installed the same queries are answered by meaning, too: by the clock,
as another process works for them, beside those by words alone.
"""

from __future__ import annotations

import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from itertools import accumulate
from pathlib import Path

from measure import Row, quick, show
from search import LANGUAGES, vocabulary

from studio.tools.memory.nearness import Nearness
from studio.tools.memory.note import Note
from studio.tools.memory.note_store import place_of
from studio.tools.memory.notes import Notes

NOTES, WORDS = 20_000, 40
GOAL = "< 20 ms"
ASKED = (
    "that",
    "which have been",
    "verhalten ordnung",
    "zyquaneedle",
    "What is the deadline of the zyquaneedle project?",
    "Wie lange läuft die Kündigungsfrist der Häuser",
    "Kündigungsfristen",
    "kundigungsfrist",
    "retry polcy of the gatway",
    "conterment",
)
SAID = (
    "The retry policy of the gateway waits a second.",
    "Die Kündigungsfrist der Häuser beträgt drei Monate.",
    "The zyquaneedle project has its deadline in May.",
)


def write(place: Path, folder: Path, count: int) -> None:
    chance = random.Random(1)
    often = list(accumulate(1 / (n + 1) for n in range(20_000)))
    spoken = [vocabulary(chance, *parts) for parts in LANGUAGES.values()]
    home = place / place_of(folder)
    home.mkdir(parents=True)
    for number in range(count):
        text = " ".join(chance.choices(spoken[number % 2], cum_weights=often, k=WORDS))
        if number % 997 == 0:
            text = f"{SAID[number // 997 % 3]}\n\n{text}"
        note = Note(f"note-{number}", text, by="Writer", written=1.7e9 + number)
        (home / f"{note.name}.md").write_text(note.file_text)


def timed(work: Callable[[], object]) -> float:
    """Milliseconds of CPU of this thread."""
    begun = time.thread_time()
    work()
    return (time.thread_time() - begun) * 1000


def best(work: Callable[[str], object], words: str) -> float:
    return min(timed(lambda: work(words)) for _ in range(3))


def by_meaning(place: Path, folder: Path) -> list[Row]:
    """How long queries by meaning take, and the first one, which begins the child."""
    nearness = Nearness(lambda: dict(os.environ))
    if not nearness.installed:
        return []
    notes, plain = Notes(place, folder, nearness=nearness), Notes(place, folder)

    def clock(work: Callable[[str], object], words: str) -> float:
        begun = time.perf_counter()
        work(words)
        return (time.perf_counter() - begun) * 1000

    def best(work: Callable[[str], object]) -> list[float]:
        return [min(clock(work, words) for _ in range(3)) for words in ASKED]

    try:
        first = clock(notes.recall, "fuel for vehicles")
        found, base = best(notes.recall), best(plain.recall)
        assert nearness.process is not None
        held = memory_of(nearness.process.pid)
        nearness.close()
        nearness = Nearness(lambda: dict(os.environ))
        again = clock(Notes(place, folder, nearness=nearness).recall, "fuel for vehicles")
    finally:
        nearness.close()
    return [
        Row("by meaning too, p50", statistics.median(found), statistics.median(base), "ms",
            "< 60 ms", "by words"),
        Row("by meaning too, p99", max(found), max(base), "ms", "< 60 ms", "by words"),
        Row("its first query", first / 1000, None, "s"),
        Row("the first one of its next start", again / 1000, None, "s"),
        Row("memory of its process", held, None, "MB"),
    ]  # fmt: skip


def memory_of(pid: int) -> float:
    """Megabytes in memory of a process, 0 where that is not known."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return int(status.partition("VmRSS:")[2].split()[0]) / 1000


def main() -> None:
    count = int(sys.argv[1]) if sys.argv[1:] and sys.argv[1].isdigit() else NOTES
    count = count // 20 if quick() else count
    with tempfile.TemporaryDirectory() as name:
        place, folder = Path(name) / "memory", Path(name) / "work"
        folder.mkdir()
        write(place, folder, count)
        notes = Notes(place, folder)
        files = list((place / place_of(folder)).glob("*.md"))
        read = timed(lambda: [file.read_text() for file in files])
        built = timed(lambda: notes.recall("that"))
        with closing(sqlite3.connect(place / "index.db")) as db:

            def alone(words: str) -> object:
                query = " OR ".join(f'"{word}"*' for word in words.replace("?", "").split())
                found = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 10"
                return db.execute(found, (query,)).fetchall()

            mine = {one: best(notes.recall, one) for one in ASKED}
            base = {one: best(alone, one) for one in ASKED}
        near = by_meaning(place, folder)
        slowest = max(mine, key=lambda one: mine[one])
        middle = statistics.median
        show(
            [
                Row("recall, p50", middle(mine.values()), middle(base.values()), "ms", GOAL,
                    "the index alone"),
                Row(f"recall, p99: {slowest}", mine[slowest], base[slowest], "ms", GOAL,
                    "the index alone"),
                Row(f"index of {count:,} notes", built / 1000, read / 1000, "s", "",
                    "reading the files"),
                *near,
            ]
        )  # fmt: skip


if __name__ == "__main__":
    main()
