"""Search: extracts text from events for the full-text index, and finds sessions with it."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable
from itertools import islice
from sqlite3 import Connection
from typing import TypeAlias

from studio.domain.events import (
    AwaitingReply,
    CallStarted,
    DraftCreated,
    Event,
    Failed,
    Notice,
    ReasoningDelta,
    Recounted,
    ReplyGiven,
    StepEnded,
    TextDelta,
    ToolFinished,
    ToolQueued,
    TurnComplete,
    TurnStarted,
)
from studio.domain.messages import File, Text, ToolResult
from studio.domain.sessions import SearchHit

from .search_filters import Filtered, escape_like, read_filters
from .unspaced_index import grams_query, has_all, is_unspaced, older_left, plain

Passage: TypeAlias = tuple[str, str]
"""The kind of its block (``said``, ``answer``, ``reasoning``, ``call``, ``result``,
``question``, ``reply``, ``draft``), and its text."""

LONGEST = 200_000  # characters of one block that are indexed
LINE = 160  # characters of a matching line
MANY = 1000  # passages with a word that is so frequent that its passages are not weighed
FEW = 20_000  # passages of the chats that filters leave: their ids are read at once

_MARK = "\x02"  # is in no stored text: searches of earlier versions marked matches with it


def sanitise_text(text: str) -> str:
    """Text that SQLite can store and find: without lone surrogates and control characters."""
    cleaned = text.encode("utf-8", "replace").decode("utf-8")
    return cleaned.replace("\0", " ").replace(_MARK, " ")


def is_time(value: object) -> bool:
    """Whether this can be seconds since the epoch, in this or the next few centuries."""
    return isinstance(value, float | int) and math.isfinite(value) and 0 <= value < 1e10


class Indexer:
    """Turns events into passages, each as soon as its block is finished."""

    def __init__(self) -> None:
        self._kind = ""
        self._parts: list[str] = []

    def feed(self, event: Event) -> list[Passage]:
        """The passages that ``event`` finishes."""
        match event:
            case TextDelta():
                return self._grow("answer", event.text)
            case ReasoningDelta():
                return self._grow("reasoning", event.text)
            case TurnStarted():
                said = [part.text for part in event.said if isinstance(part, Text)]
                said += [part.name for part in event.said if isinstance(part, File)]
                return [*self.finish(), *_passage("said", "\n\n".join(said))]
            case Recounted():
                return [*self.finish(), *_recounted(event)]
            case ToolQueued():
                return [*self.finish(), *_passage("call", f"{event.name}\n{_words(event)}")]
            case ToolFinished():
                return _passage("result", event.text)
            case AwaitingReply():
                lines = (line for one in event.asked for line in one.lines)
                return _passage("question", "\n".join(lines))
            case ReplyGiven():
                return _passage("reply", event.text)
            case DraftCreated():
                about = event.draft.describe()
                return [*self.finish(), *_passage("draft", f"{about.name}\n{about.after}")]
            case CallStarted() | StepEnded() | Notice() | Failed() | TurnComplete():
                return self.finish()
            case _:
                return []

    def finish(self) -> list[Passage]:
        """The passage of the unfinished block, if there is one."""
        found = _passage(self._kind, "".join(self._parts))
        self._kind, self._parts = "", []
        return found

    def _grow(self, kind: str, text: str) -> list[Passage]:
        done = self.finish() if self._kind not in ("", kind) else []
        self._kind = kind
        self._parts.append(text)
        return done


def _passage(kind: str, text: str) -> list[Passage]:
    return [(kind, sanitise_text(text[:LONGEST]))] if text.strip() else []


def _recounted(event: Recounted) -> list[Passage]:
    found: list[Passage] = []
    for message in event.messages:
        for block in message.blocks:
            match block:
                case Text():
                    found += _passage("said" if message.role == "user" else "answer", block.text)
                case File():
                    found += _passage("said", block.name)
                case ToolResult():
                    found += _passage("result", block.text)
                case _:
                    pass
    return found


def _words(call: ToolQueued) -> str:
    """The values of a call's arguments, text without quotes and escapes."""
    try:
        return "\n".join(
            value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            for value in call.arguments.values()
        )
    except (RecursionError, TypeError, ValueError):  # nested too deeply
        return call.target


def find(db: Connection, text: str, limit: int, lines: int = 1) -> list[SearchHit]:
    """Chats whose title or content has every word of ``text``: titles first, then the best.

    Of each chat up to ``lines`` hits, one after the other. The last word may be a prefix. Any text
    is a valid query; words such as ``agent:Coder`` limit it to some sessions, see
    ``search_filters``. With filters alone all of these are found.
    """
    filters = read_filters(sanitise_text(text).strip(), time.time())
    text = filters.words
    where = f"sessions.deleted = 0 AND sessions.caller = '' AND ({filters.where})"
    if not text and not filters.limited:
        return []
    hits: dict[str, list[SearchHit]] = {}
    titles = f"""SELECT id, CAST(title AS TEXT), agent, updated FROM sessions WHERE {where}
        ORDER BY updated DESC"""  # CAST: damage
    words = text.casefold().split()
    for session_id, title, agent, updated in db.execute(titles, filters.values):
        folded = title.casefold()
        if all(word in folded for word in words):
            hits[session_id] = [SearchHit(session_id, title, title, "title", agent, updated)]
            if len(hits) == limit:
                break
    search = _Search(db, text, where, filters)
    for source in search.sources if text else ():
        if len(hits) >= limit and lines == 1:
            break
        for row_id, session_id in source(limit):
            known = hits.get(session_id, ())
            wanted = len(known) < lines and (known or len(hits) < limit)
            if wanted and (hit := _hit(db, row_id, text)) is not None:
                hits.setdefault(session_id, []).append(hit)
    return [hit for several in hits.values() for hit in several]


def _hit(db: Connection, row_id: int, text: str) -> SearchHit | None:
    """A passage with its line; None where the index is damaged."""
    row = db.execute(
        """SELECT said.session_id, CAST(sessions.title AS TEXT), said.kind, CAST(said.text AS TEXT),
        sessions.agent, coalesce((SELECT at FROM transcript
            WHERE transcript.session_id = said.session_id AND seq = said.seq), updated)
        FROM said JOIN sessions ON sessions.id = said.session_id WHERE said.id = ?""",
        (row_id,),
    ).fetchone()
    if row is None:
        return None
    session_id, title, kind, passage, agent, at = row
    line = _cut(passage, _first(passage, text))
    return SearchHit(session_id, title, line, kind, agent, at if is_time(at) else 0.0)


_Found: TypeAlias = list[tuple[int, str]]
"""Passages with the ids of their sessions."""


class _Search:
    """The passages with some words, from each place that knows of some. ``limit`` counts sessions.

    They come newest first, and no more than ``MANY`` are looked at where these are in enough
    sessions: one key of a person must not weigh all that was ever said.
    """

    def __init__(self, db: Connection, text: str, where: str, filters: Filtered) -> None:
        """``where`` is the condition on sessions, with the values of ``filters``."""
        self._db, self._text = db, text
        self._where, self._values = where, filters.values
        self._done = False
        """Nothing more has to be looked for."""
        hidden = "SELECT id FROM sessions WHERE deleted <> 0 OR caller <> ''"
        self._in_scope = f"said.session_id NOT IN ({hidden})"
        self._scope: dict[int, str] | None = None
        """The passages of all chats that are wanted, where these are few."""
        if filters.limited:
            self._in_scope = f"said.session_id IN (SELECT id FROM sessions WHERE {where})"
            some = db.execute(
                f"SELECT id, session_id FROM said WHERE {self._in_scope} LIMIT ?",
                (*self._values, FEW + 1),
            ).fetchall()
            self._scope = dict(some) if len(some) <= FEW else None

    @property
    def sources(self) -> tuple[Callable[[int], _Found], ...]:
        return self.few, self.short, self.words, self.grams, self.others

    def few(self, limit: int) -> _Found:
        """Read all passages, where filters leave so few that no index is faster."""
        if self._scope is None or len(self._scope) > MANY // 5:
            return []
        self._done = True
        rows = sorted(self._scope.items(), reverse=True)
        return [(row, session) for row, session in rows if self._matches(self._text_of(row))]

    def short(self, limit: int) -> _Found:
        """For a word that was just begun: the newest passages of the newest chats.

        Almost every chat has one. The index would have to merge all words with that letter.
        """
        if self._done or not _is_begun(self._text):
            return []
        begins = _beginning(self._text)
        found: _Found = []
        sessions = self._db.execute(
            f"SELECT id FROM sessions WHERE {self._where} ORDER BY updated DESC LIMIT ?",
            (*self._values, 2 * limit),
        ).fetchall()
        for (session_id,) in sessions:
            rows = self._db.execute(
                """SELECT id, CAST(substr(text, 1, 400) AS TEXT) FROM said WHERE session_id = ?
                ORDER BY seq DESC LIMIT 8""",
                (session_id,),
            )
            hits = ((row, session_id) for row, text in rows if begins.search(plain(text)))
            found += islice(hits, 1)
            rows.close()
            if len(found) == limit:
                break
        self._done = len(found) >= limit // 5
        return found

    def words(self, limit: int) -> _Found:
        """In the index of words, the best first unless there are too many to weigh them."""
        if self._done:
            return []
        *before, last = self._text.split()
        begun = bool(before) and _is_begun(last)
        query = _query(" ".join(before) if begun else self._text, prefix=not begun)
        if query is None:
            return []
        check = _beginning(last).search if begun else None
        found, all_seen = self._newest("words", query, limit, check)
        if all_seen and len(found) <= MANY:
            ranked = self._db.execute(
                "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank", (query,)
            )
            place = {row: at for at, (row,) in enumerate(ranked)}
            found.sort(key=lambda one: place.get(one[0], len(place)))
        return found

    def grams(self, limit: int) -> _Found:
        """In the index of scripts without spaces."""
        query = None if self._done else grams_query(self._text)
        if query is None:
            return []
        exact = len(self._text) <= 2  # a character or a pair, as the index has it
        return self._newest("grams", query, limit, None if exact else self._has_all)[0]

    def others(self, limit: int) -> _Found:
        """Where no index helps: what is not in it yet, and signs that are no words."""
        if self._done:
            return []
        waits = "1"
        if any(map(str.isalnum, self._text)):
            due = self._db.execute("SELECT id FROM grams_due").fetchall()
            left = older_left(self._db)
            if not is_unspaced(self._text) or not (left or due):
                return []
            waits = f"(said.id <= {left} OR said.id IN ({','.join(str(row) for (row,) in due)}))"
        like = " AND ".join("said.text LIKE ? ESCAPE '\\'" for _ in self._text.split())
        rows = self._db.execute(
            f"""SELECT id, session_id FROM said WHERE {waits} AND {like} AND {self._in_scope}
            ORDER BY id DESC""",
            (*(f"%{escape_like(word)}%" for word in self._text.split()), *self._values),
        )
        found: _Found = []
        for row in rows:
            found.append(row)
            if len({session for _, session in found}) >= limit:
                break
        rows.close()
        return found

    def _newest(
        self, index: str, query: str, limit: int, check: Callable[[str], object] | None
    ) -> tuple[_Found, bool]:
        """What an index has for a query, and whether that is all.

        ``check`` looks at the plain text of a passage again.
        """
        if self._scope is None:
            rows = self._db.execute(
                f"""SELECT said.id, said.session_id FROM {index} CROSS JOIN said
                ON said.id = {index}.rowid WHERE {index} MATCH ? AND {self._in_scope}
                ORDER BY {index}.rowid DESC""",
                (query, *self._values),
            )
        else:  # to look each of many hits up in the table takes too long
            rows = self._db.execute(
                f"SELECT rowid FROM {index} WHERE {index} MATCH ? ORDER BY rowid DESC", (query,)
            )
        found: _Found = []
        sessions: set[str] = set()
        for row in rows:
            if self._scope is not None:
                session = self._scope.get(row[0])
                if session is None:
                    continue
                row = (row[0], session)
            if check is not None and not check(plain(self._text_of(row[0]))):
                continue
            found.append(row)
            sessions.add(row[1])
            if len(found) >= MANY and len(sessions) >= limit:
                rows.close()
                return found, False
        return found, True

    def _has_all(self, inside: str) -> bool:
        return has_all(inside, self._text)

    def _matches(self, passage: str) -> bool:
        """Whether a passage has the words as the indexes find them."""
        inside = plain(passage)
        if is_unspaced(inside) or not any(map(str.isalnum, self._text)):
            return self._has_all(inside)
        *whole, last = re.findall(r"[^\W_]+", plain(self._text))
        return _beginning(last).search(inside) is not None and all(
            re.search(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", inside) for word in whole
        )

    def _text_of(self, row_id: int) -> str:
        query = "SELECT CAST(text AS TEXT) FROM said WHERE id = ?"
        row = self._db.execute(query, (row_id,)).fetchone()
        return row[0] if row else ""  # none where the index is damaged


def _is_begun(word: str) -> bool:
    """Whether only the first letter of a word is known, of a script with words."""
    return len(word) == 1 and word.isalnum() and not is_unspaced(word)


def _beginning(word: str) -> re.Pattern[str]:
    """Matches words that begin so, in plain text."""
    return re.compile(rf"(?<![^\W_]){re.escape(plain(word))}")


def _query(text: str, *, prefix: bool) -> str | None:
    """An FTS5 query, with ``prefix`` of a last word that may go on; None for signs alone.

    Each word is quoted, so that no character of it is an operator.
    """
    words = [word.replace('"', '""') for word in text.split() if any(map(str.isalnum, word))]
    if not words or is_unspaced(text):
        return None
    return " ".join(f'"{word}"' for word in words) + "*" * prefix


def _first(passage: str, text: str) -> int:
    """Where the first of the words stands in a passage, as the indexes find them; 0 if nowhere."""
    inside, found = plain(passage), list[int]()
    for word in plain(text).split():
        if is_unspaced(word) or not any(map(str.isalnum, word)):
            found.append(inside.find(word))
        elif run := re.search(r"[^\W_]+", word):
            hit = _beginning(run[0]).search(inside)
            found.append(hit.start() if hit else inside.find(run[0]))
    return min((at for at in found if at >= 0), default=0)


def _cut(passage: str, at: int) -> str:
    """The line of ``passage`` around position ``at``, ``LINE`` characters at most."""
    start = passage.rfind("\n", 0, at) + 1
    end = passage.find("\n", at)
    line = passage[start : end if end >= 0 else len(passage)]
    at -= start
    if len(line) > LINE:
        begin = max(0, min(at - LINE // 3, len(line) - LINE))
        piece = line[begin : begin + LINE].strip()
        return ("…" if begin else "") + piece + ("…" if begin + LINE < len(line) else "")
    return line.strip()
