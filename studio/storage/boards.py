"""Boards: the keys, messages and tasks of a run or a chat, kept and deleted with it (W-40)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from sqlite3 import Connection
from typing import Any

from studio.domain.boards import (
    BoardAuthor,
    BoardEntry,
    BoardMessage,
    BoardOverview,
    BoardSummary,
    BoardTask,
)
from studio.domain.sessions import Caller

from .database import Database
from .sessions.search import sanitise_text

MOST_READ = 50
"""Messages that one look into the inbox brings; the next look brings those that follow."""

_TASK = "number, text, state, taker, result, stranger"
_FREE = """(state = 'open' OR (state = 'taken' AND NOT EXISTS (
    SELECT 1 FROM sessions WHERE sessions.id = taken_in
    AND sessions.state IN ('running', 'waiting'))))"""
"""A task that nobody works on: also one whose agent ended without saying that it is done."""
_BROKEN_OFF = """owner NOT IN ('', ?1) AND NOT EXISTS (SELECT 1 FROM audit
    WHERE session_id = session AND call_id = call AND finished IS NOT NULL) AND 1 >= (
    SELECT count(*) FROM turns later WHERE later.session_id = session AND later.id > (
    SELECT max(id) FROM turns WHERE turns.session_id = session AND turns.owner = made.owner))"""
"""What another program made, and was killed before the agent got the result of the call.

The turn after that one makes it again, or nobody does: what is said later is said anew.
"""


class BoardStore:
    """The boards of one database. Every coroutine raises StorageError.

    ``root`` is the session or the run that began all others of its tree; each has a board of its
    own, made with the first thing on it.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._waiting: dict[Caller, set[asyncio.Event]] = {}
        """Who waits for messages here, by the board."""

    async def root_of(self, caller: Caller) -> Caller:
        """What began a session or a run, and all others of its tree."""
        return await self._db.read(lambda db: _root(db, caller))

    async def summaries(self, most: int) -> list[BoardSummary]:
        """All boards that have something on them, those of the newest chats and runs first."""

        def read(db: Connection) -> list[BoardSummary]:
            rows = db.execute(
                """SELECT * FROM (SELECT session_id, run_id, coalesce(s.title, r.name, ''),
                    coalesce(r.number, 0),
                    (SELECT count(*) FROM board_entries WHERE board = b.id) AS entries,
                    (SELECT count(*) FROM board_tasks WHERE board = b.id) AS tasks,
                    (SELECT count(*) FROM board_messages WHERE board = b.id) AS messages
                FROM boards b LEFT JOIN sessions s ON s.id = session_id
                    LEFT JOIN runs r ON r.id = run_id ORDER BY b.id DESC)
                WHERE entries + tasks + messages > 0 LIMIT ?""",
                (most,),
            )
            return [
                BoardSummary(Caller("run", run) if run else Caller("session", session), *rest)
                for session, run, *rest in rows
            ]

        return await self._db.read(read)

    async def overview(self, root: Caller) -> BoardOverview:
        def read(db: Connection) -> BoardOverview:
            board = _known(db, root)
            entries = db.execute(
                """SELECT key, version, text, by, stranger FROM board_entries WHERE board = ?
                ORDER BY key""",
                (board,),
            )
            return BoardOverview(
                tuple(BoardEntry(*row) for row in entries), tuple(_tasks(db, board))
            )

        return await self._db.read(read)

    async def entry(self, root: Caller, key: str) -> BoardEntry | None:
        return await self._db.read(lambda db: _entry(db, _known(db, root), key))

    async def write(
        self, root: Caller, key: str, text: str, version: int, author: BoardAuthor
    ) -> tuple[bool, BoardEntry | None]:
        """Write a text under a key whose ``version`` the author has read, 0 for a new one.

        Whether it is written, and what is there now: somebody may have written meanwhile. An
        empty text takes the key away.
        """

        def write(db: Connection) -> tuple[bool, BoardEntry | None]:
            board = _board(db, root)
            now = _entry(db, board, key)
            if (now.version if now is not None else 0) != version:
                return False, now
            if not text:
                query = "DELETE FROM board_entries WHERE board = ? AND key = ?"
                db.execute(query, (board, key))
                return True, None
            db.execute(
                "INSERT OR REPLACE INTO board_entries VALUES (?, ?, ?, ?, ?, ?)",
                (board, key, version + 1, sanitise_text(text), author.agent, author.stranger),
            )
            return True, _entry(db, board, key)

        return await self._db.write(write)

    # Messages

    async def post(self, root: Caller, channel: str, text: str, author: BoardAuthor) -> int:
        """Post a message, and wake who waits for one; returns its number.

        That of the same message from before, where the call that posted it was broken off.
        """

        def write(db: Connection) -> int:
            board, words = _board(db, root), sanitise_text(text)
            row = db.execute(
                f"""UPDATE board_messages SET owner = ?1, call = ?2 WHERE id = (SELECT min(id)
                FROM board_messages made WHERE board = ?3 AND session = ?4 AND text = ?5
                AND channel = ?6 AND {_BROKEN_OFF}) RETURNING id""",
                (self._db.owner, author.call, board, author.session, words, channel),
            ).fetchone()
            if row is not None:
                return int(row[0])
            values = (board, channel, words, author.agent, author.session, author.stranger)
            query = """INSERT INTO board_messages (board, channel, text, by, session, stranger,
                call, owner) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
            return db.execute(query, (*values, author.call, self._db.owner)).lastrowid or 0

        number = await self._db.write(write)
        for event in self._waiting.get(root, ()):
            event.set()
        return number

    async def take_messages(
        self, root: Caller, reader: str, channel: str = "", after: int | None = None
    ) -> list[BoardMessage]:
        """The next messages of others that a session has not read, of one channel or of all.

        ``after`` reads again what came after the message of that number.
        """

        def write(db: Connection) -> list[BoardMessage]:
            values: list[Any] = [_board(db, root), reader]
            where = "message.board = ?1 AND message.session <> ?2"
            if channel:
                values.append(channel)
                where += " AND message.channel = ?3"
            if after is not None:
                where += f" AND message.id > {int(after)}"
            else:
                where += " AND message.id > coalesce(seen.last, 0)"
            rows = db.execute(
                f"""SELECT message.id, message.channel, message.text, message.by, message.stranger
                FROM board_messages AS message LEFT JOIN board_reads AS seen
                ON seen.board = message.board AND seen.session = ?2
                AND seen.channel = message.channel
                WHERE {where} ORDER BY message.id LIMIT {MOST_READ}""",
                values,
            ).fetchall()
            found = [BoardMessage(*row) for row in rows]
            db.executemany(
                """INSERT INTO board_reads VALUES (?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET last = max(last, excluded.last)""",
                [(values[0], reader, one.channel, one.number) for one in found],
            )
            return found

        return await self._db.write(write)

    async def last_messages(self, root: Caller, most: int) -> list[BoardMessage]:
        """The last messages of all channels, for the person, the newest last."""

        def read(db: Connection) -> list[BoardMessage]:
            rows = db.execute(
                """SELECT id, channel, text, by, stranger FROM board_messages WHERE board = ?
                ORDER BY id DESC LIMIT ?""",
                (_known(db, root), most),
            ).fetchall()
            return [BoardMessage(*row) for row in reversed(rows)]

        return await self._db.read(read)

    async def wait_for_messages(
        self, root: Caller, reader: str, channel: str, seconds: float
    ) -> list[BoardMessage]:
        """The same, or the first that come within some seconds."""
        loop, news = asyncio.get_running_loop(), asyncio.Event()
        end = loop.time() + seconds
        waiting = self._waiting.setdefault(root, set())
        waiting.add(news)
        try:
            # Only the waiting is cut short: what is taken is marked as read, and must be returned.
            while not (found := await self.take_messages(root, reader, channel)):
                if (left := end - loop.time()) <= 0:
                    break
                with suppress(TimeoutError):
                    await asyncio.wait_for(news.wait(), left)
                news.clear()
            return found
        finally:
            waiting.discard(news)
            if not waiting:
                self._waiting.pop(root, None)

    # Tasks

    async def tasks(self, root: Caller) -> list[BoardTask]:
        """All tasks, in the order in which they were added."""
        return await self._db.read(lambda db: _tasks(db, _known(db, root)))

    async def add_task(self, root: Caller, text: str, author: BoardAuthor) -> BoardTask:
        """Add a task; or return the same one, where the call that added it was broken off."""

        def write(db: Connection) -> BoardTask:
            board, words = _board(db, root), sanitise_text(text)
            row = db.execute(
                f"""UPDATE board_tasks SET owner = ?1, call = ?2 WHERE board = ?3 AND number = (
                SELECT min(number) FROM board_tasks made WHERE board = ?3 AND session = ?4
                AND text = ?5 AND {_BROKEN_OFF}) RETURNING {_TASK}""",
                (self._db.owner, author.call, board, author.session, words),
            ).fetchone()
            if row is not None:
                return BoardTask(*row)
            query = "SELECT coalesce(max(number), 0) + 1 FROM board_tasks WHERE board = ?"
            number = int(db.execute(query, (board,)).fetchone()[0])
            values = (board, number, words, author.stranger, author.session, author.call)
            query = """INSERT INTO board_tasks (board, number, text, stranger, session, call, owner)
                VALUES (?, ?, ?, ?, ?, ?, ?)"""
            db.execute(query, (*values, self._db.owner))
            return BoardTask(number, text, stranger=author.stranger)

        return await self._db.write(write)

    async def take_task(self, root: Caller, number: int, author: BoardAuthor) -> BoardTask | None:
        """Take a task that nobody works on, 0 for the oldest; None if there is none, or not it."""

        def write(db: Connection) -> BoardTask | None:
            board = _board(db, root)
            row = db.execute(
                f"""UPDATE board_tasks SET state = 'taken', taker = ?1, taken_in = ?2
                WHERE board = ?3 AND number = (SELECT min(number) FROM board_tasks
                    WHERE board = ?3 AND ?4 IN (0, number) AND {_FREE})
                RETURNING {_TASK}""",
                (author.agent, author.session, board, number),
            ).fetchone()
            return BoardTask(*row) if row is not None else None

        return await self._db.write(write)

    async def end_task(
        self, root: Caller, number: int, result: str, author: BoardAuthor, *, done: bool = True
    ) -> BoardTask | None:
        """Say that a task is done, or give it back; None if the session does not have it."""

        def write(db: Connection) -> BoardTask | None:
            row = db.execute(
                f"""UPDATE board_tasks SET state = ?1, result = ?2,
                taken_in = CASE WHEN ?1 = 'done' THEN taken_in ELSE '' END,
                taker = CASE WHEN ?1 = 'done' THEN taker ELSE '' END,
                stranger = CASE WHEN stranger = '' THEN ?3 ELSE stranger END
                WHERE board = ?4 AND number = ?5 AND state = 'taken' AND taken_in = ?6
                RETURNING {_TASK}""",
                (
                    *("done" if done else "open", sanitise_text(result), author.stranger),
                    *(_board(db, root), number, author.session),
                ),
            ).fetchone()
            return BoardTask(*row) if row is not None else None

        return await self._db.write(write)


def _root(db: Connection, caller: Caller) -> Caller:
    while True:
        query = f"SELECT caller_kind, caller FROM {caller.kind}s WHERE id = ?"
        row = db.execute(query, (caller.id,)).fetchone()
        if row is None or not row[1]:
            return caller
        caller = Caller(*row)


def _known(db: Connection, root: Caller) -> int:
    """The number of a board, 0 if there is none yet."""
    query = f"SELECT id FROM boards WHERE {root.kind}_id = ?"
    row = db.execute(query, (root.id,)).fetchone()
    return int(row[0]) if row is not None else 0


def _board(db: Connection, root: Caller) -> int:
    """The number of a board, which is made if there is none."""
    query = f"INSERT OR IGNORE INTO boards ({root.kind}_id) VALUES (?)"
    db.execute(query, (root.id,))
    return _known(db, root)


def _entry(db: Connection, board: int, key: str) -> BoardEntry | None:
    query = """SELECT key, version, text, by, stranger FROM board_entries
        WHERE board = ? AND key = ?"""
    row = db.execute(query, (board, key)).fetchone()
    return BoardEntry(*row) if row is not None else None


def _tasks(db: Connection, board: int) -> list[BoardTask]:
    query = f"SELECT {_TASK} FROM board_tasks WHERE board = ? ORDER BY number"
    return [BoardTask(*row) for row in db.execute(query, (board,))]
