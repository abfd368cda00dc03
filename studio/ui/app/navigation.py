"""Navigation: which chat a window shows, and how it goes to a new one, another or the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from studio.ui.chat.page import ChatPage
from studio.ui.sidebar.controller import ChatListController
from studio.ui.sidebar.sidebar import Sidebar

from .page_stack import PageStack
from .window_layout import WindowLayout

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.agent.session.session import Session
    from studio.ui.pages.page import Run


class Navigation:
    """The chat that was wanted last is shown, however long others take; none before ``engine``."""

    def __init__(
        self,
        chat: ChatPage,
        pages: PageStack,
        sides: WindowLayout,
        sidebar: Sidebar,
        chat_list: ChatListController,
        later: Run,
    ) -> None:
        self._chat, self._pages, self._sides = chat, pages, sides
        self._sidebar, self._chat_list, self._later = sidebar, chat_list, later
        self.engine: Engine | None = None
        self._opening = 0
        """Counts which chats were wanted."""

    # The chat on screen

    def show_chat(self) -> None:
        """Show the chat that is open, or the new one, with the caret in its message."""
        self._pages.show_chat()
        self._chat.composer.setFocus()

    def open(self, session_id: str, query: str = "", line: str = "") -> None:
        """Show a chat; with ``line`` at that line of it, the words of ``query`` marked."""
        self._opening += 1
        self._later(self._open(session_id, query, line, self._opening))

    async def open_now(self, session_id: str) -> None:
        """Show a chat, and return when it is shown or another was wanted meanwhile."""
        self._opening += 1
        await self._open(session_id, "", "", self._opening)

    async def _open(self, session_id: str, query: str, line: str, opening: int) -> None:
        """``opening`` is the number under which the chat was wanted."""
        if self.engine is None:
            return
        session = await self.engine.sessions.open(session_id)
        if opening != self._opening:
            return
        self._pages.raise_chat()
        self._sides.close_overlays()
        self._chat.model.open(session)
        if line:
            self._chat.show_found(query, line)
        self._pages.mark_chat()
        await self._read(session)

    async def _read(self, session: Session) -> None:
        """The person sees the chat now."""
        if session.info.unread:
            await session.change(unread=False)
            self._chat_list.schedule_refresh()

    def take_about(self, subject: str, agent: str) -> None:
        """Open the chat about a thing of a pack that changed last, or a new one with ``agent``.

        It is not brought on screen: it stands beside the page of that thing. One about it that is
        open already stays.
        """
        self._opening += 1  # also where it stays: another may still be on its way
        self._later(self._take_about(subject, agent, self._opening))

    def open_about(self, subject: str, agent: str) -> None:
        """Show that chat in place of the page."""
        self._opening += 1
        self._later(self._open_about(subject, agent, self._opening))

    async def _open_about(self, subject: str, agent: str, opening: int) -> None:
        await self._take_about(subject, agent, opening)
        if opening == self._opening:
            self.show_chat()

    async def _take_about(self, subject: str, agent: str, opening: int) -> None:
        if self.engine is None or self._chat.model.options.subject == subject:
            return
        found = await self.engine.store.newest_about(subject)
        session = await self.engine.sessions.open(found) if found else None
        if opening != self._opening:
            return
        if session is None:
            await self._chat.model.start_new(subject=subject, agent=agent)
        else:
            self._chat.model.open(session)
            await self._read(session)

    def open_neighbour(self, step: int) -> None:
        """Show the chat below the one that is open in the list, or with -1 the one above."""
        if session_id := self._sidebar.neighbour(step):
            self.open(session_id)

    def show_next_question(self) -> None:
        """Go to the question on screen, else to the next chat that waits."""
        if self._chat.waits:
            self.show_chat()
            self._chat.show_question()
        elif self.engine is not None:
            self._later(self._show_next_waiting())

    async def _show_next_waiting(self) -> None:
        waiting = await self._chat_list.waiting()
        if waiting is not None:
            await self.open_now(waiting)
            self._chat.show_question()
        elif await self._chat_list.needs():
            self._pages.show_page("needs")

    # New chats

    def show_new(self) -> None:
        """Show the new chat that the chat page holds."""
        self._later(self._offer_last())
        self._pages.show_chat()

    def offer(self) -> None:
        """Offer ways to begin anew, if a new chat is on screen: its options are others."""
        if self.engine is not None and self._chat.session is None:
            self._later(self._offer_last())

    async def _offer_last(self) -> None:
        await self._chat.offer(await self._chat_list.last())

    def new_chat(self) -> None:
        if self.engine is not None:
            self.new_chat_about("", "", "")

    def new_chat_about(self, subject: str, text: str, agent: str) -> None:
        """Begin a chat about a thing of a pack; the text is not sent."""
        self._opening += 1
        self._sidebar.clear_search()
        self._later(self._chat.model.start_new(text=text, subject=subject, agent=agent))
        self.show_new()

    def new_chat_in(self, folder: str) -> None:
        self._opening += 1
        self._later(self._chat.model.start_new(folder=folder))
        self.show_new()

    async def begin_in(self, folder: str) -> None:
        """Make a new chat in a folder, which is not shown yet."""
        self._opening += 1
        self._sidebar.clear_search()
        await self._chat.model.start_new(folder=folder)

    async def ask(self, text: str, folder: str) -> None:
        """Ask something in a new chat; what is being written stays."""
        self._opening += 1
        await self._chat.model.start_new(folder=folder)
        self._pages.show_chat()
        self._chat.model.input.send_text(text)

    # What is done with chats of the list

    def rename(self, session_id: str, title: str) -> None:
        async def work() -> None:
            assert self.engine is not None
            session = await self.engine.sessions.open(session_id)
            await session.change(title=title, titled_by="person")
            await self._chat_list.refresh()
            self._chat.session_changed.emit()

        self._later(work())

    def delete(self, ids: list[str]) -> None:
        async def work() -> None:
            for session_id in ids:
                self._chat.deleting.emit(session_id)
                self._chat.model.runner.stop(session_id)
            await self._chat_list.delete(ids)
            self._chat.session_changed.emit()

        self._later(work())

    def leave(self, session_id: str) -> None:
        """Show a new chat in place of one that is being deleted; beside a page about the same."""
        session = self._chat.session
        if session is not None and session.info.id == session_id:
            info, beside = session.info, self._chat.beside
            subject, agent = (info.subject, info.agent) if beside else ("", "")
            self._later(self._chat.model.start_new(subject=subject, agent=agent))
