"""Remote approvals: ask the person in an open window, for a program without one (T-7).

The server, a command of a cron job: they store their question here and wait; an
open window finds it and stores the answer. Nothing but the person's answer is
ever a yes: without a window, after ``PATIENCE``, with a database that fails, it
is a no.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from sqlite3 import Connection
from typing import Any, TypeVar, cast, get_args

from studio.domain.codec import decode, encode
from studio.domain.errors import StorageError
from studio.domain.jsonvalue import JsonObject
from studio.domain.ledger import canonical_json
from studio.domain.permissions import Answer, Question
from studio.domain.redaction import without_secrets
from studio.domain.sessions import Origin
from studio.storage.database import Database

from .change_notifier import ChangeNotifier

T = TypeVar("T")

PATIENCE = 600.0
"""Seconds after which a question that nobody answered is answered with no."""
EVERY = 0.1
"""Seconds between two looks for the answer, only while one waits."""


@dataclass(frozen=True, slots=True)
class RemoteQuestion:
    """A question of another program that waits for the person.

    ``through`` is the door of the program that asks. ``title``, ``agent`` and
    ``folder`` are the session's, empty where it is not stored. ``whole`` is False
    as long as the question lacks what looks like a secret: the whole one is the
    session's own, stored a moment after. ``asked`` is in seconds since the epoch.
    """

    id: str
    session_id: str
    through: Origin
    title: str
    agent: str
    folder: str
    question: Question
    whole: bool
    asked: float


class RemoteApprovals:
    """Tables ``windows`` and ``questions``. Coroutines raise StorageError but where they say no."""

    def __init__(self, database: Database, folder: Path) -> None:
        """``folder`` is where programs ring for each other, see ``ChangeNotifier``."""
        self._db = database
        self.notifier = ChangeNotifier(folder, lambda: database.owner)

    # A program without a window

    async def has_window(self) -> bool:
        """Whether a window is open in which the person can answer."""
        rows = await self._db.read(lambda db: db.execute("SELECT owner FROM windows").fetchall())
        return bool(await self._db.alive({str(row[0]) for row in rows}))

    async def ask(
        self, session_id: str, question: Question, *, through: Origin = "server"
    ) -> Answer | None:
        """Ask in the window and wait for the answer.

        None, which is no yes, when there is no window or none any more, after
        ``PATIENCE``, and where the database fails. Cancelled, the question is withdrawn.
        """
        asked = uuid.uuid4().hex
        shown = _shown(question)
        body = canonical_json(cast("JsonObject", encode(shown)))
        hidden = (shown.title, shown.detail) != (question.title, question.detail)
        row = (
            asked, self._db.owner, session_id, question.id, through, body, not hidden, time.time()
        )  # fmt: skip
        try:
            if not await self.has_window():
                return None
            try:
                await self._ringing(
                    lambda db: (
                        db.execute(
                            "INSERT INTO questions VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)", row
                        )
                        and None
                    )
                )
                return await self._answered(asked)
            finally:
                await self._ringing(
                    lambda db: db.execute("DELETE FROM questions WHERE id = ?", (asked,)) and None
                )
        except StorageError:
            return None

    async def _answered(self, asked: str) -> Answer | None:
        query = "SELECT answer FROM questions WHERE id = ?"
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            row = await self._db.read(lambda db: db.execute(query, (asked,)).fetchone())
            if row is None:
                break
            if row[0] is not None:
                return row[0] if row[0] in get_args(Answer) else "deny"
            if not await self.has_window():
                break
            await asyncio.sleep(EVERY)
        return None

    # The window

    async def register(self) -> None:
        """From now on this program is a window; what ended programs left behind goes."""
        owner = self._db.owner
        rows = await self._db.read(
            lambda db: db.execute(
                "SELECT owner FROM windows UNION SELECT owner FROM questions"
            ).fetchall()
        )
        rang = await asyncio.to_thread(self.notifier.names)
        gone = ({str(row[0]) for row in rows} | rang) - {owner}
        gone -= await self._db.alive(gone)

        def write(db: Connection) -> None:
            db.execute("INSERT OR IGNORE INTO windows VALUES (?)", (owner,))
            for name in gone:
                db.execute("DELETE FROM windows WHERE owner = ?", (name,))
                db.execute("DELETE FROM questions WHERE owner = ?", (name,))

        await self._db.write(write)
        await asyncio.to_thread(self.notifier.forget, gone & rang)

    async def waiting(self) -> list[RemoteQuestion]:
        """The questions that nobody has answered yet, the first one asked first."""
        rows = await self._db.read(_waiting)
        alive = await self._db.alive({str(row[0]) for row in rows})
        return [one for row in rows if row[0] in alive and (one := _asked(row)) is not None]

    async def answer(self, asked: str, answer: Answer) -> bool:
        """Whether it still waited; what was answered once stays answered."""
        query = "UPDATE questions SET answer = ? WHERE id = ? AND answer IS NULL"
        return await self._db.write(lambda db: db.execute(query, (answer, asked)).rowcount > 0)

    def _ringing(self, work: Callable[[Connection], T]) -> asyncio.Future[T]:
        """Write, and ring when it is written, even if nobody waits for it any more."""
        future = self._db.submit(work)
        future.add_done_callback(lambda _: self.notifier.notify())
        return asyncio.shield(asyncio.wrap_future(future))


def _shown(question: Question) -> Question:
    """The question without secrets; from elsewhere only this one call is allowed."""
    return replace(
        question,
        title=without_secrets(question.title),
        detail=without_secrets(question.detail),
        reason=without_secrets(question.reason),
        why=without_secrets(question.why),
        facts=tuple((name, without_secrets(text)) for name, text in question.facts),
        always=(),
        covers=(),
    )


def _waiting(db: Connection) -> list[tuple[Any, ...]]:
    return db.execute(
        """SELECT q.owner, q.id, q.session_id, q.through, coalesce(s.title, ''),
        coalesce(s.agent, ''), coalesce(s.folder, ''), q.body, q.whole, q.asked,
        (SELECT json_array(a.title, a.detail) FROM approvals a WHERE a.session_id = q.session_id
        AND a.question_id = q.question_id AND a.resolved IS NULL ORDER BY a.id DESC LIMIT 1)
        FROM questions q LEFT JOIN sessions s ON s.id = q.session_id
        WHERE q.answer IS NULL ORDER BY q.rowid"""
    ).fetchall()


def _asked(row: tuple[Any, ...]) -> RemoteQuestion | None:
    """A row as a question; None if it cannot be read, and then nobody says yes to it."""
    _, asked, session_id, through, title, agent, folder, body, whole, at, own = row
    try:
        question = cast("Question", decode(Question, json.loads(body)))
        if not whole and own is not None:
            # What asks for a right is shown whole: the session's own record has all of it.
            heading, detail = json.loads(own)
            question, whole = replace(question, title=heading, detail=detail), True
    except (ValueError, TypeError, RecursionError):
        return None
    door: Origin = through if through in get_args(Origin) else "server"
    return RemoteQuestion(asked, session_id, door, title, agent, folder, question, bool(whole), at)
