"""Unsent messages: what is written in a chat and not sent yet, kept through quits and kills."""

from __future__ import annotations

import json
from collections.abc import Sequence
from sqlite3 import Connection
from typing import TypeAlias

from studio.domain.codec import decode, encode
from studio.domain.messages import File, Image
from studio.domain.records import dataclass
from studio.storage.database import Database

NEW_CHAT = ""
"""In place of a session's id: the chat that has not begun."""
ABOUT = "about "
"""Begins what stands in place of a session's id for one about a thing of a pack."""

NamedFile: TypeAlias = tuple[str, Image | File]
"""An attached file under the name that the person sees."""


@dataclass(frozen=True, slots=True)
class UnsentMessage:
    """A message that is being written.

    ``caret`` is its place in UTF-16 units; ``replaces`` is the turn whose message it is
    edited from, empty for a new one.
    """

    text: str = ""
    caret: int = 0
    replaces: str = ""
    files: Sequence[NamedFile] = ()


class UnsentMessages:
    """One message for each chat, deleted with it. Every coroutine raises StorageError."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def get(self, chat: str) -> UnsentMessage:
        """The message of a session or of ``NEW_CHAT``; an empty one if there is none.

        A file that cannot be read any more is left out.
        """

        def read(db: Connection) -> UnsentMessage:
            query = "SELECT text, caret, replaces FROM unsent WHERE chat = ?"
            text, caret, replaces = db.execute(query, (chat,)).fetchone() or ("", 0, "")
            query = "SELECT name, body FROM unsent_files WHERE chat = ? ORDER BY seq"
            files: list[NamedFile] = []
            for name, body in db.execute(query, (chat,)):
                try:
                    (block,) = decode(tuple[Image | File, ...], json.loads(body))
                    files.append((name, block))
                except ValueError:
                    continue
            return UnsentMessage(text, caret, replaces, files)

        return await self._db.read(read)

    async def put_text(self, chat: str, message: UnsentMessage) -> None:
        """Store all but the files; nothing if the session was deleted.

        A text with what looks like a key, a token or a password is not stored: the database
        does not overwrite what is deleted.
        """
        from studio.domain.redaction import holds_secret

        def write(db: Connection) -> None:
            db.execute("DELETE FROM unsent WHERE chat = ?", (chat,))
            keeps = bool(message.text or message.replaces) and not holds_secret(message.text)
            if keeps and _is_there(db, chat):
                values = (chat, message.text, message.caret, message.replaces)
                db.execute("INSERT INTO unsent VALUES (?, ?, ?, ?)", values)

        await self._db.write(write)

    async def put_files(self, chat: str, files: Sequence[NamedFile]) -> None:
        """Store the files, in this order, in place of those that were there."""

        def write(db: Connection) -> None:
            db.execute("DELETE FROM unsent_files WHERE chat = ?", (chat,))
            for seq, (name, block) in enumerate(files if _is_there(db, chat) else ()):
                body = json.dumps(encode([block]))
                db.execute("INSERT INTO unsent_files VALUES (?, ?, ?, ?)", (chat, seq, name, body))

        await self._db.write(write)


def _is_there(db: Connection, chat: str) -> bool:
    query = "SELECT 1 FROM sessions WHERE id = ?"
    return (
        chat == NEW_CHAT
        or chat.startswith(ABOUT)
        or db.execute(query, (chat,)).fetchone() is not None
    )
