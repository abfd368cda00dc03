"""The office of the pack Kanzlei at 20,000 Akten and 400,000 documents: its search (KZ-32, KZ-52).

    python benchmarks/office.py [akten] [folder]

The office is invented, in the folder if one is named, where the next run finds it again. Each
question is asked for who sees all Akten, and for who sees 500 of them: the slowest of twenty in a
hundred (``p95``) of many questions, in CPU time of the reading thread, because other programs are
at work too. Beside it the same words ranked by the full-text index alone, without the filter of
what a person may see.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from measure import Row, quick, show

from studio.app import build
from studio.domain.persons import Person
from studio.extensions.packs.installed import InstalledPacks
from studio.extensions.packs.loading import load_class
from studio.storage.config.settings import SettingsFile
from studio.storage.paths import Paths

AKTEN, FEW = 20_000, 500
GOAL, GOAL_INSIDE, GOAL_TYPING = "<= 100 ms", "<= 50 ms", "<= 10 ms"
LAWYER = Person("99", "Anwältin mit 500 Akten", "ANWALT")


def p95(times: list[float]) -> float:
    return sorted(times)[min(len(times) - 1, round(len(times) * 0.95))]


def timed(work: Callable[[str], object], questions: list[str]) -> float:
    times: list[float] = []
    for question in questions:
        spent: list[float] = []
        for _ in range(2):
            began = time.thread_time()
            work(question)
            spent.append((time.thread_time() - began) * 1000)
        times.append(min(spent))
    return p95(times)


def questions(db: sqlite3.Connection, chance: random.Random, most: int) -> dict[str, list[str]]:
    """Words as frequent as their names say, from the documents."""
    texts = [
        str(row[0]) for row in db.execute("SELECT text FROM seite ORDER BY version LIMIT 3000")
    ]
    seen: dict[str, int] = {}
    for text in texts:
        for word in set(text.replace(".", " ").replace(",", " ").split()):
            if len(word) > 5 and word[0].isupper() and word.isalpha():
                seen[word] = seen.get(word, 0) + 1
    ordered = sorted(seen, key=seen.__getitem__, reverse=True)
    frequent, middle = ordered[:40], ordered[40:400]
    rare = [word for word in ordered if seen[word] == 1] or middle

    def pick(words: list[str], each: int) -> list[str]:
        return [" ".join(chance.sample(words, each)) for _ in range(most)]

    return {
        "a rare word": pick(rare, 1),
        "a frequent word": pick(frequent, 1),
        "two frequent words": pick(frequent, 2),
        "four words": [f"{a} {b}" for a, b in zip(pick(middle, 2), pick(frequent, 2), strict=True)],
        "four frequent words": pick(frequent, 4),
        "few with all words": [
            f"{a} {b}" for a, b in zip(pick(rare, 1), pick(frequent, 3), strict=True)
        ],
    }


def typed(questions: list[str]) -> list[str]:
    """Each question after each of its last letters."""
    return [one[:cut] for one in questions for cut in range(max(2, len(one) - 9), len(one) + 1)]


def measure(pack: Any, most: int) -> list[Row]:
    search = pack.service(load_class("kanzlei", "tools.office.suche:Suche"))
    everybody = pack.person
    rows: list[Row] = []
    chance = random.Random(7)
    with closing(sqlite3.connect(pack.records.path)) as db:
        asked = questions(db, chance, most)
        akten = [int(row[0]) for row in db.execute("SELECT id FROM akte")]

        def alone(question: str) -> None:
            words = " AND ".join(f'"{one}"' for one in search.stems(question))
            sql = (
                "SELECT rowid FROM dokument_suche WHERE dokument_suche MATCH ? "
                "ORDER BY bm25(dokument_suche, 6, 1, 0) LIMIT 20"
            )
            db.execute(sql, (words,)).fetchall()

        for name, some in asked.items():
            base = timed(alone, some)
            for who, person in (("all Akten", everybody), (f"{FEW} Akten", LAWYER)):
                value = timed(lambda one, person=person: search.find(person, one), some)
                rows.append(Row(f"{name}, {who}", value, base, "ms", GOAL, "FTS5 alone, ranked"))
        some = asked["a frequent word"] + asked["two frequent words"]
        inside = timed(lambda one: search.find(everybody, one, akte=chance.choice(akten)), some)
        rows.append(Row("inside one Akte", inside, None, "ms", GOAL_INSIDE))
        for who, person in (("all Akten", everybody), (f"{FEW} Akten", LAWYER)):
            letters = typed(asked["a frequent word"][:8] + asked["two frequent words"][:8])
            value = timed(lambda one, person=person: search.find(person, one, typed=True), letters)
            rows.append(Row(f"after each letter, {who}", value, None, "ms", GOAL_TYPING))
    return rows


async def run(place: Path, akten: int) -> None:
    paths = Paths.below(place)
    settings = SettingsFile(paths.settings)
    await settings.load()
    engine = await build(paths, settings)
    try:
        engine.services.get(InstalledPacks).switch("kanzlei", True)
        engine.discover_tools()
        pack = engine.services.packs.homes["kanzlei"]
        rows: list[Row] = []
        if not pack.records.read("SELECT 1 FROM akte LIMIT 1"):
            pack.settings_file.parent.mkdir(parents=True, exist_ok=True)
            pack.settings_file.write_text(f'{{"ordner": "{place / "Akten"}"}}')
            made = load_class("kanzlei", "tools.beispiel.masses:Masses")
            began = time.process_time()
            made(pack, pack.person, akten).make(print)
            spent = time.process_time() - began
            rows.append(Row(f"{akten:,} Akten made, CPU", spent, None, "s", "< 300 s"))
            pack.records.write(
                "INSERT INTO person (id, login, name, rolle) VALUES (99, 'x', ?, 'ANWALT')",
                LAWYER.name,
            )
            pack.records.write(
                "INSERT INTO zugriff SELECT id, 99 FROM akte WHERE id % ? = 0", max(1, akten // FEW)
            )
        rows += await asyncio.to_thread(measure, pack, 20 if quick() else 60)
    finally:
        await engine.close()
    show(rows)


def main() -> None:
    given = [one for one in sys.argv[1:] if not one.startswith("--")]
    akten = int(given[0]) if given else (500 if quick() else AKTEN)
    with tempfile.TemporaryDirectory() as made:
        asyncio.run(run(Path(given[1]) if len(given) > 1 else Path(made), akten))


if __name__ == "__main__":
    main()
