"""Folder trust: whether the person has to be asked about the chat's folder (T-7)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from .open_chat import Change, OpenChat
from .session_options import SessionOptions

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.agent.permission.rules import Trust, TrustOffer


class FolderTrust:
    """Reads the folder's rules and agents, and remembers what the person put off."""

    def __init__(self, chat: OpenChat, options: SessionOptions) -> None:
        self._chat, self._options = chat, options
        self._task: asyncio.Task[None] | None = None
        self._stale = False
        """Whether what the task reads may have changed since it began."""
        self.folder = ""
        """The folder that was read last."""
        self._found: Trust = "nothing"
        self.offer: TrustOffer | None = None
        """What the person would trust; None until the folder has something to trust."""
        self._put_off: set[tuple[str, Trust]] = set()
        chat.subscribe(self._changed, "chat", "options")

    def _changed(self, change: Change) -> None:
        if change.part == "chat":
            self._put_off.clear()
        else:
            self.refresh()

    @property
    def question(self) -> Trust:
        """What to ask about: files that were never trusted, or that changed since."""
        here = self.folder == self._options.folder
        if not here or self._found == "trusted" or (self.folder, self._found) in self._put_off:
            return "nothing"
        return self._found

    def refresh(self) -> None:
        """Read again what is in the folder."""
        self._stale = True
        if self._chat.engine is not None and (self._task is None or self._task.done()):
            self._task = self._chat.run(self._refresh())

    async def _refresh(self) -> None:
        engine = self._chat.engine
        assert engine is not None
        folder, found, offer = "", self._found, self.offer
        while self._stale:
            self._stale = False
            folder = self._options.folder
            found = await engine.rules.trusted(Path(folder)) if folder else "nothing"
            asks = found in ("untrusted", "changed")
            offer = await engine.trust_offer(Path(folder)) if asks else None
            self._stale = self._stale or folder != self._options.folder
        self.offer = offer
        if (folder, found) != (self.folder, self._found):
            self.folder, self._found = folder, found
            self._chat.notify("status")

    def put_off(self) -> None:
        """Ask no more as long as this chat is on screen."""
        self._put_off.add((self.folder, self._found))
        self._chat.notify("status")

    def trust(self, folder: str, digest: str = "") -> None:
        """Trust the folder as it is now, or with the files of a ``TrustOffer``."""
        self._chat.run(self._trust(folder, digest))

    async def _trust(self, folder: str, digest: str) -> None:
        assert self._chat.engine is not None
        await self._chat.engine.rules.trust(Path(folder), digest)
        self._options.load_agents()  # they may bring more now
        self.refresh()
