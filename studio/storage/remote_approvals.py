"""Remote approvals: ask the person in an open window, for a program without one (T-7).

The server, or a command of a cron job, stores its question in the database and waits. An
open window shows the question and stores the answer. Only the person's answer can be a yes:
without a window, after ``TIMEOUT`` or with a database that fails, the answer is no.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from sqlite3 import Connection
from typing import Any, TypeVar, cast, get_args

from studio.domain.codec import decode, encode
from studio.domain.errors import StorageError
from studio.domain.jsonvalue import JsonObject
from studio.domain.ledger import canonical_json
from studio.domain.permissions import Answer, Question
from studio.domain.records import dataclass
from studio.domain.redaction import without_secrets
from studio.domain.sessions import Origin
from studio.files.folders import private_folder

from .database import Database

T = TypeVar("T")

NOTIFY_DELAY = 0.3
"""Seconds until ``notify_soon`` notifies: by then a chat's events are on the disk."""
TIMEOUT = 600.0
"""Seconds after which a question that nobody answered is answered with no."""
POLL_INTERVAL = 0.1
"""Seconds between two reads of the answer, while a question waits."""
_WAITING = """SELECT q.owner, q.id, q.session_id, q.through, coalesce(s.title, ''),
    coalesce(s.agent, ''), coalesce(s.folder, ''), q.body, q.whole, q.asked,
    (SELECT json_array(a.title, a.detail) FROM approvals a WHERE a.session_id = q.session_id
    AND a.question_id = q.question_id AND a.resolved IS NULL ORDER BY a.id DESC LIMIT 1)
    FROM questions q LEFT JOIN sessions s ON s.id = q.session_id
    WHERE q.answer IS NULL ORDER BY q.rowid"""


class ChangeNotifier:
    """Tells other programs with the same data that something has changed.

    Each program has one file in a private folder, and replaces it to notify the others. They
    watch the folder, which costs nothing while nothing changes. ``name`` returns this
    program's name, unique among all that share the folder; empty as long as it has none.
    """

    def __init__(self, folder: Path, name: Callable[[], str]) -> None:
        self.folder = folder
        self._name = name
        self._known: dict[str, tuple[int, int]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def notify(self) -> None:
        """Notify at once; a full disk notifies nobody. Blocks for a moment: use a thread."""
        name = self._name()
        if not name:
            return
        with suppress(OSError):
            new = private_folder(self.folder) / f".{name}"
            os.close(os.open(new, os.O_CREAT | os.O_WRONLY, 0o600))
            new.replace(self.folder / name)

    def notify_soon(self) -> None:
        """Notify once, ``NOTIFY_DELAY`` after the first call; on the event loop's thread."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(NOTIFY_DELAY, self._due)

    def _due(self) -> None:
        self._timer = None
        asyncio.get_running_loop().run_in_executor(None, self.notify)

    def poll(self) -> bool:
        """Whether another program has notified since the last call. Blocks for a moment."""
        found: dict[str, tuple[int, int]] = {}
        with suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    facts = entry.stat(follow_symlinks=False)
                    found[entry.name] = (facts.st_ino, facts.st_mtime_ns)
        own, known, self._known = self._name(), self._known, found
        others = {name for name in found if name != own and not name.startswith(".")}
        return any(found[name] != known.get(name) for name in others)

    def names(self) -> set[str]:
        """The programs that have a file here, also ended ones; makes the folder. Blocks."""
        with suppress(OSError):
            found = private_folder(self.folder).iterdir()
            return {path.name.removeprefix(".") for path in found}
        return set()

    def forget(self, names: Iterable[str]) -> None:
        """Remove the files of programs that have ended. Blocks for a moment."""
        for name in names:
            for path in (self.folder / name, self.folder / f".{name}"):
                with suppress(OSError):
                    path.unlink(missing_ok=True)

    async def aclose(self) -> None:
        """Send a notification that is still due."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            await asyncio.to_thread(self.notify)


@dataclass(frozen=True, slots=True)
class RemoteQuestion:
    """A question of another program that waits for the person.

    ``through`` is the door of the program that asks. ``title``, ``agent`` and
    ``folder`` are the session's, empty where it is not stored. ``whole`` is False
    as long as the question lacks what looks like a secret: the session stores the whole
    question a moment later. ``asked`` is in seconds since the epoch.
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
    """Tables ``windows`` and ``questions``. Coroutines raise StorageError, except ``ask``."""

    def __init__(self, database: Database, folder: Path) -> None:
        """``folder`` holds the files of ``ChangeNotifier``."""
        self._db = database
        self.notifier = ChangeNotifier(folder, lambda: database.owner)

    # A program without a window

    async def has_window(self) -> bool:
        """Whether a window is open in which the person can answer."""
        rows = await self._db.rows("SELECT owner FROM windows")
        return bool(await self._db.alive({str(row[0]) for row in rows}))

    async def ask(
        self,
        session_id: str,
        question: Question,
        *,
        through: Origin = "server",
        seconds: float | None = None,
    ) -> Answer | None:
        """Ask in the window and wait for the answer.

        None, which is no yes, when there is no window or none any more, after
        ``TIMEOUT`` or fewer ``seconds``, and where the database fails. Cancelled, the question is
        withdrawn.
        """
        id_ = uuid.uuid4().hex
        shown = _without_secrets(question)
        body = canonical_json(cast("JsonObject", encode(shown)))
        whole = (shown.title, shown.detail) == (question.title, question.detail)
        row = (id_, self._db.owner, session_id, question.id, through, body, whole, time.time())
        insert = "INSERT INTO questions VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)"
        delete = "DELETE FROM questions WHERE id = ?"
        try:
            if not await self.has_window():
                return None
            try:
                await self._write_and_notify(lambda db: db.execute(insert, row) and None)
                return await self._wait_for_answer(id_, min(TIMEOUT, seconds or TIMEOUT))
            finally:
                await self._write_and_notify(lambda db: db.execute(delete, (id_,)) and None)
        except StorageError:
            return None

    async def _wait_for_answer(self, id_: str, seconds: float) -> Answer | None:
        query = "SELECT answer FROM questions WHERE id = ?"
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            rows = await self._db.rows(query, id_)
            if not rows:
                break
            if (answer := rows[0][0]) is not None:
                return answer if answer in get_args(Answer) else "deny"
            if not await self.has_window():
                break
            await asyncio.sleep(POLL_INTERVAL)
        return None

    # The window

    async def register(self) -> None:
        """Register this program as a window, and remove what ended programs left behind.

        Not in a database that can only be read.
        """
        if self._db.unwritable:
            return
        owner = self._db.owner
        rows = await self._db.rows("SELECT owner FROM windows UNION SELECT owner FROM questions")
        notified = await asyncio.to_thread(self.notifier.names)
        gone = ({str(row[0]) for row in rows} | notified) - {owner}
        gone -= await self._db.alive(gone)

        def write(db: Connection) -> None:
            db.execute("INSERT OR IGNORE INTO windows VALUES (?)", (owner,))
            for name in gone:
                db.execute("DELETE FROM windows WHERE owner = ?", (name,))
                db.execute("DELETE FROM questions WHERE owner = ?", (name,))

        await self._db.write(write)
        await asyncio.to_thread(self.notifier.forget, gone & notified)

    async def waiting(self) -> list[RemoteQuestion]:
        """The questions that nobody has answered yet, oldest first."""
        rows = await self._db.rows(_WAITING)
        alive = await self._db.alive({str(row[0]) for row in rows})
        return [one for row in rows if row[0] in alive and (one := _from_row(row)) is not None]

    async def answer(self, id_: str, answer: Answer) -> bool:
        """Store the answer; False if the question has an answer already or is withdrawn."""
        query = "UPDATE questions SET answer = ? WHERE id = ? AND answer IS NULL"
        return await self._db.execute(query, answer, id_) > 0

    def _write_and_notify(self, work: Callable[[Connection], T]) -> asyncio.Future[T]:
        """Write, and notify once it is written, even if the caller is cancelled."""
        future = self._db.submit(work)
        future.add_done_callback(lambda _: self.notifier.notify())
        return asyncio.shield(asyncio.wrap_future(future))


def _without_secrets(question: Question) -> Question:
    """The question as it is stored: without secrets, and for this one call only."""
    return replace(
        question,
        title=without_secrets(question.title),
        detail=without_secrets(question.detail),
        reason=without_secrets(question.reason),
        why=without_secrets(question.why),
        facts=tuple((name, without_secrets(text)) for name, text in question.facts),
        always=(),
        covers=(),
        warning="",
    )


def _from_row(row: tuple[Any, ...]) -> RemoteQuestion | None:
    """A stored question; None if it cannot be read, and then nobody can allow it."""
    _, id_, session_id, through, title, agent, folder, body, whole, at, own = row
    try:
        question = cast("Question", decode(Question, json.loads(body)))
        if not whole and own is not None:
            # The person must see all of what they allow: the session's record has all of it.
            heading, detail = json.loads(own)
            question, whole = replace(question, title=heading, detail=detail), True
    except (ValueError, TypeError, RecursionError):
        return None
    door: Origin = through if through in get_args(Origin) else "server"
    return RemoteQuestion(id_, session_id, door, title, agent, folder, question, bool(whole), at)
