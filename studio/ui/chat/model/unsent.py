"""Unsent messages: what is written in each chat and not sent yet, in memory and in the database.

The message of a chat stays with it: it is there again when the chat is shown again, and
after the program was quit or killed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from studio.domain.errors import StudioError
from studio.domain.records import dataclass

from .attachments import Attachment

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.agent.engine import Engine
    from studio.storage.sessions.unsent import NamedFile, UnsentMessage

SAVE_SECONDS = 0.15
"""How long a change waits for others, to be stored together with them."""


def new_chat(window: int, subject: str = "") -> str:
    """What stands for the id of the chat that has not begun, in a window by its number.

    A chat about a thing of a pack has a message of its own: what was written about one is not
    sent in a chat about another.
    """
    if subject:
        from studio.storage.sessions.unsent import ABOUT

        return f"{ABOUT}{subject}"
    return f"new {window}" if window else ""


@dataclass(frozen=True, slots=True)
class WrittenMessage:
    """See ``UnsentMessage``; the files may still be being read.

    ``beneath`` is what was being written when an earlier message was taken to be edited. It is
    what is stored: the earlier message is in the chat.
    """

    text: str = ""
    caret: int = 0
    replaces: str = ""
    attachments: Sequence[Attachment] = ()
    beneath: WrittenMessage | None = None

    @property
    def files(self) -> list[NamedFile]:
        return [(one.name, one.block) for one in self.attachments if one.block is not None]


class UnsentBuffer:
    """Keeps a message for each chat by its id, for all windows.

    Each window has a new chat of its own, see ``new_chat``.
    """

    def __init__(self, run: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any] | None]) -> None:
        """``run`` runs a coroutine as a task, as long as the program does not end."""
        self._run = run
        self.engine: Engine | None = None
        """None until the program has loaded what it needs."""
        self.listeners: list[Callable[[str], None]] = []
        """Called with a chat whose message is another one: two windows may show that chat."""
        self._kept: dict[str, WrittenMessage] = {}
        self._stored: dict[str, UnsentMessage] = {}
        """What the database has, for the chats whose message was read from it."""
        self._saving: asyncio.Task[None] | None = None
        self._changed = False
        """Whether something was noted since the last save began."""

    def keep(self, chat: str, message: WrittenMessage) -> None:
        """Note what is written in a chat, and store it soon."""
        self._kept[chat] = message
        self._changed = True
        if self.engine is not None and (self._saving is None or self._saving.done()):
            self._saving = self._run(self._save_soon())
        for listener in tuple(self.listeners):
            listener(chat)

    def kept(self, chat: str) -> WrittenMessage:
        """What is known to be written in a chat."""
        return self._kept.get(chat) or WrittenMessage()

    async def load(self, chat: str) -> UnsentMessage | None:
        """What an earlier run of the program stored for a chat; None from the second call on."""
        engine = self.engine
        if engine is None or chat in self._stored:
            return None
        found = await engine.store.unsent.get(chat)
        if chat in self._stored:
            return None
        self._stored[chat] = found
        return found

    async def _save_soon(self) -> None:
        while self._changed:  # also while the last save was being written
            await asyncio.sleep(SAVE_SECONDS)
            with suppress(StudioError):  # a full disk is told when something is sent
                await self.save()

    async def save(self) -> None:
        """Store what has changed; raises StorageError."""
        from studio.storage.sessions.unsent import UnsentMessage

        self._changed = False
        if (engine := self.engine) is None:
            return
        for chat, message in list(self._kept.items()):
            if (stored := self._stored.get(chat)) is None:
                continue  # it is still being read; then this is called again
            message = message.beneath or message
            now = UnsentMessage(message.text, message.caret, message.replaces, message.files)
            if now == stored:
                continue
            if now.files != stored.files:
                await engine.store.unsent.put_files(chat, now.files)
            if (now.text, now.caret, now.replaces) != (stored.text, stored.caret, stored.replaces):
                await engine.store.unsent.put_text(chat, now)
            self._stored[chat] = now
