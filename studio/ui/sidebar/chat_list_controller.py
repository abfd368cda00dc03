"""Keeps the sidebar's list of chats up to date with the stored chats."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QAbstractItemView

from .sidebar import Sidebar

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.domain.events import Event
    from studio.domain.sessions import SessionInfo

SOON = 60
"""Milliseconds that a change waits for others."""
AGAIN = 2000
"""Milliseconds between two looks while another program works in a chat: it may be killed."""


class ChatListController(QObject):
    """Fills the sidebar: its chats, its search, its counts.

    ``later`` runs a coroutine on the event loop; ``listed`` is called each time
    the rows are new.
    """

    ended = Signal()
    """Another program no longer works in a chat; it may have ended without a word."""

    def __init__(
        self,
        sidebar: Sidebar,
        later: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any] | None],
        listed: Callable[[], None],
    ) -> None:
        super().__init__(sidebar)
        self._sidebar, self._later, self._listed = sidebar, later, listed
        self.studio: Engine | None = None
        self._search: asyncio.Task[Any] | None = None
        self._one_by_one = asyncio.Lock()
        self._timer = self._single(SOON, lambda: self._later(self.refresh()))
        self._again = self._single(AGAIN, lambda: self._later(self.refresh()))
        self._elsewhere: set[str] = set()
        """The chats in which another program works."""
        sidebar.search.connect(self._searched)

    def _single(self, wait: int, due: Callable[[], object]) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(wait)
        timer.timeout.connect(due)
        return timer

    def schedule_refresh(self) -> None:
        """Show changes of the chats; many in a row at once, and none waits for the next."""
        if not self._timer.isActive():
            self._timer.start()

    def stop(self) -> None:
        self._timer.stop()
        self._again.stop()

    async def refresh(self) -> None:
        """Show the chats as they are; one look at a time, so that none shows older news."""
        async with self._one_by_one:
            if self._sidebar.chats.state() == QAbstractItemView.State.EditingState:
                self.schedule_refresh()  # a title is being typed: do not take it away
            elif self.studio is not None:
                await self._list(self.studio)

    async def _list(self, studio: Engine) -> None:
        agents = await studio.agents()
        looks = {agent.name: (agent.icon, agent.hue) for agent in agents.by_name.values()}
        infos = await studio.sessions.list()
        self._sidebar.set_sessions(infos, looks)
        self._sidebar.set_drafts(len(await studio.store.drafts()))
        self._sidebar.set_cost(await studio.books.today())
        self._listed()
        await self._look_elsewhere(studio, infos)

    async def _look_elsewhere(self, studio: Engine, infos: list[SessionInfo]) -> None:
        """Look again while other programs work; nothing is looked for while none does."""
        busy = [info.id for info in infos if info.state in ("running", "waiting")]
        before = self._elsewhere
        self._elsewhere = {one for one in busy if await studio.store.running_elsewhere(one)}
        if self._elsewhere:
            self._again.start()
        else:
            self._again.stop()
        if before - self._elsewhere:
            self.ended.emit()

    async def last(self) -> tuple[str, str] | None:
        """Id and title of the chat that was used last."""
        assert self.studio is not None
        infos = await self.studio.sessions.list()
        return next(((info.id, info.title) for info in infos if info.title), None)

    async def waiting(self) -> str | None:
        """The id of the next chat that waits for the person."""
        assert self.studio is not None
        infos = await self.studio.sessions.list()
        return next((info.id for info in infos if info.state == "waiting"), None)

    def on_event(self, event: Event) -> None:
        """Something happened in a chat: its row may say so."""
        from studio.domain import events

        if isinstance(
            event,
            events.TurnStarted
            | events.AwaitingPermission
            | events.AwaitingReply
            | events.PermissionResolved
            | events.ReplyGiven
            | events.DraftCreated
            | events.DraftResolved
            | events.TurnComplete,
        ):
            self.schedule_refresh()

    def _searched(self, text: str) -> None:
        if self._search is not None:
            self._search.cancel()
        self._search = self._later(self._find(text))

    async def _find(self, text: str) -> None:
        if self.studio is not None and text.strip():
            self._sidebar.set_hits(await self.studio.sessions.search(text))
