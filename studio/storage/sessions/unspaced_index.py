"""Unspaced index: finds text of scripts without spaces by single characters and pairs of them.

The index ``words`` has a whole Chinese sentence as one word. The table ``grams`` has for each
passage with such a script its characters, its pairs of neighbours and its other words. It does
not know where they stand, so what it finds is looked at again (``has_all``).

The table is filled in short transactions. Triggers note in ``grams_due`` what is new and in
``grams_gone`` what was deleted; passages up to ``grams_left`` are of a version without this
index, and are looked through from the newest on. A kill loses nothing: each step is whole.
"""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from sqlite3 import Connection

from studio.domain.patterns import lazy_pattern

UNSPACED = (
    "\u0e01-\u0e5b\u0e81-\u0edf\u1000-\u109f\u1780-\u17e9\u2e80-\u2fdf\u3005-\u3007\u3021-\u302f"
    "\u3031-\u30fa\u30fc-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, Chinese, Japanese: the inside of a character class."""
SLICE = 0.02
"""Seconds that one transaction works on the index: others may wait for it."""
_MANY = 100  # passages that are read at once

_GONE = "SELECT id, row, CAST(text AS TEXT) FROM grams_gone LIMIT ?"

_UNSPACED = lazy_pattern(f"[{UNSPACED}]")
_PIECE = lazy_pattern(f"[{UNSPACED}]+|(?:(?![{UNSPACED}])[^\\W_])+")


class _Plain(dict[int, str]):
    """Each letter small and without its accents, one character for one, so that places stay."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        first = unicodedata.normalize("NFD", letter)[0]
        plain = self[code] = letter if _UNSPACED.match(letter) else first.lower()[0]
        return plain


_PLAIN = _Plain()


def plain(text: str) -> str:
    """Text as searches compare it; each character stays at its place."""
    return text.lower() if text.isascii() else text.translate(_PLAIN)


def is_unspaced(text: str) -> bool:
    """Whether a text has characters of a script without spaces."""
    return not text.isascii() and _UNSPACED.search(text) is not None


def grams_query(text: str) -> str | None:
    """An FTS5 query for what the index has of every word; the last may be unfinished."""
    pieces = _PIECE.findall(text.lower())
    if not pieces:
        return None
    *before, last = pieces
    wanted = {gram for piece in before for gram in _grams(piece, fewest=True)}
    if is_unspaced(last):
        wanted |= set(_grams(last, fewest=True))
        return " ".join(f'"{gram}"' for gram in sorted(wanted))
    return " ".join([*(f'"{gram}"' for gram in sorted(wanted)), f'"{last}"*'])


def has_all(passage: str, text: str) -> bool:
    """Whether a passage has every word of a text, as it stands; its text is plain already."""
    return all(word in passage for word in plain(text).split())


def index_due(db: Connection, seconds: float = SLICE) -> bool:
    """Take in what is new and take out what was deleted, for so long; whether some is left."""
    end = time.monotonic() + seconds
    while rows := db.execute(_GONE, (_MANY,)).fetchall():
        for place, row, text in rows:
            db.execute(
                "INSERT INTO grams (grams, rowid, text) VALUES ('delete', ?, ?)",
                (row, _tokens(text)),
            )
            db.execute("DELETE FROM grams_gone WHERE id = ?", (place,))
            if time.monotonic() > end:
                return True
    query = """SELECT said.id, CAST(said.text AS TEXT) FROM grams_due
        JOIN said ON said.id = grams_due.id ORDER BY grams_due.id DESC LIMIT ?"""
    while rows := db.execute(query, (_MANY,)).fetchall():
        for row, text in rows:
            _add(db, row, text)
            db.execute("DELETE FROM grams_due WHERE id = ?", (row,))
            if time.monotonic() > end:
                return True
    return False


def index_older(db: Connection, seconds: float = SLICE) -> bool:
    """The same, and then passages of earlier versions."""
    end = time.monotonic() + seconds
    if index_due(db, seconds):
        return True
    while left := older_left(db):
        low = max(left - _MANY, 0)
        query = "SELECT id, CAST(text AS TEXT) FROM said WHERE id > ? AND id <= ?"
        for row, text in db.execute(query, (low, left)).fetchall():
            if is_unspaced(text):
                _add(db, row, text)
        db.execute("UPDATE grams_left SET id = ?", (low,))
        if time.monotonic() > end:
            return low > 0
    return False


def older_left(db: Connection) -> int:
    """Passages up to this id are not in the index."""
    row = db.execute("SELECT id FROM grams_left").fetchone()
    return int(row[0]) if row else 0


def _add(db: Connection, row: int, text: str) -> None:
    db.execute("INSERT INTO grams (rowid, text) VALUES (?, ?)", (row, _tokens(text)))


def _tokens(text: str) -> str:
    """What the index has of a passage: the same each time, or it could not be taken out."""
    found = {gram for piece in _PIECE.findall(text.lower()) for gram in _grams(piece)}
    return " ".join(sorted(found))


def _grams(piece: str, *, fewest: bool = False) -> Iterator[str]:
    """A word as it is; of an unspaced piece its characters and pairs, if ``fewest`` pairs only."""
    if not _UNSPACED.match(piece):
        yield piece
        return
    if not fewest or len(piece) == 1:
        yield from piece
    for first, second in pairwise(piece):
        yield first + second
