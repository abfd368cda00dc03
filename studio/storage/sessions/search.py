"""Search: extracts text from events for the full-text index, and finds sessions with it."""

from __future__ import annotations

import json
import re
import time
import unicodedata
from collections.abc import Sequence
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

from .search_filters import escape_like, read_filters

Passage: TypeAlias = tuple[str, str]
"""The kind of its block (``said``, ``answer``, ``reasoning``, ``call``, ``result``,
``question``, ``reply``, ``draft``), and its text."""

LONGEST = 200_000  # characters of one block that are indexed
LINE = 160  # characters of a matching line
MANY = 1000  # passages with a word that is so frequent that its passages are not weighed

# Scripts written without spaces: the index has a whole sentence as one word.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff]")
_MARK = "\x02"  # is in no stored text: searches of earlier versions marked matches with it


def sanitise_text(text: str) -> str:
    """Text that SQLite can store and find: without lone surrogates and control characters."""
    cleaned = text.encode("utf-8", "replace").decode("utf-8")
    return cleaned.replace("\0", " ").replace(_MARK, " ")


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
                return _passage("question", "\n".join((event.text, *event.choices)))
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


def find(db: Connection, text: str, limit: int) -> list[SearchHit]:
    """Sessions whose title or content has every word of ``text``, best first.

    The last word may be a prefix. Any text is a valid query; words such as ``agent:Coder`` limit
    it to some sessions, see ``search_filters``. With filters alone all of these are found.
    """
    filters = read_filters(sanitise_text(text).strip(), time.time())
    text, values = filters.words, filters.values
    where = f"sessions.deleted = 0 AND ({filters.where})"
    if not text and not filters.limited:
        return []
    hits: dict[str, SearchHit] = {}
    titles = f"""SELECT id, CAST(title AS TEXT) FROM sessions WHERE {where}
        ORDER BY updated DESC"""  # CAST: damage
    for session_id, title in db.execute(titles, values):
        if all(word.casefold() in title.casefold() for word in text.split()):
            hits[session_id] = SearchHit(session_id, title, title, "title")
    if not text:
        return list(hits.values())[:limit]
    query = _query(text)
    if query is None:
        rows = db.execute(
            f"""SELECT said.session_id, CAST(sessions.title AS TEXT), said.kind,
            CAST(said.text AS TEXT)
            FROM said JOIN sessions ON sessions.id = said.session_id
            WHERE said.text LIKE ? ESCAPE '\\' AND {where} ORDER BY said.id DESC""",
            (f"%{escape_like(text)}%", *values),
        )
        for session_id, title, kind, passage in rows:
            if session_id not in hits:
                hits[session_id] = SearchHit(session_id, title, _line(passage, text), kind)
            if len(hits) >= limit:
                break
    else:
        # A passage of each session first; only those few are then marked up.
        best = _passages(db, query, (where, values), limit + len(hits))
        for row_id, session_id in best:
            if session_id not in hits:
                row = db.execute(
                    """SELECT CAST(sessions.title AS TEXT), said.kind, CAST(said.text AS TEXT)
                    FROM said JOIN sessions ON sessions.id = said.session_id WHERE said.id = ?""",
                    (row_id,),
                )
                for title, kind, passage in row:  # none where the index is damaged
                    line = _cut(passage, _first(passage, text))
                    hits[session_id] = SearchHit(session_id, title, line, kind)
    return list(hits.values())[:limit]


def _passages(
    db: Connection, query: str, condition: tuple[str, Sequence[object]], limit: int
) -> list[tuple[int, str]]:
    """A passage of each session that has what the FTS5 query asks for, with the session's id.

    The best first; of words that are in ``MANY`` passages the newest first, for to weigh them
    all takes too long for each key.
    """
    where, values = condition
    matching = f"""FROM words CROSS JOIN said ON said.id = words.rowid WHERE words MATCH ?
        AND said.session_id IN (SELECT id FROM sessions WHERE {where})"""
    newest: dict[str, int] = {}
    rows = db.execute(
        f"SELECT said.id, said.session_id {matching} ORDER BY words.rowid DESC", (query, *values)
    )
    for seen, (row_id, session_id) in enumerate(rows, 1):
        newest.setdefault(session_id, row_id)
        if seen >= MANY and len(newest) >= limit:
            rows.close()
            return [(row_id, session_id) for session_id, row_id in newest.items()][:limit]
    best = db.execute(
        f"""SELECT id, session_id, min(score) FROM
            (SELECT said.id AS id, said.session_id AS session_id, words.rank AS score {matching})
        GROUP BY session_id ORDER BY 3 LIMIT ?""",
        (query, *values, limit),
    )
    return [(row_id, session_id) for row_id, session_id, _ in best]


def _query(text: str) -> str | None:
    """An FTS5 query; None where the index does not help and all text must be scanned.

    Each word is quoted, so that no character of it is an operator.
    """
    words = [word.replace('"', '""') for word in text.split() if any(map(str.isalnum, word))]
    if not words or _UNSPACED.search(text):
        return None
    return " ".join(f'"{word}"' for word in words) + "*"


def _first(passage: str, text: str) -> int:
    """Where the first of the words stands in a passage, as the index finds them; 0 if nowhere."""
    if passage.isascii():
        plain = passage.lower()
    else:  # one character for each, so that places stay
        plain = "".join(unicodedata.normalize("NFD", letter)[0].lower()[0] for letter in passage)
    words = unicodedata.normalize("NFD", text.lower())
    runs = {run[0] for word in words.split() if (run := re.search(r"[^\W_]+", _unmarked(word)))}
    found = (re.search(rf"(?<![^\W_]){re.escape(run)}", plain) for run in runs)
    return min((hit.start() for hit in found if hit), default=0)


def _unmarked(word: str) -> str:
    return "".join(letter for letter in word if not unicodedata.combining(letter))


def _line(passage: str, text: str) -> str:
    return _cut(passage, max(passage.casefold().find(text.casefold()), 0))


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
