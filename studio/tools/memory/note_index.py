"""Note index: finds notes by words, beginnings and pieces of words, in German and English (W-41).

An SQLite file beside the notes, made of them and thrown away whenever it is in doubt: the files are
the truth. It looks at the files of a folder again when the folder has changed, and at those that it
found each time. What is deleted is written over and leaves no copy.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from sqlite3 import Connection
from typing import Any, Literal, TypeAlias, TypeVar

from studio.domain.errors import ToolFailed
from studio.domain.records import dataclass

from .nearness import Nearness
from .note import NAME, Kind, Note, Trust
from .order_marks import marks_of

State: TypeAlias = Literal["kept", "proposed"]
T = TypeVar("T")

VERSION = 2
"""Of the tables. A file of another version is made anew."""
MOST_TERMS = 12
EACH = 40
"""Notes of each way of finding that take part in the ranking."""
SMOOTH = 60
"""The constant of reciprocal rank fusion."""
COMMON = 1_000
"""Notes with a word that is so frequent that it alone finds nothing where rarer ones do."""
FRESH_NS = 100_000_000
"""A folder that changed so lately may change again within the tick of the disk's clock."""

_TABLES = """
CREATE TABLE place (name TEXT PRIMARY KEY, stamp TEXT NOT NULL);
CREATE TABLE note (
    id INTEGER PRIMARY KEY, place TEXT NOT NULL, state TEXT NOT NULL, name TEXT NOT NULL,
    changed INTEGER NOT NULL, size INTEGER NOT NULL, title TEXT NOT NULL, kind TEXT NOT NULL,
    trust TEXT NOT NULL, by TEXT NOT NULL, written REAL NOT NULL, marked INTEGER NOT NULL,
    heading TEXT NOT NULL, body TEXT NOT NULL, stems TEXT NOT NULL,
    UNIQUE (place, state, name));
CREATE TABLE vector (note INTEGER PRIMARY KEY, made BLOB NOT NULL, mark BLOB NOT NULL);
CREATE INDEX note_written ON note (place, state, written);
CREATE VIRTUAL TABLE words USING fts5(
    heading, body, stems, content='note', content_rowid='id', prefix='2 3 4');
CREATE VIRTUAL TABLE pieces USING fts5(
    heading, body, content='note', content_rowid='id', tokenize='trigram');
CREATE VIRTUAL TABLE terms USING fts5vocab('words', 'row');
CREATE VIRTUAL TABLE grams USING fts5vocab('pieces', 'row');
"""
_COLUMNS = (
    "note.place, note.state, note.name, title, kind, trust, by, written, marked, changed, size"
)
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_WORD = re.compile(r"\w+")
_PASSED = frozenset(
    _WORD.findall(
        "a an the of to in on at by for from with and or not is are was were be been it its this "
        "that as do does did how what when where which who why can i we you my our der die das den "
        "dem des ein eine einen einem einer und oder nicht ist sind war waren im in am an auf aus "
        "bei mit nach von vom zu zum zur fuer es ich wir sie er du wie was wann wo wer warum kann "
        "man als auch"
    )
)
"""Words that find nothing by themselves, as they are folded."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A note as the index has it. ``marked``: something in it reads like an order, or is hidden."""

    place: str
    state: State
    name: str
    title: str
    kind: Kind
    trust: Trust
    by: str
    written: float
    marked: bool


def fold(text: str) -> str:
    """Small letters without accents; ``ä`` is ``ae``, as people write who have no such key."""
    import unicodedata

    text = text.casefold()
    if text.isascii():
        return text
    text = unicodedata.normalize("NFC", text).translate(_UMLAUTS)
    apart = unicodedata.normalize("NFKD", text)
    return "".join(c for c in apart if not unicodedata.combining(c))


@cache
def _stemmers() -> tuple[Callable[[str], str], Callable[[str], str]]:
    module: Any = import_module("snowballstemmer")  # untyped; it loads the rules of all languages
    return module.stemmer("german").stemWord, module.stemmer("english").stemWord


@cache
def stems(word: str) -> tuple[str, ...]:
    """The stems of a folded word by the rules for German and for English."""
    if len(word) < 4 or not word.isalpha():
        return ()
    # The rules know umlauts: ``haeuser`` is ``haus`` only by way of ``häuser``.
    umlauts = word.replace("ae", "ä").replace("oe", "ö").replace("ue", "ü")
    german, english = _stemmers()
    return tuple({fold(german(umlauts)), english(word)})


class NoteIndex:
    """The index of all folders of notes below ``place``. Methods read the disk.

    ``read`` reads a note of a folder by its state and name; None if it cannot be. ``nearness``
    finds them by meaning, too.
    """

    def __init__(
        self,
        place: Path,
        read: Callable[[str, State, str], Note | None],
        nearness: Nearness | None = None,
    ) -> None:
        self._place, self._nearness = place, nearness
        self._read = read
        self._looked: set[str] = set()
        """The folders whose files were all looked at since the program began."""

    @property
    def _path(self) -> Path:
        return self._place / "index.db"

    def entries(
        self,
        places: Sequence[str],
        state: State,
        *,
        limit: int = -1,
        word: str = "",
        trusts: Sequence[Trust] = (),
    ) -> list[Entry]:
        """The notes of some folders, the newest first; with a ``word`` those that have it."""
        where, values = _where(places, state, trusts)
        if word:
            where += " AND (instr(heading, ?) OR instr(body, ?))"
            values += [fold(word)] * 2
        sql = f"SELECT {_COLUMNS} FROM note WHERE {where} ORDER BY written DESC, name LIMIT ?"
        return self._look_up(
            places, lambda db: [_entry(row) for row in db.execute(sql, [*values, limit])]
        )

    def count(self, places: Sequence[str], state: State) -> int:
        where, values = _where(places, state, ())
        sql = f"SELECT count(*) FROM note WHERE {where}"
        return self._look_up(places, lambda db: int(db.execute(sql, values).fetchone()[0]))

    def find(
        self,
        places: Sequence[str],
        query: str,
        *,
        state: State = "kept",
        trusts: Sequence[Trust] = (),
        limit: int = 10,
        near: bool = False,
    ) -> list[Entry]:
        """The notes that fit a query best, by words, stems, beginnings and pieces of words.

        With ``near`` also by their meaning, where that is installed.
        """

        def search(db: Connection) -> list[tuple[Any, ...]]:
            found: list[int] = []
            if near and self._nearness is not None:
                index = self._path.absolute()
                found = self._nearness.nearest(index, places, state, trusts, fold(query))
            return _Search(db, query, *_where(places, state, trusts)).rows(limit, found)

        rows = self._look_up(places, search)
        if not all(self._is_current(row) for row in rows):  # changed in place, by hand
            rows = self._look_up(places, search, anew=True)
        return [_entry(row) for row in rows]

    def close_to(self, entry: Entry, limit: int = 3) -> list[Entry]:
        """The kept notes of the same folder that say nearly the same, by their rarest words."""

        def search(db: Connection) -> list[Entry]:
            found = db.execute(
                """SELECT id, heading || ' ' || body FROM note
                WHERE place = ? AND state = ? AND name = ?""",
                (entry.place, entry.state, entry.name),
            ).fetchone()
            if found is None:
                return []
            words = list(dict.fromkeys(w for w in _WORD.findall(found[1]) if len(w) > 3))
            rare = sorted(((_frequency(db, w), w) for w in words[:200]), key=lambda one: one[0])
            wanted = [word for count, word in rare if count > 1][:MOST_TERMS]
            if len(wanted) < 2:
                return []
            where, values = _where([entry.place], "kept", ())
            rows = db.execute(
                f"""SELECT {_COLUMNS} FROM words JOIN note ON note.id = words.rowid
                WHERE words MATCH ? AND {where} AND note.id <> ? ORDER BY rank LIMIT ?""",
                (" OR ".join(f'"{w}"' for w in wanted), *values, found[0], limit),
            )
            return [_entry(row) for row in rows]

        return self._look_up([entry.place], search)

    # The file

    def _look_up(
        self, places: Sequence[str], work: Callable[[Connection], T], *, anew: bool = False
    ) -> T:
        """What ``work`` finds in the index, with the notes of some folders as they are now.

        A damaged index is made anew of the files. Raises ToolFailed.
        """
        for again in (False, True):
            try:
                with closing(self._open()) as db:
                    self._refresh(db, places, anew)
                    return work(db)
            except sqlite3.DatabaseError as error:
                locked = isinstance(error, sqlite3.OperationalError) and "locked" in str(error)
                if again or locked:
                    raise ToolFailed(f"The index of the notes cannot be used: {error}.") from error
                self._remove()
        raise AssertionError("the second try returns or raises")

    def _open(self) -> Connection:
        try:
            self._place.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not self._path.exists():
                os.close(os.open(self._path, os.O_CREAT | os.O_WRONLY, 0o600))
                self._looked.clear()
            db = sqlite3.connect(self._path, timeout=30.0, isolation_level=None)
        except OSError as error:
            raise ToolFailed(
                f"The index of the notes cannot be written: {error.strerror}."
            ) from error
        try:
            if db.execute("PRAGMA user_version").fetchone()[0] != VERSION:
                self._build(db)
            db.execute("PRAGMA secure_delete = 1")
            db.execute("PRAGMA cache_size = -16000")
        except sqlite3.DatabaseError:
            db.close()
            self._remove()
            self._looked.clear()
            db = sqlite3.connect(self._path, timeout=30.0, isolation_level=None)
            self._build(db)
            db.execute("PRAGMA secure_delete = 1")
        return db

    def _build(self, db: Connection) -> None:
        db.execute("BEGIN IMMEDIATE")
        if db.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            for (name,) in db.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL%'"
            ).fetchall():
                db.execute(f'DROP TABLE "{name}"')
            for name in ("note", "place", "vector"):
                db.execute(f"DROP TABLE IF EXISTS {name}")
            for statement in _TABLES.split(";"):
                if statement.strip():
                    db.execute(statement)
            db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute("COMMIT")

    def _remove(self) -> None:
        self._looked.clear()
        for end in ("", "-journal", "-wal", "-shm"):
            with suppress(OSError):
                self._path.with_name(f"{self._path.name}{end}").unlink()

    # The notes

    def _refresh(self, db: Connection, places: Iterable[str], anew: bool) -> None:
        for place in dict.fromkeys(places):
            stamp = self._stamp(place)
            row = db.execute("SELECT stamp FROM place WHERE name = ?", (place,)).fetchone()
            if anew or place not in self._looked or row is None or not stamp or row[0] != stamp:
                self._look(db, place, stamp)
                self._looked.add(place)

    def _stamp(self, place: str) -> str:
        """When the folder's list of files changed; empty where it may change unseen just now."""
        times: list[int] = []
        for folder in (self._folder(place, "kept"), self._folder(place, "proposed")):
            try:
                times.append(folder.stat().st_mtime_ns)
            except OSError:
                times.append(0)
        return "" if time.time_ns() - max(times) < FRESH_NS else f"{times[0]} {times[1]}"

    def _folder(self, place: str, state: State) -> Path:
        return self._place / place if state == "kept" else self._place / place / "proposed"

    def _look(self, db: Connection, place: str, stamp: str) -> None:
        """Take what changed in a folder's files."""
        db.execute("BEGIN IMMEDIATE")
        try:
            known = {
                (state, name): (row_id, changed, size)
                for row_id, state, name, changed, size in db.execute(
                    "SELECT id, state, name, changed, size FROM note WHERE place = ?", (place,)
                )
            }
            gone = dict(known)
            for state in ("kept", "proposed"):
                for name, changed, size in _files(self._folder(place, state)):
                    before = gone.pop((state, name), None)
                    if before is not None and before[1:] == (changed, size):
                        continue
                    note = self._read(place, state, name)
                    if before is not None:
                        _delete(db, before[0])
                    if note is not None:
                        _insert(db, note, state, changed, size)
            for row_id, _, _ in gone.values():
                _delete(db, row_id)
            if gone:  # deleted words stay in the tables until these are merged
                for table in ("words", "pieces"):
                    db.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
            db.execute("INSERT OR REPLACE INTO place VALUES (?, ?)", (place, stamp))
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise

    def _is_current(self, row: tuple[Any, ...]) -> bool:
        try:
            found = (self._folder(row[0], row[1]) / f"{row[2]}.md").lstat()
        except OSError:
            return False
        return (found.st_mtime_ns, found.st_size) == (row[9], row[10])


class _Search:
    """One query. Each way of finding gives a list, and the lists are fused by rank."""

    def __init__(self, db: Connection, query: str, where: str, values: list[object]) -> None:
        self._db, self._where, self._values = db, where, values
        found = list(dict.fromkeys(_WORD.findall(fold(query))))
        self._terms = ([one for one in found if one not in _PASSED] or found)[:MOST_TERMS]

    def rows(self, limit: int, near: Sequence[int] = ()) -> list[tuple[Any, ...]]:
        """The best notes; ``near`` are the ids of those that are near by their meaning."""
        if not self._terms:
            return []
        lists = [self._by_words(" AND ")]
        if len(self._terms) > 1 and len(lists[0]) < limit:
            lists.append(self._by_words(" OR ", self._rare()))
        long = [one for one in self._terms if len(one) >= 3]
        if long:
            many = min(min(self._gram_counts(term).values()) for term in long)
            query = " AND ".join(f'"{one}"' for one in long)
            lists.append(self._ids("pieces", query, "pieces, 4.0, 1.0", many))
        if not any(lists) and (grams := self._grams()):
            lists.append(self._ids("pieces", grams, "pieces, 4.0, 1.0", 0))
        scores: dict[int, float] = {}
        for found in (*lists, near):
            for at, row_id in enumerate(found):
                scores[row_id] = scores.get(row_id, 0.0) + 1 / (SMOOTH + at)
        best = sorted(scores, key=lambda one: -scores[one])[:limit]
        marks = ", ".join("?" * len(best))
        rows = {
            row[0]: row[1:]
            for row in self._db.execute(
                f"SELECT note.id, {_COLUMNS} FROM note WHERE id IN ({marks}) AND {self._where}",
                [*best, *self._values],
            )
        }
        return [rows[one] for one in best if one in rows]

    def _by_words(self, between: str, terms: Sequence[str] | None = None) -> list[int]:
        wanted = self._terms if terms is None else terms
        counts = [self._count(term) for term in wanted]
        many = min(counts) if between == " AND " else sum(counts)
        query = between.join(map(_one_word, wanted))
        return self._ids("words", query, "words, 4.0, 1.0, 0.7", many)

    def _count(self, term: str) -> int:
        """How many notes have a word that begins so, or more."""
        last = f"{term}\U0010ffff" if len(term) > 2 else term
        sql = "SELECT sum(doc) FROM (SELECT doc FROM terms WHERE term BETWEEN ? AND ? LIMIT 500)"
        return self._db.execute(sql, (term, last)).fetchone()[0] or 0

    def _rare(self) -> list[str]:
        """The terms without those that most notes have."""
        counts = {term: self._count(term) for term in self._terms}
        rare = [term for term, count in counts.items() if count <= COMMON]
        return rare or [min(counts, key=lambda one: counts[one])]

    def _gram_counts(self, term: str) -> dict[str, int]:
        """The threes of letters of a term, with the number of notes that have them."""
        found = {term[at : at + 3]: 0 for at in range(len(term) - 2)}
        for gram in found:
            row = self._db.execute("SELECT doc FROM grams WHERE term = ?", (gram,)).fetchone()
            found[gram] = row[0] if row is not None else 0
        return found

    def _grams(self) -> str:
        """The rarest threes of letters of the terms: what is written in another way."""
        counts = [one for term in self._terms for one in self._gram_counts(term).items()]
        kept: list[str] = []
        room = 5 * COMMON
        for count, gram in sorted({(count, gram) for gram, count in counts if count}):
            if count > room or len(kept) == MOST_TERMS:
                break
            room -= count
            kept.append(gram)
        return " OR ".join(f'"{gram}"' for gram in kept) if len(kept) > 1 else ""

    def _ids(self, table: str, query: str, weights: str, many: int) -> list[int]:
        """The best notes; of ``many`` the newest, because weighing all takes too long."""
        order = f"bm25({weights})" if many <= COMMON else f"{table}.rowid DESC"
        sql = f"""SELECT note.id FROM {table} CROSS JOIN note ON note.id = {table}.rowid
            WHERE {table} MATCH ? AND {self._where} ORDER BY {order} LIMIT {EACH}"""
        return [row[0] for row in self._db.execute(sql, [query, *self._values])]


def _one_word(term: str) -> str:
    """A term as itself, as the beginning of longer ones, or by its stem."""
    begins = f'{{heading body}} : "{term}"' + ("*" if len(term) > 2 else "")
    roots = " OR ".join(f'stems : "{one}"' for one in stems(term))
    return f"({begins} OR {roots})" if roots else f"({begins})"


def _where(
    places: Sequence[str], state: State, trusts: Sequence[Trust]
) -> tuple[str, list[object]]:
    where = f"place IN ({', '.join('?' * len(places))}) AND state = ?"
    values: list[object] = [*places, state]
    if trusts:
        where += f" AND trust IN ({', '.join('?' * len(trusts))})"
        values += trusts
    return where, values


def _frequency(db: Connection, term: str) -> int:
    row = db.execute("SELECT doc FROM terms WHERE term = ?", (term,)).fetchone()
    return row[0] if row else 0


def _files(folder: Path) -> Iterator[tuple[str, int, int]]:
    """The names of a folder's notes, with the time and the size of their files."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name, _, end = entry.name.rpartition(".")
                if end != "md" or not NAME.fullmatch(name):
                    continue
                with suppress(OSError):
                    if entry.is_file(follow_symlinks=False):
                        found = entry.stat(follow_symlinks=False)
                        yield name, found.st_mtime_ns, found.st_size
    except OSError:
        return


def _insert(db: Connection, note: Note, state: State, changed: int, size: int) -> None:
    heading = fold(f"{note.about} {note.name.replace('-', ' ')}")
    body = fold(note.text)
    roots = " ".join(
        {one for word in set(_WORD.findall(f"{heading} {body}")) for one in stems(word)}
    )
    row = db.execute(
        """INSERT INTO note (place, state, name, changed, size, title, kind, trust, by, written,
        marked, heading, body, stems) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            *(note.place, state, note.name, changed, size, note.about, note.kind, note.trust),
            *(note.by, note.written, bool(marks_of(note.text)), heading, body, roots),
        ),
    ).lastrowid
    db.execute(
        "INSERT INTO words (rowid, heading, body, stems) VALUES (?, ?, ?, ?)",
        (row, heading, body, roots),
    )
    db.execute("INSERT INTO pieces (rowid, heading, body) VALUES (?, ?, ?)", (row, heading, body))


def _delete(db: Connection, row_id: int) -> None:
    old = db.execute("SELECT heading, body, stems FROM note WHERE id = ?", (row_id,)).fetchone()
    db.execute(
        "INSERT INTO words (words, rowid, heading, body, stems) VALUES ('delete', ?, ?, ?, ?)",
        (row_id, *old),
    )
    db.execute(
        "INSERT INTO pieces (pieces, rowid, heading, body) VALUES ('delete', ?, ?, ?)",
        (row_id, *old[:2]),
    )
    db.execute("DELETE FROM vector WHERE note = ?", (row_id,))
    db.execute("DELETE FROM note WHERE id = ?", (row_id,))


def _entry(row: tuple[Any, ...]) -> Entry:
    return Entry(*row[:8], marked=bool(row[8]))
