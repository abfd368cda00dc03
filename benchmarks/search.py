"""Search over 100,000 stored messages, one query after each key.

    python benchmarks/search.py [messages]

Beside it the same words looked up in the full-text index alone, without titles, filters and the
line that is shown. Times are CPU of the reading thread, the slowest key of a word.
"""

from __future__ import annotations

import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from itertools import accumulate
from pathlib import Path

from measure import Row, quick, show

from studio.storage.migrations import MIGRATIONS
from studio.storage.sessions.search import find

MESSAGES, CHATS, WORDS = 100_000, 2_000, 60
GOAL = "< 50 ms"
VOCABULARY = 20_000
TYPED = (
    ("a frequent word", "wordaa"),
    ("a rare word", "needle"),
    ("two words", "wordab wordac"),
    ("with filters", "agent:coder wordaa"),
    ("Chinese", "数据库"),
)


def fill(db: sqlite3.Connection, messages: int) -> None:
    """Chats with words as frequent as those of a language (the n-th one in n)."""
    letters, chance = "abcdefghijklmnopqrstuvwxyz", random.Random(1)
    words = [f"word{letters[n % 26]}{letters[n // 26 % 26]}{n // 676}" for n in range(VOCABULARY)]
    often = list(accumulate(1 / (n + 1) for n in range(VOCABULARY)))
    for step in MIGRATIONS:
        step(db)
    for chat in range(CHATS):
        db.execute(
            """INSERT INTO sessions (id, title, folder, agent, provider, model, permission_mode,
            created, updated, state, unread) VALUES (?, ?, '/x', ?, 'p', 'm', 'ask', ?, ?, 'done',
            0)""",
            (f"s{chat}", f"Chat {chat}", "Coder" if chat % 5 == 0 else "Plain", chat, chat),
        )
    for number in range(messages):
        text = " ".join(chance.choices(words, cum_weights=often, k=WORDS))
        if number % 9_973 == 0:
            text += " needle 数据库很快"
        row = (f"s{number % CHATS}", number // CHATS, text)
        db.execute("INSERT INTO said (session_id, seq, kind, text) VALUES (?, ?, 'said', ?)", row)
    db.commit()


def slowest(work: Callable[[str], object], typed: str) -> float:
    """The slowest key of a word, in milliseconds, each at its best of two."""
    keys = [typed[: end + 1] for end in range(len(typed)) if not typed[end].isspace()]
    return max(min(timed(work, key) for _ in range(2)) for key in keys)


def timed(work: Callable[[str], object], text: str) -> float:
    begun = time.thread_time()
    work(text)
    return (time.thread_time() - begun) * 1000


def main() -> None:
    messages = int(sys.argv[1]) if sys.argv[1:] and sys.argv[1].isdigit() else MESSAGES
    messages = messages // 20 if quick() else messages
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, closing(_open(Path(folder))) as db:
        fill(db, messages)

        def index_alone(text: str) -> object:
            query = " ".join(f'"{word}"' for word in text.split() if ":" not in word) or '""'
            found = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 50"
            return db.execute(found, (f"{query}*",)).fetchall()

        for what, typed in TYPED:
            mine = slowest(lambda text: find(db, text, 50), typed)
            base = slowest(index_alone, typed)
            rows.append(Row(f"search, {what}", mine, base, "ms", GOAL, "the index alone"))
    show(rows)


def _open(folder: Path) -> sqlite3.Connection:
    return sqlite3.connect(folder / "search.db")


if __name__ == "__main__":
    main()
