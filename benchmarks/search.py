"""Search over 100,000 stored messages, one query after each key.

    python benchmarks/search.py [messages]

Beside it the same words looked up in the full-text index alone, without titles, filters and the
line that is shown; for texts without spaces they are looked for in every message. Times are CPU
of the reading thread, of each key the best of two: the slowest key of a word (``p99``), and the
median (``p50``).
"""

from __future__ import annotations

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

from studio.storage.migrations import MIGRATIONS
from studio.storage.sessions.search import find
from studio.storage.sessions.unspaced_index import index_older, is_unspaced

MESSAGES, CHATS, WORDS = 100_000, 2_000, 60
GOAL = "< 50 ms"
VOCABULARY = 20_000

# The most frequent words of each language come first, as in a text; the others are made up of
# syllables, so that many begin alike and some do not.
LANGUAGES = {
    "English": (
        "the of and to in a is that for it as was with be by on not he this are or his from at "
        "which but have an had they you were their one all we can her has there been if more when",
        "con re in de pro com ex ap per tra se un ter al er ing tion ment ly ness able st ri lo "
        "na ve ta mo ca di po li ra sa tu be wo ki qua zy ju",
    ),
    "German": (
        "die der und in zu den das nicht von sie ist des sich mit dem dass er es ein ich auf so "
        "eine auch als an nach wie im für man aber aus durch wenn nur war noch werden bei hat wir",
        "ver be ge an auf aus ein ent zer über un ung keit heit lich schaft bar en er el stell "
        "fahr halt nehm zeit wör größ schluss kraft tür ö ju qu zy xe",
    ),
}
CHINESE = "的一是不了在人有我他这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去"
JAPANESE = (
    "のにはをたがでてとしれさあるいかなこよりもっまくんドルスンデータベースファイル検索日本語"
)
TYPED = (
    ("a frequent word", "that"),
    ("a word with many alike", "conterment"),
    ("a rare word", "zyquaneedle"),
    ("two words", "which have"),
    ("a last letter", "config t"),
    ("German", "größenordnung"),
    ("with a wide filter", "agent:coder that"),
    ("with a narrow filter", "agent:lone the"),
    ("Chinese", "数据库很快"),
    ("Chinese, frequent", "的人"),
    ("Japanese", "データベース検索"),
)


def vocabulary(chance: random.Random, frequent: str, made_of: str) -> list[str]:
    words, syllables = dict.fromkeys(frequent.split()), made_of.split()
    weights = list(accumulate(1 / (n + 1) ** 0.7 for n in range(len(syllables))))
    while len(words) < VOCABULARY:
        words["".join(chance.choices(syllables, cum_weights=weights, k=chance.randint(2, 4)))] = (
            None
        )
    return list(words)


def texts(chance: random.Random) -> Callable[[int], str]:
    """Makes the text of a message: words as frequent as those of a language (the n-th one in n)."""
    often = list(accumulate(1 / (n + 1) for n in range(VOCABULARY)))
    spoken = [vocabulary(chance, *parts) for parts in LANGUAGES.values()]
    signs = [chr(0x4E00 + n) for n in range(0, 6000, 2)]
    scripts = [[*dict.fromkeys(CHINESE + JAPANESE * kana), *signs] for kana in (0, 1)]
    rates = [list(accumulate(1 / (n + 3) for n in range(len(script)))) for script in scripts]

    def text(number: int) -> str:
        if number % 5 < 3:
            return " ".join(chance.choices(spoken[number % 5 == 2], cum_weights=often, k=WORDS))
        at = number % 5 - 3
        sentence = "".join(chance.choices(scripts[at], cum_weights=rates[at], k=WORDS * 2))
        return f"{sentence}。\n{sentence[::-1]}"

    return text


def fill(db: sqlite3.Connection, messages: int) -> tuple[int, int]:
    """Chats of messages; returns the bytes of the file before and with the unspaced index."""
    chance = random.Random(1)
    text = texts(chance)
    for step in MIGRATIONS:
        step(db)
    for chat in range(CHATS):
        agent = "Lone" if chat == 7 else "Coder" if chat % 5 == 0 else "Plain"
        db.execute(
            """INSERT INTO sessions (id, title, folder, agent, provider, model, permission_mode,
            created, updated, state, unread) VALUES (?, ?, '/x', ?, 'p', 'm', 'ask', ?, ?, 'done',
            0)""",
            (f"s{chat}", f"№ {chat}", agent, chat, chat),
        )
    for number in range(messages):
        said = text(number)
        if number % 9_973 == 0:
            said += " zyquaneedle größenordnung 数据库很快 データベース検索"
        row = (f"s{number % CHATS}", number // CHATS, said)
        db.execute("INSERT INTO said (session_id, seq, kind, text) VALUES (?, ?, 'said', ?)", row)
    db.commit()
    before = size(db)
    while index_older(db, 10.0):
        pass
    db.commit()
    return before, size(db)


def size(db: sqlite3.Connection) -> int:
    pages, page, free = (
        db.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "page_size", "freelist_count")
    )
    return int((pages - free) * page)


def keys(work: Callable[[str], object], typed: str) -> list[float]:
    """Milliseconds of each key of a word, each at its best of two."""
    steps = [typed[: end + 1] for end in range(len(typed)) if not typed[end].isspace()]
    return [min(timed(work, key) for _ in range(2)) for key in steps]


def timed(work: Callable[[str], object], text: str) -> float:
    begun = time.thread_time()
    work(text)
    return (time.thread_time() - begun) * 1000


def main() -> None:
    messages = int(sys.argv[1]) if sys.argv[1:] and sys.argv[1].isdigit() else MESSAGES
    messages = messages // 20 if quick() else messages
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, closing(_open(Path(folder))) as db:
        before, after = fill(db, messages)

        def index_alone(text: str) -> object:
            if is_unspaced(text):
                found = "SELECT id FROM said WHERE text LIKE ? ORDER BY id DESC LIMIT 50"
                return db.execute(found, (f"%{text}%",)).fetchall()
            query = " ".join(f'"{word}"' for word in text.split() if ":" not in word) or '""'
            found = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 50"
            return db.execute(found, (f"{query}*",)).fetchall()

        for what, typed in TYPED:
            mine = keys(lambda text: find(db, text, 50), typed)
            base = keys(index_alone, typed)
            rows.append(
                Row(f"search, {what}, p50", statistics.median(mine), statistics.median(base), "ms",
                    GOAL, "the index alone")
            )  # fmt: skip
            rows.append(
                Row(f"search, {what}, p99", max(mine), max(base), "ms", GOAL, "the index alone")
            )
        mega = 1 << 20
        rows.append(Row("file with the unspaced index", after / mega, before / mega, "MB", "",
                        "without"))  # fmt: skip
    show(rows)


def _open(folder: Path) -> sqlite3.Connection:
    return sqlite3.connect(folder / "search.db")


if __name__ == "__main__":
    main()
