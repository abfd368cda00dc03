"""Board: lets agents of one run or chat share texts, messages and tasks (W-40).

Whose board it is follows from the session alone: that of what began its tree. Words that an agent
wrote after it had read strangers' ones count as strangers' for whoever reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from studio.agent.permission.exfiltration_guard import ExfiltrationGuard
from studio.domain.boards import (
    BoardAuthor,
    BoardEntry,
    BoardMessage,
    BoardOverview,
    BoardTask,
)
from studio.domain.errors import NothingRead
from studio.domain.sessions import Caller
from studio.storage.boards import BoardStore
from studio.tools import Result
from studio.tools.sdk.result import plural

LONGEST = 20_000
"""Characters of a text, a message or a task."""
MOST_KEYS = 500
MOST_OPEN = 1_000
"""Tasks that are not done."""
LONGEST_LINE = 200
MOST_TOLD = 30
"""Tasks that are told unasked."""
SOURCE = "note on the board"
WROTE = ("the agent",)
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,59}")


class SessionBoard:
    """The board of the tree of one session, as a call of its agent reads and writes it."""

    def __init__(
        self,
        store: BoardStore,
        session_id: str,
        agent: str,
        guard: ExfiltrationGuard,
        call_id: str,
    ) -> None:
        self._store, self._guard = store, guard
        self._session, self._agent, self._call = session_id, agent, call_id

    async def read(self, key: str) -> Result:
        root = await self._root()
        if not key:
            found = await self._store.overview(root)
            strangers = [one.stranger for one in (*found.entries, *found.tasks)]
            shown = len(found.entries) + len(found.tasks)
            return _result(_overview(found), plural(shown, "entry", "entries"), strangers)
        entry = await self._store.entry(root, key)
        if entry is None:
            raise NothingRead(f"There is no {key} on the board. Read it without a key to see all.")
        return _result(_text(entry), f"version {entry.version}", [entry.stranger])

    async def write(self, key: str, text: str, version: int) -> Result:
        _require_name("key", key)
        _require_size(text)
        root, author = await self._root(), self._author
        if version == 0 and len((await self._store.overview(root)).entries) >= MOST_KEYS:
            raise NothingRead(f"The board has {MOST_KEYS} keys, and no room for more.")
        written, now = await self._store.write(root, key, text, version, author)
        if written:
            told = f"{key} has version {now.version}." if now is not None else f"{key} is gone."
            return Result(told, "", WROTE)
        if now is None:
            told = (
                f"Nothing is written: there is no {key} any more. For a new one the version is 0."
            )
            return Result(told, "changed meanwhile", WROTE, is_error=True)
        told = (
            f"Nothing is written: {key} was changed. Put your words and these together, and write "
            f"again with version {now.version}.\n\n{_text(now)}"
        )
        return _result(told, "changed meanwhile", [now.stranger], is_error=True)

    async def post(self, channel: str, text: str) -> Result:
        _require_name("channel", channel)
        _require_words(text)
        number = await self._store.post(await self._root(), channel, text.strip(), self._author)
        return Result(f"Message {number} is posted to {channel}.", "", WROTE)

    async def inbox(self, channel: str, seconds: float, after: int | None) -> Result:
        root = await self._root()
        if after is not None:
            found = await self._store.take_messages(root, self._session, channel, after)
        else:
            found = await self._store.wait_for_messages(root, self._session, channel, seconds)
        text = "\n\n".join(map(_message, found)) or "There is no new message."
        count = plural(len(found), "message")
        return _result(text, count, [one.stranger for one in found])

    async def add_task(self, text: str) -> Result:
        _require_words(text)
        root = await self._root()
        open_ones = sum(one.state != "done" for one in await self._store.tasks(root))
        if open_ones >= MOST_OPEN:
            raise NothingRead(f"{MOST_OPEN:,} tasks are open: have some done before you add one.")
        task = await self._store.add_task(root, text.strip(), self._author)
        return Result(f"Task {task.number} is added.", f"task {task.number}", WROTE)

    async def take_task(self, number: int) -> Result:
        root = await self._root()
        task = await self._store.take_task(root, number, self._author)
        if task is not None:
            told = f"Task {task.number} is yours until you say that it is done:\n{task.text}"
            told += f"\n\nOf it was said: {task.result}" if task.result else ""
            return _result(told, f"task {task.number}", [task.stranger])
        tasks = await self._store.tasks(root)
        if not number:
            busy = sum(one.state == "taken" for one in tasks)
            more = f" Others work on {plural(busy, 'task')}." if busy else ""
            return Result(f"There is no open task.{more}", "none", WROTE)
        raise NothingRead(_why_not(tasks, number))

    async def end_task(self, number: int, result: str, *, done: bool) -> Result:
        _require_size(result)
        root = await self._root()
        task = await self._store.end_task(root, number, result.strip(), self._author, done=done)
        if task is None:
            tasks = await self._store.tasks(root)
            mine = f"Task {number} is open: take it first."
            is_open = any(one.number == number and one.state == "open" for one in tasks)
            raise NothingRead(mine if is_open else _why_not(tasks, number))
        told = "done" if done else "open again"
        return Result(f"Task {number} is {told}.", told, WROTE)

    async def _root(self) -> Caller:
        return await self._store.root_of(Caller("session", self._session))

    @property
    def _author(self) -> BoardAuthor:
        stranger = self._guard.exposed.get("untrusted", "")
        return BoardAuthor(self._session, self._agent, stranger, self._call)


def told_tasks(tasks: Iterable[BoardTask]) -> list[str]:
    """The tasks that are not done, as an agent is told them unasked: no strangers' words."""
    left = [one for one in tasks if one.state != "done"]
    told = [
        f"task {one.number}: "
        + ("strangers’ words went into it, see board_read" if one.stranger else _line(one.text))
        for one in left[:MOST_TOLD]
    ]
    more = len(left) - len(told)
    return [*told, f"{more:,} more, see board_read"] if more else told


def _result(text: str, summary: str, strangers: Iterable[str], *, is_error: bool = False) -> Result:
    stranger = next(filter(None, strangers), "")
    source = f"{SOURCE}, after {stranger}" if stranger else SOURCE
    return Result(text, summary, (source,), is_error=is_error, untrusted=bool(stranger))


def _overview(found: BoardOverview) -> str:
    parts: list[str] = []
    if found.entries:
        lines = (f"- {one.key}, version {one.version}: {_line(one.text)}" for one in found.entries)
        parts.append("Texts:\n" + "\n".join(lines))
    if open_ones := [one for one in found.tasks if one.state != "done"]:
        lines = (
            f"- {one.number}{f', {one.taker} works on it' if one.taker else ''}: {_line(one.text)}"
            for one in open_ones
        )
        parts.append("Tasks:\n" + "\n".join(lines))
    if done := [one for one in found.tasks if one.state == "done"]:
        lines = (f"- {one.number}: {_line(one.result or one.text)}" for one in done[-20:])
        parts.append(f"Done, {len(done)} in all:\n" + "\n".join(lines))
    return "\n\n".join(parts) or "There is nothing on the board."


def _text(entry: BoardEntry) -> str:
    return f"{entry.key}, version {entry.version}, by {entry.by}:\n{entry.text}"


def _message(one: BoardMessage) -> str:
    return f"Message {one.number} by {one.by} to {one.channel}:\n{one.text}"


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"


def _why_not(tasks: Iterable[BoardTask], number: int) -> str:
    task = next((one for one in tasks if one.number == number), None)
    if task is None:
        return f"There is no task {number}."
    if task.state == "done":
        return f"Task {number} is done already, by {task.taker}."
    return f"{task.taker or 'Another agent'} works on task {number}."


def _require_name(what: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise NothingRead(
            f"“{what}” must have small letters, digits, -, _ and . only, 60 at most, not {name!r}."
        )


def _require_words(text: str) -> None:
    if not text.strip():
        raise NothingRead("The text is empty.")
    _require_size(text)


def _require_size(text: str) -> None:
    if len(text) > LONGEST:
        raise NothingRead(f"A text has {LONGEST:,} characters at most; this has {len(text):,}.")
